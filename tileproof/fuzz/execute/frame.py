"""Where the storage of each operand stands while a view is executed: which part of the tagged memory it is filled from,
and to which part of the dump it goes.

Everything follows from the description and from which registers there are, nothing from the library's layouts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tileproof.fuzz.execute.entry import OCEAN, OCEAN_ALIGN
from tileproof.fuzz.execute.moves import REGISTERS, Mask, Move, Units, executed_family
from tileproof.fuzz.execute.points import MOST_CTAS, Points, UnexecutedError
from tileproof.fuzz.oracle.description import Call, Operand

MARGIN = 32
"""Bytes that nobody may write on both sides of what is written, at least on the far side."""

LIMITS = {"shared": 48 << 10, "local": 8 << 10, "const": 4 << 10, "global": 1 << 20, REGISTERS: 1 << 10}
"""Bytes of one operand in one CTA, or thread: static shared memory has no more (PTX ISA 5.1.7), and what a module
declares costs time to assemble.
"""

DUMPED = 128 << 10
"""Bytes of the dumps of a view, where fewer CTAs than there could be keep to that."""

MOST_DUMPED = 1 << 20
"""Bytes of the dump of one CTA."""


@dataclass(frozen=True)
class Part:
    """The storage of one operand, or of several that share it.

    ``at`` is where the operand's storage starts in what is set aside, ``size`` how much that is, for each
    thread if it is the threads' own. Before the fragment it holds the bytes of the tagged memory from ``ocean``
    on if the view is ``read``, otherwise poison; ``dump`` is where it goes after the fragment if it is
    ``written``. ``numbers`` are the registers, of ``width`` bytes, in the order in which they are dumped;
    ``mask`` is applied to what is read into each.
    """

    operand: Operand
    at: int
    size: int
    read: bool
    written: bool
    ocean: int = 0
    dump: int = 0
    numbers: tuple[int, ...] = ()
    width: int = 1
    mask: Mask | None = None

    @property
    def space(self) -> str:
        return self.operand.space

    @property
    def storage(self) -> str:
        """The name of the storage."""
        return self.operand.storage

    @property
    def per_thread(self) -> bool:
        return self.space in (REGISTERS, "local")

    def position(self, offset: Any) -> Any:
        """Where the byte at ``offset`` of the operand's storage is in what is set aside; for registers that nobody
        uses anywhere.
        """
        if self.space != REGISTERS:
            return offset + self.at
        if not self.numbers:
            return np.zeros_like(offset)
        order = np.argsort(np.asarray(self.numbers, np.int64))
        found = np.searchsorted(self.numbers, offset // self.width, sorter=order)
        return order[np.minimum(found, len(order) - 1)] * self.width + offset % self.width


@dataclass(frozen=True)
class Frame:
    """A call with who executes it, what that moves, and where everything stands."""

    call: Call
    points: Points
    moves: tuple[Move, ...]
    parts: tuple[Part, ...]
    dump_bytes: int

    def part(self, operand: Operand) -> Part:
        """Where the storage of an operand stands."""
        return next(p for p in self.parts if p.storage == operand.storage)

    @cached_property
    def table(self) -> Any:
        """The value of each symbol in each thread, then, under a guard, whether the thread reaches the call; int64,
        shaped ``(grid, rows, threads)``.
        """
        p = self.points
        rows = [*p.symbols.values(), *([p.active] if self.call.guard is not None else [])]
        table = np.zeros((p.grid, len(rows), p.warps * 32), np.int64)
        for number, row in enumerate(rows):
            table[:, number] = np.broadcast_to(row, p.outer).reshape(p.grid, -1)
        return np.ascontiguousarray(table[..., : self.call.threads])

    def row(self, symbol: str) -> int:
        return list(self.points.symbols).index(symbol)


def framed(call: Call, registers: Mapping[str, Iterable[int]]) -> Frame:
    """The frame of a call. ``registers`` are the numbers that the code names, by storage.

    Raises :class:`UnexecutedError` for what is too large.
    """
    made = _framed(call, registers, MOST_CTAS)
    fewer = max(1, DUMPED // max(made.dump_bytes, 1))
    return made if made.points.grid <= fewer else _framed(call, registers, fewer)


def _framed(call: Call, registers: Mapping[str, Iterable[int]], ctas: int) -> Frame:
    family = executed_family(call)
    points = family.points(call, ctas)
    moves = family.moves(call, points)
    parts: list[Part] = []
    ocean = dump = 0
    masks = family.masks(call)
    for operand in {operand.storage: operand for operand in call.operands}.values():
        part = _part(operand, moves, registers)
        parts.append(replace(part, ocean=ocean, dump=dump, mask=masks.get(operand.storage)))
        total = _rounded(part.size * (call.threads if part.per_thread else 1))
        ocean += total if part.read else 0
        dump += total if part.written else 0
    if ocean > OCEAN or dump > MOST_DUMPED:
        raise UnexecutedError(f"{ocean} bytes read and {dump} bytes dumped by a CTA")
    return Frame(call, points, moves, tuple(parts), dump)


def _rounded(size: int, to: int = OCEAN_ALIGN) -> int:
    return -(-size // to) * to


def _part(operand: Operand, moves: tuple[Move, ...], registers: Mapping[str, Iterable[int]]) -> Part:
    name = operand.storage
    written = [(m.target, m.where) for m in moves if m.target.operand.storage == name]
    read = [(u, m.where) for m in moves for u in m.read if u.operand.storage == name]
    touched = [_touched(units, where) for units, where in (*written, *read)]
    if any(t.size and t.min() < 0 for t in touched):
        raise UnexecutedError("bytes before the start of a storage")
    made = Part(operand, 0, 0, bool(read), bool(written))
    if operand.space == REGISTERS:
        width = operand.view_bits // 8
        own = np.unique(np.concatenate([t // width for t in touched])).tolist() if touched else []
        numbers = tuple(dict.fromkeys([*own, *registers.get(made.storage, ())]))
        size = _rounded(len(numbers) * width, 16)
        made = Part(operand, 0, size, bool(read), bool(written), numbers=numbers, width=width)
    else:
        align = operand.align
        if align > OCEAN_ALIGN // 2:
            raise UnexecutedError(f"a base that is known to be a multiple of {align}")
        end = max(
            (int(t.max()) + u.width for t, (u, _) in zip(touched, (*written, *read), strict=True) if t.size),
            default=0,
        )
        # The base is a multiple of what is known, and of no more.
        made = Part(operand, align, _rounded(align + end + MARGIN, 16), bool(read), bool(written))
    if made.size > LIMITS[operand.space]:
        raise UnexecutedError(f"{operand.space} memory of {made.size} bytes")
    return made


def _touched(units: Units, where: Any) -> Any:
    """The offsets at the points where the move happens."""
    offset, where = np.asarray(units.offset), np.asarray(where)
    if where.all():
        return offset.ravel()
    # Axes along which the offset stands still need not be looked at one by one.
    same = tuple(d for d in range(where.ndim) if offset.shape[d] == 1 and where.shape[d] > 1)
    where = where.any(axis=same, keepdims=True) if same else where
    full = np.broadcast_shapes(offset.shape, where.shape)
    return np.broadcast_to(offset, full)[np.broadcast_to(where, full)]
