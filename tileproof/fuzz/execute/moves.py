"""What executing a view does, by brute force: units of some bytes, where each comes from and where it goes."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

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
class Move:
    """At each point of ``where``, ``target`` becomes ``compute`` of what stood in ``sources``.

    ``compute`` takes an array of unsigned integers for each source and returns one; without it the only source is
    copied. Without a source the target becomes zero. Units of 16 bytes are only copied.
    """

    target: Units
    sources: tuple[Units, ...]
    where: Any
    compute: Callable[..., Any] | None = None


def no_scalars(_: Any) -> Mapping[str, int]:
    """Of families whose operands are tensors only."""
    return {}


@dataclass(frozen=True)
class Executed:
    """How the views of some mnemonics are executed.

    ``points`` enumerates who executes a call, with at most so many assignments of values to symbols; ``moves``
    is what that does. ``after`` are statements that make the effects visible, executed by all threads after the
    fragment. Where two ``exclusive`` instructions write one byte, the simulator does not go on. ``scalars`` are the
    bit patterns of typed scalars, by the names of the registers' scalars.
    """

    mnemonics: tuple[str, ...]
    points: Callable[[Any, int], Points]
    moves: Callable[[Any, Points], tuple[Move, ...]]
    after: tuple[str, ...] = ()
    exclusive: bool = False
    scalars: Callable[[Any], Mapping[str, int]] = no_scalars


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
