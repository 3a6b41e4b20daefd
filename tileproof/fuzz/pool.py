"""A runner over processes of this machine. A process that dies takes nothing along but the chunk it had."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from tileproof.errors import FuzzError, TileproofError
from tileproof.fuzz.attempts import Attempt, Attempts
from tileproof.fuzz.backends import ChunkFunction, Make
from tileproof.fuzz.rows import Chunk, Looked

STARTS = 3
"""How often in a row a process may die before it is ready."""

GRACE_S = 10.0
"""Seconds that a process may take to end."""


@dataclass(eq=False)
class _Worker:
    number: int
    process: SpawnProcess
    connection: Connection
    ready: bool = False
    attempt: Attempt | None = None


class PoolRunner:
    """``processes`` processes, each with the chunk function that ``make`` makes there.

    ``notes`` say which of them have given up.
    """

    def __init__(self, make: Make, processes: int) -> None:
        self._make = make
        self._context = get_context("spawn")
        self._workers: list[_Worker] = []
        self._processes = processes
        self._stillborn = 0
        self.notes: list[str] = []

    def run(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Looked]]:
        """Raises :class:`FuzzError` if every process has given up, or if one does not even get ready."""
        attempts = Attempts(chunks)
        while len(self._workers) < self._processes:
            self._workers.append(self._start(len(self._workers)))
        while True:
            for worker in self._workers:
                if worker.attempt is None:
                    self._give(worker, attempts)
            busy = {w.connection: w for w in self._workers if w.attempt is not None}
            if not busy:
                return
            for connection in wait(list(busy)):
                finished = self._heard(busy[connection], attempts)  # type: ignore[index]
                if finished is not None:
                    yield finished

    def close(self) -> None:
        """End the processes, and give them time to give back what they hold."""
        for worker in self._workers:
            worker.connection.close()
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join(GRACE_S)
            worker.process.kill()
            worker.process.join()
        self._workers.clear()

    def _start(self, number: int) -> _Worker:
        here, there = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(there, self._make, number))
        process.start()
        there.close()
        return _Worker(number, process, here)

    def _give(self, worker: _Worker, attempts: Attempts) -> None:
        worker.attempt = attempts.next()
        if worker.attempt is not None:
            # A process that has died is heard of next.
            with suppress(OSError):
                worker.connection.send(worker.attempt.chunk)

    def _heard(self, worker: _Worker, attempts: Attempts) -> tuple[Chunk, Looked] | None:
        attempt = worker.attempt
        if attempt is None:
            return None
        try:
            kind, what = worker.connection.recv()
        except (EOFError, OSError):
            return self._died(worker, attempt, attempts)
        if kind == "ready":
            worker.ready, self._stillborn = True, 0
            return None
        if kind == "unusable":
            self._retire(worker, attempt, attempts, what)
            return None
        # The process gets its next chunk before anybody thinks about this one.
        self._give(worker, attempts)
        return attempts.failed(attempt, what) if kind == "raised" else (attempt.chunk, what)

    def _retire(self, worker: _Worker, attempt: Attempt, attempts: Attempts, reason: str) -> None:
        """Go on without a process that cannot look at anything, unless it is the last one."""
        attempts.later(attempt)
        self._workers.remove(worker)
        worker.process.join()
        worker.connection.close()
        self.notes.append(f"worker {worker.number} has given up: {reason}")
        if not self._workers:
            raise FuzzError(reason)

    def _died(self, worker: _Worker, attempt: Attempt, attempts: Attempts) -> tuple[Chunk, Looked] | None:
        worker.process.join()
        worker.connection.close()
        reason = _ending(worker.process.exitcode)
        if worker.ready:
            finished = attempts.failed(attempt, f"every process that looked at it ended: {reason}")
        else:
            self._stillborn += 1
            if self._stillborn >= STARTS:
                raise FuzzError(f"no process of the campaign gets ready: {reason}")
            finished = None
            attempts.later(attempt)
        self._workers[self._workers.index(worker)] = self._start(worker.number)
        return finished


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        try:
            return f"killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"killed by signal {-code}"
    return f"exit code {code}"


def _serve(connection: Connection, make: Make, number: int) -> None:
    """What a worker process does: chunks in, rows out, until nobody asks any more."""
    # Ctrl-C reaches every process of a terminal; the campaign decides when its workers end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What a chunk function holds, such as a device, is given back on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    look: ChunkFunction | None = None
    try:
        try:
            look = make(number)
        except Exception as error:
            raise FuzzError(str(error) if isinstance(error, TileproofError) else repr(error)) from error
        connection.send(("ready", None))
        while True:
            chunk = connection.recv()
            answer: tuple[str, Looked | str]
            try:
                answer = ("rows", look(chunk))
            except TileproofError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever it is, it is told with its chunk
                answer = ("raised", f"{type(error).__name__}: {error}")
            connection.send(answer)
    except TileproofError as error:
        connection.send(("unusable", str(error)))
    except (EOFError, OSError):
        pass  # the campaign has ended
    finally:
        close = getattr(look, "close", None)
        if close is not None:
            close()
