"""Numbers as the bits of a PTX type (PTX ISA 4.5, constants; 5.2, types)."""

from __future__ import annotations

import math
import struct

from tileproof.errors import CallError

INTEGER_RANGE: dict[str, tuple[int, int]] = {
    **{f"u{bits}": (0, (1 << bits) - 1) for bits in (8, 16, 32, 64)},
    **{f"s{bits}": (-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16, 32, 64)},
}
"""The least and the greatest value of an integer type."""

BIT_PATTERNS: dict[str, int] = {
    **{f"b{bits}": bits for bits in (8, 16, 32, 64, 128)},
    **dict.fromkeys(("f16x2", "bf16x2", "u16x2", "s16x2"), 32), "f32x2": 64,
    **dict.fromkeys(("e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "ue8m0x2", "e2m1x4"), 16), "e2m1x2": 8,
    **dict.fromkeys(("e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4", "tf32"), 32),
}  # fmt: skip
"""The widths of types whose values are written as bits."""

_FORMATS = {"f16": (11, -14), "bf16": (8, -126), "f32": (24, -126), "f64": (53, -1022)}
"""Significant bits, and the exponent of the least normal number (IEEE 754; PTX ISA 5.2.3 for ``bf16``)."""


_BITS = {
    **BIT_PATTERNS,
    **{name: high.bit_length() + (low < 0) for name, (low, high) in INTEGER_RANGE.items()},
    "f16": 16, "bf16": 16, "f32": 32, "f64": 64, "pred": 1,
}  # fmt: skip


def type_bits(type_: str) -> int:
    """The width of a type in bits."""
    return _BITS[type_]


def pattern(value: int | float, type_: str, where: str) -> int:
    """The bits of a number in a type, unsigned. ``where`` begins the message of an error.

    A float is rounded to the nearest value of a float type, ties to even. Raises :class:`CallError` for an
    integer that the type does not have, for a float where the type has none, and for one that would become
    infinite.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise CallError(f"{where} is of {type(value).__name__}, and the instruction takes .{type_}")
    if type_ in _FORMATS:
        return _of_float(value, type_, where)
    if isinstance(value, float):
        takes = f"the bits of .{type_} as an int" if type_ in BIT_PATTERNS else f".{type_}, an int"
        raise CallError(
            f"{where} is the float {value!r}, and the instruction takes {takes}{_twice(value, type_)}"
        )
    bits = type_bits(type_)
    low, high = INTEGER_RANGE.get(type_, (-(1 << bits - 1), (1 << bits) - 1))
    if not low <= value <= high:
        raise CallError(f"{where} is {number_text(value)}, and .{type_} holds {low} to {high}")
    return value % (1 << bits)


def number_text(value: int | float) -> str:
    """A number for a message, whatever its size."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"a number of {value.bit_length()} bits"
    return repr(value)


def _twice(value: float, type_: str) -> str:
    """The bits that a pair of floats has when both halves are the number."""
    half = type_.removesuffix("x2")
    if half not in ("f16", "bf16", "f32") or half == type_ or not math.isfinite(value):
        return ""
    if _overflows(value, half):
        return ""
    one, digits = _of_float(value, half, ""), type_bits(half) // 4
    return f"; 0x{one:0{digits}X}{one:0{digits}X} is {value!r} in both halves"


def _of_float(value: int | float, type_: str, where: str) -> int:
    precision, least = _FORMATS[type_]
    if isinstance(value, int):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if number != value or _overflows(number, type_) or _rounded(number, precision, least) != number:
            raise CallError(
                f"{where} is {number_text(value)}, an int that .{type_} does not hold exactly; "
                "write a float to have it rounded"
            )
    else:
        number = value
    rounded = number
    if math.isfinite(number) and not _overflows(number / 2, type_):
        rounded = _rounded(number, precision, least)
    if math.isfinite(number) and _overflows(rounded, type_):
        raise CallError(
            f"{where} is {value!r}, which is beyond every finite .{type_}; write an infinity if meant"
        )
    if math.isnan(rounded):
        # The canonical NaN of PTX (ISA 9.7.3, 9.7.4, "NaN payloads"), except for .f64, where any will do.
        return {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFF_FFFF, "f64": 0x7FF8 << 48}[type_]
    if type_ == "f64":
        return int.from_bytes(struct.pack(">d", rounded))
    if type_ == "f16":
        return int.from_bytes(struct.pack(">e", rounded))
    bits = int.from_bytes(struct.pack(">f", rounded))
    return bits >> 16 if type_ == "bf16" else bits


def _rounded(number: float, precision: int, least: int) -> float:
    """To the nearest number of a format without an upper limit, ties to even; the sign of zero stays."""
    _, exponent = math.frexp(number)
    unit = max(exponent - precision, least - precision + 1)
    whole = round(math.ldexp(number, -unit))
    return math.copysign(math.ldexp(whole, unit), number)


def _overflows(number: float, type_: str) -> bool:
    precision, least = _FORMATS[type_]
    return type_ != "f64" and abs(number) > math.ldexp(2 - 2 ** (1 - precision), 1 - least)
