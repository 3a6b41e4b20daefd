"""cvt into and out of narrow floats: the nearest of all codes, found by looking at each of them."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.simulate.exact import SHAPES, code, value
from tests.simulate.kernels import evaluate
from tileproof.errors import SimulationError

FORMATS = {"e4m3": (4, 3, 7), "e5m2": (5, 2, 15), "e2m3": (2, 3, 1), "e3m2": (3, 2, 3), "e2m1": (2, 1, 1)}
"""Bits of exponent and fraction, and the bias (PTX ISA 5.2.3)."""

TWO = {name: ("b8", 4) if name == "e2m1" else ("b16", 8) for name in FORMATS}
"""The register of a pair, and how many bits apart its values are."""


def number(name: str, c: int) -> Fraction | float:
    exponent_bits, fraction_bits, bias = FORMATS[name]
    fraction = c & (1 << fraction_bits) - 1
    exponent = c >> fraction_bits & (1 << exponent_bits) - 1
    sign = -1 if c >> exponent_bits + fraction_bits & 1 else 1
    if name == "e5m2" and exponent == 31:
        return math.nan if fraction else sign * math.inf
    if name == "e4m3" and c & 0x7F == 0x7F:
        return math.nan
    whole = fraction + (exponent > 0) * (1 << fraction_bits)
    return sign * whole * Fraction(2) ** (max(exponent, 1) - bias - fraction_bits)


def width(name: str) -> int:
    return 1 + sum(FORMATS[name][:2])


@cache
def finite(name: str) -> tuple[tuple[float, int], ...]:
    """The finite magnitudes with their codes; all of them are exact in float64, as are near differences."""
    numbers = ((number(name, c), c) for c in range(1 << width(name) - 1))
    return tuple((float(x), c) for x, c in numbers if isinstance(x, Fraction))


def nearest(name: str, wanted: float) -> int:
    """The magnitude's code that is nearest, the even one of two, and the largest of what is beyond it."""
    seen = min(wanted, 2 * finite(name)[-1][0])  # so that differences stay exact
    return min(finite(name), key=lambda found: (abs(found[0] - seen), found[1] % 2))[1]


def samples(name: str) -> list[float]:
    """Every number of the format, midpoints, numbers beyond the largest, and any in between."""
    draw = random.Random(name)
    exact = [x for x, _ in finite(name)]
    between = [(a + b) / 2 for a, b in pairwise(exact)]
    beside = [float(np.nextafter(np.float32(x), np.float32(d))) for x in between for d in (0.0, 1e9)]
    found = [*exact, *between, *beside, *(exact[-1] * x for x in (1.01, 1.06, 1.2, 2.0, 1e6))]
    found += [draw.uniform(0, exact[-1]) for _ in range(50)]
    return [float(np.float32(x)) * draw.choice((1, -1)) for x in found]


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("name", FORMATS)
def test_two_floats_are_rounded_into_a_pair(name: str, relu: bool) -> None:
    register, apart = TWO[name]
    a = samples(name)
    b = a[::-1]
    opcode = f"cvt.rn.satfinite{'.relu' if relu else ''}.{name}x2.f32"
    found = evaluate(f"{opcode} d, a, b;", register, a=("f32", a), b=("f32", b))
    for got, upper, lower in zip(found, a, b, strict=True):
        for shift, x in ((apart, upper), (0, lower)):
            negative = math.copysign(1, x) < 0 and not relu
            magnitude = 0.0 if relu and x < 0 else abs(x)
            wanted = nearest(name, magnitude) | negative << width(name) - 1
            assert int(got) >> shift & (1 << apart) - 1 == wanted, (x, hex(got), hex(wanted))


