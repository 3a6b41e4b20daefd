"""Where a coordinate lands: in storage (``m``, ``TLane``, ``TCol``) or with a thread (``laneid``, ``warpid``,
...).

A thread axis is also the number that the executing thread sees, so ``laneid // 4 * 16`` is an index
expression and ``4 @ laneid`` a stride on the axis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tileproof.errors import LayoutError
from tileproof.layouts.index import Index, IndexLike, Operand, as_index, leaf
from tileproof.layouts.leaf import Leaf, Uniformity


@dataclass(frozen=True, eq=False)
class Axis(Operand):
    """A hardware axis. ``extent`` is the number of its values where the hardware fixes it."""

    name: str
    thread: bool
    extent: int | None = None
    uniform: Uniformity = "thread"

    def as_index(self) -> Index:
        """The value that the executing thread has on this axis; storage axes have none."""
        if not self.thread:
            raise LayoutError(f"{self.name} is a storage axis: no thread has a coordinate on it")
        hi = None if self.extent is None else self.extent - 1
        return leaf(Leaf(self.name, "thread", 0, hi, 1, self.uniform))

    def __rmatmul__(self, stride: IndexLike) -> Strided:
        return Strided(as_index(stride), self)

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Callable[[str], Axis], tuple[str]]:
        return axis, (self.name,)  # an axis is known by identity, so a copy is the same object


@dataclass(frozen=True, eq=False)
class Strided:
    """A stride on an axis: what ``4 @ laneid`` builds."""

    stride: Index
    axis: Axis


m = Axis("m", thread=False)
TLane = Axis("TLane", thread=False, extent=128)
TCol = Axis("TCol", thread=False, extent=512)
laneid = Axis("laneid", thread=True, extent=32)
warpid = Axis("warpid", thread=True, extent=32, uniform="warp")
wid_in_wg = Axis("wid_in_wg", thread=True, extent=4, uniform="warp")
wgid = Axis("wgid", thread=True, extent=8, uniform="warp")
tid_in_wg = Axis("tid_in_wg", thread=True, extent=128)
tx = Axis("tx", thread=True, extent=1024)
ty = Axis("ty", thread=True, extent=1024)
tz = Axis("tz", thread=True, extent=64)
cbx = Axis("cbx", thread=True, extent=16, uniform="cta")
cby = Axis("cby", thread=True, extent=16, uniform="cta")
cbz = Axis("cbz", thread=True, extent=16, uniform="cta")

AXES: dict[str, Axis] = {
    a.name: a for a in (m, TLane, TCol, laneid, warpid, wid_in_wg, wgid, tid_in_wg, tx, ty, tz, cbx, cby, cbz)
}


def axis(name: str) -> Axis:
    """The axis of that name. Raises :class:`LayoutError` for an unknown one."""
    found = AXES.get(name)
    if found is None:
        raise LayoutError(f"unknown axis {name!r}; the axes are {', '.join(AXES)}")
    return found
