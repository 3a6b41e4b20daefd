"""Operands once their names are resolved: what an instruction works on when it runs."""

from __future__ import annotations

from dataclasses import dataclass

from tileproof.simulate.scalars import ScalarType
from tileproof.simulate.syntax import Integer, Real


@dataclass(frozen=True, slots=True)
class Register:
    """A virtual register; `index` is its place in the register file. Names are unique per scope, indices per
    kernel.
    """

    name: str
    type: ScalarType
    index: int


@dataclass(frozen=True, slots=True)
class Special:
    """A predefined read-only register such as `%tid.x` (ISA 10)."""

    name: str


@dataclass(frozen=True, slots=True)
class Symbol:
    """The address of a variable, in that variable's own state space (bytes)."""

    name: str
    space: str
    address: int


@dataclass(frozen=True, slots=True)
class Target:
    """A label, as the index of the instruction that it stands before."""

    name: str
    index: int


@dataclass(frozen=True, slots=True)
class Sink:
    """`_`: a result that is thrown away."""


@dataclass(frozen=True, slots=True)
class Negated:
    """`!p`."""

    register: Register


@dataclass(frozen=True, slots=True)
class Couple:
    """`d|p`: two destinations."""

    first: Register | Sink
    second: Register | Sink


@dataclass(frozen=True, slots=True)
class Tuple:
    """`{a, b, ...}`."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Location:
    """`[base + offset]` in bytes, and whatever else stands inside the brackets."""

    base: Register | Symbol | Integer
    offset: int
    rest: tuple[Operand, ...] = ()


Operand = Register | Special | Symbol | Target | Sink | Negated | Couple | Tuple | Location | Integer | Real


def spell(operand: Operand) -> str:
    """How an operand reads in PTX, for messages."""
    match operand:
        case Register(name=name) | Special(name=name) | Symbol(name=name) | Target(name=name):
            return name
        case Negated(register=register):
            return f"!{register.name}"
        case Couple(first=first, second=second):
            return f"{spell(first)}|{spell(second)}"
        case Tuple(elements=elements):
            return "{" + ", ".join(map(spell, elements)) + "}"
        case Location(base=base, offset=offset):
            return f"[{spell(base)}{offset:+}]" if offset else f"[{spell(base)}]"
        case Integer(value=value) | Real(value=value):
            return str(value)
        case Sink():
            return "_"
