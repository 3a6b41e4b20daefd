"""Floating-point values with exact rounding: f16, bf16, tf32 and f32 results computed in float64 and rounded
once (ISA 5.2.3, 9.7.3).

A sum of two float64 numbers that is not exact is first rounded to odd: its last bit is set whenever
something was cut off. Rounding that again to at most 24 bits gives the same as rounding the exact sum once,
in any direction (Boldo and Melquiond's theorem needs two spare bits). Products of two numbers of at most 24
bits are exact in float64.

A NaN that arithmetic makes is the canonical one of its format. The payload of an f64 NaN, and what becomes of
a payload in a conversion, is not modelled.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tileproof.simulate.scalars import BF16, F16, F32, F64, TF32, Array, ScalarType


@dataclass(frozen=True, slots=True)
class Format:
    """Significant bits with the hidden one, exponents of the smallest and largest normal numbers, and the
    bits of a NaN result.
    """

    precision: int
    smallest: int
    largest: int
    nan: int


FORMATS = {
    F16: Format(11, -14, 15, 0x7FFF),
    BF16: Format(8, -126, 127, 0x7FFF),
    TF32: Format(11, -126, 127, 0x7FFF_E000),
    F32: Format(24, -126, 127, 0x7FFF_FFFF),
    F64: Format(53, -1022, 1023, 0x7FF8 << 48),
}


def widen(values: Array, kind: ScalarType) -> Array:
    """Values as `kind.dtype` holds them -> the same numbers in float64."""
    if kind == BF16:
        return (values.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if kind == TF32:
        return values.view(np.float32).astype(np.float64)
    return values.astype(np.float64)


def narrow(numbers: Array, kind: ScalarType, rounding: str = "rn") -> Array:
    """Float64 numbers (exact or rounded to odd) -> `kind.dtype`, rounded once; NaN becomes the canonical NaN
    of the format.
    """
    if kind == F64:
        return numbers
    rounded = quantize(numbers, FORMATS[kind], rounding)
    nan = FORMATS[kind].nan
    if kind == F16:
        bits = rounded.astype(np.float16).view(np.uint16)
    elif kind == BF16:
        bits = (rounded.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    else:
        bits = rounded.astype(np.float32).view(np.uint32)
    bits = np.where(np.isnan(numbers), bits.dtype.type(nan), bits)
    return bits.view(kind.dtype)


def quantize(numbers: Array, form: Format, rounding: str) -> Array:
    """The nearest number of a format in a rounding direction, as float64; overflow gives infinity or the
    largest finite number.
    """
    _, exponent = np.frexp(numbers)
    unit = np.maximum(exponent - form.precision, form.smallest - form.precision + 1)
    scaled = np.ldexp(numbers, -unit)
    match rounding:
        case "rn":
            whole = np.rint(scaled)
        case "rna":
            whole = np.copysign(np.floor(np.abs(scaled) + 0.5), scaled)
        case "rz":
            whole = np.trunc(scaled)
        case "rm":
            whole = np.floor(scaled)
        case _:
            whole = np.ceil(scaled)
    rounded = np.copysign(np.ldexp(whole, unit), numbers)
    largest = np.ldexp(2.0 - 2.0 ** (1 - form.precision), form.largest)
    over = (np.abs(rounded) > largest) & np.isfinite(numbers)
    away: Any = {"rn": True, "rna": True, "rz": False, "rm": numbers < 0, "rp": numbers > 0}[rounding]
    limit = np.copysign(np.where(away, np.inf, largest), numbers)
    return np.where(np.isfinite(numbers), np.where(over, limit, rounded), numbers)


def odd_sum(a: Array, b: Array, rounding: str = "rn") -> Array:
    """a + b in float64, rounded to odd. Opposite numbers give +0, but -0 when rounding down (IEEE 754)."""
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    even = total.view(np.int64) & 1 == 0
    inexact = np.isfinite(total) & (error != 0) & even
    total = np.where(inexact, np.nextafter(total, np.where(error > 0, np.inf, -np.inf)), total)
    cancels = (total == 0) & (np.signbit(a) != np.signbit(b)) & (rounding == "rm")
    return np.where(cancels, -0.0, total)


def multiply_add(a: Array, b: Array, c: Array) -> Array:
    """a * b + c in float64, rounded once to nearest."""
    # A product that overflows in between is no infinity that c could cancel.
    rough = np.where(np.isfinite(a) & np.isfinite(b) & np.isinf(c), c, a * b + c)
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    rows = zip(a.tolist(), b.tolist(), c.tolist(), rough.tolist(), finite.tolist(), strict=True)
    return np.asarray(
        [_exact_multiply_add(x, y, z) if exact else r for x, y, z, r, exact in rows], np.float64
    )


def _exact_multiply_add(a: float, b: float, c: float) -> float:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")


def flush(values: Array, kind: ScalarType) -> Array:
    """Subnormal numbers in float64 -> zeros of their sign (`.ftz`)."""
    tiny = np.abs(values) < 2.0 ** FORMATS[kind].smallest
    return np.where(tiny, np.copysign(0.0, values), values)


def saturate(numbers: Array) -> Array:
    """`.sat`: clamps to [0, 1]; NaN becomes +0."""
    return np.where(np.isnan(numbers) | (numbers <= 0), 0.0, np.minimum(numbers, 1.0))


def rectify(numbers: Array) -> Array:
    """`.relu`: what is negative becomes +0, and NaN stays NaN."""
    return np.where(numbers <= 0, 0.0, numbers)


def smallest(a: Array, b: Array, propagate: bool) -> Array:
    """min (ISA 9.7.3.11): a number wins over NaN unless `.NaN`; -0 is less than +0."""
    lower = np.where((a < b) | ((a == b) & np.signbit(a)), a, b)
    return _with_nan(a, b, lower, propagate)


def largest(a: Array, b: Array, propagate: bool) -> Array:
    """max (ISA 9.7.3.12): a number wins over NaN unless `.NaN`; +0 is more than -0."""
    upper = np.where((a > b) | ((a == b) & ~np.signbit(a)), a, b)
    return _with_nan(a, b, upper, propagate)


def _with_nan(a: Array, b: Array, chosen: Array, propagate: bool) -> Array:
    bad_a, bad_b = np.isnan(a), np.isnan(b)
    if propagate:
        return np.where(bad_a | bad_b, np.nan, chosen)
    return np.where(bad_a, b, np.where(bad_b, a, chosen))


def from_integer(values: Array, kind: ScalarType) -> Array:
    """Integers up to 64 bits -> float64, ready for `narrow` to `kind`: exact where they fit in 53 bits."""
    if values.dtype.itemsize < 8:
        return values.astype(np.float64)
    high = (values >> values.dtype.type(32)).astype(np.float64) * 2.0**32
    low = (values & values.dtype.type(0xFFFF_FFFF)).astype(np.float64)
    return high + low if kind == F64 else odd_sum(high, low)
