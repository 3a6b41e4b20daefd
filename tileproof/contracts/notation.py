"""How the manual would write what the instruction table holds: syntax lines, and operands in words."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

from tileproof.contracts.grammar import Operand
from tileproof.contracts.legality import holds
from tileproof.contracts.syntax import ANY, Condition, Constants, Instruction, OperandSyntax, Slot

SHORT = 24
"""Slots whose qualifiers take more letters than this are shown by their name."""


def syntax_line(instruction: Instruction) -> str:
    """All spellings in one line: braces around what may be left out, `.name` for one of many qualifiers."""
    opcode = instruction.mnemonic + "".join(_slot(slot) for slot in instruction.slots)
    text = ""
    for operand, always in _operands(instruction):
        written = _operand(operand)
        comma = ", " if text else ""
        text += f"{comma}{written}" if always else f"{{{comma}{written}}}"
    return f"{opcode} {text};" if text else f"{opcode};"


def operand_list(operands: tuple[Operand, ...]) -> str:
    """The operands of one form."""
    text = ""
    for operand in operands:
        comma = ", " if text else ""
        text += f"{{{comma}{_operand(operand)}}}" if operand.optional else f"{comma}{_operand(operand)}"
    return text


def in_words(operand: Operand) -> str:
    """What an operand may be written as."""
    own = _kind_in_words(operand)
    legal = [own] if own else []
    if operand.second == "required":
        legal = [f"{legal[0]}{', or _,' * operand.sink} with '|' and a predicate after it"]
    elif operand.second:
        legal[0] += ", perhaps with '|' and a predicate after it,"
    if operand.special:
        legal.append("a special register")
    if operand.constants and operand.kind != "tensor" and not operand.braced:
        legal.append(_constants(operand))
    for kind in operand.instead:
        bits = 64 if kind == "descriptor" else operand.bits
        legal.append(_kind_in_words(replace(operand, kind=kind, bits=bits, braced=False)))
    if operand.sink and operand.second != "required":
        legal.append("the sink _")
    return " or ".join(text for text in legal if text)


def _kind_in_words(operand: Operand) -> str:
    """An operand of its own kind; nothing for an immediate, of which the constants are all."""
    match operand.kind:
        case "registers" if operand.braced:
            number = f"{operand.registers} registers" if operand.registers != 1 else "one register"
            others = " or constants" * bool(operand.constants) + " or _" * operand.gaps
            names = ", ".join(f"%r{index}" for index in range(min(operand.registers, 4)))
            more = ", ..." if operand.registers > 4 else ""
            return f"{number} of {_width(operand)}{others}, in braces as in {{{names}{more}}}"
        case "registers":
            return f"a register of {_width(operand)}"
        case "predicate":
            return "a predicate register" + (", perhaps negated by '!'" if operand.negatable else "")
        case "address":
            return "an address in brackets, as in [%rd0+16], of " + _address_width(operand)
        case "name":
            return f"a register of {operand.bits} bits or a variable, perhaps with an offset,"
        case "tensor address":
            return "an address of tensor memory in brackets, as in [%r0]"
        case "descriptor":
            return f"a descriptor in a register of {operand.bits} bits"
        case "tensor":
            coordinates = ", ".join(f"%c{index}" for index in range(operand.registers))
            return f"a tensor map and its coordinates, as in [%rd0, {{{coordinates}}}]"
        case "sink":
            return "the sink _"
    return ""


def _slot(slot: Slot) -> str:
    tokens = "|".join(f".{token}" for token in slot.tokens)
    shown = tokens if len(tokens) <= SHORT or len(slot.tokens) == 1 else f".{slot.name}"
    if not slot.mandatory:
        return f"{{{shown}}}"
    return f"({shown})" if "|" in shown else shown


def _operands(instruction: Instruction) -> list[tuple[OperandSyntax, bool]]:
    """Each operand once, and whether every statement has it."""
    entries: dict[str, list[OperandSyntax]] = {}
    for operand in instruction.operands:
        entries.setdefault(operand.name, []).append(operand)
    return [
        (same[0], not same[0].optional and _covers(instruction, [operand.when for operand in same]))
        for same in entries.values()
    ]


def _covers(instruction: Instruction, conditions: list[Condition]) -> bool:
    """Whether one of the conditions holds whatever the qualifiers, where the slots that they mention tell."""
    mentioned = {name for condition in conditions for name in condition}
    slots = [slot for slot in instruction.slots if slot.name in mentioned]
    if len(slots) < len(mentioned):
        return False
    choices = [(*slot.tokens, *(() if slot.mandatory else (None,))) for slot in slots]
    names = [slot.name for slot in slots]
    return all(
        any(holds(condition, dict(zip(names, chosen, strict=True))) for condition in conditions)
        for chosen in product(*choices)
    )


def _operand(operand: OperandSyntax | Operand) -> str:
    text = f"[{operand.name}]" if operand.kind in ("address", "tensor", "tensor address") else operand.name
    if operand.second:
        text += "|p" if operand.second == "required" else "{|p}"
    return f"{{!}}{text}" if operand.negatable else text


def _width(operand: Operand) -> str:
    bits = "one bit" if operand.bits == 1 else f"{operand.bits} bits"
    return f"{bits} or more" if operand.wider else bits


def _address_width(operand: Operand) -> str:
    return "32 or 64 bits" if operand.narrow else "64 bits"


def _constants(operand: Operand) -> str:
    if operand.constants is ANY:
        if not operand.real and not operand.also_real:
            return "an integer constant"
        # Decimal literals are doubles, so the bits of a float are only written in hexadecimal (PTX ISA 4.5.2).
        example = "0f3F800000" if operand.also_real and operand.bits == 32 else "1.0"
        other = "an integer constant or " if operand.also_real else ""
        return f"{other}a floating-point constant, as in {example}"
    text = _values(operand.constants)
    return f"{text} and at most {operand.at_most}" if operand.at_most else text


def _values(constants: Constants) -> str:
    if isinstance(constants, tuple) and len(constants) > 4:
        steps = {high - low for low, high in pairwise(constants)}
        if len(steps) == 1:
            constants = range(constants[0], constants[-1] + 1, steps.pop())
    if isinstance(constants, range):
        bounds = (
            f"{constants[0]} to {constants[-1]}" if constants.stop < 1 << 31 else f"at least {constants[0]}"
        )
        step = f", a multiple of {constants.step}" if constants.step != 1 else ""
        return f"an integer constant, {bounds}{step}"
    words = [str(value) for value in constants]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
