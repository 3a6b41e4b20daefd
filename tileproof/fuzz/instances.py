"""Both opinions on many views at once: the formulas of a contract, and brute force, each over an axis of instances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import reduce
from math import prod
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tileproof.fuzz.families import family_of
from tileproof.fuzz.oracle.description import Access, Call, Operand, Symbol
from tileproof.fuzz.oracle.grid import along
from tileproof.fuzz.oracle.terms import value
from tileproof.layouts.evaluate import evaluate_arrays
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.traverse import leaves
from tileproof.proofs.report import Report
from tileproof.proofs.verdict import Finding

Values = Mapping[str, npt.NDArray[np.int64]]
Verdicts = dict[str, npt.NDArray[np.bool_]]
"""For each demand whether it fails, by instance."""

MOST_VALUES, MOST_ONCE = 2048, 1 << 18
"""Coordinates over which one formula is evaluated: in each instance, and where it is the same in all of them."""

ANY_ACCESS = 256
"""No access asks for more alignment, in bytes."""


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
    for claim, *premises in stated:
        for formulas in ((claim,), premises):
            used = leaves(*formulas)
            size = prod(known[leaf].size for leaf in used if leaf in free)
            # What depends on no instance is looked at once for all.
            if size > (MOST_ONCE if set(used) <= set(free) else MOST_VALUES):
                raise TooManyError
    count = len(next(iter(values.values())))
    failing: Verdicts = {}
    claims = evaluate_arrays([parts[0] for parts in stated], known)
    for finding, parts, claim in zip(findings, stated, claims, strict=True):
        fails = np.asarray(np.logical_not(claim))
        fails = fails if fails.ndim else fails.reshape([1] * ndim)
        if fails.any():
            fails = fails & _somewhere(evaluate_arrays(parts[1:], known), fails)
        short = finding.obligation.id.rpartition(".")[2]
        failing[short] = failing.get(short, np.zeros(count, bool)) | by_instance(fails, count)
    return failing


def _somewhere(premises: Sequence[Any], fails: Any) -> Any:
    """Where all premises hold, for some value of what a claim does not depend on."""
    holds = np.asarray(reduce(np.logical_and, premises))
    alone = tuple(d for d in range(1, holds.ndim) if fails.shape[d] == 1 and holds.shape[d] > 1)
    return holds.any(axis=alone, keepdims=True) if alone else holds


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
    """What is special about a judgement of many instances: one axis for all of them, and no hazards.

    Put before the judgement of a family; ``failing`` maps a demand to the instances in which it fails.
    """

    failing: Any
    known: dict[str, Any]
    symbols: int
    ndim: int
    element: list[Any]
    group: list[Any]

    def __init__(self, call: Call, values: Values) -> None:
        self.count = len(next(iter(values.values())))
        self.places: dict[Any, Any] = {}
        # Who takes part is the same in all instances but those that the assumption rules out.
        one = replace(call, symbols=(Symbol("instance", 0, 0),), assume=None)
        super().__init__(_known_bases(one))  # type: ignore[call-arg]
        self.known = self.known | {n: along(v, 0, self.ndim) for n, v in values.items()}
        assumed = True if call.assume is None else value(call.assume, values)
        self.assumed = np.broadcast_to(assumed, (self.count,))

    def _place(self, operand: Operand, element: Sequence[Any], replica: tuple[int, ...] = ()) -> Any:
        # Several demands ask for the same places; the arrays stay alive, so their identities do not come again.
        key = id(operand), replica, tuple(e if isinstance(e, int) else id(e) for e in element)
        if key not in self.places:
            found = super()._place(operand, element, replica)  # type: ignore[misc]
            self.places[key] = found, operand, tuple(element)
        return self.places[key][0]

    def verdicts(self) -> Verdicts:
        """Which demands fail, by instance."""
        return {name: fails & self.assumed for name, fails in self.failing.items()}

    def _fail(self, name: str, fails: Any, where: Any) -> None:
        found = np.asarray(fails) & where
        if found.any():
            before = self.failing.get(name, np.zeros(self.count, bool))
            self.failing[name] = before | by_instance(found, self.count)

    def _whole_elements(self) -> None:
        # Templates read no elements as wider ones, and of a view that does it is known that it may.
        self.group = [_narrow(rank) for rank in self.group]

    def _uniform(self) -> None:
        """All lanes of a warp mean one region."""
        lanes, call = self.symbols + 1, self.call  # type: ignore[attr-defined]
        words = self._place(call.memory, self.element).offset
        if words.shape[lanes] > 1:
            self._fail("uniform", words != np.take(words, [0], axis=lanes), self.executing)  # type: ignore[attr-defined]

    def _write_conflict(self, *_: Any) -> None:
        """Hazards are no verdicts; other campaigns look at them."""

    _stale = _overwritten = _write_conflict


def _narrow(array: Any) -> Any:
    """The array without the extent of axes along which it is constant."""
    for axis, extent in enumerate(array.shape):
        first = np.take(array, [0], axis=axis)
        if extent > 1 and (array == first).all():
            array = first
    return array


def _known_bases(call: Call) -> Call:
    """The call with every base address known as well as any access may ask, so that brute force takes one."""
    found = {}
    for f in fields(call):
        own = getattr(call, f.name)
        if isinstance(own, Operand) and own.space != "registers":
            found[f.name] = replace(own, align=ANY_ACCESS)
    return replace(call, **found)  # type: ignore[arg-type]


def by_brute_force(call: Call, values: Values) -> tuple[Verdicts, Any]:
    """Which demands fail by evaluating the description, and the judgement that found it."""
    family = family_of(call)
    kind: Any = type("Judged", (Instances, cast(type, family.judgement)), {})
    judged = kind(call, values)
    judged.outcome()
    for demand, operand, size in aligned_operands(call):
        if operand.align % size and hasattr(judged, "executing"):
            # Of two bases that are multiples of less, one at least is amiss.
            judged._fail(demand, True, judged.executing)
    return judged.verdicts(), judged


def aligned_operands(call: Call) -> list[tuple[str, Operand, int]]:
    """For each demand of alignment its name, its operand, and of what the address is a multiple, in bytes."""
    if not isinstance(call, Access):
        return []
    if hasattr(call, "chunk"):
        sides = (("destination-aligned", call.memory), ("source-aligned", call.registers))
        return [(name, operand, call.chunk) for name, operand in sides]
    if call.collective:
        return [("row-aligned", call.memory, 16)]
    return [("aligned", call.memory, call.count * call.bits // 8)]
