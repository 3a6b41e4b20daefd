"""Whether a reported counterexample of an access to memory is one."""

from __future__ import annotations

from dataclasses import replace

from tileproof.fuzz.oracle.counterexamples import Point, Replay, Told
from tileproof.fuzz.oracle.description import Access, Operand
from tileproof.fuzz.oracle.threads import numbers


class AccessReplay(Replay):
    """One access; see :meth:`~tileproof.fuzz.oracle.counterexamples.Replay.fault`."""

    call: Access

    def _address(self, operand: Operand, told: Told, offset: int) -> str | None:
        if self.call.collective:
            matrix, row, word = (told.elements.get(name, 0) for name in self.call.element_names)
            lane = 4 * row + word if operand.space == "registers" else 8 * matrix + row
            if told.lane != lane:
                return f"lane {told.lane} is told, but lane {lane} is who does it"
        return super()._address(operand, told, offset)

    def _span(self, position: int, told: Told) -> tuple[tuple[int, ...], int]:
        call = self.call
        if call.operands[position].space == "registers":
            return super()._span(position, told)
        size = 16 if call.collective else call.count * call.bits // 8
        return (*self._point(told).element[:-1], 0), size

    def _alignment(self, told: Told, size: int) -> str | None:
        point = self._point(told)
        row = (*point.element[:-1], 0)
        return self._access(self.call.memory, told, lambda o, _: (o + (told.base or 0)) % size != 0, row)

    def _aligned(self, told: Told) -> str | None:
        return self._alignment(told, self.call.count * self.call.bits // 8)

    def _row_aligned(self, told: Told) -> str | None:
        return self._alignment(told, 16)

    def _contiguous(self, told: Told) -> str | None:
        memory, width = self.call.memory, self.call.bits // 8

        def apart(offset: int, point: Point) -> bool:
            first = self._offset(memory, point, (*point.element[:-1], 0))
            return offset != first + point.element[-1] * width

        return self._access(memory, told, apart)

    _row_contiguous = _contiguous

    def _no_overflow(self, told: Told) -> str | None:
        def wide(position: int) -> str | None:
            operand = self.call.operands[position]
            start = (*self._point(told).element[:-1], 0)
            return self._access(operand, told, lambda o, _: not -(1 << 31) <= o < 1 << 31, start)

        return self._some(wide)

    def _write_conflict(self, told: Told) -> str | None:
        one, two = self._point(told), self._second(told)
        same_thread = (one.warp, one.lane) == (two.warp, two.lane)
        same_place = one.repeat == two.repeat and one.element == two.element
        if same_place and (same_thread or (self.call.collective and one.warp == two.warp)):
            return "the two sides are one"
        position = self.call.operands.index(self.call.memory)
        return self._overlap(told, (position, one), (position, two))

    def _uniform(self, told: Told) -> str | None:
        """The two lanes of one warp see two regions."""
        one, two = (
            replace(
                self._point(told), lane=lane, known={**symbols, **numbers(self.call.block, told.warp or 0, lane)}
            )
            for lane, symbols in (
                (told.threads.get("lane", 0), self._symbols(told)),
                (told.threads.get("lane'", 0), self._symbols(told, "'")),
            )
        )  # fmt: skip
        if not all(self._active(p.known, p.warp, p.lane) for p in (one, two)):
            return "a thread does not reach the call"
        same = self._offset(self.call.memory, one) == self._offset(self.call.memory, two)
        return "both lanes see one region" if same else None
