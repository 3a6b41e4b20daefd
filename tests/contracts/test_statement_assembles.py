"""Statements go through the assembler that is installed here, which takes those that the table says."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache

import pytest

from tests.contracts.test_grammar_assembles import NEWEST
from tileproof.contracts.grammar import Form, Operand, enumerate_spellings, resolve, shapes, unchecked_form
from tileproof.contracts.instructions import (
    addresses,
    arithmetic,
    async_copy,
    async_store,
    atomics,
    barriers,
    caching,
    carry,
    cluster_launch,
    comparisons,
    conversion,
    fences,
    functions,
    integers,
    logic,
    mbarrier,
    moves,
    multimem,
    warps,
)
from tileproof.contracts.legality import breaks
from tileproof.contracts.statement import Statement, read
from tileproof.contracts.syntax import Instruction
from tileproof.emit.assemble import assemble
from tileproof.errors import AssemblerError, TileproofError

INSTRUCTIONS = (
    *addresses.INSTRUCTIONS,
    *async_copy.INSTRUCTIONS,
    *async_store.INSTRUCTIONS,
    *atomics.INSTRUCTIONS,
    *barriers.INSTRUCTIONS,
    *caching.INSTRUCTIONS,
    *carry.INSTRUCTIONS,
    *cluster_launch.INSTRUCTIONS,
    *comparisons.INSTRUCTIONS,
    *fences.INSTRUCTIONS,
    *integers.INSTRUCTIONS,
    *logic.INSTRUCTIONS,
    *mbarrier.INSTRUCTIONS,
    *multimem.INSTRUCTIONS,
    *warps.INSTRUCTIONS,
)
REGISTER_INSTRUCTIONS = (
    *arithmetic.INSTRUCTIONS,
    *conversion.INSTRUCTIONS,
    *functions.INSTRUCTIONS,
    *moves.INSTRUCTIONS,
)
"""Their rules have tests of their own, of every spelling."""

WIDTHS = {"p": 1, "b": 8, "h": 16, "r": 32, "rd": 64, "q": 128}
SPECIAL = {1: "%is_explicit_cluster", 8: "%laneid", 16: "%tid.x", 32: "%laneid", 64: "%clock64"}
EXACT = {32: "0f3F800000", 64: "0d3FF0000000000000"}
REGISTERS = {bits: f"%{prefix}" for prefix, bits in WIDTHS.items()}
MODULE = """.version {version[0]}.{version[1]}
.target {arch}
.address_size 64
.shared .align 32 .b8 s[64];
.visible .entry k()
{{
    .reg .pred %p<8>;
    .reg .b8 %b<8>;
    .reg .b16 %h<8>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<8>;
    {wide}
{lines}
    ret;
}}
"""


def width(name: str) -> int | None:
    found = re.fullmatch(r"%([a-z]+)[0-9]+", name)
    return WIDTHS.get(found[1]) if found else None


def statement_of(text: str) -> Statement | None:
    try:
        return read(text, width)
    except TileproofError:
        return None


def texts(operand: Operand) -> Iterator[str]:
    """Ways to write an operand: all kinds of them, and for constants the first and the last."""
    register = f"{REGISTERS.get(operand.bits, '%q')}0"
    match operand.kind:
        case "registers" if operand.braced:
            names = [f"{REGISTERS[operand.bits]}{index}" for index in range(operand.registers)]
            yield f"{{{', '.join(names)}}}"
            if operand.gaps:
                yield f"{{_, {', '.join(names[1:])}}}"
        case "registers" | "predicate":
            yield from singles(operand, register)
        case "address":
            yield "[%rd0]"
            yield "[%rd0+16]"
            if operand.narrow:
                yield "[%r0]"
        case "name":
            yield register
            if operand.special:
                yield "s+16"
        case "sink":
            yield "_"
    if operand.special:
        yield SPECIAL[operand.bits]
    if operand.sink and operand.second != "required":
        yield "_"
    yield from () if operand.braced else constants(operand)


def singles(operand: Operand, register: str) -> Iterator[str]:
    if operand.second != "required":
        yield register
    if operand.wider and operand.bits < 64:
        yield "%rd0"
    if operand.second is not None:
        yield f"{register}|%p1"
        if operand.sink:
            yield "_|%p1"
    if operand.negatable:
        yield f"!{register}"


def constants(operand: Operand) -> Iterator[str]:
    if operand.also_real:
        yield EXACT[operand.bits]
    if operand.constants and operand.real:
        yield "1.0"
    elif operand.constants:
        yield str(max(operand.constants[0], -(1 << 15)))
        yield str(min(operand.constants[-1], 1 << 15) // 32 * 32 if operand.at_most is None else 4)


def statements(form: Form) -> Iterator[str]:
    """Statements of a form that together have every operand in every way that the table takes alone."""
    choices = [list(dict.fromkeys(texts(operand))) for operand in form.operands]
    needed = [
        [ways[0]] if not operand.optional else []
        for operand, ways in zip(form.operands, choices, strict=True)
    ]
    yield f"{form.spelling} {', '.join(text for ways in needed for text in ways)};"
    for position, ways in enumerate(choices):
        for text in ways:
            given = [*needed[:position], [text], *needed[position + 1 :]]
            yield f"{form.spelling} {', '.join(text for ways in given for text in ways)};"


@cache
def sample() -> dict[str, Statement]:
    """A spelling with each qualifier of each instruction; for each list of operands, these in every way."""
    chosen: dict[str, Statement] = {}
    shown = set()
    for instruction in (*INSTRUCTIONS, *REGISTER_INSTRUCTIONS):
        with_token: defaultdict[str, list[str]] = defaultdict(list)
        for spelling in enumerate_spellings(instruction.mnemonic):
            for token in ("", *spelling.removeprefix(instruction.mnemonic).split(".")[1:]):
                with_token[token].append(spelling)
        picker = random.Random(instruction.mnemonic)
        for spelling in sorted({picker.choice(spellings) for spellings in with_token.values()}):
            for form in shapes(spelling):
                operands = (form.mnemonic, form.operands)
                for text in statements(form) if operands not in shown else [next(statements(form))]:
                    statement = statement_of(text)
                    if statement is not None:
                        chosen[text] = statement
                shown.add(operands)
    return chosen


# Where ptxas is laxer than the notes of the ISA.
UNCHECKED = {
    "cp.async": "ptxas knows .shared::cta before 7.8",
    "st.async": "ptxas has the cluster scope from sm_90 and 8.1 on",
}

TARGETS = [
    ("sm_75", NEWEST),
    ("sm_80", (7, 3)),
    ("sm_80", (8, 2)),
    ("sm_90", (8, 3)),
    ("sm_90a", NEWEST),
    ("sm_100a", (8, 7)),
    ("sm_103f", (9, 1)),
    ("sm_110a", NEWEST),
    ("sm_120", NEWEST),
]


def refused(arch: str, version: tuple[int, int], statements: Iterable[str]) -> set[str]:
    wide = ".reg .b128 %q<8>;" if version >= (8, 3) else ""
    text = MODULE.format(version=version, arch=arch, wide=wide, lines="\n".join(statements))
    with pytest.raises(AssemblerError) as caught:
        assemble(text, arch)
    lines = text.split("\n")
    numbers = re.findall(r"^  line (\d+):", str(caught.value), re.MULTILINE)
    return {lines[int(number) - 1] for number in numbers}


@pytest.mark.parametrize(("arch", "version"), TARGETS)
def test_the_assembler_takes_what_the_table_allows_and_nothing_else(
    arch: str, version: tuple[int, int]
) -> None:
    illegal = {
        text
        for text, statement in sample().items()
        if statement.ptx_version > version or statement.unsupported_reason(arch) is not None
    }
    found = refused(arch, version, sample())
    assert found <= illegal
    assert {sample()[text].form.mnemonic for text in illegal - found} <= UNCHECKED.keys()


def test_the_sample_has_every_qualifier_and_every_operand() -> None:
    statements = sample().values()
    assert 2000 < len(statements) < 3000
    qualifiers = {
        (s.form.mnemonic, token) for s in statements for token in s.form.qualifiers.values() if token
    }
    written = {
        (s.form.mnemonic, operand.name)
        for s in statements
        for operand, text in zip(s.form.operands, s.operands, strict=True)
        if text is not None
    }
    every = (*INSTRUCTIONS, *REGISTER_INSTRUCTIONS)
    assert qualifiers == {(i.mnemonic, token) for i in every for slot in i.slots for token in slot.tokens}
    assert written == {(i.mnemonic, operand.name) for i in every for operand in i.operands}


# Rules of the ISA that ptxas does not enforce, or not always.
LAX = {
    ("st.async", "an mbarrier counts the bytes that arrive"),
    ("red.async", ".s64 is for global memory"),
    ("red.async", "reductions into global memory add"),
    ("red", ".noftz is for 16-bit reals"),
    ("prefetch", "eviction priorities are for global memory"),
    ("fence.proxy", "only the async proxy is limited to a space"),
    ("fence.proxy", "tensor maps are in global memory"),
    ("multimem.red", "only integers have a least and a greatest"),
}


def broken_once(instruction: Instruction) -> dict[str, str]:
    """For each rule a statement that breaks only this one, near a legal spelling."""
    picker = random.Random(instruction.mnemonic)
    legal = list(enumerate_spellings(instruction.mnemonic))
    found: dict[str, str] = {}
    reasons = {rule.because for rule in instruction.rules}
    for _ in range(5000):
        if found.keys() == reasons:
            break
        qualifiers = dict(resolve(picker.choice(legal)).qualifiers)
        for slot in picker.sample(instruction.slots, min(len(instruction.slots), picker.choice((1, 2)))):
            qualifiers[slot.name] = picker.choice(slot.tokens if slot.mandatory else (None, *slot.tokens))
        form = unchecked_form(instruction, qualifiers)
        values = {**form.qualifiers, **form.quantities}
        broken = {rule.because for rule in instruction.rules if breaks(rule, values)}
        writable = all(operand.bits in REGISTERS for operand in form.operands)
        if len(broken) == 1 and writable:
            found.setdefault(broken.pop(), next(statements(form)))
    return found


def test_the_assembler_refuses_what_a_rule_refuses() -> None:
    """Each rule is the only one that refuses some statement, which an assembler refuses too."""
    why = {
        text: (instruction.mnemonic, reason)
        for instruction in INSTRUCTIONS
        for reason, text in broken_once(instruction).items()
    }
    alone = set(why.values())
    assert alone == {(i.mnemonic, rule.because) for i in INSTRUCTIONS for rule in i.rules}
    taken = why.keys() - refused("sm_100a", NEWEST, why)
    assert {why[text] for text in taken} <= LAX
