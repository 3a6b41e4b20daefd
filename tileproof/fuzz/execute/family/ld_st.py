"""``ld`` and ``st``: each word of a vector goes between memory and a register of the executing thread."""

from __future__ import annotations

from tileproof.fuzz.execute.moves import Executed, Move, Units, executed
from tileproof.fuzz.execute.points import Points, access_points
from tileproof.fuzz.oracle.description import Call


def points(call: Call, ctas: int) -> Points:
    """An element of a point is a word."""
    return access_points(call, call.count, ctas)


def moves(call: Call, points: Points) -> tuple[Move, ...]:
    """PTX ISA 9.7.9.8, 9.7.9.11."""
    width = call.bits // 8
    register, memory = (
        Units(operand, points.offset(operand, [points.element]), width)
        for operand in (call.registers, call.memory)
    )
    target, source = (register, memory) if call.load else (memory, register)
    return (Move(target, (source,), points.executing),)


executed(Executed(("ld", "st"), points, moves))
