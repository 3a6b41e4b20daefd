"""A call as plain data: what is written, and nothing that follows from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, ClassVar, TypeVar

from tileproof.fuzz.oracle.terms import Term, names

T = TypeVar("T")


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
    """Storage of ``elements`` elements that was there before; the tensor starts at element ``at``.

    These elements have ``bits`` bits, by default as many as the tensor's. Tensors whose backings name one
    ``storage`` share it; without a name it is the tensor's alone.
    """

    elements: int
    at: Term
    storage: str | None = None
    bits: int | None = None


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
    bytes. ``dtype`` is the element type of the view, by default unsigned integers. Operands of one ``name`` are
    views of one tensor.
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
    dtype: str | None = None

    kind: ClassVar[str] = "tensor"

    @property
    def tensor(self) -> Operand:
        """All that the view of it does not say."""
        dtype = self.tensor_dtype
        return replace(self, region=(), read_as=None, reshape=None, order=None, dtype=dtype)

    @property
    def tensor_dtype(self) -> str:
        """The element type of the tensor."""
        return self.dtype if self.dtype and self.read_as is None else f"uint{self.bits}"

    @property
    def storage(self) -> str:
        """The name of the storage that the tensor is in."""
        if self.backing is None:
            return self.name
        return self.backing.storage or f"{self.name}_storage"

    @property
    def storage_unit(self) -> int:
        """Bytes of the elements that the storage was made of."""
        made_of = self.bits if self.backing is None else self.backing.bits or self.bits
        return made_of // 8

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
class Scalar:
    """What is read once and not from a tensor.

    ``kind`` is ``number``, of the type that the instruction takes; ``index``, where ``value`` is a term;
    ``constant`` of ``dtype``; or ``variable`` of ``dtype``, where ``value`` is its name.
    """

    kind: str
    value: Any
    dtype: str | None = None

    def mentions(self) -> Iterator[str]:
        """The symbols of an index."""
        if self.kind == "index":
            yield from names(self.value)


@dataclass(frozen=True)
class Function:
    """A typed scalar function: names and types of its parameters, and a term of its operations."""

    name: str
    parameters: tuple[tuple[str, str], ...]
    result: str
    body: Term


@dataclass(frozen=True)
class Call:
    """An instruction with its operands at a launch.

    ``guard``, ``assume`` and ``pred`` are truth terms over symbols and thread numbers (``assume`` over
    symbols only). ``index_bits`` is the width of the offset arithmetic, if the caller chooses it.
    """

    checker: ClassVar[str] = "check"
    """The function of :mod:`tileproof` that takes such a call."""

    family: str
    scope: str
    block: tuple[int, ...]
    symbols: tuple[Symbol, ...] = field(default=(), kw_only=True)
    guard: Term | None = field(default=None, kw_only=True)
    assume: Term | None = field(default=None, kw_only=True)
    pred: Term | None = field(default=None, kw_only=True)
    index_bits: int | None = field(default=None, kw_only=True)

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The tensors, in PTX order."""
        raise NotImplementedError

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What is handed over, in PTX order: the tensors, and whatever else stands between them."""
        return self.operands

    @property
    def opcode(self) -> Any:
        """What is checked: the spelling of an instruction, or a function."""
        raise NotImplementedError

    @property
    def form(self) -> str:
        """What is checked, as campaigns count it."""
        return str(self.opcode)

    @property
    def naming(self) -> Operand:
        """The operand whose layout says which thread has which element."""
        return self.operands[0]

    @property
    def collective(self) -> bool:
        """Whether a warp executes the instruction as one."""
        return False

    @property
    def suffix(self) -> tuple[int, ...]:
        """The extents of the coordinates that the instruction itself gives its elements."""
        return ()

    @property
    def element_names(self) -> tuple[str, ...]:
        """What those coordinates are called."""
        return ()

    def element_of(self, _position: int, element: Sequence[T]) -> list[T]:
        """Those of the element coordinates that the tensor at a position has."""
        return list(element)

    def lane_of(self, _element: Sequence[Any], lane: Any) -> Any:
        """The lane whose register an element is in, where ``lane`` executes."""
        return lane

    @property
    def outer_shape(self) -> tuple[int, ...]:
        """The extents of group and repeats, which all tensors of a fitting call have."""
        shape = self.operands[0].view_shape
        return shape[: len(shape) - len(self.element_of(0, self.suffix))]

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
    def parameters(self) -> dict[str, Term]:
        """Keywords of ``tileproof.check`` beside those of the launch."""
        stated = {"pred": self.pred, "index_bits": self.index_bits}
        return {name: term for name, term in stated.items() if term is not None}

    def mentions(self) -> Iterator[str]:
        """Every name that a term of the call mentions, as often as it stands there."""
        for term in (self.guard, self.assume, self.pred):
            if term is not None:
                yield from names(term)
        for operand in self.operands:
            yield from operand_names(operand)


@dataclass(frozen=True)
class Access(Call):
    """An instruction between memory and registers.

    ``count`` is the vector length or the number of matrices, ``bits`` a word's width.
    """

    space: str
    bits: int
    count: int
    registers: Operand
    memory: Operand
    trans: bool = False

    @property
    def load(self) -> bool:
        return self.family in ("ld", "ldmatrix")

    @property
    def collective(self) -> bool:
        return self.family in ("ldmatrix", "stmatrix")

    @property
    def operands(self) -> tuple[Operand, Operand]:
        return (self.registers, self.memory) if self.load else (self.memory, self.registers)

    @property
    def naming(self) -> Operand:
        return self.registers

    @property
    def suffix(self) -> tuple[int, ...]:
        return (self.count, 8, 4) if self.collective else (self.count,)

    @property
    def element_names(self) -> tuple[str, ...]:
        return ("matrix", "row", "word") if self.collective else ("word",)

    def lane_of(self, element: Sequence[Any], lane: Any) -> Any:
        return 4 * element[1] + element[2] if self.collective else lane

    @property
    def opcode(self) -> str:
        if self.collective:
            trans = ".trans" if self.trans else ""
            return f"{self.family}.sync.aligned.m8n8.x{self.count}{trans}.{self.space}.b16"
        vector = "" if self.count == 1 else f".v{self.count}"
        return f"{self.family}.{self.space}{vector}.b{self.bits}"


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
