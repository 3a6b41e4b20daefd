"""Several devices on one stream of chunks."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

import pytest

from tileproof.errors import LaunchError
from tileproof.fuzz.execute.devices import PART, DevicesRunner, parts, whole
from tileproof.fuzz.rows import Chunk, Row

CHUNKS = [Chunk("ld", 1, first, 2 * PART + 7) for first in range(0, 40 * PART, 4 * PART)]


class Fake:
    """Gives rows back in order; fails at a chunk."""

    def __init__(
        self, name: str, fails: int | None = None, together: threading.Barrier | None = None
    ) -> None:
        self.name, self.fails, self.together = name, fails, together
        self.closed = False
        self.seen: list[Chunk] = []

    def run(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, list[Row]]]:
        for chunk in chunks:
            if self.together is not None and not self.seen:
                self.together.wait(timeout=30)
            self.seen.append(chunk)
            if self.fails is not None and len(self.seen) > self.fails:
                raise LaunchError("the device is gone")
            rows = [
                Row(chunk.family, chunk.seed, n, "o", "thread", "proved", device=self.name)
                for n in chunk.numbers
            ]
            yield chunk, rows

    def close(self) -> None:
        self.closed = True


def test_a_chunk_is_its_parts() -> None:
    pieces = list(parts(CHUNKS[1]))
    assert [n for piece in pieces for n in piece.numbers] == list(CHUNKS[1].numbers)
    assert [piece.views for piece in pieces] == [PART, PART, 7]


def test_chunks_are_put_together_again() -> None:
    found = list(whole(Fake("a"), CHUNKS))
    assert [chunk for chunk, _ in found] == CHUNKS
    assert all([row.number for row in rows] == list(chunk.numbers) for chunk, rows in found)


def test_every_device_has_a_share_and_every_chunk_is_done_once() -> None:
    together = threading.Barrier(2)
    runner = DevicesRunner([Fake("a", together=together), Fake("b", together=together)])
    found = list(runner.run(CHUNKS))
    assert sorted(chunk for chunk, _ in found) == CHUNKS
    assert {row.device for _, rows in found for row in rows} == {"a", "b"}
    assert all([row.number for row in rows] == list(chunk.numbers) for chunk, rows in found)


def test_a_device_that_is_gone_ends_the_run_after_what_was_finished() -> None:
    runner = DevicesRunner([Fake("a", fails=7)])
    found = runner.run(CHUNKS)
    assert [next(found)[0], next(found)[0]] == CHUNKS[:2]
    with pytest.raises(LaunchError, match="the device is gone"):
        next(found)


def test_all_devices_are_given_back() -> None:
    fakes = [Fake("a"), Fake("b")]
    DevicesRunner(fakes).close()
    assert all(fake.closed for fake in fakes)
