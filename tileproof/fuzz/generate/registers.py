"""Calls on registers while they are being made up: operands that may share registers, and scalars between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tileproof.fuzz.generate import mutate, near
from tileproof.fuzz.generate.drafts import CallDraft, Dim, OperandDraft
from tileproof.fuzz.generate.tensors import Slabs, launch_of, outer_of, registers_of, relate
from tileproof.fuzz.oracle.description import Backing, Factor, Operand, Scalar
from tileproof.fuzz.oracle.terms import value


@dataclass(frozen=True)
class Wanted:
    """An operand of a draft: its name, the width of an element, the extent of what the instruction itself adds to
    the shape, if anything, and the element type where it matters.
    """

    name: str
    bits: int
    inner: tuple[int, ...] = ()
    dtype: str | None = None


@dataclass
class RegistersDraft(CallDraft):
    """``given`` stands in PTX order, the destination first."""

    given: list[OperandDraft | Scalar] = field(default_factory=list)

    @property
    def tensors(self) -> list[OperandDraft]:
        return [one for one in self.given if isinstance(one, OperandDraft)]

    def look_at(self, operand: OperandDraft) -> None:
        """Changes that are made to one of a call's operands are made to this one."""
        self.registers = self.memory = operand
        self.bits = operand.view_bits or operand.bits

    def fill(self, wanted: list[Wanted], scalars: Callable[[int], Scalar | None]) -> None:
        """Make up the launch and every operand. ``scalars`` may give what stands at a position that is read."""
        slabs = launch_of(self)
        outer = outer_of(self, slabs)
        if not outer and not wanted[0].inner:
            outer = [("repeat0", 1)]
        for position, one in enumerate(wanted):
            self.bits = one.bits
            scalar = scalars(position) if position else None
            if scalar is not None:
                self.given.append(scalar)
                continue
            made = self._shared(one) or self._fresh(one, slabs, outer)
            made.dtype = one.dtype
            self.given.append(made)
        self._together()
        relate(self)

    def _fresh(self, wanted: Wanted, slabs: Slabs, outer: list[tuple[str, int]]) -> OperandDraft:
        made = registers_of(self, slabs, outer, [("word", n) for n in wanted.inner], halves=3)
        made.name = wanted.name
        return made

    def _shared(self, wanted: Wanted) -> OperandDraft | None:
        """Sometimes the destination's own registers, at the same coordinates or a few further on."""
        c = self.choices
        for target in self.tensors[:1]:
            if _kind(target) != (wanted.bits, wanted.dtype, wanted.inner) or not c.chance(30):
                continue
            made = target.copied()
            for dim in made.dims:
                if _has_room(dim) and c.chance(50):
                    dim.start = c.below(2)
            return made
        return None

    def _together(self) -> None:
        """Sometimes two operands of one width lie in one storage, apart from each other or not."""
        c, (target, *others) = self.choices, self.tensors
        alike = [o for o in others if o.bits == target.bits and o.backing is None and o.name != target.name]
        if alike and target.backing is None and c.chance(15):
            one_storage(self, target, c.among(*alike))

    def operands(self) -> tuple[Operand | Scalar, ...]:
        """The descriptions. Tensors of one name are one tensor, storages of one name one storage."""
        tensors: dict[str, Operand] = {}
        storages: dict[str, tuple[int, int | None, str]] = {}
        found: list[Operand | Scalar] = []
        for one in self.given:
            if not isinstance(one, OperandDraft):
                found.append(one)
                continue
            made = one.finished()
            if made.dtype and not made.dtype.endswith(str(made.view_bits)):
                made = replace(made, dtype=None)
            backing = made.backing
            if backing is not None and backing.storage is not None:
                there = backing.elements, backing.bits, made.space
                if storages.setdefault(backing.storage, there) != there:
                    made = replace(made, backing=replace(backing, storage=None))
            while tensors.setdefault(made.name, made.tensor) != made.tensor:
                made = replace(made, name=made.name + made.name[-1])
            found.append(made)
        return tuple(found)


def _has_room(dim: Dim) -> bool:
    return dim.role.startswith("repeat") and isinstance(dim.size, int) and dim.size > dim.extent


def _reach(operand: OperandDraft) -> int:
    """How many elements of its own an operand needs from where it starts, if nothing in it runs backwards."""
    reach = 1
    for dim in operand.dims:
        for factor in dim.factors:
            if factor.axis == "m" and isinstance(factor.extent, int):
                reach += (factor.extent - 1) * max(_known(factor), 0)
    return reach


def _known(factor: Factor) -> int:
    try:
        return int(value(factor.stride, {}))
    except KeyError:  # a symbol
        return 0


