"""Every demand of an access to memory, decided by evaluating it at every point.

Sources: PTX ISA 9.7.9.8 (ld), 9.7.9.11 (st), 9.7.14.5.15 (ldmatrix), 9.7.14.5.16 (stmatrix), 6.4.1
(alignment); contract reference, "Group, repeat, and atom axes", "128-bit global load", "Memory and register
instructions", "ldmatrix / stmatrix". A point is a value for each symbol, an executing thread, a repeat, an
element, and a base address.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np

from tileproof.fuzz.oracle.conflicts import collides, crosses
from tileproof.fuzz.oracle.description import Call, Operand, operand_names
from tileproof.fuzz.oracle.grid import along, symbol_grid
from tileproof.fuzz.oracle.places import Place, place, starts
from tileproof.fuzz.oracle.terms import THREAD_NAMES, names, value
from tileproof.fuzz.oracle.threads import Participation, numbers, owners, participation, warps
from tileproof.fuzz.oracle.views import torn

RESIDUES = 256
"""Base addresses are told apart modulo this many bytes; no access demands more."""

Witness = dict[str, int]


@dataclass(frozen=True)
class Outcome:
    """What fails, by name, each with one witness.

    ``implied`` demands fail only where a region leaves its dimension, which is refused anyway, or where a
    predicate forbids the access. ``unbuildable`` says why the operands cannot exist at all, whatever the
    library thinks of them; ``unreachable`` that no thread ever executes the call; ``scattered`` that the
    group's threads are not evenly spaced; ``unsaid`` that the registers' are not, under a guard that does not say
    by itself who is in the group; ``structural`` that shapes alone decided, so nothing else was
    looked at.
    """

    failing: dict[str, Witness] = field(default_factory=dict)
    hazards: dict[str, Witness] = field(default_factory=dict)
    implied: frozenset[str] = frozenset()
    unbuildable: str | None = None
    unreachable: bool = False
    structural: bool = False
    scattered: bool = False
    unsaid: bool = False


def residues(operand: Operand, size: int) -> list[int]:
    """What the base address may be modulo ``size``."""
    bases = range(0, RESIDUES, operand.align) if operand.align < RESIDUES else (0,)
    return sorted({base % size for base in bases})


class Judgement:
    """One call, with everything that varies laid out along axes: symbols, warp, lane, repeats, element."""

    def __init__(self, call: Call) -> None:
        self.call = call
        shape = call.memory.view_shape
        prefix, suffix = len(call.group_axes), len(call.suffix)
        self.group_extents = shape[:prefix]
        self.repeats = shape[prefix : len(shape) - suffix]
        self.symbols = len(call.symbols)
        self.ndim = self.symbols + 2 + len(self.repeats) + suffix
        self.failing: dict[str, Witness] = {}
        self.hazards: dict[str, Witness] = {}
        self.implied: set[str] = set()
        known = symbol_grid(call, extra=self.ndim - self.symbols)
        self.warp = self._axis(warps(call.threads), self.symbols)
        self.lane = self._axis(32, self.symbols + 1)
        self.known = known | numbers(call.block, self.warp, self.lane)
        first = self.symbols + 2
        self.repeat = [self._axis(n, first + d) for d, n in enumerate(self.repeats)]
        self.element = [self._axis(n, first + len(self.repeats) + d) for d, n in enumerate(call.suffix)]

    def _axis(self, extent: int, axis: int) -> Any:
        return along(np.arange(extent), axis, self.ndim)

    def outcome(self) -> Outcome:
        call = self.call
        assumed = True if call.assume is None else value(call.assume, self.known)
        reached = True if call.guard is None else value(call.guard, self.known)
        exists = self.warp * 32 + self.lane < call.threads
        outer = (*(len(s.values) for s in call.symbols), warps(call.threads), 32)
        flat = (*outer, *[1] * (self.ndim - len(outer)))
        active = np.broadcast_to(assumed & reached & exists, flat)
        self.part: Participation = participation(call, active.reshape(outer), self.group_extents)
        if not active.any():
            return Outcome(unreachable=True)
        self.members = executing = self.part.executing.reshape(flat)
        if call.pred is not None:
            executing = executing & value(call.pred, self.known)
        self._fail("converged", self.part.unconverged.reshape(flat), True)
        self._fail("covered", self.part.uncovered.reshape(flat), True)
        self.executing = executing
        ranks = {"warp": self.part.warp_rank.reshape(flat), "lane": self.part.lane_rank.reshape(flat)}
        if call.guard is None:
            # The ranks are the numbers themselves, which keeps the arrays small.
            ranks = {"warp": self.warp % 4 if call.scope == "warpgroup" else self.warp, "lane": self.lane}
        self.group = [ranks[name] for name in call.group_axes]
        self._whole_elements()
        self._demands()
        return Outcome(
            self.failing,
            self.hazards,
            frozenset(self.implied),
            scattered=self.part.scattered,
            unsaid=self._unsaid(),
        )

    def _unsaid(self) -> bool:
        """Whether the registers name ascending, unevenly spaced threads, while a part of the guard relates threads
        to symbols.
        """
        guard, registers = self.call.guard, self.call.registers
        parts = guard[1:] if isinstance(guard, tuple) and guard[0] == "all" else (guard,)
        mixed = any(len({n in THREAD_NAMES for n in names(part)}) == 2 for part in parts if part is not None)
        if not mixed or any(n in THREAD_NAMES for n in operand_names(registers)):
            return False
        known = symbol_grid(self.call, extra=1)
        for position, extent in enumerate(self.group_extents):
            at: list[Any] = [0] * len(registers.view_shape)
            at[position] = np.arange(extent)
            for named in place(registers, at, known).axes.values():
                steps = np.diff(np.atleast_1d(named))
                if steps.ndim == 1 and (steps > 0).all() and len(set(steps.tolist())) > 1:
                    return True
        return False

    def _demands(self) -> None:
        call = self.call
        self._ownership()
        self._memory_access()
        self._registers()
        for operand in call.operands:
            self._bounds(operand)
        if call.load:
            self._distinct_registers()
            self._stale(call.registers)
        else:
            self._write_conflict()
            self._stale(call.memory)
        if call.trans and call.memory.bits < 16:
            self.hazards["transposed-unit"] = {}

    def _fail(self, name: str, fails: Any, where: Any) -> None:
        """Record a failure of ``name`` at the first point of ``where`` at which ``fails`` holds."""
        fails, where = np.asarray(fails), np.asarray(where)
        if name in self.failing or not fails.any():
            return
        if where.ndim:
            if fails.ndim:
                same = tuple(d for d in range(where.ndim) if fails.shape[d] == 1 and where.shape[d] > 1)
                where = where.any(axis=same, keepdims=True) if same else where
            fails = fails & where
        if fails.any():
            point = np.unravel_index(int(np.argmax(fails)), fails.shape) if fails.ndim else ()
            values = dict(zip(self._axis_names, map(int, point), strict=False))
            values |= {s.name: s.values[values[s.name]] for s in self.call.symbols if s.name in values}
            self.failing[name] = values

    @cached_property
    def _axis_names(self) -> list[str]:
        repeats = [f"repeat{d}" for d in range(len(self.repeats))]
        return [*(s.name for s in self.call.symbols), "warp", "lane", *repeats, *self.call.element_names]

    def _place(self, operand: Operand, element: Any, replica: tuple[int, ...] = ()) -> Place:
        found = place(operand, [*self.group, *self.repeat, *element], self.known, replica)
        offset = np.asarray(found.offset, dtype=np.int64)
        return Place(found.axes, offset if offset.ndim else offset.reshape([1] * self.ndim))

    @cached_property
    def _words(self) -> Any:
        """The memory operand's offset of every element, in bytes."""
        return self._place(self.call.memory, self.element).offset

    @cached_property
    def _slots(self) -> Any:
        """The register operand's offset of every element, in bytes of the thread's registers."""
        return self._place(self.call.registers, self.element).offset

    def _ownership(self) -> None:
        call = self.call
        if call.scope == "thread":
            return
        lane = self.lane
        if call.collective:
            _, row, word = self.element
            lane = 4 * row + word
        thread = numbers(call.block, self.warp, lane)
        for replica in product(*(range(int(str(f.extent))) for f in call.registers.replicas)):
            found = self._place(call.registers, self.element, replica).axes
            for _, at, needed in owners(call.block, found, thread, call.scope):
                # Where a warp lacks a lane there is nobody to own the lane's words.
                exists = self.warp * 32 + lane < call.threads
                wrong = np.asarray(at != needed) & exists
                self._fail("owned", wrong, self.executing)
                if call.pred is not None and (wrong & self.members).any():
                    self.implied.add("owned")

    def _memory_access(self) -> None:
        call = self.call
        row = [*self.element[:-1], 0]
        first = self._place(call.memory, row).offset
        size = 16 if call.collective else call.count * call.bits // 8
        prefix = "row-" if call.collective else ""
        for base in residues(call.memory, size):
            self._fail(f"{prefix}aligned", (first + base) % size != 0, self.executing)
        width = call.bits // 8
        if len(range(call.suffix[-1])) > 1:
            self._fail(f"{prefix}contiguous", self._words != first + self.element[-1] * width, self.executing)
        if call.collective:
            self._uniform()
        self._storage(call.memory, first, size)

    def _uniform(self) -> None:
        """All lanes of a warp mean one region, also where a symbol has a value of its own in each thread."""
        axes = [d for d, s in enumerate(self.call.symbols) if s.uniform == "thread"] + [self.symbols + 1]
        full = np.broadcast_shapes(np.shape(self._words), self.executing.shape)
        if all(np.shape(self._words)[a] == 1 for a in axes):
            return
        # What each thread may see depends only on its own values, so all pairs of threads and values count.
        last = range(-len(axes), 0)
        words = np.moveaxis(np.broadcast_to(self._words, full), axes, last)
        there = np.moveaxis(np.broadcast_to(self.executing, full), axes, last)
        words = words.reshape(*words.shape[: len(full) - len(axes)], -1)
        there = there.reshape(words.shape)
        big = np.iinfo(np.int64).max
        least = np.where(there, words, big).min(axis=-1)
        most = np.where(there, words, -big).max(axis=-1)
        if ((least < most) & there.any(axis=-1)).any():
            self.failing["uniform"] = {}

    def _registers(self) -> None:
        registers = self.call.registers
        width = self.call.bits // 8
        self._fail("whole-register", self._slots % width != 0, self.executing)
        self._storage(registers, self._slots, width)

    def _whole_elements(self) -> None:
        """Elements that are read as a wider one are one run of bits of one thread."""
        for operand in self.call.operands:
            where = torn(self.call, operand)
            if where.ndim:
                self._fail(
                    "whole-element",
                    where.reshape(*where.shape, *[1] * (self.ndim - where.ndim)),
                    self.executing,
                )

    def _storage(self, operand: Operand, offset: Any, size: int) -> None:
        """``size`` bytes from ``offset`` on are in the storage; one of the tensor's own has whatever its
        shape needs.
        """
        if operand.backing is not None:
            total = operand.backing.elements * operand.bits // 8
            self._fail("in-storage", (offset < 0) | (offset + size > total), self.executing)
            return
        before = (offset < 0) & self.executing
        if before.any():
            inside = self.executing
            for outside in self._outside(operand):
                inside = inside & ~outside
            self._fail("in-storage", before, inside)
            self.implied.add("in-storage")

    def _outside(self, operand: Operand) -> Iterator[Any]:
        """Where each region leaves its dimension."""
        for region, start, extent in zip(
            operand.region, starts(operand, self.known), operand.shape, strict=True
        ):
            size = value(extent, self.known)
            yield np.asarray((start < 0) | (start + region.span > size) | (size < 1))

    def _bounds(self, operand: Operand) -> None:
        for outside in self._outside(operand):
            self._fail("in-bounds", outside, self.executing)

    def _distinct_registers(self) -> None:
        """No two of a thread's own words, over all repeats, are loaded into one register."""
        call = self.call
        if call.collective:
            # What lane 4*row + word receives is one word of each matrix.
            kept = [*range(self.symbols + 2), self.ndim - 2, self.ndim - 1]
        else:
            kept = list(range(self.symbols + 2))
        slots = self._slots // (call.bits // 8)
        inner = [d for d in range(self.ndim) if d not in kept]
        full = list(slots.shape)
        for axis, extent in zip(
            range(self.symbols + 2, self.ndim), (*self.repeats, *call.suffix), strict=True
        ):
            full[axis] = extent
        rows = np.moveaxis(np.broadcast_to(slots, full), inner, range(self.ndim - len(inner), self.ndim))
        rows = np.sort(rows.reshape(*rows.shape[: len(kept)], -1), axis=-1)
        twice = (rows[..., 1:] == rows[..., :-1]).any(axis=-1)
        shape = [full[d] if d in kept else 1 for d in range(self.ndim)]
        self._fail("distinct", twice.reshape(shape), self.executing)

    def _write_conflict(self) -> None:
        """Two stores of one CTA to one byte: of two threads, two repeats, or two words."""
        call = self.call
        width = call.bits // 8
        full = (*self.executing.shape[: self.symbols + 2], *self.repeats, *call.suffix)
        there, words = self.executing, self._words
        lanes = self.symbols + 1
        if call.collective:
            # The warp stores as one.
            there = there.any(axis=lanes, keepdims=True)
            words = np.take(words, [0], axis=lanes)
            full = (*full[:lanes], 1, *full[lanes + 1 :])
        there, words = np.broadcast_to(there, full), np.broadcast_to(words, full)
        axes = {
            u: [d for d, s in enumerate(call.symbols) if s.uniform == u] for u in ("grid", "warp", "thread")
        }
        order = [*axes["grid"], *axes["warp"], *axes["thread"], *range(self.symbols, self.ndim)]
        sizes = [prod(len(call.symbols[d].values) for d in axes[u]) for u in ("grid", "warp", "thread")]
        there = there.transpose(order).reshape(*sizes, *full[self.symbols :])
        words = words.transpose(order).reshape(there.shape)
        grid, per_warp, per_thread = sizes
        if call.space == "local":
            # Local memory is the thread's own.
            rows = there.reshape(-1, prod(there.shape[5:])), words.reshape(-1, prod(there.shape[5:]))
            if collides(*rows, width):
                self.hazards["write-conflict"] = {}
            return
        threads = there.shape[3:]
        conflict = collides(there.reshape(-1, prod(threads)), words.reshape(-1, prod(threads)), width)
        if per_thread > 1:
            # Two threads, each with values of its own; those of their warps may be the same.
            shape = grid * per_warp, per_thread, *threads
            conflict = conflict or crosses(there.reshape(shape), words.reshape(shape), width, narrow=True)
        if per_warp * per_thread > 1:
            shape = grid, per_warp * per_thread, *threads
            conflict = conflict or crosses(there.reshape(shape), words.reshape(shape), width, narrow=False)
        if conflict:
            self.hazards["write-conflict"] = {}

    def _stale(self, destination: Operand) -> None:
        """A copy of a destination's element stands somewhere that is not written."""
        if not destination.replicas:
            return
        for replica in product(*(range(int(str(f.extent))) for f in destination.replicas)):
            element = self._place(destination, self.element, replica)
            first = self._place(destination, self.element)
            if (np.asarray(element.offset != first.offset) & self.executing).any():
                self.hazards["replica"] = {}
