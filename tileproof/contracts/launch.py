"""Where a call stands: the launch, the threads that reach it, and what the caller vouches for.

Threads are numbered as PTX numbers them (PTX ISA 10, special registers): the linear id of a thread in its CTA
is ``tid.x + tid.y * ntid.x + tid.z * ntid.x * ntid.y``, lane ``linear % 32`` of warp ``linear // 32``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

from tileproof.errors import CallError
from tileproof.layouts import axes
from tileproof.layouts.index import Index, Relation, as_relation, conjunction, const, leaf_of, truth
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.traverse import leaves, substitute

Scope = Literal["thread", "warp", "warpgroup", "cta", "cluster"]
SCOPES: tuple[str, ...] = get_args(Scope)

_LEVELS = ("thread", "warp", "warpgroup", "cta", "cluster", "grid")


def shared_by(uniform: str, unit: str) -> bool:
    """Whether all threads of a ``unit`` see one value of a symbol that is uniform over ``uniform``."""
    return _LEVELS.index(uniform) >= _LEVELS.index(unit)


def _dimensions(value: int | Iterable[int], what: str, limit: int) -> tuple[int, int, int]:
    sizes = tuple(value) if isinstance(value, Iterable) else (value,)
    if not 1 <= len(sizes) <= 3 or any(not isinstance(n, int) or isinstance(n, bool) or n < 1 for n in sizes):
        raise CallError(f"{what} must be one to three positive integers, got {value!r}")
    x, y, z = (*sizes, 1, 1)[:3]
    if x * y * z > limit:
        raise CallError(f"{what}={value!r} has {x * y * z} members; at most {limit} are possible")
    if what == "block" and z > 64:
        # PTX ISA 10.2, %ntid: at most 64 threads along z.
        raise CallError(f"block={value!r} has {z} threads along z; at most 64 are possible")
    return x, y, z


@dataclass(frozen=True)
class Thread:
    """A thread of a query: its warp and lane in the CTA and its CTA's coordinates in the cluster."""

    warp: Index
    lane: Index
    cta: tuple[Index, Index, Index] = (const(0), const(0), const(0))


@dataclass(frozen=True, eq=False)
class Launch:
    """A launch and its guards. ``block`` and ``cluster`` are extents in x, y, z order; a missing cluster is
    one CTA.
    """

    block: tuple[int, int, int] = (32, 1, 1)
    cluster: tuple[int, int, int] | None = None
    active: Relation = field(default_factory=lambda: truth(True))
    assumptions: tuple[Relation, ...] = ()

    @classmethod
    def of(
        cls,
        block: int | Iterable[int] = 32,
        cluster: int | Iterable[int] | None = None,
        active: Relation | Iterable[Relation] | None = None,
        assume: Relation | Iterable[Relation] = (),
    ) -> Launch:
        """Check and normalise what a user wrote. Raises :class:`CallError`."""
        return cls(
            # At most 1024 threads in a CTA (CUDA C++ Programming Guide, compute capabilities); portable
            # clusters have at most 8 CTAs, others 16 (Hopper Tuning Guide, distributed shared memory).
            _dimensions(block, "block", 1024),
            None if cluster is None else _dimensions(cluster, "cluster", 16),
            conjunction(_relations(active if active is not None else ())),
            _relations(assume),
        )

    @property
    def threads(self) -> int:
        """Threads in a CTA."""
        x, y, z = self.block
        return x * y * z

    @property
    def warps(self) -> int:
        """Warps in a CTA, a partial last one included."""
        return -(-self.threads // 32)

    @cached_property
    def cluster_axes(self) -> tuple[tuple[str, int], ...]:
        """The declared CTA axes in z, y, x order, undeclared leading axes omitted (reference, "Group axes")."""
        if self.cluster is None:
            return ()
        x, y, z = self.cluster
        named = (("cta_z", z), ("cta_y", y), ("cta_x", x))
        first = 0 if z > 1 else 1 if y > 1 else 2
        return named[first:]

    def thread(self, copy: int = 0) -> Thread:
        """An arbitrary thread; different copies are different unknowns."""
        return Thread(
            leaf_of("warp", "thread", 0, self.warps - 1, copy=copy, uniform="warp"),
            leaf_of("lane", "thread", 0, min(31, self.threads - 1), copy=copy, uniform="thread"),
            self.cta(copy),
        )

    def cta(self, copy: int = 0) -> tuple[Index, Index, Index]:
        if self.cluster is None:
            return const(0), const(0), const(0)
        x, y, z = (
            leaf_of(f"cta_{name}", "thread", 0, n - 1, copy=copy, uniform="cta")
            for name, n in zip("xyz", self.cluster, strict=True)
        )
        return x, y, z

    def exists(self, thread: Thread) -> Relation:
        """Whether the thread is one of the block. Its lane is checked too: lane 32 of a warp is no thread of
        the next.
        """
        warp, lane = thread.warp, thread.lane
        known: dict[tuple[int, int], Relation] = lane.memo.setdefault("exists", {})
        key = warp.uid, self.threads
        found = known.get(key)
        if found is None:
            found = conjunction((lane >= 0, lane < 32, warp >= 0, warp * 32 + lane < self.threads))
            known[key] = found
        return found

    def seen_by(self, thread: Thread, expression: Any) -> Any:
        """An expression of the user's with the thread axes as ``thread`` has them."""
        used = thread_axes(expression)
        return (
            substitute(expression, {v: self.value_on(v.name, thread) for v in used}) if used else expression
        )

    def value_on(self, axis: str, thread: Thread) -> Index:
        """The value that ``thread`` has on a thread axis."""
        x, y, _ = self.block
        match axis:
            case "laneid":
                return thread.lane
            case "warpid":
                return thread.warp
            case "wid_in_wg":
                return thread.warp % 4
            case "wgid":
                return thread.warp // 4
            case "tid_in_wg":
                return thread.warp % 4 * 32 + thread.lane
            case "cbx" | "cby" | "cbz":
                return thread.cta["xyz".index(axis[2])]
        linear = thread.warp * 32 + thread.lane
        if axis == "tx":
            return linear if self.block[1] == self.block[2] == 1 else linear % x
        return linear // x % y if axis == "ty" else linear // (x * y)


def thread_axes(expression: Any) -> list[Leaf]:
    """The thread axes that an expression names."""
    found: list[Leaf] | None = expression.memo.get("thread axes")
    if found is None:
        found = [v for v in leaves(expression) if v.kind == "thread" and v.name in axes.AXES]
        expression.memo["thread axes"] = found
    return found


def _relations(items: Relation | Iterable[Relation] | object) -> tuple[Relation, ...]:
    if isinstance(items, (tuple, list)):
        return tuple(as_relation(r) for r in items)
    return (as_relation(items),)
