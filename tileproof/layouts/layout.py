"""Tile layouts: extents with strides on axes, replicas and offsets, possibly under a swizzle.

    TileLayout(S[(2, 32, 3, 4) : (1 @ warpid, 1 @ laneid, 8, 2)])

maps logical coordinates ``(w, l, r, k)`` to warp ``w``, lane ``l`` and storage offset ``8*r + 2*k`` (in
elements). ``R[...]`` adds replicas: further places where the same element stands. ``+ 3`` or ``+ 2 @ warpid``
adds an offset. The factors need not coincide with the logical dimensions: a dimension of 128 may spread over
factors ``(4, 16, 2)`` and several dimensions may share one factor; logical coordinates are split and merged
in row-major order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tileproof.errors import LayoutError
from tileproof.layouts.axes import Axis, Strided, m
from tileproof.layouts.index import Index, IndexLike, as_index, const
from tileproof.layouts.normal import decide, simplify
from tileproof.layouts.portable import Portable
from tileproof.layouts.swizzle import Swizzle


@dataclass(frozen=True, eq=False)
class Factor:
    """One extent with its stride on an axis; strides on ``m`` count elements."""

    extent: Index
    stride: Index
    axis: Axis

    @property
    def key(self) -> tuple[int, int, str]:
        return self.extent.uid, self.stride.uid, self.axis.name


@dataclass(frozen=True, eq=False)
class Spec:
    """What ``S[...]``, ``R[...]`` and sums of them build: the arguments of a layout."""

    factors: tuple[Factor, ...] = ()
    replicas: tuple[Factor, ...] = ()
    offsets: tuple[Strided, ...] = ()

    def __add__(self, other: Spec | Strided | IndexLike) -> Spec:
        if isinstance(other, Spec):
            if self.factors and other.factors:
                raise LayoutError("a layout has one S[...]; write all its extents in it")
            return Spec(
                self.factors + other.factors, self.replicas + other.replicas, self.offsets + other.offsets
            )
        extra = other if isinstance(other, Strided) else Strided(as_index(other), m)
        return replace(self, offsets=(*self.offsets, extra))


def _tuple(value: object) -> tuple[object, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def factors(extents: Sequence[object], strides: Sequence[object], what: str = "S") -> tuple[Factor, ...]:
    """Pair extents with strides. Raises :class:`LayoutError` on a length mismatch or an extent below one."""
    if len(extents) != len(strides):
        raise LayoutError(
            f"{what}[...] has {len(extents)} extents {tuple(extents)} but {len(strides)} strides {tuple(strides)}"
        )
    result = []
    for position, (extent, stride) in enumerate(zip(extents, strides, strict=True)):
        size = as_index(extent)
        if size.value is not None and size.value < 1:
            raise LayoutError(f"{what}[...]: extent {position} is {size.value}; extents are at least 1")
        strided = stride if isinstance(stride, Strided) else Strided(as_index(stride), m)
        result.append(Factor(size, strided.stride, strided.axis))
    return tuple(result)


class _Builder:
    """``S[extents : strides]`` and ``R[extents : strides]``; a missing stride tuple means compact row-major."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getitem__(self, item: object) -> Spec:
        if isinstance(item, slice):
            if item.step is not None:
                raise LayoutError(
                    f"{self._name}[extents : strides] takes two parts, got a third: {item.step!r}"
                )
            extents, strides = _tuple(item.start), _tuple(item.stop)
        else:
            extents = _tuple(item)
            strides = tuple(row_major([as_index(e) for e in extents]))
        made = factors(extents, strides, self._name)
        return Spec(factors=made) if self._name == "S" else Spec(replicas=made)


S = _Builder("S")
R = _Builder("R")


def row_major(extents: Sequence[Index]) -> list[Index]:
    """Compact strides, the last dimension contiguous."""
    strides: list[Index] = []
    step = const(1)
    for extent in reversed(extents):
        strides.append(step)
        step = extent * step
    return strides[::-1]


