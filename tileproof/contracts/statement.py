"""Reads one PTX instruction with its operands and holds it against the instruction table.

    statement = read("@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r0], 1024;")
    statement.guard, statement.form.mnemonic        # "%p0", "mbarrier.arrive"
    statement.operands                              # ("_", "[%r0]", "1024")

Names have no types here. Whoever knows the registers that are declared passes their widths, and then these are
checked as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tileproof.contracts.architectures import PtxVersion, architecture
from tileproof.contracts.constants import integer
from tileproof.contracts.grammar import Form, Operand, instruction_of, shapes, unmet
from tileproof.contracts.legality import breaks, holds
from tileproof.contracts.notation import in_words, operand_list
from tileproof.contracts.special import find
from tileproof.contracts.syntax import Since, Value
from tileproof.contracts.written import NAME, WidthOf, written
from tileproof.errors import CallError

_STATEMENT = re.compile(
    rf"\s*(?:@(?P<negated>!?)(?P<guard>{NAME})\s+)?(?P<opcode>[A-Za-z_](?:[\w.]|::)*)(?:\s+(?P<rest>[^;]*?))?\s*;\s*",
    re.ASCII,
)
_CLOSING = {"}": "{", "]": "[", ")": "("}


class Parts(NamedTuple):
    """An instruction as its text has it: the guard with its `!`, the opcode, the text of its operands."""

    guard: str | None
    opcode: str
    operands: str


@dataclass(frozen=True, slots=True)
class Statement:
    """One instruction. `operands` are texts in the order of `form.operands`, None for one that is left out.

    `needs` is what the form needs, and what its operands need besides.
    """

    guard: str | None
    form: Form
    operands: tuple[str | None, ...]
    needs: tuple[Since, ...]

    @property
    def ptx_version(self) -> PtxVersion:
        """The oldest PTX ISA version that has the statement, whatever the target."""
        return max(need.ptx for need in self.needs)

    def unsupported_reason(self, arch: str) -> str | None:
        """Why a target lacks this statement, or None. Raises `CallError` for what is no target."""
        return unmet(self.form, self.needs, arch)

    def ptx_version_on(self, arch: str) -> PtxVersion:
        """The oldest `.version` of a module for `arch` that holds this statement."""
        return max(self.ptx_version, architecture(arch).ptx_version)


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
    forms = shapes(found.opcode)
    _demand_guard(forms[0], found.guard, width_of)
    texts = _split(forms[0], found.operands)
    searches = [_Search(form, texts, width_of) for form in _of_count(forms, len(texts))]
    for search in searches:
        form, readings = search.form, list(search.readings())
        if readings:
            usage = (need for values, _ in readings for need in _usage(form, values))
            special = (register.need for text in texts if (register := find(text)) is not None)
            needs = dict.fromkeys((*form.needs, *usage, *special))
            return Statement(found.guard, form, readings[0][1], tuple(needs))
    raise CallError(_problem(forms[0], [search.failure for search in searches]))


def _demand_guard(form: Form, guard: str | None, width_of: WidthOf) -> None:
    name = (guard or "").lstrip("!")
    if guard is not None and (width_of(name) not in (None, 1) or find(name) is not None):
        raise CallError(f"{form.spelling}: the guard {guard} must be a predicate register")


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


def _of_count(forms: Sequence[Form], count: int) -> list[Form]:
    """The forms that may have so many operands. Raises `CallError` if there is none."""
    ranges = [(_least(form), len(form.operands)) for form in forms]
    found = [form for form, (least, most) in zip(forms, ranges, strict=True) if least <= count <= most]
    if not found:
        least, most = min(low for low, _ in ranges), max(high for _, high in ranges)
        number = str(most) if least == most else f"{least} {'or' if most == least + 1 else 'to'} {most}"
        lists = dict.fromkeys(operand_list(form.operands) for form in forms if form.operands)
        listed = f": {' or '.join(lists)}" if lists else ""
        raise CallError(
            f"{forms[0].spelling} takes {number} operand{'' if number == '1' else 's'}{listed}; it has {count} "
            f"here (PTX ISA {forms[0].section})"
        )
    return found


def _least(form: Form) -> int:
    return sum(not operand.optional and operand.given is None for operand in form.operands)


def _usage(form: Form, values: Mapping[str, Value]) -> Iterator[Since]:
    return (need for need in instruction_of(form).usage_availability if holds(need.when, values))


class _Failure(NamedTuple):
    """Why operands do not fit: the text that got furthest, what it is, what is wrong with it, what is legal there."""

    position: int
    found: str
    flaw: str = ""
    legal: str = ""


def _problem(form: Form, failures: Sequence[_Failure]) -> str:
    """One message about several lists of operands of a spelling."""
    furthest = max(failure.position for failure in failures)
    same = [failure for failure in failures if failure.position == furthest]
    flaw = next((failure.flaw for failure in same if failure.flaw), "")
    legal = " or ".join(dict.fromkeys(failure.legal for failure in same if failure.legal))
    wanted = f"; it must be {legal}" if legal else ""
    return f"{form.spelling}: {same[0].found}{flaw}{wanted} (PTX ISA {form.section})"


class _Search:
    """All ways to hand texts to operands in their order; `failure` is about the text that got furthest."""

    def __init__(self, form: Form, texts: Sequence[str], width_of: WidthOf) -> None:
        self.form = form
        self.texts = texts
        self.width_of = width_of
        self.failure = _Failure(-1, "")

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
                self._fail(len(self.texts), broken.because)

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
        if operand.given is not None and given.get(operand.given[0], ("", ""))[0] != operand.given[1]:
            yield from self._assigned(position + 1, index, given)
            return
        if index < len(self.texts):
            text = self.texts[index]
            how, problem = written(operand, text, self.width_of, _bound(operand, given))
            if how is not None:
                yield from self._assigned(position + 1, index + 1, {**given, operand.name: (how, text)})
            else:
                self._fail(
                    index, f"operand {index + 1}, {operand.name}, is {text!r}", problem, in_words(operand)
                )
        elif not operand.optional:
            self._fail(index, f"operand {operand.name} is missing", legal=in_words(operand))
        if operand.optional:
            yield from self._assigned(position + 1, index, given)

    def _fail(self, index: int, found: str, flaw: str = "", legal: str = "") -> None:
        if index > self.failure.position:
            self.failure = _Failure(index, found, flaw, legal)


def _bound(operand: Operand, given: Mapping[str, tuple[str, str]]) -> int | None:
    """The greatest constant that the operand named `at_most` leaves."""
    how, text = given.get(operand.at_most or "", ("", ""))
    return integer(text) if how == "constant" else None
