"""Layouts: where they put an element, against splitting and merging the row-major number by hand."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import layouts, regroupings
from tileproof.errors import LayoutError
from tileproof.layouts.axes import AXES, Axis, axis, laneid, m, tx, warpid
from tileproof.layouts.evaluate import evaluate
from tileproof.layouts.index import Index, as_index, const, leaf
from tileproof.layouts.layout import R, S, Spec, TileLayout, row_major
from tileproof.layouts.normal import simplify
from tileproof.layouts.swizzle import Swizzle
from tileproof.layouts.symbols import symbol
from tileproof.layouts.traverse import leaves

N = symbol("n", 1, 64)


def place(
    layout: TileLayout, shape: tuple[int, ...], at: tuple[int, ...], replica: tuple[int, ...] | None = None
) -> dict[str, int]:
    """What the layout says, with numbers for everything."""
    found = layout.place(
        [const(n) for n in shape], [const(x) for x in at], replica and [const(r) for r in replica]
    )
    return {a.name: int(v) for a, v in found.items()}


def by_hand(
    layout: TileLayout, shape: tuple[int, ...], at: tuple[int, ...], replica: tuple[int, ...] = ()
) -> dict[str, int]:
    """The row-major number of the element, taken apart by the layout's extents from the right."""
    number = 0
    for n, x in zip(shape, at, strict=True):
        number = number * n + x
    result: dict[str, int] = {}
    for factor in reversed(layout.spec.factors):
        number, digit = divmod(number, int(factor.extent))
        result[factor.axis.name] = result.get(factor.axis.name, 0) + digit * int(factor.stride)
    for factor, which in zip(layout.spec.replicas, replica, strict=False):
        result[factor.axis.name] = result.get(factor.axis.name, 0) + which * int(factor.stride)
    for offset in layout.spec.offsets:
        result[offset.axis.name] = result.get(offset.axis.name, 0) + int(offset.stride)
    if layout.swizzle is not None:
        result["m"] = int(layout.swizzle.apply(result.get("m", 0)))
    return result


def without_zeros(axes: dict[str, int]) -> dict[str, int]:
    return {a: v for a, v in axes.items() if v}


@given(st.data())
def test_every_regrouping_of_every_layout(data: st.DataObject) -> None:
    layout = data.draw(layouts())
    if layout.swizzle is not None and layout.swizzle.unit == "byte":
        layout = TileLayout(layout.spec, layout.swizzle.in_elements(8))
    shape = data.draw(regroupings(tuple(int(f.extent) for f in layout.spec.factors)))
    for _ in range(4):
        at = tuple(data.draw(st.integers(0, n - 1)) for n in shape)
        replica = tuple(data.draw(st.integers(0, int(f.extent) - 1)) for f in layout.spec.replicas)
        assert without_zeros(place(layout, shape, at, replica)) == without_zeros(
            by_hand(layout, shape, at, replica)
        )
        assert without_zeros(place(layout, shape, at)) == without_zeros(by_hand(layout, shape, at))


SPLIT = TileLayout(S[(4, 16, 2, 8) : (64, 1 @ tx, 4, 8)])


@pytest.mark.parametrize(
    ("layout", "shape"),
    [
        (SPLIT, (128, 8)),  # one dimension over (4, 16, 2)
        (SPLIT, (1024,)),  # all in one
        (SPLIT, (4, 256)),  # one boundary shared
        (SPLIT, (8, 128)),  # the boundary of 8 falls inside the extent of 16
        (SPLIT, (512, 2)),  # and here inside the extent of 8
        (SPLIT, (2, 2, 16, 2, 2, 4)),  # dimensions finer than the extents
        (SPLIT, (1, 128, 1, 8, 1)),  # dimensions of one take part nowhere
        (TileLayout(S[(6, 4) : (1, 10)]), (4, 6)),  # no boundary in common but the ends
        (TileLayout(S[(2, 3) : (3, 2)]), (2, 3)),  # interleaving strides
        (TileLayout(S[(1, 6, 1) : (5, 1, 9)]), (6,)),  # extents of one
        (TileLayout(S[(4,) : (0,)]), (2, 2)),
        (
            TileLayout(S[(2, 4) : (1 @ laneid, 2 @ laneid)] + 16 @ laneid),
            (8,),
        ),  # two extents on one axis, and an offset
        (TileLayout(S[(8, 8) : (8, 1)], Swizzle(2, 1, 3)), (4, 16)),
        (
            TileLayout(S[(8, 8) : (8, 1)] + 3, Swizzle(2, 1, 3)),
            (8, 8),
        ),  # the offset is swizzled with the rest
        (TileLayout(S[(4,) : (1 @ laneid,)] + 5, Swizzle(2, 0, 2)), (4,)),  # a swizzle of an offset alone
    ],
)
def test_every_element(layout: TileLayout, shape: tuple[int, ...]) -> None:
    for at in product(*map(range, shape)):
        assert place(layout, shape, at) == by_hand(layout, shape, at)


