"""Changes that break a call by as little as there is: at one last coordinate only, or by one byte.

A contract that asks for one less, or not at the last thread, repeat or element, differs from the right one on such
calls only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from tileproof.fuzz.generate.drafts import CallDraft, Dim, OperandDraft
from tileproof.fuzz.oracle.description import Backing, Factor, Swizzle, operand_names
from tileproof.fuzz.oracle.grid import along
from tileproof.fuzz.oracle.places import place
from tileproof.fuzz.oracle.terms import Term
from tileproof.fuzz.oracle.threads import numbers

MOST_POINTS = 1 << 20

Change = Callable[[CallDraft], None]


def nearly(draft: CallDraft, changes: Sequence[Change]) -> None:
    """Now and then one of the changes. It is drawn last, so that all other choices of a seed stay as they were."""
    c = draft.choices
    if c.spoil(15):
        c.among(*changes)(draft)


def _steps(operand: OperandDraft, dim: Dim) -> int:
    """How many of the tensor's elements one step of a dimension is."""
    ratio = (operand.view_bits or operand.bits) // operand.bits
    return ratio if ratio > 1 and dim.size == dim.extent * ratio else 1


def _whole(operand: OperandDraft, dim: Dim, least: int = 2) -> bool:
    """Whether a dimension of known strides and ``least`` places or more is taken from its start to its end."""
    plain = bool(dim.factors) and all(
        isinstance(f.extent, int) and isinstance(f.stride, int) for f in dim.factors
    )
    taken = dim.hidden or (dim.start == 0 and dim.step == 1 and dim.size == dim.extent * _steps(operand, dim))
    return plain and taken and isinstance(dim.size, int) and dim.size >= least


def last(draft: CallDraft, operand: OperandDraft, axis: str | None = None) -> None:
    """One dimension whose last coordinate stands elsewhere, and no other.

    The dimension becomes a part, from its second place on, of one twice as long, whose second half stands anywhere.
    """
    c = draft.choices
    dims = [d for d in operand.dims if _whole(operand, d) and (axis is None or d.on_storage)]
    if not dims:
        return
    dim = c.among(*dims[::-1])
    first, unit = dim.factors[0], _steps(operand, dim)
    size, step = int(str(dim.size)), int(str(first.stride))
    natural = int(str(first.extent)) * step
    bump = c.among(1, -1, unit, natural)
    away = Factor(2, natural + bump) if axis is None else Factor(2, c.among(1, natural), axis)
    if first.axis != "m" and axis is None:
        away = replace(away, axis=first.axis)
        operand.offsets.append((-step, first.axis))
    elif dim is operand.dims[-1] and operand is draft.memory:
        # The first word stays at a multiple of all of them.
        operand.offsets.append((size - unit, "m"))
    dim.factors, dim.size = [away, *dim.factors], 2 * size
    dim.start = unit if dim.start == 0 else ("+", dim.start, unit)


def _last_in_memory(draft: CallDraft) -> None:
    last(draft, draft.memory)


def _last_in_registers(draft: CallDraft) -> None:
    if draft.choices.chance(40):
        in_bytes(draft, draft.registers)
    last(draft, draft.registers)


def _last_owner(draft: CallDraft) -> None:
    """The last of several registers of a thread is another thread's."""
    last(draft, draft.registers, "laneid")


def _scaled(stride: Term, by: int) -> Term:
    return stride * by if isinstance(stride, int) else ("*", stride, by)


def in_bytes(draft: CallDraft, operand: OperandDraft) -> bool:
    """Declare an operand in bytes: its words, or its matrices where the words are other lanes'. Returns whether it is
    one of bytes now.
    """
    ratio, word = operand.bits // 8, operand.dims[-1]
    plain = operand.view_bits in (None, operand.bits) and operand.swizzle is None and operand.backing is None
    placed = operand.placed
    if not word.on_storage and placed is None:
        word = next((d for d in operand.dims if d.role == "matrix"), word)
        placed = [*(n for n, d in enumerate(operand.dims) if d is not word), operand.dims.index(word)]
    is_last = placed is None or operand.dims[placed[-1]] is word
    if not plain or not is_last or not _whole(operand, word, 1) or word.hidden or not word.on_storage:
        return operand.bits == 8
    operand.view_bits, operand.bits, operand.placed = operand.view_bits or draft.bits, 8, placed
    for dim in operand.dims:
        dim.factors = [
            f if f.axis != "m" else replace(f, stride=_scaled(f.stride, ratio)) for f in dim.factors
        ]
    operand.offsets = [(_scaled(at, ratio) if axis == "m" else at, axis) for at, axis in operand.offsets]
    operand.replicas = [
        r if r.axis != "m" else replace(r, stride=_scaled(r.stride, ratio)) for r in operand.replicas
    ]
    word.factors, word.size = [*word.factors, Factor(ratio, 1)], word.extent * ratio
    return True


