"""Whether a reported counterexample is one, by plain integers at that one point."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from tileproof.fuzz.oracle.description import Call, Operand, Symbol
from tileproof.fuzz.oracle.places import place, starts
from tileproof.fuzz.oracle.terms import value
from tileproof.fuzz.oracle.threads import numbers, owners
from tileproof.fuzz.oracle.views import torn

Values = Mapping[str, int]


@dataclass(frozen=True)
class Told:
    """What a counterexample says.

    ``symbols``, ``threads`` (what the group leaves open), ``group``, ``repeats`` and ``elements`` map names
    to values; a name with a prime belongs to the second thread or coordinate of a pair. ``warp`` and ``lane``
    are the thread that it is about.
    """

    symbols: Values
    threads: Values
    group: Values
    repeats: Values
    elements: Values
    replicas: Values
    warp: int | None
    lane: int | None
    repeat: tuple[int, ...]
    base: int | None
    byte_address: int | None
    slot: int | None


def _plainest(symbol: Symbol) -> int:
    return min(symbol.values, key=lambda v: (abs(v), v < 0))


@dataclass(frozen=True)
class Point:
    """One side of a counterexample: symbols, a thread, and the coordinates of an element."""

    known: dict[str, int]
    warp: int
    lane: int
    group: tuple[int, ...]
    repeat: tuple[int, ...]
    element: tuple[int, ...]

    def at(self, element: tuple[int, ...] | None = None) -> list[int]:
        return [*self.group, *self.repeat, *(self.element if element is None else element)]


class Replay:
    """One call; :meth:`fault` says what is wrong with a counterexample of it."""

    def __init__(self, call: Call, participates: bool) -> None:
        self.call = call
        self.participates = participates
        self.group_extents = call.outer_shape[: len(call.group_axes)]

    def fault(self, demand: str, told: Told) -> str | None:
        """``None`` when ``demand`` fails at the told point and the told numbers are right there."""
        for symbol in self.call.symbols:
            for label in (symbol.name, symbol.name + "'"):
                if told.symbols.get(label, symbol.values[0]) not in symbol.values:
                    return f"{label} = {told.symbols[label]} is no value of the symbol"
        special = getattr(self, "_" + demand.replace("-", "_"), None)
        if special is None:
            return f"no replay for {demand}"
        return special(told)  # type: ignore[no-any-return]

    # Points.

    def _symbols(self, told: Told, prime: str = "") -> dict[str, int]:
        plain = {s.name: told.symbols.get(s.name, _plainest(s)) for s in self.call.symbols}
        return {n: told.symbols.get(n + prime, v) for n, v in plain.items()}

    def _active(self, symbols: Values, warp: int, lane: int, *, pred: bool = True) -> bool:
        call = self.call
        if not (0 <= lane < 32 and 0 <= warp and warp * 32 + lane < call.threads):
            return False
        known = {**symbols, **numbers(call.block, warp, lane)}
        terms = [call.assume, call.guard, call.pred if pred else None]
        return all(bool(value(t, known)) for t in terms if t is not None)

    def _unit(self, warp: int) -> range:
        per_unit = {"thread": 1, "warp": 1, "warpgroup": 4}.get(self.call.scope)
        if per_unit is None:
            return range(32)
        return range(warp // per_unit * per_unit, (warp // per_unit + 1) * per_unit)

    def _ranked(self, symbols: Values, unit: range) -> tuple[list[int], list[int]]:
        """The active warps and the active lanes of a unit, in increasing order."""
        reach = [(w, n) for w in unit for n in range(32) if self._active(symbols, w, n, pred=False)]
        return sorted({w for w, _ in reach}), sorted({n for _, n in reach})

    def _point(self, told: Told) -> Point:
        symbols, warp, lane = self._symbols(told), told.warp or 0, told.lane or 0
        if self.call.collective:
            # The told lane is the one that supplies an address or owns a word; any active lane may speak for
            # the warp.
            active = [n for n in range(32) if self._active(symbols, warp, n)]
            lane = told.threads.get("lane", active[0] if active else lane)
        known = {**symbols, **numbers(self.call.block, warp, lane)}
        group = tuple(told.group.get(name, 0) for name in self.call.group_axes)
        element = tuple(told.elements.get(name, 0) for name in self.call.element_names)
        return Point(known, warp, lane, group, told.repeat, element)

    def _second(self, told: Told) -> Point:
        """The primed side: another thread, repeat or element, with its own varying symbols."""
        first, symbols = self._point(told), self._symbols(told, "'")
        group = tuple(
            told.group.get(n + "'", g) for n, g in zip(self.call.group_axes, first.group, strict=True)
        )
        warp, lane = told.threads.get("warp'", first.warp), told.threads.get("lane'", first.lane)
        unit = self._unit(warp)
        if self.call.scope == "warpgroup":
            number = told.threads.get("warpgroup'", first.warp // 4)
            unit = range(4 * number, 4 * number + 4)
        ranked_warps, ranked_lanes = self._ranked(symbols, unit)
        for name, at in zip(self.call.group_axes, group, strict=True):
            if name == "warp" and at < len(ranked_warps):
                warp = ranked_warps[at]
            if name == "lane" and at < len(ranked_lanes):
                lane = ranked_lanes[at]
        repeat = tuple(told.repeats.get(f"repeat{d}'", r) for d, r in enumerate(first.repeat))
        element = tuple(
            told.elements.get(n + "'", e) for n, e in zip(self.call.element_names, first.element, strict=True)
        )
        known = {**symbols, **numbers(self.call.block, warp, lane)}
        return Point(known, warp, lane, group, repeat, element)

    def _executes(self, point: Point) -> str | None:
        """Why the thread of ``point`` does not execute it, if so."""
        if not self._active(point.known, point.warp, point.lane):
            return f"thread ({point.warp}, {point.lane}) does not reach the call"
        if not self.participates:
            return None
        ranked_warps, ranked_lanes = self._ranked(point.known, self._unit(point.warp))
        for name, at in zip(self.call.group_axes, point.group, strict=True):
            ranks, mine = (ranked_warps, point.warp) if name == "warp" else (ranked_lanes, point.lane)
            if ranks.index(mine) != at:
                return f"group coordinate {name} {at} is not thread ({point.warp}, {point.lane})"
        return None

    def _offset(self, operand: Operand, point: Point, element: tuple[int, ...] | None = None) -> int:
        return int(place(operand, point.at(element), point.known).offset)

    def _access(
        self, operand: Operand, told: Told, fails: Any, element: tuple[int, ...] | None = None
    ) -> str | None:
        """Check execution, the told address, and that ``fails(offset, point)`` holds."""
        point = self._point(told)
        problem = self._executes(point)
        if problem:
            return problem
        offset = self._offset(operand, point, element)
        return self._address(operand, told, offset) or (
            None if fails(offset, point) else f"holds at offset {offset}"
        )

    def _address(self, operand: Operand, told: Told, offset: int) -> str | None:
        if operand.space == "registers":
            same = [o.view_bits for o in self.call.operands if o.storage == operand.storage]
            slot = offset // (max(same) // 8)
            return None if told.slot == slot else f"slot {told.slot} is told, {slot} is right"
        if (told.base or 0) % operand.align:
            return f"base {told.base} is no multiple of {operand.align}"
        return None if told.byte_address == offset else f"byte {told.byte_address} is told, {offset} is right"

    def _some(self, fault: Callable[[int], str | None]) -> str | None:
        """The counterexample may be of any tensor; ``fault`` says what is wrong with it for one."""
        problems = [fault(position) for position in range(len(self.call.operands))]
        return None if None in problems else problems[0]

    # Demands.

    def _whole_register(self, told: Told) -> str | None:
        def torn_apart(position: int) -> str | None:
            operand, own = self._of(position, told)
            return self._access(operand, told, lambda o, _: o % (operand.view_bits // 8) != 0, own)

        return self._some(torn_apart)

    def _whole_element(self, told: Told) -> str | None:
        point = self._point(told)
        problem = self._executes(point)
        if problem:
            return problem
        numbered = {s.name: s.values for s in self.call.symbols}
        at = [list(numbered[s.name]).index(point.known[s.name]) for s in self.call.symbols]
        for operand in self.call.operands:
            where = torn(self.call, operand)
            if (
                where.ndim
                and where[
                    tuple(
                        min(i, n - 1) for i, n in zip((*at, point.warp, point.lane), where.shape, strict=True)
                    )
                ]
            ):
                return None
        return "each wide element is one run of bytes"

    def _in_storage(self, told: Told) -> str | None:
        return self._some(lambda position: self._outside(position, told))

    def _span(self, position: int, told: Told) -> tuple[tuple[int, ...], int]:
        """The element at which what is used of a tensor at once starts, and how many bytes that is."""
        operand, own = self._of(position, told)
        return own, operand.view_bits // 8

    def _outside(self, position: int, told: Told) -> str | None:
        operand = self.call.operands[position]
        if (operand.space == "registers") != (told.slot is not None):
            return f"{operand.name} is in {operand.space}"
        element, size = self._span(position, told)
        if operand.backing is None:
            # Such storage has no end to speak of: it is as long as the shape needs.
            return self._access(operand, told, lambda o, _: o < 0, element)
        total = operand.backing.elements * operand.storage_unit
        return self._access(operand, told, lambda o, _: o < 0 or o + size > total, element)

    def _of(self, position: int, told: Told) -> tuple[Operand, tuple[int, ...]]:
        """A tensor, and which of its elements is told of."""
        own = self.call.element_of(position, self._point(told).element)
        return self.call.operands[position], tuple(own)

    def _in_bounds(self, told: Told) -> str | None:
        point = self._point(told)
        problem = self._executes(point)
        if problem:
            return problem
        for operand in self.call.operands:
            for region, start, extent in zip(
                operand.region, starts(operand, point.known), operand.shape, strict=True
            ):
                size = value(extent, point.known)
                if start < 0 or start + region.span > size or size < 1:
                    return None
        return "every region is inside its dimension"

    def _owned(self, told: Told) -> str | None:
        return self._some(lambda position: self._foreign(position, told))

    def _foreign(self, position: int, told: Told) -> str | None:
        call, point = self.call, self._point(told)
        problem = self._executes(point)
        if problem:
            return problem
        operand, own = self._of(position, told)
        replica = tuple(told.replicas.get(f"replica{d}", 0) for d in range(len(operand.replicas)))
        found = place(operand, point.at(own), point.known, replica).axes
        thread = numbers(call.block, point.warp, call.lane_of(point.element, point.lane))
        if all(at == needed for _, at, needed in owners(call.block, found, thread, call.scope)):
            return "the element belongs to its thread"
        return self._address(operand, told, self._offset(operand, point, own))

    def _distinct(self, told: Told) -> str | None:
        """Two elements of the destination are one register."""
        one, two = self._point(told), self._second(told)
        if (one.repeat, one.element) == (two.repeat, two.element):
            return "the two sides are one"
        return self._overlap(told, (0, one), (0, two))

    def _overlap(self, told: Told, *sides: tuple[int, Point]) -> str | None:
        """The told element of one tensor and that of the other, each executed, share bytes."""
        reach = []
        for position, point in sides:
            problem = self._executes(point)
            if problem:
                return problem
            operand = self.call.operands[position]
            own = tuple(self.call.element_of(position, point.element))
            offset = self._offset(operand, point, own)
            reach.append((operand, offset, offset + operand.view_bits // 8))
        (operand, first, first_end), (_, second, second_end) = reach
        if first >= second_end or second >= first_end:
            return f"offsets {first} and {second} do not overlap"
        return self._address(operand, told, first)

    def _converged(self, told: Told) -> str | None:
        """The told member of the group does not reach the call, while another thread of its unit does."""
        symbols, warp, lane = self._symbols(told), told.warp or 0, told.lane or 0
        if self._active(symbols, warp, lane, pred=False) and not self._partial_group(warp):
            return f"thread ({warp}, {lane}) reaches the call"
        first = 4 * told.threads["warpgroup"] if "warpgroup" in told.threads else warp
        if not any(self._active(symbols, w, n, pred=False) for w in self._unit(first) for n in range(32)):
            return "no thread of its unit reaches the call"
        return None

    def _partial_group(self, warp: int) -> bool:
        return self.call.scope == "warpgroup" and (warp // 4 + 1) * 128 > self.call.threads

    def _covered(self, told: Told) -> str | None:
        """The told thread reaches the call and has no element of the group."""
        symbols = self._symbols(told)
        warp, lane = told.warp or 0, told.lane or 0
        if not self._active(symbols, warp, lane, pred=False):
            return f"thread ({warp}, {lane}) does not reach the call"
        if not self.participates:
            return self._named_by_layout(symbols, warp, lane)
        ranked = self._ranked(symbols, self._unit(warp))
        for name, extent in zip(self.call.group_axes, self.group_extents, strict=True):
            ranks, mine = (ranked[0], warp) if name == "warp" else (ranked[1], lane)
            if ranks.index(mine) >= extent:
                return None
        return "the group has an element for the thread"

    def _named_by_layout(self, symbols: Values, warp: int, lane: int) -> str | None:
        """Whether the register layout gives the thread an element, which a mistaken group may still do.

        A group coordinate may also be read as the thread's own number, and then reach too short.
        """
        call = self.call
        mine = {"warp": warp % 4 if call.scope == "warpgroup" else warp, "lane": lane}
        if call.scope == "warpgroup" or any(
            mine[name] >= extent for name, extent in zip(call.group_axes, self.group_extents, strict=True)
        ):
            return None
        known = {**symbols, **numbers(call.block, warp, lane)}
        inner = [0] * (len(call.naming.view_shape) - len(self.group_extents))
        thread = numbers(call.block, warp, 0 if call.collective else lane)
        for group in product(*map(range, self.group_extents)):
            found = place(call.naming, [*group, *inner], known).axes
            if all(at == needed for _, at, needed in owners(call.block, found, thread, call.scope)):
                return f"group coordinate {group} stands for the thread"
        return None
