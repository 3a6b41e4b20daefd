"""Contracts with one demand removed or weakened: what a campaign has to find.

    with applied(Mutant("ld", "aligned", "weakened")):
        ...                                     # ld asks for half the alignment

A campaign that does not tell a mutant from the contract says nothing about the demand that was changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal, get_args
from unittest.mock import patch

from tileproof.contracts import families
from tileproof.contracts.call import Call, UnfitError
from tileproof.contracts.demands import whole_elements
from tileproof.contracts.obligation import Obligation
from tileproof.layouts.index import (
    Relation,
    conjunction,
    const,
    disjunction,
    equal,
    leaf,
    less,
    negate,
)
from tileproof.layouts.traverse import leaves
from tileproof.proofs import check

Change = Literal["removed", "weakened", "last element", "last repeat", "last thread"]

CHANGES: tuple[Change, ...] = get_args(Change)

_COORDINATES = {
    "last element": ("element",), "last repeat": ("repeat",), "last thread": ("group", "thread"),
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """The contract of an instruction with one demand changed.

    ``removed``: nobody asks for it. ``weakened``: half the divisor, or one more or less in each comparison, in the
    least unit that can occur. Otherwise it is not asked for at the last value of a coordinate: the first element,
    repeat or thread coordinate that it speaks of; of a pair that is to differ, the later one's.
    """

    mnemonic: str
    demand: str
    change: Change

    @property
    def id(self) -> str:
        """The obligation's."""
        return f"{self.mnemonic}.{self.demand}"


class UnaskedError(Exception):
    """Operands do not fit the instruction, and the mutant lets them pass; nothing more can be stated of them."""


def changed(obligation: Obligation, change: Change) -> Obligation | None:
    """The obligation after a change; nothing where it is gone. The same object says that the change is none."""
    if change == "removed":
        return None
    if change == "weakened":
        # Where the parts of an element stand is told in bits, and they are bytes.
        claim = weaker(obligation.claim, 8 if obligation.id.endswith(".whole-element") else 1)
    else:
        claim = shorter(obligation.claim, change)
    return obligation if claim is obligation.claim else replace(obligation, claim=claim, injective=None)


def weaker(claim: Relation, unit: int = 1) -> Relation:
    """The claim with a divisor halved and each comparison off by ``unit``; what knows neither stays as it is."""
    match claim.op, claim.args:
        case "eq", (a, b) if a.op == "mod" and b is const(0):
            value, divisor = a.args
            half = divisor.value // 2 if divisor.value and divisor.value % 2 == 0 else None
            return claim if half is None else equal(value % half, const(0))
        case "eq", (a, b):
            return disjunction((claim, equal(a, b + unit)))
        case "lt", (a, b):
            return less(a, b + unit)
        case "not", (inner,) if inner.op == "lt":
            a, b = inner.args
            return negate(less(a + unit, b))
        case "all" | "any", parts:
            return (conjunction if claim.op == "all" else disjunction)(weaker(part, unit) for part in parts)
    return claim


def shorter(claim: Relation, change: Change) -> Relation:
    """The claim, or the last value of a coordinate."""
    there = [v for v in leaves(claim) if v.kind in _COORDINATES[change] and v.lo != v.hi]
    variable = max(there, key=lambda v: v.copy, default=None)
    if variable is None or variable.hi is None:
        return claim
    return disjunction((claim, equal(leaf(variable), const(variable.hi))))


def _stated(mutant: Mutant, stated: Iterator[Obligation], altered: list[str]) -> Iterator[Obligation]:
    while True:
        try:
            obligation = next(stated)
        except StopIteration:
            return
        except UnfitError as unfit:
            if unfit.obligation.id == mutant.id and mutant.change == "removed":
                altered.append(unfit.obligation.id)
                raise UnaskedError(f"{unfit.obligation.id} is not met, and nobody asks") from unfit
            raise
        left = changed(obligation, mutant.change) if obligation.id == mutant.id else obligation
        if left is not obligation:
            altered.append(obligation.id)
        if left is not None:
            yield left


@contextmanager
def applied(mutant: Mutant) -> Iterator[list[str]]:
    """Check with the changed contract until the end of the block, in this process. The list gets the id of every
    obligation that was changed: while it is empty the mutant is none.
    """
    altered: list[str] = []
    family = families.load()[mutant.mnemonic]

    def elements(call: Call) -> Iterator[Obligation]:
        stated = whole_elements(call)
        return _stated(mutant, stated, altered) if call.form.mnemonic == mutant.mnemonic else stated

    mutated = replace(family, states=lambda call: _stated(mutant, family.states(call), altered))
    with (
        patch.dict(families._FAMILIES, {mutant.mnemonic: mutated}),
        patch.object(check, "whole_elements", elements),
    ):
        yield altered
