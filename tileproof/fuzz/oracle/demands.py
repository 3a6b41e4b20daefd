"""The demands that every call has, decided by evaluating them at every point.

Sources: contract reference, "Group, repeat, and atom axes", "Memory and register instructions". A point is a
value for each symbol, an executing thread, a repeat, and an element of each operand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from tileproof.fuzz.oracle.description import Call, Operand
from tileproof.fuzz.oracle.grid import along, symbol_grid
from tileproof.fuzz.oracle.places import Place, place, starts
from tileproof.fuzz.oracle.terms import THREAD_NAMES, names, value
from tileproof.fuzz.oracle.threads import Participation, numbers, owners, participation, warps
from tileproof.fuzz.oracle.views import torn

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


class Judgement:
    """One call, with everything that varies laid out along axes: symbols, warp, lane, repeats, element."""

    def __init__(self, call: Call) -> None:
        self.call = call
        shape, prefix, suffix = call.outer_shape, len(call.group_axes), len(call.suffix)
        self.group_extents, self.repeats = shape[:prefix], shape[prefix:]
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
        guard, registers = self.call.guard, self.call.naming
        parts = guard[1:] if isinstance(guard, tuple) and guard[0] == "all" else (guard,)
        mixed = any(len({n in THREAD_NAMES for n in names(part)}) == 2 for part in parts if part is not None)
        if not mixed:
            return False
        grid = symbol_grid(self.call, extra=1)
        for position, (name, extent) in enumerate(zip(self.call.group_axes, self.group_extents, strict=True)):
            # A thread that chooses its own registers is named by its coordinate.
            own = np.arange(extent)
            known = grid | numbers(self.call.block, own * (name == "warp"), own * (name == "lane"))
            at: list[Any] = [0] * len(registers.view_shape)
            at[position] = np.arange(extent)
            for named in place(registers, at, known).axes.values():
                steps = np.diff(np.atleast_1d(named))
                if steps.ndim == 1 and (steps > 0).all() and len(set(steps.tolist())) > 1:
                    return True
        return False

    def _demands(self) -> None:
        """Evaluate what the family demands."""
        raise NotImplementedError

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

    def _ownership(self, operand: Operand, element: Sequence[Any]) -> None:
        """A register element belongs to the thread that executes for it, in every replica."""
        call = self.call
        if call.scope == "thread":
            return
        lane = call.lane_of(self.element, self.lane)
        thread = numbers(call.block, self.warp, lane)
        for replica in product(*(range(int(str(f.extent))) for f in operand.replicas)):
            found = self._place(operand, element, replica).axes
            for _, at, needed in owners(call.block, found, thread, call.scope):
                # Where a warp lacks a lane there is nobody to own the lane's words.
                exists = self.warp * 32 + lane < call.threads
                wrong = np.asarray(at != needed) & exists
                self._fail("owned", wrong, self.executing)
                if call.pred is not None and (wrong & self.members).any():
                    self.implied.add("owned")

    def _whole_registers(self, operand: Operand, element: Sequence[Any]) -> None:
        """Elements start where registers start, and these are there."""
        width = operand.view_bits // 8
        slots = self._place(operand, element).offset
        self._fail("whole-register", slots % width != 0, self.executing)
        self._storage(operand, slots, width)

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
            total = operand.backing.elements * operand.storage_unit
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

    def _distinct_registers(self, operand: Operand, element: Sequence[Any], axes: Sequence[int]) -> None:
        """No two of a thread's own elements, over all repeats, are written into one register.

        ``axes`` are those of the element coordinates of which one lane has several.
        """
        slots = self._place(operand, element).offset // (operand.view_bits // 8)
        first = self.symbols + 2
        inner = [*range(first, first + len(self.repeats)), *(first + len(self.repeats) + d for d in axes)]
        extents = (*self.repeats, *self.call.suffix)
        full = [extents[d - first] if d in inner else n for d, n in enumerate(slots.shape)]
        rows = np.moveaxis(np.broadcast_to(slots, full), inner, range(self.ndim - len(inner), self.ndim))
        rows = np.sort(rows.reshape(*rows.shape[: self.ndim - len(inner)], -1), axis=-1)
        twice = (rows[..., 1:] == rows[..., :-1]).any(axis=-1)
        shape = [1 if d in inner else n for d, n in enumerate(full)]
        self._fail("distinct", twice.reshape(shape), self.executing)

    def _stale(self, destination: Operand, element: Sequence[Any]) -> None:
        """A copy of a destination's element stands somewhere that is not written."""
        if not destination.replicas:
            return
        first = self._place(destination, element)
        for replica in product(*(range(int(str(f.extent))) for f in destination.replicas)):
            copy = self._place(destination, element, replica)
            if (np.asarray(copy.offset != first.offset) & self.executing).any():
                self.hazards["replica"] = {}
