"""Asynchronous copies of threads (ISA 9.7.9.25.2, .3): issued now, performed when their thread waits for them.

Hardware may perform a copy at any time up to then. So until then its destination must not be touched, and the
bytes that it reads must not change; either stops the simulation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tileproof.simulate.issue import Issue
from tileproof.simulate.memory import FaultError, Part, within
from tileproof.simulate.scalars import Array

STATE = "cp.async"
SOURCE_CHANGED = (
    "waits for a cp.async whose source has changed since it was issued, so that what it copied is undefined"
)


@dataclass(slots=True)
class Copies:
    """What one instruction copies: for each thread slot `data`, and where it comes from and goes to.

    `group` is the number of the thread's cp.async-group that the copy is in, counted from 0; `octets` is how
    many bytes are read.
    """

    slots: Array
    group: Array
    octets: Array
    sources: Array
    destination: Part
    data: npt.NDArray[np.uint8]

    def kept(self, which: npt.NDArray[np.bool_]) -> Copies:
        """Those of some threads."""
        here = self.destination
        part = Part(here.positions[which], here.space, here.copies[which], here.addresses[which])
        return Copies(
            self.slots[which],
            self.group[which],
            self.octets[which],
            self.sources[which],
            part,
            self.data[which],
        )


class Pending:
    """The copies of all threads of a machine that are not performed yet, and how many groups were committed."""

    def __init__(self, slots: int) -> None:
        self.committed = np.zeros(slots, np.int64)
        self._copies: list[Copies] = []

    @classmethod
    def of(cls, issue: Issue) -> Pending:
        machine = issue.machine
        if STATE not in machine.state:
            machine.state[STATE] = cls(machine.geometry.slots)
        found: Pending = machine.state[STATE]
        return found

    def start(
        self, issue: Issue, space: str, destinations: Array, sources: Array, octets: Array, size: int
    ) -> None:
        """Begins a copy of each executing thread: `octets` of the `size` bytes are read, the others are zero."""
        rank = issue.machine.geometry.rank[issue.slots]
        for part in issue.machine.memory.parts(space, destinations, issue.slots, rank):
            with within(part.positions):
                part.space.check_alignment(part.addresses, size)
        data = read(issue, sources, octets, size)
        for part in issue.machine.memory.parts(space, destinations, issue.slots, rank):
            with within(part.positions):
                part.space.hold(part.copies, part.addresses, size)
            here = part.positions
            self._copies.append(
                Copies(
                    issue.slots[here],
                    self.committed[issue.slots[here]],
                    octets[here],
                    sources[here],
                    part,
                    data[here],
                )
            )

    def commit(self, slots: Array) -> None:
        """What the threads have copied since their last group becomes a group; it may be empty."""
        self.committed[slots] += 1

    def wait(self, issue: Issue, newest: int = 0) -> None:
        """Performs all copies of the executing threads but those of their `newest` latest groups, and those that
        are in no group yet.
        """
        left = []
        for copies in self._copies:
            mine = np.isin(copies.slots, issue.slots)
            due = mine & (copies.group < self.committed[copies.slots] - newest)
            if due.any():
                self._perform(issue, copies.kept(due))
            if not due.all():
                left.append(copies.kept(~due))
        self._copies = left

    def _perform(self, issue: Issue, copies: Copies) -> None:
        positions = np.searchsorted(issue.slots, copies.slots)
        size = copies.data.shape[1]
        with within(positions):
            now = read(issue.only(positions), copies.sources, copies.octets, size)
        changed = (now != copies.data).any(axis=1)
        if changed.any():
            raise FaultError(SOURCE_CHANGED, int(positions[int(changed.argmax())]))
        copies.destination.space.settle(copies.destination.copies, copies.destination.addresses, copies.data)


def read(issue: Issue, sources: Array, octets: Array, size: int) -> npt.NDArray[np.uint8]:
    """The first `octets` bytes of each source in global memory, then zeros, (threads, size)."""
    data = np.zeros((issue.slots.size, size), np.uint8)
    for count in np.unique(octets[octets > 0]).tolist():
        positions = np.flatnonzero(octets == count)
        with within(positions):
            found, known = issue.only(positions).load("global", sources[positions], count, align=1)
        if not known.all():
            issue.fail("copies memory that was never written", int(positions[int((~known).argmax())]))
        data[positions, :count] = found
    return data
