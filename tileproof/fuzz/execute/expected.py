"""What the dump of an executed view has to be, in NumPy, from brute force alone."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tileproof.fuzz.execute.entry import OCEAN, Bytes, Expected, Near
from tileproof.fuzz.execute.frame import Frame, Part
from tileproof.fuzz.execute.moves import Move, Result, Units
from tileproof.fuzz.execute.near import WIDTHS, numbers, scalar_of, settled
from tileproof.fuzz.execute.tags import POISON, region


@cache
def ocean() -> Bytes:
    """The tagged memory, as entries find it."""
    tagged = region(OCEAN)
    tagged.flags.writeable = False
    return tagged


def expected(frame: Frame) -> Expected:
    """Poison, and what each move leaves there. What two points write is left open, unless one comes after the
    other.
    """
    grid = frame.points.grid
    dump = np.full((grid, frame.dump_bytes), POISON, np.uint8)
    told = np.broadcast_to(np.True_, dump.shape)
    for part in frame.parts:
        if part.read and part.written:
            _fill(frame, part, dump)
    several = len(frame.moves) > 1 and not all(move.ordered for move in frame.moves)
    before = np.zeros(dump.shape, np.bool_) if several else None
    near: list[Near] = []
    for move in frame.moves:
        told = _move(frame, move, dump, told, before, near)
    return Expected(dump, told, tuple(near))


def _fill(frame: Frame, part: Part, dump: Bytes) -> None:
    """What a storage that is read holds before the fragment."""
    rows = frame.call.threads if part.per_thread else 1
    used = len(part.numbers) * part.width if part.numbers else part.size
    tagged = ocean()[part.ocean : part.ocean + rows * part.size].reshape(rows, part.size)[:, :used]
    if part.mask is not None:
        tagged = part.mask.of(tagged.copy().view(f"u{part.width}")).view(np.uint8)
    dump[:, part.dump : part.dump + rows * part.size].reshape(-1, rows, part.size)[..., :used] = tagged


def _move(frame: Frame, move: Move, dump: Bytes, told: Any, before: Any, near: list[Near]) -> Any:
    """Write what a move leaves. ``before`` marks what other moves wrote; returns what is still ``told``."""
    points, part = frame.points, frame.part(move.target.operand)
    cta = points.axis(points.grid, 0) * frame.dump_bytes
    ends = _bytes(frame, part, move.target, part.dump) + cta
    read = [_source(frame, one, cta) if isinstance(one, Units) else one.bits for one in move.sources]
    where = np.asarray(move.where)
    full = np.broadcast_shapes(ends.shape, where.shape, *(np.shape(s) for s in read))
    at = _chosen(ends, where, full)
    if not at.size:
        return told
    # What no CTA has a value of its own for is computed once.
    inner = np.broadcast_shapes(where.shape, *(np.shape(s) for s in read))
    once = move.compute is not None and inner[0] == 1
    found = [_chosen(s, where, (1, *full[1:]) if once else full) for s in read]
    unit = min(move.target.width, 8)
    held = [
        _read(frame, s, one, dump) if isinstance(one, Units) else s
        for s, one in zip(found, move.sources, strict=True)
    ]
    if not held:
        values: Any = np.uint8(0)
    else:
        values = held[0] if move.compute is None else move.compute(*held)
        values = np.tile(values, full[0]) if once else values
    if move.target.width == 16:
        at = at[:, None] + np.array([0, 8])
    flat = at.ravel() // unit
    dump.reshape(-1).view(f"u{unit}")[flat] = np.ravel(values)
    if move.ordered and move.result is not None and move.result.relative:
        # Later repeats may make any more of an error.
        told = told.copy()
        told.reshape(-1, unit)[flat] = False
    elif move.result is not None:
        near += _near(dump, flat * unit, unit, move.result)
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


def _chosen(values: Any, where: Any, shape: tuple[int, ...]) -> Any:
    """The values of a shape at the points where something happens, in order."""
    spread = np.broadcast_to(values, shape)
    return spread.ravel() if where.all() else spread[np.broadcast_to(where, shape)]


def _bytes(frame: Frame, part: Part, units: Units, first: int) -> Any:
    """The address of the first byte of each unit, from the start of the tagged memory or of the CTA's dump."""
    thread = frame.points.thread * part.size if part.per_thread else 0
    return first + thread + part.position(np.asarray(units.offset))


def _source(frame: Frame, units: Units, cta: Any) -> Any:
    """Where each unit is read: in the tagged memory, or in the dump if the storage is written too."""
    part = frame.part(units.operand)
    return (
        _bytes(frame, part, units, part.dump) + cta
        if part.written
        else _bytes(frame, part, units, part.ocean)
    )


def _read(frame: Frame, starts: Any, units: Units, dump: Bytes) -> Any:
    part, width = frame.part(units.operand), units.width
    unit = min(width, 8)
    if width == 16:
        starts = starts[:, None] + np.array([0, 8])
    found = (dump.reshape(-1) if part.written else ocean()).view(f"u{unit}")[starts // unit]
    return found if part.written or part.mask is None else part.mask.of(found)


def _near(dump: Bytes, starts: Any, unit: int, result: Result) -> list[Near]:
    """The floats among units of a dump that need not be equal to the bit: of exact results only NaNs."""
    type_ = scalar_of(result.type)
    width = WIDTHS[type_]
    at = (starts[:, None] // width + np.arange(unit // width)).ravel()
    if not (result.relative or result.absolute):
        at = at[np.isnan(numbers(dump.reshape(-1), at, type_))]
    return [Near(at, type_, result.relative, result.absolute)] if at.size else []


def difference(dump: Bytes, wanted: Expected) -> str:
    """The first byte that is not as expected, in words; an empty text if there is none."""
    dump = settled(dump, wanted)
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
