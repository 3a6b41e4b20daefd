"""What a PTX text says, before names are resolved: modules, kernels, declarations, instructions, operands
(ISA 4 and 5).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier as written: a register, a variable, a label, a special register or the sink `_`."""

    text: str


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer constant; PTX evaluates constants in 64 bits (ISA 4.5.1)."""

    value: int


@dataclass(frozen=True, slots=True)
class Real:
    """A floating-point constant. `bits` is set for the exact hexadecimal forms: 32 for `0f...`, 64 for
    `0d...`.
    """

    value: float
    bits: int | None
    pattern: int


@dataclass(frozen=True, slots=True)
class Negation:
    """`!p`: a predicate operand that is inverted."""

    operand: Name


@dataclass(frozen=True, slots=True)
class Pair:
    """`p|q`: two destinations of one instruction."""

    first: Name
    second: Name


@dataclass(frozen=True, slots=True)
class Vector:
    """`{a, b, ...}`."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Address:
    """`[base + offset]`, in bytes; `rest` holds further parts, such as the coordinates in `[map, {x, y}]`."""

    base: Name | Integer
    offset: int
    rest: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True)
class Sum:
    """`variable+n`: an address that is a constant."""

    base: Name
    offset: int


Operand = Name | Sum | Integer | Real | Negation | Pair | Vector | Address


@dataclass(frozen=True, slots=True)
class Guard:
    """`@p` or `@!p`."""

    register: Name
    inverted: bool


@dataclass(frozen=True, slots=True)
class Instruction:
    """`@guard opcode operands;`; `position` is where the opcode begins in the text."""

    opcode: str
    operands: tuple[Operand, ...]
    guard: Guard | None
    line: int
    position: int


@dataclass(frozen=True, slots=True)
class Label:
    """`name:`."""

    name: str
    line: int


@dataclass(frozen=True, slots=True)
class RegisterDeclaration:
    """`.reg .type a, %r<n>;`: `count` is None for a single name, else the names are `name0` ..
    `name(count-1)`.
    """

    type: str
    names: tuple[tuple[str, int | None], ...]
    line: int


@dataclass(frozen=True, slots=True)
class Variable:
    """A `.global`, `.shared`, `.local`, `.const` or `.param` variable.

    `elements` is None for an array of unstated size (`smem[]`), which takes the dynamic shared memory of the
    launch. `align` is in bytes and None where unstated. `attributes` keeps the words after the type, such as
    `.ptr` and `.global` of a parameter, and `pointee_align` the alignment that such a parameter promises for
    what it points to.
    """

    name: str
    space: str
    type: str
    elements: int | None
    align: int | None
    attributes: tuple[str, ...]
    pointee_align: int | None
    is_array: bool
    is_extern: bool
    initial: tuple[Integer | Real, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Scope:
    """`{ ... }`: names declared inside are invisible outside."""

    statements: tuple[Statement, ...]


Statement = Instruction | Label | RegisterDeclaration | Variable | Scope


@dataclass(frozen=True, slots=True)
class Kernel:
    """`.entry`: `directives` maps `.reqntid` and its like to their numbers."""

    name: str
    parameters: tuple[Variable, ...]
    directives: dict[str, tuple[int, ...]]
    body: Scope
    line: int


@dataclass(frozen=True, slots=True)
class Module:
    """A whole text, kept as `source` for messages."""

    version: tuple[int, int]
    targets: tuple[str, ...]
    variables: tuple[Variable, ...]
    kernels: tuple[Kernel, ...]
    source: str
