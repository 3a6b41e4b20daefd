"""Campaigns: which views are looked at, and what is done with what comes back."""

from __future__ import annotations

import hashlib
import platform
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from tileproof.errors import FuzzError
from tileproof.fuzz import generate
from tileproof.fuzz.families import mnemonics
from tileproof.fuzz.rows import STRIDE, Chunk, Looked, Runner
from tileproof.fuzz.store import Store
from tileproof.report.version import tileproof_version

PACKAGES = ("numpy", "z3-solver")


@dataclass(frozen=True)
class Plan:
    """``views`` views in all, shared evenly by the families (the first ones get what is left over), or no end."""

    families: tuple[str, ...]
    seed: int
    views: int | None
    chunk: int

    def quota(self, family: str) -> int | None:
        """How many views of a family are wanted."""
        if self.views is None:
            return None
        share, left = divmod(self.views, len(self.families))
        return share + (self.families.index(family) < left)

    def missing(self, family: str, done: Sequence[range]) -> Iterator[Chunk]:
        """The chunks of a family that are not done, in order of their numbers."""
        quota = self.quota(family)
        last = STRIDE if quota is None else quota
        bounds = [*((r.start, r.stop) for r in done), (last, last)]
        first = 0
        for start, stop in bounds:
            while first < min(start, last):
                views = min(self.chunk, start - first, last - first)
                yield Chunk(family, self.seed, first, views)
                first += views
            first = max(first, stop)

    def chunks(self, done: dict[str, list[range]]) -> Iterator[Chunk]:
        """What is not done yet, a chunk of each family in turn, so that a campaign that is stopped has seen all."""
        sources = deque(self.missing(family, done.get(family, [])) for family in self.families)
        while sources:
            source = sources.popleft()
            chunk = next(source, None)
            if chunk is not None:
                sources.append(source)
                yield chunk

    def left(self, done: dict[str, list[range]]) -> int | None:
        """How many views are not done yet."""
        if self.views is None:
            return None
        return sum(c.views for family in self.families for c in self.missing(family, done.get(family, [])))


@dataclass(frozen=True)
class Setting:
    """What is noted of a run: who looks, and in which versions."""

    processes: str
    versions: dict[str, str]


def run(
    store: Store,
    plan: Plan,
    runner: Runner,
    setting: Setting,
    seconds: float | None = None,
    tell: Callable[[Chunk, Looked], None] = lambda _chunk, _found: None,
) -> int:
    """Look at what the store has not yet, until all is done or the time is up; the number of views looked at.

    Raises :class:`FuzzError`; what was reported before is in the store. The runner is closed.
    """
    begun = time.monotonic()

    def elapsed() -> float:
        return time.monotonic() - begun

    def in_time(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        for chunk in chunks:
            if seconds is not None and elapsed() >= seconds:
                return
            yield chunk

    views = 0
    with closing(runner):
        started = datetime.now(UTC).isoformat(timespec="seconds")
        number = store.begin_run(started, plan.families, plan.views, setting.processes, setting.versions)
        for chunk, found in runner.run(in_time(plan.chunks(store.done()))):
            store.write(number, chunk, found, elapsed())
            views += chunk.views
            tell(chunk, found)
    return views


def families_of(wanted: Sequence[str]) -> tuple[str, ...]:
    """The families of these names, ``all`` for every one. Raises :class:`FuzzError` for one that is not there."""
    known = mnemonics()
    for name in wanted:
        if name != "all" and name not in known:
            raise FuzzError(f"no family {name!r}; there are {', '.join(known)}, and all")
    return known if not wanted or "all" in wanted else tuple(n for n in known if n in wanted)


def generator() -> str:
    """Identifies the code that makes up views: where it differs, numbers stand for other views."""
    folder = Path(generate.__file__).parents[1]
    text = hashlib.sha256()
    for part in ("generate", "family", "oracle"):
        for path in sorted(folder.joinpath(part).glob("*.py")):
            text.update(path.name.encode() + path.read_bytes())
    return text.hexdigest()[:16]


def versions() -> dict[str, str]:
    """Of everything that an answer may depend on."""
    found = {"tileproof": tileproof_version(), "Python": platform.python_version()}
    return found | {name: metadata.version(name) for name in PACKAGES} | {"machine": platform.platform()}


def seconds_of(text: str) -> float:
    """A time such as ``90``, ``90s``, ``10m`` or ``2h`` in seconds. Raises :class:`FuzzError`."""
    units = {"s": 1, "m": 60, "h": 3600}
    number, unit = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1)
    try:
        value = float(number) * unit
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise FuzzError(f"--time {text!r}: a time is a number of seconds, or such as 90s, 10m or 2h")
    return value
