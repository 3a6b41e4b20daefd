"""Proved views, emitted, assembled and executed on a GPU, and brute force beside it: one worker for each GPU."""

from __future__ import annotations

from tileproof.emit.driver import Driver
from tileproof.emit.launch import driver_version
from tileproof.errors import LaunchError
from tileproof.fuzz.backend.brute_force import look
from tileproof.fuzz.backends import ChunkFunction, ViewBackend, cores
from tileproof.fuzz.execute.devices import DevicesRunner, whole
from tileproof.fuzz.execute.runner import DeviceRunner
from tileproof.fuzz.rows import Chunk, Looked


class OnDevice:
    """Looks at chunks with one GPU and its share of the processors."""

    def __init__(self, worker: int) -> None:
        self._runner = _runner(worker)

    def __call__(self, chunk: Chunk) -> Looked:
        ((_, rows),) = whole(self._runner, [chunk])
        return rows

    def close(self) -> None:
        """Give the GPU back."""
        self._runner.close()


def _runner(number: int) -> DeviceRunner:
    gpus = Driver().count()
    return DeviceRunner(max(1, cores() // gpus), number % gpus)


def _runners(number: int) -> DevicesRunner:
    """So many GPUs at work at once."""
    return DevicesRunner([_runner(n) for n in range(number)])


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
    chunk=2048,
    runner=_runners,
)