def test_replicas_are_further_places() -> None:
    layout = TileLayout(S[(4,) : (1 @ laneid,)] + R[(2, 3) : (4 @ laneid, 1 @ warpid)] + 16 @ laneid)
    found = {tuple(place(layout, (4,), (2,), r).values()) for r in product(range(2), range(3))}
    assert found == {(18 + 4 * a, b) for a in range(2) for b in range(3)}
    assert place(layout, (4,), (2,)) == {"laneid": 18}


def test_symbolic_coordinates_give_the_formula() -> None:
    i = symbol("i", 0, 127)
    found = SPLIT.place([const(128), const(8)], [i, const(3)])
    assert [a.name for a in found] == ["m", "tx"]
    for number in (0, 1, 2, 31, 32, 77, 127):
        values = {leaves(i)[0]: number}
        assert {a.name: evaluate(v, values) for a, v in found.items()} == place(SPLIT, (128, 8), (number, 3))


@pytest.mark.parametrize(
    ("extents", "shape", "strides"),
    [
        ((N, 64), (N, 64), (64, 1)),
        ((4, N), (4 * N,), (N, 1)),
        ((4 * N,), (4, N), (1,)),
        ((4 * N,), (N, 4), (1,)),
        ((N, 4), (4 * N,), (4, 1)),
        ((2, 4 * N), (N, 8), (4 * N, 1)),
        ((2, 3 * N), (6, N), (3 * N, 1)),
        ((N, N), (N * N,), (N, 1)),
    ],
)
def test_symbolic_extents(
    extents: tuple[object, ...], shape: tuple[object, ...], strides: tuple[object, ...]
) -> None:
    """Compact layouts, so that the offset is the row-major number whatever ``n`` is."""
    layout = TileLayout(S[extents:strides])
    sizes = [as_index(n) for n in shape]
    coordinates = [symbol(f"c{d}", 0) for d in range(len(sizes))]
    found = layout.place(sizes, coordinates)[m]
    for n in (1, 2, 5):
        bound = [int(evaluate(s, {leaves(N)[0]: n})) for s in sizes]
        for at in product(*(range(b) for b in bound)):
            values = {leaves(N)[0]: n, **{leaves(c)[0]: x for c, x in zip(coordinates, at, strict=True)}}
            number = 0
            for b, x in zip(bound, at, strict=True):
                number = number * b + x
            assert evaluate(found, values) == number


def test_missing_strides_are_compact_row_major() -> None:
    assert TileLayout(S[(3, 4, 5)]) == TileLayout(S[(3, 4, 5) : (20, 5, 1)])
    assert TileLayout(S[3]) == TileLayout(S[(3,) : (1,)])
    assert [simplify(s) for s in row_major([N, N, const(4)])] == [simplify(4 * N), const(4), const(1)]


def test_layouts_compare_by_what_they_say() -> None:
    one = TileLayout(S[(2, N) : (1 @ laneid, 4)] + R[2:8] + 3, Swizzle(2, 1, 3))
    assert one == TileLayout(S[(2, N) : (1 @ laneid, 4)] + R[2:8] + 3).under(Swizzle(2, 1, 3))
    assert hash(one) == hash(TileLayout(one.spec, one.swizzle))
    assert one != TileLayout(one.spec)
    assert one != TileLayout(S[(2, N) : (1 @ warpid, 4)] + R[2:8] + 3, Swizzle(2, 1, 3))
    assert one != "(2,n):(1@laneid,4)"
    assert one.axes == (laneid, m)
    assert one.size is 2 * N


