"""The nearest existing system: does it decide the same views the same way?

What it decides otherwise is information, not a fault: ``result`` is ``peer-refuses-legal`` or
``peer-accepts-illegal``. A view that its language cannot say is not asked about.
"""

from __future__ import annotations

from dataclasses import replace

from tileproof.fuzz.backend.brute_force import look
from tileproof.fuzz.backends import ChunkFunction, ViewBackend
from tileproof.fuzz.families import generate
from tileproof.fuzz.peer import PACKAGE, installed
from tileproof.fuzz.peer.ask import Answer, Peer
from tileproof.fuzz.peer.describe import described
from tileproof.fuzz.rows import Chunk, Row, choices_of

CAP_S = 60.0
"""Seconds that the peer may think about a view."""

REFUSES, ACCEPTS = ("reject", "later"), ("accept",)


def result_of(verdict: str, answer: Answer) -> str:
    """How the peer's answer compares with the library's verdict on the same call."""
    if answer.verdict in ACCEPTS:
        return {"proved": "agreed", "refuted": "peer-accepts-illegal"}.get(verdict, "peer-accepts")
    if answer.verdict in REFUSES:
        return {"proved": "peer-refuses-legal", "refuted": "agreed"}.get(verdict, "peer-refuses")
    return f"peer-{answer.verdict}: {answer.message}".removesuffix(": ")


def make(worker: int) -> ChunkFunction:  # noqa: ARG001 - any process will do
    """Starts the peer, which is a process of its own."""
    peer = Peer(CAP_S, 1, 1.0)

    def looked(chunk: Chunk) -> list[Row]:
        return [_asked(peer, chunk, number) for number in chunk.numbers]

    return looked


def _asked(peer: Peer, chunk: Chunk, number: int) -> Row:
    row = look(chunk.family, choices_of(chunk.seed, number), chunk.seed, number)
    entry = described(generate(chunk.family, choices_of(chunk.seed, number)))
    # A call that cannot be made, or that nobody executes, is not what the peer is about.
    if entry is None or row.verdict not in ("proved", "refuted"):
        return row
    answer = peer.ask(entry)
    spent = {} if answer.ms is None else {"peer": answer.ms}
    return replace(
        row,
        executed="asked",
        result=result_of(row.verdict, answer),
        milliseconds={**row.milliseconds, **spent},
        device=f"{PACKAGE} {installed()}",
    )


def _missing() -> str | None:
    return None if installed() else f"{PACKAGE} is not installed: pip install 'tileproof[peer]'"


BACKEND = ViewBackend(
    "the nearest existing system, on the views that its language can say",
    make,
    missing=_missing,
    again=look,
    versions=lambda: {PACKAGE: installed() or "none"},
    chunk=50,
)
