"""Every spelling of instructions on registers, with each of its operand lists, through the assembler."""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests.contracts.test_grammar_assembles import NEWEST
from tileproof.contracts.family.arithmetic import MNEMONICS
from tileproof.contracts.grammar import Form, Operand, enumerate_spellings, shapes
from tileproof.emit.assemble import assemble
from tileproof.errors import AssemblerError

REGISTERS = {1: "%p", 8: "%b", 16: "%h", 32: "%r", 64: "%d", 128: "%q"}
MODULE = """.version {version[0]}.{version[1]}
.target {arch}
.address_size 64
.visible .entry k()
{{
    .reg .pred %p<8>;
    .reg .b8 %b<8>;
    .reg .b16 %h<8>;
    .reg .b32 %r<8>;
    .reg .b64 %d<8>;
    .reg .b128 %q<8>;
{body}
    ret;
}}
"""


@cache
def forms() -> tuple[Form, ...]:
    return tuple(form for m in MNEMONICS for spelling in enumerate_spellings(m) for form in shapes(spelling))


def statement(form: Form) -> str:
    return f"{form.spelling} {', '.join(written(form, o, p) for p, o in enumerate(form.operands))};"


def written(form: Form, operand: Operand, position: int) -> str:
    # Only pairs of .e2m1 and the parts of mov need registers of 8 bits (PTX ISA 9.4.1).
    narrow = (
        operand.bits == 8 and form.mnemonic == "cvt" and "e2m1x2" not in (form.get("to"), form.get("from"))
    )
    prefix = REGISTERS[16 if narrow else operand.bits]
    names = ",".join(f"{prefix}{(position + i) % 8}" for i in range(operand.registers))
    return f"{{{names}}}" if operand.braced else names


def module(arch: str, version: tuple[int, int], chosen: tuple[Form, ...]) -> str:
    return MODULE.format(arch=arch, version=version, body="\n".join(map(statement, chosen)))


@pytest.mark.parametrize(
    ("arch", "version"),
    [
        ("sm_75", NEWEST),
        ("sm_80", (8, 3)),
        ("sm_80", NEWEST),
        ("sm_89", NEWEST),
        ("sm_90a", NEWEST),
        ("sm_100", NEWEST),
        ("sm_100a", (8, 6)),
        ("sm_100a", (8, 7)),
        ("sm_100f", (9, 1)),
        ("sm_103a", NEWEST),
        ("sm_120a", NEWEST),
    ],
)
def test_the_assembler_takes_exactly_what_the_table_says(arch: str, version: tuple[int, int]) -> None:
    legal = tuple(f for f in forms() if f.supports(arch) and f.ptx_version <= version)
    assert assemble(module(arch, version, legal), arch).arch == arch
    text = module(arch, version, forms())
    try:
        assemble(text, arch)
        refused = set()
    except AssemblerError as error:
        lines = {int(number) for number in re.findall(r"^  line (\d+):", str(error), re.MULTILINE)}
        refused = {text.split("\n")[number - 1] for number in lines}
    assert refused == {statement(f) for f in forms()} - {statement(f) for f in legal}


def test_how_many_there_are() -> None:
    assert len(forms()) > 1400
    assert len({statement(form) for form in forms()}) == len(forms())
