"""Random views against recorded maps, fast enough for hundreds of millions, and with no GPU.

One replayed view is an instance of a template (:mod:`~tileproof.fuzz.template`): one operand of an instruction with
all its numbers given, looked at in every thread, repeat and element. For each of 8192 instances of a template

- the contract's formulas, as :func:`tileproof.check` states them once for the template, are evaluated at every
  coordinate: they say which demands the instance breaks;
- brute force over the description says the same by itself;
- the recorded map says whether the instruction delivers to each register byte what the view says.

The three have to agree: on each demand, and where it is about what goes where, with the map. The proof is made once
for a template: if it is proved no instance may break anything, and if it is refuted the counterexample has to be one.
So a replayed view tells whether contract, brute force and hardware mean the same by the demands; it does not run the
prover on every view, which :mod:`tileproof.fuzz.agreement` does.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tileproof.errors import AssumptionError, LayoutError
from tileproof.fuzz.agreement import PARTICIPATION, replays
from tileproof.fuzz.build import checked
from tileproof.fuzz.delivered import demanded, misdelivered, recordable, zero_fills
from tileproof.fuzz.instances import TooManyError, Values, Verdicts, by_brute_force, by_contract
from tileproof.fuzz.maps import HardwareMaps
from tileproof.fuzz.rows import Chunk, Row, Tally
from tileproof.fuzz.template import PER_TEMPLATE, Template, candidates
from tileproof.proofs.report import Report
from tileproof.proofs.verdict import Verdict

BLOCK = 1024
"""Instances that are evaluated together; more would not stay in a processor's cache."""

BUDGET = 400_000
"""Of the prover for one query of a template. Products of symbols are hard, and its numbers are looked at anyway."""

MOST_FAULTS = 8
"""Rows of one template: one wrong formula is wrong in many instances."""


@dataclass
class Replayed:
    """What became of a chunk: how many views of each kind, a row for disagreements, and the proofs of templates."""

    tallies: tuple[Tally, ...] = ()
    rows: list[Row] = field(default_factory=list)
    templates: Counter[str] = field(default_factory=Counter)

    @property
    def views(self) -> int:
        return sum(t.views for t in self.tallies)


@dataclass
class _Found:
    """Verdicts of a template's instances; ``missing`` ones fail by brute force only, ``extra`` by the contract only."""

    contract: Verdicts
    faults: dict[int, list[str]]


