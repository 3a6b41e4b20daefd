"""A kernel ready to run: names resolved, variables placed, instructions decoded, control flow ordered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tileproof.errors import SimulationError
from tileproof.simulate import instructions, syntax
from tileproof.simulate.flow import order
from tileproof.simulate.operands import Operand, Register, Symbol, Target
from tileproof.simulate.registry import Decoder, Execute
from tileproof.simulate.scalars import TYPES, ScalarType
from tileproof.simulate.scopes import Scope, resolve

_ENDS = ("exit", "ret", "trap")

LIMITS = {"global": 1 << 30, "shared": 227 << 10, "local": 512 << 10, "const": 64 << 10, "param": 32764}
"""Bytes that a kernel may declare in a state space; no device has more than 227 KiB of shared memory."""
MAX_REGISTERS = 1 << 16

MODULE_GLOBALS = 0x1_0000_0000
"""Where `.global` variables of the module begin, below everything that the host passes."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """A decoded instruction. `is_aligned`: a whole warp must execute it; `has_members`: its last operand is a
    membermask.
    """

    opcode: str
    operands: tuple[Operand, ...]
    guard: Register | None
    inverted: bool
    line: int
    text: str
    is_aligned: bool
    has_members: bool
    is_uniform: bool
    execute: Execute


@dataclass(frozen=True, slots=True)
class Placed:
    """A variable and where it lies: `address` and `size` in bytes. A `size` of None is the launch's dynamic
    shared memory.
    """

    variable: syntax.Variable
    type: ScalarType
    address: int
    size: int | None
    align: int


@dataclass(frozen=True, slots=True)
class Program:
    """`ranks[i]` orders instruction i in control flow (see `machine`); `placed` is by state space."""

    name: str
    target: str
    directives: Mapping[str, tuple[int, ...]]
    placed: Mapping[str, tuple[Placed, ...]]
    registers: tuple[Register, ...]
    code: tuple[Instruction, ...]
    ranks: npt.NDArray[np.int64]

    @property
    def static_shared(self) -> int:
        """Bytes of `.shared` variables of stated size, with the gaps that their alignments make."""
        return max(
            (one.address + one.size for one in self.placed["shared"] if one.size is not None), default=0
        )


class Loader:
    """Walks one kernel twice: declarations and labels first, then the operands that refer to them."""

    def __init__(self, module: syntax.Module, kernel: syntax.Kernel, target: str) -> None:
        self.module = module
        self.kernel = kernel
        self.target = target
        self.registers: list[Register] = []
        self.placed: dict[str, list[Placed]] = {
            space: [] for space in ("global", "shared", "local", "const", "param")
        }
        self.found: list[tuple[syntax.Instruction, Scope]] = []
        self.dynamic: list[tuple[syntax.Variable, Scope]] = []

    def load(self) -> Program:
        top = Scope(None)
        for variable in (*self.module.variables, *self.kernel.parameters):
            if (variable.space == "param") != (variable in self.kernel.parameters):
                raise SimulationError(
                    f"line {variable.line}: .{variable.space} {variable.name!r} cannot stand here"
                )
            self._place(variable, top)
        self._walk(self.kernel.body, Scope(top))
        self._place_dynamic()
        code = tuple(self._decode(written, scope) for written, scope in self.found)
        return Program(
            name=self.kernel.name,
            target=self.target,
            directives=self.kernel.directives,
            placed={space: tuple(variables) for space, variables in self.placed.items()},
            registers=tuple(self.registers),
            code=code,
            ranks=order([_successors(code, index) for index in range(len(code))]),
        )

    def _walk(self, body: syntax.Scope, scope: Scope) -> None:
        for statement in body.statements:
            match statement:
                case syntax.RegisterDeclaration():
                    self._declare(statement, scope)
                case syntax.Variable():
                    if statement.space == "param":
                        raise SimulationError(
                            f"line {statement.line}: .param {statement.name!r} cannot stand here"
                        )
                    self._place(statement, scope)
                case syntax.Label(name=name, line=line):
                    scope.declare(name, Target(name, len(self.found)), line)
                case syntax.Scope():
                    self._walk(statement, Scope(scope))
                case syntax.Instruction():
                    self.found.append((statement, scope))

    def _type(self, name: str, line: int) -> ScalarType:
        if name not in TYPES:
            raise SimulationError(f"line {line}: .{name} is not a type that the simulator knows")
        return TYPES[name]

    def _stored(self, variable: syntax.Variable) -> ScalarType:
        scalar = self._type(variable.type, variable.line)
        if scalar.kind == "p":
            raise SimulationError(
                f"line {variable.line}: {variable.name!r} is .pred, which only registers can be"
            )
        return scalar

    def _declare(self, declaration: syntax.RegisterDeclaration, scope: Scope) -> None:
        scalar = self._type(declaration.type, declaration.line)
        if len(self.registers) + sum(count or 1 for _, count in declaration.names) > MAX_REGISTERS:
            raise SimulationError(
                f"line {declaration.line}: more than {MAX_REGISTERS} registers are declared"
            )
        for name, count in declaration.names:
            for full in [name] if count is None else [f"{name}{i}" for i in range(count)]:
                register = Register(full, scalar, len(self.registers))
                self.registers.append(register)
                scope.declare(full, register, declaration.line)

    def _place(self, variable: syntax.Variable, scope: Scope) -> None:
        """Places variables of a space one after another from its start, each at its alignment (its type's
        size unless stated).
        """
        scalar = self._stored(variable)
        if variable.elements is None:
            if variable.space != "shared":
                raise SimulationError(
                    f"line {variable.line}: {variable.name!r} has no size; only .shared arrays may lack one"
                )
            self.dynamic.append((variable, scope))
            return
        start = MODULE_GLOBALS if variable.space == "global" else 0
        taken = self.placed[variable.space]
        end = max((one.address + (one.size or 0) for one in taken), default=start)
        self._put(variable, scope, end, variable.elements * scalar.bytes, _alignment(variable, scalar))

    def _place_dynamic(self) -> None:
        """All arrays of unstated size share one place after the others (CUDA C++ Programming Guide,
        `__shared__`).
        """
        end = max((one.address + (one.size or 0) for one in self.placed["shared"]), default=0)
        align = max((_alignment(one, self._stored(one)) for one, _ in self.dynamic), default=1)
        for variable, scope in self.dynamic:
            self._put(variable, scope, end, None, align)

    def _put(self, variable: syntax.Variable, scope: Scope, end: int, size: int | None, align: int) -> None:
        scalar = self._stored(variable)
        placed = Placed(variable, scalar, -(-end // align) * align, size, align)
        used = placed.address + (size or 0) - (MODULE_GLOBALS if variable.space == "global" else 0)
        if used > LIMITS[variable.space]:
            raise SimulationError(
                f"line {variable.line}: {variable.name!r} ends at byte {used} of .{variable.space} memory, "
                f"of which a kernel has at most {LIMITS[variable.space]} bytes"
            )
        self.placed[variable.space].append(placed)
        scope.declare(variable.name, Symbol(variable.name, variable.space, placed.address), variable.line)

    def _text(self, written: syntax.Instruction) -> str:
        """The instruction as it is written, on one line."""
        source = self.module.source
        guard = written.guard
        prefix = "" if guard is None else f"@{'!' if guard.inverted else ''}{guard.register.text} "
        return prefix + " ".join(source[written.position : source.index(";", written.position)].split())

    def _decode(self, written: syntax.Instruction, scope: Scope) -> Instruction:
        text = self._text(written)
        where = f"kernel {self.kernel.name!r}, line {written.line}, `{text}`"
        entry = instructions.find(written.opcode)
        if entry is None:
            raise SimulationError(f"{where}: the simulator does not know the instruction {written.opcode}")
        try:
            operands = tuple(resolve(operand, scope) for operand in written.operands)
            guard = None if written.guard is None else resolve(written.guard.register, scope)
            if guard is not None and not (isinstance(guard, Register) and guard.type.kind == "p"):
                raise SimulationError("a guard must be a .pred register")
            execute = entry.decode(Decoder(written.opcode, entry.name, operands, self.target))
        except SimulationError as error:
            raise SimulationError(f"{where}: {error}") from None
        words = written.opcode.split(".")
        return Instruction(
            opcode=written.opcode,
            operands=operands,
            guard=guard,
            inverted=written.guard is not None and written.guard.inverted,
            line=written.line,
            text=text,
            is_aligned="aligned" in words and not entry.name.startswith("bar"),
            has_members=entry.members,
            is_uniform=entry.name == "bra" and "uni" in words,
            execute=execute,
        )


def _alignment(variable: syntax.Variable, scalar: ScalarType) -> int:
    align = scalar.bytes if variable.align is None else variable.align
    if align < 1 or align & align - 1:
        raise SimulationError(
            f"line {variable.line}: {variable.name!r} has .align {align}, which is not a power of two"
        )
    return align


def _successors(code: tuple[Instruction, ...], index: int) -> list[int]:
    """The instructions that may come next; leaving the kernel is none."""
    instruction = code[index]
    name = instruction.opcode.split(".")[0]
    found = (
        [operand.index for operand in instruction.operands if isinstance(operand, Target)]
        if name == "bra"
        else []
    )
    if name not in (*_ENDS, "bra") or instruction.guard is not None:
        found.append(index + 1)
    return [one for one in found if one < len(code)]
