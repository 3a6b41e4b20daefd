"""Tensors: storage with a shape, an element type, a state space, a layout and a known alignment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import gcd
from typing import Literal, get_args

from tileproof.errors import LayoutError
from tileproof.layouts.axes import m
from tileproof.layouts.bounds import bounds, is_multiple
from tileproof.layouts.dtypes import dtype_bits, dtype_name
from tileproof.layouts.index import Index, IndexLike, as_index, const, leaf
from tileproof.layouts.layout import Spec, TileLayout, factors, row_major
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.normal import simplify
from tileproof.layouts.traverse import leaves
from tileproof.layouts.view import View, ViewOperations, coordinate

Space = Literal["global", "shared", "local", "registers", "tmem", "param", "const", "generic"]

GLOBAL_ALIGNMENT = 256
"""Bytes. What every device allocation is aligned to at least (CUDA C++ Programming Guide, "Device Memory Accesses");
the launcher checks it of each argument."""


@dataclass(frozen=True, eq=False)
class Storage:
    """An allocation: its state space, its size in bytes where that is known, and the alignment of its base in
    bytes.
    """

    name: str
    space: Space
    align: int
    size: Index | None

    @cached_property
    def base(self) -> Index:
        """The byte address of the allocation, a multiple of ``align``; registers count from zero."""
        if self.space == "registers":
            return const(0)
        return leaf(Leaf(self.name, "base", 0, None, self.align))


@dataclass(frozen=True, eq=False)
class Tensor(ViewOperations):
    """Storage read through a layout. Made by :func:`tensor` and :meth:`Tensor.declare`.

    ``shape`` counts elements and may be symbolic; ``offset`` is where the tensor starts in its storage, in
    bytes; ``declared`` says that the storage was there before, so that staying inside it has to be proved;
    ``starts_inside`` that the layout is sure not to reach before the start of its storage. ``over`` is the
    tensor that this one was declared over, from its element ``at`` on.
    """

    name: str
    shape: tuple[Index, ...]
    dtype: str
    layout: TileLayout
    storage: Storage
    offset: Index
    declared: bool = False
    starts_inside: bool = True
    over: Tensor | None = None
    at: Index = field(default_factory=lambda: const(0))

    @property
    def space(self) -> Space:
        return self.storage.space

    @cached_property
    def whole(self) -> View:
        """The view of all of it."""
        return View(self, self.shape, tuple(coordinate(d, n) for d, n in enumerate(self.shape)), self.dtype)

    def as_view(self) -> View:
        return self.whole

    def declare(
        self,
        shape: Sequence[IndexLike] | IndexLike,
        dtype: str | None = None,
        *,
        layout: TileLayout | str | None = None,
        at: IndexLike = 0,
        name: str | None = None,
    ) -> Tensor:
        """Another tensor over the same storage, from element ``at`` (in elements of this tensor's type) on.

        Alignment is not claimed: it follows from the storage and ``at``. That every access stays inside the
        storage becomes an obligation of each call.
        """
        kind = dtype_name(dtype or self.dtype)
        sizes = _sizes(name or self.name, shape)
        bits = dtype_bits(self.dtype)
        if bits % 8 and not is_multiple(simplify(as_index(at) * bits), 8):
            raise LayoutError(
                f"tensor {name or self.name}: element {as_index(at)!r} of {self.name} ({self.dtype}) need "
                f"not start at a whole byte; `at` must be a multiple of {8 // gcd(8, bits)}"
            )
        start = self.offset + (as_index(at) * (bits // 8) if bits % 8 == 0 else as_index(at) * bits // 8)
        return Tensor(
            name or self.name,
            sizes,
            kind,
            _layout(name or self.name, sizes, kind, layout),
            self.storage,
            start,
            True,
            over=self,
            at=as_index(at),
        )

    def __repr__(self) -> str:
        return f"{self.name}: {self.space} {self.dtype} {self.shape} {self.layout!r}"


def _sizes(name: str, shape: Sequence[IndexLike] | IndexLike) -> tuple[Index, ...]:
    sizes = tuple(as_index(n) for n in (shape if isinstance(shape, (tuple, list)) else (shape,)))
    for d, n in enumerate(sizes):
        if n.value is not None and n.value < 1:
            raise LayoutError(f"tensor {name}: dimension {d} has size {n.value}; sizes are at least 1")
    if not sizes:
        raise LayoutError(f"tensor {name} has no dimensions; a single element has shape (1,)")
    return sizes


def _layout(name: str, sizes: tuple[Index, ...], dtype: str, layout: TileLayout | str | None) -> TileLayout:
    if layout is None:
        return TileLayout(Spec(factors(sizes, row_major(sizes))))
    if isinstance(layout, str):
        from tileproof.layouts.text import parse_layout

        layout = parse_layout(layout, {v.name: leaf(v) for v in leaves(*sizes)})
    if layout.swizzle is not None:
        layout = TileLayout(layout.spec, layout.swizzle.in_elements(dtype_bits(dtype)))
    try:
        layout.grouping(sizes)
    except LayoutError as error:
        raise LayoutError(f"tensor {name}: {error}") from None
    return layout


def _last(extent: Index) -> int | None:
    return None if extent.value is None else extent.value - 1


def _spanned(layout: TileLayout) -> Index | None:
    """How many elements there are up to the last that the layout reaches; ``None`` if a stride may be negative."""
    spec = layout.spec
    last = const(0)
    for stride, steps in (
        *((f.stride, f.extent - 1) for f in (*spec.factors, *spec.replicas) if f.axis is m),
        *((o.stride, const(1)) for o in spec.offsets if o.axis is m),
    ):
        least = bounds(stride)[0]
        if least is None or least < 0:
            return None
        last = last + steps * stride
    if layout.swizzle is None:
        return last + 1
    # A swizzle changes bits below this, so it leaves each element in its piece of this many.
    piece = 1 << (layout.swizzle.base + max(-layout.swizzle.shift, 0) + layout.swizzle.bits)
    return (last // piece + 1) * piece


def tensor(
    name: str,
    shape: Sequence[IndexLike] | IndexLike,
    dtype: str,
    space: Space = "global",
    *,
    layout: TileLayout | str | None = None,
    align: int | None = None,
) -> Tensor:
    """A tensor with storage of its own.

    ``shape`` is in elements and may be symbolic. ``layout`` (an object, or text in the reference's or CuTe's
    notation) defaults to compact row-major. ``align`` is the alignment of the base address in bytes: by
    default 256 for global memory, which the launcher checks, and the size of an element elsewhere, as PTX
    aligns variables. Registers have no address and no alignment.

    Raises :class:`LayoutError` for an unknown type or space, for extents that do not multiply up to the
    shape, and for a layout that reaches before the start of its storage.
    """
    if not name.isidentifier():
        raise LayoutError(f"a tensor's name must be an identifier, got {name!r}")
    if space not in get_args(Space):
        raise LayoutError(
            f"tensor {name}: unknown state space {space!r}; the spaces are {', '.join(get_args(Space))}"
        )
    kind = dtype_name(dtype)
    sizes = _sizes(name, shape)
    made = _layout(name, sizes, kind, layout)
    natural = max(1, dtype_bits(kind) // 8)
    if align is None:
        align = 1 if space == "registers" else GLOBAL_ALIGNMENT if space == "global" else natural
    if align < 1 or align & (align - 1):
        raise LayoutError(f"tensor {name}: align must be a power of two in bytes, got {align}")
    replicas = [leaf(Leaf(f"r{k}", "replica", 0, _last(f.extent))) for k, f in enumerate(made.spec.replicas)]
    plain = TileLayout(made.spec).place(sizes, [coordinate(d, n) for d, n in enumerate(sizes)], replicas)
    offset = simplify(plain.get(m, const(0)))
    # A swizzle keeps the sign: it leaves all high bits alone.
    least = bounds(offset)[0]
    greatest = bounds(offset if made.swizzle is None else made.swizzle.apply(offset))[1]
    static = not leaves(
        *sizes, *(f.stride for f in made.spec.factors), *(o.stride for o in made.spec.offsets)
    )
    if static and least is not None and least < 0:
        raise LayoutError(
            f"tensor {name}: its layout {made!r} reaches storage offset {least}; add an offset of {-least} to it"
        )
    size = None if greatest is None else const(-(-(greatest + 1) * dtype_bits(kind) // 8))
    spanned = None if static or space != "global" else _spanned(made)
    if spanned is not None and all(v.kind == "symbol" and v.uniform == "grid" for v in leaves(spanned)):
        # The launcher knows the strides, and asks for no more than they reach.
        size = simplify(-(-spanned * dtype_bits(kind) // 8))
    if layout is None:
        size = simplify(-(-made.size * dtype_bits(kind) // 8))
    starts_inside = layout is None or (least is not None and least >= 0)
    return Tensor(
        name, sizes, kind, made, Storage(name, space, align, size), const(0), starts_inside=starts_inside
    )
