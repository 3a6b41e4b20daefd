"""What is written after the opcode, for one instruction: the operands as expressions of lane and repeat.

A family says this once beside its demands; emission substitutes each repeat's coordinates and lowers what is
left.
"""

from __future__ import annotations

from dataclasses import dataclass

from tileproof.contracts.obligation import Address
from tileproof.layouts.index import Index, Relation
from tileproof.layouts.view import View


@dataclass(frozen=True, eq=False)
class Registers:
    """A register operand: the byte offset of each of its elements in the thread's slots of ``view``'s tensor."""

    view: View
    offsets: tuple[Index, ...]


@dataclass(frozen=True, eq=False)
class Memory:
    """A memory operand: the address that the executing lane supplies."""

    view: View
    address: Address


@dataclass(frozen=True, eq=False)
class Scalar:
    """A scalar operand, such as a cache policy: the expression of its value, which ``bits`` bits hold."""

    value: Index
    bits: int


@dataclass(frozen=True, eq=False)
class Immediate:
    """A number that is written as it is."""

    value: int


@dataclass(frozen=True, eq=False)
class Predicate:
    """A predicate register that holds the truth of a relation."""

    relation: Relation


IssueOperand = Registers | Memory | Scalar | Immediate | Predicate | None
"""``None`` stands for an optional operand that is left out."""