def _last_word_in_bytes(draft: CallDraft) -> None:
    """The last word of each access stands a byte from where it should."""
    memory = draft.memory
    if in_bytes(draft, memory) and _whole(memory, memory.dims[-1]):
        word, unit = memory.dims[-1], _steps(memory, memory.dims[-1])
        size = int(str(word.size))
        word.factors = [Factor(2, size + draft.choices.among(1, -1, 2)), Factor(size, 1)]
        word.size, word.start = 2 * size, unit
        memory.offsets.append((size - unit, "m"))


def _last_lane(draft: CallDraft) -> None:
    """The last lane of a warp is one step ahead of the others, or behind them: everywhere, or in one last place."""
    c, memory = draft.choices, draft.memory
    bytes_apart = c.chance(50) and in_bytes(draft, memory)
    dims = [d for d in memory.dims if _whole(memory, d)]
    if not dims:
        return
    dim = dims[-1] if bytes_apart else c.among(*dims[::-1])
    lane: Term = ("//", "lane", 31) if c.chance(50) else ("-", 1, ("//", "lane", 31))
    first, size = dim.factors[0], int(str(dim.size))
    if c.chance(40):
        # All stand in one place but the last one.
        dim.factors, dim.size = [Factor(2, first.stride), Factor(size, 0)], 2 * size
    else:
        dim.factors, dim.size = (
            [replace(first, extent=2 * int(str(first.extent))), *dim.factors[1:]],
            2 * size,
        )
    dim.start = lane if dim.start == 0 else ("+", dim.start, lane)


def _last_lane_of_registers(draft: CallDraft) -> None:
    """The last lane of a warp takes registers one step further on, and the last of them from anywhere."""
    c, registers = draft.choices, draft.registers
    if c.chance(40):
        in_bytes(draft, registers)
    dims = [d for d in registers.dims if _whole(registers, d) and d.on_storage]
    if dims:
        dim = c.among(*dims)
        step, unit, size = int(str(dim.factors[0].stride)), _steps(registers, dim), int(str(dim.size))
        natural, kind = step * int(str(dim.factors[0].extent)), c.below(5)
        if kind < 4:
            # Otherwise there is no such register.
            away = c.among(step, 1, natural + 1, natural)
            dim.factors, dim.size = [Factor(2, away), *dim.factors], 2 * size
        lane: Term = ("*", ("//", "lane", 31), unit)
        dim.start = lane if dim.start == 0 else ("+", dim.start, lane)
        if kind == 3:
            short_storage(draft, registers)


def torn_by_a_byte(draft: CallDraft, operand: OperandDraft) -> None:
    """The second half of each element stands a byte too far away: for one value of a symbol, or as only the last lane
    sees it.
    """
    if operand.bits == 8 or not in_bytes(draft, operand):
        return
    if draft.choices.chance(50):
        word = operand.dims[operand.placed[-1] if operand.placed else -1]
        parts, half = word.factors, (operand.view_bits or 8) // 16
        parts[-1:] = [Factor(2, draft.symbol(half, half + 1)), *([Factor(half, 1)] if half > 1 else [])]
        return
    _swap_far_away(draft, operand, Dim("odd", 1, [], 2, ("//", "lane", 31), hidden=True))


