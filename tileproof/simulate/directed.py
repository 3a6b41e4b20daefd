"""Results in float64 that are rounded once in any direction, from the nearest number and the sign of the rest.

The rest is what the exact result, a fraction, has more than the nearest number; IEEE 754 asks for no more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from tileproof.simulate.scalars import Array

Rest = Callable[..., Fraction]
"""(found, operands as fractions) -> a number with the sign of: exact result - found."""

RESTS: dict[str, Rest] = {
    "sum": lambda found, a, b: a + b - found,
    "product": lambda found, a, b: a * b - found,
    "fused": lambda found, a, b, c: a * b + c - found,
    "quotient": lambda found, a, b: (a - found * b) * b,
    "root": lambda found, a: a - found * found,
}


def signs(operation: str, found: Array, *operands: Array) -> Array:
    """-1, 0 or 1: the sign of the rest; 0 for operands and results that are exactly infinite or NaN."""
    rest = RESTS[operation]
    rows = zip(found.tolist(), *(one.tolist() for one in operands), strict=True)
    return np.asarray([_sign(rest, *row) for row in rows], np.int8)


def _sign(rest: Rest, found: float, *operands: float) -> int:
    if math.isnan(found) or not all(map(math.isfinite, operands)):
        return 0
    if not math.isfinite(found):
        # Finite operands overflow to an infinity that is too far; a division by zero is exact.
        divides = len(operands) == 2 and operands[1] == 0
        return 0 if divides else (-1 if found > 0 else 1)
    value = rest(Fraction(found), *map(Fraction, operands))
    return (value > 0) - (value < 0)


def to_odd(operation: str, found: Array, *operands: Array) -> Array:
    """Rounded to odd, so that rounding once more to fewer bits is right in any direction."""
    sign = signs(operation, found, *operands)
    even = found.view(np.int64) & 1 == 0
    away = np.nextafter(found, np.where(sign > 0, np.inf, -np.inf))
    return np.where((sign != 0) & even & np.isfinite(found), away, found)


def directed(operation: str, rounding: str, found: Array, *operands: Array) -> Array:
    """The nearest float64 -> the one in a direction (`rn`, `rz`, `rm`, `rp`).

    Opposite numbers sum to -0 when rounding down (IEEE 754, 6.3).
    """
    if rounding == "rn":
        return found
    sign = signs(operation, found, *operands)
    lower, upper = np.nextafter(found, -np.inf), np.nextafter(found, np.inf)
    goes_down = (sign < 0) & ((rounding == "rm") | ((rounding == "rz") & (found > 0)))
    goes_up = (sign > 0) & ((rounding == "rp") | ((rounding == "rz") & (found < 0)))
    result = np.where(goes_down, lower, np.where(goes_up, upper, found))
    if rounding == "rm" and operation in ("sum", "fused"):
        terms = operands if operation == "sum" else (operands[0] * operands[1], operands[2])
        cancels = (found == 0) & (sign == 0) & (np.signbit(terms[0]) != np.signbit(terms[1]))
        result = np.where(cancels, -0.0, result)
    return result
