"""Proved views, emitted and executed on the simulator, and brute force beside it."""

from __future__ import annotations

from tileproof.fuzz.backend.brute_force import look
from tileproof.fuzz.backends import ChunkFunction, ViewBackend
from tileproof.fuzz.execute.runner import SimulateRunner
from tileproof.fuzz.rows import Chunk, Row


def make(worker: int) -> ChunkFunction:  # noqa: ARG001 - any process will do
    """A machine of this process."""
    runner = SimulateRunner()

    def looked(chunk: Chunk) -> list[Row]:
        ((_, rows),) = runner.run([chunk])
        return rows

    return looked


BACKEND = ViewBackend("the simulator", make, again=look, chunk=50)
