"""Numbers as the bits of a floating-point type, rounded to nearest, ties to even (IEEE 754-2019, 4.3.1)."""

from __future__ import annotations

import sys
from math import copysign, frexp, inf, isfinite, isnan, ldexp
from typing import Any

import numpy as np

_FORMATS = {"float16": (11, -24), "bfloat16": (8, -133), "float32": (24, -149)}
"""Bits of the significand, and the exponent of the least number above zero."""

_GREATEST = {
    "float16": 65504.0,
    "bfloat16": ldexp(255, 120),
    "float32": ldexp((1 << 24) - 1, 104),
}


def rounded(value: float, dtype: str) -> float:
    """The nearest number of a type; what lies beyond the greatest by half a unit or more is infinite."""
    if dtype == "float64" or not isfinite(value) or value == 0:
        return value
    precision, least = _FORMATS[dtype]
    _, exponent = frexp(value)
    unit = max(exponent - precision, least)
    # Python rounds to the nearest integer with ties to even, and powers of two scale a float exactly here.
    nearest = ldexp(round(ldexp(abs(value), -unit)), unit)
    return copysign(inf if nearest > _GREATEST[dtype] else nearest, value)


def bits(value: float, dtype: str) -> np.unsignedinteger[Any]:
    """The nearest number of a type as an unsigned integer of its width."""
    number = rounded(value, dtype)
    if dtype == "bfloat16":
        if isnan(number):
            return np.uint16(0x7FFF)  # the NaN that PTX instructions give (PTX ISA 9.7.4)
        return np.uint16(np.float32(number).view(np.uint32) >> 16)
    octets = np.asarray(number, dtype).tobytes()
    word = int.from_bytes(octets, sys.byteorder)
    match len(octets):
        case 2:
            return np.uint16(word)
        case 4:
            return np.uint32(word)
        case _:
            return np.uint64(word)
