"""Logic, shifts, bit fields and byte permutation (ISA 9.7.1.14 to .20, 9.7.8, 9.7.9.7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tileproof.simulate import integers
from tileproof.simulate.issue import Issue
from tileproof.simulate.registry import Decoder, Execute, instruction
from tileproof.simulate.scalars import (
    B16,
    B32,
    B64,
    PRED,
    S16,
    S32,
    S64,
    TYPES,
    U16,
    U32,
    U64,
    Array,
    ScalarType,
)
from tileproof.simulate.syntax import Integer

_LOGIC = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


@instruction(*_LOGIC)
def logic(code: Decoder) -> Execute:
    """Bit by bit, or of predicates."""
    function = _LOGIC[code.name]
    kind = code.scalar(PRED, B16, B32, B64)
    code.finish(operands=3)
    return lambda issue: issue.write(0, kind, function(issue.read(1, kind), issue.read(2, kind)))


@instruction("not")
def complement(code: Decoder) -> Execute:
    """Inverts all bits, or a predicate."""
    kind = code.scalar(PRED, B16, B32, B64)
    code.finish(operands=2)
    return lambda issue: issue.write(0, kind, ~issue.read(1, kind))


@instruction("cnot")
def logical_complement(code: Decoder) -> Execute:
    """1 where the operand is 0, else 0."""
    kind = code.scalar(B16, B32, B64)
    code.finish(operands=2)
    return lambda issue: issue.write(0, kind, (issue.read(1, kind) == 0).astype(kind.dtype))


@instruction("lop3")
def lop3(code: Decoder) -> Execute:
    """Bit i of the table says the result where the bits of a, b, c spell i, a first (ISA 9.7.8.6)."""
    code.scalar(B32)
    code.finish(operands=5)
    table = code.operands[4]
    if not isinstance(table, Integer) or not 0 <= table.value <= 0xFF:
        code.fail(f"{code.opcode}: the table must be a constant from 0 to 0xff")

    def execute(issue: Issue) -> None:
        sources = [issue.read(place, B32) for place in (1, 2, 3)]
        result = np.zeros_like(sources[0])
        for row in range(8):
            if table.value >> row & 1:
                term = np.full_like(result, 0xFFFF_FFFF)
                for place, source in enumerate(sources):
                    term &= source if row >> 2 - place & 1 else ~source
                result |= term
        issue.write(0, B32, result)

    return execute


@instruction("shl", "shr")
def shift(code: Decoder) -> Execute:
    """Amounts of the width and more are clamped to it."""
    left = code.name == "shl"
    kind = code.scalar(B16, B32, B64, *(() if left else (U16, U32, U64, S16, S32, S64)))
    code.finish(operands=3)
    function = integers.shift_left if left else integers.shift_right
    return lambda issue: issue.write(0, kind, function(issue.read(1, kind), issue.read(2, U32)))


@instruction("shf")
def funnel_shift(code: Decoder) -> Execute:
    """Shifts the 64 bits b:a; left keeps the high word, right the low one (ISA 9.7.8.7)."""
    left = code.need("l", "r") == "l"
    wraps = code.need("wrap", "clamp") == "wrap"
    code.scalar(B32)
    code.finish(operands=4)

    def execute(issue: Issue) -> None:
        a, b, amount = (issue.read(place, U32) for place in (1, 2, 3))
        count = (amount & 31 if wraps else np.minimum(amount, 32)).astype(np.uint64)
        both = b.astype(np.uint64) << np.uint64(32) | a
        word = (both << count) >> np.uint64(32) if left else both >> count
        issue.write(0, B32, word.astype(np.uint32))

    return execute


def _ones(count: Array, like: np.dtype[Any]) -> Array:
    """Words with their `count` lowest bits set; `count` may be the width or more."""
    return ~integers.shift_left(
        np.full(count.shape, -1, f"i{like.itemsize}").view(like), count.astype(np.uint32)
    )


def _byte(issue: Issue, place: int, kind: ScalarType) -> Array:
    """A position or length: the operand's low byte, says the ISA; but for 64 bits an H200 takes all of it."""
    values = issue.read(place, U32)
    beyond = values > 0xFF
    if kind.bits == 64 and beyond.any():
        position = int(beyond.argmax())
        issue.fail(
            f"position or length {values[position]} is above 255, which is not executed alike everywhere",
            position,
        )
    return values & 0xFF


