"""A runner over a Dask cluster: of this machine, or wherever its scheduler is.

Workers only look; the store is written here. So a worker that dies loses nothing that was reported, and its chunks go
to others.
"""

from __future__ import annotations

import importlib
import pickle
import re
from collections.abc import Iterable, Iterator
from typing import Any

from tileproof.errors import FuzzError, TileproofError
from tileproof.fuzz.attempts import Attempt, Attempts
from tileproof.fuzz.backends import ChunkFunction, Make
from tileproof.fuzz.rows import Chunk, Looked

AHEAD = 2
"""Chunks for each worker that are given away before their turn, so that no worker waits for the next one."""

CONNECT_S = "20s"

_functions: dict[bytes, ChunkFunction] = {}
"""In a worker: what was made there, once for each process, by what made it."""


class DaskRunner:
    """``address`` is that of a scheduler, or ``local`` for a cluster of ``processes`` processes here."""

    def __init__(self, make: Make, address: str, processes: int) -> None:
        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError as error:
            raise FuzzError(f"--dask needs Dask: pip install 'tileproof[distributed]' ({error})") from error
        self._make = make
        self._distributed = distributed
        self._cluster: Any = None
        self._client: Any = None
        try:
            if address == "local":
                # A worker of a GPU has processes of its own, which prepare what it runs.
                importlib.import_module("dask").config.set({"distributed.worker.daemon": False})
                self._cluster = distributed.LocalCluster(
                    n_workers=processes, threads_per_worker=1, processes=True, dashboard_address=":0"
                )
            self._client = distributed.Client(
                self._cluster or address, timeout=CONNECT_S, set_as_default=False
            )
        except (OSError, ValueError, TypeError) as error:
            self.close()
            raise FuzzError(
                f"no Dask scheduler at {address!r}; it looks like tcp://host:8786, or is `local` for a cluster of "
                f"this machine ({str(error).splitlines()[0] if str(error) else type(error).__name__})"
            ) from error

    def run(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Looked]]:
        """Raises what a chunk function says of a worker that can look at nothing any more, and :class:`FuzzError` if
        the scheduler is lost."""
        from distributed.client import FutureCancelledError
        from distributed.scheduler import KilledWorker

        attempts = Attempts(chunks)
        finished: Any = self._distributed.as_completed([], loop=self._client.loop)
        running: dict[Any, Attempt] = {}
        while True:
            while len(running) < AHEAD * max(1, len(self._client.nthreads())):
                attempt = attempts.next()
                if attempt is None:
                    break
                future = self._client.submit(_look, pickle.dumps(self._make), attempt.chunk, pure=False)
                running[future] = attempt
                finished.add(future)
            if not running:
                return
            future = next(finished)
            attempt = running.pop(future)
            result: tuple[Chunk, Looked] | None
            try:
                result = attempt.chunk, future.result()
            except TileproofError:
                raise
            except (KilledWorker, FutureCancelledError) as error:
                if self._client.status != "running":
                    raise FuzzError(f"the connection to the Dask scheduler is lost: {error}") from error
                result = attempts.failed(attempt, "every worker that looked at it ended")
            except Exception as error:  # noqa: BLE001 - what a worker raised is told with its chunk
                result = attempts.failed(attempt, f"{type(error).__name__}: {error}")
            if result is not None:
                yield result

    def close(self) -> None:
        for part in (self._client, self._cluster):
            if part is not None:
                part.close()


def _look(make: bytes, chunk: Chunk) -> Looked:
    """A task: the rows of a chunk, on whichever worker it comes to."""
    if make not in _functions:
        from distributed import get_worker

        _functions[make] = pickle.loads(make)(worker_number(get_worker().name))  # noqa: S301 - as Dask does
    return _functions[make](chunk)


def worker_number(name: object) -> int:
    """The number at the end of a worker's name, else 0; workers of a local cluster are named 0, 1, ..."""
    digits = re.search(r"\d+$", str(name))
    return int(digits.group()) if digits else 0
