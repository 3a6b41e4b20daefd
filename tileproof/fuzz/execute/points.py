"""Who executes a view, with which values of its symbols: everything that varies, along the axes of arrays.

The axes are CTA, warp, lane, repeats, element. A CTA has one assignment of values to the symbols that a whole grid
shares; symbols that vary by warp or thread have values of their own there, picked by a hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tileproof.fuzz.execute.tags import FACTOR
from tileproof.fuzz.oracle.description import Call, Operand, Symbol
from tileproof.fuzz.oracle.grid import along
from tileproof.fuzz.oracle.places import place
from tileproof.fuzz.oracle.terms import names, value
from tileproof.fuzz.oracle.threads import numbers, participation, warps

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
        extents = call.memory.view_shape[: len(group)]
        self.ndim = 4 + len(repeats)
        self.warps = warps(call.threads)
        units = self.warps * 32 * prod(repeats) * element
        chosen, self.grid = _of_the_grid(call, max(1, min(ctas, MOST_UNITS // units)))
        self.warp, self.lane = self.axis(self.warps, 1), self.axis(32, 2)
        self.symbols = {s.name: self._values(s, n, chosen) for n, s in enumerate(call.symbols)}
        self.known: dict[str, Any] = {**self.symbols, **numbers(call.block, self.warp, self.lane)}
        self.thread = self.warp * 32 + self.lane
        self.exists = self.thread < call.threads
        self.outer = (self.grid, self.warps, 32, *[1] * (self.ndim - 3))
        reached = True if call.guard is None else value(call.guard, self.known)
        self.active = np.broadcast_to(np.asarray(reached & self.exists), self.outer)
        part = participation(call, self.active.reshape(self.outer[:3]), extents)
        self.executing = part.executing.reshape(self.outer)
        if call.pred is not None:
            self.executing = self.executing & np.asarray(value(call.pred, self.known), bool)
        ranks = {"warp": part.warp_rank.reshape(self.outer), "lane": part.lane_rank.reshape(self.outer)}
        if call.guard is None:
            # The ranks are the numbers themselves, which keeps the arrays small.
            ranks = {"warp": self.warp % 4 if call.scope == "warpgroup" else self.warp, "lane": self.lane}
        self.group = [ranks[name] for name in group]
        self.repeat = [self.axis(n, 3 + d) for d, n in enumerate(repeats)]
        self.element = self.axis(element, self.ndim - 1)

    def axis(self, extent: int, axis: int) -> Any:
        """``0 .. extent - 1`` along one axis."""
        return along(np.arange(extent), axis, self.ndim)

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


def access_points(call: Call, element: int, ctas: int) -> Points:
    """The points of an access to memory, whose views are shaped ``(*group, *repeats, *suffix)``."""
    shape = call.memory.view_shape
    repeats = shape[len(call.group_axes) : len(shape) - len(call.suffix)]
    return Points(call, call.group_axes, repeats, element, ctas)


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
