"""How one operand of a statement is written: as a register, a constant, an address, or as nothing that is legal."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from tileproof.contracts.grammar import Operand

WidthOf = Callable[[str], int | None]
"""The bits of the register of a name, 1 for a predicate; None for what is no register or not known."""

# PTX ISA 4.4 (identifiers), 4.5 (constants), 6.4 (addresses).
NAME = r"(?:[A-Za-z][\w$]*|[_$%][\w$]+)"
_INTEGER = r"[+-]?(?:0[xX][0-9A-Fa-f]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)U?"
_REAL = r"[+-]?(?:0[fF][0-9A-Fa-f]{8}|0[dD][0-9A-Fa-f]{16}|[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)"
_OFFSET = rf"(?:\s*\+\s*(?P<offset>{_INTEGER}))?"

_REGISTER = re.compile(NAME, re.ASCII)
_WHOLE = re.compile(_INTEGER, re.ASCII)
_FRACTION = re.compile(_REAL, re.ASCII)
_ADDRESS = re.compile(rf"\[\s*(?P<base>{NAME}){_OFFSET}\s*\]", re.ASCII)
_TENSOR = re.compile(rf"\[\s*(?P<base>{NAME})\s*,\s*(?P<group>\{{[^{{}}]*\}})\s*\]", re.ASCII)
_SPECIAL = re.compile(r"%[a-z]\w*\.[xyzw]", re.ASCII)
_PLACE = re.compile(rf"(?P<base>{NAME}){_OFFSET}", re.ASCII)
_PAIR = re.compile(r"(?P<first>[^|]*?)\s*\|\s*(?P<second>[^|]*)", re.ASCII)
LONGEST = 72
"""Letters of 64 binary digits with what stands around them; nothing longer is a constant."""


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
    if operand.second is not None:
        pair = _PAIR.fullmatch(text)
        if pair is not None:
            second = _predicate(pair["second"], width_of)
            if second.how is None:
                return second
            text = pair["first"]
            if text == "_" and operand.sink:
                return Written("_")
        elif operand.second == "required":
            return Written(None)
    match operand.kind:
        case "registers" if operand.braced:
            return _group(operand, text, width_of)
        case "registers":
            return _one(operand, text, width_of, bound)
        case "predicate":
            return _predicate(text.removeprefix("!") if operand.negatable else text, width_of)
        case "descriptor":
            found = _one(operand, text, width_of, bound)
            return found if found.how is None else Written("descriptor")
        case "address" | "tensor address":
            return _place(operand, _ADDRESS.fullmatch(text), width_of)
        case "name":
            place = _place(operand, _PLACE.fullmatch(text), width_of)
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
    if operand.special and _SPECIAL.fullmatch(text) is not None:
        return Written("register")
    if _REGISTER.fullmatch(text) is None:
        return _constant(operand, text, bound)
    bits = width_of(text)
    if bits is None or bits == operand.bits or (operand.wider and 1 < operand.bits < bits):
        return Written("register")
    return Written(None, f", and {text} has {_bits(bits)}")


def _predicate(text: str, width_of: WidthOf) -> Written:
    if _REGISTER.fullmatch(text) is None:
        return Written(None)
    bits = width_of(text)
    return Written("predicate") if bits in (None, 1) else Written(None, f", and {text} has {bits} bits")


def _tensor(operand: Operand, text: str, width_of: WidthOf) -> Written:
    found = _TENSOR.fullmatch(text)
    if found is None:
        return Written(None)
    bits = width_of(found["base"])
    if bits is not None and bits != 64:
        return Written(None, f", and {found['base']} has {_bits(bits)}")
    coordinates = _group(operand, found["group"], width_of)
    return coordinates if coordinates.how is None else Written("tensor")


def _place(operand: Operand, found: re.Match[str] | None, width_of: WidthOf) -> Written:
    if found is None:
        return Written(None)
    bits, wanted = width_of(found["base"]), operand.bits
    if bits is None or bits == wanted or (operand.narrow and bits == 32):
        return Written(operand.kind)
    return Written(None, f", and {found['base']} has {_bits(bits)}")


def _constant(operand: Operand, text: str, bound: int | None) -> Written:
    if operand.real:
        legal = bool(operand.constants) and _FRACTION.fullmatch(text) is not None
        return Written("constant" if legal else None)
    value = integer(text)
    if value is None or value not in operand.constants:
        return Written(None)
    if bound is not None and value > bound:
        return Written(None, f", and {operand.at_most} is {bound}")
    return Written("constant")


def integer(text: str) -> int | None:
    """The value of an integer constant (PTX ISA 4.5.1)."""
    if len(text) > LONGEST or _WHOLE.fullmatch(text) is None:
        return None
    digits = text.rstrip("U").lstrip("+-")
    base = (
        2
        if digits[:2] in ("0b", "0B")
        else 16
        if digits[:2] in ("0x", "0X")
        else 8
        if digits[0] == "0"
        else 10
    )
    value = int(digits.removeprefix("0b").removeprefix("0B"), base)
    return -value if text.startswith("-") else value


def _bits(bits: int) -> str:
    return "one bit" if bits == 1 else f"{bits} bits"
