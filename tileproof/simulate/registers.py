"""The register file: bits per register and thread, and which of them were ever written."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tileproof.simulate.operands import Register
from tileproof.simulate.scalars import Array, ScalarType

Bools = npt.NDArray[np.bool_]


class RegisterFile:
    """Registers of `slots` threads, each thread's own. A thread's register holds nothing until that thread
    has written it.
    """

    def __init__(self, registers: Sequence[Register], slots: int) -> None:
        self._registers = registers
        self._slots = slots
        self._bits: dict[int, Array] = {}
        self._known: dict[int, Bools] = {}

    def read(self, register: Register, slots: Array) -> tuple[Array, Bools]:
        """Bits per thread, shape (threads,) or (threads, 2) for 128 bits, and whether they are defined."""
        if register.index not in self._bits:
            self._create(register)
        return self._bits[register.index][slots], self._known[register.index][slots]

    def write(self, register: Register, slots: Array, bits: Array, known: Bools | bool = True) -> None:
        if register.index not in self._bits:
            self._create(register)
        self._bits[register.index][slots] = bits
        self._known[register.index][slots] = known

    def _create(self, register: Register) -> None:
        shape = (self._slots, 2) if register.type.bits == 128 else (self._slots,)
        self._bits[register.index] = np.zeros(shape, register.type.storage)
        self._known[register.index] = np.zeros(self._slots, bool)


def accepts(register: ScalarType, instruction: ScalarType, wider: bool) -> bool:
    """Whether an operand of one type may stand where an instruction has another (ISA 9.4, type information).

    Sizes must agree and integers must not mix with floats; `.bN` agrees with everything. `wider`: the
    register may exceed an instruction type that is no float (ISA 9.4.1: `ld`, `st` and `cvt`).
    """
    if "p" in (register.kind, instruction.kind):
        return register.kind == instruction.kind
    if register.bits != instruction.bits:
        return wider and register.bits > instruction.bits and "f" not in (register.kind, instruction.kind)
    same_group = register.kind == instruction.kind or (register.is_integer and instruction.is_integer)
    return same_group or "b" in (register.kind, instruction.kind)