def one_storage(draft: RegistersDraft, one: OperandDraft, other: OperandDraft) -> None:
    """Put two operands into one storage, the second after the first or over it."""
    c = draft.choices
    unit = min(one.bits, other.bits)
    first = _reach(one) * one.bits // unit
    at = c.among(first, first, 0, max(1, one.bits // unit), first - 1)
    if other.bits > unit:
        at = -(-at // (other.bits // unit)) * (other.bits // unit)
    elements = max(first, at + _reach(other) * other.bits // unit) + c.among(0, 1, 4)
    one.backing = Backing(elements, 0, "F", unit)
    other.backing = Backing(elements, at, "F", unit)


# One change each, which may break a call or not.


def _one_storage(draft: RegistersDraft) -> None:
    c, tensors = draft.choices, draft.tensors
    if len(tensors) > 1:
        other = c.among(*tensors[1:])
        if other.name == tensors[0].name:
            other.name = "S"
        one_storage(draft, tensors[0], other)


def _extent(draft: RegistersDraft) -> None:
    """Another extent for one coordinate: of all operands, or of one."""
    c = draft.choices
    roles = [d.role for d in draft.registers.dims if not d.hidden]
    role, change = c.among(*roles), c.among(1, -1, 2)
    for operand in draft.tensors if c.chance(60) else [draft.registers]:
        for dim in operand.dims:
            plain = isinstance(dim.size, int) and len(dim.factors) == 1
            if dim.role == role and plain and dim.extent + change > 0:
                per = operand.view_bits or operand.bits
                dim.extent += change
                dim.size = max(
                    1, int(str(dim.size)) + change * (per // operand.bits if dim is operand.dims[-1] else 1)
                )
                dim.factors = [replace(dim.factors[0], extent=dim.size)]


def _replica(draft: RegistersDraft) -> None:
    c = draft.choices
    draft.registers.replicas.append(
        Factor(c.among(2, 1, 4), c.among(64, 1, 16, 0), c.among("m", "m", "laneid", "warpid"))
    )


def _twice(draft: RegistersDraft) -> None:
    """A dimension of the destination along which its registers stand still, or are another's."""
    c = draft.choices
    stored = [
        d for d in draft.tensors[0].dims if d.factors and d.on_storage and not d.hidden and d.extent > 1
    ]
    if stored:
        dim = c.among(*stored)
        other = c.among(0, *(d.factors[0].stride for d in stored if d is not dim))
        dim.factors[0] = replace(dim.factors[0], stride=other)


def other_type(draft: RegistersDraft) -> None:
    """Another element type of the same width."""
    operand = draft.registers
    if operand.dtype is not None:
        bits = operand.view_bits or operand.bits
        operand.dtype = draft.choices.among(f"int{bits}", f"uint{bits}", f"float{max(bits, 16)}")


def _longer_copy(draft: RegistersDraft) -> tuple[Dim, Dim] | None:
    """Make a source the destination's own registers, with room for one step more along a repeat; that dimension of
    both, or nothing where there is none.
    """
    c, target = draft.choices, draft.tensors[0]
    alike = [
        n
        for n, one in enumerate(draft.given)
        if n and isinstance(one, OperandDraft) and _kind(one) == _kind(target)
    ]
    steps = [
        n
        for n, d in enumerate(target.dims)
        if d.role.startswith("repeat") and len(d.factors) == 1 and d.on_storage and isinstance(d.size, int)
    ]
    if not alike or not steps:
        return None
    position, step = c.among(*alike), c.among(*steps)
    dim = target.dims[step]
    dim.size = int(str(dim.size)) + 1
    dim.factors = [replace(dim.factors[0], extent=dim.size)]
    source = draft.given[position] = target.copied()
    return dim, source.dims[step]


def _shifted(draft: RegistersDraft) -> None:
    """A source that is the destination's own registers, one step further along a repeat, or one behind."""
    both = _longer_copy(draft)
    if both is not None:
        moved = draft.choices.among(*both)
        moved.start = ("+", moved.start, 1)


def _shifted_in_the_last_lane(draft: CallDraft) -> None:
    """A source that is the destination's own registers, and in the last lane those one step before."""
    both = _longer_copy(draft) if isinstance(draft, RegistersDraft) else None
    if both is not None:
        written, read = both
        written.start = ("+", written.start, 1)
        read.start = ("+", read.start, ("-", 1, ("//", "lane", 31)))


def _kind(operand: OperandDraft) -> tuple[object, ...]:
    inner = tuple(d.extent for d in operand.dims if d.role == "word")
    return operand.view_bits or operand.bits, operand.dtype, inner


_LEFT_OUT = ("_alignment", "_word_stride", "_extent", "_replica", "_shared_place")
_OF_ONE = tuple(change for change in mutate.CHANGES if change.__name__ not in _LEFT_OUT)
Change = Callable[["RegistersDraft"], None]
CHANGES: tuple[Change, ...] = (
    *_OF_ONE, mutate.torn, mutate.torn, mutate.halved, mutate.width, mutate.space, _extent, _replica, _replica,
    _one_storage, _one_storage, _twice, _twice, _shifted, _shifted,
)  # fmt: skip


def spoil(draft: RegistersDraft, *more: Change) -> None:
    """Sometimes a change or two, of those that all calls on registers have and ``more``."""
    c = draft.choices
    if c.spoil(48):
        for _ in range(c.among(1, 1, 2)):
            draft.look_at(c.among(*draft.tensors))
            c.among(*CHANGES, *more)(draft)
    draft.look_at(c.among(*draft.tensors))
    near.nearly(draft, (*near.OF_REGISTERS, _shifted_in_the_last_lane))
