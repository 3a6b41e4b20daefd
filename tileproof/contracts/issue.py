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
    """A register operand: the byte offset of each of its elements in the thread's slots of ``view``'s tensor.

    ``exact`` says that the instruction takes registers of just an element's width, even if that is a byte.
    """

    view: View
    offsets: tuple[Index, ...]
    exact: bool = False


@dataclass(frozen=True, eq=False)
class Memory:
    """A memory operand: the address that the executing lane supplies."""

    view: View
    address: Address


@dataclass(frozen=True, eq=False)
class Scalar:
    """A scalar operand, such as a cache policy: the expression of its value, which ``bits`` bits hold.

    ``immediate`` says that the instruction also takes a number in its place.
    """

    value: Index
    bits: int
    immediate: bool = False


@dataclass(frozen=True, eq=False)
class Predicate:
    """A predicate register that holds the truth of a relation."""

    relation: Relation


@dataclass(frozen=True, eq=False)
class Constant:
    """A number, as the bits that it has in the PTX type ``type`` of the operand."""

    pattern: int
    type: str


@dataclass(frozen=True, eq=False)
class Named:
    """A typed scalar that a register of its name holds at run time; ``dtype`` is its element type."""

    name: str
    dtype: str


IssueOperand = Registers | Memory | Scalar | Predicate | Constant | Named | None
"""``None`` stands for an optional operand that is left out."""
