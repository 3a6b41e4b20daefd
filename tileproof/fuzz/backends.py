"""What looks at views: brute force, the simulator, a GPU, recorded maps, the peer.

A backend is a module of :mod:`tileproof.fuzz.backend` with a constant ``BACKEND``, found by being there: a
:class:`ViewBackend`, or a function that makes one from a file of hardware maps. Its name is the module's, with hyphens.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Protocol

from tileproof.errors import FuzzError
from tileproof.fuzz import backend as backend_package
from tileproof.fuzz.generate.choices import Choices
from tileproof.fuzz.rows import Chunk, Looked, Row, Runner


class ChunkFunction(Protocol):
    """Looks at each view of a chunk, in order. If it has a method ``close``, that is called at the end.

    What goes wrong with one view belongs into its row. A :class:`TileproofError` says that this process can look at
    nothing any more (its GPU is gone), and any other exception counts as the end of the process.
    """

    def __call__(self, chunk: Chunk, /) -> Looked: ...


Make = Callable[[int], ChunkFunction]
"""Makes the chunk function of worker process ``n``, in that process. Is sent there, so it is a function of a module."""


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class ViewBackend:
    """``missing`` says why it cannot be used here, or ``None``; ``processes`` how many are right by default: one
    for each core, or for each GPU. ``again`` looks at the one view that these choices give; with it failures are
    made minimal. ``versions`` are those of what it relies on beside tileproof. A chunk has ``chunk`` views.
    ``runner`` makes its own runner over so many processes of this machine; by default that is a pool of processes
    with a chunk function each.
    """

    summary: str
    make: Make
    missing: Callable[[], str | None] = lambda: None
    processes: Callable[[], int] = cores
    again: Callable[[str, Choices], Row] | None = None
    versions: Callable[[], dict[str, str]] = field(default=dict)
    chunk: int = 250
    runner: Callable[[int], Runner] | None = None


@cache
def names() -> tuple[str, ...]:
    """Every backend."""
    return tuple(m.name.replace("_", "-") for m in pkgutil.iter_modules(backend_package.__path__))


def backend_of(name: str, maps: Path | None = None) -> ViewBackend:
    """The backend of a name, with these hardware maps. Raises :class:`FuzzError` if it cannot be had here."""
    if name not in names():
        raise FuzzError(f"no backend {name!r}; there are {', '.join(names())}")
    module = importlib.import_module(f"{backend_package.__name__}.{name.replace('-', '_')}")
    found: ViewBackend | Callable[[Path | None], ViewBackend] = module.BACKEND
    if not isinstance(found, ViewBackend):
        return found(maps)
    if maps is not None:
        raise FuzzError(f"the backend {name} reads no hardware maps: leave --maps out")
    reason = found.missing()
    if reason is not None:
        raise FuzzError(f"the backend {name} cannot be used here: {reason}")
    return found
