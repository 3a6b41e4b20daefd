"""Contracts with one demand removed or weakened: what a campaign has to find.

    with applied(Mutant("ld_st", "aligned", "weakened")):
        ...                                     # ld and st ask for half the alignment

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
from tileproof.contracts.families import Family
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

Change = Literal["removed", "weakened", "shortened"]

CHANGES: tuple[Change, ...] = get_args(Change)


@dataclass(frozen=True)
class Mutant:
    """The contract of a page with one demand changed.

    ``removed``: nobody asks for it. ``weakened``: half the divisor, or one more or less in each comparison.
    ``shortened``: it is not asked for at the last value of one of its coordinates.
    """

    page: str
    demand: str
    change: Change


class UnaskedError(Exception):
    """Operands do not fit the instruction, and the mutant lets them pass; nothing more can be stated of them."""


def changed(obligation: Obligation, change: Change) -> Obligation | None:
    """The obligation after a change; nothing where it is gone. The same object says that the change is none."""
    if change == "removed":
        return None
    claim = weaker(obligation.claim) if change == "weakened" else shorter(obligation.claim)
    return obligation if claim is obligation.claim else replace(obligation, claim=claim, injective=None)


def weaker(claim: Relation) -> Relation:
    """The claim with a divisor halved and each comparison off by one; what knows neither stays as it is."""
    match claim.op, claim.args:
        case "eq", (a, b) if a.op == "mod" and b is const(0):
            value, divisor = a.args
            half = divisor.value // 2 if divisor.value and divisor.value % 2 == 0 else None
            return claim if half is None else equal(value % half, const(0))
        case "eq", (a, b):
            return disjunction((claim, equal(a, b + 1)))
        case "lt", (a, b):
            return less(a, b + 1)
        case "not", (inner,) if inner.op == "lt":
            a, b = inner.args
            return negate(less(a + 1, b))
        case "all", parts:
            return conjunction(map(weaker, parts))
    return claim


def shorter(claim: Relation) -> Relation:
    """The claim, or the last value of the first coordinate that it speaks of."""
    for variable in leaves(claim):
        if variable.kind in _COORDINATES and variable.hi is not None and variable.lo != variable.hi:
            return disjunction((claim, equal(leaf(variable), const(variable.hi))))
    return claim


_COORDINATES = ("element", "repeat", "group", "thread")


def _demand(obligation: Obligation) -> str:
    return obligation.id.rpartition(".")[2]


def _stated(mutant: Mutant, stated: Iterator[Obligation], altered: list[str]) -> Iterator[Obligation]:
    while True:
        try:
            obligation = next(stated)
        except StopIteration:
            return
        except UnfitError as unfit:
            if _demand(unfit.obligation) == mutant.demand and mutant.change == "removed":
                altered.append(unfit.obligation.id)
                raise UnaskedError(f"{unfit.obligation.id} is not met, and nobody asks") from unfit
            raise
        left = changed(obligation, mutant.change) if _demand(obligation) == mutant.demand else obligation
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
    contracts = families.load()
    mine = {name: family for name, family in contracts.items() if family.page == mutant.page}

    def mutated(family: Family) -> Family:
        return replace(family, states=lambda call: _stated(mutant, family.states(call), altered))

    def elements(call: Call) -> Iterator[Obligation]:
        stated = whole_elements(call)
        return (
            _stated(mutant, stated, altered) if contracts[call.form.mnemonic].page == mutant.page else stated
        )

    changed_families = {name: mutated(family) for name, family in mine.items()}
    with patch.dict(families._FAMILIES, changed_families), patch.object(check, "whole_elements", elements):
        yield altered
