"""Many entries as one assembled module, with all that a GPU worker needs to run them and to judge what came out.

Everything here is plain data that travels between processes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tileproof.emit.assemble import assemble
from tileproof.errors import AssemblerError
from tileproof.fuzz.execute.entry import OCEAN_ALIGN, Bytes, Entry, Expected, Near
from tileproof.fuzz.execute.expected import told_byte
from tileproof.fuzz.execute.near import WIDTHS, settle

HEADER = ".version 9.0\n.target {arch}\n.address_size 64\n"
"""The oldest version that has all that a family can spell on a Hopper GPU is not worth telling apart."""

MOST_CONST = 48 << 10
"""Bytes of constant memory of a module, which has 64 KiB (PTX ISA 5.1.3) and aligns each variable."""

MOST_DUMPED = 64 << 20
"""Bytes of the dumps of a batch."""


@dataclass(frozen=True)
class Launch:
    """One entry of a module; ``dump`` and ``table`` are where its part of the batch's buffers starts, in bytes."""

    name: str
    grid: int
    block: tuple[int, int, int]
    dump: int
    dump_bytes: int
    table: int


@dataclass(frozen=True, eq=False)
class Batch:
    """A module's image, its launches, and the batch's buffers: all tables, and all expected dumps.

    ``open`` are the bytes of the dumps that may hold anything, ``near`` what need not be equal to the bit.
    ``numbers`` tell the entries apart for whoever made the batch.
    """

    image: bytes
    launches: tuple[Launch, ...]
    table: Bytes
    expected: Bytes
    open: npt.NDArray[np.int64]
    numbers: tuple[int, ...]
    near: tuple[Near, ...] = ()

    def findings(self, dump: Bytes, chosen: Iterable[int]) -> list[str]:
        """For each of the chosen launches what is not as expected, or an empty text.

        What is open or near enough is overwritten in ``dump``.
        """
        dump[self.open] = self.expected[self.open]
        for near in self.near:
            settle(dump, self.expected, near)
        if np.array_equal(dump.view("u8"), self.expected.view("u8")):
            return [""] * len(tuple(chosen))
        return [self._finding(self.launches[position], dump) for position in chosen]

    def _finding(self, launch: Launch, dump: Bytes) -> str:
        part = slice(launch.dump, launch.dump + launch.grid * launch.dump_bytes)
        found, wanted = dump[part], self.expected[part]
        wrong = np.flatnonzero(found != wanted)
        return "" if not wrong.size else told_byte(found, wanted, wrong, launch.dump_bytes)


def module_text(entries: Sequence[Entry], arch: str) -> str:
    """One PTX module of all entries; raw instructions over tables of addresses share a text."""
    return (
        HEADER.format(arch=arch) + "\n".join(dict.fromkeys(f"{e.variables}{e.text}" for e in entries)) + "\n"
    )


def batches(entries: Sequence[tuple[int, Entry, Expected]], arch: str) -> tuple[list[Batch], dict[int, str]]:
    """The numbered entries in as few modules as they fit in, and what the assembler says against which of them."""
    made: list[Batch] = []
    refused: dict[int, str] = {}
    for group in _groups(entries):
        _assemble(group, arch, made, refused)
    return made, refused


def _groups(entries: Sequence[tuple[int, Entry, Expected]]) -> list[list[tuple[int, Entry, Expected]]]:
    groups: list[list[tuple[int, Entry, Expected]]] = [[]]
    const = dumped = 0
    for item in entries:
        entry = item[1]
        # A word of an initialiser and the comma after it.
        own = 4 * entry.variables.count(",") + OCEAN_ALIGN if entry.variables else 0
        size = entry.grid * entry.dump_bytes
        if groups[-1] and (const + own > MOST_CONST or dumped + size > MOST_DUMPED):
            groups.append([])
            const = dumped = 0
        groups[-1].append(item)
        const, dumped = const + own, dumped + size
    return [group for group in groups if group]


def _assemble(
    group: Sequence[tuple[int, Entry, Expected]], arch: str, made: list[Batch], refused: dict[int, str]
) -> None:
    """A text that the assembler refuses is found by halving."""
    try:
        image = assemble(module_text([e for _, e, _ in group], arch), arch, optimization=0).image
    except AssemblerError as error:
        if len(group) == 1:
            refused[group[0][0]] = str(error)
            return
        half = len(group) // 2
        _assemble(group[:half], arch, made, refused)
        _assemble(group[half:], arch, made, refused)
        return
    made.append(_batch(image, group))


def _batch(image: bytes, group: Sequence[tuple[int, Entry, Expected]]) -> Batch:
    launches, tables, dumps, gaps = [], [], [], []
    near: list[Near] = []
    table = dump = 0
    for _, entry, wanted in group:
        launches.append(Launch(entry.name, entry.grid, entry.block, dump, entry.dump_bytes, table))
        rows = np.zeros(-(-entry.table.size // OCEAN_ALIGN) * OCEAN_ALIGN, np.uint8)
        rows[: entry.table.size] = entry.table
        tables.append(rows)
        dumps.append(wanted.dump.reshape(-1))
        if not all(stride == 0 for stride in wanted.told.strides):
            gaps.append(np.flatnonzero(~wanted.told.reshape(-1)) + dump)
        near += [replace(one, at=one.at + dump // WIDTHS[one.type]) for one in wanted.near]
        table += rows.size
        dump += entry.grid * entry.dump_bytes
    nothing = np.zeros(0, np.int64)
    return Batch(
        image, tuple(launches), np.concatenate(tables), np.concatenate(dumps),
        np.concatenate(gaps) if gaps else nothing, tuple(n for n, _, _ in group), tuple(near),
    )  # fmt: skip
