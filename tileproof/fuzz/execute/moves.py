"""What executing a view does, by brute force: units of some bytes, where each comes from and where it goes."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import prod
from typing import Any

import numpy as np

from tileproof.fuzz.execute import family as family_package
from tileproof.fuzz.execute.points import Points
from tileproof.fuzz.oracle.description import Call, Operand

REGISTERS = "registers"


@dataclass(frozen=True, eq=False)
class Units:
    """One unit of ``width`` bytes at each point: ``offset`` is where it starts in the operand's storage, in bytes."""

    operand: Operand
    offset: Any
    width: int


@dataclass(frozen=True, eq=False)
class Given:
    """One unit at each point that stands in no storage: ``bits`` are unsigned integers."""

    bits: Any


@dataclass(frozen=True)
class Result:
    """What a result is that is a float of a PTX type, or a pair of them. Every NaN is as good as another (PTX ISA
    5.2.3, 9.7.3), and the number may be off by a part of it and by a distance, which are zero unless the
    instruction is an approximation.
    """

    type: str
    relative: float = 0.0
    absolute: float = 0.0


@dataclass(frozen=True, eq=False)
class Move:
    """At each point of ``where``, ``target`` becomes ``compute`` of what stood in ``sources``.

    ``compute`` takes an array of unsigned integers for each source and returns one; without it the only source is
    copied. Without a source the target becomes zero. Units of 16 bytes are only copied. ``ordered`` moves come one
    after another, and each may read and overwrite what earlier ones wrote; others must not meet. ``result`` says
    what is as good as the computed bits; nothing is without it.
    """

    target: Units
    sources: tuple[Units | Given, ...]
    where: Any
    compute: Callable[..., Any] | None = None
    ordered: bool = False
    result: Result | None = None

    @property
    def read(self) -> tuple[Units, ...]:
        """The sources that stand in a storage."""
        return tuple(one for one in self.sources if isinstance(one, Units))


def in_order(move: Move, points: Points) -> tuple[Move, ...]:
    """The move, or one for each repeat if a repeat may read what another one wrote."""
    target = move.target
    if all(u.operand.storage != target.operand.storage or _same(u, target) for u in move.read):
        return (move,)
    extents = [axis.size for axis in points.repeat]
    found = []
    for at in np.ndindex(*extents):
        here = move.where
        for axis, number in zip(points.repeat, at, strict=True):
            here = here & (axis == number)
        found.append(replace(move, where=here, ordered=prod(extents) > 1))
    return tuple(found)


def _same(one: Units, other: Units) -> bool:
    return one.width == other.width and bool(np.all(np.asarray(one.offset) == np.asarray(other.offset)))


@dataclass(frozen=True)
class Mask:
    """Which bits of a tagged register are kept, and which are set."""

    keep: int
    put: int = 0

    def of(self, bits: Any) -> Any:
        """What becomes of unsigned integers."""
        return bits & bits.dtype.type(self.keep) | bits.dtype.type(self.put)


def no_scalars(_: Any) -> Mapping[str, int]:
    """Of families whose operands are tensors only."""
    return {}


def no_masks(_: Any) -> Mapping[str, Mask]:
    """Of families that take tags as they are."""
    return {}


@dataclass(frozen=True)
class Executed:
    """How the views of some mnemonics are executed.

    ``points`` enumerates who executes a call, with at most so many assignments of values to symbols; ``moves``
    is what that does. ``after`` are statements that make the effects visible, executed by all threads after the
    fragment. Where two ``exclusive`` instructions write one byte, the simulator does not go on. ``scalars`` are the
    bit patterns of typed scalars, by the names of the registers' scalars. ``masks`` are for the registers of
    storages, by name, whose tags are not good as they are.
    """

    mnemonics: tuple[str, ...]
    points: Callable[[Any, int], Points]
    moves: Callable[[Any, Points], tuple[Move, ...]]
    after: tuple[str, ...] = ()
    exclusive: bool = False
    scalars: Callable[[Any], Mapping[str, int]] = no_scalars
    masks: Callable[[Any], Mapping[str, Mask]] = no_masks


_EXECUTED: dict[str, Executed] = {}


def executed(family: Executed) -> None:
    """Register how a family is executed."""
    for mnemonic in family.mnemonics:
        _EXECUTED[mnemonic] = family


@cache
def executable() -> tuple[str, ...]:
    """Every instruction whose views can be executed."""
    for module in pkgutil.iter_modules(family_package.__path__):
        importlib.import_module(f"{family_package.__name__}.{module.name}")
    return tuple(_EXECUTED)


def executed_family(call: Call) -> Executed:
    """How the views of the call's family are executed."""
    executable()
    return _EXECUTED[call.family]
