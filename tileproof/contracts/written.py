"""How one operand of a statement is written: as a register, a constant, an address, or as nothing that is legal."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from tileproof.contracts.constants import INTEGER, WARP_SIZE, integer, real_bits
from tileproof.contracts.grammar import Operand
from tileproof.contracts.special import ELEMENTS, SpecialRegister, find

WidthOf = Callable[[str], int | None]
"""The bits of the register of a name, 1 for a predicate, 0 for a variable in memory; None for what is not known."""

# PTX ISA 4.4 (identifiers), 6.4 (addresses, arrays, vectors).
NAME = r"(?:[A-Za-z][\w$]*|[_$%][\w$]+)"
_OFFSET = rf"(?:\s*\+\s*(?P<offset>{INTEGER}))?"

_REGISTER = re.compile(rf"{NAME}(?:\.(?:{'|'.join(ELEMENTS)}))?", re.ASCII)
_ADDRESS = re.compile(rf"\[\s*(?P<base>{NAME}){_OFFSET}\s*\]", re.ASCII)
_TENSOR = re.compile(rf"\[\s*(?P<base>{NAME})\s*,\s*(?P<group>\{{[^{{}}]*\}})\s*\]", re.ASCII)
_PLACE = re.compile(rf"(?P<base>{NAME}){_OFFSET}", re.ASCII)
_ELEMENT = re.compile(rf"(?P<base>{NAME})\s*\[\s*(?P<index>{INTEGER})\s*\]", re.ASCII)
_PAIR = re.compile(r"(?P<first>[^|]*?)\s*\|\s*(?P<second>[^|]*)", re.ASCII)


class Written(NamedTuple):
    """How an operand is written, in the words of `Instruction.usage`, or what is wrong with it."""

    how: str | None
    problem: str = ""


def written(operand: Operand, text: str, width_of: WidthOf, bound: int | None) -> Written:
    """How a text writes an operand, or what may stand in its place; a constant is at most `bound`."""
    found = _as_its_kind(operand, text, width_of, bound)
    for kind in operand.instead if found.how is None else ():
        bits = {"descriptor": 64, "tensor address": 32}.get(kind, operand.bits)
        other = _as_its_kind(replace(operand, kind=kind, bits=bits, braced=False), text, width_of, bound)
        if other.how is not None:
            return other
    return found


def _as_its_kind(operand: Operand, text: str, width_of: WidthOf, bound: int | None) -> Written:
    if text == "_" and operand.second != "required" and (operand.sink or operand.kind == "sink"):
        return Written("_")
    if operand.second is None:
        return _alone(operand, text, width_of, bound)
    pair = _PAIR.fullmatch(text)
    if pair is None:
        return Written(None) if operand.second == "required" else _alone(operand, text, width_of, bound)
    second = _predicate(operand, pair["second"], width_of)
    if second.how is None:
        return second
    if pair["first"] == "_" and operand.sink:
        return Written("_")
    return _alone(operand, pair["first"], width_of, bound)


def _alone(operand: Operand, text: str, width_of: WidthOf, bound: int | None) -> Written:
    """An operand without a second predicate."""
    match operand.kind:
        case "registers" if operand.braced:
            return _group(operand, text, width_of)
        case "registers":
            return _one(operand, text, width_of, bound)
        case "predicate":
            return _predicate(operand, text.removeprefix("!") if operand.negatable else text, width_of)
        case "descriptor":
            found = _one(operand, text, width_of, bound)
            return found if found.how is None else Written("descriptor")
        case "address" | "tensor address":
            return _place(operand, _ADDRESS.fullmatch(text), width_of)
        case "name":
            place = _place(operand, _PLACE.fullmatch(text) or _ELEMENT.fullmatch(text), width_of)
            return place if place.how or place.problem else _one(operand, text, width_of, bound)
        case "tensor":
            return _tensor(operand, text, width_of)
        case "immediate":
            return _constant(operand, text, bound)
    return Written(None)


def _group(operand: Operand, text: str, width_of: WidthOf) -> Written:
    if not (text.startswith("{") and text.endswith("}")):
        return Written(None)
    elements = [element.strip() for element in text[1:-1].split(",")]
    if len(elements) != operand.registers:
        return Written(None, f", which are {len(elements)}")
    if all(element == "_" for element in elements):
        return Written(None, ", which leaves nothing")
    for element in elements:
        if not (element == "_" and operand.gaps):
            how, problem = _one(operand, element, width_of, None)
            if how is None:
                return Written(None, problem)
    return Written("group")


def _one(operand: Operand, text: str, width_of: WidthOf, bound: int | None) -> Written:
    """A register, or a constant that stands for one."""
    special = find(text)
    if special is not None:
        return _special(operand, text, special)
    if _REGISTER.fullmatch(text) is None or text == WARP_SIZE:
        return _constant(operand, text, bound)
    bits = width_of(text)
    if bits is None and "." in text:
        return Written(None, _undeclared(text))
    if bits in (None, operand.bits) or (operand.wider and 1 < operand.bits < (bits or 0)):
        return Written("register")
    return Written(None, _other(text, bits))


def _special(operand: Operand, text: str, found: SpecialRegister) -> Written:
    """A special register, where it may be read (PTX ISA 10)."""
    name, dot, element = text.partition(".")
    if operand.access != "read" and operand.kind in ("registers", "predicate"):
        return Written(None, ", a special register, which nothing writes")
    if not operand.special:
        return Written(None, ", a special register, which only mov and cvt between integers read")
    if found.vector and element not in ELEMENTS:
        return Written(None, f", and {name} has the elements {name}.x, {name}.y, {name}.z and {name}.w")
    if dot and not found.vector:
        return Written(None, f", and {name} is no vector")
    if operand.bits in (found.bits, *found.older) or (operand.wider and operand.bits < found.bits):
        return Written("register")
    return Written(None, _other(text, found.bits))


def _predicate(operand: Operand, text: str, width_of: WidthOf) -> Written:
    special = find(text)
    if special is not None:
        return _special(operand, text, special)
    if _REGISTER.fullmatch(text) is None or text == WARP_SIZE:
        return Written(None)
    bits = width_of(text)
    if bits is None and "." in text:
        return Written(None, _undeclared(text))
    return Written("predicate") if bits in (None, 1) else Written(None, _other(text, bits))


def _tensor(operand: Operand, text: str, width_of: WidthOf) -> Written:
    found = _TENSOR.fullmatch(text)
    if found is None:
        return Written(None)
    bits = width_of(found["base"])
    if bits not in (None, 0, 64):
        return Written(None, _other(found["base"], bits))
    coordinates = _group(operand, found["group"], width_of)
    return coordinates if coordinates.how is None else Written("tensor")


def _place(operand: Operand, found: re.Match[str] | None, width_of: WidthOf) -> Written:
    """An address. Without brackets, only a variable has an offset or an index (PTX ISA 6.4.1, 6.4.2)."""
    if found is None or found["base"] == WARP_SIZE:
        return Written(None)
    base = found["base"]
    bits, special = width_of(base), find(base)
    if operand.kind == "name" and found[0] != base and (bits or special is not None):
        return Written(None, f", and {base} is no variable")
    if special is not None:
        return _special(operand, base, special)
    variable = bits == 0 and operand.kind != "tensor address"
    if variable or bits in (None, operand.bits) or (operand.narrow and bits == 32):
        return Written(operand.kind)
    return Written(None, _other(base, bits))


def _constant(operand: Operand, text: str, bound: int | None) -> Written:
    if operand.real:
        return Written("constant" if operand.constants and real_bits(text) else None)
    if operand.also_real and real_bits(text) == operand.bits:
        return Written("constant")
    value = integer(text)
    if value is None or value not in operand.constants:
        return Written(None)
    if bound is not None and value > bound:
        return Written(None, f", and {operand.at_most} is {bound}")
    return Written("constant")


def _undeclared(element: str) -> str:
    """That there is no vector which the element is of (PTX ISA 6.4.3)."""
    return f", and no vector {element.partition('.')[0]} is declared"


def _other(name: str, bits: int | None) -> str:
    """What a name is that is not of the width that is needed."""
    if bits == 0:
        return f", and {name} is a variable"
    return f", and {name} has {'one bit' if bits == 1 else f'{bits} bits'}"
