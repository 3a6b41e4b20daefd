"""Who received what, from tagged runs of one memory instruction.

Each run gives every lane another address. A byte that came back has one origin only if exactly one byte of one lane's
access, or zero, explains it in every run; anything else is an error, never a guess.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tileproof.errors import TileproofError
from tileproof.fuzz.execute.entry import Bytes, Entry
from tileproof.fuzz.execute.table import TableForm, accesses, poison
from tileproof.fuzz.execute.tags import POISON, region, words

GRID, REPEATS, WARPS, LANES = 2, 6, 2, 32
THREADS = WARPS * LANES
RUNS = GRID * REPEATS * WARPS
"""One byte tells a wrong origin from the right one with a chance of 255 in 256; so many runs leave 2**-192."""

ZERO = -1
"""The lane of a byte that no memory was read for."""


class ReconstructionError(TileproofError):
    """Runs that no map explains, or more than one."""


@dataclass(frozen=True, eq=False)
class Movement:
    """``lane[r, l, b]`` and ``offset[r, l, b]``: byte ``b`` of register ``r`` of lane ``l`` is, in memory, the byte
    ``offset`` past the address that ``lane`` supplies (:data:`ZERO`: none, it is zero).

    Of a copy the destination stands where others have registers, and ``r`` numbers the values of its size operand.
    """

    lane: npt.NDArray[np.int16]
    offset: npt.NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class Tagged:
    """Runs of a form: the entry, and what was in its table, shaped ``(cta, repeat, thread)``."""

    form: TableForm
    entry: Entry
    offsets: npt.NDArray[np.int64]
    sources: npt.NDArray[np.int64]
    memory_bytes: int


def sizes(form: TableForm) -> tuple[int, ...]:
    """The values of the size operand that are recorded; one, of no meaning, where there is none."""
    return {"": (0,), "size": tuple(range(form.chunk + 1)), "ignore": (0, 1)}[form.amount]


def tagged_runs(form: TableForm, seed: int) -> list[Tagged]:
    """The runs from which a form's map is reconstructed: one entry for each of :func:`sizes`."""
    return [
        _tagged(form, np.random.default_rng([seed, size, *form.label.encode()]), size) for size in sizes(form)
    ]


