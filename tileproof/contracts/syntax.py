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
Access = Literal["read", "written", "updated"]
"""What happens to an operand, or to what it points to; "updated" is read and written."""

Kind = Literal[
    "registers", "predicate", "address", "immediate", "name", "tensor", "tensor address", "descriptor", "sink"
]
Second = Literal["required", "optional"]
Constants = range | tuple[int, ...]

ALWAYS: Condition = {}
ANY: Constants = range(-(1 << 63), 1 << 64)
"""Every constant: integers have 64 bits, signed or unsigned (PTX ISA 4.5.1)."""
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
    """An integer that a spelling implies: the product, over some slots, of the factor of the slot's token.

    `joint` holds factors that several slots have together, by the tuple of their tokens.
    """

    name: str
    says: str
    factors: Mapping[str, Mapping[Value, int]]
    joint: Mapping[tuple[str, ...], Mapping[tuple[Value, ...], int]] = field(default_factory=dict)

    @property
    def slots(self) -> tuple[str, ...]:
        """The names of the slots that it depends on."""
        return (*self.factors, *(name for names in self.joint for name in names))


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

    A field that is a condition says where its fact holds; None is nowhere. `kind`:

    - registers: `registers` of them per thread, `bits` each; a number or the name of a quantity. They stand in
      braces where `braced` holds, even a single one. Where `wider` holds, wider registers are legal too (PTX ISA
      9.4.1 has that for ld, st and cvt only). Where `real` holds, constants are floating-point literals, otherwise
      integers; where `also_real` holds, these and literals as wide as the operand (PTX ISA 6.1).
    - predicate: a register of one bit, negated as `!%p` if `negatable`.
    - address: `[a]`, of 64 bits; where `narrow` holds, 32 are legal too.
    - immediate: a constant.
    - name: an address without brackets: a register, or a variable with an offset or an index, if any (PTX ISA 6.4).
    - tensor: `[a, {c0, c1}]`, a 64-bit address of a tensor map with `registers` coordinates of `bits` each.
    - tensor address: `[a]`, a 32-bit register that holds an address of tensor memory.
    - descriptor: a register of 64 bits, or of `bits`, that describes a matrix or an instruction.
    - sink: `_` and nothing else.

    `constants` are those that may be written (PTX ISA 4.5), none by default, at most the constant that stands
    for the operand `at_most`. An `optional` operand may be left out, `_` may stand for one with `sink` and,
    where `gaps` holds, for registers in braces. Where `special` holds, it may be a special register, as `%tid.x`
    is (PTX ISA 10). `second` says whether `|` and a predicate follow it. An operand of one of the kinds `instead` may
    stand in its place, a descriptor then having 64 bits. Where `given` is ("a", "descriptor"), it is written only
    when the operand a is a descriptor.
    """

    name: str
    kind: Kind
    access: Access
    registers: str | int = 1
    bits: str | int = 64
    braced: Condition | None = None
    when: Condition = field(default_factory=dict)
    wider: Condition | None = None
    real: Condition | None = None
    also_real: Condition | None = None
    negatable: bool = False
    narrow: Condition | None = None
    constants: Constants = ()
    at_most: str | None = None
    optional: bool = False
    sink: bool = False
    gaps: Condition | None = None
    special: Condition | None = None
    second: Second | None = None
    instead: tuple[Kind, ...] = ()
    given: tuple[str, Kind] | None = None


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
    """All spellings of one mnemonic, and where the PTX ISA has them; `subsections` select the exceptions.

    `usage` and `usage_availability` are about a whole statement: their conditions may name operands too, whose
    value is how one is written: "register", "group", "constant", "predicate", "address", "name", "tensor" or "_"; None
    if it is left out.
    """

    mnemonic: str
    section: str
    summary: str
    slots: tuple[Slot, ...]
    operands: tuple[OperandSyntax, ...]
    quantities: tuple[Quantity, ...] = ()
    rules: tuple[Requires, ...] = ()
    availability: tuple[Since, ...] = ()
    subsections: tuple[tuple[Condition, str], ...] = ()
    usage: tuple[Requires, ...] = ()
    usage_availability: tuple[Since, ...] = ()
    shapes: tuple[Shape, ...] = ()
