"""What a recorded map does with the addresses of many views, held against what the views say.

The instruction gets the address that the view has for the first element of an access; the map then tells from where
each register byte of each lane comes (or where it goes). The view says where it should. Both are byte offsets in the
storage, so they are compared without any memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tileproof.errors import TileproofError
from tileproof.fuzz.execute.table import table_forms
from tileproof.fuzz.instances import by_instance
from tileproof.fuzz.maps import HardwareMaps
from tileproof.fuzz.reconstruct import LANES, ZERO, Movement

Bools = npt.NDArray[np.bool_]


class UnrecordedError(TileproofError):
    """The maps lack a form; record them again."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """A map in runs of bytes: register ``r`` of lane ``l`` has, from byte ``start[p]`` on, the bytes from
    ``offset[r, l, p]`` on of what ``lane[r, l, p]`` points at.
    """

    start: npt.NDArray[np.int64]
    lane: npt.NDArray[np.int64]
    offset: npt.NDArray[np.int64]

    @cached_property
    def own(self) -> bool:
        """Whether every lane only has what it points at itself, and all lanes the same of it."""
        alike = (self.offset == self.offset[:, :1]).all()
        return bool(alike and (self.lane == np.arange(LANES)[:, None]).all())


def pieces(movement: Movement) -> Pieces:
    """The longest runs that all registers and lanes have in common."""
    width = movement.lane.shape[2]
    size = width
    while size > 1:
        runs = movement.lane.shape[0], LANES, width // size, size
        lane, offset = movement.lane.reshape(runs), movement.offset.reshape(runs)
        if (lane == lane[..., :1]).all() and (offset == offset[..., :1] + np.arange(size)).all():
            break
        size //= 2
    start = np.arange(0, width, size)
    return Pieces(
        start, movement.lane[..., start].astype(np.int64), movement.offset[..., start].astype(np.int64)
    )


def label(call: Any) -> str:
    """The form of a call among the maps. Types and cache operators change nothing of what goes where."""
    if not hasattr(call, "chunk"):
        return str(call.opcode)
    amount = ", src-size" if call.src_size is not None else ", ignore-src" if call.ignore is not None else ""
    return f"{call.opcode} {call.chunk}{amount}"


@cache
def _labels() -> frozenset[str]:
    return frozenset(form.label for form in table_forms())


def recordable(call: Any) -> bool:
    """Whether maps of sm_90a may speak of the call; 256-bit accesses came later (PTX ISA 9.7.9.8)."""
    return not hasattr(call, "memory") or label(call) in _labels()


def demanded(call: Any) -> tuple[str, ...]:
    """The demands that a map speaks to: without them it delivers something else than the view says."""
    if hasattr(call, "chunk"):
        return "destination-contiguous", "source-contiguous"
    return ("row-contiguous",) if call.collective else ("contiguous",)


def misdelivered(call: Any, judged: Any, maps: HardwareMaps) -> Bools:
    """In which instances the map delivers something else than the view says to a thread that executes.

    ``judged`` has the places of all elements. Raises :class:`UnrecordedError`.
    """
    movement = maps.movement.get(label(call))
    if movement is None:
        raise UnrecordedError(f"the maps of {maps.device} have no {label(call)}: record them again")
    if hasattr(call, "chunk"):
        return _copied(call, judged, movement)
    words = judged._place(call.memory, judged.element).offset
    found = _of_matrices if call.collective else _of_vectors
    return found(call, judged, words, pieces(movement))


def _of_vectors(_call: Any, judged: Any, words: Any, map_: Pieces) -> Bools:
    lanes = judged.symbols + 1
    first = words[..., :1]
    wrong: Any = False
    if map_.own:
        # The same for all lanes, so nothing of theirs needs to be spread out.
        for p, start in enumerate(map_.start):
            wrong = wrong | (first + map_.offset[:, 0, p] != words + start)
    else:
        first = _spread(first, lanes)
        for r in range(words.shape[-1]):
            for p, start in enumerate(map_.start):
                there = np.take(first, map_.lane[r, :, p], axis=lanes)
                offset = map_.offset[r, :, p].reshape([-1 if d == lanes else 1 for d in range(words.ndim)])
                wrong = wrong | (there + offset != words[..., r : r + 1] + start)
    return by_instance(np.asarray(wrong) & judged.executing, judged.count)


def _spread(array: Any, axis: int) -> Any:
    if array.shape[axis] == LANES:
        return array
    return np.broadcast_to(array, [LANES if d == axis else n for d, n in enumerate(array.shape)])


def _of_matrices(call: Any, judged: Any, words: Any, map_: Pieces) -> Bools:
    """Lane ``8*matrix + row`` points at a row. What a register has is a word ``(matrix, row, word)`` of the view, of
    which the map says the owner; with ``.trans`` of the transpose, in units of 16 bits.
    """
    full = np.broadcast_to(words, (*words.shape[:-3], call.count, 8, 4))
    flat = full.reshape(*full.shape[:-3], call.count * 32)
    rows = full[..., 0].reshape(*full.shape[:-3], call.count * 8)
    registers, lanes, parts = (a.reshape(-1) for a in np.indices(map_.lane.shape))
    supplier, offset = map_.lane.reshape(-1), map_.offset.reshape(-1)
    start = map_.start[parts]
    row, word = lanes // 4, lanes % 4
    if call.trans:
        unit = 2 * word + start // 2
        row, word, start = unit, row // 2, start % 2 + 2 * (row % 2)
    said = flat[..., registers * 32 + row * 4 + word] + start
    delivered = np.take(rows, np.minimum(supplier, rows.shape[-1] - 1), axis=-1) + offset
    wrong = (said != delivered) | (supplier >= rows.shape[-1]) | (supplier == ZERO)
    there = judged.executing.any(axis=judged.symbols + 1, keepdims=True).reshape(
        *judged.executing.shape[: judged.symbols + 1], *[1] * (wrong.ndim - judged.symbols - 1)
    )
    return by_instance(wrong & there, judged.count)


def _copied(call: Any, judged: Any, movement: Movement) -> Bools:
    """Element ``e`` of a chunk is read where the source has it and written where the destination has it."""
    width = call.memory.view_bits // 8
    whole = pieces(Movement(*(a[_whole(call)][None] for a in (movement.lane, movement.offset))))
    target = judged._place(call.memory, judged.element).offset
    source = judged._place(call.registers, judged.element).offset
    byte = judged.element[-1] * width
    wrong: Any = (target != target[..., :1] + byte) | np.asarray(not whole.own)
    starts = np.arange(0, call.chunk, width)
    offsets = movement.offset[_whole(call), 0]
    wrong = wrong | (source != source[..., :1] + offsets[starts])
    wrong = wrong | (np.diff(offsets.reshape(-1, width), axis=1) != 1).any()
    return by_instance(wrong & judged.executing, judged.count)


def _whole(call: Any) -> int:
    """The row of a copy's map in which all of the source is read."""
    return call.chunk if call.src_size is not None else 0


def zero_fills(call: Any, maps: HardwareMaps) -> bool:
    """Whether a copy that reads less than its chunk makes the rest zero, as the ISA has it (9.7.9.25.3)."""
    movement = maps.movement[label(call)]
    reads = [call.chunk, 0] if call.ignore is not None else range(call.chunk + 1)
    if call.src_size is None and call.ignore is None:
        return True
    byte, lane = np.arange(call.chunk), np.arange(LANES)[:, None]
    return all(
        (movement.lane[row] == np.where(byte < read, lane, ZERO)).all()
        and (movement.offset[row] == np.where(byte < read, byte, 0)).all()
        for row, read in enumerate(reads)
    )
