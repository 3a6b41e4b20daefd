"""Chunks that have to be looked at again, because whoever had them is gone.

A chunk gets three attempts. Then it is halved, again and again, until the one view is found that nobody survives;
its row says so, and all others are looked at as usual.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tileproof.fuzz.families import generate
from tileproof.fuzz.rows import Chunk, Looked, Row, choices_of

ATTEMPTS = 3


@dataclass(frozen=True)
class Attempt:
    """A chunk, and how often it has failed."""

    chunk: Chunk
    failures: int = 0


class Attempts:
    """Hands out chunks, those that failed before new ones."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self._new: Iterator[Chunk] = iter(chunks)
        self._again: deque[Attempt] = deque()

    def next(self) -> Attempt | None:
        """The next one, or ``None`` when there is none now; a later failure may bring more."""
        if self._again:
            return self._again.popleft()
        chunk = next(self._new, None)
        return None if chunk is None else Attempt(chunk)

    def later(self, attempt: Attempt) -> None:
        """Plan what was never begun."""
        self._again.append(attempt)

    def failed(self, attempt: Attempt, reason: str) -> tuple[Chunk, Looked] | None:
        """Plan another attempt; or the row of a view that was given up."""
        chunk, failures = attempt.chunk, attempt.failures + 1
        if failures < ATTEMPTS:
            self._again.append(Attempt(chunk, failures))
        elif chunk.views > 1:
            half = chunk.views // 2
            # The next failure of a half halves it again.
            self._again.append(Attempt(Chunk(chunk.family, chunk.seed, chunk.first, half), ATTEMPTS - 1))
            rest = Chunk(chunk.family, chunk.seed, chunk.first + half, chunk.views - half)
            self._again.append(Attempt(rest, ATTEMPTS - 1))
        else:
            return chunk, [given_up(chunk, reason)]
        return None


def given_up(chunk: Chunk, reason: str) -> Row:
    """The row of a view that ended every process that looked at it."""
    opcode = scope = ""
    try:
        call = generate(chunk.family, choices_of(chunk.seed, chunk.first))
        opcode, scope = call.form, call.scope
    except Exception as error:  # noqa: BLE001 - perhaps it is this that nobody survives
        reason = f"{reason}; it cannot be made up: {type(error).__name__}: {error}"
    return Row(chunk.family, chunk.seed, chunk.first, opcode, scope, "died", faults=(f"died: {reason}",))
