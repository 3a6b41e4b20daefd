"""Numbers, indices and typed scalars where an instruction on registers reads."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

import tileproof as tp
from tests.contracts.calls import PROVED, REFUTED, failing, registers
from tileproof import tx
from tileproof.contracts.family.arithmetic import issue
from tileproof.contracts.grammar import resolve
from tileproof.contracts.issue import Constant, Named, Scalar
from tileproof.contracts.literals import pattern
from tileproof.errors import CallError, TileproofError
from tileproof.scalars.expression import constant, variable

INF, NAN = math.inf, math.nan


def made(bits: int, name: str = "D") -> Any:
    return registers((2, 1), bits=bits, name=name)


def issued(opcode: str, bits: int, scalar: Any) -> Any:
    """The scalar second operand of a call, as it is issued."""
    report = tp.prove(opcode, made(bits), scalar)
    assert report.call.repeat_extents == (2,)
    return issue(report.call)[1]


CONSTANTS = [
    ("neg.f32", 32, 1.0, 0x3F800000),
    ("neg.f32", 32, 1, 0x3F800000),
    ("neg.f32", 32, 0.1, 0x3DCCCCCD),
    ("neg.f32", 32, -0.0, 0x80000000),
    ("neg.f32", 32, INF, 0x7F800000),
    ("neg.f32", 32, NAN, 0x7FFFFFFF),
    ("neg.f32", 32, 1 << 24, 0x4B800000),
    ("neg.f32", 32, 1e-45, 1),
    ("neg.f32", 32, 7e-46, 0),
    ("neg.f64", 64, 0.1, 0x3FB999999999999A),
    ("neg.f64", 64, 5e-324, 1),
    ("neg.f16", 16, 65504.0, 0x7BFF),
    ("neg.f16", 16, 65519.0, 0x7BFF),
    ("neg.f16", 16, -INF, 0xFC00),
    ("neg.f16", 16, 1 + 2.0**-11, 0x3C00),
    ("neg.f16", 16, 1 + 3 * 2.0**-11, 0x3C02),
    ("neg.bf16", 16, 1 + 2.0**-8, 0x3F80),
    ("neg.bf16", 16, 1 + 2.0**-8 + 2.0**-30, 0x3F81),
    ("neg.bf16", 16, 3.0, 0x4040),
    ("neg.f16x2", 32, 0x3C003C00, 0x3C003C00),
    ("mov.b32", 32, -1, 0xFFFFFFFF),
    ("mov.b64", 64, (1 << 64) - 1, (1 << 64) - 1),
    ("mov.u16", 16, 65535, 0xFFFF),
    ("mov.s16", 16, -32768, 0x8000),
    ("neg.s32", 32, -(1 << 31), 1 << 31),
]


@pytest.mark.parametrize(("opcode", "bits", "value", "expected"), CONSTANTS, ids=str)
def test_a_number_is_of_the_type_that_the_instruction_reads(
    opcode: str, bits: int, value: float, expected: int
) -> None:
    found = issued(opcode, bits, value)
    assert isinstance(found, Constant)
    assert found.pattern == expected


REFUSED: list[tuple[str, int, Any]] = [
    ("neg.f32", 32, (1 << 24) + 1),
    ("neg.f32", 32, 10**5000),
    ("neg.s32", 32, 10**5000),
    ("neg.f16x2", 32, 1e9),
    ("neg.f32", 32, 3.5e38),
    ("neg.f16", 16, 65520.0),
    ("neg.f16", 16, 65519),
    ("neg.bf16", 16, 257),
    ("neg.f16x2", 32, 1.0),
    ("neg.f16x2", 32, 1 << 32),
    ("neg.s32", 32, 1.0),
    ("neg.s32", 32, 1 << 31),
    ("mov.u32", 32, -1),
    ("mov.b32", 32, 1.0),
    ("mov.b32", 32, 1 << 32),
    ("mov.b128", 128, 1),
    ("neg.f32", 32, True),
    ("neg.f32", 32, "1.0"),
    ("neg.f32", 32, None),
    ("neg.f32", 32, tp.symbol("n", 0, 3)),
    ("mov.s16", 16, tp.symbol("n", 0, 3)),
    ("neg.f32", 32, constant(1, "int32")),
    ("neg.s32", 32, constant(1, "uint32")),
    ("neg.f16x2", 32, constant(1.0, "float32")),
    ("neg.f32", 32, variable("alpha", "float64")),
]


@pytest.mark.parametrize(
    ("opcode", "bits", "value"),
    REFUSED,
    ids=lambda v: "" if isinstance(v, int) and abs(v) > 2**70 else str(v)[:20],
)
def test_what_the_type_does_not_hold_is_refused(
    opcode: str, bits: int, value: Any, snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(TileproofError) as caught:
        tp.check(opcode, made(bits), value)
    assert str(caught.value) == snapshot


def test_a_scalar_is_never_written(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(CallError) as caught:
        tp.check("add.f32", 1.0, made(32), made(32, "A"))
    assert str(caught.value) == snapshot


def test_several_registers_are_no_scalar() -> None:
    with pytest.raises(CallError, match="give a tensor"):
        tp.check("cvt.rs.satfinite.e4m3x4.f32", made(32), 1.0, 0)


def test_loads_take_no_scalars() -> None:
    with pytest.raises(CallError, match=r"operand 1 must be a tensor or a view, got 1\.0"):
        tp.check("ld.global.f32", registers((1,)), 1.0)


def test_typed_scalars() -> None:
    found = issued("neg.f32", 32, variable("alpha", "float32"))
    assert isinstance(found, Named)
    assert (found.name, found.dtype) == ("alpha", "float32")
    assert issued("mov.b32", 32, variable("alpha", "float32")).name == "alpha"
    assert issued("neg.f16x2", 32, variable("pair", "uint32")).name == "pair"
    assert issued("neg.f16", 16, constant(1.5, "float16")).pattern == 0x3E00
    assert issued("mov.b32", 32, constant(1.0, "float32")).pattern == 0x3F800000
    assert issued("mov.b32", 32, constant(-1, "int32")).pattern == 0xFFFFFFFF


def test_an_index_is_seen_by_its_thread() -> None:
    n = tp.symbol("n", 0, 5)
    found = issued("neg.s32", 32, n * 2 + tx)
    assert isinstance(found, Scalar)
    assert (found.bits, found.immediate) == (32, True)
    assert tp.check("mov.u32", made(32), tx - 1).verdict is REFUTED
    assert tp.check("mov.u32", made(32), tx - 1, active=tx > 0).verdict is PROVED
    assert tp.check("mov.u64", made(64), tx).verdict is PROVED


@pytest.mark.parametrize(
    ("type_", "low", "high"),
    [
        ("s32", -(2**31), 2**31 - 1),
        ("u32", 0, 2**32 - 1),
        ("u64", 0, 2**64 - 1),
        ("s64", -(2**63), 2**63 - 1),
    ],
)
def test_the_ends_of_an_index_type(type_: str, low: int, high: int) -> None:
    d = made(64 if "64" in type_ else 32)
    assert tp.check(f"mov.{type_}", d, tp.symbol("n", low, high)).verdict is PROVED
    for lo, hi in ((low - 1, high), (low, high + 1)):
        report = tp.check(f"mov.{type_}", d, tp.symbol("n", lo, hi))
        assert failing(report) == {"fits"}


def test_one_name_is_one_symbol() -> None:
    other = tp.symbol("n", 0, 9)
    with pytest.raises(CallError, match="the symbol n is declared twice"):
        tp.check("mov.u32", made(32), tp.symbol("n", 0, 3), active=other < 4)


def test_reports_name_scalars_in_their_places() -> None:
    report = tp.check("fma.rn.f32", made(32), 2.5, made(32, "A"), constant(1.0, "float32"))
    assert str(report).startswith("fma.rn.f32 (D, 2.5, A, 1.0) at thread scope: PROVED")


# Rounding, against fractions and against NumPy


@given(st.floats(allow_nan=False, allow_infinity=False, width=64) | st.floats(-70000, 70000, width=64))
@example(1.7976931348623157e308)
@example(3.4028235677973366e38)
@example(3.4028235677973362e38)
@example(65519.99999999999)
def test_rounding_is_numpys(value: float) -> None:
    with np.errstate(over="ignore"):
        for type_, dtype in (("f16", np.float16), ("f32", np.float32)):
            rounded = dtype(value)
            if np.isinf(rounded):
                with pytest.raises(CallError, match="beyond every finite"):
                    pattern(value, type_, "it")
            else:
                assert pattern(value, type_, "it") == int(rounded.view(f"u{rounded.itemsize}"))


@given(st.floats(-(2.0**127), 2.0**127, width=64))
def test_rounding_to_bf16_is_to_the_nearest_ties_to_even(value: float) -> None:
    found = pattern(value, "bf16", "it")

    def number(code: int) -> Fraction:
        return Fraction(float(np.uint32((code & 0x7FFF) << 16).view(np.float32)))

    assert found >> 15 == (math.copysign(1, value) < 0)
    error = abs(number(found) - abs(Fraction(value)))
    for other in {max((found & 0x7FFF) - 1, 0), (found & 0x7FFF) + 1}:
        gap = abs(number(other) - abs(Fraction(value)))
        assert error < gap or (error == gap and (found % 2 == 0 or number(other) == number(found)))


def test_a_report_with_scalars_and_its_shape_survive_a_pickle() -> None:
    report = tp.prove("max.f32", made(32), made(32, "A"), made(32, "B"), 1.5)
    again = pickle.loads(pickle.dumps(report))
    assert str(again) == str(report)
    assert again.call.form == report.call.form != resolve("max.f32")
    assert again.call.form.shape == 1
    assert again.call.scalars == {3: 1.5}


def test_a_certificate_says_its_scalars() -> None:
    n = tp.symbol("n", 0, 9)
    stated = tp.prove("add.s32", made(32), made(32, "A"), n * 2).certificate()["call"]
    assert stated["scalars"] == {"2": "2*n"}
    assert [s["name"] for s in stated["symbols"]] == ["n"]
    assert "scalars" not in tp.prove("neg.s32", made(32), made(32, "A")).certificate()["call"]
