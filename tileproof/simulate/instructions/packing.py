"""cvt into packed narrow floats and out of them (ISA 9.7.9.21).

`d, a, b`: what is made of `a` becomes the upper part of `d`. A narrow value fills a byte, two of `.e2m1` share
one, and the bits that a format leaves are zero. The simulator refuses what it does not know: `.rs`, and what
becomes of NaN in a narrow format.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tileproof.simulate import reals
from tileproof.simulate.instructions.arithmetic import halves, whole
from tileproof.simulate.issue import Issue
from tileproof.simulate.narrow import NARROW, decode, encode
from tileproof.simulate.registry import Decoder, Execute
from tileproof.simulate.scalars import B8, B16, BF16X2, F16X2, F32, PACKED, Array, ScalarType

PAIRS = tuple(f"{name}x2" for name in NARROW)
SCALES = ("ue8m0x2",)


def _storage(name: str) -> tuple[ScalarType, int]:
    """The register of a pair, and how many bits apart its two values stand."""
    return (B8, 4) if name == "e2m1" else (B16, 8)


def _read(issue: Issue, source: ScalarType, count: int) -> list[Array]:
    """The two numbers that are converted, the upper one first, in float64."""
    if source == F32:
        return [reals.widen(issue.read(place, F32), F32) for place in range(1, count)]
    low, high = halves(issue.read(1, source), source)
    part = PACKED[source.name]
    return [reals.widen(high, part), reals.widen(low, part)]


def _pack(upper: Array, lower: Array, storage: ScalarType, apart: int) -> Array:
    return (upper << np.uint64(apart) | lower).astype(storage.dtype)


def to_narrow(code: Decoder, name: str, source: ScalarType) -> Execute:
    """`.e4m3x2` and its like, from two `.f32` or a pair of halves."""
    code.need("rn")
    code.need("satfinite")
    relu = code.flag("relu")
    count = 3 if source == F32 else 2
    code.finish(operands=count)
    storage, apart = _storage(name)

    def execute(issue: Issue) -> None:
        codes = []
        for numbers in _read(issue, source, count):
            bad = np.isnan(numbers)
            if bad.any():
                issue.fail(
                    f"the simulator does not know what becomes of NaN in .{name}",
                    int(bad.argmax()),
                )
            codes.append(encode(reals.rectify(numbers) if relu else numbers, name))
        issue.write(0, storage, _pack(codes[0], codes[1], storage, apart))

    return execute


def to_scale(code: Decoder, source: ScalarType) -> Execute:
    """`.ue8m0x2`: powers of two, rounded by `.rz` or `.rp`. Only positive normal numbers in range are known."""
    up = code.need("rz", "rp") == "rp"
    code.flag("satfinite")
    count = 3 if source == F32 else 2
    code.finish(operands=count)

    def execute(issue: Issue) -> None:
        codes = []
        for numbers in _read(issue, source, count):
            mantissa, power = np.frexp(numbers)
            exponent = power - 1 + (up & (mantissa > 0.5))
            strange = ~((numbers >= 2.0**-126) & np.isfinite(numbers) & (exponent <= 127))
            if strange.any():
                issue.fail(
                    "the simulator knows .ue8m0 of positive normal numbers up to 2^127 only",
                    int(strange.argmax()),
                )
            codes.append((exponent + 127).astype(np.uint64))
        issue.write(0, B16, _pack(codes[0], codes[1], B16, 8))

    return execute


def from_narrow(code: Decoder, target: ScalarType, name: str) -> Execute:
    """A pair of halves from a narrow pair, which is exact: halves have all these numbers."""
    code.need("rn")
    relu = name != "ue8m0" and code.flag("relu")
    code.finish(operands=2)
    storage, apart = _storage(name)
    part = PACKED[target.name]
    value: Callable[[Array], Array] = _scale if name == "ue8m0" else lambda codes: decode(codes, name)

    def execute(issue: Issue) -> None:
        both = issue.read(1, storage).astype(np.int64)
        numbers = [value(both >> shift & (1 << apart) - 1) for shift in (0, apart)]
        if relu:
            numbers = [reals.rectify(one) for one in numbers]
        issue.write(0, target, whole([reals.narrow(one, part) for one in numbers], target))

    return execute


def _scale(codes: Array) -> Array:
    return np.where(codes == 255, np.nan, np.ldexp(1.0, codes - 127))


def packing(code: Decoder) -> Execute | None:
    """The conversion if one of its two types is narrow. Types are words here, as no register has them."""
    narrow = code.take(*PAIRS, *SCALES)
    if narrow is None:
        return None
    name = narrow.removesuffix("x2")
    other = code.scalar(F32, F16X2, BF16X2)
    words = code.opcode.split(".")
    if words.index(narrow) > words.index(other.name):
        return from_narrow(code, other, name)
    return to_scale(code, other) if name == "ue8m0" else to_narrow(code, name, other)
