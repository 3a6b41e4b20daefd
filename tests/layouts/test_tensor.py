"""Tensors: what is derived from their declaration, and which declarations are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tileproof.errors import LayoutError
from tileproof.layouts.axes import laneid, m
from tileproof.layouts.bounds import congruence
from tileproof.layouts.dtypes import BITS, dtype_bits, dtype_name
from tileproof.layouts.evaluate import evaluate
from tileproof.layouts.index import const
from tileproof.layouts.layout import R, S, TileLayout
from tileproof.layouts.normal import simplify
from tileproof.layouts.swizzle import Swizzle
from tileproof.layouts.symbols import symbol
from tileproof.layouts.tensor import GLOBAL_ALIGNMENT, Tensor, tensor
from tileproof.layouts.traverse import leaves

N = symbol("n", 1, 64)


def size(t: Tensor) -> int | None:
    return None if t.storage.size is None else t.storage.size.value


def test_the_defaults() -> None:
    t = tensor("A", (4, N, 8), "f32")
    assert (t.dtype, t.space, t.storage.align, t.declared) == ("float32", "global", GLOBAL_ALIGNMENT, False)
    assert t.layout == TileLayout(S[(4, N, 8) : (8 * N, 8, 1)])
    assert repr(tensor("B", 5, "b16").shape) == "(5,)"


@pytest.mark.parametrize(
    ("space", "dtype", "align", "expected"),
    [
        ("global", "uint8", None, 256),
        ("shared", "uint8", None, 1),
        ("shared", "float32", None, 4),
        ("shared", "uint128", None, 16),
        ("local", "float4_e2m1fn", None, 1),
        ("registers", "float64", None, 1),
        ("shared", "uint8", 1024, 1024),
        ("global", "float32", 4, 4),
    ],
)
def test_alignment(space: Any, dtype: str, align: int | None, expected: int) -> None:
    t = tensor("A", 4, dtype, space, align=align)
    assert t.storage.align == expected
    if space == "registers":
        assert t.storage.base is const(0)
    else:
        assert congruence(t.storage.base) == (expected, 0)
        assert leaves(t.storage.base)[0].kind == "base"


@pytest.mark.parametrize(
    ("shape", "dtype", "layout", "expected"),
    [
        ((4, 8), "float32", None, 128),
        ((4, 8), "float32", "(4,8):(10,1)", 4 * 38),
        ((4, 8), "float32", "(4,8):(8,1) + 3", 4 * 35),
        ((4, 8), "float32", "(4,8):(-8,1) + 24", 128),
        ((4, 8), "float32", "(4,8):(1@laneid,1)", 32),
        ((4, 8), "float32", "(4,8):(0,1)", 32),
        ((4, 8), "float32", "(4,8):(8,1) + R(3):(32)", 384),
        ((3, 64), "bfloat16", "Swizzle<3,3,3> o (3,64):(64,1)", 384),
        ((3, 64), "bfloat16", "Swizzle<3,4,3> in bytes o (3,64):(64,1)", 384),
        ((3,), "float4_e2m1fn", None, 2),
        ((2, 3), "uint32", "(2,3):(3,2)", 32),
        ((128,), "uint32", "(4,16,2):(64,4,2)", 4 * (192 + 60 + 2 + 1)),
        ((N, 8), "uint16", "(n,8):(8,1)", None),
    ],
)
def test_the_storage_spans_all_that_the_layout_reaches(
    shape: tuple[Any, ...], dtype: str, layout: str | None, expected: int | None
) -> None:
    assert size(tensor("A", shape, dtype, "shared", layout=layout)) == expected


def test_sizes_without_bounds() -> None:
    free = symbol("free", 1)
    t = tensor("A", (free, 8), "uint16")
    assert t.storage.size is simplify(16 * free)
    assert tensor("A", (free, 8), "uint16", "shared", layout="(free,8):(10,1)").storage.size is None


LD = symbol("ld", 0, 4096)


@pytest.mark.parametrize("ld", [8, 11, 64])
@pytest.mark.parametrize("swizzle", [None, Swizzle(3, 0, 3), Swizzle(2, 1, -2)])
@pytest.mark.parametrize(
    "spec", [S[(5, 8) : (LD, 1)], S[(5, 8) : (LD, 1)] + R[3 : 2 * LD] + 7, S[(5, 8) : (1, LD)] + LD]
)
def test_symbolic_strides_need_what_they_reach_and_no_more(spec: Any, swizzle: Any, ld: int) -> None:
    t = tensor("A", (5, 8), "float32", layout=TileLayout(spec, swizzle))
    replicas = [const(int(f.extent) - 1) for f in spec.replicas]
    values = {LD.args[0]: ld}
    reached = max(
        evaluate(t.layout.place(t.shape, [const(i), const(j)], replicas)[m], values)
        for i in range(5)
        for j in range(8)
    )
    assert t.storage.size is not None
    size = evaluate(t.storage.size, values)
    assert size == 4 * (reached + 1) if swizzle is None else 0 <= size - 4 * (reached + 1) < 4 * 64
    assert (
        tensor("A", (5, 8), "float32", layout=TileLayout(S[(5, 8) : (-LD, 1)] + 4 * 4096)).storage.size
        is not None
    )
    assert (
        tensor("A", (5, 8), "float32", layout=TileLayout(S[(5, 8) : (symbol("s"), 1)])).storage.size is None
    )


def test_a_size_is_one_for_all_threads() -> None:
    assert size(tensor("A", (4,), "float32", layout=TileLayout(S[4:1] + 4 * laneid))) == 4 * (4 * 31 + 4)


def test_a_swizzle_in_bytes_is_turned_into_elements() -> None:
    for dtype, base in (("uint8", 4), ("bfloat16", 3), ("float32", 2), ("float64", 1), ("float4_e2m1fn", 5)):
        t = tensor("A", (64, 128), dtype, "shared", layout=TileLayout(S[(64, 128)], Swizzle(3, 4, 3, "byte")))
        assert t.layout.swizzle == Swizzle(3, base, 3)
    t = tensor("A", (64, 128), "float32", "shared", layout=TileLayout(S[(64, 128)], Swizzle(3, 4, 3)))
    assert t.layout.swizzle == Swizzle(3, 4, 3)


def test_a_declared_tensor_shares_the_storage_and_claims_no_alignment() -> None:
    base = tensor("A", (64, 8), "uint32", "shared", align=128)
    part = base.declare((4, 4), "bf16", layout="(4,4):(8,1)", at=N, name="B")
    assert part.storage is base.storage
    assert (part.name, part.dtype, part.declared) == ("B", "bfloat16", True)
    assert part.offset is 4 * N
    assert base.declare(4).name == "A"
    assert congruence(part.storage.base + part.offset) == (4, 0)


def test_tensors_print_what_they_are() -> None:
    t = tensor("R", (2, 4), "u32", "registers", layout="(2,4):(4,1@laneid)")
    assert repr(t) == "R: registers uint32 (2, 4) (2,4):(4,1@laneid)"


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "no identifier": (lambda: tensor("A 1", 4, "uint8"), "a tensor's name must be an identifier, got 'A 1'"),
    "an unknown space": (
        lambda: tensor("A", 4, "uint8", "smem"),
        "tensor A: unknown state space 'smem'; the spaces are global, shared",
    ),  # type: ignore[arg-type]
    "an unknown type": (
        lambda: tensor("A", 4, "half"),
        "unknown element type 'half'; the types are bool, int8",
    ),
    "a size of zero": (
        lambda: tensor("A", (4, 0), "uint8"),
        "tensor A: dimension 1 has size 0; sizes are at least 1",
    ),
    "a negative size": (lambda: tensor("A", (-4,), "uint8"), "tensor A: dimension 0 has size -4"),
    "no dimensions": (
        lambda: tensor("A", (), "uint8"),
        "tensor A has no dimensions; a single element has shape (1,)",
    ),
    "a fraction": (lambda: tensor("A", (4, 2.5), "uint8"), "got 2.5"),  # type: ignore[arg-type]
    "an alignment of three": (
        lambda: tensor("A", 4, "uint8", align=3),
        "tensor A: align must be a power of two in bytes, got 3",
    ),
    "an alignment of zero": (
        lambda: tensor("A", 4, "uint8", align=0),
        "align must be a power of two in bytes, got 0",
    ),
    "another size": (
        lambda: tensor("A", (4, 9), "uint8", layout="(4,8):(8,1)"),
        "tensor A: the extents (4, 8) of the layout do not multiply up to the shape (4, 9)",
    ),
    "before the start": (
        lambda: tensor("A", (4, 8), "uint8", layout="(4,8):(-8,1)"),
        "reaches storage offset -24; add an offset of 24 to it",
    ),
    "a replica before the start": (
        lambda: tensor("A", 8, "uint8", layout="8:1 + R(2):(-8)"),
        "reaches storage offset -8; add an offset of 8",
    ),
    "malformed text": (lambda: tensor("A", 8, "uint8", layout="8;1"), "layout text, column 2"),
    "a name that the shape does not know": (
        lambda: tensor("A", (N, 8), "uint8", layout="(k,8):(8,1)"),
        "unknown name 'k'; the names known here: n",
    ),
    "a swizzle of parts of elements": (
        lambda: tensor("A", (64, 16), "float64", "shared", layout="Swizzle<3,2,3> in bytes o (64,16):(16,1)"),
        "Swizzle<3,2,3> in bytes permutes pieces of 4 bytes, which 64-bit elements do not fill",
    ),
    "a declared tensor of size zero": (
        lambda: tensor("A", 8, "uint8").declare(0, name="B"),
        "tensor B: dimension 0 has size 0",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_tensors_are_refused(name: str) -> None:
    build, message = REFUSED[name]
    with pytest.raises(LayoutError) as error:
        build()
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("short", "full", "bits"),
    [
        ("f32", "float32", 32),
        ("bf16", "bfloat16", 16),
        ("b128", "uint128", 128),
        ("s8", "int8", 8),
        ("u64", "uint64", 64),
        ("bool", "bool", 8),
        ("float6_e2m3fn", "float6_e2m3fn", 6),
        ("float4_e2m1fn", "float4_e2m1fn", 4),
    ],
)
def test_types(short: str, full: str, bits: int) -> None:
    assert dtype_name(short) == dtype_name(full) == full
    assert dtype_bits(short) == BITS[full] == bits


def test_sizes_may_be_sympy() -> None:
    import sympy

    rows = sympy.Symbol("rows", integer=True, positive=True)
    t = tensor("A", (2 * rows, 4), "uint8")
    assert t.shape[0] is 2 * symbol("rows", 1)
    assert t.storage.size is 8 * symbol("rows", 1)
