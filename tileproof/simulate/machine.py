"""The machine that runs the threads of one cluster: who goes next, who waits, and what stops the simulation.

Threads that stand at the same instruction issue it together. Which group goes first decides where threads
that took different branches meet again: the machine always takes a warp's threads that are earliest in an
order of the control flow graph in which a join comes after everything that leads to it. So both sides of a
branch are done before their join is issued, as a compiler's reconvergence points ensure on hardware. Between
warps, those that have gone around loops less often go first, so that a warp that spins does not starve the
one it waits for. Inside a warp, a group that keeps spinning while others could run has to alternate with
them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tileproof.errors import SimulationError
from tileproof.simulate.barriers import Barriers, ClusterBarrier
from tileproof.simulate.geometry import WARP, Geometry
from tileproof.simulate.issue import Issue
from tileproof.simulate.memory import FaultError, Memory
from tileproof.simulate.program import Instruction, Program
from tileproof.simulate.registers import RegisterFile
from tileproof.simulate.scalars import B32, PRED, Array, ScalarType
from tileproof.simulate.status import ABSENT, BLOCKED, EXITED, PARKED, RUNNABLE, deadlock, ranges, whereabouts

PATIENCE = 2048
_FAR = np.iinfo(np.int64).max


@dataclass(slots=True)
class Tally:
    """What is counted over a whole launch. `budget` is how many more instructions may issue."""

    budget: int
    limit: int
    issued: Counter[str] = field(default_factory=Counter)
    executed: Counter[str] = field(default_factory=Counter)


class Machine:
    """Runs one cluster (or one block) of a kernel to its end."""

    def __init__(self, program: Program, geometry: Geometry, memory: Memory, tally: Tally) -> None:
        self.program = program
        self.geometry = geometry
        self.memory = memory
        self.tally = tally
        self.registers = RegisterFile(program.registers, geometry.slots)
        self.barriers = Barriers(geometry.slots)
        self.cluster_barrier = ClusterBarrier.fresh(geometry.slots)
        self.state: dict[str, Any] = {}
        """Room for instruction families that keep state of their own, by family name."""
        self.conflicts = 0
        self.pc = np.zeros(geometry.slots, np.int64)
        self.status = np.where(geometry.exists, RUNNABLE, ABSENT).astype(np.int8)
        self._ranks = np.append(program.ranks, len(program.ranks))
        self.stopped_at = np.zeros(geometry.slots, np.int64)
        self._masks = np.zeros(geometry.slots, np.uint32)
        self._loops = np.zeros(geometry.warps, np.int64)
        self._spins = np.zeros(geometry.warps, np.int64)
        self._last = np.zeros(geometry.slots, np.int64)
        self._clock = 0
        self._runnable = 0
        self._moved = True
        self._specials: dict[str, tuple[ScalarType, Array]] = {}

    def special(self, name: str) -> tuple[ScalarType, Array]:
        """Type and value per thread slot of a special register."""
        if name not in self._specials:
            found = self.geometry.special(name)
            if found is None:
                raise FaultError(f"the simulator has no special register {name}")
            self._specials[name] = found
        return self._specials[name]

    def run(self) -> None:
        """Runs until every thread has exited. Raises `SimulationError` on anything undefined."""
        # Infinities, NaN and wrapping integers are results like any other.
        with np.errstate(all="ignore"):
            self._run()

    def _run(self) -> None:
        end = len(self.program.code)
        while (chosen := self._select()) is not None:
            pc, slots = chosen
            while True:
                if pc == end:
                    self.exit(slots)
                    break
                instruction = self.program.code[pc]
                self._moved = False
                self._step(pc, instruction, slots)
                if self._moved or slots.size != self._runnable:
                    break
                pc += 1

    def _select(self) -> tuple[int, Array] | None:
        """The next instruction and the thread slots that issue it: one group per warp, all at the same
        instruction.
        """
        ready = self.status == RUNNABLE
        self._runnable = int(ready.sum())
        if not self._runnable:
            if ((self.status == BLOCKED) | (self.status == PARKED)).any():
                first, told = deadlock(self)
                raise self.error(self.program.code[int(self.stopped_at[first])], first, told)
            return None
        order = np.where(ready, self._ranks[self.pc], _FAR).reshape(-1, WARP)
        first = order.min(axis=1)
        for warp in np.flatnonzero(self._spins // PATIENCE % 2):
            if first[warp] != _FAR:
                idle = np.where(order[warp] != _FAR, self._last.reshape(-1, WARP)[warp], _FAR)
                first[warp] = order[warp][int(idle.argmin())]
        candidates = np.flatnonzero(first != _FAR)
        leader = candidates[np.lexsort((first[candidates], self._loops[candidates]))[0]]
        rank = first[leader]
        slots = np.flatnonzero((order == rank) & (first == rank)[:, None])
        self._clock += 1
        self._last[slots] = self._clock
        return int(self.pc[slots[0]]), slots

    def _step(self, pc: int, instruction: Instruction, slots: Array) -> None:
        self.tally.budget -= 1
        active = slots
        try:
            if self.tally.budget < 0:
                raise FaultError(
                    f"the limit of {self.tally.limit} issued instructions is spent; does the kernel end?"
                )
            self.pc[slots] = pc + 1
            if instruction.guard is not None:
                condition = Issue(self, instruction, slots).read(instruction.guard, PRED)
                active = slots[condition != instruction.inverted]
                if instruction.is_uniform:
                    self._demand_uniform(slots, active)
            if active.size and instruction.is_aligned:
                self._demand_whole_warps(slots, active)
            if active.size and instruction.has_members:
                active = self._gather(pc, instruction, active)
            if active.size:
                name = instruction.opcode
                self.tally.executed[name] += active.size
                self.tally.issued[name] += 1 + int(np.count_nonzero(np.diff(active // WARP)))
                instruction.execute(Issue(self, instruction, active))
        except FaultError as fault:
            chosen = active if active.size else slots
            raise self.error(instruction, int(chosen[fault.position]), fault.message) from None

    def error(self, instruction: Instruction, slot: int, message: str) -> SimulationError:
        """What stops the simulation: who did what where, and what was wrong with it."""
        return SimulationError(
            f"kernel {self.program.name!r}, line {instruction.line}, `{instruction.text}`: "
            f"{self.geometry.describe(slot)}: {message}"
        )

    # What control flow and synchronisation instructions call.

    def jump(self, slots: Array, target: int) -> None:
        """Sends threads to an instruction; a backward branch counts as another turn of a loop for their
        warps.
        """
        self._moved = True
        came_from = int(self.pc[slots[0]]) - 1
        self.pc[slots] = target
        if self._ranks[target] > self._ranks[came_from]:
            return
        warps = np.unique(slots // WARP)
        self._loops[warps] += 1
        ready = (self.status == RUNNABLE).reshape(-1, WARP)[warps]
        places = self.pc.reshape(-1, WARP)[warps]
        apart = (ready & (places != target)).any(axis=1)
        self._spins[warps] = np.where(apart, self._spins[warps] + 1, 0)

    def exit(self, slots: Array) -> None:
        self._moved = True
        self.status[slots] = EXITED
        warps = np.unique(slots // WARP)
        parked = (self.status == PARKED) & np.isin(np.arange(self.status.size) // WARP, warps)
        self.status[parked] = RUNNABLE
        self.release()

    def block(self, slots: Array) -> None:
        """Stops threads that just issued an instruction until something sets them runnable again."""
        self._moved = True
        self.status[slots] = BLOCKED
        self.stopped_at[slots] = self.pc[slots] - 1

    def left(self) -> npt.NDArray[np.bool_]:
        """Which thread slots hold a thread that has not exited."""
        return np.asarray((self.status != EXITED) & (self.status != ABSENT))

    def release(self) -> None:
        """Lets go on whoever waits at a barrier whose phase is complete."""
        left = self.left()
        released = self.barriers.release(left, self.geometry.rank)
        for slots in (*released, self.cluster_barrier.release(left)):
            self._moved = True
            self.status[slots] = RUNNABLE

    # Convergence.

    def _demand_uniform(self, slots: Array, active: Array) -> None:
        taken = np.isin(slots, active)
        for warp in np.unique(slots // WARP):
            inside = taken[slots // WARP == warp]
            if inside.any() and not inside.all():
                raise FaultError(
                    "a .uni branch must be taken by all threads of the warp that execute it or by none"
                )

    def _demand_whole_warps(self, slots: Array, active: Array) -> None:
        """`.sync.aligned`: all 32 threads of the warp execute the instruction together (ISA 9.7.14.5.15 and
        its like).
        """
        if (
            active.size % WARP == 0
            and (active[::WARP] % WARP == 0).all()
            and (np.diff(active.reshape(-1, WARP)) == 1).all()
        ):
            return
        for warp in np.unique(active // WARP).tolist():
            here = active // WARP == warp
            if here.sum() < WARP:
                lanes = np.arange(warp * WARP, (warp + 1) * WARP)
                skipped = slots[~np.isin(slots, active)]
                why = whereabouts(self, lanes[~np.isin(lanes, active)], skipped)
                raise FaultError(
                    f"an .aligned instruction must be executed by all {WARP} lanes of the warp together, but "
                    f"only lanes {ranges(active[here] % WARP)} execute it; {why}",
                    int(here.argmax()),
                )

    def _gather(self, pc: int, instruction: Instruction, active: Array) -> Array:
        """Holds threads at a `.sync` instruction until all threads of their membermask that have not exited
        are there too.
        """
        masks = Issue(self, instruction, active).read(len(instruction.operands) - 1, B32)
        outside = masks >> (active % WARP).astype(np.uint32) & 1 == 0
        if outside.any():
            position = int(outside.argmax())
            raise FaultError(
                f"executes with membermask {int(masks[position]):#010x}, which does not name its own lane",
                position,
            )
        self._moved = True
        self.status[active] = PARKED
        self.stopped_at[active] = pc
        self._masks[active] = masks
        self.pc[active] = pc
        ready = []
        for warp in np.unique(active // WARP).tolist():
            lanes = np.arange(warp * WARP, (warp + 1) * WARP)
            here = (self.status[lanes] == PARKED) & (self.pc[lanes] == pc)
            left = (self.status[lanes] != EXITED) & (self.status[lanes] != ABSENT)
            for mask in np.unique(self._masks[lanes][here]).tolist():
                named = (mask >> np.arange(WARP) & 1).astype(bool)
                arrived = here & (self._masks[lanes] == mask)
                if (arrived == (named & left)).all():
                    ready.append(lanes[arrived])
        found = np.sort(np.concatenate(ready)) if ready else active[:0]
        self.status[found] = RUNNABLE
        self.pc[found] = pc + 1
        return found
