"""Entries on the simulator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tileproof.errors import SimulationError
from tileproof.fuzz.execute.entry import OCEAN_ALIGN, Bytes, Entry, Trapped
from tileproof.fuzz.execute.expected import ocean
from tileproof.fuzz.execute.tags import POISON
from tileproof.simulate import Buffer, simulate

STEPS = 20_000_000
"""Instructions after which an entry is taken not to end."""

HEADER = ".version 8.8\n.target sm_90a\n.address_size 64\n"
"""Of a module for a Hopper GPU; 256-bit accesses need a newer version and a newer GPU."""


class Simulated:
    """The :class:`~tileproof.fuzz.execute.entry.Backend` that needs no GPU."""

    name = "simulate"

    def __init__(self) -> None:
        self._ocean = ocean().copy()

    def run(self, entries: Sequence[Entry]) -> list[Bytes | Trapped]:
        return [self._run(entry) for entry in entries]

    def _run(self, entry: Entry) -> Bytes | Trapped:
        dump = np.full((entry.grid, entry.dump_bytes), POISON, np.uint8)
        table = entry.table.copy() if entry.table.size else np.zeros(8, np.uint8)
        arguments = [Buffer(a, OCEAN_ALIGN) for a in (self._ocean, dump.reshape(-1), table)]
        try:
            text = f"{HEADER}{entry.variables}{entry.text}\n"
            simulate(text, arguments, grid=entry.grid, block=entry.block, limit=STEPS)
        except SimulationError as error:
            return Trapped(str(error))
        if not np.array_equal(self._ocean.view("u8"), ocean().view("u8")):
            self._ocean = ocean().copy()
            return Trapped("it wrote to the tagged memory, which is read only")
        return dump
