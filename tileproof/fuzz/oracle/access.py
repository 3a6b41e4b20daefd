"""Every demand of an access to memory, decided by evaluating it at every point.

Sources: PTX ISA 9.7.9.8 (ld), 9.7.9.11 (st), 9.7.14.5.15 (ldmatrix), 9.7.14.5.16 (stmatrix), 6.4.1
(alignment); contract reference, "128-bit global load", "Memory and register instructions", "ldmatrix /
stmatrix". The base address is part of a point here.
"""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from tileproof.fuzz.oracle.conflicts import collides, crosses
from tileproof.fuzz.oracle.demands import Judgement
from tileproof.fuzz.oracle.description import Access, Operand

RESIDUES = 256
"""Base addresses are told apart modulo this many bytes; no access demands more."""


def residues(operand: Operand, size: int) -> list[int]:
    """What the base address may be modulo ``size``."""
    bases = range(0, RESIDUES, operand.align) if operand.align < RESIDUES else (0,)
    return sorted({base % size for base in bases})


class AccessJudgement(Judgement):
    """The demands of an access over all points."""

    call: Access

    def _demands(self) -> None:
        call = self.call
        self._ownership(call.registers, self.element)
        self._memory_access()
        self._keeps(call.memory)
        self._whole_registers(call.registers, self.element)
        for operand in call.operands:
            self._bounds(operand)
        if call.load:
            # What a lane receives of a matrix is one word.
            self._distinct_registers(
                call.registers, self.element, (0,) if call.collective else range(len(self.element))
            )
            self._stale(call.registers, self.element)
        else:
            self._write_conflict()
            self._stale(call.memory, self.element)
        if call.trans and call.memory.bits < 16:
            self.hazards["transposed-unit"] = {}

    @cached_property
    def _words(self) -> Any:
        """The memory operand's offset of every element, in bytes."""
        return self._place(self.call.memory, self.element).offset

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

    def _keeps(self, memory: Operand) -> None:
        """Offset arithmetic in 32 bits is done on numbers of 32 bits, with a sign."""
        if self.call.index_bits == 32:
            first = self._place(memory, [*self.element[:-1], 0]).offset
            self._fail("no-overflow", (first < -(1 << 31)) | (first >= 1 << 31), self.executing)

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
