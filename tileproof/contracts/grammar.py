"""Reads the spelling of one PTX opcode against the instruction table.

    form = resolve("ld.global.v4.b32")
    form.get("vec"), form.quantity("access_bits")        # "v4", 128
    form.supports("sm_90a"), form.ptx_version             # True, (1, 0)

Qualifiers are taken in the order of the ISA's syntax lines only. Assemblers take many other orders; with one
order, equal forms have equal spellings. Nothing here is specific to an instruction: see `instructions/`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType

from tileproof.contracts import diagnosis
from tileproof.contracts.architectures import PtxVersion, architecture
from tileproof.contracts.instructions import TABLE
from tileproof.contracts.legality import amount, breaks, holds, spellings
from tileproof.contracts.syntax import (
    ANY,
    Access,
    Condition,
    Constants,
    Instruction,
    Kind,
    OperandSyntax,
    Second,
    Since,
    Value,
)
from tileproof.errors import OpcodeError

Placement = tuple[int | None, ...]
"""For each slot of an instruction, the index of the token that fills it."""


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand of a form: what `OperandSyntax` says of it, with every condition decided."""

    name: str
    kind: Kind
    access: Access
    registers: int
    bits: int
    braced: bool = False
    wider: bool = False
    real: bool = False
    also_real: bool = False
    negatable: bool = False
    narrow: bool = False
    constants: Constants = ()
    at_most: str | None = None
    optional: bool = False
    sink: bool = False
    gaps: bool = False
    special: bool = False
    second: Second | None = None
    instead: tuple[Kind, ...] = ()
    given: tuple[str, Kind] | None = None


@dataclass(frozen=True, slots=True)
class Form:
    """One exact opcode with one of its lists of operands. Two forms are equal when both are.

    ptx_version is the oldest PTX ISA version that has the form, whatever the target; section is where the ISA
    describes it. shape numbers the operand lists of a spelling; 0 is the usual one.
    """

    spelling: str
    shape: int
    mnemonic: str = field(compare=False)
    qualifiers: Mapping[str, str | None] = field(compare=False)
    quantities: Mapping[str, int] = field(compare=False)
    operands: tuple[Operand, ...] = field(compare=False)
    ptx_version: PtxVersion = field(compare=False)
    section: str = field(compare=False)
    needs: tuple[Since, ...] = field(compare=False, repr=False)

    def get(self, slot: str) -> str | None:
        """The qualifier in a slot, without its dot; None when left out, or when there is no such slot."""
        return self.qualifiers.get(slot)

    def quantity(self, name: str) -> int:
        """A number that the qualifiers imply, such as "access_bits". Raises KeyError for an unknown name."""
        return self.quantities[name]

    def supports(self, arch: str) -> bool:
        """Whether a target such as "sm_90a" has this form. Raises `CallError` for what is no target."""
        return self.unsupported_reason(arch) is None

    def unsupported_reason(self, arch: str) -> str | None:
        """Why a target lacks this form, or None. Raises `CallError` for what is no target."""
        return unmet(self, self.needs, arch)

    def ptx_version_on(self, arch: str) -> PtxVersion:
        """The oldest `.version` of a module for `arch` that holds this form. Raises `CallError` as above."""
        return max(self.ptx_version, architecture(arch).ptx_version)

    def __str__(self) -> str:
        return self.spelling

    def __reduce__(self) -> tuple[Callable[[str, int], Form], tuple[str, int]]:
        return _nth, (self.spelling, self.shape)


def unmet(form: Form, needs: Iterable[Since], arch: str) -> str | None:
    """Why a target lacks something that a form needs, or None. Raises `CallError` for what is no target."""
    target = architecture(arch)
    for need in needs:
        if not need.targets.include(target):
            return (
                f"{form.spelling}: for {need.what or form.mnemonic} the target must be {need.targets}, "
                f"and it is {arch} (PTX ISA {form.section})"
            )
    return None


def table() -> tuple[Instruction, ...]:
    """Every instruction that `resolve` knows."""
    return TABLE


def resolve(spelling: str) -> Form:
    """The form that an opcode spells: mnemonic and qualifiers as they stand in PTX, without operands.

    Raises `OpcodeError` when the table does not know or forbids the spelling. The text names the qualifier,
    its place and what is legal there; for a forbidden combination also the reason and the ISA's section.
    """
    if not isinstance(spelling, str):
        raise OpcodeError(f"an opcode is text such as 'ld.global.v4.b32', not {spelling!r}")
    return _resolve(spelling)


@lru_cache(maxsize=4096)
def _resolve(spelling: str) -> Form:
    instruction, tokens = _split(spelling)
    problem: str | None = None
    for placement in _placements(instruction, tokens):
        places = {slot.name: index for slot, index in zip(instruction.slots, placement, strict=True)}
        qualifiers = {name: None if index is None else tokens[index] for name, index in places.items()}
        quantities = {entry.name: amount(entry, qualifiers) for entry in instruction.quantities}
        values: dict[str, Value] = {**qualifiers, **quantities}
        broken = next((rule for rule in instruction.rules if breaks(rule, values)), None)
        if broken is None:
            return unchecked_form(instruction, qualifiers)
        problem = problem or diagnosis.broken_rule(spelling, instruction, places, values, broken)
    raise OpcodeError(problem or diagnosis.misspelling(spelling, instruction, tokens, tuple(_BY_MNEMONIC)))


