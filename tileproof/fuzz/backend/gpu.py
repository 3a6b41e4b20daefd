"""Proved views, emitted, assembled and executed on a GPU, and brute force beside it: one worker for each GPU."""

from __future__ import annotations

from tileproof.emit.driver import Driver
from tileproof.emit.launch import driver_version
from tileproof.errors import LaunchError
from tileproof.fuzz.backend.brute_force import look
from tileproof.fuzz.backends import ChunkFunction, ViewBackend, cores
from tileproof.fuzz.execute.runner import DeviceRunner
from tileproof.fuzz.rows import Chunk, Row

PART = 256
"""Views that one process prepares at a time."""


class OnDevice:
    """Looks at chunks with one GPU and its share of the processors."""

    def __init__(self, worker: int) -> None:
        gpus = Driver().count()
        self._runner = DeviceRunner(max(1, cores() // gpus), worker % gpus)

    def __call__(self, chunk: Chunk) -> list[Row]:
        last = chunk.numbers.stop
        parts = [
            Chunk(chunk.family, chunk.seed, first, min(PART, last - first))
            for first in range(chunk.first, last, PART)
        ]
        found = dict(self._runner.run(parts))
        return [row for part in parts for row in found[part]]

    def close(self) -> None:
        """Give the GPU back."""
        self._runner.close()


def make(worker: int) -> ChunkFunction:
    """Opens the GPU of this number."""
    return OnDevice(worker)


def _missing() -> str | None:
    try:
        count = Driver().count()
    except LaunchError as error:
        return f"no GPU here: {error}"
    return None if count else "no GPU here"


BACKEND = ViewBackend(
    "the GPUs of this machine",
    make,
    missing=_missing,
    processes=lambda: Driver().count(),
    versions=lambda: {"CUDA driver": driver_version()},
    again=look,
    chunk=4096,
)