@pytest.mark.parametrize("half", ["f16", "bf16"])
@pytest.mark.parametrize("name", FORMATS)
def test_every_pair_is_widened_exactly(name: str, half: str) -> None:
    register, apart = TWO[name]
    codes = list(range(1 << width(name)))
    packed = [lo | hi << apart for lo, hi in zip(codes, codes[::-1], strict=True)]
    convert = f"cvt.rn.{half}x2.{name}x2 d, a;"
    if register == "b8":
        convert = f".reg .b8 t;\ncvt.u8.u16 t, a;\ncvt.rn.{half}x2.{name}x2 d, t;"
    found = evaluate(convert, "b32", a=("b16", packed))
    for got, lower, upper in zip(found, codes, codes[::-1], strict=True):
        for shift, c in ((0, lower), (16, upper)):
            x = number(name, c)
            wanted: Any = (
                code(x, SHAPES[half], "rn", c >> width(name) - 1 == 1) if isinstance(x, Fraction) else x
            )
            have = int(got) >> shift & 0xFFFF
            if isinstance(wanted, float):
                have, wanted = str(value(have, SHAPES[half])), str(wanted)
            assert have == wanted, (hex(c), hex(got))


@pytest.mark.parametrize("half", ["f16", "bf16"])
@pytest.mark.parametrize("name", ["e4m3", "e5m2"])
def test_a_pair_of_halves_is_rounded_too(name: str, half: str) -> None:
    shape = SHAPES[half]
    draw = random.Random(name + half)
    codes = [draw.randrange(1 << 16) for _ in range(400)]
    codes = [c for c in codes if not isinstance(value(c, shape), float)]
    packed = [lo | hi << 16 for lo, hi in zip(codes, codes[::-1], strict=True)]
    found = evaluate(f"cvt.rn.satfinite.{name}x2.{half}x2 d, a;", "b16", a=("b32", packed))
    for got, lower, upper in zip(found, codes, codes[::-1], strict=True):
        for shift, c in ((0, lower), (8, upper)):
            wanted = nearest(name, abs(float(value(c, shape)))) | (c >> 15) << 7
            assert int(got) >> shift & 0xFF == wanted


@pytest.mark.parametrize("name", ["e4m3", "e5m2"])
def test_infinities_become_finite(name: str) -> None:
    found = evaluate(
        f"cvt.rn.satfinite.{name}x2.f32 d, a, b;", "b16", a=("f32", [math.inf]), b=("f32", [-math.inf])
    )
    largest = nearest(name, 1e9)
    assert found.tolist() == [largest << 8 | largest | 0x80]


def test_scales() -> None:
    numbers = [1.0, 1.5, 2.0**-126, 2.0**127, 3.0, 0.75]
    below = evaluate("cvt.rz.ue8m0x2.f32 d, a, b;", "b16", a=("f32", numbers), b=("f32", [1.0] * 6))
    assert [int(x) >> 8 for x in below] == [127, 127, 1, 254, 128, 126]
    assert [int(x) & 255 for x in below] == [127] * 6
    above = evaluate("cvt.rp.satfinite.ue8m0x2.f32 d, a, b;", "b16", a=("f32", numbers), b=("f32", numbers))
    assert [int(x) & 255 for x in above] == [127, 128, 1, 254, 129, 127]
    back = evaluate("cvt.rn.bf16x2.ue8m0x2 d, a;", "b32", a=("b16", [0x807F, 0x00FF]))
    assert [int(x) for x in back] == [0x4000_3F80, 0x0040_7FFF]


REFUSED = [
    ("cvt.rn.satfinite.e2m1x2.f32 d, a, b;", "b8", "what becomes of NaN in .e2m1"),
    ("cvt.rn.satfinite.e3m2x2.f32 d, a, b;", "b16", "what becomes of NaN in .e3m2"),
    ("cvt.rn.satfinite.e5m2x2.f32 d, a, b;", "b16", "what becomes of NaN in .e5m2"),
    ("cvt.rz.ue8m0x2.f32 d, a, b;", "b16", "positive normal numbers"),
    ("cvt.rs.f16x2.f32 d, a, b, c;", "b32", "needs one of .rn, .rz"),
    ("fma.rn.oob.f16x2 d, c, c, c;", "b32", "does not know fma with .oob"),
]


@pytest.mark.parametrize(("text", "out", "message"), REFUSED, ids=[r[0].split()[0] for r in REFUSED])
def test_what_is_not_known_is_refused(text: str, out: str, message: str) -> None:
    operands: dict[str, Any] = {"a": ("f32", [math.nan]), "b": ("f32", [1.0]), "c": ("b32", [0])}
    with pytest.raises(SimulationError, match=message):
        evaluate(text, out, **operands)