@lru_cache(maxsize=4096)
def shapes(spelling: str) -> tuple[Form, ...]:
    """The forms of an opcode, one for each list of operands that it takes; `resolve` gives the first.

    Raises `OpcodeError` as `resolve` does.
    """
    first = resolve(spelling)
    instruction = _BY_MNEMONIC[first.mnemonic]
    values: dict[str, Value] = {**first.qualifiers, **first.quantities}
    others = []
    for number, shape in enumerate(instruction.shapes, 1):
        if holds(shape.when, values):
            needs = (*first.needs, *shape.availability)
            others.append(
                replace(
                    first,
                    shape=number,
                    operands=_operands(shape.operands, first.quantities, values),
                    ptx_version=max(entry.ptx for entry in needs),
                    needs=needs,
                )
            )
    return (first, *others)


def _nth(spelling: str, shape: int) -> Form:
    return next(form for form in shapes(spelling) if form.shape == shape)


def enumerate_spellings(mnemonic: str) -> Iterator[str]:
    """Every legal spelling of a mnemonic, in the table's order. Raises `OpcodeError` for an unknown one."""
    instruction = _BY_MNEMONIC.get(mnemonic)
    if instruction is None:
        raise OpcodeError(diagnosis.unknown_instruction(mnemonic, tuple(_BY_MNEMONIC)))
    return spellings(instruction, 0, {})


_BY_MNEMONIC: Mapping[str, Instruction] = MappingProxyType({entry.mnemonic: entry for entry in TABLE})


def mnemonic_of(spelling: str, mnemonics: Container[str]) -> str | None:
    """The longest of the mnemonics that begins a spelling, if any."""
    words = spelling.split(".")
    beginnings = (".".join(words[:length]) for length in range(len(words), 0, -1))
    return next((beginning for beginning in beginnings if beginning in mnemonics), None)


def knows(mnemonic: str) -> bool:
    """Whether the table has an instruction of this mnemonic."""
    return mnemonic in _BY_MNEMONIC


def instruction_of(form: Form) -> Instruction:
    """The record that a form was read against."""
    return _BY_MNEMONIC[form.mnemonic]


def _split(spelling: str) -> tuple[Instruction, list[str]]:
    """The instruction with the longest mnemonic that begins the spelling, and the tokens after it."""
    mnemonic = mnemonic_of(spelling, _BY_MNEMONIC)
    if mnemonic is not None:
        return _BY_MNEMONIC[mnemonic], spelling.removeprefix(mnemonic).split(".")[1:]
    raise OpcodeError(diagnosis.unknown_instruction(spelling, tuple(_BY_MNEMONIC)))


def _placements(
    instruction: Instruction, tokens: list[str], slot: int = 0, token: int = 0
) -> Iterator[Placement]:
    """Every way to let the tokens fill the slots in order, all mandatory slots included."""
    if slot == len(instruction.slots):
        if token == len(tokens):
            yield ()
        return
    place = instruction.slots[slot]
    if token < len(tokens) and tokens[token] in place.tokens:
        for rest in _placements(instruction, tokens, slot + 1, token + 1):
            yield (token, *rest)
    if not place.mandatory:
        for rest in _placements(instruction, tokens, slot + 1, token):
            yield (None, *rest)


def unchecked_form(instruction: Instruction, qualifiers: Mapping[str, str | None]) -> Form:
    """What qualifiers in the slots of an instruction spell, whether or not its rules allow them together."""
    quantities = {entry.name: amount(entry, qualifiers) for entry in instruction.quantities}
    values: dict[str, Value] = {**qualifiers, **quantities}
    filled = (qualifiers[slot.name] for slot in instruction.slots)
    needs = tuple(entry for entry in instruction.availability if holds(entry.when, values))
    subsections = (section for when, section in instruction.subsections if holds(when, values))
    return Form(
        spelling=".".join((instruction.mnemonic, *(token for token in filled if token is not None))),
        shape=0,
        mnemonic=instruction.mnemonic,
        qualifiers=MappingProxyType(qualifiers),
        quantities=MappingProxyType(quantities),
        operands=_operands(instruction.operands, quantities, values),
        ptx_version=max(entry.ptx for entry in needs),
        section=next(subsections, instruction.section),
        needs=needs,
    )


def _operands(
    syntax: tuple[OperandSyntax, ...], quantities: Mapping[str, int], values: Mapping[str, Value]
) -> tuple[Operand, ...]:
    return tuple(_operand(entry, quantities, values) for entry in syntax if holds(entry.when, values))


def _operand(entry: OperandSyntax, quantities: Mapping[str, int], values: Mapping[str, Value]) -> Operand:
    def where(condition: Condition | None) -> bool:
        return condition is not None and holds(condition, values)

    def number(given: str | int) -> int:
        return quantities[given] if isinstance(given, str) else given

    return Operand(
        entry.name,
        entry.kind,
        entry.access,
        number(entry.registers),
        number(entry.bits),
        braced=where(entry.braced),
        wider=where(entry.wider),
        real=where(entry.real),
        also_real=where(entry.also_real),
        negatable=entry.negatable,
        narrow=where(entry.narrow),
        # An immediate of which the record says no more may be any.
        constants=entry.constants or (ANY if "immediate" in (entry.kind, *entry.instead) else ()),
        at_most=entry.at_most,
        optional=entry.optional,
        sink=entry.sink,
        gaps=where(entry.gaps),
        special=where(entry.special),
        second=entry.second,
        instead=entry.instead,
        given=entry.given,
    )
