"""What the instruction table is made of: records that say how an opcode is spelled, not how it is parsed.

A *spelling* is a mnemonic followed by qualifiers, each after a dot: `ld.global.v4.b32`. Every qualifier fills
one *slot*; slots stand in one fixed order, that of the ISA's syntax lines. A *condition* maps names of slots
or quantities to the values that satisfy it, `{"space": (None, "global")}`. It holds when every name that it
mentions has one of its values; None means that the slot is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tileproof.contracts.architectures import PtxVersion, Targets

Value = str | int | None
Condition = Mapping[str, tuple[Value, ...]]

ALWAYS: Condition = {}
EVERYWHERE = Targets(minimum=0)


@dataclass(frozen=True, slots=True, eq=False)
class Slot:
    """One place for a qualifier. `says` is what messages call it; `tokens` are its qualifiers, without dots.

    `instead` maps a token that people expect here, but that is illegal, to the one that does what they mean.
    """

    name: str
    says: str
    tokens: tuple[str, ...]
    mandatory: bool = False
    instead: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """An integer that a spelling implies: the product, over some slots, of the factor of the slot's token."""

    name: str
    says: str
    factors: Mapping[str, Mapping[Value, int]]


@dataclass(frozen=True, slots=True, eq=False)
class Requires:
    """Where `when` holds, `then` must hold. `section`: of the PTX ISA; None for the instruction's own."""

    when: Condition
    then: Condition
    because: str
    section: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Since:
    """Where `when` holds, `what` needs at least this PTX ISA version and one of these targets."""

    when: Condition
    ptx: PtxVersion
    targets: Targets = EVERYWHERE
    what: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class OperandSyntax:
    """One operand, in the order of the PTX text. It exists where `when` holds.

    `registers` (how many, per thread) and `bits` (of each) are a number or the name of a quantity. A wider
    register is legal too (PTX ISA 9.4.1). Registers stand in braces where `braced` holds, even a single one.
    """

    name: str
    kind: Literal["registers", "address"]
    access: Literal["read", "written"]
    registers: str | int = 1
    bits: str | int = 64
    braced: Condition | None = None
    when: Condition = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Another list of operands that the same spellings take, such as the halves of `mov.b32 d, {a, b}`.

    It exists where `when` holds, and needs what `availability` says on top of what the spelling needs.
    """

    operands: tuple[OperandSyntax, ...]
    when: Condition = field(default_factory=dict)
    availability: tuple[Since, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Instruction:
    """All spellings of one mnemonic, and where the PTX ISA has them; `subsections` select the exceptions."""

    mnemonic: str
    section: str
    summary: str
    slots: tuple[Slot, ...]
    operands: tuple[OperandSyntax, ...]
    quantities: tuple[Quantity, ...] = ()
    rules: tuple[Requires, ...] = ()
    availability: tuple[Since, ...] = ()
    subsections: tuple[tuple[Condition, str], ...] = ()
    shapes: tuple[Shape, ...] = ()