def _tagged(form: TableForm, random: np.random.Generator, size: int) -> Tagged:
    pitch, shape = form.access, (GRID, REPEATS, THREADS)
    if form.space == "local":
        # Every thread has memory of its own.
        slots = np.stack([random.permutation(THREADS)[:REPEATS] for _ in range(GRID * THREADS)])
        offsets = slots.reshape(GRID, THREADS, REPEATS).transpose(0, 2, 1) * pitch
        memory = THREADS * pitch
    elif form.kind == "load":
        slots = np.stack([random.permutation(THREADS) for _ in range(GRID * REPEATS)])
        offsets, memory = slots.reshape(shape) * pitch, THREADS * pitch
    else:
        slots = np.stack([random.permutation(REPEATS * THREADS) for _ in range(GRID)])
        offsets, memory = slots.reshape(shape) * pitch, REPEATS * THREADS * pitch
    sources = np.stack([random.permutation(4 * THREADS)[:THREADS] for _ in range(GRID * REPEATS)]).reshape(
        shape
    )
    sources = sources * pitch
    memory = -(-memory // 4) * 4
    entry = accesses(
        form, offsets, sources=sources, sizes=np.full(shape, size), memory_bytes=memory,
    )  # fmt: skip
    return Tagged(form, entry, offsets, sources, memory)


def reconstruct(runs: list[Tagged], dumps: list[Bytes]) -> Movement:
    """The map of a form, from the dumps of its :func:`tagged_runs`.

    Raises :class:`ReconstructionError` where it is not one map, the same for each warp and CTA.
    """
    form = runs[0].form
    step = {"load": _loaded, "store": _stored, "copy": _copied}[form.kind]
    found = [step(run, dump) for run, dump in zip(runs, dumps, strict=True)]
    if form.kind == "copy":
        return Movement(np.stack([m.lane for m in found]), np.stack([m.offset for m in found]))
    return found[0]


def _by_lane(array: Any) -> Any:
    """``(cta, repeat, thread, ...)`` as ``(run, lane, ...)``; a warp is a run of its own."""
    return array.reshape(RUNS, LANES, *array.shape[3:])


def _memory_content(run: Tagged, addresses: Any) -> Any:
    """The tagged bytes at ``(cta, repeat, thread, byte)`` addresses of the memory that is loaded from."""
    if run.form.space != "local":
        return region(int(addresses.max()) + 4)[addresses]
    thread = np.arange(THREADS).reshape(1, 1, -1, 1)
    word = words(thread * (run.memory_bytes // 4) + addresses // 4)
    return (word >> (8 * (addresses % 4)).astype(np.uint32)).astype(np.uint8)


def _span(offsets: Any, size: int) -> Any:
    return offsets[..., None] + np.arange(size)


def _register_bytes(form: TableForm, dumped: Any) -> Any:
    """``(run, lane, register, byte)`` of dumped words; narrow elements come zero-extended (PTX ISA 9.4.1)."""
    width = max(4, form.bits // 8)
    whole = dumped.reshape(*dumped.shape[:2], form.registers, width)
    if whole[..., form.bits // 8 :].any():
        raise ReconstructionError(
            f"{form.label}: bits above an element of {form.bits} are not zero in its register"
        )
    return whole[..., : form.bits // 8]


def _loaded(run: Tagged, dump: Bytes) -> Movement:
    form = run.form
    used = REPEATS * THREADS * form.words * 4
    dumped = dump[:, :used].reshape(GRID, REPEATS, THREADS, form.words * 4)
    received = _register_bytes(form, _by_lane(dumped))
    there = _by_lane(_memory_content(run, _span(run.offsets, form.access)))
    lane, offset = _origins(form, received.reshape(RUNS, -1), there, "register byte")
    shape = LANES, form.registers, form.bits // 8
    return Movement(lane.reshape(shape).transpose(1, 0, 2), offset.reshape(shape).transpose(1, 0, 2))


def _origins(form: TableForm, received: Any, there: Any, what: str) -> tuple[Any, Any]:
    """For each received byte ``(run, byte)`` the only byte of ``there`` ``(run, lane, byte)`` that explains it."""
    candidates = np.concatenate([np.zeros((RUNS, 1), np.uint8), there.reshape(RUNS, -1)], axis=1)
    fits = np.ones((received.shape[1], candidates.shape[1]), bool)
    for got, could in zip(received, candidates, strict=True):
        fits &= got[:, None] == could[None, :]
    explained = fits.sum(axis=1)
    if (explained != 1).any():
        at = int(np.argmax(explained != 1))
        raise ReconstructionError(
            f"{form.label}: {what} {at} has {int(explained[at])} origins that explain all {RUNS} runs; needed is one"
        )
    index = fits.argmax(axis=1) - 1
    width = there.shape[2]
    lane = np.where(index < 0, ZERO, index // width).astype(np.int16)
    return lane, np.where(index < 0, 0, index % width).astype(np.int16)


def _written(run: Tagged, dump: Bytes) -> Any:
    """``(run, lane, byte)``: what stands after the run where each lane's address points. All else is poison."""
    form = run.form
    own = THREADS if form.space == "local" else 1
    memory = dump[:, : run.memory_bytes * own].reshape(GRID, own, run.memory_bytes)
    cta = np.arange(GRID).reshape(-1, 1, 1, 1)
    thread = np.arange(THREADS).reshape(1, 1, -1, 1) if own > 1 else np.zeros((1, 1, 1, 1), np.int64)
    where = _span(run.offsets, form.access)
    left = memory.copy()
    left[cta, thread, where] = POISON
    if (left != POISON).any():
        raise ReconstructionError(f"{form.label}: bytes that no lane's address points at were written")
    return _by_lane(memory[cta, thread, where])


def _stored(run: Tagged, dump: Bytes) -> Movement:
    form = run.form
    written = _written(run, dump)
    number = np.arange(GRID * REPEATS * THREADS * form.words)
    tags = words(number).view(np.uint8).reshape(RUNS, LANES, form.registers, -1)[..., : form.bits // 8]
    flat = written.reshape(RUNS, -1)
    touched = (flat != poison(1)).any(axis=0)
    lane, byte = _origins(form, flat[:, touched], tags.reshape(RUNS, LANES, -1), "memory byte")
    shape = LANES, form.registers * form.bits // 8
    place = np.flatnonzero(touched)
    if (lane < 0).any() or len({*zip(lane.tolist(), byte.tolist(), strict=True)}) != shape[0] * shape[1]:
        raise ReconstructionError(
            f"{form.label}: not every register byte of every lane was stored exactly once"
        )
    to_lane, to_offset = np.empty(shape, np.int16), np.empty(shape, np.int16)
    to_lane[lane, byte], to_offset[lane, byte] = place // form.access, place % form.access
    by_register = LANES, form.registers, form.bits // 8
    return Movement(
        to_lane.reshape(by_register).transpose(1, 0, 2), to_offset.reshape(by_register).transpose(1, 0, 2)
    )


def _copied(run: Tagged, dump: Bytes) -> Movement:
    written = _written(run, dump)
    there = _by_lane(
        region(int(run.sources.max()) + run.form.access + 4)[_span(run.sources, run.form.access)]
    )
    lane, offset = _origins(run.form, written.reshape(RUNS, -1), there, "destination byte")
    return Movement(lane.reshape(LANES, -1), offset.reshape(LANES, -1))


def entries(runs: dict[str, list[Tagged]]) -> Iterator[Entry]:
    """Every entry of the runs, in their order."""
    for several in runs.values():
        for run in several:
            yield run.entry
