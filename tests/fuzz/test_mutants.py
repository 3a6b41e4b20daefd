"""Changed contracts are changed where they say, and come back."""

from __future__ import annotations

import pytest

import tileproof as tp
from tileproof.contracts.obligation import Obligation
from tileproof.fuzz.hunt import hunt
from tileproof.fuzz.mutants import Change, Mutant, UnaskedError, applied, changed, shorter, weaker
from tileproof.layouts.index import conjunction, const, disjunction, equal, leaf, negate
from tileproof.layouts.leaf import Leaf

X = leaf(Leaf("x", "repeat", 0, 7))


def verdict(align: int, gap: int = 4) -> str:
    """A load of four words from a base of some alignment, rows ``gap`` words apart."""
    memory = tp.tensor("A", (2, 4), "b32", layout=tp.TileLayout(tp.S[(2, 4) : (gap, 1)]), align=align)
    return tp.check("ld.global.v4.b32", tp.tensor("R", (2, 4), "b32", "registers"), memory).verdict.value


@pytest.mark.parametrize(
    ("change", "align", "gap", "expected"),
    [
        ("removed", 4, 4, "proved"), ("weakened", 8, 4, "proved"), ("weakened", 4, 4, "refuted"),
        ("last repeat", 16, 5, "proved"), ("last repeat", 8, 4, "refuted"),
    ],
)  # fmt: skip
def test_a_changed_demand_is_weaker_by_so_much(change: Change, align: int, gap: int, expected: str) -> None:
    assert verdict(align, gap) == "refuted"
    with applied(Mutant("ld", "aligned", change)) as altered:
        assert verdict(align, gap) == expected
        assert set(altered) == {"ld.aligned"}
    assert verdict(align, gap) == "refuted"


def test_the_contract_comes_back_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), applied(Mutant("ld", "aligned", "removed")):
        raise ZeroDivisionError
    assert verdict(4) == "refuted"


def test_another_instruction_stays_as_it_is() -> None:
    with applied(Mutant("st", "aligned", "removed")) as altered:
        assert verdict(4) == "refuted"
    assert not altered


def test_operands_that_do_not_fit_pass_where_nobody_asks() -> None:
    with applied(Mutant("ld", "width", "removed")) as altered, pytest.raises(UnaskedError):
        tp.check(
            "ld.global.b32", tp.tensor("R", (1,), "b64", "registers"), tp.tensor("A", (1,), "b32", align=4)
        )
    assert set(altered) == {"ld.width"}


def test_claims_are_weakened_by_one() -> None:
    assert weaker(equal(X % 16, const(0))) is equal(X % 8, const(0))
    assert weaker(equal(X, const(3))) is (equal(X, const(3)) | equal(X, const(4)))
    assert weaker(X < 5) is (X < 6)
    assert weaker(X >= 2) is (X + 1 >= 2)
    assert weaker(conjunction((X < 5, X >= 0))) is conjunction((X < 6, X + 1 >= 0))
    claim = negate(equal(X, const(3)))
    assert weaker(claim) is claim


def test_claims_forget_the_last_value_of_a_coordinate() -> None:
    assert shorter(X < 5, "last repeat") is ((X < 5) | equal(X, const(7)))
    assert shorter(X < 5, "last element") is (X < 5)
    later = leaf(Leaf("x", "repeat", 0, 7, copy=1))
    claim = negate(equal(X, later))
    assert shorter(claim, "last repeat") is (claim | equal(later, const(7)))
    claim = leaf(Leaf("n", "symbol", 0, 7)) < 5
    assert all(shorter(claim, change) is claim for change in ("last element", "last repeat", "last thread"))


def test_alternatives_are_weakened_each() -> None:
    assert weaker(disjunction((X < 5, X >= 7))) is disjunction((X < 6, X + 1 >= 7))


def test_the_parts_of_an_element_are_whole_bytes_apart() -> None:
    stated = Obligation("ld.whole-element", "", "", equal(X, const(8)))
    left = changed(stated, "weakened")
    assert left is not None
    assert left.claim is (equal(X, const(8)) | equal(X, const(16)))


def test_a_scalar_function_has_a_contract_that_changes_too() -> None:
    twice = tp.tensor("R", (2,), "float32", "registers", layout=tp.TileLayout(tp.S[(2,) : (0,)]))
    assert tp.check_ewise(_double, twice, twice).verdict is tp.Verdict.REFUTED
    with applied(Mutant("ewise", "distinct", "removed")) as altered:
        assert tp.check_ewise(_double, twice, twice).verdict is tp.Verdict.PROVED
    assert set(altered) == {"ewise.distinct"}


@tp.scalar_function
def _double(x: tp.float32) -> tp.float32:
    return x + x


def test_a_campaign_finds_mutants_and_execution_tells_some() -> None:
    found = hunt("ld", 1, 120, frozenset({"aligned", "covered", "replica"}))
    assert not found.faults
    by_change = {(one.mutant.demand, one.mutant.change): one for one in found.mutants}
    for change in ("removed", "weakened"):
        assert by_change["aligned", change].view is not None
        assert by_change["aligned", change].betrayed
    assert by_change["covered", "removed"].view is not None
    assert all(one.refuting for one in found.mutants if one.view is not None)


def test_a_demand_that_no_view_refutes_is_a_survivor() -> None:
    (only,) = hunt("stmatrix", 1, 1, frozenset({"transposed-unit"})).mutants
    assert only.view is None
    assert not only.refuting
