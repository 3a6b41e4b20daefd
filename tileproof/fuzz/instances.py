"""Both opinions on many views at once: the formulas of a contract, and brute force, each over an axis of instances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tileproof.fuzz.families import family_of
from tileproof.fuzz.oracle.demands import RESIDUES, Judgement, Outcome
from tileproof.fuzz.oracle.description import Call, Operand, Symbol
from tileproof.fuzz.oracle.grid import along
from tileproof.layouts.evaluate import evaluate_arrays
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.traverse import leaves
from tileproof.proofs.report import Report
from tileproof.proofs.verdict import Finding

Values = Mapping[str, npt.NDArray[np.int64]]
Verdicts = dict[str, npt.NDArray[np.bool_]]
"""For each demand whether it fails, by instance."""

MOST_VALUES = 4096
"""Coordinates over which one formula is evaluated in each instance."""


class TooManyError(Exception):
    """A formula over more coordinates than are looked at, or over one without bounds."""


def by_contract(report: Report, values: Values) -> Verdicts:
    """Which demands of a contract fail, by evaluating its formulas at every coordinate of every instance.

    A base address is any multiple of its alignment: of all these, 0 and the alignment itself are looked at, which
    differ modulo a power of two if any do. Raises :class:`TooManyError`.
    """
    findings = [f for f in report.findings if not f.obligation.hazard]
    stated = [(f.obligation.claim, f.obligation.given, *_context(f, report)) for f in findings]
    every = list(dict.fromkeys(leaf for parts in stated for leaf in leaves(*parts)))
    free = [leaf for leaf in every if leaf.name not in values or leaf.kind != "symbol"]
    ndim = 1 + len(free)
    known: dict[Leaf, Any] = {leaf: along(_range(leaf), 1 + d, ndim) for d, leaf in enumerate(free)}
    known |= {leaf: along(values[leaf.name], 0, ndim) for leaf in every if leaf not in known}
    for parts in stated:
        size = 1
        for leaf in leaves(*parts):
            size *= known[leaf].size if leaf in free else 1
        if size > MOST_VALUES:
            raise TooManyError
    count = len(next(iter(values.values())))
    failing: Verdicts = {}
    claims = evaluate_arrays([parts[0] for parts in stated], known)
    for finding, parts, claim in zip(findings, stated, claims, strict=True):
        fails = np.logical_not(claim)
        if fails.any():
            for premise in evaluate_arrays(parts[1:], known):
                fails = fails & premise
        short = finding.obligation.id.rpartition(".")[2]
        failing[short] = failing.get(short, np.zeros(count, bool)) | by_instance(fails, count)
    return failing


def _context(finding: Finding, report: Report) -> tuple[Any, ...]:
    return (report.context,) if finding.obligation.in_context and report.context is not None else ()


def _range(leaf: Leaf) -> Any:
    if leaf.kind == "base":
        return [0, leaf.multiple_of]
    if leaf.lo is None or leaf.hi is None:
        raise TooManyError
    return np.arange(-(-leaf.lo // leaf.multiple_of) * leaf.multiple_of, leaf.hi + 1, leaf.multiple_of)


def by_instance(fails: Any, count: int) -> npt.NDArray[np.bool_]:
    """Whether anything fails, for each of the instances along the first axis."""
    fails = np.asarray(fails)
    if fails.ndim == 0:
        return np.full(count, bool(fails))
    found = fails.reshape(fails.shape[0], -1).any(axis=1)
    return np.broadcast_to(found, (count,))


class Instances:
    """What is special about a :class:`Judgement` of many instances: one axis for all of them, and no hazards.

    ``failing`` maps a demand to the instances in which it fails; ``reached`` says in which somebody executes.
    """

    failing: Any

    def __init__(self, call: Call, values: Values) -> None:
        self.count = len(next(iter(values.values())))
        self.alignments = {o.name: o.align for o in call.operands}
        one = replace(call, symbols=(Symbol("instance", 0, self.count - 1),))
        super().__init__(_known_bases(one))  # type: ignore[call-arg]
        ndim: int = self.ndim  # type: ignore[attr-defined]
        self.known: dict[str, Any] = self.known | {n: along(v, 0, ndim) for n, v in values.items()}

    def verdicts(self) -> Verdicts:
        """Which demands fail, by instance."""
        self.outcome()  # type: ignore[attr-defined]
        found: Verdicts = self.failing
        return found

    def _fail(self, name: str, fails: Any, where: Any) -> None:
        found = np.asarray(fails) & where
        if found.any():
            before = self.failing.get(name, np.zeros(self.count, bool))
            self.failing[name] = before | by_instance(found, self.count)

    def _write_conflict(self, *_: Any) -> None:
        """Hazards have a simulator of their own."""

    _stale = _overwritten = _write_conflict


def _known_bases(call: Call) -> Call:
    """The call with every base address known as well as any access may ask, so that brute force takes one."""
    found = {}
    for f in fields(call):
        own = getattr(call, f.name)
        if isinstance(own, Operand) and own.space != "registers":
            found[f.name] = replace(own, align=RESIDUES)
    return replace(call, **found)  # type: ignore[arg-type]


def by_brute_force(call: Call, values: Values) -> tuple[Verdicts, Any]:
    """Which demands fail by evaluating the description, and the judgement that found it."""
    family = family_of(call)
    kind = type("Judged", (Instances, family.judgement), {})
    judged = kind(call, values)
    found = judged.verdicts()
    for demand, operand, size in aligned_operands(call):
        if judged.alignments[operand.name] % size and not isinstance(judged, Outcome):
            # Of two bases that are multiples of less, one at least is amiss.
            judged._fail(demand, True, getattr(judged, "executing", False))
    return found, judged


def aligned_operands(call: Call) -> list[tuple[str, Operand, int]]:
    """For each demand of alignment its name, its operand, and of what the address is a multiple, in bytes."""
    if hasattr(call, "chunk"):
        sides = (("destination-aligned", call.memory), ("source-aligned", call.registers))  # type: ignore[attr-defined]
        return [(name, operand, call.chunk) for name, operand in sides]
    if not hasattr(call, "memory"):
        return []
    if call.collective:
        return [("row-aligned", call.memory, 16)]
    return [("aligned", call.memory, call.count * call.bits // 8)]  # type: ignore[attr-defined]


__all__ = ["Instances", "Judgement", "TooManyError", "by_brute_force", "by_contract"]
