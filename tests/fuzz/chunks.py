"""Chunk functions that cost nothing, some of which end the process that runs them."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tileproof.errors import FuzzError
from tileproof.fuzz.backends import ChunkFunction
from tileproof.fuzz.rows import Chunk, Row

MARK = "TILEPROOF_TEST_MARK"
"""The environment variable with the path of a file that says whether a process has ended before."""

DEADLY = 7


def row(chunk: Chunk, number: int) -> Row:
    """Any row; it follows from family, seed and number."""
    some = (number * 0x9E3779B1 + chunk.seed) >> 7
    refuted = ("aligned", "contiguous", "in-bounds")[: some % 4]
    faults = (f"unsound: {number}",) if some % 97 == 0 else ()
    return Row(
        chunk.family, chunk.seed, number, f"{chunk.family}.global.b{8 << some % 4}", ("thread", "warp")[some % 2],
        "refuted" if refuted else "proved", refuted, ("replica",) * (some % 5 == 0), ("uniform",) * (some % 11 == 0),
        "" if refuted else "emitted", "" if refuted else "agreed", faults, {"check": some % 1000 / 1000}, "a device",
    )  # fmt: skip


def plain(chunk: Chunk) -> list[Row]:
    return [row(chunk, number) for number in chunk.numbers]


def killed_once(chunk: Chunk) -> list[Row]:
    """The first process that comes to the deadly view is killed; the next one survives it."""
    mark = Path(os.environ[MARK])
    if DEADLY in chunk.numbers and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return plain(chunk)


def deadly(chunk: Chunk) -> list[Row]:
    """Nobody survives the deadly view."""
    if DEADLY in chunk.numbers and chunk.family == "ld":
        os.kill(os.getpid(), signal.SIGKILL)
    return plain(chunk)


def raising(chunk: Chunk) -> list[Row]:
    if DEADLY in chunk.numbers and chunk.family == "ld":
        raise ZeroDivisionError("by zero")
    return plain(chunk)


def without_device(chunk: Chunk) -> list[Row]:
    raise FuzzError("no GPU here: cuInit says 100")


class Holding:
    """Says in a file when it gives back what it holds."""

    def __call__(self, chunk: Chunk) -> list[Row]:
        return plain(chunk)

    def close(self) -> None:
        Path(os.environ[MARK]).touch()


def make_holding(worker: int) -> ChunkFunction:
    return Holding()


def in_a_process_of_its_own(chunk: Chunk) -> list[Row]:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(plain, chunk).result()


def make_with_processes(worker: int) -> ChunkFunction:
    return in_a_process_of_its_own


def make_first_gives_up(worker: int) -> ChunkFunction:
    return without_device if worker == 0 else plain


def make_plain(worker: int) -> ChunkFunction:
    return plain


def make_killed_once(worker: int) -> ChunkFunction:
    return killed_once


def make_deadly(worker: int) -> ChunkFunction:
    return deadly


def make_raising(worker: int) -> ChunkFunction:
    return raising


def make_without_device(worker: int) -> ChunkFunction:
    return without_device


def make_nothing(worker: int) -> ChunkFunction:
    os._exit(3)


def make_unusable(worker: int) -> ChunkFunction:
    raise FuzzError("no GPU here: the driver is not installed")
