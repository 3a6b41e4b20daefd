"""The instruction families. Importing this package registers them all; see `registry` for how to add one."""

from __future__ import annotations

from tileproof.simulate.instructions import (
    arithmetic,
    atomics,
    bits,
    comparisons,
    control,
    conversions,
    loads,
    matrices,
    moves,
    synchronization,
    warps,
)
from tileproof.simulate.registry import find

__all__ = [
    "arithmetic",
    "atomics",
    "bits",
    "comparisons",
    "control",
    "conversions",
    "find",
    "loads",
    "matrices",
    "moves",
    "synchronization",
    "warps",
]
