"""What an instruction on registers computes of bit patterns: the simulator's word, which knows neither contracts nor
emitted code, and how far an approximation may be from it.

A kernel on the simulator is thus held to where its operands stand and to the opcode that is executed; one on a GPU is
also held to the simulator's arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from tileproof.errors import SimulationError
from tileproof.fuzz.execute.moves import Result
from tileproof.fuzz.execute.near import WIDTHS, scalar_of
from tileproof.fuzz.execute.points import UnexecutedError
from tileproof.fuzz.generate.spellings import bits_of
from tileproof.fuzz.map_differences import ERRORS, PRECISIONS
from tileproof.simulate import instructions as _registered  # noqa: F401 - instructions register themselves
from tileproof.simulate.issue import Issue
from tileproof.simulate.memory import FaultError
from tileproof.simulate.operands import Register
from tileproof.simulate.registers import RegisterFile
from tileproof.simulate.registry import Decoder, Execute, find
from tileproof.simulate.scalars import ScalarType, untyped

TARGET = "sm_100a"
"""Of which the simulator knows what is newer than Hopper; nothing that both have differs."""

UNSTATED = 2.0**-16
"""The relative error of approximations of which the ISA states none (``.f64``): results are told apart."""

Compute = Callable[..., Any]


def computation(spelling: str, types: tuple[str, ...]) -> Compute:
    """The function from arrays of unsigned integers, one for each operand that is read, to the result's bits.

    ``types`` are the PTX types of the operands, the destination first. Raises :class:`UnexecutedError` for an
    opcode that the simulator does not know; the function raises it for operands of which nothing is specified.
    """
    registers, execute = _decoded(spelling, types)
    target, *sources = registers

    def compute(*operands: Any) -> Any:
        count = len(operands[0])
        file = RegisterFile(registers, count)
        slots = np.arange(count)
        for register, bits in zip(sources, operands, strict=True):
            file.write(register, slots, bits.astype(register.type.storage))
        machine: Any = SimpleNamespace(registers=file)
        instruction: Any = SimpleNamespace(operands=registers)
        try:
            with np.errstate(all="ignore"):
                execute(Issue(machine, instruction, slots))
        except FaultError as fault:
            raise UnexecutedError(fault.message) from fault
        return file.read(target, slots)[0].astype(f"u{bits_of(types[0]) // 8}")

    return compute


@cache
def _decoded(spelling: str, types: tuple[str, ...]) -> tuple[tuple[Register, ...], Execute]:
    registers = tuple(Register(f"%{n}", _held(type_), n) for n, type_ in enumerate(types))
    entry = find(spelling)
    if entry is None:
        raise UnexecutedError(f"the simulator has no {spelling}")
    try:
        return registers, entry.decode(Decoder(spelling, entry.name, registers, TARGET))
    except SimulationError as error:
        raise UnexecutedError(str(error)) from error


def _held(type_: str) -> ScalarType:
    """The register of an operand: a byte has a wider one, except a narrow pair (PTX ISA 9.4.1)."""
    bits = bits_of(type_)
    return untyped(bits if "x" in type_ else max(16, bits))


def approximate(spelling: str) -> bool:
    """Whether the ISA gives the result some room."""
    return not {"approx", "full"}.isdisjoint(spelling.split("."))


def result(spelling: str, type_: str) -> Result | None:
    """What is as good as a computed result of a type; the simulator's numbers are the nearest ones."""
    scalar = "f32" if type_ == "tf32" else scalar_of(type_)
    if scalar not in WIDTHS:
        return None
    if not approximate(spelling):
        # Whether a result is subnormal may be judged before it is rounded up to the least normal number.
        flushed = "ftz" in spelling.split(".")
        return Result(scalar, 0.0, 2.0 ** PRECISIONS[scalar][1] if flushed else 0.0)
    relative, absolute = ERRORS.get((spelling.partition(".")[0], scalar), (UNSTATED, 0.0))
    precision, least = PRECISIONS[scalar]
    # Approximations may flush subnormals.
    return Result(scalar, relative + 2.0**-precision, absolute + 2.0**least)
