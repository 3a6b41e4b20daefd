"""Views against NumPy: each operation is applied to an array of byte offsets, and all elements compared."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileproof.errors import LayoutError
from tileproof.layouts.axes import laneid, m
from tileproof.layouts.evaluate import evaluate, evaluate_array
from tileproof.layouts.index import const
from tileproof.layouts.layout import R, S, TileLayout
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.normal import simplify
from tileproof.layouts.swizzle import Swizzle
from tileproof.layouts.symbols import symbol
from tileproof.layouts.tensor import Tensor, tensor
from tileproof.layouts.traverse import leaves
from tileproof.layouts.view import View

Offsets = npt.NDArray[np.int64]

P, J = symbol("i", 0, 12), symbol("j", 0, 3)
N = symbol("n", 1, 64)


def offsets(view: Any, **values: int) -> Offsets:
    """The byte offset of every element, as the view's formula says."""
    view = view.as_view()
    grid = np.meshgrid(*(np.arange(n) for n in view.extents), indexing="ij")
    at: dict[Leaf, Any] = dict(zip(view.variables, grid, strict=True))
    formula = view.place([_leaf(v) for v in view.variables]).byte_offset
    at.update({v: values[v.name] for v in leaves(formula) if v not in at})
    return np.broadcast_to(np.asarray(evaluate_array(formula, at), np.int64), view.extents)


def _leaf(variable: Leaf) -> Any:
    from tileproof.layouts.index import leaf

    return leaf(variable)


def same(view: Any, expected: Offsets, **values: int) -> None:
    found = offsets(view, **values)
    assert found.shape == expected.shape
    assert found.tolist() == expected.tolist()


A = tensor("A", (16, 4, 6), "float32", layout=TileLayout(S[(16, 4, 6) : (32, 8, 1)]))
A_OFFSETS: Offsets = 4 * (32 * np.arange(16)[:, None, None] + 8 * np.arange(4)[:, None] + np.arange(6))


def test_a_tensor_is_a_view_of_itself() -> None:
    same(A, A_OFFSETS)


SLICES: dict[str, tuple[Callable[[Any], Any], Callable[[Offsets], Offsets]]] = {
    "everything": (lambda v: v[:], lambda a: a),
    "an ellipsis": (lambda v: v[..., 2:4], lambda a: a[..., 2:4]),
    "an ellipsis in the middle": (lambda v: v[3, ..., 1:2], lambda a: a[3, ..., 1:2]),
    "an empty ellipsis": (lambda v: v[0:2, ..., 1:3, 0:1], lambda a: a[0:2, 1:3, 0:1]),
    "open ends": (lambda v: v[4:, :3], lambda a: a[4:, :3]),
    "an index": (lambda v: v[5], lambda a: a[5]),
    "indices": (lambda v: v[5, :, 3], lambda a: a[5, :, 3]),
    "steps": (lambda v: v[1:12:5, ::2, 0:6:4], lambda a: a[1:12:5, ::2, 0:6:4]),
    "a step past the end": (lambda v: v[0:2:7], lambda a: a[0:2:7]),
    "slices of slices": (lambda v: v[2:10][3:5, 1], lambda a: a[2:10][3:5, 1]),
    "a region": (lambda v: v.sub((3, 1, 2), (4, 2, 3)), lambda a: a[3:7, 1:3, 2:5]),
    "the last element": (lambda v: v[15:16, 3:4, 5:6], lambda a: a[15:16, 3:4, 5:6]),
}


@pytest.mark.parametrize("name", SLICES)
def test_slices(name: str) -> None:
    view, array = SLICES[name]
    same(view(A), array(A_OFFSETS))


