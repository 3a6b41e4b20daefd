"""What facts about one variable say of its bounds, to the last value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tileproof.layouts.evaluate import evaluate, evaluate_array
from tileproof.layouts.index import Relation, conjunction, leaf, truth
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.normal import decide
from tileproof.layouts.sharpen import as_replacement, conjuncts, sharpen
from tileproof.layouts.symbols import symbol
from tileproof.layouts.traverse import leaves, substitute

X = symbol("x", -20, 20)
Y = symbol("y", -3, 9)
U = symbol("u")
E = symbol("e", -20, 20, multiple_of=2)

BOUNDS = [
    # fact, least, greatest
    (X < 5, -20, 4),
    (X <= 5, -20, 5),
    (X > 5, 6, 20),
    (X >= 5, 5, 20),
    (~(X < 5), 5, 20),
    (~(X <= 5), 6, 20),
    (X == 5, 5, 5),
    (-X < 5, -4, 20),
    (-X <= 5, -5, 20),
    (-X > 5, -20, -6),
    (-X >= 5, -20, -5),
    (-X == 5, -5, -5),
    (3 * X < 9, -20, 2),
    (3 * X < 10, -20, 3),
    (3 * X <= 9, -20, 3),
    (3 * X <= 8, -20, 2),
    (3 * X > 9, 4, 20),
    (3 * X > 8, 3, 20),
    (3 * X >= 9, 3, 20),
    (3 * X >= 10, 4, 20),
    (-3 * X < 9, -2, 20),
    (-3 * X < 10, -3, 20),
    (-3 * X <= 9, -3, 20),
    (-3 * X <= 8, -2, 20),
    (-3 * X > 9, -20, -4),
    (-3 * X > 8, -20, -3),
    (-3 * X >= 9, -20, -3),
    (-3 * X >= 10, -20, -4),
    (3 * X == 9, 3, 3),
    (-3 * X == 9, -3, -3),
    (2 * X + 7 < 3 * X, 8, 20),
    (5 < X, 6, 20),
    (X - 3 < 2 - X, -20, 2),
    ((X > 3) & (X < 9), 4, 8),
    ((X > 3) & (X > 6) & (X < 9) & (X < 15), 7, 8),
    ((X > -50) & (X < 9), -20, 8),
    ((X > 3) & (Y < 5), 4, 20),
    ((X > 3) & ((Y < 5) & (X < 9)), 4, 8),
    ((X > 3) & ((X < 9) | (Y > 100)), 4, 8),
    ((X > 3) & ((X < 9) | (Y > 3)), 4, 20),
]


@pytest.mark.parametrize(("fact", "least", "greatest"), BOUNDS, ids=[repr(b[0]) for b in BOUNDS])
def test_bounds(fact: Relation, least: int, greatest: int) -> None:
    narrowed = sharpen(fact)[X.args[0]]
    assert (narrowed.lo, narrowed.hi, narrowed.multiple_of) == (least, greatest, 1)
    assert (narrowed.name, narrowed.kind, narrowed.uniform, narrowed.copy) == ("x", "symbol", "grid", 0)
    # To the last value: the bounds themselves satisfy the fact, and their neighbours do not.
    values = dict.fromkeys(leaves(fact), 4)
    assert all(evaluate(fact, {**values, X.args[0]: n}) for n in (least, greatest))
    assert least == -20 or not evaluate(fact, {**values, X.args[0]: least - 1})
    assert greatest == 20 or not evaluate(fact, {**values, X.args[0]: greatest + 1})


@pytest.mark.parametrize(
    ("fact", "least", "greatest", "divisor"),
    [
        (X % 4 == 0, -20, 20, 4),
        (X % 3 == 0, -18, 18, 3),
        ((X % 4 == 0) & (X < 8), -20, 4, 4),
        ((X % 4 == 0) & (X <= 8), -20, 8, 4),
        ((X <= 9) & (X % 4 == 0) & (X >= 1), 4, 8, 4),
        ((X % 4 == 0) & (X % 6 == 0), -12, 12, 12),
        ((X % 4 == 0) & (X > -5) & (X < 5), -4, 4, 4),
        (E % 3 == 0, -18, 18, 6),
        (E > 3, 4, 20, 2),
        (E < 3, -20, 2, 2),
    ],
    ids=repr,
)
def test_divisors(fact: Relation, least: int, greatest: int, divisor: int) -> None:
    ((wide, narrow),) = sharpen(fact).items()
    assert (narrow.lo, narrow.hi, narrow.multiple_of) == (least, greatest, divisor)
    assert wide in leaves(fact)


@pytest.mark.parametrize(
    ("fact", "least", "greatest", "divisor"),
    [
        (U >= 0, 0, None, 1),
        (U < 64, None, 63, 1),
        ((U >= 0) & (U < 64) & (U % 4 == 0), 0, 60, 4),
        (U == 7, 7, 7, 1),
        (U % 8 == 0, None, None, 8),
    ],
    ids=repr,
)
def test_unbounded(fact: Relation, least: int | None, greatest: int | None, divisor: int) -> None:
    narrow = sharpen(fact)[U.args[0]]
    assert (narrow.lo, narrow.hi, narrow.multiple_of) == (least, greatest, divisor)


@pytest.mark.parametrize(
    "fact",
    [
        truth(True),
        truth(False),
        X != 5,
        X < Y,
        X + Y == 4,
        X * Y < 5,
        X % 4 == 1,
        X % 4 != 0,
        (X < 5) | (X > 9),
        ~((X < 5) & (Y < 5)),
        X < 100,
        X > -100,
        X // 3 < 2,
        2 * X == 7,
        (X > 5) & (X < 3),
        (X > 5) & (X < 6),
        (X % 7 == 0) & (X > 7) & (X < 14),
    ],
    ids=repr,
)
def test_nothing_plain_is_said(fact: Relation) -> None:
    """What relates two variables, excludes a value in the middle or contradicts itself narrows nothing."""
    assert sharpen(fact) == {}


def test_conjuncts() -> None:
    a, b, c = X < 5, Y < 5, U == 2
    assert conjuncts(a & (b & c)) == [a, b, c]
    assert conjuncts(a | b) == [a | b]
    assert conjuncts(truth(True)) == [truth(True)]


def test_replacement() -> None:
    narrowed = sharpen((X > 3) & (Y <= 2))
    replaced = substitute(X + Y, as_replacement(narrowed))
    assert leaves(replaced) == [narrowed[X.args[0]], narrowed[Y.args[0]]]


SMALL = (symbol("a", -7, 7), symbol("b", -3, 5), symbol("c", -6, 6, multiple_of=2))


@st.composite
def facts(draw: st.DrawFn) -> Relation:
    x = draw(st.sampled_from(SMALL))
    factor, constant = draw(st.integers(-4, 4)), draw(st.integers(-12, 12))
    linear = x * factor + constant
    other = draw(st.one_of(st.integers(-12, 12), st.sampled_from(SMALL)))
    compare: list[Any] = [
        lambda: linear < other,
        lambda: linear <= other,
        lambda: linear > other,
        lambda: linear >= other,
        lambda: linear == other,
        lambda: linear != other,
        lambda: x % draw(st.integers(1, 6)) == 0,
        lambda: linear % draw(st.integers(1, 6)) == draw(st.integers(0, 2)),
        lambda: (linear < other) | (x == 3),
        lambda: ~((linear < other) & (x < 3)),
    ]
    made: Relation = draw(st.sampled_from(compare))()
    return made


def domain(variable: Leaf) -> range:
    assert variable.lo is not None
    assert variable.hi is not None
    step = variable.multiple_of
    return range(-(-variable.lo // step) * step, variable.hi + 1, step)


def solutions(premise: Relation, narrowed: dict[Leaf, Leaf]) -> set[tuple[int, ...]]:
    """The points of the (narrowed) domains at which the premise holds."""
    names = [v.args[0] for v in SMALL]
    grid = np.meshgrid(*[list(domain(narrowed.get(v, v))) for v in names], indexing="ij")
    holds = np.broadcast_to(evaluate_array(premise, dict(zip(names, grid, strict=True))), grid[0].shape)
    return set(zip(*(g[holds].tolist() for g in grid), strict=True))


@given(st.lists(facts(), min_size=1, max_size=4))
@settings(max_examples=100)
def test_the_same_points_satisfy_the_premise(items: list[Relation]) -> None:
    premise = conjunction(items)
    narrowed = sharpen(premise)
    every = solutions(premise, {})
    assert solutions(premise, narrowed) == every
    # Simplified over the narrowed variables it still means the same.
    simple = decide(substitute(premise, as_replacement(narrowed)))
    back = substitute(simple, {n: leaf(v) for v, n in narrowed.items()})
    assert solutions(back, narrowed) == every
    for variable, narrow in narrowed.items():
        assert set(domain(narrow)) < set(domain(variable))