def _swap_far_away(draft: CallDraft, operand: OperandDraft, dim: Dim) -> None:
    """What the last coordinate of a dimension takes is far away, where a swizzle swaps neighbours.

    The dimension is one of the operand's, or becomes one.
    """
    end = _end(draft, operand)
    if end is None or end <= 0 or operand.swizzle is not None:
        return
    shift = (end * 8 // operand.bits).bit_length()
    operand.swizzle = Swizzle(1, 0, shift)
    away = Factor(2, 1 << shift)
    if dim.factors:
        unit = _steps(operand, dim)
        dim.factors, dim.size = [away, *dim.factors], 2 * int(str(dim.size))
        dim.start = unit if dim.start == 0 else ("+", dim.start, unit)
    else:
        dim.factors = [away]
        operand.dims.insert(0, dim)
        if operand.placed is not None:
            operand.placed = [0, *(p + 1 for p in operand.placed)]


def _last_swapped(draft: CallDraft) -> None:
    c, memory = draft.choices, draft.memory
    if c.chance(40):
        in_bytes(draft, memory)
    dims = [d for d in memory.dims[:-1] if _whole(memory, d) and d.on_storage]
    repeats = [d for d in dims if d.role.startswith("repeat")]
    if dims:
        _swap_far_away(draft, memory, c.among(*(repeats if repeats and c.chance(60) else dims)))


def _torn_in_memory(draft: CallDraft) -> None:
    torn_by_a_byte(draft, draft.memory)


def _torn_in_registers(draft: CallDraft) -> None:
    torn_by_a_byte(draft, draft.registers)


def _shared_by_the_last(draft: CallDraft) -> None:
    """The last of several threads or stages takes the place of the one before."""
    hidden = [d for d in draft.memory.dims if d.hidden and isinstance(d.size, int) and d.size > 1]
    if hidden:
        dim = draft.choices.among(*hidden)
        dim.start = ("min", dim.start, int(str(dim.size)) - 2)


def _short_dimension(draft: CallDraft) -> None:
    """A dimension that ends one element early."""
    c = draft.choices
    operand = c.among(draft.memory, draft.registers)
    dims = [
        d
        for d in operand.dims
        if (d.hidden or d.start != 0) and isinstance(d.size, int) and d.size > 1 and len(d.factors) == 1
    ]
    if dims:
        dim = c.among(*dims)
        dim.size = int(str(dim.size)) - 1
        dim.factors = [replace(dim.factors[0], extent=dim.size)]


def _short_storage(draft: CallDraft) -> None:
    short_storage(draft, draft.choices.among(draft.memory, draft.registers))


def short_storage(draft: CallDraft, operand: OperandDraft) -> None:
    """Storage counted in bytes, of which there is one too few, or just enough."""
    end = _end(draft, operand)
    if end is not None and operand.backing is None:
        operand.backing = Backing(max(1, end - draft.choices.among(1, 0, operand.bits // 8)), 0, None, 8)


def _end(draft: CallDraft, operand: OperandDraft, *, starts: bool = False) -> int | None:
    """Where the last element ends, or starts, in bytes; nothing if that is much to compute."""
    made = operand.finished()
    if not made.buildable:
        return None
    used = set(operand_names(made))
    shape = made.view_shape
    of = [s for s in draft.symbols if s.name in used]
    threads = any(name not in {s.name for s in draft.symbols} for name in used)
    sizes = [*(len(s.values) for s in of), *((draft.warps, 32) if threads else ()), *shape]
    if prod(sizes) > MOST_POINTS:
        return None
    known: dict[str, Any] = {s.name: along(s.values, d, len(sizes)) for d, s in enumerate(of)}
    if threads:
        warp = along(np.arange(draft.warps), len(of), len(sizes))
        known |= numbers(draft.block, warp, along(np.arange(32), len(of) + 1, len(sizes)))
    outer = len(sizes) - len(shape)
    at = [along(np.arange(n), outer + d, len(sizes)) for d, n in enumerate(shape)]
    if starts:
        at[-1] = 0
    return int(np.max(place(made, at, known).offset)) + (0 if starts else made.view_bits // 8)


def _brink(draft: CallDraft) -> None:
    """Offset arithmetic of 32 bits whose greatest value is the first that is too large, or the last that is not."""
    c, memory = draft.choices, draft.memory
    end = _end(draft, memory, starts=True)
    unit = memory.bits // 8
    if end is None or end < 0 or memory.swizzle is not None:
        return
    draft.index_bits = 32
    start = draft.symbol(0, 1)
    stride = ((1 << 31) - end) // unit - c.among(0, 0, 1)
    memory.dims.insert(0, Dim("far", 1, [Factor(2, stride)], 2, start, hidden=True))
    if memory.placed is not None:
        memory.placed = [0, *(p + 1 for p in memory.placed)]


def last_thread(draft: CallDraft) -> Term:
    """One in the last thread of a block, zero in the others."""
    thread: Term = "tx" if draft.block[1:] == () else ("+", ("*", "warp", 32), "lane")
    return ("//", thread, draft.threads - 1) if draft.threads > 1 else 1


OF_MEMORY: tuple[Change, ...] = (
    _last_in_memory, _last_in_memory, _last_in_memory, _last_word_in_bytes, _last_lane, _last_lane,
    _shared_by_the_last, _short_dimension, _short_storage, _brink, _brink, _torn_in_memory, _torn_in_memory,
    _last_swapped, _last_swapped,
)  # fmt: skip
OF_REGISTERS: tuple[Change, ...] = (
    _last_in_registers, _last_in_registers, _last_owner, _last_lane_of_registers, _last_lane_of_registers,
    _torn_in_registers, _short_dimension, _short_storage,
)  # fmt: skip
OF_ACCESS: tuple[Change, ...] = (*OF_MEMORY, *OF_REGISTERS[:-2])
