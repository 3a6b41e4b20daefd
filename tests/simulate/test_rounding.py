"""Arithmetic in every direction and type, against fractions that are rounded once by integer arithmetic."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.simulate.exact import SHAPES, Mode, Shape, code, value
from tests.simulate.kernels import evaluate

MODES: list[Mode] = ["rn", "rz", "rm", "rp"]
NAN = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF}
COUNT = 160


def patterns(name: str, seed: str) -> list[int]:
    """Codes of finite numbers: special ones, neighbours in size that cancel and tie, and any."""
    shape = SHAPES[name]
    one = shape.bias << shape.fraction
    largest = ((1 << shape.exponent) - 1 << shape.fraction) - 1
    draw = random.Random(seed + name)
    special = [0, 1, 2, (1 << shape.fraction) - 1, 1 << shape.fraction, one, one + 1, one - 1, largest]
    near = [one + draw.randrange(-3 << shape.fraction, 3 << shape.fraction) for _ in range(COUNT // 2)]
    anywhere = [draw.randrange(largest + 1) for _ in range(COUNT)]
    found = [*special, *near, *anywhere, *special][:COUNT]
    draw.shuffle(found)
    return [c | draw.randrange(2) << shape.bits - 1 for c in found]


def as_operand(name: str, codes: list[int]) -> tuple[str, Any]:
    """The operand of `evaluate` with these codes."""
    if name == "bf16":
        return name, codes
    return name, np.array(codes, f"u{SHAPES[name].bits // 8}").view(f"f{SHAPES[name].bits // 8}")


def bits(found: Any, name: str) -> list[int]:
    return [int(x) for x in np.asarray(found).view(f"u{SHAPES[name].bits // 8}")]


def signbit(c: int, name: str) -> bool:
    return bool(c >> SHAPES[name].bits - 1)


def zero_of_sum(mode: Mode, a: bool, b: bool) -> bool:
    """The sign of an exact zero of a sum, from the signs of its terms (IEEE 754, 6.3)."""
    return a if a == b else mode == "rm"


def expected(operation: str, name: str, mode: Mode, codes: tuple[int, ...]) -> int | None:
    """The code of the exact result, rounded once; nothing where it is NaN or a division by zero."""
    shape = SHAPES[name]
    numbers = [Fraction(value(c, shape)) for c in codes]
    signs = [signbit(c, name) for c in codes]
    match operation, numbers:
        case "add", [a, b]:
            return code(a + b, shape, mode, zero_of_sum(mode, *signs))
        case "sub", [a, b]:
            return code(a - b, shape, mode, zero_of_sum(mode, signs[0], not signs[1]))
        case "mul", [a, b]:
            return code(a * b, shape, mode, signs[0] != signs[1])
        case "fma", [a, b, c]:
            return code(a * b + c, shape, mode, zero_of_sum(mode, signs[0] != signs[1], signs[2]))
        case "div", [a, b] if b:
            return code(a / b, shape, mode, signs[0] != signs[1])
        case "rcp", [a] if a:
            return code(1 / a, shape, mode, signs[0])
        case "sqrt", [a] if a >= 0:
            return root(a, shape, mode, signs[0])
    return None


def root(a: Fraction, shape: Shape, mode: Mode, negative: bool) -> int:
    """The square root to 200 bits below the result, with a sticky one for what is cut off."""
    scale = 1 << 2 * (1100 + 200)
    whole = math.isqrt(a.numerator * scale // a.denominator)
    exact = Fraction(whole * whole, scale) == a
    number = Fraction(2 * whole + (not exact), 2 * (1 << 1100 + 200))
    return code(number, shape, mode, negative)


CASES = [
    (operation, name, mode)
    for operation in ("add", "sub", "mul", "fma")
    for name in ("f32", "f64", "f16", "bf16")
    for mode in (MODES if name in ("f32", "f64") else MODES[:1])
] + [
    (operation, name, mode)
    for operation in ("div", "rcp", "sqrt")
    for name in ("f32", "f64")
    for mode in MODES
]

ARITY = {"add": 2, "sub": 2, "mul": 2, "div": 2, "fma": 3, "rcp": 1, "sqrt": 1}


@pytest.mark.parametrize(("operation", "name", "mode"), CASES, ids=lambda v: v)
def test_one_rounding(operation: str, name: str, mode: Mode) -> None:
    columns = [patterns(name, f"{operation}{k}") for k in range(ARITY[operation])]
    operands = {letter: as_operand(name, column) for letter, column in zip("abc", columns, strict=False)}
    names = ", ".join(operands)
    found = bits(evaluate(f"{operation}.{mode}.{name} d, {names};", name, **operands), name)
    compared = 0
    for got, *codes in zip(found, *columns, strict=True):
        wanted = expected(operation, name, mode, tuple(codes))
        if wanted is not None:
            compared += 1
            assert got == wanted, [hex(c) for c in (*codes, got, wanted)]
    assert compared > COUNT // 3


PACKED = [
    ("add", "f16x2", "rn"), ("mul", "bf16x2", "rn"), ("fma", "f16x2", "rn"), ("fma", "bf16x2", "rn"),
    ("add", "f32x2", "rz"), ("mul", "f32x2", "rp"), ("fma", "f32x2", "rm"), ("sub", "f32x2", "rn"),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "name", "mode"), PACKED, ids=lambda v: v)
def test_each_half_by_itself(operation: str, name: str, mode: Mode) -> None:
    half, width = name[:-2], SHAPES[name[:-2]].bits
    columns = [[patterns(half, f"{part}{operation}{k}") for k in range(ARITY[operation])] for part in (0, 1)]
    packed = [[lo | hi << width for lo, hi in zip(*pair, strict=True)] for pair in zip(*columns, strict=True)]
    operands: dict[str, Any] = {letter: (name, column) for letter, column in zip("abc", packed, strict=False)}
    found = evaluate(f"{operation}.{mode}.{name} d, {', '.join(operands)};", name, **operands)
    for part in (0, 1):
        for got, *codes in zip(found, *columns[part], strict=True):
            wanted = expected(operation, half, mode, tuple(codes))
            assert int(got) >> width * part & (1 << width) - 1 == wanted


@pytest.mark.parametrize("narrow", ["f16", "bf16"])
@pytest.mark.parametrize("mode", MODES)
def test_mixed_precision(narrow: str, mode: Mode) -> None:
    a, b, c = patterns(narrow, "a"), patterns(narrow, "b"), patterns("f32", "c")
    operands: dict[str, Any] = {
        "a": as_operand(narrow, a),
        "b": as_operand(narrow, b),
        "c": as_operand("f32", c),
    }
    fused = bits(evaluate(f"fma.{mode}.f32.{narrow} d, a, b, c;", "f32", **operands), "f32")
    summed = bits(evaluate(f"add.{mode}.f32.{narrow} d, a, c;", "f32", **operands), "f32")
    less = bits(evaluate(f"sub.{mode}.f32.{narrow} d, a, c;", "f32", **operands), "f32")
    shape, wide = SHAPES[narrow], SHAPES["f32"]
    for x, y, z, f, s, t in zip(a, b, c, fused, summed, less, strict=True):
        p, q, r = Fraction(value(x, shape)), Fraction(value(y, shape)), Fraction(value(z, wide))
        signs = signbit(x, narrow), signbit(y, narrow), signbit(z, "f32")
        assert s == code(p + r, wide, mode, zero_of_sum(mode, signs[0], signs[2]))
        assert t == code(p - r, wide, mode, zero_of_sum(mode, signs[0], not signs[2]))
        assert f == code(p * q + r, wide, mode, zero_of_sum(mode, signs[0] != signs[1], signs[2]))


EXTREMES: list[tuple[str, str, Callable[..., float]]] = [
    ("max.f32", "a, b, c", max),
    ("min.f32", "a, b, c", min),
    ("max.abs.f32", "a, b, c", lambda *v: max(map(abs, v))),
    ("min.abs.f32", "a, b, c", lambda *v: min(map(abs, v))),
    ("min.NaN.f32", "a, b, c", lambda *v: math.nan if any(map(math.isnan, v)) else min(v)),
]


@pytest.mark.parametrize(("opcode", "names", "wanted"), EXTREMES, ids=[e[0] for e in EXTREMES])
def test_three_values(opcode: str, names: str, wanted: Callable[..., float]) -> None:
    rows = [(1.0, -5.0, 3.0), (-1.0, -2.0, -3.0), (2.0, 2.0, 2.5), (-7.0, 7.0, 0.5)]
    if "NaN" in opcode:
        rows += [(math.nan, 1.0, 2.0), (1.0, 2.0, math.nan)]
    columns: dict[str, Any] = {n: ("f32", c) for n, c in zip("abc", zip(*rows, strict=True), strict=True)}
    found = evaluate(f"{opcode} d, {names};", "f32", **columns)
    np.testing.assert_array_equal(found, np.float32([wanted(*row) for row in rows]))


def test_a_number_wins_over_nan_among_three() -> None:
    columns: dict[str, Any] = {"a": ("f32", [math.nan]), "b": ("f32", [math.nan]), "c": ("f32", [4.0])}
    assert evaluate("max.f32 d, a, b, c;", "f32", **columns) == [4.0]


def test_relu_of_integers() -> None:
    a, b = ("s32", [-5, 7, -3]), ("s32", [-9, 2, 4])
    assert evaluate("max.relu.s32 d, a, b;", "s32", a=a, b=b).view(np.int32).tolist() == [0, 7, 4]
    assert evaluate("min.relu.s32 d, a, b;", "s32", a=a, b=b).view(np.int32).tolist() == [0, 2, 0]
    pairs = ("b32", [0xFFFF0005]), ("b32", [0xFFFE0003])
    assert evaluate("max.relu.s16x2 d, a, b;", "b32", a=pairs[0], b=pairs[1]).tolist() == [0x0000_0005]
