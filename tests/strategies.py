"""Hypothesis strategies that several tests share: index expressions, relations, points, layouts."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from math import prod

from hypothesis import strategies as st

from tileproof.layouts import index as ix
from tileproof.layouts.axes import AXES, Strided, m
from tileproof.layouts.index import Expression, Index, Relation, const
from tileproof.layouts.layout import Spec, TileLayout, factors
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.swizzle import Swizzle
from tileproof.layouts.symbols import symbol
from tileproof.layouts.traverse import leaves

I, J, K, N, U = BOUNDED_AND_NOT = (
    symbol("i", 0, 31),
    symbol("j", -5, 15),
    symbol("k", 0, 64, multiple_of=8),
    symbol("n", 1, 12),
    symbol("u"),
)
CONSTANTS = (0, 1, 2, 3, 4, 7, 8, 12, 16, 255, -1, -4, -8, -16)
DIVISORS = (const(2), const(3), const(4), const(6), const(8), const(16), const(32), N, N + 3)
FAR = 300
"""How far from zero an unbounded symbol is sampled."""


def indices(symbols: tuple[Index, ...] = BOUNDED_AND_NOT, max_leaves: int = 10) -> st.SearchStrategy[Index]:
    """Expressions over the given symbols with every operator that an index has."""
    base = st.sampled_from(symbols) | st.sampled_from(CONSTANTS).map(const)
    divisors = [d for d in DIVISORS if set(leaves(d)) <= set(leaves(*symbols))]

    def grow(inner: st.SearchStrategy[Index]) -> st.SearchStrategy[Index]:
        scaled = st.builds(ix.mul, inner, st.sampled_from((2, 3, 4, 8, 16, -1, -4)).map(const))
        divided = st.builds(
            lambda f, a, d: f(a, d), st.sampled_from((ix.floordiv, ix.mod)), inner, st.sampled_from(divisors)
        )
        bitwise = st.builds(ix.bitwise, st.sampled_from(("xor", "and", "or")), inner, inner)
        extreme = st.builds(lambda f, a, b: f(a, b), st.sampled_from((ix.minimum, ix.maximum)), inner, inner)
        swizzled = inner.map(lambda a: Swizzle(2, 1, 3).apply(a))
        chosen = st.builds(ix.select, _comparisons(inner), inner, inner)
        sums = st.builds(ix.add, inner, inner)
        return st.one_of(
            sums,
            sums,
            scaled,
            scaled,
            divided,
            divided,
            st.builds(ix.mul, inner, inner),
            bitwise,
            extreme,
            swizzled,
            chosen,
        )

    return st.recursive(base, grow, max_leaves=max_leaves)


def _comparisons(inner: st.SearchStrategy[Index]) -> st.SearchStrategy[Relation]:
    compare: list[Callable[[Index, Index], Relation]] = [
        lambda a, b: a == b,
        lambda a, b: a != b,
        lambda a, b: a < b,
        lambda a, b: a <= b,
    ]
    return st.builds(lambda f, a, b: f(a, b), st.sampled_from(compare), inner, inner)


def relations(
    symbols: tuple[Index, ...] = BOUNDED_AND_NOT, max_leaves: int = 4
) -> st.SearchStrategy[Relation]:
    """Comparisons of expressions and combinations of them."""
    base = _comparisons(indices(symbols, max_leaves))
    return st.recursive(
        base,
        lambda inner: st.one_of(
            inner.map(ix.negate),
            st.builds(lambda a, b: a & b, inner, inner),
            st.builds(lambda a, b: a | b, inner, inner),
        ),
        max_leaves=3,
    )


def points(*expressions: Expression, seed: int = 0, count: int = 12) -> Iterator[dict[Leaf, int]]:
    """Values for the variables of the expressions: their least, their greatest, then random ones."""
    generator = random.Random(seed)
    variables = leaves(*expressions)
    for number in range(count if variables else 1):
        chosen: dict[Leaf, int] = {}
        for v in variables:
            step = v.multiple_of
            lo = -(-(-FAR if v.lo is None else v.lo) // step)
            hi = (FAR if v.hi is None else v.hi) // step
            chosen[v] = step * (lo if number == 0 else hi if number == 1 else generator.randint(lo, hi))
        yield chosen


@st.composite
def swizzles(draw: st.DrawFn, unit: str | None = None) -> Swizzle:
    """Swizzles of either sign and unit."""
    bits = draw(st.integers(0, 3))
    shift = draw(st.integers(bits, 4)) * draw(st.sampled_from((1, -1)))
    return Swizzle(bits, draw(st.integers(0, 4)), shift, unit or draw(st.sampled_from(("element", "byte"))))  # type: ignore[arg-type]


@st.composite
def layouts(draw: st.DrawFn, *, storage_only: bool = False) -> TileLayout:
    """Layouts of up to 5 static extents, with replicas, offsets and swizzles; strides of either sign."""
    axes = [m] if storage_only else [m, m, *AXES.values()]

    def strided() -> Strided:
        return Strided(const(draw(st.integers(-9, 300))), draw(st.sampled_from(axes)))

    def parts(least: int, most: int) -> tuple[object, ...]:
        extents = draw(st.lists(st.integers(1, 9), min_size=least, max_size=most))
        return factors(extents, [strided() for _ in extents])

    replicas = () if storage_only else parts(0, 2)
    offsets = tuple(strided() for _ in range(draw(st.integers(0, 2))))
    return TileLayout(Spec(parts(1, 5), replicas, offsets), draw(st.none() | swizzles()))  # type: ignore[arg-type]


@st.composite
def regroupings(draw: st.DrawFn, extents: tuple[int, ...]) -> tuple[int, ...]:
    """A shape whose dimensions are products of neighbouring extents, with dimensions of one thrown in."""
    shape: list[int] = []
    position = 0
    while position < len(extents):
        taken = draw(st.integers(1, len(extents) - position))
        shape.append(prod(extents[position : position + taken]))
        position += taken
    for _ in range(draw(st.integers(0, 2))):
        shape.insert(draw(st.integers(0, len(shape))), 1)
    return tuple(shape)
