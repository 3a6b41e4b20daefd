"""Refused views as raw instructions, to see whether the refusal was needed.

What hardware can speak to is where bytes go: addresses that are not aligned, words that do not follow each other, lanes
of a warp that mean different regions. The addresses come from brute force; expected is, in defiance of the refusal,
what the view says. If that comes out, everywhere, there was no need to refuse, and that is a fault. A trap, or anything
else in a register or in memory, shows that there was.

Everything else (threads that are missing, registers that are shared, regions outside their storage) is not executed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from tileproof.fuzz.agreement import told
from tileproof.fuzz.delivered import recordable
from tileproof.fuzz.execute.entry import OCEAN, OCEAN_ALIGN, Bytes, Entry, Expected
from tileproof.fuzz.execute.table import TableForm, accesses, poison, table_form
from tileproof.fuzz.execute.tags import region, words
from tileproof.fuzz.instances import by_brute_force
from tileproof.fuzz.oracle.terms import value
from tileproof.fuzz.oracle.threads import warps
from tileproof.fuzz.template import guarded_by_symbols
from tileproof.proofs.report import Report
from tileproof.proofs.verdict import Verdict

SPOKEN = frozenset(
    ("aligned", "contiguous", "row-aligned", "row-contiguous", "uniform", "destination-aligned", "source-aligned",
     "destination-contiguous", "source-contiguous")
)  # fmt: skip
"""The demands that only say where bytes are."""

MOST_CTAS = 8
MOST_ACCESSES = 1 << 14
"""Of all threads and repeats of a CTA."""


@dataclass(frozen=True, eq=False)
class Refused:
    """An entry, and what comes out of it if the refusal is not needed."""

    entry: Entry
    expected: Expected


def refused(call: Any, report: Report) -> Refused | None:
    """The entry of a refused view; none where hardware has nothing to say of what was refuted, or it is not safe.

    The first CTA has the symbols and the base address of a counterexample, the others symbols in between.
    """
    findings = [f for f in report.findings if f.verdict is Verdict.REFUTED]
    names = {f.obligation.id.rpartition(".")[2] for f in findings}
    examples = [f.counterexample for f in findings if f.counterexample is not None]
    if report.verdict is not Verdict.REFUTED or not names or not names <= SPOKEN or not examples:
        return None
    if report.hazards:
        return None
    example = told(examples[0])
    return raw(call, example.symbols, example.base or 0)


def raw(call: Any, first: Mapping[str, int], base: int) -> Refused | None:
    """A view, refused or not, as raw instructions: the first CTA with the symbols ``first``, the storage at an address
    that is ``base`` modulo :data:`OCEAN_ALIGN`. None where that is not safe.
    """
    if not recordable(call) or any(s.uniform != "grid" for s in call.symbols):
        return None
    if guarded_by_symbols(call) or (call.collective and call.threads % 32):
        return None
    values = _assignments(call, first)
    if values is None:
        return None
    _, judged = by_brute_force(call, values)
    if not hasattr(judged, "executing"):
        return None
    try:
        return _prepared(call, judged, base)
    except ValueError:
        # An address outside the memory, or a part of a warp.
        return None


def _assignments(call: Any, first: Mapping[str, int]) -> dict[str, npt.NDArray[np.int64]] | None:
    """Values of the symbols: those of the counterexample, then evenly spaced ones for which the assumption holds."""
    if not call.symbols:
        return {"": np.zeros(1, np.int64)}
    grids = np.meshgrid(*(np.array(s.values, np.int64) for s in call.symbols), indexing="ij")
    every = {s.name: g.reshape(-1) for s, g in zip(call.symbols, grids, strict=True)}
    size = len(every[call.symbols[0].name])
    assumed = True if call.assume is None else value(call.assume, every)
    legal = np.flatnonzero(np.broadcast_to(assumed, (size,)))
    here = np.ones(size, bool)
    for name, numbers in every.items():
        if name in first:
            here &= numbers == first[name]
    chosen = np.flatnonzero(here & np.broadcast_to(assumed, (size,)))[:1]
    if not chosen.size:
        return None
    others = legal[np.linspace(0, len(legal) - 1, min(len(legal), MOST_CTAS - 1)).astype(int)]
    picked = np.array(list(dict.fromkeys([*chosen.tolist(), *others.tolist()])))
    return {name: numbers[picked] for name, numbers in every.items()}


@dataclass(frozen=True, eq=False)
class _Places:
    """Byte offsets of every element, ``(cta, repeat, thread, element)``, and which threads execute."""

    memory: npt.NDArray[np.int64]
    active: npt.NDArray[np.bool_]
    source: npt.NDArray[np.int64] | None = None


def _prepared(call: Any, judged: Any, residue: int) -> Refused | None:
    form = _form(call)
    elements, repeats = prod(call.suffix), prod(judged.repeats)
    ctas, all_threads = judged.count, warps(call.threads) * 32
    if repeats * all_threads * max(elements // 32 if call.collective else elements, 1) > MOST_ACCESSES:
        return None

    def spread(array: Any, inner: int) -> Any:
        """``(cta, repeat, thread, inner)`` of an array over the axes of the judgement."""
        full = (
            ctas,
            warps(call.threads),
            32,
            *judged.repeats,
            *(call.suffix if inner > 1 else [1] * len(call.suffix)),
        )
        whole = np.broadcast_to(array, full).reshape(ctas, all_threads, repeats, -1)
        return whole.transpose(0, 2, 1, 3)[:, :, : call.threads]

    places = _Places(
        spread(judged._place(call.memory, judged.element).offset, max(elements, 2)),
        spread(judged.executing & _assumed(judged), 1)[..., 0],
        spread(judged._place(call.registers, judged.element).offset, max(elements, 2))
        if form.kind == "copy"
        else None,
    )
    if not places.active.any():
        return None
    return _entry(call, form, places, residue)


def _assumed(judged: Any) -> Any:
    return judged.assumed.reshape(-1, *[1] * (judged.ndim - 1))


def _form(call: Any) -> TableForm:
    if not hasattr(call, "chunk"):
        return table_form(str(call.opcode))
    if call.src_size is not None or call.ignore is not None:
        raise ValueError("a copy that reads less than a chunk")
    return table_form(str(call.opcode), call.chunk)


def _entry(call: Any, form: TableForm, places: _Places, residue: int) -> Refused:
    width = call.memory.view_bits // 8
    offsets = _addresses(call, places.memory)
    base, size = _based(form, offsets, places.memory, places.active, width, residue)
    sources, source_base = None, 0
    if places.source is not None:
        sources = places.source[..., 0]
        source_base = -(-max(0, -int(sources.min())) // OCEAN_ALIGN) * OCEAN_ALIGN + residue % OCEAN_ALIGN
    entry = accesses(
        form, offsets, active=places.active, sources=sources, base=base, source_base=source_base,
        memory_bytes=size if form.kind != "load" or form.space != "global" else None,
    )  # fmt: skip
    step = {"load": _loaded, "store": _stored, "copy": _copied}[form.kind]
    dump, told_bytes = step(call, form, entry, places, base, source_base, size)
    return Refused(entry, Expected(dump, told_bytes))


def _addresses(call: Any, memory: Any) -> Any:
    """What each thread hands over: its first word, or the row that its lane points at."""
    if not call.collective:
        return memory[..., 0]
    lane = np.arange(memory.shape[2]) % 32
    row = (lane // 8 % call.count * 8 + lane % 8) * 4
    return np.take_along_axis(memory, row.reshape(1, 1, -1, 1), axis=3)[..., 0]


def _based(
    form: TableForm, offsets: Any, memory: Any, active: Any, width: int, residue: int
) -> tuple[int, int]:
    """Where the storage starts in the memory, and how long the memory has to be; both in bytes."""
    low = min(int(offsets[active].min()), int(memory[active].min()))
    high = max(int(offsets[active].max()) + form.access, int(memory[active].max()) + width)
    base = -(-max(0, -low) // OCEAN_ALIGN) * OCEAN_ALIGN + residue % OCEAN_ALIGN
    size = -(-(base + high) // 4) * 4
    if size > (OCEAN if form.space == "global" else form.memory_limit):
        raise ValueError(f"{form.label}: a memory of {size} bytes")
    return base, size


def _elements(call: Any, form: TableForm, memory: Any) -> Any:
    """``(cta, repeat, thread, register, byte)``: where the view has each byte of each register of each thread."""
    width = call.memory.view_bits // 8
    byte = np.arange(width)
    if not call.collective:
        return memory[..., None] + byte
    lane = (np.arange(memory.shape[2]) % 32).reshape(-1, 1, 1)
    register = np.arange(form.registers).reshape(1, -1, 1)
    row, word, start = lane // 4 + 0 * byte, lane % 4 + 0 * byte, byte
    if call.trans:
        unit = 2 * (lane % 4) + byte // 2
        row, word, start = unit, lane // 4 // 2 + 0 * byte, byte % 2 + 2 * (lane // 4 % 2)
    index = register * 32 + row * 4 + word
    flat = np.broadcast_to(index, (memory.shape[2], form.registers, width)).reshape(memory.shape[2], -1)
    found = np.take_along_axis(memory, flat[None, None], axis=3)
    return found.reshape(*memory.shape[:3], form.registers, width) + start


def _loaded(
    call: Any, form: TableForm, entry: Entry, places: _Places, base: int, _source: int, size: int
) -> tuple[Bytes, npt.NDArray[np.bool_]]:
    where = base + _elements(call, form, places.memory)
    thread = np.arange(where.shape[2]).reshape(1, 1, -1, 1, 1)
    if form.space == "local":
        word = words(thread * (size // 4) + where // 4)
        said = (word >> (8 * (where % 4)).astype(np.uint32)).astype(np.uint8)
    else:
        there = np.where(places.active[..., None, None], where, 0)
        said = region(int(there.max()) + 4)[there]
    registers = np.zeros((*where.shape[:4], max(4, form.bits // 8)), np.uint8)
    registers[..., : said.shape[-1]] = said
    registers[~places.active] = poison(1)[0]
    dump = poison(entry.grid * entry.dump_bytes).reshape(entry.grid, -1)
    flat = registers.reshape(entry.grid, -1)
    dump[:, : flat.shape[1]] = flat
    return dump, np.ones(dump.shape, bool)


def _stored(
    call: Any, form: TableForm, entry: Entry, places: _Places, base: int, _source: int, size: int
) -> tuple[Bytes, npt.NDArray[np.bool_]]:
    where = base + _elements(call, form, places.memory)
    number = np.arange(prod(places.active.shape) * form.words)
    tags = words(number).view(np.uint8).reshape(*places.active.shape, form.registers, -1)
    if form.space == "local":
        where = where + np.arange(where.shape[2]).reshape(1, 1, -1, 1, 1) * size
    return _written(entry, where, tags[..., : where.shape[-1]], places.active)


def _copied(
    call: Any, _form: TableForm, entry: Entry, places: _Places, base: int, source: int, _size: int
) -> tuple[Bytes, npt.NDArray[np.bool_]]:
    byte = np.arange(call.memory.view_bits // 8)
    if places.source is None:
        raise TypeError("a copy has a source")
    read = np.where(places.active[..., None, None], source + places.source[..., None] + byte, 0)
    said = region(int(read.max()) + 4)[read]
    return _written(entry, base + places.memory[..., None] + byte, said, places.active)


def _written(entry: Entry, where: Any, said: Any, active: Any) -> tuple[Bytes, npt.NDArray[np.bool_]]:
    """Poison, and the bytes that the view has written; open where two writers disagree."""
    dump = poison(entry.grid * entry.dump_bytes).reshape(entry.grid, -1)
    cta = np.broadcast_to(np.arange(entry.grid).reshape(-1, 1, 1, 1, 1), where.shape)[active]
    at, content = where[active], said[active]
    dump[cta, at] = content
    told_bytes = np.ones(dump.shape, bool)
    told_bytes[cta[dump[cta, at] != content], at[dump[cta, at] != content]] = False
    return dump, told_bytes
