"""Where each thread of a running cluster stands, and the special registers that tell it so (ISA 10).

The machine runs one cluster at a time (one block where no cluster was asked for). Its threads are laid out
flat: block after block in rank order, each block padded to whole warps of 32. `exists` is False for the
padding of a last, partial warp.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tileproof.errors import SimulationError
from tileproof.simulate.scalars import PRED, U32, U64, Array, ScalarType

WARP = 32
Extent = tuple[int, int, int]


def extent(given: int | Sequence[int], what: str) -> Extent:
    """`n`, `(x,)`, `(x, y)` or `(x, y, z)` -> three positive extents. Raises `SimulationError` for anything
    else.
    """
    parts = (given,) if isinstance(given, int) else tuple(given)
    good = 1 <= len(parts) <= 3 and all(
        isinstance(part, int) and not isinstance(part, bool) and part > 0 for part in parts
    )
    if not good:
        raise SimulationError(f"{what} is {given!r}; one to three positive integers are needed")
    x, y, z = (*parts, 1, 1)[:3]
    return x, y, z


def volume(of: Extent) -> int:
    """The number of blocks or threads in an extent."""
    return of[0] * of[1] * of[2]


@dataclass(frozen=True, slots=True)
class Launch:
    """Extents in blocks (`grid`, `cluster`) and threads (`block`), x first; `dynamic_shared` in bytes per
    block.
    """

    grid: Extent
    block: Extent
    cluster: Extent
    has_cluster: bool
    dynamic_shared: int

    def __post_init__(self) -> None:
        if volume(self.block) > 1024:
            raise SimulationError(
                f"block {self.block} has {volume(self.block)} threads; a block has at most 1024"
            )
        if self.dynamic_shared < 0:
            raise SimulationError(f"dynamic_shared is {self.dynamic_shared} bytes; it must not be negative")
        if volume(self.cluster) > 16:
            raise SimulationError(f"cluster {self.cluster} has {volume(self.cluster)} blocks; 16 is the most")
        for axis, blocks, step in zip("xyz", self.grid, self.cluster, strict=True):
            if blocks % step:
                raise SimulationError(
                    f"grid {self.grid} is not a whole number of clusters {self.cluster}: "
                    f"{blocks} % {step} != 0 along {axis}"
                )

    @property
    def clusters(self) -> Extent:
        """The extent of the grid in clusters."""
        x, y, z = (blocks // step for blocks, step in zip(self.grid, self.cluster, strict=True))
        return x, y, z


def coordinates(linear: Array, of: Extent) -> Array:
    """Linear indices, x fastest -> coordinates of shape (n, 3)."""
    return np.stack([linear % of[0], linear // of[0] % of[1], linear // (of[0] * of[1])], axis=-1)


class Geometry:
    """Coordinates of every thread of one cluster. Per-thread arrays have one entry per thread slot, padding
    included.
    """

    def __init__(self, launch: Launch, cluster_index: int, static_shared: int = 0) -> None:
        self.launch = launch
        self.static_shared = static_shared
        self.blocks = volume(launch.cluster)
        self.block_threads = volume(launch.block)
        self.block_warps = -(-self.block_threads // WARP)
        self.block_slots = self.block_warps * WARP
        self.slots = self.blocks * self.block_slots
        self.warps = self.blocks * self.block_warps
        index = np.arange(self.slots)
        self.rank = index // self.block_slots
        linear = index % self.block_slots
        self.exists = linear < self.block_threads
        self.lane = index % WARP
        self.warp = linear // WARP
        self.tid = coordinates(linear, launch.block)
        self.cluster_id = coordinates(np.asarray([cluster_index]), launch.clusters)[0]
        self.cluster_ctaid = coordinates(self.rank, launch.cluster)
        self.ctaid = self.cluster_id * np.asarray(launch.cluster) + self.cluster_ctaid

    def describe(self, slot: int) -> str:
        """One thread as messages name it."""
        block = ", ".join(str(int(part)) for part in self.ctaid[slot])
        tid = ", ".join(str(int(part)) for part in self.tid[slot])
        return f"block ({block}), warp {int(self.warp[slot])}, lane {int(self.lane[slot])} (thread ({tid}))"

    @cached_property
    def _vectors(self) -> dict[str, Array]:
        def every(of: Extent) -> Array:
            return np.broadcast_to(np.asarray(of), (self.slots, 3))

        return {
            "%tid": self.tid,
            "%ntid": every(self.launch.block),
            "%ctaid": self.ctaid,
            "%nctaid": every(self.launch.grid),
            "%clusterid": np.broadcast_to(self.cluster_id, (self.slots, 3)),
            "%nclusterid": every(self.launch.clusters),
            "%cluster_ctaid": self.cluster_ctaid,
            "%cluster_nctaid": every(self.launch.cluster),
        }

    @cached_property
    def _scalars(self) -> dict[str, tuple[ScalarType, Array | int]]:
        one = np.uint64(1)
        lane = self.lane.astype(np.uint64)
        bit = one << lane
        below = bit - one
        full = np.uint64(0xFFFFFFFF)
        shared = self.static_shared + self.launch.dynamic_shared
        words: dict[str, Array | int] = {
            "%laneid": self.lane,
            "%warpid": self.warp,
            "%nwarpid": self.block_warps,
            "%lanemask_eq": bit,
            "%lanemask_lt": below,
            "%lanemask_le": below | bit,
            "%lanemask_gt": full & ~(below | bit),
            "%lanemask_ge": full & ~below,
            "%cluster_ctarank": self.rank,
            "%cluster_nctarank": self.blocks,
            "%dynamic_smem_size": self.launch.dynamic_shared,
            "%total_smem_size": shared,
            "%aggr_smem_size": shared,
            "WARP_SZ": WARP,
        }
        found: dict[str, tuple[ScalarType, Array | int]] = {
            name: (U32, value) for name, value in words.items()
        }
        found["%gridid"] = (U64, 0)
        found["%is_explicit_cluster"] = (PRED, int(self.launch.has_cluster))
        return found

    def special(self, name: str) -> tuple[ScalarType, Array] | None:
        """Type and value per thread of a special register; None for one that the machine does not have."""
        if name in self._scalars:
            scalar, value = self._scalars[name]
            return scalar, np.broadcast_to(np.asarray(value), (self.slots,)).astype(scalar.dtype)
        vector, _, part = name.partition(".")
        if vector in self._vectors and part in ("x", "y", "z"):
            return U32, self._vectors[vector][:, "xyz".index(part)].astype(np.uint32)
        if vector in self._vectors and part == "w":
            return U32, np.zeros(self.slots, np.uint32)
        return None


SPECIAL_PREFIXES = frozenset(Geometry(Launch((1, 1, 1), (1, 1, 1), (1, 1, 1), False, 0), 0)._vectors)
SPECIAL_NAMES = frozenset(Geometry(Launch((1, 1, 1), (1, 1, 1), (1, 1, 1), False, 0), 0)._scalars)
