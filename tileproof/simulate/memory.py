"""State spaces as bytes, with every access checked (ISA 5.1 state spaces, 6.4.1 addresses and alignment).

An address is a position in one state space; `copy` picks whose memory it is: the block's for `.shared`, the
thread's for `.local`, 0 elsewhere. A generic address is a position in a 64-bit space in which `.shared`,
`.local`, `.const` and `.param` own a window each, and everything else is `.global`. The low halves of the
window bases are not zero, so that a generic address that was cut to 32 bits does not pass for a shared one.

A shared address is 32 bits: block rank + 1 in the bits from 24 up, or 0 for the executing block's own
memory, and the byte offset below. So an address of `.shared::cta` also is a valid one of `.shared::cluster`,
as the ISA promises.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tileproof.simulate.scalars import Array

WINDOWS = {
    "shared": 0x7E01_3600_0000,
    "local": 0x7E03_3700_0000,
    "param": 0x7E05_3800_0000,
    "const": 0x7E07_3900_0000,
}
WINDOW_BYTES = 1 << 32
GLOBAL_BASE = 0x2_0000_0000
RANK_SHIFT = 24

Bools = npt.NDArray[np.bool_]


class FaultError(Exception):
    """Something undefined in the thread at `position` of the active ones; the machine adds who and where."""

    def __init__(self, message: str, position: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


@contextmanager
def within(positions: Array) -> Iterator[None]:
    """Faults raised inside count threads among `positions`; they leave counted among all active threads."""
    try:
        yield
    except FaultError as fault:
        raise FaultError(fault.message, int(positions[fault.position])) from None


@dataclass(slots=True)
class Allocation:
    """`size` bytes from `base`, once per copy. `known` marks written bytes; None where all are (whatever the
    host passed). `pending` marks those that an asynchronous copy will write; None where none ever did.
    """

    name: str
    base: int
    size: int
    storage: npt.NDArray[np.uint8]
    known: Bools | None = None
    writable: bool = True
    pending: Bools | None = None


def fresh(name: str, base: int, size: int, copies: int) -> Allocation:
    """Memory that nobody has written yet."""
    return Allocation(name, base, size, np.zeros((copies, size), np.uint8), np.zeros((copies, size), bool))


def host(name: str, base: int, data: npt.NDArray[np.uint8], writable: bool = True) -> Allocation:
    """Memory that shares the bytes of an array of the host."""
    return Allocation(name, base, data.size, data.reshape(1, -1), None, writable)


@dataclass(slots=True)
class Space:
    """The allocations of one state space; they do not overlap."""

    name: str
    allocations: list[Allocation] = field(default_factory=list)
    _bases: Array | None = None
    _ends: Array | None = None

    def add(self, allocation: Allocation) -> None:
        self.allocations.append(allocation)
        self.allocations.sort(key=lambda one: one.base)
        self._bases = np.asarray([one.base for one in self.allocations], np.int64)
        self._ends = np.asarray([one.base + one.size for one in self.allocations], np.int64)

    def _locate(self, addresses: Array, size: int) -> Iterator[tuple[Allocation, Array | slice]]:
        """Splits an access by allocation. Raises `FaultError` if any of its bytes lies in none."""
        if self._bases is None or self._ends is None:
            where = self._spell(addresses[0])
            raise FaultError(
                f"{size}-byte access at {where} is out of bounds: the kernel has no {self.name} memory"
            )
        found = np.searchsorted(self._bases, addresses, side="right") - 1
        outside = (found < 0) | (addresses + size > self._ends[found])
        if outside.any():
            position = int(outside.argmax())
            raise FaultError(self._explain(int(addresses[position]), size), position)
        if (found == found[0]).all():
            yield self.allocations[int(found[0])], slice(None)
            return
        for index in np.unique(found):
            yield self.allocations[int(index)], np.flatnonzero(found == index)

    def _spell(self, address: int | np.integer) -> str:
        return f"{self.name} address {int(address) & (1 << 64) - 1:#x}"

    def _explain(self, address: int, size: int) -> str:
        def distance(one: Allocation) -> int:
            return max(one.base - address, address + size - (one.base + one.size))

        nearest = min(self.allocations, key=distance)
        end = nearest.base + nearest.size
        if address < nearest.base:
            how = f"it starts {nearest.base - address} bytes before"
        elif address >= end:
            how = f"it starts {address - end} bytes past the end of"
        else:
            how = f"it runs {address + size - end} bytes past the end of"
        return (
            f"{size}-byte access at {self._spell(address)} is out of bounds: {how} {nearest.name!r}, "
            f"the nearest allocation, which is {nearest.size} bytes at [{nearest.base:#x}, {end:#x})"
        )

    def check_alignment(self, addresses: Array, align: int) -> None:
        wrong = addresses % align != 0
        if wrong.any():
            position = int(wrong.argmax())
            address = int(addresses[position])
            inside = next(
                (one for one in self.allocations if one.base <= address < one.base + one.size), None
            )
            where = f", byte {address - inside.base} of {inside.name!r}," if inside else ""
            raise FaultError(
                f"misaligned {self._spell(address)}{where} is {address % align} past a multiple of {align}; "
                f"this access needs a multiple of {align}",
                position,
            )

    def load(self, copies: Array, addresses: Array, size: int) -> tuple[Array, Bools]:
        """Bytes of shape (threads, size), and which threads got bytes that were all written before."""
        data = np.empty((addresses.size, size), np.uint8)
        known = np.ones(addresses.size, bool)
        for allocation, part in self._locate(addresses, size):
            index = (addresses[part] - allocation.base)[:, None] + np.arange(size)
            copy = copies[part][:, None]
            self._demand_settled(allocation, copy, index, part, addresses)
            data[part] = allocation.storage[copy, index]
            if allocation.known is not None:
                known[part] = allocation.known[copy, index].all(axis=1)
        return data, known

    def store(self, copies: Array, addresses: Array, data: Array) -> Bools:
        """Writes (threads, size) bytes, later threads last; returns which threads' bytes do not stand there
        now.
        """
        size = data.shape[1]
        lost = np.zeros(addresses.size, bool)
        for allocation, part in self._locate(addresses, size):
            if not allocation.writable:
                raise FaultError(
                    f"store to {self._spell(addresses[part][0])}: {allocation.name!r} is read-only"
                )
            index = (addresses[part] - allocation.base)[:, None] + np.arange(size)
            copy = copies[part][:, None]
            self._demand_settled(allocation, copy, index, part, addresses)
            allocation.storage[copy, index] = data[part]
            lost[part] = (allocation.storage[copy, index] != data[part]).any(axis=1)
            if allocation.known is not None:
                allocation.known[copy, index] = True
        return lost

    def hold(self, copies: Array, addresses: Array, size: int) -> None:
        """Nobody may touch these bytes until `settle`. Raises `FaultError` if any is held already."""
        for allocation, part in self._locate(addresses, size):
            index = (addresses[part] - allocation.base)[:, None] + np.arange(size)
            copy = copies[part][:, None]
            if allocation.pending is None:
                allocation.pending = np.zeros(allocation.storage.shape, bool)
            for position, (where, octets) in enumerate(zip(copy, index, strict=True)):
                one = slice(position, position + 1)
                self._demand_settled(allocation, copy[one], index[one], part, addresses, position)
                allocation.pending[where, octets] = True

    def settle(self, copies: Array, addresses: Array, data: Array) -> None:
        """The bytes that were held get their values."""
        for allocation, part in self._locate(addresses, data.shape[1]):
            if allocation.pending is not None:
                index = (addresses[part] - allocation.base)[:, None] + np.arange(data.shape[1])
                allocation.pending[copies[part][:, None], index] = False
        self.store(copies, addresses, data)

    def _demand_settled(
        self,
        allocation: Allocation,
        copy: Array,
        index: Array,
        part: Array | slice,
        addresses: Array,
        first: int = 0,
    ) -> None:
        if allocation.pending is None:
            return
        held = allocation.pending[copy, index].any(axis=1)
        if held.any():
            position = int(np.arange(addresses.size)[part][first + int(held.argmax())])
            raise FaultError(
                f"{self._spell(addresses[position])}, byte {int(addresses[position]) - allocation.base} of "
                f"{allocation.name!r}, is the destination of a cp.async that nobody has waited for",
                position,
            )


@dataclass(frozen=True, slots=True)
class Part:
    """The share of an access that falls in one state space."""

    positions: Array
    space: Space
    copies: Array
    addresses: Array


@dataclass
class Memory:
    """All state spaces as the threads of one cluster see them; `blocks` counts the cluster's blocks."""

    spaces: dict[str, Space]
    blocks: int

    def parts(self, space: str, addresses: Array, slots: Array, ranks: Array) -> Iterator[Part]:
        """Splits the addresses of the threads `slots`, which run in the blocks `ranks`, by state space and
        copy.
        """
        everyone = np.arange(addresses.size)
        if space == "generic":
            owner = classify(addresses)
            for name in np.unique(owner):
                positions = np.flatnonzero(owner == name)
                inside = addresses[positions] - WINDOWS.get(str(name), 0)
                real = "shared::cluster" if name == "shared" else str(name)
                with within(positions):
                    parts = list(self.parts(real, inside, slots[positions], ranks[positions]))
                for part in parts:
                    yield Part(positions[part.positions], part.space, part.copies, part.addresses)
        elif space.startswith("shared"):
            copies = self._block_of(addresses, ranks, cluster=space == "shared::cluster")
            yield Part(everyone, self.spaces["shared"], copies, addresses & (1 << RANK_SHIFT) - 1)
        elif space == "local":
            yield Part(everyone, self.spaces["local"], slots, addresses)
        else:
            yield Part(everyone, self.spaces[space], np.zeros(addresses.size, np.int64), addresses)

    def _block_of(self, addresses: Array, ranks: Array, cluster: bool) -> Array:
        field_ = addresses >> RANK_SHIFT
        if not field_.any():
            return ranks
        copies = np.where(field_ == 0, ranks, field_ - 1)
        reachable = (copies >= 0) & (copies < self.blocks) if cluster else copies == ranks
        if not reachable.all():
            position = int((~reachable).argmax())
            address = int(addresses[position]) & (1 << 64) - 1
            whose = "any block of the cluster" if cluster else "the executing block"
            raise FaultError(
                f"shared address {address:#x} is out of bounds: it is outside the shared memory of {whose}",
                position,
            )
        return copies


def classify(addresses: Array) -> Array:
    """The state space that each generic address falls in, as names."""
    owner = np.full(addresses.size, "global", dtype="U6")
    for name, base in WINDOWS.items():
        owner[(addresses >= base) & (addresses < base + WINDOW_BYTES)] = name
    return owner