def test_axes_and_layouts_survive_pickling() -> None:
    layout = TileLayout(S[(2, N) : (1 @ laneid, 4)] + 2 @ warpid, Swizzle(2, 1, 3, "byte"))
    again = pickle.loads(pickle.dumps(layout))
    assert again == layout
    assert again.spec.factors[0].axis is laneid
    assert all(pickle.loads(pickle.dumps(a)) is a for a in AXES.values())


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "more extents than strides": (lambda: S[(2, 3) : (1,)], "S[...] has 2 extents (2, 3) but 1 strides (1,)"),
    "an extent of zero": (lambda: S[(2, 0) : (1, 1)], "S[...]: extent 1 is 0; extents are at least 1"),
    "a negative replica": (lambda: R[(-1,) : (1,)], "R[...]: extent 0 is -1"),
    "a third part": (lambda: S[2:3:4], "takes two parts, got a third: 4"),
    "a nested tuple": (lambda: S[((2, 2), 3) : ((1, 2), 4)], "got (2, 2)"),
    "two S": (lambda: S[2:1] + S[2:1], "a layout has one S[...]"),
    "no S": (lambda: TileLayout(R[2:1]), "a layout needs its extents and strides"),
    "no spec": (lambda: TileLayout("(2):(1)"), "a layout needs its extents and strides"),  # type: ignore[arg-type]
    "two swizzles": (
        lambda: TileLayout(S[2:1], Swizzle(1, 0, 1)).under(Swizzle(1, 0, 1)),
        "swizzled already, by Swizzle<1,0,1>",
    ),
    "a swizzle of bytes": (
        lambda: TileLayout(S[2:1], Swizzle(1, 4, 1, "byte")).place([const(2)], [const(0)]),
        "Swizzle<1,4,1> in bytes permutes bytes; give the layout to a tensor",
    ),
    "an unknown axis": (lambda: axis("lane"), "unknown axis 'lane'; the axes are m, TLane, TCol, laneid"),
    "a fraction as an extent": (lambda: S[2.5:1], "got 2.5"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_layouts_are_refused(name: str) -> None:
    build, message = REFUSED[name]
    with pytest.raises(LayoutError) as error:
        build()
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("extents", "shape", "numbers"),
    [
        ((4, 8), (32,), None),
        ((4, 8), (33,), "33 elements against 32 from dimension 0"),
        ((4, 8), (31,), "31 elements against 32"),
        ((4, 8), (4, 9), "9 elements against 8 from dimension 1"),
        ((4, 8), (2, 3, 8), "48 elements against 32 from dimension 0"),
        ((4, 8), (4,), "against"),
        ((4,), (4, 8), "against"),
        ((N,), (N + 1,), "n + 1"),
        ((4, N), (N, 3), "4*n"),
    ],
)
def test_extents_multiply_up_to_the_shape(
    extents: tuple[object, ...], shape: tuple[object, ...], numbers: str | None
) -> None:
    layout = TileLayout(S[extents])
    sizes: list[Index] = [as_index(n) for n in shape]
    if numbers is None:
        assert prod(int(n) for n in sizes) == int(layout.size)
        assert layout.grouping(sizes)
    else:
        with pytest.raises(LayoutError) as error:
            layout.grouping(sizes)
        assert "do not multiply up to the shape" in str(error.value)
        assert numbers in str(error.value)


def test_every_axis_is_found_by_its_name() -> None:
    assert all(axis(name) is a for name, a in AXES.items())
    assert [a.name for a in AXES.values() if not a.thread] == ["m", "TLane", "TCol"]
    assert {a.uniform for a in AXES.values() if a.thread} == {"thread", "warp", "cta"}


def test_a_spec_is_a_sum() -> None:
    built: Spec = S[2:1] + R[3:2] + 4 + 5 @ warpid
    assert (len(built.factors), len(built.replicas), [o.axis for o in built.offsets]) == (1, 1, [m, warpid])
    assert isinstance(built.offsets[1].axis, Axis)
    assert evaluate(leaf(leaves(warpid.as_index())[0]), {leaves(warpid.as_index())[0]: 3}) == 3
