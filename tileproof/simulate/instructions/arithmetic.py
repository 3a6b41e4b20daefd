"""Arithmetic on integers and floats, single and packed in pairs (ISA 9.7.1, 9.7.3 to 9.7.5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tileproof.simulate import integers, reals
from tileproof.simulate.directed import directed, to_odd
from tileproof.simulate.issue import Issue
from tileproof.simulate.registry import Decoder, Execute, instruction
from tileproof.simulate.scalars import (
    BF16,
    F16,
    F32,
    F64,
    PACKED,
    S16,
    S32,
    S64,
    TYPES,
    U16,
    U32,
    U64,
    Array,
    ScalarType,
    to_bits,
)

DIRECTIONS = ("rn", "rz", "rm", "rp")
_INTEGERS = (U16, U32, U64, S16, S32, S64)
_SIGNED = (S16, S32, S64)
_FLOATS = tuple(TYPES[name] for name in ("f16", "f32", "f64", "bf16", "f16x2", "bf16x2", "f32x2"))
_PAIRS = (TYPES["u16x2"], TYPES["s16x2"])

Exact = Callable[..., Array]
"""(type, rounding, operands in float64) -> result in float64: exact or rounded to odd; to nearest for f64.

The rounding decides no more here than the sign of an exact zero.
"""


def halves(values: Array, kind: ScalarType) -> list[Array]:
    """A packed pair -> its low and its high half; any other value -> itself."""
    part = PACKED.get(kind.name)
    if part is None:
        return [values]
    columns = np.ascontiguousarray(values).view(part.storage).reshape(-1, 2)
    return [np.ascontiguousarray(columns[:, place]).view(part.dtype) for place in (0, 1)]


def whole(parts: list[Array], kind: ScalarType) -> Array:
    """The inverse of `halves`."""
    part = PACKED.get(kind.name)
    if part is None:
        return parts[0]
    columns = np.stack([to_bits(one, part) for one in parts], axis=-1)
    return np.ascontiguousarray(columns).view(kind.dtype).reshape(-1)


def each_half(
    issue: Issue, kind: ScalarType, sources: Sequence[ScalarType], compute: Callable[..., Array]
) -> None:
    """Applies a function of operands of the types `sources` to both halves, or to the single values."""
    columns = [halves(issue.read(place, one), one) for place, one in enumerate(sources, 1)]
    issue.write(0, kind, whole([compute(*parts) for parts in zip(*columns, strict=True)], kind))


def floating(
    code: Decoder, kind: ScalarType, sources: Sequence[ScalarType], exact: Exact, rounding: str
) -> Execute:
    """An operation that rounds once: `{.ftz}{.sat | .relu}`."""
    ftz, sat, relu = code.flag("ftz"), code.flag("sat"), code.flag("relu")
    part = PACKED.get(kind.name, kind)
    parts = [PACKED.get(one.name, one) for one in sources]
    code.finish(operands=len(sources) + 1)

    def compute(*values: Array) -> Array:
        numbers = [reals.widen(one, held) for one, held in zip(values, parts, strict=True)]
        if ftz:
            numbers = [reals.flush(one, held) for one, held in zip(numbers, parts, strict=True)]
        result = exact(part, rounding, *numbers)
        if part != F64:
            result = reals.quantize(result, reals.FORMATS[part], rounding)
        if ftz:
            result = reals.flush(result, part)
        if sat:
            result = reals.saturate(result)
        if relu:
            result = reals.rectify(result)
        return reals.narrow(result, part)

    return lambda issue: each_half(issue, kind, sources, compute)


def direction(code: Decoder) -> str:
    """The rounding, to nearest where none is named."""
    return code.take(*DIRECTIONS) or "rn"


def _sum(kind: ScalarType, rounding: str, a: Array, b: Array) -> Array:
    return directed("sum", rounding, a + b, a, b) if kind == F64 else reals.odd_sum(a, b, rounding)


def _difference(kind: ScalarType, rounding: str, a: Array, b: Array) -> Array:
    return _sum(kind, rounding, a, -b)


def _product(kind: ScalarType, rounding: str, a: Array, b: Array) -> Array:
    # Two numbers of at most 24 bits have an exact product in float64.
    return directed("product", rounding, a * b, a, b) if kind == F64 else np.asarray(a * b)


def _fused(kind: ScalarType, rounding: str, a: Array, b: Array, c: Array) -> Array:
    if kind != F64:
        return reals.odd_sum(a * b, c, rounding)
    return directed("fused", rounding, reals.multiply_add(a, b, c), a, b, c)


@instruction("add", "sub")
def add(code: Decoder) -> Execute:
    """Sums and differences wrap around; `.sat` clamps `.s32`."""
    adds = code.name == "add"
    kind = code.scalar(*_INTEGERS, *_FLOATS, *_PAIRS)
    if kind in _FLOATS:
        # Mixed precision: `a` is narrow, all else is `.f32`.
        narrow = code.scalar(F16, BF16) if kind == F32 and code.has("f16", "bf16") else kind
        return floating(code, kind, (narrow, kind), _sum if adds else _difference, direction(code))
    saturates = code.flag("sat")
    if saturates and kind != S32:
        code.fail(f"{code.opcode}: .sat goes with .s32 only")
    code.finish(operands=3)

    def compute(a: Array, b: Array) -> Array:
        if saturates:
            a, b = a.astype(np.int64), b.astype(np.int64)
            return integers.saturating(a + b if adds else a - b, kind)
        return a + b if adds else a - b

    return lambda issue: each_half(issue, kind, (kind, kind), compute)


@instruction("mul", "mad", "mul24", "mad24")
def mul(code: Decoder) -> Execute:
    """`.lo` and `.hi` halves of the product, or `.wide`: all of it in a register of twice the width (ISA
    9.7.1.3 to .6).
    """
    adds = code.name.startswith("mad")
    short = code.name.endswith("24")
    kind = code.scalar(*((U32, S32) if short else _INTEGERS), *(() if short else _FLOATS))
    if kind in _FLOATS:
        rounding = code.need(*DIRECTIONS) if adds else direction(code)
        return floating(code, kind, (kind,) * (3 if adds else 2), _fused if adds else _product, rounding)
    which = code.need("lo", "hi") if short or kind.bits == 64 else code.need("lo", "hi", "wide")
    saturates = adds and which == "hi" and kind == S32 and code.flag("sat")
    code.finish(operands=4 if adds else 3)
    result = TYPES[f"{kind.kind}{kind.bits * 2}"] if which == "wide" else kind

    def execute(issue: Issue) -> None:
        a, b = issue.read(1, kind), issue.read(2, kind)
        if short:
            product = (_low24(a, kind).astype(np.int64) * _low24(b, kind).astype(np.int64)).view(np.uint64)
            # The product has 48 bits, and `.hi` means bits 16..47 of it.
            value = (product >> np.uint64(16 if which == "hi" else 0)).astype(np.uint32).view(kind.dtype)
        elif which == "wide":
            value = a.astype(result.dtype) * b.astype(result.dtype)
        else:
            value = integers.double_product(a, b, kind)[which == "hi"]
        if adds:
            c = issue.read(3, result)
            value = integers.saturating(value.astype(np.int64) + c, kind) if saturates else value + c
        issue.write(0, result, value)

    return execute


def _low24(values: Array, kind: ScalarType) -> Array:
    return (values << 8) >> 8 if kind == S32 else values & np.uint32(0xFF_FFFF)


@instruction("fma")
def fma(code: Decoder) -> Execute:
    """a * b + c, rounded once; in mixed precision `a` and `b` are narrow."""
    rounding = code.need(*DIRECTIONS)
    kind = code.scalar(*_FLOATS)
    narrow = code.scalar(F16, BF16) if kind == F32 and code.has("f16", "bf16") else kind
    return floating(code, kind, (narrow, narrow, kind), _fused, rounding)


@instruction("sad")
def sad(code: Decoder) -> Execute:
    """c + |a - b|."""
    kind = code.scalar(*_INTEGERS)
    code.finish(operands=4)

    def execute(issue: Issue) -> None:
        a, b = issue.read(1, kind), issue.read(2, kind)
        issue.write(0, kind, issue.read(3, kind) + np.where(a < b, b - a, a - b))

    return execute


@instruction("div", "rem")
def divide(code: Decoder) -> Execute:
    """Integers truncate; `div` of floats takes `.approx`, `.full` or a rounding, and the first two are the
    nearest number here.
    """
    quotient = code.name == "div"
    kind = code.scalar(*_INTEGERS, *((F32, F64) if quotient else ()))
    if kind in (F32, F64):
        rounding = code.need(*DIRECTIONS, *(("approx", "full") if kind == F32 else ()))
        exact = _fast_quotient if rounding == "approx" else _quotient
        return floating(code, kind, (kind, kind), exact, _direction_of(rounding))
    code.finish(operands=3)

    def execute(issue: Issue) -> None:
        a, b = issue.read(1, kind), issue.read(2, kind)
        if (b == 0).any():
            issue.fail("division by zero, whose result is unspecified", int((b == 0).argmax()))
        issue.write(0, kind, integers.divide(a, b, kind)[0 if quotient else 1])

    return execute


def _direction_of(accuracy: str) -> str:
    return accuracy if accuracy in DIRECTIONS else "rn"


def _once(operation: str, kind: ScalarType, rounding: str, found: Array, *operands: Array) -> Array:
    """A nearest float64 that is rounded once to `kind`, in a direction."""
    if kind == F64:
        return directed(operation, rounding, found, *operands)
    # 53 bits are more than twice 24 plus two, so rounding the float64 result again gives the nearest f32.
    return found if rounding == "rn" else to_odd(operation, found, *operands)


def _fast_quotient(kind: ScalarType, rounding: str, a: Array, b: Array) -> Array:
    """ISA 9.7.3.8: a divisor beyond 2**126 has the reciprocal zero; an infinity divided by it is NaN."""
    far = (np.abs(b) > 2.0**126) & np.isfinite(b)
    return np.where(far, a * np.copysign(0.0, b), _quotient(kind, rounding, a, b))


def _quotient(kind: ScalarType, rounding: str, a: Array, b: Array) -> Array:
    return _once("quotient", kind, rounding, a / b, a, b)


@instruction("min", "max")
def extreme(code: Decoder) -> Execute:
    """Two operands, or three for `.f32`; `.relu` also clamps at zero."""
    lowest = code.name == "min"
    kind = code.scalar(*_INTEGERS, *_PAIRS, *(one for one in _FLOATS if one.name != "f32x2"))
    part = PACKED.get(kind.name, kind)
    if kind.kind != "f":
        relu = part in (S16, S32) and kind.bits == 32 and code.flag("relu")
        code.finish(operands=3)
        pick = np.minimum if lowest else np.maximum

        def choose(a: Array, b: Array) -> Array:
            found: Array = pick(a, b)
            return np.maximum(found, found.dtype.type(0)) if relu else found

        return lambda issue: each_half(issue, kind, (kind, kind), choose)
    ftz, propagate = code.flag("ftz"), code.flag("NaN")
    magnitudes = code.flag("abs")
    xorsign = magnitudes and code.flag("xorsign")
    three = kind == F32 and not xorsign
    code.finish(operands=4 if magnitudes and not xorsign else (3, 4) if three else 3)
    sources = (kind,) * (len(code.operands) - 1)
    select = reals.smallest if lowest else reals.largest

    def compute(*values: Array) -> Array:
        numbers = [reals.widen(one, part) for one in values]
        if ftz:
            numbers = [reals.flush(one, part) for one in numbers]
        found, *others = [np.abs(one) for one in numbers] if magnitudes else numbers
        for other in others:
            found = select(found, other, propagate)
        if xorsign:
            negative = np.logical_xor.reduce([np.signbit(one) for one in numbers])
            found = np.copysign(found, np.where(negative, -1.0, 1.0))
        return reals.narrow(found, part)

    return lambda issue: each_half(issue, kind, sources, compute)


@instruction("neg", "abs")
def sign(code: Decoder) -> Execute:
    """The most negative integer stays what it is; of a float only the sign changes, and NaN stays NaN."""
    negates = code.name == "neg"
    kind = code.scalar(*_SIGNED, *(one for one in _FLOATS if one.name != "f32x2"))
    part = PACKED.get(kind.name, kind)
    ftz = kind.kind == "f" and kind != F64 and code.flag("ftz")
    code.finish(operands=2)

    def compute(values: Array) -> Array:
        if kind.kind == "s":
            return -values if negates else np.where(values < 0, -values, values)
        numbers = reals.widen(values, part)
        if ftz:
            numbers = reals.flush(numbers, part)
        turned = -numbers if negates else np.abs(numbers)
        return reals.narrow(np.where(np.isnan(numbers), numbers, turned), part)

    return lambda issue: each_half(issue, kind, (kind,), compute)


def _reciprocal(kind: ScalarType, rounding: str, a: Array) -> Array:
    return _quotient(kind, rounding, np.ones_like(a), a)


def _root(kind: ScalarType, rounding: str, a: Array) -> Array:
    return _once("root", kind, rounding, np.sqrt(a), a)


def _unary(function: Callable[[Array], Array]) -> Exact:
    def compute(_: ScalarType, __: str, a: Array) -> Array:
        return function(a)

    return compute


_UNARY: dict[str, Exact] = {
    "rcp": _reciprocal,
    "sqrt": _root,
    "rsqrt": _unary(lambda a: 1.0 / np.sqrt(a)),
    "ex2": _unary(np.exp2),
    "lg2": _unary(np.log2),
    "sin": _unary(np.sin),
    "cos": _unary(np.cos),
    "tanh": _unary(np.tanh),
}


@instruction(*_UNARY)
def unary(code: Decoder) -> Execute:
    """`.approx` forms may be off by a few units in the last place on hardware; here they are the nearest
    value.
    """
    kind = code.scalar(*(one for one in _FLOATS if one.name != "f32x2"))
    accuracy = code.need("approx", *(DIRECTIONS if code.name in ("rcp", "sqrt") else ()))
    if kind == F64 and accuracy == "approx" and code.has("ftz"):
        code.fail(f"{code.opcode}: the simulator does not know which bits of .f64 this leaves")
    return floating(code, kind, (kind,), _UNARY[code.name], _direction_of(accuracy))
