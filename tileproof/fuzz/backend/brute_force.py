"""The library's answer against brute force over every point: verdict, obligations, hazards, counterexamples."""

from __future__ import annotations

import time

from tileproof.fuzz.agreement import Comparison, compare
from tileproof.fuzz.backends import ChunkFunction, ViewBackend
from tileproof.fuzz.families import generate
from tileproof.fuzz.generate.choices import Choices
from tileproof.fuzz.oracle.demands import Outcome
from tileproof.fuzz.oracle.description import Call
from tileproof.fuzz.rows import Chunk, Row, choices_of


def compared(call: Call) -> Comparison:
    """Both opinions. An exception that the library does not document is a disagreement too."""
    try:
        return compare(call)
    except Exception as error:  # noqa: BLE001 - whatever it is, it belongs into the count
        return Comparison("raised", Outcome(), faults=(f"raised {type(error).__name__}: {error}",))


def look(family: str, choices: Choices, seed: int = 0, number: int = 0) -> Row:
    """The row of the view that these choices give."""
    call = generate(family, choices)
    start = time.perf_counter()
    found = compared(call)
    spent = (time.perf_counter() - start) * 1e3
    return Row(
        family, seed, number, call.form, call.scope, found.verdict,
        tuple(sorted(found.refuted)), tuple(sorted(found.hazards)), tuple(sorted(found.undecided)),
        faults=found.faults, milliseconds={"compare": spent},
    )  # fmt: skip


def looked(chunk: Chunk) -> list[Row]:
    """The rows of a chunk."""
    return [look(chunk.family, choices_of(chunk.seed, n), chunk.seed, n) for n in chunk.numbers]


def make(worker: int) -> ChunkFunction:  # noqa: ARG001 - any process will do
    """Nothing has to be made."""
    return looked


BACKEND = ViewBackend("brute force over every point of a view", make, again=look, chunk=50)
