"""What the dump of an executed view has to be, in NumPy, from brute force alone."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tileproof.fuzz.execute.entry import OCEAN, Bytes, Expected
from tileproof.fuzz.execute.frame import Frame, Part
from tileproof.fuzz.execute.moves import Move, Units
from tileproof.fuzz.execute.tags import POISON, region


@cache
def ocean() -> Bytes:
    """The tagged memory, as entries find it."""
    tagged = region(OCEAN)
    tagged.flags.writeable = False
    return tagged


def expected(frame: Frame) -> Expected:
    """Poison, and what each move leaves there. What two points write is left open."""
    grid = frame.points.grid
    dump = np.full((grid, frame.dump_bytes), POISON, np.uint8)
    told = np.broadcast_to(np.True_, dump.shape)
    for part in frame.parts:
        if part.read and part.written:
            total = part.size * (frame.call.threads if part.per_thread else 1)
            dump[:, part.dump : part.dump + total] = ocean()[part.ocean : part.ocean + total]
    before = np.zeros(dump.shape, np.bool_) if len(frame.moves) > 1 else None
    for move in frame.moves:
        told = _move(frame, move, dump, told, before)
    return Expected(dump, told)


def _move(frame: Frame, move: Move, dump: Bytes, told: Any, before: Any) -> Any:
    """Write what a move leaves. ``before`` marks what other moves wrote; returns what is still ``told``."""
    points, part = frame.points, frame.part(move.target.operand)
    cta = points.axis(points.grid, 0) * frame.dump_bytes
    ends = _bytes(frame, part, move.target, part.dump) + cta
    starts = [_bytes(frame, p, u, p.ocean) for u in move.sources for p in (frame.part(u.operand),)]
    where = np.asarray(move.where)
    full = np.broadcast_shapes(ends.shape, where.shape, *(s.shape for s in starts))
    chosen = np.broadcast_to(where, full)
    at = np.broadcast_to(ends, full)[chosen]
    if not at.size:
        return told
    found = [np.broadcast_to(s, full)[chosen] for s in starts]
    unit = min(move.target.width, 8)
    held = [_read(s, u.width) for s, u in zip(found, move.sources, strict=True)]
    if not held:
        values: Any = np.uint8(0)
    else:
        values = held[0] if move.compute is None else move.compute(*held)
    if move.target.width == 16:
        at = at[:, None] + np.array([0, 8])
    flat = at.ravel() // unit
    dump.reshape(-1).view(f"u{unit}")[flat] = np.ravel(values)
    order = np.sort(flat)
    twice = order[1:][order[1:] == order[:-1]]
    if before is not None:
        mine = before.reshape(-1, unit)
        twice = np.concatenate([twice, order[mine[order].any(axis=-1)]])
        mine[order] = True
    if twice.size:
        told = told.copy()
        told.reshape(-1, unit)[twice] = False
    return told


def _bytes(frame: Frame, part: Part, units: Units, first: int) -> Any:
    """The address of the first byte of each unit, from the start of the tagged memory or of the CTA's dump."""
    thread = frame.points.thread * part.size if part.per_thread else 0
    return first + thread + part.position(np.asarray(units.offset))


def _read(starts: Any, width: int) -> Any:
    unit = min(width, 8)
    if width == 16:
        starts = starts[:, None] + np.array([0, 8])
    return ocean().view(f"u{unit}")[starts // unit]


def difference(dump: Bytes, wanted: Expected) -> str:
    """The first byte that is not as expected, in words; an empty text if there is none."""
    wrong = np.flatnonzero((dump != wanted.dump) & wanted.told)
    return (
        "" if not wrong.size else told_byte(dump.reshape(-1), wanted.dump.reshape(-1), wrong, dump.shape[1])
    )


def told_byte(found: Bytes, wanted: Bytes, wrong: npt.NDArray[np.int64], dump_bytes: int) -> str:
    """The first of the bytes that are wrong, in dumps of which each CTA has ``dump_bytes``."""
    cta, byte = divmod(int(wrong[0]), dump_bytes)
    return (
        f"byte {byte} of CTA {cta} is {found[wrong[0]]:#04x} instead of {wanted[wrong[0]]:#04x}, "
        f"one of {wrong.size} wrong bytes"
    )
