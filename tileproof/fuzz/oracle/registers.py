"""Calls on registers only: descriptions, every demand that they share, and the replay of counterexamples.

Sources: contract reference, "Memory and register instructions", "Scalar compositions". Repeats are computed one
after another in row-major order; each reads before it writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np

from tileproof.fuzz.oracle.counterexamples import Replay, Told
from tileproof.fuzz.oracle.demands import Judgement
from tileproof.fuzz.oracle.description import Call, Operand, Scalar
from tileproof.fuzz.oracle.views import named_threads


@dataclass(frozen=True)
class RegisterCall(Call):
    """``given`` are tensors and scalars in PTX order; the first is written, all others are read."""

    overwritten: ClassVar[str] = "overwritten"
    """What the hazard is called that a repeat reads what an earlier one has written."""

    given: tuple[Operand | Scalar, ...]

    @property
    def arguments(self) -> tuple[Operand | Scalar, ...]:
        return self.given

    @property
    def operands(self) -> tuple[Operand, ...]:
        return tuple(one for one in self.given if isinstance(one, Operand))

    def mentions(self) -> Iterator[str]:
        yield from super().mentions()
        for one in self.given:
            if isinstance(one, Scalar):
                yield from one.mentions()

    def sharing(self) -> Iterator[int]:
        """The positions of sources in the destination's storage."""
        target, *sources = self.operands
        yield from (n for n, source in enumerate(sources, 1) if source.storage == target.storage)


def shape_misfits(call: RegisterCall, inner: Sequence[tuple[int, ...]]) -> list[str]:
    """Demands on state space and shape; ``inner`` is what the instruction adds to the shape of each tensor."""
    found = []
    outer = set()
    for operand, last in zip(call.operands, inner, strict=True):
        if operand.space != "registers":
            found.append("space")
        shape = operand.view_shape
        rank = len(shape) - len(last)
        if rank < len(call.group_axes) or shape[rank:] != last:
            found.append("shape")
        outer.add(shape[:rank])
        found += named_threads(call, operand)
    return [*found, *(["shape"] if len(outer) > 1 else [])]


class RegisterJudgement(Judgement):
    """What all calls on registers demand, over all points."""

    call: RegisterCall

    def _demands(self) -> None:
        call = self.call
        for position, operand in enumerate(call.operands):
            own = self._own(position)
            self._ownership(operand, own)
            self._whole_registers(operand, own)
            self._bounds(operand)
        target, own = call.operands[0], self._own(0)
        self._distinct_registers(target, own, range(len(own)))
        self._stale(target, own)
        for position in call.sharing():
            self._overwritten(position)

    def _own(self, position: int) -> list[Any]:
        return self.call.element_of(position, self.element)

    def _overwritten(self, position: int) -> None:
        """A repeat writes a register that a later one of the same thread reads."""
        repeats, first = prod(self.repeats), self.symbols + 2
        places = [
            (operand.view_bits // 8, self._place(operand, self._own(side)).offset)
            for side, operand in ((side, self.call.operands[side]) for side in (0, position))
        ]
        outer = np.broadcast_shapes(*(at.shape[:first] for _, at in places), self.executing.shape[:first])
        sides = []
        for size, at in places:
            full = np.broadcast_to(at, (*outer, *self.repeats, *at.shape[first + len(self.repeats) :]))
            sides.append((full.reshape(prod(outer), repeats, -1), size))
        (written, written_size), (read, read_size) = sides
        there = np.broadcast_to(self.executing, (*outer, *[1] * (self.ndim - len(outer)))).reshape(-1)
        for at in range(repeats - 1):
            one, later = written[there, at, :, None, None], read[there, None, at + 1 :]
            if ((one < later + read_size) & (later < one + written_size)).any():
                self.hazards[self.call.overwritten] = {}
                return


class RegisterReplay(Replay):
    """Counterexamples of calls on registers."""

    call: RegisterCall

    def _overwritten(self, told: Told) -> str | None:
        """The destination is written at the one repeat, a source is read at the other, later one."""
        one, two = self._point(told), self._second(told)
        if not one.repeat < two.repeat:
            return f"repeat {two.repeat} does not come after {one.repeat}"
        problems = [self._overlap(told, (0, one), (position, two)) for position in self.call.sharing()]
        return None if None in problems else problems[0]
