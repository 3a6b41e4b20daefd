"""Whether operands, as they stand in PTX text, are those that a form has: number, kind, braces, register sizes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

from tileproof.contracts.grammar import Form, Operand
from tileproof.contracts.syntax import Kind

BITS = {"%h": 16, "%r": 32, "%f": 32, "%rd": 64, "%fd": 64}
NUMBER = r"-?(0[xXf][0-9a-fA-F]+|\d+)"
REGISTER = r"(%[a-z]+)\d+"
BRACKETS = rf"\[(?:{REGISTER}|[A-Za-z]\w*)(?:\s*\+\s*{NUMBER})?\]"


def split(operands: str) -> list[str]:
    """The operands of a statement; one in brackets or braces is whole."""
    return [
        found.strip()
        for found in re.findall(r"(?:\[[^\]]*\]|\{[^}]*\}|[^,\[{]+)+", operands)
        if found.strip()
    ]


def fits(form: Form, operands: str) -> bool:
    return _match(split(operands), form.operands, {})


def _match(texts: list[str], operands: tuple[Operand, ...], kinds: dict[str, Kind]) -> bool:
    if not operands:
        return not texts
    first, *rest = operands
    if first.given is not None and kinds[first.given[0]] != first.given[1]:
        return _match(texts, tuple(rest), kinds)
    if texts:
        for kind in (first.kind, *first.instead):
            if _is(texts[0], first, kind) and _match(texts[1:], tuple(rest), {**kinds, first.name: kind}):
                return True
    return first.optional and _match(texts, tuple(rest), kinds)


def _is(text: str, operand: Operand, kind: Kind) -> bool:
    match kind:
        case "registers":
            braced = re.fullmatch(r"\{(.*)\}", text)
            if operand.braced != (braced is not None):
                return False
            written = [part.strip() for part in (braced[1] if braced else text).split(",")]
            return len(written) == operand.registers and all(
                _bits(part) == operand.bits or (bool(operand.constants) and _is_number(part))
                for part in written
            )
        case "immediate":
            return _is_number(text)
        case "predicate":
            return re.fullmatch(r"!?%p\d+", text) is not None
        case "descriptor":
            return _bits(text) == (operand.bits if operand.kind == "descriptor" else 64)
        case "address":
            return re.fullmatch(BRACKETS, text) is not None
        case "tensor address":
            found = re.fullmatch(BRACKETS, text)
            return found is not None and found[1] == "%r"
        case "tensor":
            found = re.fullmatch(rf"\[{REGISTER}\s*,\s*\{{([^}}]*)\}}\]", text)
            if found is None or found[1] != "%rd":
                return False
            written = [part.strip() for part in found[2].split(",")]
            return len(written) == operand.registers and all(_bits(p) == 32 or _is_number(p) for p in written)


def _bits(text: str) -> int | None:
    found = re.fullmatch(REGISTER, text)
    return BITS.get(found[1]) if found else None


def _is_number(text: str) -> bool:
    return re.fullmatch(NUMBER, text) is not None


NAMES = {16: "%h", 32: "%r", 64: "%rd"}


def write(form: Form, *, other: bool = False) -> str:
    """The form as a statement in which no register stands twice.

    `other`: with what may stand in the place of an operand, and with all optional operands.
    """
    kinds = {o.name: o.instead[0] if other and o.instead else o.kind for o in form.operands}
    numbers = count()
    texts = [
        _text(operand, kinds[operand.name], numbers)
        for operand in form.operands
        if (other or not operand.optional)
        and (operand.given is None or kinds[operand.given[0]] == operand.given[1])
    ]
    return f"{form.spelling} {', '.join(texts)}".rstrip() + ";"


def _text(operand: Operand, kind: Kind, numbers: Iterator[int]) -> str:
    def registers(bits: int) -> str:
        return ",".join(f"{NAMES[bits]}{next(numbers)}" for _ in range(operand.registers))

    match kind:
        case "registers":
            return f"{{{registers(operand.bits)}}}" if operand.braced else registers(operand.bits)
        case "immediate":
            number = IMMEDIATES.get(operand.name, "1")
            return f"{{{','.join([number] * operand.registers)}}}" if operand.braced else number
        case "predicate":
            return "%p0"
        case "descriptor":
            return registers(operand.bits if operand.kind == kind else 64).split(",")[0]
        case "tensor address":
            return f"[{registers(32)}]"
        case "tensor":
            return f"[%rd0, {{{registers(32)}}}]"
        case "address":
            return f"[{registers(64)}]"


# Numbers that are legal where 1 is not.
IMMEDIATES = {
    "nCols": "32",
    "size": "64",
    "selector-a": "0",
    "selector-b": "0",
    "sp-sel": "0",
    "f": "0",
}

DECLARATIONS = """
    .reg .pred %p<1>;
    .reg .b16 %h<256>;
    .reg .b32 %r<256>;
    .reg .b64 %rd<256>;"""


def module(arch: str, version: tuple[int, int], statements: list[str]) -> str:
    """A kernel for each statement: within one, ptxas wants all of tcgen05 to have the same CTA group."""
    kernels = "\n".join(
        f".visible .entry k{number}()\n{{{DECLARATIONS}\n{statement}\n    ret;\n}}"
        for number, statement in enumerate(statements)
    )
    return f".version {version[0]}.{version[1]}\n.target {arch}\n.address_size 64\n{kernels}\n"
