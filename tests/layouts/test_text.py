"""What is printed reads well and means the same when read back, by Python's grammar, ours and CuTe's."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from itertools import product
from math import prod
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import I, J, N, indices, layouts, points, regroupings, relations
from tileproof.errors import LayoutError
from tileproof.layouts import index as ix
from tileproof.layouts.axes import laneid, m, warpid
from tileproof.layouts.evaluate import evaluate
from tileproof.layouts.index import Expression, const, maximum, minimum, select
from tileproof.layouts.layout import Spec, TileLayout
from tileproof.layouts.swizzle import Swizzle
from tileproof.layouts.symbols import symbol
from tileproof.layouts.text import WRITTEN_OUT, cute_text, expression_text, parse_layout

A = symbol("a", 0, 7)
B = symbol("b", 0, 7)

INFIX: list[tuple[Expression, str]] = [
    (const(-3), "-3"),
    (4 * I + J, "4*i + j"),
    (I * 4, "4*i"),
    (I // 8 % 4, "i // 8 % 4"),
    (I // 8 * 4, "4*(i // 8)"),
    (4 * (I // 8) + I % 8, "4*(i // 8) + i % 8"),
    (I * 4 // 8, "4*i // 8"),
    (I % (J + 8), "i % (j + 8)"),
    (I // (2 * N), "i // (2*n)"),
    (A - B, "a - b"),
    (A + -1 * B, "a - b"),
    (A - 4 * B - 3, "a - 4*b - 3"),
    (A - (B - N), "a - (b - n)"),
    (A + (B + N), "a + b + n"),
    (-A + B, "-a + b"),
    (-(A + B), "-(a + b)"),
    (A * -4, "-4*a"),
    (-A // 8, "(-a) // 8"),
    (const(-3) // N, "(-3) // n"),
    ((A + B) * (N - 1), "(a + b)*(n - 1)"),
    (A * (B * N), "a*b*n"),
    ((2 * A) * (4 * B), "2*4*a*b"),
    (A ^ B ^ N, "a ^ b ^ n"),
    (A ^ (B & 7), "a ^ (b & 7)"),
    ((A + B) ^ (I // 8 * 8), "(a + b) ^ 8*(i // 8)"),
    ((A | B) + 1, "(a | b) + 1"),
    (minimum(minimum(A, B), 3), "min(a, b, 3)"),
    (maximum(A + 1, B), "max(a + 1, b)"),
    (select((I < 4) & (N >= 2), I, J), "select(i < 4 and n >= 2, i, j)"),
    (A < B, "a < b"),
    (A <= B, "a <= b"),
    (A >= B, "b <= a"),
    (A > B, "b < a"),
    (A < 3, "a < 3"),
    (A <= 3, "a <= 3"),
    (A > 3, "a > 3"),
    (A >= 3, "a >= 3"),
    (3 < A, "a > 3"),
    (3 == A, "a == 3"),
    (N % 64 == 0, "n % 64 == 0"),
    (A != B, "a != b"),
    ((A ^ B) == 3, "(a ^ b) == 3"),
    ((A < 1) & (B < 2) | (N == 3), "a < 1 and b < 2 or n == 3"),
    ((A < 1) & ((B < 2) | (N == 3)), "a < 1 and (b < 2 or n == 3)"),
    (~((A < 1) & (B < 2)), "not (a < 1 and b < 2)"),
    (((A < 1) & (B < 2)) & (N < 3), "a < 1 and b < 2 and n < 3"),
    (ix.truth(True), "True"),
    (laneid // 4 + warpid, "laneid // 4 + warpid"),
]


@pytest.mark.parametrize(("expression", "text"), INFIX, ids=[text for _, text in INFIX])
def test_infix(expression: Expression, text: str) -> None:
    assert expression_text(expression) == repr(expression) == text


_PYTHON: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
}


def read_as_python(node: Any, names: Mapping[str, int]) -> Any:
    """The value of a syntax tree that holds nothing but what indices print."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return names[name]
        case ast.UnaryOp(op=op, operand=a):
            return _PYTHON[type(op)](read_as_python(a, names))
        case ast.BinOp(left=a, op=op, right=b):
            return _PYTHON[type(op)](read_as_python(a, names), read_as_python(b, names))
        case ast.Compare(left=a, ops=[op], comparators=[b]):
            return _PYTHON[type(op)](read_as_python(a, names), read_as_python(b, names))
        case ast.BoolOp(op=op, values=values):
            every = [read_as_python(v, names) for v in values]
            return all(every) if isinstance(op, ast.And) else any(every)
        case ast.Call(func=ast.Name(id="select"), args=[c, a, b]):
            return read_as_python(a if read_as_python(c, names) else b, names)
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return {"min": min, "max": max}[name](read_as_python(a, names) for a in arguments)
    raise AssertionError(ast.dump(node))


