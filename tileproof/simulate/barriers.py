"""Barriers between the threads of a block, and of a cluster (ISA 9.7.13: bar, barrier, barrier.cluster)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tileproof.simulate.geometry import WARP
from tileproof.simulate.memory import FaultError
from tileproof.simulate.scalars import Array

Bools = npt.NDArray[np.bool_]


@dataclass(slots=True)
class Barrier:
    """One barrier in one phase. `expected` is the thread count that completes it; None means all threads that
    are left.
    """

    arrived: Bools
    waiting: Bools
    expected: int | None = None
    count: int = 0

    @property
    def is_open(self) -> bool:
        return not self.arrived.any()


@dataclass(slots=True)
class Barriers:
    """The barriers of the blocks of a cluster, by (block rank, barrier number)."""

    slots: int
    _barriers: dict[tuple[int, int], Barrier] = field(default_factory=dict)

    def arrive(
        self, rank: int, number: int, slots: Array, *, expected: int | None, waits: bool, whole_warps: bool
    ) -> None:
        """Threads of one block arrive; a warp of an aligned form counts as 32 whatever its size.

        Raises `FaultError` when the arrival breaks the phase: another thread count, a thread that already
        arrived, one thread too many.
        """
        barrier = self._barriers.setdefault((rank, number), self._fresh())
        if barrier.is_open:
            barrier.expected = expected
        elif barrier.expected != expected:
            raise FaultError(
                f"barrier {number} is used with {_threads(expected)} here and with "
                f"{_threads(barrier.expected)} by threads that already arrived in this phase"
            )
        again = barrier.arrived[slots]
        if again.any():
            raise FaultError(f"arrives at barrier {number} twice in one phase", int(again.argmax()))
        barrier.arrived[slots] = True
        barrier.count += np.unique(slots // WARP).size * WARP if whole_warps else slots.size
        if waits:
            barrier.waiting[slots] = True
        if barrier.expected is not None and barrier.count > barrier.expected:
            raise FaultError(
                f"barrier {number} expects {barrier.expected} threads, and this arrival makes {barrier.count}"
            )

    def _fresh(self) -> Barrier:
        return Barrier(np.zeros(self.slots, bool), np.zeros(self.slots, bool))

    def release(self, left: Bools, rank_of: Array) -> list[Array]:
        """Ends every phase that is complete; returns the thread slots that it had kept waiting. `left`:
        threads that did not exit.
        """
        released = []
        for key, barrier in list(self._barriers.items()):
            if barrier.is_open:
                continue
            members = left & (rank_of == key[0])
            done = (
                barrier.arrived[members].all()
                if barrier.expected is None
                else barrier.count == barrier.expected
            )
            if done:
                released.append(np.flatnonzero(barrier.waiting))
                del self._barriers[key]
        return released


@dataclass(slots=True)
class ClusterBarrier:
    """The one barrier of a cluster: threads arrive first and wait later, for the phase they arrived in."""

    arrived: Bools
    passed: Bools
    waiting: Bools

    @classmethod
    def fresh(cls, slots: int) -> ClusterBarrier:
        return cls(np.zeros(slots, bool), np.zeros(slots, bool), np.zeros(slots, bool))

    def arrive(self, slots: Array) -> None:
        again = self.arrived[slots] | self.passed[slots]
        if again.any():
            raise FaultError(
                "arrives at the cluster barrier twice without waiting between", int(again.argmax())
            )
        self.arrived[slots] = True

    def wait(self, slots: Array) -> Array:
        """Which of the threads have to stop until the phase that they arrived in is complete."""
        absent = ~(self.arrived[slots] | self.passed[slots])
        if absent.any():
            raise FaultError("waits at the cluster barrier without having arrived", int(absent.argmax()))
        stays = slots[self.arrived[slots]]
        self.passed[slots] = False
        self.waiting[stays] = True
        return stays

    def release(self, left: Bools) -> Array:
        """Ends the phase if all threads that are left have arrived; returns those that waited for it."""
        if not self.arrived.any() or not self.arrived[left].all():
            return np.zeros(0, np.int64)
        released = np.flatnonzero(self.waiting)
        self.passed = self.arrived & ~self.waiting
        self.arrived = np.zeros_like(self.arrived)
        self.waiting = np.zeros_like(self.waiting)
        return released


def _threads(expected: int | None) -> str:
    return "all threads of the block" if expected is None else f"{expected} threads"
