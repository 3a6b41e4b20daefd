"""Reads one PTX instruction with its operands and holds it against the instruction table.

    statement = read("@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r0], 1024;")
    statement.guard, statement.form.mnemonic        # "%p0", "mbarrier.arrive"
    statement.operands                              # ("_", "[%r0]", "1024")

Names have no types here. Whoever knows the registers that are declared passes their widths, and then these are
checked as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tileproof.contracts.architectures import PtxVersion, architecture
from tileproof.contracts.grammar import Form, Operand, instruction_of, resolve, unmet
from tileproof.contracts.legality import breaks, holds
from tileproof.contracts.notation import in_words, operand_list
from tileproof.contracts.syntax import Since, Value
from tileproof.errors import CallError

WidthOf = Callable[[str], int | None]
"""The bits of the register of a name, 1 for a predicate; None for what is no register or not known."""

# PTX ISA 4.4 (identifiers), 4.5 (constants), 6.4 (addresses).
_NAME = r"(?:[A-Za-z][\w$]*|[_$%][\w$]+)"
_INTEGER = r"[+-]?(?:0[xX][0-9A-Fa-f]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)U?"
_REAL = r"[+-]?(?:0[fF][0-9A-Fa-f]{8}|0[dD][0-9A-Fa-f]{16}|[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)"
_OFFSET = rf"(?:\s*\+\s*(?P<offset>{_INTEGER}))?"

_STATEMENT = re.compile(
    rf"\s*(?:@(?P<negated>!?)(?P<guard>{_NAME})\s+)?(?P<opcode>[A-Za-z_](?:[\w.]|::)*)(?:\s+(?P<rest>[^;]*?))?\s*;\s*"
)
_REGISTER = re.compile(_NAME)
_WHOLE = re.compile(_INTEGER)
_FRACTION = re.compile(_REAL)
_ADDRESS = re.compile(rf"\[\s*(?P<base>{_NAME}){_OFFSET}\s*\]")
_PLACE = re.compile(rf"(?P<base>{_NAME}){_OFFSET}")
_PAIR = re.compile(r"(?P<first>[^|]*?)\s*\|\s*(?P<second>[^|]*)")

_CLOSING = {"}": "{", "]": "[", ")": "("}


class Parts(NamedTuple):
    """An instruction as its text has it: the guard with its `!`, the opcode, the text of its operands."""

    guard: str | None
    opcode: str
    operands: str


@dataclass(frozen=True, slots=True)
class Statement:
    """One instruction. `operands` are texts in the order of `form.operands`, None for one that is left out.

    `needs` is what the form needs, and what the operands need besides.
    """

    guard: str | None
    form: Form
    operands: tuple[str | None, ...]
    needs: tuple[Since, ...]

    @property
    def ptx_version(self) -> PtxVersion:
        """The oldest PTX ISA version that has the statement, whatever the target."""
        return max(self.form.ptx_version, *(need.ptx for need in self.needs))

    def unsupported_reason(self, arch: str) -> str | None:
        """Why a target lacks this statement, or None. Raises `CallError` for what is no target."""
        return unmet(self.form, self.needs, arch)

    def ptx_version_on(self, arch: str) -> PtxVersion:
        """The oldest `.version` of a module for `arch` that holds this statement."""
        return max(self.ptx_version, architecture(arch).ptx_version)


class _Written(NamedTuple):
    """How an operand is written, in the words of `Instruction.usage`, or what is wrong with it."""

    how: str | None
    problem: str = ""


def parts(text: str) -> Parts | None:
    """The parts of a text that is one instruction with its semicolon, or None."""
    found = _STATEMENT.fullmatch(text)
    if found is None:
        return None
    guard = found["guard"] and found["negated"] + found["guard"]
    return Parts(guard, found["opcode"], found["rest"] or "")


def _unknown(_: str) -> int | None:
    return None


def read(text: str, width_of: WidthOf = _unknown) -> Statement:
    """The one instruction that a text with its semicolon spells.

    Raises `OpcodeError` for an opcode that the table does not know or allow, and `CallError` for a text that
    is no instruction and for operands that do not fit the opcode. The text names the operand and what it may
    be.
    """
    found = parts(text)
    if found is None:
        raise CallError(f"{text!r} is not one PTX instruction with its semicolon, as in 'bar.sync 0;'")
    form = resolve(found.opcode)
    if found.guard is not None and width_of(found.guard.lstrip("!")) not in (None, 1):
        raise CallError(f"{form.spelling}: the guard {found.guard} must be a predicate register")
    texts = _split(form, found.operands)
    _demand_count(form, texts)
    search = _Search(form, texts, width_of)
    readings = list(search.readings())
    if not readings:
        raise CallError(search.problem)
    needs = dict.fromkeys((*form.needs, *(need for values, _ in readings for need in _usage(form, values))))
    return Statement(found.guard, form, readings[0][1], tuple(needs))


def _split(form: Form, operands: str) -> list[str]:
    """The texts between the commas that stand in no brackets."""
    texts, opened, start = [], [], 0
    for index, letter in enumerate(operands):
        if letter in "{[(":
            opened.append(letter)
        elif letter in _CLOSING and (not opened or opened.pop() != _CLOSING[letter]):
            raise CallError(f"{form.spelling}: '{letter}' closes nothing in {operands!r}")
        elif letter == "," and not opened:
            texts.append(operands[start:index].strip())
            start = index + 1
    if opened:
        raise CallError(f"{form.spelling}: '{opened[-1]}' is not closed in {operands!r}")
    last = operands[start:].strip()
    return [*texts, last] if texts or last else []


def _demand_count(form: Form, texts: Sequence[str]) -> None:
    most = len(form.operands)
    least = sum(not operand.optional for operand in form.operands)
    if not least <= len(texts) <= most:
        number = str(most) if least == most else f"{least} {'or' if most == least + 1 else 'to'} {most}"
        listed = f": {operand_list(form.operands)}" if most else ""
        raise CallError(
            f"{form.spelling} takes {number} operand{'' if number == '1' else 's'}{listed}; it has {len(texts)} "
            f"here (PTX ISA {form.section})"
        )


def _usage(form: Form, values: Mapping[str, Value]) -> Iterator[Since]:
    return (need for need in instruction_of(form).usage_availability if holds(need.when, values))


class _Search:
    """All ways to hand texts to operands in their order; `problem` is about the text that got furthest."""

    def __init__(self, form: Form, texts: Sequence[str], width_of: WidthOf) -> None:
        self.form = form
        self.texts = texts
        self.width_of = width_of
        self.problem = ""
        self._furthest = -1

    def readings(self) -> Iterator[tuple[Mapping[str, Value], tuple[str | None, ...]]]:
        """For each reading how every operand is written, beside the qualifiers, and its text."""
        instruction = instruction_of(self.form)
        absent: dict[str, Value] = dict.fromkeys(operand.name for operand in instruction.operands)
        for given in self._assigned(0, 0, {}):
            written = {name: how for name, (how, _) in given.items()}
            values = {**absent, **self.form.qualifiers, **self.form.quantities, **written}
            broken = next((rule for rule in instruction.usage if breaks(rule, values)), None)
            if broken is None:
                texts = (given.get(operand.name, (None, None))[1] for operand in self.form.operands)
                yield values, tuple(texts)
            else:
                self._fail(len(self.texts), f"{broken.because} (PTX ISA {self.form.section})")

    def _assigned(
        self, position: int, index: int, given: dict[str, tuple[str, str]]
    ) -> Iterator[dict[str, tuple[str, str]]]:
        """The operands from `position` on take the texts from `index` on."""
        if position == len(self.form.operands):
            if index == len(self.texts):
                yield given
            else:
                self._fail(index, f"{self.texts[index]!r} is one operand too many")
            return
        operand = self.form.operands[position]
        if index < len(self.texts):
            text = self.texts[index]
            how, problem = _written(operand, text, self.width_of, _bound(operand, given))
            if how is not None:
                yield from self._assigned(position + 1, index + 1, {**given, operand.name: (how, text)})
            else:
                self._fail(
                    index,
                    f"operand {index + 1}, {operand.name}, is {text!r}{problem}; it must be {in_words(operand)} "
                    f"(PTX ISA {self.form.section})",
                )
        elif not operand.optional:
            self._fail(index, f"operand {operand.name} is missing; it must be {in_words(operand)}")
        if operand.optional:
            yield from self._assigned(position + 1, index, given)

    def _fail(self, index: int, problem: str) -> None:
        if index > self._furthest:
            self._furthest, self.problem = index, f"{self.form.spelling}: {problem}"


def _bound(operand: Operand, given: Mapping[str, tuple[str, str]]) -> int | None:
    """The greatest constant that the operand named `at_most` leaves."""
    how, text = given.get(operand.at_most or "", ("", ""))
    return _integer(text) if how == "constant" else None


def _written(operand: Operand, text: str, width_of: WidthOf, bound: int | None) -> _Written:
    if text == "_" and operand.second != "required" and (operand.sink or operand.kind == "sink"):
        return _Written("_")
    if operand.second is not None:
        pair = _PAIR.fullmatch(text)
        if pair is not None:
            second = _predicate(pair["second"], width_of)
            if second.how is None:
                return second
            text = pair["first"]
            if text == "_" and operand.sink:
                return _Written("_")
        elif operand.second == "required":
            return _Written(None)
    match operand.kind:
        case "registers" if operand.braced:
            return _group(operand, text, width_of)
        case "registers":
            return _one(operand, text, width_of, bound)
        case "predicate":
            return _predicate(text.removeprefix("!") if operand.negatable else text, width_of)
        case "address" | "name":
            return _place(operand, text, width_of)
        case "immediate":
            return _constant(operand, text, bound)
    return _Written(None)


def _group(operand: Operand, text: str, width_of: WidthOf) -> _Written:
    if not (text.startswith("{") and text.endswith("}")):
        return _Written(None)
    elements = [element.strip() for element in text[1:-1].split(",")]
    if len(elements) != operand.registers:
        return _Written(None, f", which are {len(elements)}")
    if all(element == "_" for element in elements):
        return _Written(None, ", which leaves nothing")
    for element in elements:
        if not (element == "_" and operand.gaps):
            how, problem = _one(operand, element, width_of, None)
            if how is None:
                return _Written(None, problem)
    return _Written("group")


def _one(operand: Operand, text: str, width_of: WidthOf, bound: int | None) -> _Written:
    """A register, or a constant that stands for one."""
    if _REGISTER.fullmatch(text) is None:
        return _constant(operand, text, bound)
    bits = width_of(text)
    if bits is None or bits == operand.bits or (operand.wider and 1 < operand.bits < bits):
        return _Written("register")
    return _Written(None, f", and {text} has {_bits(bits)}")


def _predicate(text: str, width_of: WidthOf) -> _Written:
    if _REGISTER.fullmatch(text) is None:
        return _Written(None)
    bits = width_of(text)
    return _Written("predicate") if bits in (None, 1) else _Written(None, f", and {text} has {bits} bits")


def _place(operand: Operand, text: str, width_of: WidthOf) -> _Written:
    found = (_ADDRESS if operand.kind == "address" else _PLACE).fullmatch(text)
    if found is None:
        return _Written(None)
    bits, wanted = width_of(found["base"]), operand.bits
    if bits is None or bits == wanted or (operand.narrow and bits == 32):
        return _Written(operand.kind)
    return _Written(None, f", and {found['base']} has {_bits(bits)}")


def _constant(operand: Operand, text: str, bound: int | None) -> _Written:
    if operand.real:
        legal = bool(operand.constants) and _FRACTION.fullmatch(text) is not None
        return _Written("constant" if legal else None)
    value = _integer(text)
    if value is None or value not in operand.constants:
        return _Written(None)
    if bound is not None and value > bound:
        return _Written(None, f", and {operand.at_most} is {bound}")
    return _Written("constant")


def _integer(text: str) -> int | None:
    """The value of an integer constant (PTX ISA 4.5.1)."""
    if _WHOLE.fullmatch(text) is None:
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
