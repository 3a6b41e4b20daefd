"""All GPUs of a machine at work on one stream of chunks, each with its share of the processors."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from tileproof.fuzz.rows import Chunk, Looked, Runner

PART = 128
"""Views that one process prepares at a time."""


def parts(chunk: Chunk) -> Iterator[Chunk]:
    """The chunk in pieces that are prepared and executed at once."""
    last = chunk.numbers.stop
    for first in range(chunk.first, last, PART):
        yield Chunk(chunk.family, chunk.seed, first, min(PART, last - first))


def whole(runner: Runner, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Looked]]:
    """The chunks that a runner finishes when it is given their parts."""
    wholes: dict[Chunk, Chunk] = {}
    found: dict[Chunk, dict[int, Looked]] = {}

    def given() -> Iterator[Chunk]:
        for chunk in chunks:
            pieces = list(parts(chunk))
            wholes.update(dict.fromkeys(pieces, chunk))
            found[chunk] = {}
            yield from pieces

    for part, rows in runner.run(given()):
        chunk = wholes.pop(part)
        found[chunk][part.first] = rows
        if sum(map(len, found[chunk].values())) == chunk.views:
            yield chunk, [row for _, some in sorted(found.pop(chunk).items()) for row in some]


class DevicesRunner:
    """Gives chunks to runners that each keep one device busy, as they ask for them."""

    def __init__(self, runners: Sequence[Runner]) -> None:
        self._runners = runners

    def run(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Looked]]:
        """In the order in which chunks are finished. Raises what a runner raises, once all others have stopped."""
        todo, lock = iter(chunks), threading.Lock()
        finished: queue.Queue[tuple[Chunk, Looked] | BaseException | None] = queue.Queue()
        stopped = threading.Event()

        def shared() -> Iterator[Chunk]:
            while not stopped.is_set():
                with lock:
                    chunk = next(todo, None)
                if chunk is None:
                    return
                yield chunk

        def work(runner: Runner) -> None:
            try:
                for item in whole(runner, shared()):
                    finished.put(item)
            except BaseException as error:  # noqa: BLE001 - told to whoever waits for the rows
                stopped.set()
                finished.put(error)
            finally:
                finished.put(None)

        threads = [threading.Thread(target=work, args=(runner,), daemon=True) for runner in self._runners]
        for thread in threads:
            thread.start()
        left, failure = len(threads), None
        try:
            while left:
                item = finished.get()
                if item is None:
                    left -= 1
                elif isinstance(item, BaseException):
                    failure = failure or item
                else:
                    yield item
        finally:
            stopped.set()
        if failure is not None:
            raise failure

    def close(self) -> None:
        """Give all devices back."""
        for runner in self._runners:
            with suppress(OSError):
                runner.close()
