"""Symbols, and the functions of indices that are derived: they need no operator, hence no reading, of their
own.
"""

from __future__ import annotations

from tileproof.errors import LayoutError
from tileproof.layouts.index import Index, IndexLike, as_index, leaf, select
from tileproof.layouts.leaf import Leaf, Uniformity


def cast(value: IndexLike, bits: int, *, signed: bool = True) -> Index:
    """The value after conversion to a ``bits`` wide machine integer: it wraps around modulo ``2**bits``."""
    if bits < 1:
        raise LayoutError(f"a machine integer has at least one bit, got {bits}")
    half = 1 << (bits - 1) if signed else 0
    return (as_index(value) + half) % (1 << bits) - half


def truncdiv(a: IndexLike, b: IndexLike) -> Index:
    """Division that rounds to zero, as in C and as ptxas translates ``div.s32``; positive divisor."""
    x, y = as_index(a), as_index(b)
    return select(x < 0, -(-x // y), x // y)


def truncmod(a: IndexLike, b: IndexLike) -> Index:
    """Remainder with the sign of the dividend, as in C and as ptxas has it for ``rem.s32``; positive divisor."""
    x, y = as_index(a), as_index(b)
    return select(x < 0, -(-x % y), x % y)


def symbol(
    name: str,
    lo: int | None = None,
    hi: int | None = None,
    *,
    multiple_of: int = 1,
    uniform: Uniformity = "grid",
) -> Index:
    """A runtime integer. ``lo`` and ``hi`` are inclusive bounds; ``multiple_of`` is a divisor of every value.

    ``uniform`` says which threads are sure to see the same value: all of the ``grid`` (a kernel parameter,
    the default), of a ``cluster``, ``cta`` or ``warp``, or no two (``thread``: something loaded or computed
    per thread). Raises :class:`LayoutError` when no value is left.
    """
    if not name.isidentifier():
        raise LayoutError(f"a symbol's name must be an identifier, got {name!r}")
    if multiple_of < 1:
        raise LayoutError(f"symbol {name}: multiple_of must be at least 1, got {multiple_of}")
    if uniform not in ("grid", "cluster", "cta", "warp", "thread"):
        raise LayoutError(
            f"symbol {name}: uniform must be grid, cluster, cta, warp or thread, got {uniform!r}"
        )
    lo = None if lo is None else -(-int(lo) // multiple_of) * multiple_of
    hi = None if hi is None else int(hi) // multiple_of * multiple_of
    if lo is not None and hi is not None and lo > hi:
        raise LayoutError(f"symbol {name} has no value: no multiple of {multiple_of} lies in its bounds")
    return leaf(Leaf(name, "symbol", lo, hi, multiple_of, uniform))
