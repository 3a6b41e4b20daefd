"""A view as a kernel, ready to be executed, and what it left behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

OCEAN = 1 << 24
"""Bytes of tagged global memory that every entry may read (:func:`tileproof.fuzz.execute.tags.region`)."""

OCEAN_ALIGN = 512
"""What the address of that memory, of a table and of each CTA's part of a dump is a multiple of, in bytes."""

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Entry:
    """One kernel of a module that many entries share.

    ``text`` is ``.visible .entry NAME (.param .u64 NAME_ocean, .param .u64 NAME_dump, .param .u64 NAME_table)
    {...}``: the addresses of the tagged memory, which nobody writes, of ``grid`` parts of ``dump_bytes`` each,
    one for each CTA, and of ``table``. ``variables`` are module-scope declarations, whose names begin with
    ``name``.
    """

    name: str
    text: str
    block: tuple[int, int, int]
    grid: int
    dump_bytes: int
    table: Bytes
    variables: str = ""


@dataclass(frozen=True, eq=False)
class Near:
    """Floats of a dump that need not be equal to the bit: ``at`` are their numbers, counted in floats of the PTX
    ``type`` from the start of the dump. Every NaN is as good as another; a number may be off by the greater of the
    two times ``relative``, plus ``absolute``. Where ``relative`` is zero it is exact, but may be a zero or
    ``absolute``, the least normal number, either for the other.
    """

    at: npt.NDArray[np.int64]
    type: str
    relative: float
    absolute: float


@dataclass(frozen=True, eq=False)
class Expected:
    """What the dump has to be, shaped ``(grid, dump_bytes)``, where ``told`` is set; elsewhere anything may stand.
    What is ``near`` enough is right too.
    """

    dump: Bytes
    told: npt.NDArray[np.bool_]
    near: tuple[Near, ...] = ()


@dataclass(frozen=True, eq=False)
class Trapped:
    """The kernel did not end; ``reason`` is the error's name and text."""

    reason: str


class Backend(Protocol):
    """What executes entries: the simulator, or a GPU."""

    name: str
    """As the store has it, such as ``simulate`` or ``NVIDIA H200``."""

    def run(self, entries: Sequence[Entry]) -> list[Bytes | Trapped]:
        """The dump of each entry, shaped ``(grid, dump_bytes)``, or why there is none."""
        ...
