"""What a name means where it stands: the innermost declaration around it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tileproof.errors import SimulationError
from tileproof.simulate import syntax
from tileproof.simulate.geometry import SPECIAL_NAMES, SPECIAL_PREFIXES
from tileproof.simulate.operands import (
    Couple,
    Location,
    Negated,
    Operand,
    Register,
    Sink,
    Special,
    Symbol,
    Target,
    Tuple,
)


@dataclass(slots=True)
class Scope:
    """Names declared between a pair of braces, and the scope around them."""

    parent: Scope | None
    names: dict[str, Register | Symbol | Target] = field(default_factory=dict)

    def declare(self, name: str, what: Register | Symbol | Target, line: int) -> None:
        if name in self.names:
            raise SimulationError(f"line {line}: {name!r} is declared twice in one scope")
        self.names[name] = what

    def find(self, name: str) -> Register | Symbol | Target | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None


def resolve(operand: syntax.Operand, scope: Scope) -> Operand:
    """Replaces names by what they mean. Raises `SimulationError` for one that means nothing here."""
    match operand:
        case syntax.Name(text=text):
            return _named(text, scope)
        case syntax.Sum(base=base, offset=offset):
            symbol = _named(base.text, scope)
            if not isinstance(symbol, Symbol):
                raise SimulationError(
                    f"{base.text}+{offset}: only the address of a variable takes an offset here"
                )
            return Symbol(symbol.name, symbol.space, symbol.address + offset)
        case syntax.Negation(operand=inner):
            register = _named(inner.text, scope)
            if not isinstance(register, Register):
                raise SimulationError(f"!{inner.text}: only a predicate register can be negated")
            return Negated(register)
        case syntax.Pair(first=first, second=second):
            one, two = _named(first.text, scope), _named(second.text, scope)
            if not (isinstance(one, Register | Sink) and isinstance(two, Register | Sink)):
                raise SimulationError(f"{first.text}|{second.text}: both must be registers")
            return Couple(one, two)
        case syntax.Vector(elements=elements):
            return Tuple(tuple(resolve(element, scope) for element in elements))
        case syntax.Address():
            return _location(operand, scope)
        case syntax.Integer() | syntax.Real():
            return operand


def _named(text: str, scope: Scope) -> Register | Symbol | Target | Special | Sink:
    if text == "_":
        return Sink()
    found = scope.find(text)
    if found is not None:
        return found
    if text in SPECIAL_NAMES or text.partition(".")[0] in SPECIAL_PREFIXES:
        return Special(text)
    raise SimulationError(f"{text!r} is not declared")


def _location(operand: syntax.Address, scope: Scope) -> Location:
    base = operand.base
    start = base if isinstance(base, syntax.Integer) else _named(base.text, scope)
    if not isinstance(start, Register | Symbol | syntax.Integer):
        raise SimulationError("an address must start with a register, a variable or a number")
    return Location(start, operand.offset, tuple(resolve(part, scope) for part in operand.rest))
