"""Comparisons and selection (ISA 9.7.6, 9.7.7)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tileproof.simulate import reals
from tileproof.simulate.issue import Issue
from tileproof.simulate.registry import Decoder, Execute, instruction
from tileproof.simulate.scalars import (
    B16,
    B32,
    B64,
    BF16,
    F16,
    F32,
    F64,
    PRED,
    S16,
    S32,
    S64,
    U16,
    U32,
    U64,
    Array,
    ScalarType,
)

_UNTYPED = (B16, B32, B64)
_UNSIGNED = (U16, U32, U64)
_SIGNED = (S16, S32, S64)
_FLOATS = (F16, BF16, F32, F64)

Compare = Callable[[Array, Array], Array]

_PLAIN: dict[str, Compare] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_UNSIGNED_NAMES = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_UNORDERED = {name + "u": name for name in _PLAIN}
_COMBINE: dict[str, Compare] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def _comparison(code: Decoder, kind: ScalarType) -> Compare:
    """The comparison operator of an opcode for operands of a type; floats that are NaN compare false unless
    unordered.
    """
    name = code.need(*_PLAIN, *_UNSIGNED_NAMES, *_UNORDERED, "num", "nan")
    if kind in _UNTYPED and name not in ("eq", "ne"):
        code.fail(f"{code.opcode}: {kind} values compare by .eq and .ne only")
    if kind not in _FLOATS:
        if (kind in _SIGNED and name in _UNSIGNED_NAMES) or name in _UNORDERED or name in ("num", "nan"):
            code.fail(f"{code.opcode}: .{name} does not compare {kind}")
        return _PLAIN[_UNSIGNED_NAMES.get(name, name)]
    if name in _UNSIGNED_NAMES:
        code.fail(f"{code.opcode}: .{name} does not compare {kind}")
    ftz = kind != F64 and code.flag("ftz")

    def compare(a: Array, b: Array) -> Array:
        x, y = reals.widen(a, kind), reals.widen(b, kind)
        if ftz:
            x, y = reals.flush(x, kind), reals.flush(y, kind)
        unordered = np.isnan(x) | np.isnan(y)
        if name in ("num", "nan"):
            return unordered if name == "nan" else ~unordered
        if name in _UNORDERED:
            return unordered | _PLAIN[_UNORDERED[name]](x, y)
        return ~unordered & _PLAIN[name](x, y)

    return compare


@instruction("setp")
def setp(code: Decoder) -> Execute:
    """p = (a cmp b) op c and q = !(a cmp b) op c; without `op` just the comparison."""
    kind = code.scalar(*_UNTYPED, *_UNSIGNED, *_SIGNED, *_FLOATS)
    compare = _comparison(code, kind)
    combine = code.take(*_COMBINE)
    code.finish(operands=4 if combine else 3)

    def execute(issue: Issue) -> None:
        found = compare(issue.read(1, kind), issue.read(2, kind))
        opposite = ~found
        if combine:
            other = issue.read(3, PRED)
            found, opposite = _COMBINE[combine](found, other), _COMBINE[combine](opposite, other)
        issue.write(0, PRED, found)
        second = issue.second(0)
        if second is not None:
            issue.write(second, PRED, opposite)

    return execute


@instruction("set")
def set_(code: Decoder) -> Execute:
    """All ones (1.0 for `.f32`) where the comparison holds, else zero."""
    result = code.scalar(U32, S32, F32)
    kind = code.scalar(*_UNTYPED, *_UNSIGNED, *_SIGNED, *_FLOATS)
    compare = _comparison(code, kind)
    combine = code.take(*_COMBINE)
    code.finish(operands=4 if combine else 3)

    def execute(issue: Issue) -> None:
        found = compare(issue.read(1, kind), issue.read(2, kind))
        if combine:
            found = _COMBINE[combine](found, issue.read(3, PRED))
        true = np.asarray(1.0 if result == F32 else -1).astype(result.dtype)
        issue.write(0, result, np.where(found, true, result.dtype.type(0)))

    return execute


@instruction("selp")
def selp(code: Decoder) -> Execute:
    """The first source where the predicate holds, else the second."""
    kind = code.scalar(*_UNTYPED, *_UNSIGNED, *_SIGNED, F32, F64)
    code.finish(operands=4)

    def execute(issue: Issue) -> None:
        condition = issue.read(3, PRED)
        # Only the operand that is selected has to be defined.
        a, known_a = issue.peek(1, kind)
        b, known_b = issue.peek(2, kind)
        known = np.where(condition, known_a, known_b)
        if not known.all():
            position = int((~known).argmax())
            issue.only(np.asarray([position])).read(1 if condition[position] else 2, kind)
        issue.write(0, kind, np.where(condition, a, b))

    return execute
