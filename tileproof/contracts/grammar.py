"""Reads the spelling of one PTX opcode against the instruction table.

    form = resolve("ld.global.v4.b32")
    form.get("vec"), form.quantity("access_bits")        # "v4", 128
    form.supports("sm_90a"), form.ptx_version             # True, (1, 0)

Qualifiers are taken in the order of the ISA's syntax lines only. Assemblers take many other orders; with one
order, equal forms have equal spellings. Nothing here is specific to an instruction: see `instructions/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

from tileproof.contracts import diagnosis
from tileproof.contracts.architectures import PtxVersion, architecture
from tileproof.contracts.instructions import TABLE
from tileproof.contracts.legality import amount, breaks, holds, spellings
from tileproof.contracts.syntax import Instruction, OperandSyntax, Since, Value
from tileproof.errors import OpcodeError

Placement = tuple[int | None, ...]
"""For each slot of an instruction, the index of the token that fills it."""


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand of a form: registers per thread, bits per register, whether they are written `{%r0}`."""

    name: str
    kind: Literal["registers", "address"]
    access: Literal["read", "written"]
    registers: int
    bits: int
    braced: bool


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
        target = architecture(arch)
        for need in self.needs:
            if not need.targets.include(target):
                return (
                    f"{self.spelling}: for {need.what or self.mnemonic} the target must be {need.targets}, "
                    f"and it is {arch} (PTX ISA {self.section})"
                )
        return None

    def ptx_version_on(self, arch: str) -> PtxVersion:
        """The oldest `.version` of a module for `arch` that holds this form. Raises `CallError` as above."""
        return max(self.ptx_version, architecture(arch).ptx_version)

    def __str__(self) -> str:
        return self.spelling

    def __reduce__(self) -> tuple[Callable[[str, int], Form], tuple[str, int]]:
        return _nth, (self.spelling, self.shape)


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
            return _form(spelling, instruction, qualifiers, quantities, values)
        problem = problem or diagnosis.broken_rule(spelling, instruction, places, values, broken)
    raise OpcodeError(problem or diagnosis.misspelling(spelling, instruction, tokens))


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


def _split(spelling: str) -> tuple[Instruction, list[str]]:
    """The instruction with the longest mnemonic that begins the spelling, and the tokens after it."""
    words = spelling.split(".")
    for length in range(len(words), 0, -1):
        instruction = _BY_MNEMONIC.get(".".join(words[:length]))
        if instruction is not None:
            return instruction, words[length:]
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


def _form(
    spelling: str,
    instruction: Instruction,
    qualifiers: Mapping[str, str | None],
    quantities: Mapping[str, int],
    values: Mapping[str, Value],
) -> Form:
    needs = tuple(entry for entry in instruction.availability if holds(entry.when, values))
    subsections = (section for when, section in instruction.subsections if holds(when, values))
    return Form(
        spelling=spelling,
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
    return tuple(
        Operand(
            name=entry.name,
            kind=entry.kind,
            access=entry.access,
            registers=quantities[entry.registers] if isinstance(entry.registers, str) else entry.registers,
            bits=quantities[entry.bits] if isinstance(entry.bits, str) else entry.bits,
            braced=entry.braced is not None and holds(entry.braced, values),
        )
        for entry in syntax
        if holds(entry.when, values)
    )
