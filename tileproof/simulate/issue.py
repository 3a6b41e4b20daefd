"""One instruction as issued for a set of threads: how its operands are read and written, and how it touches
memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from tileproof.simulate.geometry import WARP
from tileproof.simulate.memory import FaultError, within
from tileproof.simulate.operands import (
    Couple,
    Location,
    Negated,
    Operand,
    Register,
    Sink,
    Special,
    Symbol,
    Tuple,
    spell,
)
from tileproof.simulate.registers import accepts
from tileproof.simulate.scalars import PRED, U32, U64, Array, ScalarType, resize_bits, to_bits
from tileproof.simulate.syntax import Integer, Real

if TYPE_CHECKING:
    from tileproof.simulate.machine import Machine
    from tileproof.simulate.program import Instruction

Bools = npt.NDArray[np.bool_]


class Issue:
    """What an executing instruction sees. `slots` are the thread slots that execute it, ascending; all arrays
    run along them.
    """

    __slots__ = ("instruction", "machine", "operands", "slots")

    def __init__(self, machine: Machine, instruction: Instruction, slots: Array) -> None:
        self.machine = machine
        self.instruction = instruction
        self.operands = instruction.operands
        self.slots = slots

    def fail(self, message: str, position: int = 0) -> NoReturn:
        """Stops the simulation for the thread at `position` of `slots`."""
        raise FaultError(message, position)

    @property
    def lanes(self) -> Array:
        """Lane in its warp of every executing thread."""
        return self.slots % WARP

    def warps(self) -> list[Array]:
        """The positions of the executing threads, one array per warp."""
        edges = np.flatnonzero(np.diff(self.slots // WARP)) + 1
        return np.split(np.arange(self.slots.size), edges)

    def operand(self, which: int | Operand) -> Operand:
        return self.operands[which] if isinstance(which, int) else which

    def elements(self, which: int | Operand) -> tuple[Operand, ...]:
        """The parts of a vector operand; a single operand counts as a vector of one."""
        operand = self.operand(which)
        return operand.elements if isinstance(operand, Tuple) else (operand,)

    def read(self, which: int | Operand, kind: ScalarType, *, wider: bool = False) -> Array:
        """Values of a source operand in `kind.dtype`, one per thread; shape (threads, 2) for 128 bits.

        Raises `FaultError` for an undefined register and for an operand whose type the instruction does not
        take.
        """
        values, known = self.peek(which, kind, wider=wider)
        if not known.all():
            self.fail(
                f"reads {spell(self.operand(which))}, which is undefined: this thread never wrote it, or "
                "got it from memory or a lane that held nothing defined",
                int((~known).argmax()),
            )
        return values

    def peek(self, which: int | Operand, kind: ScalarType, *, wider: bool = False) -> tuple[Array, Bools]:
        """Like `read`, but undefined values are told instead of refused."""
        operand = self.operand(which)
        count = self.slots.size
        match operand:
            case Register(type=held):
                if not accepts(held, kind, wider):
                    self.fail(f"register {operand.name} is {held}, where the instruction takes {kind}")
                bits, known = self.machine.registers.read(operand, self.slots)
                return self._interpret(bits, held, kind), known
            case Negated(register=register):
                values, known = self.peek(register, PRED)
                return ~values, known
            case Special(name=name):
                held, values = self.machine.special(name)
                if not accepts(held, kind, wider):
                    self.fail(f"{name} is {held}, where the instruction takes {kind}")
                return self._interpret(to_bits(values[self.slots], held), held, kind), np.ones(count, bool)
            case Symbol(address=address) if (kind.kind in "bu" and kind.bits in (32, 64)) or kind.kind == "s":
                return np.full(count, address, unsigned_dtype(kind)).view(kind.dtype), np.ones(count, bool)
            case Integer() | Real():
                bits_value = self._constant(operand, kind)
                if kind.bits == 128:
                    words = [bits_value & (1 << 64) - 1, bits_value >> 64]
                    return np.broadcast_to(np.asarray(words, np.uint64), (count, 2)), np.ones(count, bool)
                return np.full(count, bits_value, kind.storage).view(kind.dtype), np.ones(count, bool)
        raise FaultError(f"operand {spell(operand)} cannot be read as {kind}")

    @staticmethod
    def _interpret(bits: Array, held: ScalarType, kind: ScalarType) -> Array:
        if kind.kind == "p":
            return bits
        if held.bits == 128 and kind.bits < 128:
            bits = bits[:, 0]
        if kind.bits < held.bits:
            bits = bits.astype(kind.storage)
        return bits.view(kind.dtype)

    def _constant(self, operand: Integer | Real, kind: ScalarType) -> int:
        """The bits of a constant in the instruction's type (ISA 4.5)."""
        match operand:
            case Real(bits=32, pattern=pattern) if kind.bits == 32:
                return pattern
            case Real(bits=32 | 64 | None, value=value) if (
                kind.kind == "f" and kind.dtype.kind == "f" and kind.bits >= 32
            ):
                return int(np.asarray(value, kind.dtype).view(kind.storage))
            case Real(bits=64 | None, pattern=pattern) if kind.bits == 64:
                return pattern
            case Integer(value=value) if kind.kind == "p":
                return int(value != 0)
            case Integer(value=value) if kind.kind != "f":
                if not -(1 << kind.bits - 1) <= value < 1 << kind.bits:
                    self.fail(f"constant {value} does not fit in {kind}")
                return value & (1 << kind.bits) - 1
        raise FaultError(f"constant {operand.value} cannot be used as {kind}")

    def write(
        self,
        which: int | Operand,
        kind: ScalarType,
        values: Array,
        *,
        known: Bools | bool = True,
        wider: bool = False,
    ) -> None:
        """Writes values of type `kind` to a destination; a wider register gets them extended, where the
        instruction allows that.
        """
        operand = self.operand(which)
        if isinstance(operand, Couple):
            operand = operand.first
        if isinstance(operand, Sink):
            return
        if not isinstance(operand, Register):
            self.fail(f"{spell(operand)} cannot be a destination")
        held = operand.type
        if not accepts(held, kind, wider):
            self.fail(f"register {operand.name} is {held}, where the instruction writes {kind}")
        bits = values if kind.bits == 128 else to_bits(values, kind)
        if held.bits != kind.bits:
            bits = resize_bits(bits, kind, held.bits)
        self.machine.registers.write(operand, self.slots, bits, known)

    def second(self, which: int) -> Register | Sink | None:
        """The `p` of a destination `d|p`; None where there is none."""
        operand = self.operands[which]
        return operand.second if isinstance(operand, Couple) else None

    def addresses(self, which: int | Operand, space: str) -> Array:
        """Byte addresses in a state space, one signed 64-bit number per thread. `.shared` takes 32-bit
        registers too.
        """
        operand = self.operand(which)
        if not isinstance(operand, Location):
            self.fail(f"operand {spell(operand)} is not an address; write [{spell(operand)}]")
        base = operand.base
        if isinstance(base, Symbol):
            if base.space != space.split("::", maxsplit=1)[0]:
                self.fail(
                    f"{base.name!r} is a .{base.space} variable, but the instruction addresses {space} memory"
                )
            return np.full(self.slots.size, base.address + operand.offset, np.int64)
        if isinstance(base, Integer):
            if space != "local":
                self.fail(f"a number is an address of .local memory only, not of {space} memory")
            return np.full(self.slots.size, base.value + operand.offset, np.int64)
        if base.type.bits == 32 and space in ("global", "generic"):
            self.fail(f"address register {base.name} is {base.type}; {space} addresses have 64 bits")
        kind = U32 if base.type.bits == 32 else U64
        return self.read(base, kind).astype(np.int64) + operand.offset

    def load(self, space: str, addresses: Array, size: int, align: int | None = None) -> tuple[Array, Bools]:
        """Bytes (threads, size), and whether each thread's are defined; `align` is `size` by default."""
        data = np.empty((addresses.size, size), np.uint8)
        known = np.empty(addresses.size, bool)
        for part in self.machine.memory.parts(
            space, addresses, self.slots, self.machine.geometry.rank[self.slots]
        ):
            with within(part.positions):
                part.space.check_alignment(part.addresses, align or size)
                data[part.positions], known[part.positions] = part.space.load(
                    part.copies, part.addresses, size
                )
        return data, known

    def store(self, space: str, addresses: Array, data: Array, align: int | None = None) -> None:
        """Writes (threads, size) bytes; where threads of a warp disagree about a byte, the last lane stays
        and that is counted.
        """
        for part in self.machine.memory.parts(
            space, addresses, self.slots, self.machine.geometry.rank[self.slots]
        ):
            with within(part.positions):
                part.space.check_alignment(part.addresses, align or data.shape[1])
                lost = part.space.store(part.copies, part.addresses, data[part.positions])
            if lost.any():
                warps = self.slots[part.positions] // WARP
                self.machine.conflicts += count_conflicts(
                    warps, part.copies, part.addresses, data[part.positions]
                )

    def check(self, space: str, addresses: Array, size: int, align: int) -> None:
        """Demands that the addresses could be loaded from, and loads nothing."""
        self.load(space, addresses, size, align)

    def only(self, positions: Array) -> Issue:
        """The same instruction for some of its threads."""
        return Issue(self.machine, self.instruction, self.slots[positions])


def unsigned_dtype(kind: ScalarType) -> np.dtype[Any]:
    """The unsigned type of the same width."""
    return np.dtype(f"u{kind.bytes}")


def count_conflicts(warps: Array, copies: Array, addresses: Array, data: Array) -> int:
    """How many threads had a byte overwritten with another value by a later lane of their own warp in the
    same store.
    """
    final: dict[tuple[int, int, int], int] = {}
    lost = 0
    rows: Sequence[tuple[int, int, int]] = list(
        zip(warps.tolist(), copies.tolist(), addresses.tolist(), strict=True)
    )
    for (warp, copy, address), row in zip(reversed(rows), reversed(data.tolist()), strict=True):
        clashes = [final.setdefault((warp, copy, address + k), byte) != byte for k, byte in enumerate(row)]
        lost += any(clashes)
    return lost
