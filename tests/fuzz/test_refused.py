"""Raw instructions over the addresses of a view: legal views do what they say, refused ones something else, or trap."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tileproof.errors import TileproofError
from tileproof.fuzz.build import checked
from tileproof.fuzz.execute.entry import Trapped
from tileproof.fuzz.execute.refused import SPOKEN, Refused, raw, refused
from tileproof.fuzz.execute.simulated import Simulated
from tileproof.fuzz.families import generate
from tileproof.fuzz.rows import choices_of
from tileproof.proofs.verdict import Verdict

MEMORY = ("ld", "st", "ldmatrix", "stmatrix", "cp.async")
SIMULATOR = Simulated()


def outcome(made: Refused) -> str:
    (dump,) = SIMULATOR.run([made.entry])
    if isinstance(dump, Trapped):
        return "trapped" if "aligned" in dump.reason else dump.reason
    differs = (dump != made.expected.dump) & made.expected.told
    return "differs" if differs.any() else "agreed"


@pytest.mark.parametrize("family", MEMORY)
def test_legal_views_are_what_they_say(family: str) -> None:
    seen: Counter[str] = Counter()
    for number in range(200):
        call = generate(family, choices_of(3, number))
        try:
            report = checked(call)
        except TileproofError:
            continue
        if report.verdict is Verdict.PROVED and not report.hazards:
            made = raw(call, {}, call.memory.align)  # type: ignore[attr-defined]
            if made is not None:
                seen[outcome(made)] += 1
        if seen.total() == 25:
            break
    assert seen == {"agreed": 25}


@pytest.mark.parametrize("family", MEMORY)
def test_every_refusal_is_needed(family: str) -> None:
    seen: Counter[str] = Counter()
    for number in range(250):
        call = generate(family, choices_of(1, number))
        try:
            report = checked(call)
        except TileproofError:
            continue
        made = refused(call, report)
        if made is not None:
            assert {
                f.obligation.id.rpartition(".")[2] for f in report.findings if f.verdict is Verdict.REFUTED
            } <= SPOKEN
            seen[outcome(made)] += 1
    assert seen.total() >= 5
    assert set(seen) <= {"trapped", "differs"}


def test_what_hardware_cannot_speak_to_is_not_executed() -> None:
    """Threads that are missing, registers that are shared, regions outside."""
    skipped = 0
    for number in range(120):
        call = generate("ld", choices_of(1, number))
        try:
            report = checked(call)
        except TileproofError:
            continue
        names = {f.obligation.id.rpartition(".")[2] for f in report.findings if f.verdict is Verdict.REFUTED}
        if not names or not names <= SPOKEN:
            skipped += 1
            assert refused(call, report) is None
    assert skipped > 20


def test_the_base_is_that_of_the_counterexample() -> None:
    for number in range(250):
        call = generate("ld", choices_of(1, number))
        try:
            report = checked(call)
        except TileproofError:
            continue
        made = refused(call, report)
        if made is not None and [
            f.obligation.id for f in report.findings if f.verdict is Verdict.REFUTED
        ] == ["ld.aligned"]:
            example = next(f.counterexample for f in report.findings if f.counterexample is not None)
            header = made.entry.table[:64].view(np.int64)
            assert header[1] % 512 == (example.base or 0) % 512
            assert outcome(made) == "trapped"
            return
    pytest.fail("no view of which only the alignment is refuted")
