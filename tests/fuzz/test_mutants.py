"""Changed contracts are changed where they say, and come back."""

from __future__ import annotations

import pytest

import tileproof as tp
from tileproof.fuzz.mutants import Change, Mutant, UnaskedError, applied, shorter, weaker
from tileproof.layouts.index import conjunction, const, equal, leaf, negate
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
        ("shortened", 16, 5, "proved"), ("shortened", 8, 4, "refuted"),
    ],
)  # fmt: skip
def test_a_changed_demand_is_weaker_by_so_much(change: Change, align: int, gap: int, expected: str) -> None:
    assert verdict(align, gap) == "refuted"
    with applied(Mutant("ld_st", "aligned", change)) as altered:
        assert verdict(align, gap) == expected
        assert set(altered) == {"ld.aligned"}
    assert verdict(align, gap) == "refuted"


def test_the_contract_comes_back_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), applied(Mutant("ld_st", "aligned", "removed")):
        raise ZeroDivisionError
    assert verdict(4) == "refuted"


def test_another_contract_stays_as_it_is() -> None:
    with applied(Mutant("matrix", "aligned", "removed")) as altered:
        assert verdict(4) == "refuted"
    assert not altered


def test_operands_that_do_not_fit_pass_where_nobody_asks() -> None:
    with applied(Mutant("ld_st", "width", "removed")) as altered, pytest.raises(UnaskedError):
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
    assert shorter(X < 5) is ((X < 5) | equal(X, const(7)))
    claim = leaf(Leaf("n", "symbol", 0, 7)) < 5
    assert shorter(claim) is claim
