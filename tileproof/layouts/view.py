"""Zero-copy views: the same storage under other coordinates.

A view remembers, for each dimension of its tensor, the coordinate as an expression of its own coordinates.
Slicing adds a start, permuting reorders, ``rearrange`` and ``view(shape)`` merge and split; nothing is ever
copied and nothing is looked up again. Every slice leaves a :class:`Region`, whose being inside the dimension
is proved at each call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice, product
from typing import TYPE_CHECKING, Any

from tileproof.errors import LayoutError
from tileproof.layouts.axes import Axis, m
from tileproof.layouts.bounds import is_multiple
from tileproof.layouts.dtypes import dtype_bits, dtype_name
from tileproof.layouts.evaluate import evaluate
from tileproof.layouts.index import Index, IndexLike, as_index, const, leaf
from tileproof.layouts.layout import row_major
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.normal import simplify
from tileproof.layouts.portable import Portable
from tileproof.layouts.traverse import leaves, substitute

if TYPE_CHECKING:
    from tileproof.layouts.tensor import Tensor


CORNERS = 256
"""At how many corners of its coordinates a view is looked at before a doubt about it is left to the proof of a call."""


def coordinate(position: int, extent: Index) -> Index:
    """The variable that stands for a view's own coordinate number ``position``."""
    return leaf(Leaf(f"x{position}", "element", 0, None if extent.value is None else extent.value - 1))


@dataclass(frozen=True, eq=False)
class Region:
    """A slice of one dimension: ``extent`` elements from ``start`` of ``size``; both may be symbolic."""

    dimension: int
    start: Index
    extent: int
    size: Index


@dataclass(frozen=True, eq=False)
class Join:
    """Elements read as one wider element, where it depends on a thread or a start, or takes a proof, whether they
    are one run of bits of one thread. ``step`` counts them inside the wider element; it and the view's
    coordinates at the time are variables of the expressions.

    ``drift`` is how many bits past the first one they stand, ``needed`` where they have to; ``moved`` has, by the
    name of its axis, how far each changes its thread.
    """

    dtype: str
    needed: Index
    drift: Index
    moved: tuple[tuple[str, Index], ...]


@dataclass(frozen=True, eq=False)
class Place:
    """Where an element stands: the value on each thread axis, and the offset in its storage in bytes."""

    axes: Mapping[Axis, Index]
    byte_offset: Index


class ViewOperations:
    """What tensors and views have in common."""

    def as_view(self) -> View:
        raise NotImplementedError

    def __getitem__(self, item: object) -> View:
        """Slice: ``v[i : i + 4, :, 3]``. Starts may be symbolic, extents must be static; an index drops its
        dimension.
        """
        return _slice(self.as_view(), item).after("slice", item)

    def sub(self, start: Sequence[IndexLike], extent: Sequence[int]) -> View:
        """The region of ``extent`` elements from ``start`` on; both have one entry for each dimension."""
        view = self.as_view()
        if len(start) != view.rank or len(extent) != view.rank:
            raise LayoutError(
                f"{view.name}: a region of a rank-{view.rank} view needs {view.rank} starts and extents, "
                f"got {len(start)} and {len(extent)}"
            )
        first = [as_index(s) for s in start]
        parts = tuple(slice(s, s + e) for s, e in zip(first, extent, strict=True))
        return _slice(view, parts).after("slice", parts)

    def permute(self, *order: int) -> View:
        """Reorder the dimensions: dimension ``d`` of the result is dimension ``order[d]`` of this view."""
        view = self.as_view()
        if sorted(order) != list(range(view.rank)):
            raise LayoutError(
                f"{view.name}: permute needs each of the dimensions 0..{view.rank - 1} once, got {order}"
            )
        position = {old: new for new, old in enumerate(order)}
        return view.recoordinated(
            tuple(view.shape[d] for d in order),
            lambda x: [x[position[d]] for d in range(view.rank)],
        ).after("permute", order)

    def rearrange(self, pattern: str, **sizes: int) -> View:
        """An einops pattern, for example ``rearrange("(r m) w k -> k m r w", r=8, m=2)``."""
        from tileproof.layouts.rearrange import rearrange

        return rearrange(self.as_view(), pattern, sizes).after("rearrange", (pattern, sizes))

    def view(self, *target: str | IndexLike | Sequence[IndexLike]) -> View:
        """``view("uint32")`` reads the bits as another type, ``view(4, 8)`` the row-major order as another
        shape.
        """
        view = self.as_view()
        if len(target) == 1 and isinstance(target[0], str):
            return _with_dtype(view, dtype_name(target[0])).after("view", dtype_name(target[0]))
        if len(target) == 1 and isinstance(target[0], (tuple, list)):
            target = tuple(target[0])
        shape = _positive(view, target)
        return _with_shape(view, shape).after("view", shape)

    def broadcast(self, *shape: int) -> View:
        """Repeat dimensions of extent one (and add leading ones) with stride zero, as NumPy broadcasts."""
        view = self.as_view()
        lead = len(shape) - view.rank
        sizes = _positive(view, shape)
        bad = lead < 0 or any(
            n.value != 1 and simplify(n - t).value != 0
            for n, t in zip(view.shape, sizes[max(lead, 0) :], strict=False)
        )
        if bad:
            raise LayoutError(f"{view.name}: shape {view.shape} does not broadcast to {tuple(shape)}")
        ones = [n.value == 1 for n in view.shape]
        return view.recoordinated(
            sizes,
            lambda x: [const(0) if one else x[lead + d] for d, one in enumerate(ones)],
        ).after("broadcast", shape)


