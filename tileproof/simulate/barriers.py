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
    """All barriers of a cluster, by (block rank, barrier number); the number -1 under rank 0 stands for the
    cluster's own barrier.
    """

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

    def wait(self, rank: int, number: int, slots: Array) -> None:
        """Threads that already arrived wait for the phase to end (barrier.cluster.wait)."""
        barrier = self._barriers.setdefault((rank, number), self._fresh())
        absent = ~barrier.arrived[slots]
        if absent.any():
            raise FaultError(
                "waits at the cluster barrier without having arrived in this phase", int(absent.argmax())
            )
        barrier.waiting[slots] = True

    def _fresh(self) -> Barrier:
        return Barrier(np.zeros(self.slots, bool), np.zeros(self.slots, bool))

    def release(self, left: Bools, rank_of: Array) -> list[Array]:
        """Ends every phase that is complete; returns the thread slots that it had kept waiting. `left`:
        threads that did not exit.
        """
        released = []
        for key, barrier in list(self._barriers.items()):
            rank, number = key
            if barrier.is_open:
                continue
            members = left if number < 0 else left & (rank_of == rank)
            done = (
                barrier.arrived[members].all()
                if barrier.expected is None
                else barrier.count == barrier.expected
            )
            if done:
                released.append(np.flatnonzero(barrier.waiting))
                del self._barriers[key]
        return released


def _threads(expected: int | None) -> str:
    return "all threads of the block" if expected is None else f"{expected} threads"
