"""Two recordings are compared to the bit, but for NaNs and for what approximations may be off."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tileproof.fuzz.execute.register_table import register_forms
from tileproof.fuzz.map_differences import differences, number, same
from tileproof.fuzz.maps import HardwareMaps, Registers
from tileproof.fuzz.patterns import PATTERNS, encoded
from tileproof.fuzz.reconstruct import Movement

FORMS = {form.label: form for form in register_forms()}
ONE = 0x3F800000


@pytest.mark.parametrize(
    ("label", "type_", "a", "b", "right"),
    [
        ("add.rn.f32 d, a, b", "f32", ONE, ONE, True),
        ("add.rn.f32 d, a, b", "f32", ONE, ONE + 1, False),
        ("add.rn.f32 d, a, b", "f32", 0, 0x80000000, False),
        ("add.rn.f32 d, a, b", "f32", 0x7FFFFFFF, 0x7FC00000, True),
        ("add.rn.f32 d, a, b", "f32", 0x7FFFFFFF, 0x7F800000, False),
        ("add.s32 d, a, b", "s32", 0x7FFFFFFF, 0x7FC00000, False),
        ("ex2.approx.f32 d, a", "f32", ONE, ONE + 2, True),
        ("ex2.approx.f32 d, a", "f32", ONE, ONE + 4, False),
        ("tanh.approx.f32 d, a", "f32", ONE, ONE + 0x1000, True),
        ("tanh.approx.f32 d, a", "f32", ONE, ONE + 0x2000, False),
        ("sqrt.rn.f32 d, a", "f32", ONE, ONE + 1, False),
        ("sqrt.approx.f32 d, a", "f32", ONE, ONE + 1, True),
        ("fma.rn.f16x2 d, a, b, c", "f16x2", 0x7E003C00, 0x7FFF3C00, True),
        ("fma.rn.f16x2 d, a, b, c", "f16x2", 0x3C007E00, 0x3C017FFF, False),
        ("cvt.rna.tf32.f32 d, a", "tf32", 0x7FC00000, 0x7FFFE000, True),
        ("cvt.rna.tf32.f32 d, a", "tf32", ONE, ONE + 0x2000, False),
        ("rsqrt.approx.f64 d, a", "f64", 0x3FF0000000000000, 0x3FF0000000000001, True),
        ("rsqrt.approx.f64 d, a", "f64", 0x3FF0000000000000, 0x3FF0000000000003, False),
        ("ex2.approx.ftz.f32 d, a", "f32", 0, 0x007FFFFF, True),
        ("ex2.approx.ftz.f32 d, a", "f32", 0, 0x01000000, False),
    ],
)
def test_results_that_may_both_be_right(label: str, type_: str, a: int, b: int, right: bool) -> None:
    form = FORMS[label]
    assert same(form, type_, (0,) * len(form.read), a, b) is right
    assert same(form, type_, (0,) * len(form.read), b, a) is right


def test_sine_of_what_is_far_is_anything() -> None:
    form = FORMS["sin.approx.f32 d, a"]
    assert same(form, "f32", (encoded("f32", 1e9),), encoded("f32", 0.5), encoded("f32", -0.5))
    assert not same(form, "f32", (encoded("f32", 10.0),), encoded("f32", 0.5), encoded("f32", -0.5))


@pytest.mark.parametrize("scalar", ["f16", "bf16", "f32", "f64"])
def test_bits_are_numbers(scalar: str) -> None:
    for value in (1.0, -2.5, 0.0, math.inf):
        assert number(scalar, encoded(scalar, value)) == value


def test_differences_are_told(by_hand: HardwareMaps) -> None:
    plain = Registers({"d": 32}, {"d": (7,) * PATTERNS}, "d < a b")
    one = replace(by_hand, registers={"add.s32 d, a, b": plain})
    assert differences(one, one) == []
    changed = Registers({"d": 32}, {"d": (8, *[7] * (PATTERNS - 1))}, "d < a")
    first = by_hand.movement["ld.global.b32"]
    moved = {**by_hand.movement, "ld.global.b32": Movement(first.lane, first.offset[:, ::-1] * 0)}
    assert differences(one, replace(one, movement=moved, registers={"add.s32 d, a, b": changed})) == [
        "ld.global.b32: bytes move another way on by hand than on by hand",
        "add.s32 d, a, b: d < a b and d < a",
        "add.s32 d, a, b: d is 0x00000007 and 0x00000008 for a = 0x0, b = 0x3",
    ]


def test_a_known_deviation_is_one_of_its_gpu_only(by_hand: HardwareMaps) -> None:
    label = "cvt.rp.ftz.f16.f32 d, a"
    plain = Registers({"d": 16}, {"d": (0,) * PATTERNS}, "d < a")
    rounded = replace(plain, results={"d": (1,) * PATTERNS})
    isa, other = (
        replace(by_hand, device="simulate", registers={label: r}) for r in (plain, rounded)
    )  # fmt: skip
    assert differences(isa, other)
    assert not differences(isa, replace(other, device="NVIDIA H200"))
    assert differences(replace(isa, device="NVIDIA H200"), replace(other, device="NVIDIA H200"))
