"""Obligations: what a contract demands, as data that no solver has seen yet.

An obligation says that ``claim`` holds wherever ``given`` does, for all values of every variable in them. The
functions below build the usual demands; each keeps the expressions in which a counterexample is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache

from tileproof.layouts.index import (
    Index,
    Relation,
    conjunction,
    const,
    disjunction,
    equal,
    leaf,
    less,
    negate,
    truth,
)
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.traverse import substitute


@dataclass(frozen=True, eq=False)
class Address:
    """A byte address in the storage ``name``: its base plus an offset, both in bytes.

    ``lane`` is the lane that uses it, where the instruction and not the group says which.
    """

    name: str
    base: Index
    offset: Index
    space: str
    lane: Index | None = None

    @property
    def value(self) -> Index:
        return self.base + self.offset


@dataclass(frozen=True, eq=False)
class Obligation:
    """One demand.

    ``id`` is stable (``ld.aligned``), ``sentence`` says the demand, ``section`` where it comes from.
    ``needed`` and ``found`` tell a failure: text with ``{}`` for the value of each expression. ``address`` is
    the byte address, or register, that a failure is at. ``injective`` names the value and the coordinates
    when the claim is that different coordinates have different values. ``in_context`` obligations may use
    what the executing thread knows; the others speak of several threads, bring all their premises, and name
    in ``subject`` the warp and lane that a failure is told of. A ``hazard`` is reported beside the verdict.
    """

    id: str
    sentence: str
    section: str
    claim: Relation
    given: Relation = field(default_factory=lambda: truth(True))
    needed: tuple[str, tuple[Index, ...]] = ("", ())
    found: tuple[str, tuple[Index, ...]] = ("", ())
    address: Address | None = None
    injective: tuple[Index, tuple[Leaf, ...]] | None = None
    in_context: bool = True
    subject: tuple[Index, Index] | None = None
    hazard: bool = False


def aligned(id: str, address: Address, alignment: int, sentence: str, section: str) -> Obligation:
    """The byte address is a multiple of ``alignment`` (bytes)."""
    return Obligation(
        id, sentence, section,
        equal(address.value % alignment, const(0)),
        needed=(f"a multiple of {alignment} bytes", ()),
        found=("byte address {}, which is {} modulo " + str(alignment), (address.value, address.value % alignment)),
        address=address,
    )  # fmt: skip


def consecutive(id: str, address: Address, along: Leaf, unit: int, sentence: str, section: str) -> Obligation:
    """Steps of one of the variable ``along`` are steps of ``unit`` bytes from its first value on."""
    first = substitute(address.offset, {along: const(0)})
    wanted = first + leaf(along) * unit
    return Obligation(
        id, sentence, section,
        equal(address.offset, wanted),
        needed=("byte offset {}", (wanted,)),
        found=("byte offset {}", (address.offset,)),
        address=address,
    )  # fmt: skip


def same(
    id: str,
    found: Index,
    wanted: Index,
    what: str,
    sentence: str,
    section: str,
    address: Address | None = None,
) -> Obligation:
    """Two numbers are equal; ``what`` names them in a failure."""
    return Obligation(
        id, sentence, section, equal(found, wanted),
        needed=(f"{what} {{}}", (wanted,)), found=(f"{what} {{}}", (found,)), address=address,
    )  # fmt: skip


def within(
    id: str,
    low: Index,
    high: Index,
    size: Index,
    what: str,
    sentence: str,
    section: str,
    address: Address | None = None,
) -> Obligation:
    """``0 <= low`` and ``high <= size``; ``what`` names the numbers in a failure."""
    return Obligation(
        id, sentence, section,
        conjunction((negate(less(low, const(0))), negate(less(size, high)))),
        needed=(f"{what} from 0 to {{}}", (size,)), found=(f"{what} from {{}} to {{}}", (low, high)), address=address,
    )  # fmt: skip


def twin(variables: Sequence[Leaf]) -> dict[Leaf, Index]:
    """A second set of the same variables: the other coordinate of an overlap."""
    return {v: _twin(v) for v in variables}


@cache
def _twin(v: Leaf) -> Index:
    return leaf(Leaf(v.name, v.kind, v.lo, v.hi, v.multiple_of, v.uniform, v.copy + 1))


def different(variables: Sequence[Leaf]) -> Relation:
    """The coordinates come before their twins in lexicographic order: each unordered pair once."""
    return _different(tuple(variables))


@lru_cache(maxsize=4096)
def _different(variables: tuple[Leaf, ...]) -> Relation:
    cases = []
    for position, variable in enumerate(variables):
        earlier = [equal(leaf(v), _twin(v)) for v in variables[:position]]
        cases.append(conjunction((*earlier, less(leaf(variable), _twin(variable)))))
    return disjunction(cases)


def distinct(
    id: str,
    value: Index,
    variables: Sequence[Leaf],
    what: str,
    sentence: str,
    section: str,
    *,
    address: Address | None = None,
    given: Relation | None = None,
    also: dict[Leaf, Index] | None = None,
    hazard: bool = False,
) -> Obligation:
    """Different coordinates have different values. ``also`` renames what else differs between the two sides."""
    live = [v for v in variables if v.lo != v.hi]
    other = substitute(value, {**twin(live), **(also or {})})
    premise = different(live)
    return Obligation(
        id, sentence, section,
        negate(equal(value, other)),
        conjunction((premise, given)) if given is not None else premise,
        needed=(f"two different {what}s", ()), found=(f"{what} {{}} twice", (value,)), address=address,
        injective=(value, tuple(live)) if not also else None, hazard=hazard,
    )  # fmt: skip


def structural(id: str, holds: bool, needed: str, found: str, sentence: str, section: str) -> Obligation:
    """A demand that the shape of the call decides."""
    return Obligation(id, sentence, section, truth(holds), needed=(needed, ()), found=(found, ()))
