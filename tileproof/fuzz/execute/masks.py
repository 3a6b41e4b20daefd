"""Which numbers the registers of a view hold: tags as they are, or tags of which bits are fixed so that they are
ordinary floats, or all infinities, NaNs, subnormals or zeros.
"""

from __future__ import annotations

from tileproof.fuzz.execute.moves import Mask
from tileproof.fuzz.execute.near import WIDTHS, scalar_of
from tileproof.fuzz.generate.spellings import bits_of

_MANTISSAS = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}

SPECIAL = ("infinity", "nan", "subnormal", "zero")


def kind_of(choice: int, *, ordinary: bool = False) -> str:
    """The kind of numbers for a hash; only ``ordinary`` ones if asked for."""
    kinds = ("small", "large", "small", "large", "tags", "tags", "tags", SPECIAL[choice // 16 % 4])
    return kinds[choice % (4 if ordinary else 8)]


def mask(type_: str, kind: str) -> Mask | None:
    """The mask for registers of floats of a PTX type, or of pairs of them."""
    scalar = scalar_of(type_)
    if scalar not in WIDTHS or kind == "tags":
        return None
    width, mantissa = 8 * WIDTHS[scalar], _MANTISSAS[scalar]
    exponent = width - 1 - mantissa
    sign, fraction = 1 << width - 1, (1 << mantissa) - 1
    whole, bias = (1 << exponent) - 1, (1 << exponent - 1) - 1
    # The lowest bits of the exponent stay free: numbers from 2**-7 to 2, or from 2 to 2**9; of f16 fewer.
    free = 3 if exponent > 5 else 2
    low = (1 << free) - 1
    keep, exponents = {
        "small": (sign | low << mantissa | fraction, bias & ~low),
        "large": (sign | low << mantissa | fraction, bias + 1),
        "infinity": (sign, whole),
        "nan": (sign | fraction, whole),
        "subnormal": (sign | fraction, 0),
        "zero": (sign, 0),
    }[kind]
    put = exponents << mantissa | (1 if kind in ("nan", "subnormal") else 0)
    times = sum(1 << shift for shift in range(0, bits_of(type_), width))
    return Mask(keep * times, put * times)
