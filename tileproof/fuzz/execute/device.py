"""One worker process per device, which runs batches and is replaced when a kernel takes it down.

A fault is final for a process: CUDA answers every later call with the same error. So the worker is killed, a new one
runs the batch entry by entry up to the culprit, and a third goes on behind it.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, Protocol

from tileproof.errors import LaunchError
from tileproof.fuzz.execute.batch import Batch
from tileproof.fuzz.execute.entry import Bytes

SECONDS = 60.0
"""After which a batch, or an entry that runs alone, is taken to hang."""

STARTING_SECONDS = 300.0

TAMPERED = "it wrote to the tagged memory, which is read only"


class Device(Protocol):
    """A device as the worker uses it: the only thing that knows CUDA."""

    name: str

    def execute(self, batch: Batch, chosen: range) -> Bytes:
        """Run the chosen launches over poisoned memory; the dumps of the whole batch.

        Raises :class:`~tileproof.errors.LaunchError`, after which nothing else works.
        """
        ...

    def tampered(self) -> bool:
        """Whether somebody wrote to the tagged memory since the last call."""
        ...


class WorkerError(Exception):
    """The worker is gone, or has to be; ``str`` says why."""


class DeviceWorker:
    """The process of one device, seen from outside. ``opened`` makes the device, in the worker's process."""

    def __init__(self, opened: Callable[[], Device], seconds: float = SECONDS) -> None:
        self._opened, self._seconds = opened, seconds
        self._process: Any = None
        self._connection: Any = None
        self.restarts = 0
        self.name = self._start()

    def run(self, batch: bytes, launches: int) -> list[str]:
        """What is wrong with each launch of a pickled :class:`Batch`: nothing, ``trapped: ...``, or the wrong byte."""
        results: list[str] = []
        while len(results) < launches:
            try:
                results += self._ask(batch, len(results), alone=False)
            except WorkerError:
                self._restart()
                results += self._alone(batch, len(results), launches)
        return results

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._connection.close()
            self._process.kill()
            self._process.join()
            self._process = None

    def _alone(self, batch: bytes, first: int, launches: int) -> list[str]:
        """The results of entries that run one by one, up to the first that takes the worker down."""
        results: list[str] = []
        try:
            self._send(batch, first, alone=True)
            while len(results) < launches - first:
                results += self._receive()
        except WorkerError as error:
            results.append(f"trapped: {error}")
            self._restart()
        return results

    def _ask(self, batch: bytes, first: int, *, alone: bool) -> list[str]:
        self._send(batch, first, alone=alone)
        return self._receive()

    def _send(self, batch: bytes, first: int, *, alone: bool) -> None:
        try:
            self._connection.send((first, alone))
            self._connection.send_bytes(batch)
        except OSError as error:
            raise WorkerError(f"the worker process is gone ({error})") from error

    def _receive(self) -> list[str]:
        kind, content = self._message(self._seconds)
        if kind == "fault":
            raise WorkerError(content)
        results: list[str] = content
        return results

    def _message(self, seconds: float) -> tuple[str, Any]:
        if not self._connection.poll(seconds):
            raise WorkerError(f"it did not end within {seconds:g} seconds")
        try:
            kind, content = self._connection.recv()
        except (EOFError, OSError) as error:
            self._process.join()
            raise WorkerError(f"the worker process ended with code {self._process.exitcode}") from error
        return kind, content

    def _restart(self) -> None:
        self.close()
        self.restarts += 1
        self._start()

    def _start(self) -> str:
        """Raises :class:`LaunchError` where there is no such device."""
        context = get_context("spawn")
        self._connection, other = context.Pipe()
        self._process = context.Process(target=serve, args=(other, self._opened), daemon=True)
        self._process.start()
        other.close()
        try:
            kind, content = self._message(STARTING_SECONDS)
        except WorkerError as error:
            self.close()
            raise LaunchError(f"the worker of the device did not start: {error}") from error
        if kind != "ready":
            self.close()
            raise LaunchError(content)
        return str(content)


def serve(connection: Connection, opened: Callable[[], Device]) -> None:
    """The worker process: answer batches until the other end is closed."""
    try:
        device = opened()
    except LaunchError as error:
        connection.send(("unavailable", str(error)))
        return
    connection.send(("ready", device.name))
    while True:
        try:
            first, alone = connection.recv()
            batch: Batch = pickle.loads(connection.recv_bytes())  # noqa: S301 - from our own process
        except (EOFError, OSError):
            return
        try:
            if alone:
                for position in range(first, len(batch.launches)):
                    connection.send(("done", _run(device, batch, range(position, position + 1))))
            else:
                connection.send(("done", _run(device, batch, range(first, len(batch.launches)))))
        except LaunchError as error:
            connection.send(("fault", str(error)))
            return


def _run(device: Device, batch: Batch, chosen: range) -> list[str]:
    dump = device.execute(batch, chosen)
    if device.tampered():
        raise LaunchError(TAMPERED)
    return batch.findings(dump, chosen)
