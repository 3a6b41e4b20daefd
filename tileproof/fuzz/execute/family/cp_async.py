"""``cp.async``: bytes of a chunk that are not read become zero; the copy has arrived after commit and wait."""

from __future__ import annotations

from typing import Any

import numpy as np

from tileproof.fuzz.execute.moves import Executed, Move, Units, executed
from tileproof.fuzz.execute.points import Points, access_points
from tileproof.fuzz.family.cp_async import Copy
from tileproof.fuzz.oracle.terms import value


def _width(call: Copy) -> int:
    """A chunk starts at a multiple of its size on both sides; only ``src_size`` may end inside a word."""
    return 4 if call.src_size is None else 1


def points(call: Copy, ctas: int) -> Points:
    """An element of a point is a unit of the chunk."""
    return access_points(call, call.chunk // _width(call), ctas)


def moves(call: Copy, points: Points) -> tuple[Move, ...]:
    """PTX ISA 9.7.9.25.3."""
    width = _width(call)
    past = points.element * width
    target = Units(call.memory, points.offset(call.memory, [0]) + past, width)
    source = Units(call.source, points.offset(call.source, [0]) + past, width)
    reads: Any = True
    if call.src_size is not None:
        reads = past < value(call.src_size, points.known)
    if call.ignore is not None:
        reads = reads & ~np.asarray(value(call.ignore, points.known), bool)
    if reads is True:
        return (Move(target, (source,), points.executing),)
    reads = np.asarray(reads)
    return (
        Move(target, (source,), points.executing & reads),
        Move(target, (), points.executing & ~reads),
    )


executed(
    Executed(
        ("cp.async",), points, moves, ("cp.async.commit_group;", "cp.async.wait_group 0;"), exclusive=True
    )
)
