"""A call as plain data: what is written, and nothing that follows from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from tileproof.fuzz.oracle.terms import Term, names


@dataclass(frozen=True)
class Symbol:
    """A runtime integer: every multiple of ``multiple_of`` from ``lo`` to ``hi``, both included.

    ``uniform`` is the largest unit whose threads see one value: ``grid``, ``warp`` or ``thread``.
    """

    name: str
    lo: int
    hi: int
    multiple_of: int = 1
    uniform: str = "grid"

    @property
    def values(self) -> range:
        return range(-(-self.lo // self.multiple_of) * self.multiple_of, self.hi + 1, self.multiple_of)


@dataclass(frozen=True)
class Factor:
    """``extent`` steps of ``stride`` on an axis; on the storage axis ``m`` a stride counts elements."""

    extent: Term
    stride: Term
    axis: str = "m"


@dataclass(frozen=True)
class Swizzle:
    """In elements: ``bits`` bits of an offset from ``base + shift`` upwards are XORed into those from
    ``base`` upwards.
    """

    bits: int
    base: int
    shift: int


@dataclass(frozen=True)
class Backing:
    """Storage of ``elements`` elements that was there before; the tensor starts at element ``at``."""

    elements: int
    at: Term


@dataclass(frozen=True)
class Region:
    """Every ``step``-th of one dimension from ``start`` on, ``extent`` elements in all.

    Without an extent one element, whose dimension disappears.
    """

    start: Term
    extent: int | None
    step: int = 1

    @property
    def span(self) -> int:
        """From the first to the last, both included."""
        return ((self.extent or 1) - 1) * self.step + 1


@dataclass(frozen=True)
class Operand:
    """A tensor and the view of it that is handed over.

    The view comes about in this order: ``region``; ``read_as``, the last dimension in elements of so many
    bits; ``reshape``, the same row-major order in other extents; ``order``, where dimension ``d`` is
    ``order[d]`` before. ``align`` is what the base address of the storage is known to be a multiple of, in
    bytes.
    """

    name: str
    space: str
    bits: int
    shape: tuple[Term, ...]
    factors: tuple[Factor, ...]
    offsets: tuple[tuple[Term, str], ...] = ()
    replicas: tuple[Factor, ...] = ()
    swizzle: Swizzle | None = None
    align: int = 16
    backing: Backing | None = None
    region: tuple[Region, ...] = ()
    read_as: int | None = None
    reshape: tuple[int, ...] | None = None
    order: tuple[int, ...] | None = None

    @property
    def view_bits(self) -> int:
        return self.read_as or self.bits

    @property
    def region_shape(self) -> tuple[int, ...]:
        """Extents after slicing, in elements of the tensor."""
        return tuple(r.extent for r in self.region if r.extent is not None)

    @property
    def cut_shape(self) -> tuple[int, ...]:
        """Extents after slicing, in elements of the view."""
        shape = self.region_shape
        return (*shape[:-1], shape[-1] * self.bits // self.view_bits)

    @property
    def view_shape(self) -> tuple[int, ...]:
        shape = self.reshape or self.cut_shape
        return shape if self.order is None else tuple(shape[d] for d in self.order)

    @property
    def buildable(self) -> bool:
        """Whether the steps of the view fit together, whatever the symbols are."""
        shape = self.region_shape
        whole = bool(shape) and shape[-1] * self.bits % self.view_bits == 0
        return whole and (self.reshape is None or prod(self.reshape) == prod(self.cut_shape))


@dataclass(frozen=True)
class Call:
    """An instruction with its operands. ``count`` is the vector length or the number of matrices, ``bits`` a
    word's width.

    ``guard``, ``assume`` and ``pred`` are truth terms over symbols and thread numbers (``assume`` over
    symbols only).
    """

    family: str
    space: str
    bits: int
    count: int
    scope: str
    block: tuple[int, ...]
    registers: Operand
    memory: Operand
    trans: bool = False
    symbols: tuple[Symbol, ...] = ()
    guard: Term | None = None
    assume: Term | None = None
    pred: Term | None = None

    @property
    def load(self) -> bool:
        return self.family in ("ld", "ldmatrix")

    @property
    def collective(self) -> bool:
        """Whether a warp executes the instruction as one."""
        return self.family in ("ldmatrix", "stmatrix")

    @property
    def operands(self) -> tuple[Operand, Operand]:
        """In PTX order."""
        return (self.registers, self.memory) if self.load else (self.memory, self.registers)

    @property
    def suffix(self) -> tuple[int, ...]:
        return (self.count, 8, 4) if self.collective else (self.count,)

    @property
    def element_names(self) -> tuple[str, ...]:
        return ("matrix", "row", "word") if self.collective else ("word",)

    @property
    def group_axes(self) -> tuple[str, ...]:
        """Reference, "Group, repeat, and atom axes"."""
        warps = ("warp",) if self.scope in ("warpgroup", "cta") else ()
        lanes = ("lane",) if self.scope != "thread" and not self.collective else ()
        return (*warps, *lanes)

    @property
    def threads(self) -> int:
        return prod(self.block)

    @property
    def opcode(self) -> str:
        if self.collective:
            trans = ".trans" if self.trans else ""
            return f"{self.family}.sync.aligned.m8n8.x{self.count}{trans}.{self.space}.b16"
        vector = "" if self.count == 1 else f".v{self.count}"
        return f"{self.family}.{self.space}{vector}.b{self.bits}"

    @property
    def parameters(self) -> dict[str, Term]:
        """Keywords of ``tileproof.check`` beside those of the launch."""
        return {} if self.pred is None else {"pred": self.pred}

    def mentions(self) -> Iterator[str]:
        """Every name that a term of the call mentions, as often as it stands there."""
        for term in (self.guard, self.assume, self.pred):
            if term is not None:
                yield from names(term)
        for operand in self.operands:
            yield from operand_names(operand)


def operand_names(operand: Operand, *, regions: bool = True) -> Iterator[str]:
    """Every name that the tensor mentions, and, with ``regions``, that the view of it does."""
    for term in operand.shape:
        yield from names(term)
    for factor in (*operand.factors, *operand.replicas):
        yield from names(factor.extent)
        yield from names(factor.stride)
    for amount, _ in operand.offsets:
        yield from names(amount)
    if operand.backing is not None:
        yield from names(operand.backing.at)
    for region in operand.region if regions else ():
        yield from names(region.start)
