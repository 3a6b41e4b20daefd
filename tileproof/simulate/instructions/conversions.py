"""cvt: between integer widths, between integers and floats, between float formats, and into packed pairs (ISA
9.7.9.21).
"""

from __future__ import annotations

import numpy as np

from tileproof.simulate import reals
from tileproof.simulate.instructions.arithmetic import whole
from tileproof.simulate.instructions.packing import packing
from tileproof.simulate.issue import Issue
from tileproof.simulate.registry import Decoder, Execute, instruction
from tileproof.simulate.scalars import (
    B32,
    BF16,
    BF16X2,
    F16,
    F16X2,
    F32,
    F64,
    S8,
    S16,
    S32,
    S64,
    TF32,
    U8,
    U16,
    U32,
    U64,
    Array,
    ScalarType,
)

_INTEGERS = (U8, U16, U32, U64, S8, S16, S32, S64)
_FLOATS = (F16, BF16, F32, F64)
_WHOLE = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


@instruction("cvt")
def cvt(code: Decoder) -> Execute:
    """Picks the kind of conversion by the two types, destination first."""
    narrow = packing(code)
    if narrow is not None:
        return narrow
    target = code.scalar(*_INTEGERS, *_FLOATS, TF32, F16X2, BF16X2)
    source = code.scalar(*_INTEGERS, *_FLOATS)
    if target in (F16X2, BF16X2):
        return _packed(code, target, source)
    if source in _INTEGERS:
        return (
            _integer_to_integer(code, target, source)
            if target in _INTEGERS
            else _integer_to_float(code, target, source)
        )
    return (
        _float_to_integer(code, target, source)
        if target in _INTEGERS
        else _float_to_float(code, target, source)
    )


def _integer_to_integer(code: Decoder, target: ScalarType, source: ScalarType) -> Execute:
    saturates = code.flag("sat")
    code.finish(operands=2)

    def execute(issue: Issue) -> None:
        values = issue.read(1, source, wider=True)
        if saturates:
            here, there = np.iinfo(source.dtype), np.iinfo(target.dtype)
            values = np.clip(values, max(here.min, there.min), min(here.max, there.max))
        issue.write(0, target, values.astype(target.dtype), wider=True)

    return execute


def _integer_to_float(code: Decoder, target: ScalarType, source: ScalarType) -> Execute:
    rounding = code.need("rn", "rz", "rm", "rp")
    saturates = code.flag("sat")
    if target == F32:
        code.flag("ftz")  # no integer becomes subnormal
    code.finish(operands=2)
    if target == F64 and source.bits == 64 and rounding != "rn":
        code.fail(f"{code.opcode}: the simulator rounds to .f64 by .rn only")

    def execute(issue: Issue) -> None:
        numbers = reals.from_integer(issue.read(1, source, wider=True), target)
        if saturates:
            numbers = reals.saturate(numbers)
        issue.write(0, target, reals.narrow(numbers, target, rounding))

    return execute


def _float_to_integer(code: Decoder, target: ScalarType, source: ScalarType) -> Execute:
    """Rounds to a whole number, then clamps to the target's range, with or without `.sat`."""
    rounding = code.need(*_WHOLE)
    ftz = source == F32 and code.flag("ftz")
    code.flag("sat")
    code.finish(operands=2)
    limits = np.iinfo(target.dtype)
    # ISA: NaN gives zero, except between the widest types, where it gives the highest bit alone.
    nan = limits.min if target.kind == "s" else 1 << target.bits - 1
    nan = nan if source == F64 or target.bits == 64 else 0

    def execute(issue: Issue) -> None:
        numbers = reals.widen(issue.read(1, source), source)
        if ftz:
            numbers = reals.flush(numbers, source)
        whole_numbers = _WHOLE[rounding](numbers)
        low, high = (
            whole_numbers <= float(limits.min),
            whole_numbers >= 2.0 ** (target.bits - (target.kind == "s")),
        )
        inside = ~(low | high | np.isnan(numbers))
        found = np.where(inside, whole_numbers, 0.0).astype(target.dtype)
        found = np.where(
            low, target.dtype.type(limits.min), np.where(high, target.dtype.type(limits.max), found)
        )
        issue.write(0, target, np.where(np.isnan(numbers), target.dtype.type(nan), found), wider=True)

    return execute


def _float_to_float(code: Decoder, target: ScalarType, source: ScalarType) -> Execute:
    whole_number = code.take(*_WHOLE) if target == source else None
    narrows = reals_precision(target) < reals_precision(source)
    directions = ("rn", "rna", "rz") if target == TF32 else ("rn", "rz", "rm", "rp")
    rounding = code.need(*directions) if narrows else code.take(*directions) or "rn"
    ftz = F32 in (source, target) and code.flag("ftz")
    saturates, relu, finite = code.flag("sat"), code.flag("relu"), code.flag("satfinite")
    code.finish(operands=2)
    if (target, source) == (F32, BF16) and not saturates and not ftz:
        return lambda issue: issue.write(0, B32, issue.read(1, U16).astype(np.uint32) << 16)

    def execute(issue: Issue) -> None:
        numbers = reals.widen(issue.read(1, source), source)
        if ftz and source == F32:
            numbers = reals.flush(numbers, source)
        if whole_number:
            numbers = np.copysign(_WHOLE[whole_number](numbers), numbers)
        if target != F64:
            numbers = reals.quantize(numbers, reals.FORMATS[target], rounding)
        if ftz and target == F32:
            numbers = reals.flush(numbers, target)
        issue.write(0, target, reals.narrow(_clamp(numbers, target, saturates, relu, finite), target))

    return execute


def reals_precision(kind: ScalarType) -> int:
    """Significant bits of a float type."""
    return 53 if kind == F64 else reals.FORMATS[kind].precision


def _clamp(numbers: Array, target: ScalarType, saturates: bool, relu: bool, finite: bool) -> Array:
    if saturates:
        numbers = reals.saturate(numbers)
    if relu:
        numbers = reals.rectify(numbers)
    if finite:
        form = reals.FORMATS[target]
        largest = float(np.ldexp(2.0 - 2.0 ** (1 - form.precision), form.largest))
        numbers = np.clip(numbers, -largest, largest)
    return numbers


def _packed(code: Decoder, target: ScalarType, source: ScalarType) -> Execute:
    """`d, a, b`: a becomes the upper half and b the lower half."""
    part = F16 if target == F16X2 else BF16
    if source != F32:
        code.fail(f"{code.opcode}: the simulator packs {target} from .f32 only")
    rounding = code.need("rn", "rz")
    relu, finite = code.flag("relu"), code.flag("satfinite")
    code.finish(operands=3)

    def execute(issue: Issue) -> None:
        halves = []
        for place in (2, 1):
            numbers = reals.quantize(reals.widen(issue.read(place, F32), F32), reals.FORMATS[part], rounding)
            halves.append(reals.narrow(_clamp(numbers, part, False, relu, finite), part))
        issue.write(0, target, whole(halves, target))

    return execute