@instruction("bfe")
def extract(code: Decoder) -> Execute:
    """Position and length are the low bytes of b and c; what lies above the field or the source's top is zero
    or its sign.
    """
    kind = code.scalar(U32, U64, S32, S64)
    code.finish(operands=4)
    bits = TYPES[f"u{kind.bits}"]

    def execute(issue: Issue) -> None:
        source = issue.read(1, bits)
        start, length = (_byte(issue, place, kind).astype(np.int64) for place in (2, 3))
        field = np.clip(np.minimum(length, kind.bits - start), 0, kind.bits)
        mask = _ones(field, bits.dtype)
        low = integers.shift_right(source, start.astype(np.uint32)) & mask
        if kind.kind == "s":
            top = np.clip(np.minimum(start + length - 1, kind.bits - 1), 0, None).astype(np.uint32)
            negative = (integers.shift_right(source, top) & bits.dtype.type(1) == 1) & (length > 0)
            low = np.where(negative, low | ~mask, low)
        issue.write(0, kind, low.view(kind.dtype))

    return execute


@instruction("bfi")
def insert(code: Decoder) -> Execute:
    """Puts the low bits of a into b at position c, length d (both taken modulo 256)."""
    kind = code.scalar(B32, B64)
    code.finish(operands=5)

    def execute(issue: Issue) -> None:
        a, b = issue.read(1, kind), issue.read(2, kind)
        start, length = _byte(issue, 3, kind), _byte(issue, 4, kind)
        mask = integers.shift_left(_ones(length, kind.dtype), start)
        issue.write(0, kind, b & ~mask | integers.shift_left(a, start) & mask)

    return execute


@instruction("popc", "clz")
def count_bits(code: Decoder) -> Execute:
    """`popc` counts ones, `clz` the zeros above the highest one."""
    function = integers.population if code.name == "popc" else integers.leading_zeros
    kind = code.scalar(B32, B64)
    code.finish(operands=2)
    return lambda issue: issue.write(0, U32, function(issue.read(1, kind)))


@instruction("brev")
def reverse(code: Decoder) -> Execute:
    """Bit 0 becomes the highest bit, and so on."""
    kind = code.scalar(B32, B64)
    code.finish(operands=2)
    return lambda issue: issue.write(0, kind, integers.reverse(issue.read(1, kind)))


@instruction("bfind")
def find_bit(code: Decoder) -> Execute:
    """Position of the highest bit that differs from the sign (from zero, if unsigned); all ones where there
    is none.
    """
    from_top = code.flag("shiftamt")
    kind = code.scalar(U32, U64, S32, S64)
    code.finish(operands=2)

    def execute(issue: Issue) -> None:
        values = issue.read(1, kind)
        zeros = integers.leading_zeros(np.where(values < 0, ~values, values))
        found = zeros if from_top else np.uint32(kind.bits - 1) - zeros
        issue.write(0, U32, np.where(zeros == kind.bits, np.uint32(0xFFFF_FFFF), found))

    return execute


_SELECTIONS: dict[str, Callable[[Array, int], Array]] = {
    "f4e": lambda n, i: (n + i) % 8,
    "b4e": lambda n, i: (n - i) % 8,
    "rc8": lambda n, _: n,
    "ecl": np.maximum,
    "ecr": np.minimum,
    "rc16": lambda n, i: n % 2 * 2 + i % 2,
}


@instruction("prmt")
def permute(code: Decoder) -> Execute:
    """Picks four of the eight bytes of b:a; in the default mode bit 3 of a selector asks for copies of the
    byte's sign.
    """
    code.scalar(B32)
    mode = code.take(*_SELECTIONS)
    code.finish(operands=4)

    def execute(issue: Issue) -> None:
        a, b, selector = (issue.read(place, B32) for place in (1, 2, 3))
        octets = np.stack([a, b], axis=-1).view(np.uint8).reshape(-1, 8)
        row = np.arange(octets.shape[0])
        picked = []
        for place in range(4):
            if mode:
                picked.append(octets[row, _SELECTIONS[mode]((selector & 3).astype(np.int64), place)])
            else:
                nibble = (selector >> np.uint32(4 * place) & 0xF).astype(np.int64)
                octet = octets[row, nibble & 7]
                picked.append(np.where(nibble & 8, np.where(octet & 0x80, 0xFF, 0), octet).astype(np.uint8))
        issue.write(0, B32, np.ascontiguousarray(np.stack(picked, axis=-1)).view(np.uint32).reshape(-1))

    return execute