@dataclass(frozen=True, eq=False)
class TileLayout(Portable):
    """A layout, see the module's text. ``TileLayout(S[...] + R[...] + offset, swizzle=...)``."""

    spec: Spec
    swizzle: Swizzle | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.spec, Spec) or not self.spec.factors:
            raise LayoutError("a layout needs its extents and strides: TileLayout(S[(4, 8) : (8, 1)])")

    @cached_property
    def key(self) -> tuple[object, ...]:
        """Equal for equal layouts."""
        return (
            tuple(f.key for f in self.spec.factors),
            tuple(f.key for f in self.spec.replicas),
            tuple((o.stride.uid, o.axis.name) for o in self.spec.offsets),
            self.swizzle,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TileLayout) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        from tileproof.layouts.text import layout_text

        return layout_text(self)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes that some factor, replica or offset names, each once."""
        every = [f.axis for f in (*self.spec.factors, *self.spec.replicas)] + [
            o.axis for o in self.spec.offsets
        ]
        return tuple(dict.fromkeys(every))

    @property
    def size(self) -> Index:
        """The number of logical elements."""
        total = const(1)
        for factor in self.spec.factors:
            total = total * factor.extent
        return total

    def under(self, swizzle: Swizzle) -> TileLayout:
        """The same layout with its storage offsets permuted by ``swizzle``."""
        if self.swizzle is not None:
            raise LayoutError(f"the layout is swizzled already, by {self.swizzle}")
        return replace(self, swizzle=swizzle)

    def place(
        self, shape: Sequence[Index], coordinates: Sequence[Index], replica: Sequence[Index] | None = None
    ) -> dict[Axis, Index]:
        """Where the element at ``coordinates`` of a tensor of ``shape`` stands: a value for each axis.

        ``replica`` picks one of the replicas (one coordinate for each replica factor); by default the first.
        """
        result: dict[Axis, Index] = {}

        def contribute(axis: Axis, amount: Index) -> None:
            result[axis] = result[axis] + amount if axis in result else amount

        for dims, parts in self.grouping(shape):
            if not parts:
                continue
            if len(dims) == 1:
                value = coordinates[dims[0]]
            else:
                value = const(0)
                for d in dims:
                    value = value * shape[d] + coordinates[d]
            for position in range(len(parts) - 1, 0, -1):
                factor = parts[position]
                contribute(factor.axis, value % factor.extent * factor.stride)
                value = value // factor.extent
            contribute(parts[0].axis, value * parts[0].stride)
        for factor, which in zip(self.spec.replicas, replica or (), strict=False):
            contribute(factor.axis, which * factor.stride)
        for offset in self.spec.offsets:
            contribute(offset.axis, offset.stride)
        if self.swizzle is not None:
            if self.swizzle.unit == "byte":
                raise LayoutError(
                    f"{self.swizzle} permutes bytes; give the layout to a tensor, whose element type says how many "
                    "elements that is, or use Swizzle.in_elements"
                )
            result[m] = self.swizzle.apply(result.get(m, const(0)))
        return result

    def grouping(self, shape: Sequence[Index]) -> list[tuple[list[int], list[Factor]]]:
        """Blocks of consecutive dimensions and factors with equal products.

        Raises :class:`LayoutError` when the shape and the extents do not multiply up alike.
        """
        key = tuple(n.uid for n in shape)
        found = self._groupings.get(key)
        if found is None:
            found = self._groupings[key] = self._grouping(shape)
        return found

    @cached_property
    def _groupings(self) -> dict[tuple[int, ...], list[tuple[list[int], list[Factor]]]]:
        return {}

    def _grouping(self, shape: Sequence[Index]) -> list[tuple[list[int], list[Factor]]]:
        blocks: list[tuple[list[int], list[Factor]]] = []
        dims = [d for d in range(len(shape)) if shape[d].value != 1]
        parts = [f for f in self.spec.factors if f.extent.value != 1]
        d = p = 0
        while d < len(dims) or p < len(parts):
            block_dims, block_parts = dims[d : d + 1], parts[p : p + 1]
            d, p = d + 1, p + 1
            left = shape[block_dims[0]] if block_dims else const(1)
            right = block_parts[0].extent if block_parts else const(1)
            while left is not right and not _equal(left, right):
                grow_left = _smaller(left, right)
                if grow_left and d < len(dims):
                    left = simplify(left * shape[dims[d]])
                    block_dims.append(dims[d])
                    d += 1
                elif not grow_left and p < len(parts):
                    right = simplify(right * parts[p].extent)
                    block_parts.append(parts[p])
                    p += 1
                else:
                    first = block_dims[0] if block_dims else len(shape)
                    raise LayoutError(
                        f"the extents {tuple(f.extent for f in self.spec.factors)} of the layout do not "
                        f"multiply up to the shape {tuple(shape)}: {left} elements against {right} from "
                        f"dimension {first} on"
                    )
            blocks.append((block_dims, block_parts))
        return blocks


def _equal(a: Index, b: Index) -> bool:
    return decide(a == b).value is True


def _smaller(a: Index, b: Index) -> bool:
    if a.value is not None and b.value is not None:
        return a.value < b.value
    # Symbolic sizes: what divides the other one is the smaller one, as n divides 4*n; a number is smaller
    # than n.
    return a.value is not None or (b.value is None and simplify(b % a).value == 0)
