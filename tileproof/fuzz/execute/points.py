"""Who executes a view, with which values of its symbols: everything that varies, along the axes of arrays.

The axes are CTA, warp, lane, repeats, element. A CTA has one assignment of values to the symbols that a whole grid
shares; symbols that vary by warp or thread have values of their own there, picked by a hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np

from tileproof.fuzz.execute.tags import FACTOR
from tileproof.fuzz.oracle.description import Call, Operand, Symbol
from tileproof.fuzz.oracle.grid import along
from tileproof.fuzz.oracle.places import place
from tileproof.fuzz.oracle.terms import names, value
from tileproof.fuzz.oracle.threads import Participation, numbers, participation, warps

MOST_CTAS = 8

MOST_UNITS = 1 << 16
"""Elements that all CTAs of a view move; views with more in a CTA have one CTA."""


class UnexecutedError(Exception):
    """The view is not executed, for a reason that says nothing against it."""


class Points:
    """The points of one call at which it is executed.

    ``known`` has the value of each symbol and thread number, ``executing`` says at which threads the instruction
    happens (``pred`` included), ``active`` which threads reach it. All have :attr:`ndim` axes.
    """

    def __init__(
        self, call: Call, group: Sequence[str], repeats: tuple[int, ...], element: int, ctas: int = MOST_CTAS
    ) -> None:
        """``repeats`` and ``element`` are extents, ``group`` the axes of :attr:`Call.group_axes`; at most ``ctas``
        assignments are tried.
        """
        self.call = call
        extents = call.outer_shape[: len(group)]
        self.ndim = 4 + len(repeats)
        self.warps = warps(call.threads)
        units = self.warps * 32 * prod(repeats) * element
        chosen, self.grid = _of_the_grid(call, max(1, min(ctas, MOST_UNITS // units)))
        thread = _numbers(call.block, self.warps, self.ndim)
        self.warp, self.lane = thread["warp"], thread["lane"]
        self.symbols = {s.name: self._values(s, n, chosen) for n, s in enumerate(call.symbols)}
        self.known: dict[str, Any] = {**self.symbols, **thread}
        self.thread = self.warp * 32 + self.lane
        self.exists = self.thread < call.threads
        self.outer = (self.grid, self.warps, 32, *[1] * (self.ndim - 3))
        reached = True if call.guard is None else value(call.guard, self.known)
        active = np.asarray(reached & self.exists)
        self.active = np.broadcast_to(active, self.outer)
        # What is the same in all CTAs is looked at in one.
        one = (active.shape[0], *self.outer[1:])
        part = _participation(call, np.broadcast_to(active, one).reshape(one[:3]), extents)
        self.executing = part.executing.reshape(one)
        if call.pred is not None:
            self.executing = self.executing & np.asarray(value(call.pred, self.known), bool)
        ranks = {"warp": part.warp_rank.reshape(one), "lane": part.lane_rank.reshape(one)}
        if call.guard is None:
            # The ranks are the numbers themselves, which keeps the arrays small.
            ranks = {"warp": self.warp % 4 if call.scope == "warpgroup" else self.warp, "lane": self.lane}
        self.group = [ranks[name] for name in group]
        self.repeat = [self.axis(n, 3 + d) for d, n in enumerate(repeats)]
        self.element = self.axis(element, self.ndim - 1)

    def axis(self, extent: int, axis: int) -> Any:
        """``0 .. extent - 1`` along one axis."""
        return _axis(extent, axis, self.ndim)

    def offset(self, operand: Operand, element: Sequence[Any]) -> Any:
        """Where an element of each repeat stands in the operand's storage, in bytes."""
        found = place(operand, [*self.group, *self.repeat, *element], self.known).offset
        offset = np.asarray(found, np.int64)
        return offset if offset.ndim else offset.reshape([1] * self.ndim)

    def _values(self, symbol: Symbol, position: int, chosen: dict[str, Any]) -> Any:
        if symbol.name in chosen:
            return along(chosen[symbol.name], 0, self.ndim)
        unit = self.warp if symbol.uniform == "warp" else self.warp * 32 + self.lane
        mixed = (unit + 1) * 64 + self.axis(self.grid, 0) * 8 + position
        hashed = (mixed * FACTOR >> 15) & 0xFFFF
        return np.asarray(symbol.values, np.int64)[hashed % len(symbol.values)]


@cache
def _axis(extent: int, axis: int, ndim: int) -> Any:
    made = along(np.arange(extent), axis, ndim)
    made.flags.writeable = False
    return made


@cache
def _numbers(block: tuple[int, ...], count: int, ndim: int) -> dict[str, Any]:
    """Every number of every thread of ``count`` warps."""
    return numbers(block, _axis(count, 1, ndim), _axis(32, 2, ndim))


_UNGUARDED: dict[tuple[Any, ...], Participation] = {}


def _participation(call: Call, active: Any, extents: tuple[int, ...]) -> Participation:
    """Without a guard it follows from the scope and the extents of the block and of the group."""
    if call.guard is not None or call.scope == "thread":
        return participation(call, active, extents)
    key = call.scope, call.collective, call.threads, call.group_axes, extents
    if key not in _UNGUARDED:
        _UNGUARDED[key] = participation(call, active, extents)
    return _UNGUARDED[key]


def access_points(call: Call, element: int, ctas: int) -> Points:
    """The points of an access to memory, whose views are shaped ``(*group, *repeats, *suffix)``."""
    return Points(call, call.group_axes, call.outer_shape[len(call.group_axes) :], element, ctas)


def _of_the_grid(call: Call, most: int) -> tuple[dict[str, Any], int]:
    """The values in each CTA of the symbols that a grid shares, and the number of CTAs: those that the assumption
    allows, or the first, the last and some in between.
    """
    shared = [s for s in call.symbols if s.uniform == "grid"]
    varying = {s.name for s in call.symbols} - {s.name for s in shared}
    if call.assume is not None and varying & set(names(call.assume)):
        raise UnexecutedError("an assumption about values that differ between threads")
    if not shared:
        return {}, most if varying else 1
    shape = tuple(len(s.values) for s in shared)
    legal = np.arange(prod(shape))
    if call.assume is not None:
        known = {s.name: along(s.values, d, len(shared)) for d, s in enumerate(shared)}
        allowed = np.broadcast_to(np.asarray(value(call.assume, known), bool), shape)
        legal = np.flatnonzero(allowed)
    picked = legal[np.unique(np.linspace(0, len(legal) - 1, min(most, len(legal))).astype(np.int64))]
    places = np.unravel_index(picked, shape)
    values = {s.name: np.asarray(s.values, np.int64)[at] for s, at in zip(shared, places, strict=True)}
    return values, len(picked)