@given(indices() | relations(), st.integers(0, 10**6))
def test_infix_means_what_python_takes_it_for(expression: Expression, seed: int) -> None:
    tree = ast.parse(expression_text(expression), mode="eval").body
    for values in points(expression, seed=seed, count=6):
        names = {v.label: x for v, x in values.items()}
        assert read_as_python(tree, names) == evaluate(expression, values)


def test_long_sums_are_written_out_and_endless_ones_are_not() -> None:
    total = I
    for _ in range(2000):
        total = total + J
    assert expression_text(total) == "i" + 2000 * " + j"
    for _ in range(100):  # 2**100 terms
        total = total + total
    assert expression_text(total) == "... + ..."
    assert expression_text(~(total * 3 + 1 < 5)) == "... >= 5"
    assert len(expression_text(minimum(total, J))) < WRITTEN_OUT


# A CuTe layout evaluated from its text, by its own definition, with nothing of ours.


def cute_offset(text: str, coordinates: tuple[int, ...]) -> int:
    """Apply ``[Swizzle<B,M,S> o] shape:stride`` to one integer for each mode of the shape."""
    swizzle = re.match(r"Swizzle<(\d+),(\d+),(-?\d+)> o ", text)
    shape, stride = (ast.literal_eval(part) for part in text[swizzle.end() if swizzle else 0 :].split(":"))
    offset = sum(
        _crd2idx(x, s, d) for x, s, d in zip(coordinates, _tuple(shape), _tuple(stride), strict=True)
    )
    if swizzle:
        bits, base, shift = map(int, swizzle.groups())
        mask = ((1 << bits) - 1) << (base + max(0, shift))
        moved = offset & mask
        offset ^= moved >> shift if shift >= 0 else moved << -shift
    return offset


def _tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _size(shape: Any) -> int:
    return prod(map(_size, shape)) if isinstance(shape, tuple) else shape


def _crd2idx(coordinate: int, shape: Any, stride: Any) -> int:
    """An integral coordinate runs through a mode colexicographically: its leftmost part is the fastest."""
    if not isinstance(shape, tuple):
        return int(coordinate * stride)
    total = 0
    for s, d in zip(shape, stride, strict=True):
        coordinate, inside = divmod(coordinate, _size(s))
        total += _crd2idx(inside, s, d)
    return total


def test_the_evaluator_of_cute_layouts() -> None:
    """Values that are worked out in CuTe's documentation for (2,(1,6)):(1,(6,2)) and (2,4):(1,2)."""
    assert [[cute_offset("(2,(1,6)):(1,(6,2))", (i, j)) for j in range(6)] for i in range(2)] == [
        [0, 2, 4, 6, 8, 10],
        [1, 3, 5, 7, 9, 11],
    ]
    assert [cute_offset("(2,4):(1,2)", (1, j)) for j in range(4)] == [1, 3, 5, 7]


def ours(made: TileLayout, shape: tuple[int, ...], at: tuple[int, ...]) -> int:
    return int(made.place([const(n) for n in shape], [const(x) for x in at]).get(m, const(0)))