def replay_chunk(chunk: Chunk, maps: HardwareMaps) -> Replayed:
    """Look at the views of a chunk. Chunks of whole templates (multiples of 8192 views) waste nothing."""
    result = Replayed()
    counts: Counter[tuple[str, str, tuple[str, ...]]] = Counter()
    last = chunk.first + chunk.views
    for number in range(chunk.first // PER_TEMPLATE, -(-last // PER_TEMPLATE)):
        start = number * PER_TEMPLATE
        wanted = slice(max(chunk.first - start, 0), min(last - start, PER_TEMPLATE))
        _one(chunk.family, chunk.seed, number, wanted, maps, result, counts)
    result.tallies = tuple(
        sorted(
            Tally(chunk.family, opcode, verdict, refuted, n, "map")
            for (opcode, verdict, refuted), n in counts.items()
        )
    )
    return result


def _one(
    family: str,
    seed: int,
    number: int,
    wanted: slice,
    maps: HardwareMaps,
    result: Replayed,
    counts: Counter[tuple[str, str, tuple[str, ...]]],
) -> None:
    for one in candidates(family, seed, number):
        values = one.values
        if values is None or not recordable(one.call):
            continue
        try:
            report = checked(one.call, hazards="ignore", budget=BUDGET)
            if report.verdict is Verdict.UNSUPPORTED:
                continue
            # Whether the formulas are of a size to be looked at shows at one instance.
            by_contract(report, {name: v[:1] for name, v in values.items()})
        except (LayoutError, AssumptionError, TooManyError):
            continue
        result.templates[report.verdict.value] += 1
        faults = _of_template(one, report)
        for first in range(wanted.start, wanted.stop, BLOCK):
            part = slice(first, min(first + BLOCK, wanted.stop))
            _block(one, report, {n: v[part] for n, v in values.items()}, part.start, maps, result, counts)
        if faults:
            result.rows.append(_row(one, 0, report.verdict.value, (), tuple(faults)))
        return
    result.templates["none"] += 1


def _of_template(one: Template, report: Report) -> list[str]:
    """What is wrong with the proof of a template by itself: counterexamples that are none."""
    if report.verdict is not Verdict.REFUTED:
        return []
    refuted = {f.obligation.id.rpartition(".")[2] for f in report.findings if f.verdict is Verdict.REFUTED}
    return replays(one.call, one.call.guard is not None and bool(PARTICIPATION & refuted), report)


def _block(
    one: Template,
    report: Report,
    values: Values,
    first: int,
    maps: HardwareMaps,
    result: Replayed,
    counts: Counter[tuple[str, str, tuple[str, ...]]],
) -> None:
    contract = by_contract(report, values)
    brute, judged = by_brute_force(one.call, values)
    faults: dict[int, list[str]] = {}
    _compare(one, report, contract, brute, judged, maps, faults)
    names = sorted(name for name, fails in contract.items() if fails.any())
    size = len(next(iter(values.values())))
    table = np.stack([contract[name] for name in names]) if names else np.zeros((0, size), bool)
    kinds, numbers = np.unique(table, axis=1, return_counts=True)
    opcode = one.call.form
    for kind, n in zip(kinds.T, numbers, strict=True):
        refuted = tuple(name for name, fails in zip(names, kind, strict=True) if fails)
        counts[opcode, "refuted" if refuted else "proved", refuted] += int(n)
    for index, said in sorted(faults.items())[:MOST_FAULTS]:
        refuted = tuple(name for name in names if contract[name][index])
        at = ", ".join(f"{name} = {int(v[index])}" for name, v in values.items())
        told = tuple(f"{text}; at {at}" for text in said)
        if len(result.rows) < MOST_FAULTS * max(1, result.templates.total()):
            result.rows.append(_row(one, first + index, "refuted" if refuted else "proved", refuted, told))


def _row(one: Template, index: int, verdict: str, refuted: tuple[str, ...], faults: tuple[str, ...]) -> Row:
    number = one.number * PER_TEMPLATE + index
    return Row(
        one.family, one.seed, number, one.call.form, one.call.scope, verdict, refuted, executed="map",
        result="differs", faults=faults,
    )  # fmt: skip


def _compare(
    one: Template,
    report: Report,
    contract: Verdicts,
    brute: Verdicts,
    judged: Any,
    maps: HardwareMaps,
    faults: dict[int, list[str]],
) -> None:
    def note(where: Any, text: str) -> None:
        for index in np.flatnonzero(where):
            faults.setdefault(int(index), []).append(text)

    nowhere = np.zeros(judged.count, bool)
    # Whom a mistaken group pairs up is nobody's business.
    misled = nowhere
    if one.call.guard is not None:
        for name in PARTICIPATION:
            misled = misled | contract.get(name, nowhere) | brute.get(name, nowhere)
    if report.verdict is Verdict.PROVED:
        for name, fails in brute.items():
            note(fails, f"unsound: proved for all numbers, but {name} fails")
    for name in sorted({*contract, *brute}):
        told, fails = contract.get(name, nowhere), brute.get(name, nowhere)
        note(fails & ~told & ~misled, f"unsound: {name} fails, but the contract's formula holds")
        if name not in judged.implied:
            note(told & ~fails & ~misled, f"incomplete: the contract's formula of {name} fails, but it holds")
    if hasattr(one.call, "memory") and hasattr(judged, "executing"):
        wrong = misdelivered(one.call, judged, maps) & judged.assumed
        told = nowhere
        for name in demanded(one.call):
            told = told | contract.get(name, nowhere)
        note(wrong & ~told & ~misled, f"unsound: {maps.device} delivers something else than the view says")
        note(told & ~wrong & ~misled, f"incomplete: {maps.device} delivers what the view says")
        if hasattr(one.call, "chunk") and not zero_fills(one.call, maps):
            note(judged.assumed, f"{maps.device} does not fill a chunk with zeros")
