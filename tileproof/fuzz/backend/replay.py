"""Contract and brute force against recorded hardware maps, over many instances of each view, without a GPU."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from tileproof.errors import FuzzError
from tileproof.fuzz.backends import ChunkFunction, ViewBackend
from tileproof.fuzz.maps import read
from tileproof.fuzz.replay import replay_chunk
from tileproof.fuzz.rows import Chunk, Looked, Row
from tileproof.fuzz.template import PER_TEMPLATE

FOLDER = Path("tests", "hardware")
"""Where ``tileproof fuzz record`` writes maps."""


def make(path: Path, worker: int) -> ChunkFunction:  # noqa: ARG001 - any process will do
    """Reads the maps once."""
    maps = read(path)

    def looked(chunk: Chunk) -> Looked:
        found = replay_chunk(chunk, maps)
        return [*found.tallies, *(_within(chunk, row) for row in found.rows)]

    return looked


def _within(chunk: Chunk, row: Row) -> Row:
    """What is wrong with a whole template is told of its first view in the chunk."""
    return row if row.number in chunk.numbers else replace(row, number=chunk.first)


def with_maps(path: Path | None) -> ViewBackend:
    """The backend over one file of maps, by default the only one. Raises :class:`FuzzError`."""
    if path is None:
        found = sorted(FOLDER.glob("*.maps.json"))
        if len(found) != 1:
            names = ", ".join(map(str, found)) or f"none in {FOLDER}"
            raise FuzzError(f"replay needs one file of hardware maps, --maps FILE; there is {names}")
        path = found[0]
    maps = read(path)
    return ViewBackend(
        f"recorded maps of {maps.device}",
        partial(make, path.resolve()),
        versions=lambda: {"maps": f"{maps.device}, driver {maps.driver}, tileproof {maps.tileproof}"},
        chunk=2 * PER_TEMPLATE,
    )


BACKEND = with_maps