_modes = st.recursive(
    st.tuples(st.integers(1, 4), st.integers(0, 40)),
    lambda inner: st.lists(inner, min_size=2, max_size=3),
    max_leaves=4,
)


def _unzip(mode: Any) -> tuple[Any, Any]:
    if isinstance(mode, tuple):
        return mode
    shapes, strides = zip(*map(_unzip, mode), strict=True)
    return shapes, strides


@given(
    st.lists(_modes, min_size=2, max_size=3), st.sampled_from(["", "Swizzle<2,1,3> o ", "Swizzle<1,0,-2> o "])
)
def test_cute_text_means_what_cute_means(modes: list[Any], prefix: str) -> None:
    shape, stride = _unzip(modes)
    text = f"{prefix}{shape}:{stride}"
    made = parse_layout(text)
    sizes = tuple(map(_size, shape))
    again = cute_text(made, sizes)
    for at in list(product(*map(range, sizes)))[:40]:
        assert ours(made, sizes, at) == cute_offset(text, at) == cute_offset(again, at)
    assert cute_text(parse_layout(again), sizes) == again


@given(st.data())
def test_layouts_are_printed_for_cute(data: st.DataObject) -> None:
    made = data.draw(layouts(storage_only=True))
    made = TileLayout(Spec(made.spec.factors), made.swizzle and Swizzle(2, 1, 2))  # CuTe has no offset here
    shape = data.draw(regroupings(tuple(int(f.extent) for f in made.spec.factors)))
    if len(shape) == 1:
        shape = (*shape, 1)
    text = cute_text(made, shape)
    again = parse_layout(text)
    for _ in range(5):
        at = tuple(data.draw(st.integers(0, n - 1)) for n in shape)
        assert cute_offset(text, at) == ours(made, shape, at) == ours(again, shape, at)
    assert cute_text(again, shape) == text


CUTE: list[tuple[str, tuple[Any, ...], str]] = [
    ("(2,8,64):(512,64,1)", (16, 64), "((8,2),64):((64,512),1)"),
    ("(2,8,64):(512,64,1)", (2, 8, 64), "(2,8,64):(512,64,1)"),
    ("(2,8,64):(512,64,1)", (1024,), "((64,8,2)):((1,64,512))"),
    ("(128):(1)", (128,), "(128):(1)"),
    ("(4,8):(8,1)", (4, 1, 8), "(4,1,8):(8,0,1)"),
    ("(4,8):(8,1) + 3", (4, 8), "(4,8):(8,1) + 3"),
    (
        "Swizzle<3,4,3> in bytes o (2,8,64):(512,64,1)",
        (16, 64),
        "Swizzle<3,4,3> in bytes o ((8,2),64):((64,512),1)",
    ),
    ("(n,8,4):(32,4,1)", (N, 32), "(n,(4,8)):(32,(1,4))"),
]


@pytest.mark.parametrize(("text", "shape", "printed"), CUTE)
def test_cute_text(text: str, shape: tuple[Any, ...], printed: str) -> None:
    made = parse_layout(text, {"n": N})
    assert cute_text(made, shape) == printed
    assert cute_text(parse_layout(printed, {"n": N}), shape) == printed


@pytest.mark.parametrize(
    ("text", "shape", "message"),
    [
        (
            "(4,8):(1@laneid,1)",
            (4, 8),
            "CuTe's notation knows only storage; (4,8):(1@laneid,1) has strides on laneid",
        ),
        ("(4,8):(8,1) + 2@warpid", (4, 8), "has strides on warpid"),
        ("(4,8):(8,1) + R(2):(32)", (4, 8), "CuTe's notation has no replicas"),
        ("(32):(1)", (4, 8), "dimensions 0, 1 of shape (4, 8) share an extent of (32):(1)"),
        ("(4,8):(8,1)", (4, 9), "do not multiply up to the shape"),
    ],
)
def test_what_cute_cannot_say(text: str, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(LayoutError) as error:
        cute_text(parse_layout(text), shape)
    assert message in str(error.value)
