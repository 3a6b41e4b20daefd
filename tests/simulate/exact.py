"""Rounding of fractions to floats by integer arithmetic alone: the oracle of the simulator's numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

Mode = Literal["rn", "rz", "rm", "rp"]


@dataclass(frozen=True)
class Shape:
    """An IEEE 754 binary format: fields of so many bits."""

    exponent: int
    fraction: int

    @property
    def bias(self) -> int:
        return (1 << self.exponent - 1) - 1

    @property
    def bits(self) -> int:
        return 1 + self.exponent + self.fraction


SHAPES = {"f16": Shape(5, 10), "bf16": Shape(8, 7), "f32": Shape(8, 23), "f64": Shape(11, 52)}


def value(code: int, shape: Shape) -> Fraction | float:
    """The number of a code: a fraction if it is finite."""
    fraction = code & (1 << shape.fraction) - 1
    exponent = code >> shape.fraction & (1 << shape.exponent) - 1
    sign = -1 if code >> shape.bits - 1 else 1
    if exponent == (1 << shape.exponent) - 1:
        return math.nan if fraction else sign * math.inf
    whole = fraction if exponent == 0 else fraction | 1 << shape.fraction
    return sign * whole * Fraction(2) ** (max(exponent, 1) - shape.bias - shape.fraction)


def code(number: Fraction, shape: Shape, mode: Mode, negative: bool) -> int:
    """The code of a number, rounded; ``negative`` is the sign of a zero."""
    negative = number < 0 if number else negative
    magnitude = abs(number)
    power = magnitude.numerator.bit_length() - magnitude.denominator.bit_length() if magnitude else -10000
    if magnitude and Fraction(2) ** power > magnitude:
        power -= 1
    unit = Fraction(2) ** (max(power, 1 - shape.bias) - shape.fraction)
    below, rest = divmod(magnitude / unit, 1)
    up = {
        "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and below % 2 == 1),
        "rz": False,
        "rm": negative and rest > 0,
        "rp": not negative and rest > 0,
    }[mode]
    # Codes of magnitudes are in order, so the unit's own code counts up from the binade's first.
    field = max(power, 1 - shape.bias) + shape.bias
    first = (field - 1) << shape.fraction
    found = first + int(below) + up
    infinity = ((1 << shape.exponent) - 1) << shape.fraction
    if found >= infinity:
        away = mode == "rn" or (mode == "rp" and not negative) or (mode == "rm" and negative)
        found = infinity if away else infinity - 1
    return int(negative) << shape.bits - 1 | found
