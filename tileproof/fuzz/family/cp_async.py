"""``cp.async``: calls made up at random, brute force over them, and the replay of counterexamples.

Of the source only what is read has to be there: ``src_size`` bytes of a chunk, none where it is ignored
(PTX ISA 9.7.9.25.3; contract reference, "Asynchronous copy").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tileproof.fuzz.families import FuzzFamily, fuzzed
from tileproof.fuzz.generate import mutate, near
from tileproof.fuzz.generate.choices import Choices
from tileproof.fuzz.generate.drafts import CallDraft, Dim
from tileproof.fuzz.generate.tensors import BLOCKS, launch_of, memory_of, outer_of, relate
from tileproof.fuzz.oracle.access import AccessJudgement, residues
from tileproof.fuzz.oracle.access_counterexamples import AccessReplay
from tileproof.fuzz.oracle.counterexamples import Told
from tileproof.fuzz.oracle.description import Access, Call, Operand
from tileproof.fuzz.oracle.places import starts, tensor_coordinates
from tileproof.fuzz.oracle.terms import Term, names, value


@dataclass(frozen=True)
class Copy(Access):
    """``cp.async``. ``memory`` is the destination; the source stands where other calls have registers.

    ``bits`` and ``count`` are those of an element of the destination and of a chunk. ``src_size`` is a term,
    ``ignore`` a truth term.
    """

    chunk: int = 16
    operator: str = "cg"
    src_size: Term | None = None
    ignore: Term | None = None

    @property
    def source(self) -> Operand:
        return self.registers

    @property
    def element_names(self) -> tuple[str, ...]:
        return ("element",)

    @property
    def opcode(self) -> str:
        return f"cp.async.{self.operator}.{self.space}.global"

    @property
    def parameters(self) -> dict[str, Term]:
        read = {"src_size": self.src_size, "ignore_src": self.ignore}
        return super().parameters | {
            "chunk_bytes": self.chunk, **{name: term for name, term in read.items() if term is not None}
        }  # fmt: skip

    def mentions(self) -> Iterator[str]:
        yield from super().mentions()
        for term in (self.src_size, self.ignore):
            if term is not None:
                yield from names(term)


@dataclass
class CopyDraft(CallDraft):
    """``memory`` is the destination, ``registers`` the source."""

    chunk: int = 16
    operator: str = "cg"
    src_size: Term | None = None
    ignore: Term | None = None

    def described(self) -> Copy:
        destination = self.memory.finished()
        bits = destination.view_bits
        return Copy(
            self.family, self.scope, self.block, self.space, bits, self.chunk * 8 // bits,
            self.registers.finished(), destination, chunk=self.chunk, operator=self.operator,
            src_size=self.src_size, ignore=self.ignore, **self.launch,
        )  # fmt: skip


def generate(_family: str, c: Choices) -> Call:
    """The plainest choices give a plain legal copy."""
    scope = c.among("thread", "warp", "cta", "warpgroup")
    chunk = c.among(16, 16, 8, 4)
    bits = c.among(*(b for b in (32, 16, 8, 64, 128) if b <= 8 * chunk))
    block: tuple[int, ...] = (c.among(*BLOCKS[scope]),)
    draft = CopyDraft(c, "cp.async", "shared", bits, chunk * 8 // bits, scope, block)
    draft.chunk, draft.operator = chunk, c.among("cg", "ca") if chunk == 16 else "ca"
    slabs = launch_of(draft)
    outer = outer_of(draft, slabs)
    draft.memory = memory_of(draft, outer, [("element", draft.count)])
    draft.memory.name = "SM"
    draft.space = "global"
    draft.registers = memory_of(draft, outer, [("element", draft.count)])
    draft.space = c.among("shared", "shared::cta")
    if c.chance(10):
        draft.pred = c.among(
            ("<", "lane", 7), ("<", "tx", draft.symbol(1, 9)), ("==", ("%", draft.symbol(0, 5), 2), 0)
        )
    _amount(draft)
    relate(draft)
    if c.spoil(45):
        for _ in range(c.among(1, 1, 2)):
            _mutate(draft)
    mutate.late(draft)
    near.nearly(draft, NEAR)
    return draft.finished()


def _amount(draft: CopyDraft) -> None:
    """How much of the source is read: all, a part, or what there is of it."""
    c, chunk = draft.choices, draft.chunk
    kind = c.below(10)
    if kind == 5:
        few: tuple[Term, ...] = (
            chunk, 0, 1, chunk // 2, draft.symbol(0, chunk, 4), ("%", "lane", chunk + 1), ("min", "tx", chunk),
            chunk - 1,
        )  # fmt: skip
        draft.src_size = c.among(*few)
    elif kind == 6:
        draft.ignore = c.among(
            ("<", draft.symbol(0, 3), 2), ("<", "lane", 5), ("==", draft.symbol(0, 3), 1), ("<", 0, 1)
        )
    elif kind in (7, 8):
        dim = c.among(*draft.registers.dims)
        if isinstance(dim.size, int):
            _reach_out(draft, dim)


def _reach_out(draft: CopyDraft, dim: Dim) -> None:
    """The source goes on past an end of its tensor; what is read does not, or by very little."""
    c, source = draft.choices, draft.registers
    last = dim is source.dims[-1]
    unit = source.bits // 8
    extent = draft.chunk // unit if last else (dim.extent - 1) * dim.step + 1
    step = extent if last else 1
    dim.start = ("+", dim.start, draft.symbol(c.among(0, -step), 2 * step, step))
    slack = c.among(0, 0, 0, 1, -1)
    there: Term = ("-", dim.size, dim.start)
    if last and c.chance(60):
        # As many bytes as there are from the start on.
        draft.src_size = ("min", ("max", ("+", ("*", there, unit), slack), 0), draft.chunk)
    elif c.chance(50):
        draft.ignore = ("any", ("<", there, extent + slack), ("<", dim.start, 0))
    else:
        draft.src_size = ("*", draft.chunk, ("max", 0, ("min", 1, ("+", ("-", there, extent), 1 + slack))))


def _amiss(draft: CopyDraft) -> None:
    c = draft.choices
    kind = c.below(4)
    if kind == 0:
        draft.src_size, draft.ignore = (
            c.among(draft.chunk + 1, -1, draft.symbol(0, draft.chunk + 4, 4), 32),
            None,
        )
    elif kind == 1:
        draft.src_size = draft.ignore = None
    elif kind == 2:
        draft.chunk = c.among(2, 32, 8, 4, 16)
    else:
        draft.operator = c.among("cg", "ca")


def _mutate(draft: CopyDraft) -> None:
    """One change that may break a copy: to either side, or to what is read."""
    c = draft.choices
    if c.chance(15):
        _amiss(draft)
        return
    turned = c.chance(50)
    if turned:
        draft.memory, draft.registers = draft.registers, draft.memory
    c.among(*CHANGES)(draft)
    if turned:
        draft.memory, draft.registers = draft.registers, draft.memory


def _nearly_in_the_source(draft: CallDraft) -> None:
    draft.memory, draft.registers = draft.registers, draft.memory
    draft.choices.among(*near.OF_MEMORY)(draft)
    draft.memory, draft.registers = draft.registers, draft.memory


def _one_byte_more(draft: CallDraft) -> None:
    """A byte more is read than a chunk has, or all of it: for an extreme value of a symbol, or in the last thread."""
    if isinstance(draft, CopyDraft):
        c, chunk = draft.choices, draft.chunk
        below = chunk - c.among(0, 1)
        draft.src_size = ("+", below, c.among(draft.symbol(0, 1), near.last_thread(draft)))
        draft.ignore = None


def _first_byte_early(draft: CallDraft) -> None:
    """A byte less than none is read for an extreme value of a symbol."""
    if isinstance(draft, CopyDraft):
        draft.src_size, draft.ignore = ("-", draft.symbol(0, 2), 1), None


def _last_element_outside(draft: CallDraft) -> None:
    """For one value of a symbol the last element of each chunk is past its tensor, and is read."""
    word = draft.registers.dims[-1]
    if isinstance(draft, CopyDraft) and word.start == 0:
        word.start = draft.symbol(0, 1)
        draft.src_size, draft.ignore = draft.chunk, None


NEAR: tuple[near.Change, ...] = (
    *near.OF_MEMORY,
    *[_nearly_in_the_source] * len(near.OF_MEMORY),
    _one_byte_more,
    _one_byte_more,
    _first_byte_early,
    _last_element_outside,
    _last_element_outside,
)

CHANGES = tuple(change for change in mutate.CHANGES if change not in mutate.OF_REGISTERS)
"""What happens to registers happens to no copy."""


def misfits(call: Copy) -> list[str]:
    """Demands on size, state space, width and shape of a ``cp.async``."""
    found = []
    if call.chunk not in ((16,) if call.operator == "cg" else (4, 8, 16)):
        found.append("chunk-bytes")
    destination, source = call.memory, call.source
    if destination.space != "shared" or source.space != "global":
        found.append("space")
    width = destination.view_bits
    if call.chunk * 8 % width:
        return [*found, "width"]
    if source.view_bits != width:
        found.append("width")
    suffix, prefix = (call.chunk * 8 // width,), len(call.group_axes)
    shapes = [operand.view_shape for operand in call.operands]
    if any(len(shape) < prefix + 1 or shape[-1:] != suffix for shape in shapes):
        found.append("shape")
    if shapes[0][:-1] != shapes[1][:-1]:
        found.append("shape")
    return found


class CopyJudgement(AccessJudgement):
    """The demands of a copy over all points."""

    call: Copy

    def _demands(self) -> None:
        call = self.call
        for side, operand in (("destination", call.memory), ("source", call.source)):
            first = self._place(operand, [0]).offset
            for base in residues(operand, call.chunk):
                self._fail(f"{side}-aligned", (first + base) % call.chunk != 0, self.executing)
            if call.count > 1:
                at = self._place(operand, self.element).offset
                apart = at != first + self.element[-1] * (call.bits // 8)
                self._fail(f"{side}-contiguous", apart, self.executing)
            self._keeps(operand)
        self._bounds(call.memory)
        self._storage(call.memory, self._place(call.memory, [0]).offset, call.chunk)
        self._source()
        self._write_conflict()
        self._stale(call.memory, self.element)

    def _source(self) -> None:
        call, source = self.call, self.call.source
        first = self._place(source, [0]).offset
        if call.src_size is None and call.ignore is None:
            self._bounds(source)
            self._storage(source, first, call.chunk)
            return
        size: Any = call.chunk if call.src_size is None else value(call.src_size, self.known)
        is_read: Any = True if call.ignore is None else ~np.asarray(value(call.ignore, self.known), bool)
        if call.src_size is not None:
            self._fail("src-size", np.asarray((size < 0) | (size > call.chunk)), self.executing)
        if source.view_bits > source.bits:
            self._bounds(source)
        else:
            reached = is_read & (self.element[-1] * (call.bits // 8) < size)
            self._fail("in-bounds", self._past(source, self.element), self.executing & reached)
        begun = is_read & (np.asarray(size) > 0)
        if source.backing is not None:
            total = source.backing.elements * source.storage_unit
            self._fail("in-storage", (first < 0) | (first + size > total), self.executing & begun)
        elif ((first < 0) & self.executing & begun).any():
            self._fail("in-storage", first < 0, self.executing & begun & ~self._past(source, [0]))
            self.implied.add("in-storage")

    def _past(self, operand: Operand, element: Any) -> Any:
        """Whether an element is outside its tensor."""
        coordinates, _ = tensor_coordinates(operand, [*self.group, *self.repeat, *element], self.known)
        past: Any = np.zeros([1] * self.ndim, bool)
        for at, extent in zip(coordinates, operand.shape, strict=True):
            past = past | (np.asarray(at) < 0) | (np.asarray(at) >= value(extent, self.known))
        return past


class CopyReplay(AccessReplay):
    """Counterexamples of copies."""

    call: Copy

    def _destination_aligned(self, told: Told) -> str | None:
        return self._misaligned(self.call.memory, told)

    def _source_aligned(self, told: Told) -> str | None:
        return self._misaligned(self.call.source, told)

    def _destination_contiguous(self, told: Told) -> str | None:
        return self._apart(self.call.memory, told)

    def _source_contiguous(self, told: Told) -> str | None:
        return self._apart(self.call.source, told)

    def _misaligned(self, operand: Operand, told: Told) -> str | None:
        return self._access(operand, told, lambda o, _: (o + (told.base or 0)) % self.call.chunk != 0, (0,))

    def _apart(self, operand: Operand, told: Told) -> str | None:
        def apart(offset: int, point: Any) -> bool:
            return bool(
                offset != self._offset(operand, point, (0,)) + point.element[0] * (self.call.bits // 8)
            )

        return self._access(operand, told, apart)

    def _size(self, known: dict[str, int]) -> int:
        if self.call.ignore is not None and value(self.call.ignore, known):
            return 0
        return self.call.chunk if self.call.src_size is None else int(value(self.call.src_size, known))

    def _src_size(self, told: Told) -> str | None:
        point = self._point(told)
        size = self._size(point.known)
        return self._executes(point) or (f"{size} bytes are legal" if 0 <= size <= self.call.chunk else None)

    def _in_bounds(self, told: Told) -> str | None:
        call, point = self.call, self._point(told)
        problem = self._executes(point)
        if problem:
            return problem
        cut = call.src_size is not None or call.ignore is not None
        whole = [call.memory]
        if not cut or call.source.view_bits > call.source.bits:
            whole.append(call.source)
        for operand in whole:
            for region, start, extent in zip(
                operand.region, starts(operand, point.known), operand.shape, strict=True
            ):
                size = value(extent, point.known)
                if start < 0 or start + region.span > size or size < 1:
                    return None
        if point.element[0] * (call.bits // 8) < self._size(point.known):
            coordinates, _ = tensor_coordinates(call.source, point.at(), point.known)
            for at, extent in zip(coordinates, call.source.shape, strict=True):
                if not 0 <= at < value(extent, point.known):
                    return None
        return "what is written and what is read is inside"

    def _in_storage(self, told: Told) -> str | None:
        sizes = ((self.call.memory, self.call.chunk), (self.call.source, self._size(self._point(told).known)))
        problems = [self._beyond(operand, size, told) for operand, size in sizes]
        return None if None in problems else problems[0]

    def _beyond(self, operand: Operand, size: int, told: Told) -> str | None:
        end = _end(operand)
        return self._access(operand, told, lambda o, _: size > 0 and (o < 0 or o + size > end), (0,))


def _end(operand: Operand) -> int:
    """Where the storage ends, in bytes; one that is made for its tensor has no end to speak of."""
    return 1 << 62 if operand.backing is None else operand.backing.elements * operand.storage_unit


fuzzed(FuzzFamily(("cp.async",), generate, misfits, CopyJudgement, CopyReplay))