@pytest.mark.parametrize("i", [0, 5, 12])
@pytest.mark.parametrize("j", [0, 3])
def test_symbolic_starts(i: int, j: int) -> None:
    same(A[P : P + 4, J, 1:3], A_OFFSETS[i : i + 4, j, 1:3], i=i, j=j)
    same(A.sub((P + 1, J, 0), (3, 1, 6)), A_OFFSETS[i + 1 : i + 4, j : j + 1], i=i, j=j)
    same(A[P : P + 4][J : J + 1, :, P // 3], A_OFFSETS[i + j : i + j + 1, :, i // 3], i=i, j=j)


def test_a_slice_remembers_the_region_that_must_lie_inside() -> None:
    view = A[P : P + 4, J, 0:6:4][1:3]
    found = [(r.dimension, repr(simplify(r.start)), r.extent, int(r.size)) for r in view.regions]
    assert found == [(0, "i", 4, 16), (1, "j", 1, 4), (2, "0", 5, 6), (0, "1", 2, 4)]
    assert A[:].regions == ()


REARRANGED: dict[str, tuple[Callable[[Any], Any], Callable[[Offsets], Offsets]]] = {
    "permute": (lambda v: v.permute(2, 0, 1), lambda a: a.transpose(2, 0, 1)),
    "permute back": (lambda v: v.permute(2, 0, 1).permute(1, 2, 0), lambda a: a),
    "reorder by name": (lambda v: v.rearrange("a b c -> c a b"), lambda a: a.transpose(2, 0, 1)),
    "merge": (lambda v: v.rearrange("a b c -> a (b c)"), lambda a: a.reshape(16, 24)),
    "merge in another order": (
        lambda v: v.rearrange("a b c -> a (c b)"),
        lambda a: a.transpose(0, 2, 1).reshape(16, 24),
    ),
    "split": (
        lambda v: v.rearrange("(r m) w k -> k m r w", m=2),
        lambda a: a.reshape(8, 2, 4, 6).transpose(3, 1, 0, 2),
    ),
    "split with all sizes": (
        lambda v: v.rearrange("(r m) w k -> r m w k", r=4, m=4),
        lambda a: a.reshape(4, 4, 4, 6),
    ),
    "split and merge": (
        lambda v: v.rearrange("(x y) w (u k) -> (y w) (k x) u", x=4, u=3),
        lambda a: a.reshape(4, 4, 4, 3, 2).transpose(1, 2, 4, 0, 3).reshape(16, 8, 3),
    ),
    "dimensions of one": (
        lambda v: v[3:4].rearrange("1 b c -> b 1 c ()"),
        lambda a: a[3].reshape(4, 1, 6, 1),
    ),
    "another shape": (lambda v: v.view(8, 48), lambda a: a.reshape(8, 48)),
    "another shape, given as a tuple": (lambda v: v.view((3, 128)), lambda a: a.reshape(3, 128)),
    "one dimension": (lambda v: v.view(384), lambda a: a.reshape(384)),
    "another shape of a slice": (lambda v: v[2:7, 1:3].view(3, 20), lambda a: a[2:7, 1:3].reshape(3, 20)),
    "broadcast": (lambda v: v[:, 1:2].broadcast(16, 5, 6), lambda a: np.broadcast_to(a[:, 1:2], (16, 5, 6))),
    "broadcast with new dimensions": (
        lambda v: v[0, 0].broadcast(2, 3, 6),
        lambda a: np.broadcast_to(a[0, 0], (2, 3, 6)),
    ),
    "broadcast, then merge": (
        lambda v: v[:, 1:2].broadcast(16, 5, 6).view(80, 6),
        lambda a: np.broadcast_to(a[:, 1:2], (16, 5, 6)).reshape(80, 6),
    ),
}


@pytest.mark.parametrize("name", REARRANGED)
def test_other_coordinates(name: str) -> None:
    view, array = REARRANGED[name]
    same(view(A), array(A_OFFSETS))


def narrowed(array: Offsets, ratio: int, size: int) -> Offsets:
    """The offsets of the ``ratio`` parts, ``size`` bytes each, of every element."""
    parts = array[..., None] + size * np.arange(ratio)
    return parts.reshape(*array.shape[:-1], -1)


DTYPES: dict[str, tuple[Callable[[Any], Any], Callable[[Offsets], Offsets]]] = {
    "the same width": (lambda v: v.view("int32"), lambda a: a),
    "narrower": (lambda v: v.view("bfloat16"), lambda a: narrowed(a, 2, 2)),
    "narrower, short name": (lambda v: v.view("bf16"), lambda a: narrowed(a, 2, 2)),
    "bytes": (lambda v: v.view("uint8"), lambda a: narrowed(a, 4, 1)),
    "wider": (lambda v: v.view("float64"), lambda a: a[..., ::2]),
    "narrower twice": (lambda v: v.view("uint16").view("uint8"), lambda a: narrowed(a, 4, 1)),
    "narrower, then the same": (lambda v: v.view("uint8").view("uint32"), lambda a: a),
    "narrower, then less": (lambda v: v.view("uint8").view("uint16"), lambda a: narrowed(a, 2, 2)),
    "narrower, then wider": (lambda v: v.view("uint8").view("uint64"), lambda a: a[..., ::2]),
    "wider, then narrower": (lambda v: v.view("uint64").view("uint16"), lambda a: narrowed(a, 2, 2)),
    "across the dimension of a slice": (lambda v: v[2, 1:3, 2:6].view("uint64"), lambda a: a[2, 1:3, 2:6:2]),
    "from the middle of an element": (
        lambda v: v.view("uint8")[..., 1:17].view("uint32"),
        lambda a: narrowed(a, 4, 1)[..., 1:17:4],
    ),
    "from the middle of an element, less": (
        lambda v: v.view("uint16")[..., 1:5].view("uint32"),
        lambda a: narrowed(a, 2, 2)[..., 1:5:2],
    ),
    "from a symbolic byte": (
        lambda v: v.view("uint8")[..., J : J + 8].view("uint16"),
        lambda a: narrowed(a, 4, 1)[..., 2:10:2],
    ),
    "merged dimensions with a gap": (
        lambda v: v.rearrange("a b c -> a (b c)").view("uint64"),
        lambda a: a.reshape(16, 24)[:, ::2],
    ),
    "split halves": (
        lambda v: v.view("uint16").rearrange("a b (c h) -> h a b c", h=2),
        lambda a: np.stack([a, a + 2]),
    ),
}


@pytest.mark.parametrize("name", DTYPES)
def test_other_types(name: str) -> None:
    view, array = DTYPES[name]
    same(view(A), array(A_OFFSETS), j=2)


def test_wider_elements_under_a_swizzle() -> None:
    """Pieces of 8 elements stay together, so views up to that width are contiguous and wider ones are not."""
    swizzle = Swizzle(3, 3, 3)
    smem = tensor("SM", (64, 64), "bfloat16", "shared", layout=TileLayout(S[(64, 64)], swizzle))
    number = 64 * np.arange(64)[:, None] + np.arange(64)
    expected = 2 * (number ^ ((number >> 3) & 0b111000))
    same(smem, expected)
    same(smem.view("uint128"), expected[:, ::8])
    same(
        smem.rearrange("r (c e) -> c r e", e=8).view("uint64"),
        expected.reshape(64, 8, 8).transpose(1, 0, 2)[..., ::4],
    )
    fine = tensor("SM", (64, 64), "bfloat16", "shared", layout=TileLayout(S[(64, 64)], Swizzle(3, 2, 3)))
    same(fine.view("uint64"), 2 * (number ^ ((number >> 3) & 0b11100))[:, ::4])
    with pytest.raises(
        LayoutError, match="dimension 1 is not contiguous, so 8 elements of 16 bits make no 128-bit"
    ):
        fine.view("uint128")


def test_elements_of_less_than_a_byte() -> None:
    nibbles = tensor("Q", (4, 64), "float4_e2m1fn")
    number = 64 * np.arange(4)[:, None] + np.arange(64)
    same(nibbles, number // 2)
    same(nibbles.view("uint8"), (number // 2)[:, ::2])
    same(nibbles.view("uint32"), (number // 2)[:, ::8])
    same(nibbles[:, 2:10].view("uint8"), (number // 2)[:, 2:10:2])
    same(nibbles.view("uint8").view("float4_e2m1fn"), number // 2)
    same(tensor("B", (4, 32), "uint8").view("float4_e2m1fn"), number // 2)
    with pytest.raises(LayoutError, match=r"start .* bits into the storage, which need not be a whole byte"):
        nibbles[:, 1:9].view("uint8")
    spread = tensor("Q", (8, 8), "float4_e2m1fn", layout=TileLayout(S[(8, 8) : (16, 2)]))
    with pytest.raises(LayoutError, match="dimension 1 is not contiguous"):
        spread.view("uint8")
    with pytest.raises(LayoutError, match="dimension 1 is not contiguous"):
        nibbles[:, 0:1].broadcast(4, 8).view("uint8")


def test_symbolic_sizes() -> None:
    g = tensor("G", (N, 64), "bfloat16", layout=TileLayout(S[(N, 64) : (72, 1)]))
    number = 72 * np.arange(3)[:, None] + np.arange(64)
    same(g[P : P + 3], 2 * (number + 72 * 5), i=5)
    same(g.view("uint32")[0:3], 2 * number[:, ::2])
    same(g.rearrange("n (c e) -> c n e", e=8)[2, 0:3], 2 * number[:, 16:24])
    same(g.view(N * 2, 32)[0:6], 2 * (number[:, :64].reshape(6, 32)))
    merged = tensor("G", (4, N), "float32").rearrange("a n -> (a n)")[N : N + 2]
    same(merged, 4 * (7 + np.arange(2)), n=7)
    assert repr(g.view("uint8").shape) == "(n, 128)"


def test_thread_axes_stay_with_their_elements() -> None:
    regs = tensor("R", (2, 2, 8, 4), "uint32", "registers", layout="(2,2,8,4):(8,2,4@laneid,1@laneid)")
    view = regs.rearrange("k m r w -> (r w) (k m)").view("uint16")
    for lane, slot in ((0, 0), (5, 3), (31, 7)):
        place = view.place([const(lane), const(slot)])
        assert list(place.axes) == [laneid]
        assert int(place.axes[laneid]) == lane
        assert int(place.byte_offset) == 4 * (8 * (slot // 4) + 2 * (slot // 2 % 2)) + 2 * (slot % 2)
    with pytest.raises(LayoutError, match="changes laneid"):
        regs.view("uint64")


def test_replicas_of_a_view() -> None:
    regs = tensor(
        "R", (8,), "uint32", "registers", layout=TileLayout(S[(8,) : (1,)] + R[2:16] + R[4 : 8 @ laneid])
    )
    place = regs[3:5].place([const(1)], [const(1), const(2)])
    assert (int(place.byte_offset), int(place.axes[laneid])) == (4 * (4 + 16), 16)
    assert m not in place.axes


def test_declared_tensors_start_inside_their_storage() -> None:
    base = tensor("A", (64,), "uint16", align=16)
    other = base.declare((4, 4), "uint32", at=P * 2, name="B")
    same(other, 12 + 4 * np.arange(16).reshape(4, 4), i=3)
    assert (other.storage, other.declared, base.declared) == (base.storage, True, False)
    again = other.declare(8, at=3)
    same(again, 12 + 4 * (3 + np.arange(8)), i=3)


# Chains of random operations, each applied to the view and to the array of offsets.


def _split_permute_merge(
    data: st.DataObject, shape: tuple[int, ...]
) -> tuple[str, dict[str, int], Callable[[Offsets], Offsets]]:
    """A random einops pattern for a shape, its sizes, and what NumPy does instead."""
    names, left, sizes, split = iter("abcdefghijklmnopqrstuvwxyz"), [], {}, []
    for n in shape:
        divisors = [d for d in range(1, n + 1) if n % d == 0]
        inner = data.draw(st.sampled_from(divisors), label="inner")
        if data.draw(st.booleans(), label="split"):
            a, b = next(names), next(names)
            left.append(f"({a} {b})")
            sizes[b] = inner
            split += [(a, n // inner), (b, inner)]
        else:
            a = next(names)
            left.append(a)
            split.append((a, n))
    order = data.draw(st.permutations(range(len(split))), label="order")
    cuts = sorted(
        data.draw(st.sets(st.integers(1, len(order) - 1)) if len(order) > 1 else st.just(set()), label="cuts")
    )
    groups = [order[a:b] for a, b in zip([0, *cuts], [*cuts, len(order)], strict=True)]
    right = [f"({' '.join(split[p][0] for p in g)})" for g in groups]
    merged = tuple(prod(split[p][1] for p in g) for g in groups)
    pattern = f"{' '.join(left)} -> {' '.join(right)}"
    return pattern, sizes, lambda a: a.reshape([n for _, n in split]).transpose(order).reshape(merged)


def _step(data: st.DataObject, view: View, array: Offsets) -> tuple[View, Offsets]:
    kind = data.draw(
        st.sampled_from(["slice", "index", "permute", "rearrange", "shape", "broadcast", "narrow", "wide"]),
        label="kind",
    )
    shape = array.shape
    if kind == "slice":
        starts = [data.draw(st.integers(0, n - 1)) for n in shape]
        extents = [data.draw(st.integers(1, n - s)) for n, s in zip(shape, starts, strict=True)]
        steps = [data.draw(st.sampled_from((1, 1, 1, 2, 3))) for _ in shape]
        key = tuple(slice(s, s + e, k) for s, e, k in zip(starts, extents, steps, strict=True))
        return view[key], array[key]
    if kind == "index" and len(shape) > 1:
        at = data.draw(st.integers(0, shape[0] - 1))
        return view[at], array[at]
    if kind == "permute":
        order = data.draw(st.permutations(range(len(shape))))
        return view.permute(*order), array.transpose(order)
    if kind == "rearrange" and len(shape) <= 5:
        pattern, sizes, instead = _split_permute_merge(data, shape)
        return view.rearrange(pattern, **sizes), instead(array)
    if kind == "shape":
        first = data.draw(st.sampled_from([d for d in range(1, array.size + 1) if array.size % d == 0]))
        return view.view(first, array.size // first), array.reshape(first, -1)
    if kind == "broadcast" and array.size < 2000:
        wider = tuple(data.draw(st.integers(1, 3)) if n == 1 else n for n in shape)
        lead = (2,) if data.draw(st.booleans()) else ()
        return view.broadcast(*lead, *wider), np.broadcast_to(array, (*lead, *wider))
    if kind == "narrow" and view.bits > 8 and array.size < 2000:
        return view.view(f"uint{view.bits // 2}"), narrowed(array, 2, view.bits // 16)
    if kind == "wide" and view.bits < 64 and shape[-1] % 2 == 0:
        if (array[..., 1::2] - array[..., ::2] == view.bits // 8).all():
            return view.view(f"uint{view.bits * 2}"), array[..., ::2]
        with pytest.raises(LayoutError, match="not contiguous"):
            view.view(f"uint{view.bits * 2}")
    return view, array


@given(st.data())
def test_chains_of_operations(data: st.DataObject) -> None:
    extents = data.draw(
        st.lists(st.sampled_from((1, 2, 3, 4, 6, 8)), min_size=2, max_size=4), label="extents"
    )
    dense = data.draw(st.booleans(), label="dense")
    strides = (
        np.cumprod([1, *extents[:0:-1]])[::-1] if dense else [data.draw(st.integers(0, 40)) for _ in extents]
    )
    swizzle = data.draw(st.none() | st.just(Swizzle(2, 1, 3)), label="swizzle")
    shape = tuple(extents)
    t = tensor("T", shape, "uint32", layout=TileLayout(S[shape : tuple(int(s) for s in strides)], swizzle))
    number = sum(
        np.arange(n).reshape([-1 if e == d else 1 for e in range(len(shape))]) * s
        for d, (n, s) in enumerate(zip(shape, strides, strict=True))
    )
    if swizzle is not None:
        number = number ^ ((number >> 3) & 0b110)
    view, array = t.as_view(), np.broadcast_to(4 * np.asarray(number, np.int64), shape)
    for _ in range(data.draw(st.integers(1, 5), label="steps")):
        view, array = _step(data, view, array)
    same(view, array)


def test_the_nearest_legal_views_are_accepted() -> None:
    same(A[P : P + 1, 3:4, 5:6], A_OFFSETS[12:13, 3:4, 5:6], i=12)
    same(A[:, :, 0:2].view("uint64"), A_OFFSETS[:, :, 0:1])
    same(A.rearrange("a b c -> c b a", a=16), A_OFFSETS.transpose(2, 1, 0))
    same(A.broadcast(16, 4, 6), A_OFFSETS)


def test_views_print_where_they_look() -> None:
    view = A[P : P + 4, 2].permute(1, 0)
    assert repr(view) == "A[x1 + i, 2, x0]: float32 (6, 4)"
    assert isinstance(A, Tensor)
    assert (view.rank, view.bits, view.name) == (2, 32, "A")
    assert evaluate(view.place([const(1), const(3)]).byte_offset, {leaves(P)[0]: 2}) == A_OFFSETS[5, 2, 1]
