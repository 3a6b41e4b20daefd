"""Integer arithmetic, logic, shifts and bit fields, each row worked out by hand from the ISA's definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulate.kernels import BITS, evaluate
from tileproof.simulate import SimulationError

LOW, HIGH = 0x8000_0000, 0x7FFF_FFFF

# instruction, type of d, then the operands a, b, c as (type, values), then what d holds.
BINARY: list[tuple[str, str, str, list[tuple[int, int, int]]]] = [
    ("add.u16", "u16", "u16", [(1, 2, 3), (0xFFFF, 1, 0)]),
    ("add.s32", "s32", "s32", [(1, -2, 0xFFFF_FFFF), (HIGH, 1, LOW)]),
    ("add.sat.s32", "s32", "s32", [(HIGH, 1, HIGH), (LOW, -1, LOW), (5, -7, -2)]),
    ("add.u64", "u64", "u64", [(2**64 - 1, 1, 0), (2**32 - 1, 1, 2**32)]),
    ("sub.s32", "s32", "s32", [(3, 5, -2), (LOW, 1, HIGH)]),
    ("sub.sat.s32", "s32", "s32", [(LOW, 1, LOW), (HIGH, -1, HIGH)]),
    ("sub.u64", "u64", "u64", [(0, 1, 2**64 - 1)]),
    ("mul.lo.u32", "u32", "u32", [(0x10000, 0x10000, 0), (7, 6, 42)]),
    ("mul.hi.u32", "u32", "u32", [(0x10000, 0x10000, 1), (0xFFFF_FFFF, 0xFFFF_FFFF, 0xFFFF_FFFE)]),
    ("mul.hi.s32", "s32", "s32", [(-1, -1, 0), (-1, 1, -1), (LOW, LOW, 0x4000_0000)]),
    ("mul.wide.u16", "u32", "u16", [(0xFFFF, 0xFFFF, 0xFFFE_0001)]),
    ("mul.wide.s16", "s32", "s16", [(-1, 2, -2), (0x8000, 0x8000, 0x4000_0000)]),
    ("mul.wide.u32", "u64", "u32", [(0xFFFF_FFFF, 2, 0x1_FFFF_FFFE)]),
    ("mul.wide.s32", "s64", "s32", [(-1, 2, -2)]),
    ("mul.hi.u64", "u64", "u64", [(2**63, 2, 1), (2**64 - 1, 2**64 - 1, 2**64 - 2)]),
    ("mul.hi.s64", "s64", "s64", [(-1, 1, -1), (-1, -1, 0), (-(2**63), -(2**63), 2**62)]),
    ("mul24.lo.u32", "u32", "u32", [(0xFF00_0003, 5, 15), (0xFF_FFFF, 0xFF_FFFF, 0xFE00_0001)]),
    ("mul24.hi.u32", "u32", "u32", [(0xFF_FFFF, 0xFF_FFFF, 0xFFFF_FE00)]),
    ("mul24.lo.s32", "s32", "s32", [(0x00FF_FFFF, 5, -5)]),
    ("div.u32", "u32", "u32", [(7, 2, 3), (0xFFFF_FFFF, 2, HIGH)]),
    ("div.s32", "s32", "s32", [(-7, 2, -3), (7, -2, -3), (-7, -2, 3), (LOW, -1, LOW)]),
    ("rem.s32", "s32", "s32", [(-7, 2, -1), (7, -2, 1), (-7, -2, -1)]),
    ("rem.u64", "u64", "u64", [(2**64 - 1, 10, 5)]),
    ("min.s32", "s32", "s32", [(-1, 1, -1)]),
    ("min.u32", "u32", "u32", [(-1, 1, 1)]),
    ("max.s64", "s64", "s64", [(-1, 1, 1)]),
    ("max.u16", "u16", "u16", [(-1, 1, -1)]),
    ("max.relu.s32", "s32", "s32", [(-1, -5, 0), (-1, 4, 4)]),
    ("min.s16x2", "b32", "b32", [(0xFFFF_0001, 0x0001_FFFF, 0xFFFF_FFFF)]),
    ("add.u16x2", "b32", "b32", [(0xFFFF_0001, 0x0001_0002, 0x0000_0003)]),
    ("and.b32", "b32", "b32", [(0b1100, 0b1010, 0b1000)]),
    ("or.b64", "b64", "b64", [(0b1100, 0b1010, 0b1110)]),
    ("xor.b16", "b16", "b16", [(0b1100, 0b1010, 0b0110)]),
    ("and.pred", "pred", "pred", [(1, 1, 1), (1, 0, 0)]),
    ("xor.pred", "pred", "pred", [(1, 1, 0), (1, 0, 1)]),
]


def check(instruction: str, out: str, rows: list[tuple[Any, ...]], *kinds: str) -> None:
    names = "abce"[: len(kinds)]
    columns = list(zip(*rows, strict=True))
    operands = {name: (kind, column) for name, kind, column in zip(names, kinds, columns[:-1], strict=True)}
    found = evaluate(f"{instruction} d, {', '.join(names)};", out, **operands)
    mask = (1 << BITS[out]) - 1
    assert [hex(value) for value in found.tolist()] == [hex(expected & mask) for expected in columns[-1]]


@pytest.mark.parametrize(("instruction", "out", "kind", "rows"), BINARY, ids=[row[0] for row in BINARY])
def test_binary(instruction: str, out: str, kind: str, rows: list[tuple[int, int, int]]) -> None:
    check(instruction, out, rows, kind, kind)


UNARY = [
    ("neg.s32", "s32", "s32", [(5, -5), (LOW, LOW)]),
    ("abs.s16", "s16", "s16", [(-5, 5), (0x8000, 0x8000)]),
    ("not.b32", "b32", "b32", [(0, 0xFFFF_FFFF)]),
    ("not.pred", "pred", "pred", [(0, 1), (1, 0)]),
    ("cnot.b16", "b16", "b16", [(0, 1), (7, 0)]),
    ("popc.b32", "u32", "b32", [(0, 0), (0xFFFF_FFFF, 32), (0x8000_0001, 2)]),
    ("popc.b64", "u32", "b64", [(2**64 - 1, 64)]),
    ("clz.b32", "u32", "b32", [(0, 32), (1, 31), (LOW, 0)]),
    ("clz.b64", "u32", "b64", [(0, 64), (1, 63), (2**33, 30)]),
    ("brev.b32", "b32", "b32", [(1, LOW), (0x0000_00F0, 0x0F00_0000)]),
    ("brev.b64", "b64", "b64", [(1, 2**63)]),
    ("bfind.u32", "u32", "u32", [(0, 0xFFFF_FFFF), (1, 0), (LOW, 31)]),
    ("bfind.s32", "u32", "s32", [(-1, 0xFFFF_FFFF), (-2, 0), (5, 2)]),
    ("bfind.shiftamt.u32", "u32", "u32", [(1, 31), (LOW, 0), (0, 0xFFFF_FFFF)]),
    ("cvt.u32.u8", "u32", "u8", [(0xFF, 0xFF)]),
    ("cvt.s32.s8", "s32", "s8", [(0xFF, -1), (0x7F, 127)]),
    ("cvt.u8.u32", "b16", "u32", [(0x1FF, 0xFF)]),
    ("cvt.s8.s32", "b16", "s32", [(0x1FF, 0xFFFF), (0x17F, 0x7F)]),
    ("cvt.sat.u8.s32", "b16", "s32", [(-1, 0), (300, 255), (7, 7)]),
    ("cvt.sat.s16.s32", "s16", "s32", [(-40000, -32768), (40000, 32767)]),
    ("cvt.sat.u32.s64", "u32", "s64", [(-1, 0), (2**40, 0xFFFF_FFFF)]),
    ("cvt.sat.s32.u32", "s32", "u32", [(0xFFFF_FFFF, HIGH)]),
    ("cvt.u64.s32", "u64", "s32", [(-1, -1)]),
    ("cvt.s64.u32", "s64", "u32", [(-1, 0xFFFF_FFFF)]),
    ("cvt.u32.u64", "u32", "u64", [(2**40 + 3, 3)]),
]


@pytest.mark.parametrize(("instruction", "out", "kind", "rows"), UNARY, ids=[row[0] for row in UNARY])
def test_unary(instruction: str, out: str, kind: str, rows: list[tuple[int, int]]) -> None:
    check(instruction, out, rows, kind)


SHIFTS = [
    ("shl.b32", "b32", [(1, 31, LOW), (1, 32, 0), (3, 0xFFFF_FFFF, 0), (1, 0, 1)]),
    ("shl.b16", "b16", [(1, 15, 0x8000), (1, 16, 0)]),
    ("shl.b64", "b64", [(1, 63, 2**63), (1, 64, 0)]),
    ("shr.u32", "u32", [(LOW, 31, 1), (LOW, 32, 0), (LOW, 0xFFFF_FFFF, 0)]),
    ("shr.b16", "b16", [(0x8000, 15, 1), (0x8000, 16, 0)]),
    ("shr.s32", "s32", [(LOW, 31, -1), (LOW, 32, -1), (HIGH, 32, 0), (-8, 1, -4)]),
    ("shr.s64", "s64", [(-(2**63), 64, -1), (2**62, 61, 2)]),
    ("shr.u64", "u64", [(2**63, 63, 1), (2**63, 64, 0)]),
]


@pytest.mark.parametrize(("instruction", "kind", "rows"), SHIFTS, ids=[row[0] for row in SHIFTS])
def test_shift_amounts_are_clamped_to_the_width(
    instruction: str, kind: str, rows: list[tuple[int, int, int]]
) -> None:
    check(instruction, kind, rows, kind, "u32")


TERNARY = [
    ("mad.lo.u32", "u32", ("u32", "u32", "u32"), [(3, 4, 5, 17), (0xFFFF_FFFF, 2, 3, 1)]),
    ("mad.hi.s32", "s32", ("s32", "s32", "s32"), [(-1, 1, 5, 4)]),
    ("mad.hi.sat.s32", "s32", ("s32", "s32", "s32"), [(LOW, LOW, HIGH, HIGH), (LOW, HIGH, LOW, LOW)]),
    ("mad.wide.u32", "u64", ("u32", "u32", "u64"), [(0xFFFF_FFFF, 2, 2, 2**33)]),
    ("mad24.lo.u32", "u32", ("u32", "u32", "u32"), [(0xFF00_0003, 5, 1, 16)]),
    ("sad.u32", "u32", ("u32", "u32", "u32"), [(3, 5, 10, 12), (5, 3, 10, 12)]),
    ("sad.s32", "s32", ("s32", "s32", "s32"), [(-3, 5, 10, 18)]),
    (
        "bfe.u32",
        "u32",
        ("u32", "u32", "u32"),
        [(0xABCD, 4, 8, 0xBC), (0xFFFF_FFFF, 28, 8, 0xF), (-1, 32, 4, 0), (-1, 3, 0, 0), (-1, 256, 4, 15)],
    ),
    (
        "bfe.s32",
        "s32",
        ("s32", "u32", "u32"),
        [(0x80, 4, 4, -8), (0x70, 4, 4, 7), (LOW, 28, 8, -8), (LOW, 40, 4, -1), (-1, 0, 0, 0)],
    ),
    (
        "bfe.u64",
        "u64",
        ("u64", "u32", "u32"),
        [(0xABCD << 40, 40, 16, 0xABCD), (2**64 - 1, 0, 64, 2**64 - 1)],
    ),
    ("bfe.s64", "s64", ("s64", "u32", "u32"), [(2**63, 60, 4, -8)]),
    ("shf.l.wrap.b32", "b32", ("b32", "b32", "u32"), [(0x8000_0000, 1, 1, 3), (5, 7, 32, 7)]),
    ("shf.l.clamp.b32", "b32", ("b32", "b32", "u32"), [(5, 7, 32, 5), (5, 7, 99, 5)]),
    ("shf.r.wrap.b32", "b32", ("b32", "b32", "u32"), [(0x10, 1, 4, 0x1000_0001), (5, 7, 33, 0x8000_0002)]),
    ("shf.r.clamp.b32", "b32", ("b32", "b32", "u32"), [(5, 7, 32, 7), (5, 7, 0, 5)]),
    (
        "prmt.b32",
        "b32",
        ("b32", "b32", "b32"),
        [(0x3322_1100, 0x7766_5544, 0x7531, 0x7755_3311), (0x80, 0x7F00_0000, 0xF808, 0x00FF_80FF)],
    ),
    ("prmt.b32.f4e", "b32", ("b32", "b32", "b32"), [(0x3322_1100, 0x7766_5544, 1, 0x4433_2211)]),
    ("prmt.b32.b4e", "b32", ("b32", "b32", "b32"), [(0x3322_1100, 0x7766_5544, 0, 0x5566_7700)]),
    ("prmt.b32.rc8", "b32", ("b32", "b32", "b32"), [(0x3322_1100, 0, 2, 0x2222_2222)]),
    ("prmt.b32.ecl", "b32", ("b32", "b32", "b32"), [(0x3322_1100, 0, 2, 0x3322_2222)]),
    ("prmt.b32.ecr", "b32", ("b32", "b32", "b32"), [(0x3322_1100, 0, 2, 0x2222_1100)]),
    ("prmt.b32.rc16", "b32", ("b32", "b32", "b32"), [(0x3322_1100, 0, 1, 0x3322_3322)]),
    ("selp.b32", "b32", ("b32", "b32", "pred"), [(1, 2, 1, 1), (1, 2, 0, 2)]),
    ("selp.f64", "b64", ("b64", "b64", "pred"), [(1, 2, 1, 1), (1, 2, 0, 2)]),
]


@pytest.mark.parametrize(("instruction", "out", "kinds", "rows"), TERNARY, ids=[row[0] for row in TERNARY])
def test_ternary(
    instruction: str, out: str, kinds: tuple[str, str, str], rows: list[tuple[int, ...]]
) -> None:
    check(instruction, out, rows, *kinds)


def test_bfi_puts_the_low_bits_of_a_into_b() -> None:
    rows = [
        (0xF, 0, 4, 4, 0xF0),
        (0, -1, 8, 8, 0xFFFF_00FF),
        (-1, 0, 28, 8, 0xF000_0000),
        (-1, 5, 32, 4, 5),
        (-1, 5, 0, 0, 5),
    ]
    check("bfi.b32", "b32", rows, "b32", "b32", "u32", "u32")
    check("bfi.b64", "b64", [(3, 0, 63, 4, 2**63)], "b64", "b64", "u32", "u32")


@pytest.mark.parametrize("table", [0xC0, 0xFE, 0x96, 0xCA, 0x00, 0xFF])
def test_lop3_looks_up_every_combination_of_bits(table: int) -> None:
    a, b, c = 0xF0, 0xCC, 0xAA
    (found,) = evaluate(
        f"lop3.b32 d, a, b, c, {table:#x};", "b32", a=("b32", [a]), b=("b32", [b]), c=("b32", [c])
    )
    # With these three words, bit i of the low byte stands for row i of the table.
    assert found & 0xFF == table


@given(
    a=st.lists(st.integers(0, 2**64 - 1), min_size=8, max_size=8),
    b=st.lists(st.integers(1, 2**64 - 1), min_size=8, max_size=8),
)
def test_arithmetic_agrees_with_unbounded_integers(a: list[int], b: list[int]) -> None:
    def signed(value: int, bits: int) -> int:
        value &= (1 << bits) - 1
        return value - (1 << bits) if value >> bits - 1 else value

    from tileproof.simulate import integers
    from tileproof.simulate.scalars import TYPES

    for name in ("u32", "s32", "u64", "s64"):
        kind = TYPES[name]
        read = signed if name[0] == "s" else lambda value, bits: value & (1 << bits) - 1
        x = [read(value, kind.bits) for value in a]
        y = [read(value, kind.bits) or 1 for value in b]
        left, right = np.array(x, kind.dtype), np.array(y, kind.dtype)
        low, high = integers.double_product(left, right, kind)
        assert high.tolist() == [read(p * q >> kind.bits, kind.bits) for p, q in zip(x, y, strict=True)]
        assert low.tolist() == [read(p * q, kind.bits) for p, q in zip(x, y, strict=True)]
        quotient, rest = integers.divide(left, right, kind)
        exact = [abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1) for p, q in zip(x, y, strict=True)]
        assert quotient.tolist() == [read(value, kind.bits) for value in exact]
        assert rest.tolist() == [p - q * value for p, q, value in zip(x, y, exact, strict=True)]


@pytest.mark.parametrize(
    "instruction", ["bfe.u64 d, a, b, 1;", "bfe.s64 d, a, 1, b;", "bfi.b64 d, a, a, b, 1;"]
)
def test_a_field_of_64_bits_beyond_255_is_not_defined_alike_everywhere(instruction: str) -> None:
    evaluate(instruction, "b64", a=("b64", [1]), b=("u32", [255]))
    with pytest.raises(SimulationError, match="position or length 256 is above 255"):
        evaluate(instruction, "b64", a=("b64", [1]), b=("u32", [256]))


def test_division_by_zero_is_an_error_in_the_thread_that_divides() -> None:
    with pytest.raises(SimulationError, match=r"lane 2 .*division by zero"):
        evaluate("div.u32 d, a, b;", "u32", a=("u32", [1, 2, 3]), b=("u32", [1, 1, 0]))
