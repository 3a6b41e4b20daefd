"""The runners of campaigns that execute proved views."""

from __future__ import annotations

import gc
import pickle
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context

from tileproof.fuzz.execute.batch import batches
from tileproof.fuzz.execute.cuda_device import CudaDevice
from tileproof.fuzz.execute.device import Device, DeviceWorker
from tileproof.fuzz.execute.entry import Backend, Trapped
from tileproof.fuzz.execute.expected import difference
from tileproof.fuzz.execute.look import View, look, look_at
from tileproof.fuzz.execute.simulated import Simulated
from tileproof.fuzz.generate.choices import Choices
from tileproof.fuzz.rows import Chunk, Row

ARCH = "sm_90a"
"""What GPUs of today's campaigns run."""


MOST_EXECUTING = 3
"""Prepared chunks that wait for the device."""

MOST_LOST = 3
"""Times in a row that a process dies over the same chunks before that is taken to be no accident."""


class SimulateRunner:
    """Every view in this process, on the simulator or another backend."""

    def __init__(self, backend: Backend | None = None) -> None:
        self._backend: Backend = Simulated() if backend is None else backend

    def run(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, list[Row]]]:
        for chunk in chunks:
            yield chunk, [self._row(view) for view in look_at(chunk)]

    def again(self, family: str, choices: Choices) -> Row:
        """The one view that these choices give."""
        return self._row(look(family, choices))

    def close(self) -> None:
        """Nothing is held."""

    def _row(self, view: View) -> Row:
        if view.entry is None or view.expected is None:
            return view.row
        if view.undefined:
            return replace(view.row, result="not executed: what two instructions write is undefined")
        start = time.perf_counter()
        (dump,) = self._backend.run([view.entry])
        result = f"trapped: {dump.reason}" if isinstance(dump, Trapped) else difference(dump, view.expected)
        return view.executed(result, self._backend.name, 1e3 * (time.perf_counter() - start))


@dataclass(frozen=True)
class Prepared:
    """A chunk that only has to be executed: its rows, and pickled batches with the places of their rows.

    ``refused`` are the places of the refused ones.
    """

    chunk: Chunk
    rows: list[Row]
    batches: list[tuple[bytes, tuple[int, ...]]]
    refused: frozenset[int] = frozenset()


def prepare(chunk: Chunk, arch: str = ARCH, legal: bool = False) -> Prepared:
    """Look at the views of a chunk, and assemble those that are to be executed."""
    views = list(look_at(chunk, arch, legal=legal))
    rows = [view.row for view in views]
    entries = [
        (place, view.entry, view.expected)
        for place, view in enumerate(views)
        if view.entry is not None and view.expected is not None
    ]
    start = time.perf_counter()
    # Refused views may trap, so they come in batches of their own.
    apart = frozenset(place for place, view in enumerate(views) if view.refused)
    made, refused = batches([e for e in entries if e[0] not in apart], arch)
    more, also_refused = batches([e for e in entries if e[0] in apart], arch)
    made, refused = [*made, *more], refused | also_refused
    each = 1e3 * (time.perf_counter() - start) / max(1, len(entries))
    for place, _, _ in entries:
        rows[place] = replace(rows[place], milliseconds={**rows[place].milliseconds, "assemble": each})
    for place, reason in refused.items():
        rows[place] = replace(rows[place], faults=(*rows[place].faults, f"not assembled: {reason}"))
    pickled = [(pickle.dumps(b, pickle.HIGHEST_PROTOCOL), b.numbers) for b in made]
    return Prepared(chunk, rows, pickled, apart)


def _seldom_collected() -> None:
    """Views leave few cycles behind, and looking for them at every turn takes a seventh of the time."""
    gc.freeze()
    gc.set_threshold(200_000, 20, 20)


class DeviceRunner:
    """Prepares chunks in ``processes`` processes and executes them on one device, in a process of its own."""

    def __init__(
        self,
        processes: int = 1,
        device: int = 0,
        *,
        opened: Callable[[], Device] | None = None,
        arch: str = ARCH,
        legal: bool = False,
    ) -> None:
        """``opened`` makes the device, by default CUDA's number ``device``. ``legal`` as for ``look_at``.

        Raises :class:`~tileproof.errors.LaunchError` if there is none.
        """
        self._worker = DeviceWorker(opened or partial(CudaDevice, device))
        self._processes = processes
        self._arch, self._legal = arch, legal
        self._pool = self._processes_started()
        # The device works while the next chunk is on its way.
        self._thread = ThreadPoolExecutor(1)

    @property
    def device(self) -> str:
        """The device's name."""
        return self._worker.name

    @property
    def restarts(self) -> int:
        """How often the worker of the device had to be replaced."""
        return self._worker.restarts

    def run(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, list[Row]]]:
        """In the order of the chunks.

        Raises :class:`~tileproof.errors.LaunchError` if the device is gone, and whatever ends preparing processes
        again and again.
        """
        todo = iter(chunks)
        preparing, executing = (
            deque[tuple[Chunk, Future[Prepared]]](),
            deque[tuple[Chunk, Future[list[Row]]]](),
        )
        lost = 0
        while True:
            while len(preparing) < 2 * self._processes and (chunk := next(todo, None)) is not None:
                preparing.append((chunk, self._submitted(chunk)))
            if preparing and len(executing) < MOST_EXECUTING:
                chunk, prepared = preparing.popleft()
                try:
                    executing.append((chunk, self._thread.submit(self._executed, prepared.result())))
                    lost = 0
                except BrokenProcessPool:
                    lost += 1
                    if lost > MOST_LOST:
                        raise
                    self._pool = self._processes_started()
                    again = [chunk, *(c for c, _ in preparing)]
                    preparing = deque((c, self._submitted(c)) for c in again)
            elif executing:
                chunk, rows = executing.popleft()
                yield chunk, rows.result()
            else:
                return

    def close(self) -> None:
        """End all processes."""
        self._pool.shutdown(cancel_futures=True)
        self._thread.shutdown(cancel_futures=True)
        self._worker.close()

    def _processes_started(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self._processes, get_context("spawn"), _seldom_collected)

    def _submitted(self, chunk: Chunk) -> Future[Prepared]:
        """Fails, when it is waited for, if a process is already known to have died."""
        try:
            return self._pool.submit(prepare, chunk, self._arch, self._legal)
        except BrokenProcessPool as error:
            failed: Future[Prepared] = Future()
            failed.set_exception(error)
            return failed

    def _executed(self, prepared: Prepared) -> list[Row]:
        rows = list(prepared.rows)
        for batch, places in prepared.batches:
            start = time.perf_counter()
            results = self._worker.run(batch, len(places))
            each = 1e3 * (time.perf_counter() - start) / len(places)
            for place, result in zip(places, results, strict=True):
                view = View(rows[place], refused=place in prepared.refused)
                rows[place] = view.executed(result, self._worker.name, each)
        return rows
