"""One view of a campaign, from its number to what has to be executed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tileproof.errors import EmissionError
from tileproof.fuzz.agreement import Comparison, compare
from tileproof.fuzz.execute.entry import Entry, Expected
from tileproof.fuzz.execute.expected import expected
from tileproof.fuzz.execute.harness import Fragment, entry
from tileproof.fuzz.execute.moves import executable, executed_family
from tileproof.fuzz.execute.points import UnexecutedError
from tileproof.fuzz.families import generate
from tileproof.fuzz.generate.choices import Choices
from tileproof.fuzz.oracle.description import Call
from tileproof.fuzz.rows import Chunk, Row, choices_of
from tileproof.proofs.verdict import Verdict


@dataclass(eq=False)
class Stages:
    """Milliseconds of each stage."""

    milliseconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            passed = 1e3 * (time.perf_counter() - start)
            self.milliseconds[stage] = self.milliseconds.get(stage, 0.0) + passed


@dataclass(frozen=True, eq=False)
class View:
    """A view as far as it was looked at; ``entry`` and ``expected`` are there if it is to be executed.

    ``undefined`` says that two instructions of a kind that must not do so write one byte.
    """

    row: Row
    entry: Entry | None = None
    expected: Expected | None = None
    undefined: bool = False

    def executed(self, result: str, device: str, milliseconds: float) -> Row:
        """The row once the entry was executed; ``result`` is empty if what came out is as expected."""
        kind = "trapped" if result.startswith("trapped") else "differs"
        return replace(
            self.row,
            executed="emitted",
            result="agreed" if not result else result if kind == "trapped" else kind,
            faults=(*self.row.faults, f"executed: {result}") if result else self.row.faults,
            milliseconds={**self.row.milliseconds, "execute": milliseconds},
            device=device,
        )


def look_at(chunk: Chunk, arch: str | None = None) -> Iterator[View]:
    """Every view of a chunk, in order."""
    for number in chunk.numbers:
        yield look(chunk.family, choices_of(chunk.seed, number), chunk.seed, number, arch)


def look(family: str, choices: Choices, seed: int = 0, number: int = 0, arch: str | None = None) -> View:
    """Generate, compare with brute force, and prepare what is proved and in order for execution.

    With ``arch`` only what that target has is prepared. An exception that the library does not document is a
    fault of the view.
    """
    stages = Stages()
    with stages.timed("generate"):
        call = generate(family, choices)
    row = Row(family, seed, number, call.opcode, call.scope, "raised", milliseconds=stages.milliseconds)
    try:
        with stages.timed("compare"):
            comparison = compare(call)
        row = replace(
            row,
            verdict=comparison.verdict,
            refuted=tuple(sorted(comparison.refuted)),
            hazards=tuple(sorted(comparison.hazards)),
            undecided=tuple(sorted(comparison.undecided)),
            faults=comparison.faults,
        )
        if comparison.verdict != Verdict.PROVED.value or comparison.faults or family not in executable():
            return View(row)
        return prepared(row, call, comparison, arch)
    except Exception as error:  # noqa: BLE001 - whatever it is, it belongs into the store
        return View(replace(row, faults=(*row.faults, f"raised {type(error).__name__}: {error}")))


def prepared(row: Row, call: Call, comparison: Comparison, arch: str | None = None) -> View:
    """A view that is said to be proved, with its code and what has to come out; times go into the row."""
    report, stages = comparison.report, Stages(dict(row.milliseconds))
    if report is None:
        raise TypeError("a proof without a report")
    lacking = None if arch is None else report.call.form.unsupported_reason(arch)
    if lacking is not None:
        return View(replace(row, result=f"not executed: {lacking}"))
    try:
        with stages.timed("emit"):
            fragment = Fragment.of(report)
        with stages.timed("frame"):
            made, frame = entry(f"v{row.number}", fragment, call)
        with stages.timed("expect"):
            wanted = expected(frame)
    except EmissionError as error:
        return View(replace(row, milliseconds=stages.milliseconds, result=f"not emitted: {error}"))
    except UnexecutedError as reason:
        return View(replace(row, milliseconds=stages.milliseconds, result=f"not executed: {reason}"))
    undefined = executed_family(call).exclusive and not wanted.told.all()
    return View(replace(row, milliseconds=stages.milliseconds), made, wanted, undefined)
