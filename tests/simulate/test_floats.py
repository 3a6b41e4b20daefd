"""Floating point: rounding once and in the right direction, special values, packed pairs, conversions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulate.kernels import evaluate

INF, NAN = float("inf"), float("nan")
TINY = 2.0**-149
HALF_ULP = 2.0**-24


def bits32(values: Any) -> list[str]:
    return [hex(value) for value in np.asarray(values, np.float32).view(np.uint32).tolist()]


F32 = [
    ("add.f32", [(1.0, 2.0, 3.0), (1.0, HALF_ULP, 1.0), (INF, -INF, NAN)]),
    ("add.rn.f32", [(1.0, HALF_ULP, 1.0), (1.0, 3 * HALF_ULP, 1 + 4 * HALF_ULP)]),
    ("add.rz.f32", [(1.0, 3 * HALF_ULP, 1 + 2 * HALF_ULP), (-1.0, -3 * HALF_ULP, -1 - 2 * HALF_ULP)]),
    ("add.rm.f32", [(1.0, TINY, 1.0), (-1.0, -TINY, -1 - 2 * HALF_ULP), (1.0, -1.0, -0.0), (0.0, 0.0, 0.0)]),
    ("sub.rm.f32", [(1.0, 1.0, -0.0), (0.0, -0.0, 0.0)]),
    ("add.rp.f32", [(1.0, TINY, 1 + 2 * HALF_ULP), (-1.0, -TINY, -1.0)]),
    ("add.sat.f32", [(1.0, 2.0, 1.0), (-1.0, 0.5, 0.0), (NAN, 1.0, 0.0)]),
    ("add.ftz.f32", [(TINY, 0.0, 0.0), (2.0**-126, -(2.0**-127), 2.0**-126)]),
    ("sub.f32", [(1.0, 3.0, -2.0), (0.0, 0.0, 0.0)]),
    ("mul.f32", [(3.0, -2.0, -6.0), (TINY, 0.5, 0.0), (0.0, INF, NAN)]),
    ("mul.rp.f32", [(TINY, 0.5, TINY)]),
    ("div.rn.f32", [(1.0, 3.0, np.float32(1) / np.float32(3)), (1.0, 0.0, INF), (0.0, 0.0, NAN)]),
    ("div.full.f32", [(6.0, 3.0, 2.0)]),
    ("min.f32", [(-0.0, 0.0, -0.0), (0.0, -0.0, -0.0), (NAN, 1.0, 1.0), (1.0, NAN, 1.0), (NAN, NAN, NAN)]),
    ("max.f32", [(-0.0, 0.0, 0.0), (0.0, -0.0, 0.0), (NAN, -1.0, -1.0), (2.0, 1.0, 2.0)]),
    ("min.NaN.f32", [(NAN, 1.0, NAN), (1.0, 2.0, 1.0)]),
    ("max.xorsign.abs.f32", [(-3.0, 2.0, -3.0), (-3.0, -4.0, 4.0)]),
]


@pytest.mark.parametrize(("instruction", "rows"), F32, ids=[row[0] for row in F32])
def test_f32(instruction: str, rows: list[tuple[float, float, float]]) -> None:
    a, b, expected = zip(*rows, strict=True)
    found = evaluate(f"{instruction} d, a, b;", "f32", a=("f32", a), b=("f32", b))
    # Every NaN that arithmetic makes is 0x7fffffff.
    assert bits32(found) == ["0x7fffffff" if np.isnan(value) else bits32([value])[0] for value in expected]


def test_fma_rounds_once() -> None:
    a = 1 + 2.0**-12
    # a * a = 1 + 2^-11 + 2^-24: a separate product would lose the last term to a tie.
    (found,) = evaluate("fma.rn.f32 d, a, b, c;", "f32", a=("f32", [a]), b=("f32", [a]), c=("f32", [-1.0]))
    assert found == 2.0**-11 + 2.0**-24
    (found,) = evaluate(
        "fma.rn.f64 d, a, b, c;",
        "f64",
        a=("f64", [1 + 2.0**-30]),
        b=("f64", [1 - 2.0**-30]),
        c=("f64", [-1.0]),
    )
    assert found == -(2.0**-60)


@given(
    a=st.floats(width=32, allow_nan=False, allow_infinity=False),
    b=st.floats(width=32, allow_nan=False, allow_infinity=False),
    c=st.floats(width=32, allow_nan=False, allow_infinity=False),
    rounding=st.sampled_from(["rn", "rz", "rm", "rp"]),
)
def test_f32_fma_is_the_exact_value_rounded(a: float, b: float, c: float, rounding: str) -> None:
    from tileproof.simulate import reals
    from tileproof.simulate.scalars import F32 as SINGLE

    with np.errstate(all="ignore"):
        result = reals.narrow(
            reals.odd_sum(np.array([a]) * np.array([b]), np.array([c]), rounding), SINGLE, rounding
        )[0]
        below, above = np.nextafter(result, np.float32(-INF)), np.nextafter(result, np.float32(INF))
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    largest = Fraction(float(np.finfo(np.float32).max))
    if not np.isfinite(result):
        assert abs(exact) > largest
        return
    found, low, high = (Fraction(float(v)) if np.isfinite(v) else None for v in (result, below, above))
    assert found is not None
    match rounding:
        case "rn":
            for other in (low, high):
                assert other is None or abs(exact - found) <= abs(exact - other)
        case "rz":
            assert abs(found) <= abs(exact)
        case "rm":
            assert found <= exact
            assert high is None or exact < high
        case _:
            assert found >= exact
            assert low is None or exact > low


PAIRS = [
    # f16: 1.0 = 0x3c00, 2.0 = 0x4000, 3.0 = 0x4200, largest = 0x7bff, infinity = 0x7c00
    ("add.f16x2", 0x3C00_4000, 0x4000_3C00, 0x4200_4200),
    ("add.sat.f16x2", 0x3C00_BC00, 0x4000_3C00, 0x3C00_0000),
    ("mul.f16x2", 0x4000_7BFF, 0x3C00_4000, 0x4000_7C00),
    ("max.f16x2", 0x3C00_7E00, 0x4000_3C00, 0x4000_3C00),
    ("max.NaN.f16x2", 0x3C00_7E00, 0x4000_3C00, 0x4000_7FFF),
    # bf16: 1.0 = 0x3f80, 2.0 = 0x4000, 3.0 = 0x4040
    ("add.bf16x2", 0x3F80_4000, 0x4000_3F80, 0x4040_4040),
    ("mul.bf16x2", 0x4000_4040, 0x4000_3F80, 0x4080_4040),
    ("sub.bf16x2", 0x4000_3F80, 0x3F80_4000, 0x3F80_BF80),
]


@pytest.mark.parametrize(("instruction", "a", "b", "expected"), PAIRS, ids=[row[0] for row in PAIRS])
def test_packed_pairs(instruction: str, a: int, b: int, expected: int) -> None:
    (found,) = evaluate(f"{instruction} d, a, b;", "b32", a=("b32", [a]), b=("b32", [b]))
    assert hex(found) == hex(expected)


def test_packed_fma_and_its_relu() -> None:
    operands = {"a": ("b32", [0xBC00_3C00]), "b": ("b32", [0x4000_4000]), "c": ("b32", [0x3C00_3C00])}
    assert hex(evaluate("fma.rn.f16x2 d, a, b, c;", "b32", **operands)[0]) == "0xbc004200"
    assert hex(evaluate("fma.rn.relu.f16x2 d, a, b, c;", "b32", **operands)[0]) == "0x4200"


def test_f32x2_adds_both_words() -> None:
    one, two = (int(np.float32(value).view(np.uint32)) for value in (1.0, 2.0))
    (found,) = evaluate(
        "add.rn.f32x2 d, a, b;", "b64", a=("b64", [one << 32 | two]), b=("b64", [one << 32 | two])
    )
    assert np.array([found]).view(np.float32).tolist() == [4.0, 2.0]


def test_signs() -> None:
    assert hex(evaluate("neg.f32 d, a;", "b32", a=("b32", [0x7FC0_0000]))[0]) == "0x7fffffff"
    assert hex(evaluate("neg.f32 d, a;", "b32", a=("f32", [0.0]))[0]) == "0x80000000"
    assert evaluate("abs.f64 d, a;", "f64", a=("f64", [-2.5]))[0] == 2.5
    assert hex(evaluate("neg.f16x2 d, a;", "b32", a=("b32", [0x3C00_BC00]))[0]) == "0xbc003c00"
    assert hex(evaluate("abs.bf16x2 d, a;", "b32", a=("b32", [0xBF80_3F80]))[0]) == "0x3f803f80"


UNARY = [
    ("rcp.rn.f32", 4.0, 0.25),
    ("sqrt.rn.f32", 2.0, float(np.sqrt(np.float32(2)))),
    ("rsqrt.approx.f32", 4.0, 0.5),
    ("ex2.approx.f32", 3.0, 8.0),
    ("lg2.approx.f32", 8.0, 3.0),
    ("sin.approx.f32", 0.0, 0.0),
    ("cos.approx.f32", 0.0, 1.0),
    ("tanh.approx.f32", 0.0, 0.0),
]


@pytest.mark.parametrize(("instruction", "a", "expected"), UNARY, ids=[row[0] for row in UNARY])
def test_functions(instruction: str, a: float, expected: float) -> None:
    assert evaluate(f"{instruction} d, a;", "f32", a=("f32", [a]))[0] == expected


@pytest.mark.parametrize(
    ("a", "b", "found"),
    [(1.0, 2.0**126, 2.0**-126), (1.0, np.nextafter(np.float32(2.0**126), np.float32(np.inf)), 0.0), (-3.0, 2.0**127, -0.0)],
)  # fmt: skip
def test_a_fast_quotient_of_a_far_divisor_is_zero(a: float, b: float, found: float) -> None:
    given = evaluate("div.approx.f32 d, a, b;", "b32", a=("f32", [a]), b=("f32", [b]))
    assert given == evaluate("mov.b32 d, a;", "b32", a=("f32", [found]))
    exact = evaluate("div.full.f32 d, a, b;", "f32", a=("f32", [a]), b=("f32", [b]))
    assert exact[0] == np.float32(a) / np.float32(b)


def test_an_infinity_over_a_far_divisor_is_no_number() -> None:
    assert np.isnan(evaluate("div.approx.f32 d, a, b;", "f32", a=("f32", [np.inf]), b=("f32", [2.0**127])))[0]


@pytest.mark.parametrize(("ftz", "found"), [("", 0x007F0000), (".ftz", 0), (".rn.ftz", 0)])
def test_bf16_becomes_f32_without_subnormal_numbers_where_they_are_flushed(ftz: str, found: int) -> None:
    assert evaluate(f"cvt{ftz}.f32.bf16 d, a;", "b32", a=("b16", [0x007F]))[0] == found
    assert evaluate(f"cvt{ftz}.f32.bf16 d, a;", "b32", a=("b16", [0x0080]))[0] == 0x00800000


TO_FLOAT = [
    # 1 + 2^-11 lies halfway between two f16 numbers, and 1 + 2^-8 between two bf16 numbers.
    (
        "cvt.rn.f16.f32",
        "b16",
        "f32",
        [
            (1.0, 0x3C00),
            (1 + 2.0**-11, 0x3C00),
            (1 + 3 * 2.0**-11, 0x3C02),
            (65520.0, 0x7C00),
            (NAN, 0x7FFF),
            (-0.0, 0x8000),
            (2.0**-24, 1),
            (2.0**-25, 0),
        ],
    ),
    ("cvt.rz.f16.f32", "b16", "f32", [(65520.0, 0x7BFF), (1 + 3 * 2.0**-11, 0x3C01)]),
    ("cvt.rp.f16.f32", "b16", "f32", [(2.0**-25, 1), (-(2.0**-25), 0x8000)]),
    ("cvt.rn.satfinite.f16.f32", "b16", "f32", [(1e6, 0x7BFF), (-INF, 0xFBFF)]),
    ("cvt.rn.relu.f16.f32", "b16", "f32", [(-1.0, 0), (1.0, 0x3C00)]),
    (
        "cvt.rn.bf16.f32",
        "b16",
        "f32",
        [(1.0, 0x3F80), (1 + 2.0**-8, 0x3F80), (1 + 3 * 2.0**-8, 0x3F82), (NAN, 0x7FFF)],
    ),
    ("cvt.rz.bf16.f32", "b16", "f32", [(1 + 3 * 2.0**-8, 0x3F81)]),
    ("cvt.f32.f16", "b32", "b16", [(0x3C00, 0x3F80_0000), (1, 0x3380_0000)]),
    ("cvt.f32.bf16", "b32", "b16", [(0x3F80, 0x3F80_0000), (0xFFC1, 0xFFC1_0000)]),
    ("cvt.rna.tf32.f32", "b32", "f32", [(1.0, 0x3F80_0000), (1 + 2.0**-11, 0x3F80_2000)]),
    ("cvt.rn.tf32.f32", "b32", "f32", [(1 + 2.0**-11, 0x3F80_0000)]),
    (
        "cvt.rn.f32.f64",
        "b32",
        "f64",
        [(1 + 2.0**-24, 0x3F80_0000), (1 + 2.0**-24 + 2.0**-50, 0x3F80_0001), (1e300, 0x7F80_0000)],
    ),
    ("cvt.f64.f32", "b64", "f32", [(1.5, 0x3FF8 << 48)]),
    ("cvt.rn.f32.s32", "b32", "s32", [(2**24 + 1, 0x4B80_0000), (-1, 0xBF80_0000)]),
    ("cvt.rz.f32.u32", "b32", "u32", [(2**32 - 1, 0x4F7F_FFFF)]),
    ("cvt.rn.f32.u64", "b32", "u64", [(2**63 + 2**39, 0x5F00_0000), (2**63 + 2**39 + 1, 0x5F00_0001)]),
    ("cvt.rn.f64.s64", "b64", "s64", [(-1, 0xBFF0 << 48), (2**53 + 1, 0x4340 << 48)]),
    ("cvt.rn.f16.s32", "b16", "s32", [(70000, 0x7C00), (3, 0x4200)]),
    ("cvt.rni.f32.f32", "b32", "f32", [(2.5, 0x4000_0000), (-0.25, 0x8000_0000)]),
    ("cvt.sat.f32.f32", "b32", "f32", [(2.5, 0x3F80_0000), (NAN, 0)]),
]


@pytest.mark.parametrize(("instruction", "out", "kind", "rows"), TO_FLOAT, ids=[row[0] for row in TO_FLOAT])
def test_conversion_to_float(instruction: str, out: str, kind: str, rows: list[tuple[Any, int]]) -> None:
    a, expected = zip(*rows, strict=True)
    assert [hex(v) for v in evaluate(f"{instruction} d, a;", out, a=(kind, a)).tolist()] == [
        hex(v) for v in expected
    ]


TO_INTEGER = [
    (
        "cvt.rni.s32.f32",
        "s32",
        "f32",
        [(2.5, 2), (3.5, 4), (-2.5, -2), (1e10, 2**31 - 1), (-INF, -(2**31)), (NAN, 0)],
    ),
    ("cvt.rzi.s32.f32", "s32", "f32", [(-2.9, -2), (2.9, 2)]),
    ("cvt.rmi.s32.f32", "s32", "f32", [(-2.1, -3)]),
    ("cvt.rpi.s32.f32", "s32", "f32", [(2.1, 3)]),
    ("cvt.rzi.u32.f32", "u32", "f32", [(-5.0, 0), (2.0**32, 2**32 - 1), (2.0**31, 2**31)]),
    ("cvt.rzi.u64.f32", "u64", "f32", [(2.0**63, 2**63), (2.0**64, 2**64 - 1), (NAN, 2**63)]),
    ("cvt.rzi.s64.f64", "s64", "f64", [(-(2.0**63), -(2**63)), (NAN, -(2**63)), (2.0**63, 2**63 - 1)]),
    ("cvt.rzi.u8.f32", "b16", "f32", [(300.0, 255), (7.9, 7)]),
]


@pytest.mark.parametrize(
    ("instruction", "out", "kind", "rows"), TO_INTEGER, ids=[row[0] for row in TO_INTEGER]
)
def test_conversion_to_integer_clamps(
    instruction: str, out: str, kind: str, rows: list[tuple[float, int]]
) -> None:
    a, expected = zip(*rows, strict=True)
    found = evaluate(f"{instruction} d, a;", out, a=(kind, a))
    assert found.tolist() == [value & (1 << found.itemsize * 8) - 1 for value in expected]


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("cvt.rn.f16x2.f32", "0x3c004000"),
        ("cvt.rn.bf16x2.f32", "0x3f804000"),
        ("cvt.rz.relu.f16x2.f32", "0x3c004000"),
    ],
)
def test_the_first_source_of_a_packing_conversion_is_the_upper_half(instruction: str, expected: str) -> None:
    (found,) = evaluate(f"{instruction} d, a, b;", "b32", a=("f32", [1.0]), b=("f32", [2.0]))
    assert hex(found) == expected


COMPARISONS = [
    ("lt.s32", "s32", [(-1, 0, True), (0, 0, False)]),
    ("lt.u32", "u32", [(-1, 0, False)]),
    ("lo.u32", "u32", [(0, -1, True)]),
    ("hs.u32", "u32", [(0, 0, True)]),
    ("eq.b64", "b64", [(2**40, 2**40, True), (2**40, 0, False)]),
    ("ge.s16", "s16", [(-1, -2, True)]),
    ("ne.f32", "f32", [(NAN, 1.0, False), (1.0, 2.0, True)]),
    ("neu.f32", "f32", [(NAN, 1.0, True), (1.0, 1.0, False)]),
    ("eq.f32", "f32", [(0.0, -0.0, True), (NAN, NAN, False)]),
    ("ltu.f64", "f64", [(NAN, 1.0, True), (2.0, 1.0, False)]),
    ("num.f32", "f32", [(NAN, 1.0, False), (1.0, 1.0, True)]),
    ("nan.f32", "f32", [(NAN, 1.0, True), (1.0, 1.0, False)]),
    ("eq.ftz.f32", "f32", [(TINY, 0.0, True)]),
    ("lt.f16", "f16", [(1.0, 2.0, True)]),
]


@pytest.mark.parametrize(("operator", "kind", "rows"), COMPARISONS, ids=[row[0] for row in COMPARISONS])
def test_setp(operator: str, kind: str, rows: list[tuple[Any, Any, bool]]) -> None:
    a, b, expected = zip(*rows, strict=True)
    assert evaluate(f"setp.{operator} d, a, b;", "pred", a=(kind, a), b=(kind, b)).tolist() == list(
        map(int, expected)
    )


@pytest.mark.parametrize(
    ("operator", "negated", "expected"),
    [
        ("and", "", [1, 0, 0, 0]),
        ("or", "", [1, 1, 1, 0]),
        ("xor", "", [0, 1, 1, 0]),
        ("and", "!", [0, 1, 0, 0]),
    ],
)
def test_setp_combines_with_a_predicate(operator: str, negated: str, expected: list[int]) -> None:
    operands = {"a": ("u32", [1, 1, 2, 2]), "b": ("u32", [1] * 4), "c": ("pred", [1, 0, 1, 0])}
    assert evaluate(f"setp.eq.{operator}.u32 d, a, b, {negated}c;", "pred", **operands).tolist() == expected
    both = evaluate(f"setp.eq.{operator}.u32 %p1|d, a, b, {negated}c;", "pred", **operands)
    table = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}[operator]
    condition = np.array([0, 1, 0, 1] if negated else [1, 0, 1, 0], bool)
    assert both.tolist() == table(np.array([False, False, True, True]), condition).astype(int).tolist()


def test_set_gives_all_ones_or_one() -> None:
    operands = {"a": ("u32", [1, 2]), "b": ("u32", [2, 1])}
    assert evaluate("set.lt.u32.u32 d, a, b;", "u32", **operands).tolist() == [0xFFFF_FFFF, 0]
    assert evaluate("set.lt.f32.u32 d, a, b;", "f32", **operands).tolist() == [1.0, 0.0]
