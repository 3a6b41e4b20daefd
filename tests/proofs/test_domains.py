"""Bounds for unbounded variables keep the answer: checked by evaluation far around."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tileproof as tp
from tests.strategies import FAR, I, U, indices
from tileproof import Swizzle
from tileproof.layouts.evaluate import evaluate
from tileproof.layouts.index import Index, Relation, equal
from tileproof.layouts.leaf import Leaf
from tileproof.proofs.domains import EXACT, bounded, periods
from tileproof.proofs.smtlib import scripts

u, v = U, tp.symbol("v")
below, above = tp.symbol("below", None, 21, multiple_of=4), tp.symbol("above", 6, multiple_of=4)
base = tp.tensor("A", (4,), "b32").storage.base
swizzle = Swizzle(3, 2, 3)

RANGES: list[tuple[list[Relation], dict[Index, tuple[int | None, int | None]]]] = [
    ([u >= 3, u < 7], {u: (3, 6)}),
    ([u > 3, u <= 7], {u: (4, 7)}),
    ([u == 5], {u: (5, 5)}),
    ([(u >= 0) & (u < 4), u < 9], {u: (0, 3)}),
    ([u * u == 3, u >= 2], {u: (2, None)}),
    ([u % 16 == 3], {u: (0, 15)}),
    ([u % 16 == 3, u >= 5], {u: (5, 20)}),
    ([u % 16 == 3, u <= 5], {u: (-10, 5)}),
    ([above % 3 == 1], {above: (8, 16)}),
    ([below % 3 == 1], {below: (12, 20)}),
    ([(base + u * 4) % 16 == 4, u >= 0], {base: (0, 15 * 256), u: (0, 15)}),
    ([u % 4 == 1, u % 6 == 1], {u: (0, 11)}),
    ([(u % 12) % 4 == 1], {u: (0, 3)}),
    ([(u % 10) % 4 == 1], {u: (0, 9)}),
    ([u // 3 % 4 == 1], {u: (0, 11)}),
    ([(u ^ 5) % 8 == 1], {u: (0, 7)}),
    ([(u ^ 5) % 6 == 1], {}),
    ([swizzle.apply(u) % 32 == 1], {u: (0, 255)}),
    ([tp.select(v > 0, u, 3) % 4 == 1], {u: (0, 3), v: (None, None)}),
    ([tp.minimum(u, 9) % 4 == 1], {}),
    ([u % 4 == 1, u == v], {}),
    ([u % 4 == 1, u * 2 < 9], {}),
    ([~(u == 5)], {}),
    ([u >= 0, I < 3], {u: (0, 0)}),
]


@pytest.mark.parametrize(("relations", "ranges"), RANGES, ids=lambda x: str(x)[:60])
def test_ranges(relations: list[Relation], ranges: dict[Index, tuple[int | None, int | None]]) -> None:
    _, became = bounded(relations)
    expected = {x.args[0]: r for x, r in ranges.items() if r != (None, None)}
    assert {variable: (n.lo, n.hi) for variable, n in became.items()} == expected


def test_facts_about_bounded_variables_change_nothing() -> None:
    relations, became = bounded([I < 3])
    assert (relations, became) == ([I < 3], {})


@given(indices((U, I), 5), st.sampled_from((2, 3, 4, 6, 8, 16)), st.integers(0, 3))
@settings(max_examples=150)
def test_a_period_has_every_remainder(node: Index, modulus: int, remainder: int) -> None:
    """Values a period apart are the same to the relation."""
    relation = equal(node % modulus, tp.symbol("r", 0, 3))
    period = periods([relation]).get(U.args[0], 1)
    assume(period != EXACT)
    for i in (0, 7, 31):
        for value in (-FAR, -1, 0, 5):
            values = {U.args[0]: value, I.args[0]: i, tp.symbol("r", 0, 3).args[0]: remainder}
            later = {**values, U.args[0]: value + period}
            assert evaluate(relation, values) == evaluate(relation, later)


facts = st.builds(
    lambda build, number: build(U, number),
    st.sampled_from(
        (
            lambda x, n: x < n,
            lambda x, n: x >= n,
            lambda x, n: x > n,
            lambda x, n: x <= n,
            lambda x, n: x == n,
        )
    ),
    st.integers(-40, 40),
)


@given(
    st.lists(facts, max_size=2),
    st.lists(
        st.builds(lambda a, m, r: a % m == r, indices((U,), 4), st.integers(2, 9), st.integers(0, 3)),
        max_size=2,
    ),
)
@settings(max_examples=100)
def test_the_answer_is_kept(stated: list[Relation], asked: list[Relation]) -> None:
    relations = [*stated, *asked]
    narrowed, became = bounded(relations)
    assume(U.args[0] in became)
    now = became[U.args[0]]
    assume(now.lo is not None and now.hi is not None and now.hi - now.lo < 2 * FAR)
    assert now.lo is not None
    assert now.hi is not None
    inside = any(
        all(evaluate(r, {now: value}) for r in narrowed)
        for value in range(now.lo, now.hi + 1, now.multiple_of)
    )
    anywhere = any(all(evaluate(r, {U.args[0]: x}) for r in relations) for x in range(-3 * FAR, 3 * FAR))
    assert anywhere == inside


# What it is for


def logics(*relations: Relation) -> list[str]:
    return [script.text.partition(")")[0].removeprefix("(set-logic ") for script in scripts(relations)]


def test_a_product_beside_an_unbounded_base_is_asked_in_bit_vectors() -> None:
    n = tp.symbol("n", 0, 2**31 - 1)
    (found,) = scripts([(base + n * (n + 1) * 8) % 16 != 0])
    assert found.text.startswith("(set-logic QF_BV)")
    assert [(x.name, x.lo, x.hi) for x in found.ranges] == [("A", 0, 15 * 256)]


def test_theories() -> None:
    assert logics(u < u * 2) == ["QF_LIA"]
    assert logics(I < 2, u % 4 == 1) == ["QF_LIA", "QF_BV"]
    assert logics(u * v == 6) == ["QF_NIA"]
    assert logics(I * I == 4) == ["QF_BV"]
    assert logics(u ^ I == u + 4) == ["QF_LIA"]
    assert logics(u ^ v == 4) == []


def test_a_point_outside_of_a_range_is_not_pinned() -> None:
    n = tp.symbol("n", 0, 1000)
    relation = (base + n * n) % 16 == 4
    point: dict[Leaf, int] = {base.args[0]: 256 * 1000, n.args[0]: 2}
    (found,) = scripts([relation], point)
    assert "n:symbol" in found.witness
    assert "A:base" not in found.witness
    (found,) = scripts([relation], {**point, base.args[0]: 256})
    assert "A:base" in found.witness
