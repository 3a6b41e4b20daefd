"""``ldmatrix`` and ``stmatrix``: lane ``4*row + word`` has word ``(matrix, row, word)`` in a register.

With ``.trans`` it is half words that move: half ``h`` of a register is element ``(2*word + h, row)`` of the matrix in
shared memory (PTX ISA 9.7.14.5.15, 9.7.14.5.16; contract reference, "ldmatrix / stmatrix").
"""

from __future__ import annotations

from tileproof.fuzz.execute.moves import Executed, Move, Units, executed
from tileproof.fuzz.execute.points import Points, access_points
from tileproof.fuzz.oracle.description import Call


def points(call: Call, ctas: int) -> Points:
    """An element of a point is the lane's word of a matrix, or a half of it."""
    return access_points(call, call.count * (2 if call.trans else 1), ctas)


def moves(call: Call, points: Points) -> tuple[Move, ...]:
    """Lanes stand for rows and words; each moves what it owns."""
    row, word = points.lane // 4, points.lane % 4
    if call.trans:
        matrix, half = points.element // 2, points.element % 2
        width = 2
        held = points.offset(call.registers, [matrix, row, word]) + 2 * half
        stored = points.offset(call.memory, [matrix, 2 * word + half, row // 2]) + 2 * (row % 2)
    else:
        width = 4
        held = points.offset(call.registers, [points.element, row, word])
        stored = points.offset(call.memory, [points.element, row, word])
    register, memory = Units(call.registers, held, width), Units(call.memory, stored, width)
    target, source = (register, memory) if call.load else (memory, register)
    return (Move(target, (source,), points.executing),)


executed(Executed(("ldmatrix", "stmatrix"), points, moves))