@dataclass(frozen=True, eq=False)
class View(Portable, ViewOperations):
    """Made by slicing and re-coordinatising a tensor. ``shape`` counts elements of ``dtype``.

    ``coordinates`` gives the tensor's coordinates in terms of the view's own ``x0, x1, ...``; ``sub_bits`` is
    the number of bits past the start of the tensor's element, for views that were taken in a narrower type.
    ``steps`` are the operations that made the view, with their arguments, to tell how to make it again. ``joins``
    is what has to hold for the view to make sense, which a contract demands.
    """

    tensor: Tensor
    shape: tuple[Index, ...]
    coordinates: tuple[Index, ...]
    dtype: str
    sub_bits: Index = field(default_factory=lambda: const(0))
    regions: tuple[Region, ...] = ()
    steps: tuple[tuple[str, Any], ...] = ()
    joins: tuple[Join, ...] = ()

    def as_view(self) -> View:
        return self

    def after(self, operation: str, argument: Any) -> View:
        """The same view, remembering the operation that made it."""
        return replace(self, steps=(*self.steps, (operation, argument)))

    @property
    def name(self) -> str:
        return self.tensor.name

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def bits(self) -> int:
        """The width of an element in bits."""
        return dtype_bits(self.dtype)

    @cached_property
    def variables(self) -> tuple[Leaf, ...]:
        """The view's own coordinates ``x0, x1, ...``."""
        return tuple(coordinate(d, n).args[0] for d, n in enumerate(self.shape))

    @cached_property
    def extents(self) -> tuple[int, ...]:
        """The shape as plain integers. Raises :class:`LayoutError` naming a dimension that is not static."""
        for d, n in enumerate(self.shape):
            if n.value is None:
                raise LayoutError(
                    f"{self.name}: dimension {d} has the symbolic extent {n}; slice it to a static extent first"
                )
        return tuple(int(n) for n in self.shape)

    def recoordinated(self, shape: tuple[Index, ...], mapping: object) -> View:
        """A view of ``shape`` whose coordinates ``x`` stand for this view's coordinates ``mapping(x)``."""
        fresh = [coordinate(d, n) for d, n in enumerate(shape)]
        old = mapping(fresh)  # type: ignore[operator]
        replacement = dict(zip(self.variables, old, strict=True))
        return replace(
            self,
            shape=shape,
            coordinates=tuple(substitute(c, replacement) for c in self.coordinates),
            sub_bits=substitute(self.sub_bits, replacement),
        )

    def place(self, at: Sequence[Index], replica: Sequence[Index] | None = None) -> Place:
        """Where the element at the coordinates ``at`` stands (see :class:`Place`); ``replica`` as in layouts."""
        key = tuple([a.uid for a in at]), None if replica is None else tuple([r.uid for r in replica])
        found = self._places.get(key)
        if found is None:
            axes, offset, sub = self._locate(at, replica)
            own = dtype_bits(self.tensor.dtype)
            whole_bytes = own % 8 == 0 and is_multiple(sub, 8)
            position = offset * (own // 8) + sub // 8 if whole_bytes else (offset * own + sub) // 8
            found = self._places[key] = Place(axes, self.tensor.offset + position)
        return found

    @cached_property
    def _places(self) -> dict[tuple[tuple[int, ...], tuple[int, ...] | None], Place]:
        """What :meth:`place` found, by the nodes it was asked for."""
        return {}

    def _locate(
        self, at: Sequence[Index], replica: Sequence[Index] | None = None
    ) -> tuple[dict[Axis, Index], Index, Index]:
        """The axes but storage, the storage offset in elements of the tensor, and the bits past that."""
        replacement = dict(zip(self.variables, at, strict=True))
        axes = self.tensor.layout.place(
            self.tensor.shape, [substitute(c, replacement) for c in self.coordinates], replica
        )
        return axes, axes.pop(m, const(0)), substitute(self.sub_bits, replacement)

    def __repr__(self) -> str:
        return f"{self.name}{list(self.coordinates)}: {self.dtype} {self.shape}"


def _slice(view: View, item: object) -> View:
    items = list(item) if isinstance(item, tuple) else [item]
    if any(i is Ellipsis for i in items):
        at = next(p for p, i in enumerate(items) if i is Ellipsis)
        items[at : at + 1] = [slice(None)] * (view.rank - len(items) + 1)
    items += [slice(None)] * (view.rank - len(items))
    if len(items) != view.rank or any(i is Ellipsis for i in items):
        raise LayoutError(f"{view.name}: a rank-{view.rank} view cannot be sliced by {len(items)} items")
    shape: list[Index] = []
    regions: list[Region] = []
    plan: list[tuple[Index, int | None, int]] = []  # start, own dimension, step
    for d, part in enumerate(items):
        size = view.shape[d]
        if isinstance(part, slice):
            if part.start is None and part.stop is None and part.step is None:
                plan.append((const(0), len(shape), 1))
                shape.append(size)
                continue
            start = as_index(0 if part.start is None else part.start)
            stop = size if part.stop is None else as_index(part.stop)
            step = as_index(1 if part.step is None else part.step).value
            span = simplify(stop - start).value
            if step is None or step < 1:
                raise LayoutError(
                    f"{view.name}: dimension {d}: the step must be a positive constant, got {part.step!r}"
                )
            if span is None:
                raise LayoutError(
                    f"{view.name}: dimension {d}: the extent of [{start!r} : {stop!r}] is not static; "
                    "write the stop as the start plus a constant"
                )
            if span < 1:
                raise LayoutError(
                    f"{view.name}: dimension {d}: the region [{start!r} : {stop!r}] is empty ({span} elements)"
                )
            extent = -(-span // step)
            plan.append((start, len(shape), step))
            shape.append(const(extent))
            regions.append(Region(d, start, (extent - 1) * step + 1, size))
        else:
            start = as_index(part)
            plan.append((start, None, 1))
            regions.append(Region(d, start, 1, size))
    if not shape:
        raise LayoutError(
            f"{view.name}: an index for each dimension leaves none; slice one, as in [i : i + 1]"
        )
    sliced = view.recoordinated(
        tuple(shape),
        lambda x: [start if own is None else x[own] * step + start for start, own, step in plan],
    )
    return replace(sliced, regions=view.regions + tuple(regions))


def _positive(view: View, shape: Sequence[object]) -> tuple[Index, ...]:
    """The sizes of a new shape. Raises :class:`LayoutError` naming the dimension that is not positive."""
    sizes = tuple(as_index(n) for n in shape)
    if not sizes:
        raise LayoutError(f"{view.name}: the new shape has no dimensions; a single element has shape (1,)")
    for d, n in enumerate(sizes):
        if n.value is not None and n.value < 1:
            raise LayoutError(
                f"{view.name}: dimension {d} of the new shape is {n.value}; sizes are at least 1"
            )
    return sizes


def _with_shape(view: View, shape: tuple[Index, ...]) -> View:
    total, wanted = const(1), const(1)
    for n in view.shape:
        total = total * n
    for n in shape:
        wanted = wanted * n
    if simplify(total - wanted).value != 0:
        raise LayoutError(
            f"{view.name}: {view.shape} has {simplify(total)!r} elements, the shape {shape} has {simplify(wanted)!r}"
        )

    def mapping(x: Sequence[Index]) -> list[Index]:
        flat = const(0)
        for n, stride in zip(x, row_major(shape), strict=True):
            flat = flat + n * stride
        result: list[Index] = []
        for d in range(view.rank - 1, -1, -1):
            result.append(flat % view.shape[d] if d else flat)
            flat = flat // view.shape[d] if d else flat
        return result[::-1]

    return view.recoordinated(shape, mapping)


def _with_dtype(view: View, dtype: str) -> View:
    old, new = view.bits, dtype_bits(dtype)
    if old == new:
        return replace(view, dtype=dtype)
    last = view.rank - 1
    wide, narrow = max(old, new), min(old, new)
    if wide % narrow:
        raise LayoutError(
            f"{view.name}: a {old}-bit element is no whole number of {new}-bit elements, nor the reverse"
        )
    ratio = wide // narrow
    if new < old:
        shape = (*view.shape[:-1], simplify(view.shape[-1] * ratio))
        finer = view.recoordinated(shape, lambda x: [*x[:-1], x[-1] // ratio])
        x = coordinate(last, shape[-1])
        return replace(finer, dtype=dtype, sub_bits=finer.sub_bits + x % ratio * new)
    if simplify(view.shape[-1] % ratio).value != 0:
        raise LayoutError(
            f"{view.name}: dimension {last} has {view.shape[-1]} elements of {old} bits, "
            f"which is no whole number of {new}-bit elements"
        )
    join = _joined(view, last, ratio, dtype)
    coarse = view.recoordinated(
        (*view.shape[:-1], simplify(view.shape[-1] // ratio)), lambda x: [*x[:-1], x[-1] * ratio]
    )
    return replace(coarse, dtype=dtype, joins=view.joins if join is None else (*view.joins, join))


def _fails_somewhere(differences: Sequence[Index]) -> bool:
    """Whether one of the numbers, which only depend on coordinates, is sure not to be zero at some corner of them."""
    variables = leaves(*differences)
    if any(v.kind in ("symbol", "thread") for v in variables):
        return False
    ends = [(v.lo or 0, (v.lo or 0) + 1 if v.hi is None else v.hi) for v in variables]
    points = (dict(zip(variables, at, strict=True)) for at in islice(product(*ends), CORNERS))
    return any(evaluate(difference, point) for point in points for difference in differences)


def _joined(view: View, last: int, ratio: int, dtype: str) -> Join | None:
    """What is left to be proved for each ``ratio`` elements along ``last`` to stand one after the other and with
    one thread; ``None`` if that is sure. Raises where an element is seen for which it is not so.
    """
    bits = dtype_bits(dtype)
    wide = coordinate(last, simplify(view.shape[last] // ratio))
    step = leaf(Leaf("step", "element", 0, ratio - 1))
    base = [leaf(v) for v in view.variables[:last]]
    own = dtype_bits(view.tensor.dtype)
    axes, offset, sub = view._locate([*base, wide * ratio])
    other_axes, other_offset, other_sub = view._locate([*base, wide * ratio + step])
    start = offset * own + sub
    if not is_multiple(simplify(start), min(bits, 8)):
        raise LayoutError(
            f"{view.name}: dimension {last}: {ratio} elements of {view.bits} bits start {simplify(start)!r} bits into "
            f"the storage, which need not be a whole byte, so they make no {bits}-bit element"
        )
    drift = simplify(other_offset * own + other_sub - start)
    needed = step * view.bits
    moves = [(a.name, simplify(other_axes[a] - axes[a])) for a in axes]
    moved = [(name, by) for name, by in moves if by.value != 0]
    if not moved and simplify(drift - needed).value == 0:
        return None
    # It depends on a thread or a start, or the normal form does not see it: then every call has to prove it.
    if not _fails_somewhere([drift - needed, *(by for _, by in moved)]):
        return Join(dtype, needed, drift, tuple(moved))
    where = f"changes {moved[0][0]}" if moved else f"is {drift!r} bits past the first"
    raise LayoutError(
        f"{view.name}: dimension {last} is not contiguous, so {ratio} elements of {view.bits} bits make no "
        f"{bits}-bit element: element `step` of a group {where}"
    )
