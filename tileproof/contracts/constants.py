"""Constants as they stand in PTX text (PTX ISA 4.5)."""

from __future__ import annotations

import math
import re
import sys

INTEGER = r"[+-]?(?:0[xX][0-9A-Fa-f]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)U?"
WARP_SIZE = "WARP_SZ"
"""The one integer constant that has a name; it is 32 on every target."""
LONGEST = 72
"""Letters of 64 binary digits with what stands around them; no longer text is an integer constant."""

_WHOLE = re.compile(INTEGER, re.ASCII)
# The exact single-precision notation may not be used in expressions, and so it has no sign.
_SINGLE = re.compile(r"0[fF][0-9A-Fa-f]{8}", re.ASCII)
_DOUBLE = re.compile(r"[+-]?0[dD][0-9A-Fa-f]{16}", re.ASCII)
_DECIMAL = re.compile(
    r"[+-]?(?P<digits>[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][+-]?[0-9]+)?", re.ASCII
)


def integer(text: str) -> int | None:
    """The value of an integer constant, None for any other text (PTX ISA 4.5.1)."""
    if text == WARP_SIZE:
        return 32
    if len(text) > LONGEST or _WHOLE.fullmatch(text) is None:
        return None
    digits = text.rstrip("U").lstrip("+-")
    base = (
        2
        if digits[:2] in ("0b", "0B")
        else 16
        if digits[:2] in ("0x", "0X")
        else 8
        if digits[0] == "0"
        else 10
    )
    value = int(digits.removeprefix("0b").removeprefix("0B"), base)
    return -value if text.startswith("-") else value


def real_bits(text: str) -> int | None:
    """The bits of a floating-point literal, 32 or 64; None for any other text (PTX ISA 4.5.2).

    A decimal literal is a double, and ptxas refuses what becomes infinite, subnormal or zero as one.
    """
    if _SINGLE.fullmatch(text) is not None:
        return 32
    if _DOUBLE.fullmatch(text) is not None:
        return 64
    decimal = _DECIMAL.fullmatch(text)
    if decimal is None:
        return None
    size = abs(float(text))
    normal = sys.float_info.min <= size < math.inf
    return 64 if normal or not decimal["digits"].strip("0.") else None
