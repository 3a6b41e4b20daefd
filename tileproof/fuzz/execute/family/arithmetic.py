"""Instructions on registers: ``mov`` moves parts of registers, all others compute one register of others."""

from __future__ import annotations

from collections.abc import Mapping
from math import lcm
from typing import Any
from zlib import crc32

from tileproof.fuzz.execute.masks import kind_of, mask
from tileproof.fuzz.execute.moves import Executed, Given, Mask, Move, Units, executed, in_order
from tileproof.fuzz.execute.points import Points, access_points
from tileproof.fuzz.execute.scalars import bits_given, held, unsigned
from tileproof.fuzz.execute.values import approximate, computation, result
from tileproof.fuzz.family.arithmetic import Instruction
from tileproof.fuzz.generate.spellings import MNEMONICS, Typed, bits_of
from tileproof.fuzz.oracle.description import Operand, Scalar


def points(call: Instruction, ctas: int) -> Points:
    """An element of a point is the least part of a register that is moved on its own."""
    return access_points(call, lcm(*(count for _, _, count in call.meant)), ctas)


def moves(call: Instruction, points: Points) -> tuple[Move, ...]:
    """PTX ISA 9.7.1, 9.7.3 to 9.7.5, 9.7.9.3, 9.7.9.21."""
    position = iter(range(len(call.operands)))
    target, *sources = (
        _units(call, points, operand, given, next(position) if given.kind == "tensor" else 0)
        for operand, given in zip(call.meant, call.given, strict=True)
    )
    if not isinstance(target, Units):
        raise TypeError("what is written is a tensor")
    types = tuple(type_ for _, type_, _ in call.meant)
    computed = call.family != "mov"
    move = Move(
        target,
        tuple(sources),
        points.executing,
        computation(call.spelling, types) if computed else None,
        result=result(call.spelling, types[0]) if computed else None,
    )
    return in_order(move, points)


def _units(
    call: Instruction, points: Points, operand: Typed, given: Operand | Scalar, position: int
) -> Units | Given:
    """A part of each register of an operand, the lowest first."""
    _, type_, count = operand
    each = points.element.size // count
    width = bits_of(type_) // 8 // each
    part = points.element % each
    if isinstance(given, Operand):
        element: list[Any] = [0] * len(call.suffix)
        element[position] = points.element // each
        offset = points.offset(given, call.element_of(position, element))
        return Units(given, offset + part * width, width)
    bits = bits_given(given, type_, points, scalars(call))
    return Given(unsigned(bits >> (part * width * 8).astype(bits.dtype), width))


def scalars(call: Instruction) -> Mapping[str, int]:
    """Tags; a divisor is not zero."""
    found = held((type_, given) for (_, type_, _), given in zip(call.meant, call.given, strict=True))
    return {name: bits | (call.family == "div") for name, bits in found.items()}


def masks(call: Instruction) -> Mapping[str, Mask]:
    """Floats are ordinary where the ISA leaves others open: NaNs that are made narrow, and divisors of
    approximations (PTX ISA 9.7.3.8, 9.7.9.21), and where GPUs do not do what it says
    (:data:`tileproof.fuzz.map_differences.DEVIATIONS`). Integer divisors are not zero and mostly small.
    """
    if call.family == "mov":
        return {}
    found: dict[str, Mask] = {}
    hashed = crc32(repr(call).encode())
    narrow = "x" in call.meant[0][1] and call.meant[0][1].lstrip("u").startswith("e")
    kept = call.spelling.startswith(("cvt.rp.ftz.", "cvt.rm.ftz.")) and call.spelling.endswith(".f16.f32")
    ordinary = narrow or kept or (call.family == "div" and approximate(call.spelling))
    for position, ((_, type_, _), given) in enumerate(zip(call.meant, call.given, strict=True)):
        if not position or not isinstance(given, Operand):
            continue
        made = mask(type_, kind_of(hashed >> 8 * (position - 1), ordinary=ordinary))
        if call.family == "div" and position == 2 and type_[0] in "su":
            made = Mask(0x3FF if hashed % 2 else (1 << bits_of(type_)) - 1, 1)
        if made is not None:
            found[given.storage] = made
    return found


executed(Executed(MNEMONICS, points, moves, scalars=scalars, masks=masks))
