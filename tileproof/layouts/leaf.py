"""The variables of index expressions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Uniformity = Literal["grid", "cluster", "cta", "warp", "thread"]
"""The largest group of threads that is sure to see one value of a symbol."""

LeafKind = Literal["symbol", "thread", "group", "repeat", "element", "replica", "base"]


@dataclass(frozen=True)
class Leaf:
    """A variable of an expression. ``lo`` and ``hi`` are inclusive; ``None`` is unbounded.

    ``copy`` tells apart the variables of two threads or two coordinates that one query speaks about.
    """

    name: str
    kind: LeafKind = "symbol"
    lo: int | None = None
    hi: int | None = None
    multiple_of: int = 1
    uniform: Uniformity = "grid"
    copy: int = 0

    def __hash__(self) -> int:
        # Variables are looked up far more often than they are made.
        found: int | None = self.__dict__.get("_hash")
        if found is None:
            found = hash(self._fields())
            object.__setattr__(self, "_hash", found)
        return found

    def __reduce__(self) -> tuple[type[Leaf], tuple[Any, ...]]:
        # A remembered hash is good in its own process only: text hashes differently in the next.
        return Leaf, self._fields()

    def _fields(self) -> tuple[Any, ...]:
        return self.name, self.kind, self.lo, self.hi, self.multiple_of, self.uniform, self.copy

    @property
    def label(self) -> str:
        """The name as a report prints it: copies of one variable get primes."""
        return self.name + "'" * self.copy
