"""Floats of 4, 6 and 8 bits: their codes and their values (ISA 5.2.3, alternate floating-point formats).

`.e4m3` has no infinity and one NaN magnitude, `.e2m3`, `.e3m2` and `.e2m1` have neither; `.e5m2` is a short
`.f16`. `.ue8m0` is a power of two, `2^(code - 127)`, with the code 255 for NaN.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tileproof.simulate import reals
from tileproof.simulate.scalars import Array


@dataclass(frozen=True, slots=True)
class Narrow:
    """Bits of exponent and of fraction; `largest` is the greatest finite number, `nan` the code of the
    only NaN.
    """

    exponent: int
    fraction: int
    bias: int
    largest: float
    nan: int | None = None

    @property
    def bits(self) -> int:
        return 1 + self.exponent + self.fraction


NARROW = {
    "e4m3": Narrow(4, 3, 7, 448.0, 0x7F),
    "e5m2": Narrow(5, 2, 15, 57344.0),
    "e2m3": Narrow(2, 3, 1, 7.5),
    "e3m2": Narrow(3, 2, 3, 28.0),
    "e2m1": Narrow(2, 1, 1, 6.0),
}


def decode(codes: Array, name: str) -> Array:
    """Codes -> numbers in float64."""
    form = NARROW[name]
    fraction = (codes & (1 << form.fraction) - 1).astype(np.float64)
    exponent = (codes >> form.fraction & (1 << form.exponent) - 1).astype(np.int64)
    normal = np.ldexp(1.0 + fraction / (1 << form.fraction), exponent - form.bias)
    small = np.ldexp(fraction / (1 << form.fraction), 1 - form.bias)
    magnitude = np.where(exponent == 0, small, normal)
    if name == "e5m2":
        special = exponent == (1 << form.exponent) - 1
        magnitude = np.where(special, np.where(fraction == 0, np.inf, np.nan), magnitude)
    elif form.nan is not None:
        magnitude = np.where(codes & 0x7F == form.nan, np.nan, magnitude)
    return np.where(codes >> form.bits - 1 & 1 == 1, -magnitude, magnitude)


def encode(numbers: Array, name: str) -> Array:
    """Numbers in float64, none of them NaN -> codes (`.rn.satfinite`).

    What is beyond the largest finite number becomes that, infinities too.
    """
    form = NARROW[name]
    shape = reals.Format(form.fraction + 1, 1 - form.bias, 64, 0)
    finite = np.clip(numbers, -form.largest, form.largest)
    rounded = np.abs(reals.quantize(finite, shape, "rn"))
    mantissa, power = np.frexp(rounded)
    exponent = np.maximum(power - 1 + form.bias, 0)
    # A number below the smallest normal one has the exponent field 0 and no hidden bit.
    subnormal = rounded < np.ldexp(1.0, 1 - form.bias)
    exponent = np.where(subnormal, 0, exponent)
    scaled = np.where(
        subnormal,
        np.ldexp(rounded, form.bias - 1 + form.fraction),
        (2.0 * mantissa - 1.0) * (1 << form.fraction),
    )
    codes = exponent.astype(np.int64) << form.fraction | scaled.astype(np.int64)
    codes |= np.signbit(numbers).astype(np.int64) << form.bits - 1
    return codes.astype(np.uint64)
