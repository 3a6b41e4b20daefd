"""Legal spellings go through the assembler that is installed here, which takes those that the table says."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from functools import cache

import pytest

from tileproof.contracts.architectures import architecture
from tileproof.contracts.grammar import Form, Operand, enumerate_spellings, resolve, table
from tileproof.emit.assemble import assemble, available_assemblers
from tileproof.errors import AssemblerError

if not available_assemblers():
    pytest.skip("no assembler: the nvidia wheels are extras", allow_module_level=True)

# CUDA 13.x brought PTX ISA 9.x; the table knows nothing newer than 9.5.
_MAJOR, _MINOR = (int(part) for part in available_assemblers()[0].version.split(".")[:2])
NEWEST = min((_MAJOR - 4, _MINOR), (9, 5))

MNEMONICS = ("ld", "st", "ldmatrix", "stmatrix", "cp.async")
REGISTERS = {8: "%h", 16: "%h", 32: "%r", 64: "%d", 128: "%q"}  # the narrowest that PTX has, by bits
VARIABLES = {"global": "g", "shared": "s", "local": "l", "const": "c", "param": "p"}

DECLARATIONS = """
    .reg .b16 %h<8>;
    .reg .b32 %r<8>;
    .reg .b64 %d<8>;
    {wide}
    .local .align 32 .b8 l[64];"""
MODULE = """.version {version[0]}.{version[1]}
.target {arch}
.address_size 64
.global .align 32 .b8 g[64];
.const .align 32 .b8 c[64];
.shared .align 32 .b8 s[64];
.visible .func (.param .align 32 .b8 result[64]) f(.param .align 32 .b8 argument[64])
{{{declarations}
{in_function}
    ret;
}}
.visible .entry k(.param .align 32 .b8 p[64])
{{{declarations}
{in_kernel}
    ret;
}}
"""


@cache
def sample() -> tuple[Form, ...]:
    """One or two spellings with each qualifier of each instruction."""
    chosen = set()
    for mnemonic in MNEMONICS:
        with_token: defaultdict[str, list[str]] = defaultdict(list)
        for spelling in enumerate_spellings(mnemonic):
            for token in spelling.removeprefix(f"{mnemonic}.").split("."):
                with_token[token].append(spelling)
        picker = random.Random(mnemonic)
        for spellings in with_token.values():
            chosen.update(picker.sample(spellings, min(2, len(spellings))))
    return tuple(resolve(spelling) for spelling in sorted(chosen))


def in_function(form: Form) -> bool:
    """Whether it reads an argument or writes the result of a device function, which a kernel has not."""
    return form.get("space") == "param::func" or (form.mnemonic == "st" and form.get("space") == "param")


def statement(form: Form) -> str:
    """With every optional operand that no other one excludes."""
    operands = [operand for operand in form.operands if operand.excludes is None]
    return f"{form.spelling} {', '.join(_written(form, operand) for operand in operands)};"


def _written(form: Form, operand: Operand) -> str:
    if operand.kind == "immediate":
        return str(operand.values[-1])
    if operand.kind == "address":
        space = form.get("source" if operand.name == "src" else "space")
        if in_function(form):
            return "[argument]" if form.mnemonic == "ld" else "[result]"
        return "[%d0]" if space is None else f"[{VARIABLES[space.split('::')[0]]}]"
    names = ",".join(f"{REGISTERS[operand.bits]}{index}" for index in range(operand.registers))
    return f"{{{names}}}" if operand.braced else names


def module(arch: str, version: tuple[int, int], forms: tuple[Form, ...]) -> str:
    wide = ".reg .b128 %q<8>;" if version >= (8, 3) else ""
    return MODULE.format(
        version=version,
        arch=arch,
        declarations=DECLARATIONS.format(wide=wide),
        in_function="\n".join(statement(form) for form in forms if in_function(form)),
        in_kernel="\n".join(statement(form) for form in forms if not in_function(form)),
    )


# Targets that lack something, and versions just below one that makes something legal.
LACKING = [
    ("sm_75", (6, 4)),
    ("sm_75", NEWEST),
    ("sm_80", (7, 3)),
    ("sm_80", (8, 2)),
    ("sm_80", NEWEST),
    ("sm_89", NEWEST),
    ("sm_90", (8, 3)),
    ("sm_90a", NEWEST),
    ("sm_100", NEWEST),
    ("sm_100a", (8, 7)),
    ("sm_120", NEWEST),
]
NEWEST_TARGETS = [(arch, NEWEST) for arch in ("sm_100a", "sm_103f", "sm_110a", "sm_120a")]


def legal(arch: str, version: tuple[int, int]) -> tuple[Form, ...]:
    return tuple(form for form in sample() if form.supports(arch) and form.ptx_version <= version)


@pytest.mark.parametrize(("arch", "version"), [*LACKING, *NEWEST_TARGETS])
def test_what_the_table_allows_assembles(arch: str, version: tuple[int, int]) -> None:
    forms = legal(arch, version)
    assert len(forms) > 20
    assert assemble(module(arch, version, forms), arch).arch == arch


@pytest.mark.parametrize(("arch", "version"), LACKING)
def test_what_the_table_denies_a_target_or_version_is_refused(arch: str, version: tuple[int, int]) -> None:
    text = module(arch, version, sample())
    with pytest.raises(AssemblerError) as refused:
        assemble(text, arch)
    lines = {int(number) for number in re.findall(r"^  line (\d+):", str(refused.value), re.MULTILINE)}
    found = {text.split("\n")[number - 1].split()[0] for number in lines}
    assert found == {form.spelling for form in sample()} - {form.spelling for form in legal(arch, version)}


def test_the_sample_has_every_qualifier() -> None:
    tokens = {(form.mnemonic, token) for form in sample() for token in form.qualifiers.values() if token}
    assert tokens == {
        (entry.mnemonic, token)
        for entry in table()
        if entry.mnemonic in MNEMONICS
        for slot in entry.slots
        for token in slot.tokens
    }


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90a", "sm_100f", "sm_120a"])
def test_the_oldest_version_of_a_form_assembles(arch: str) -> None:
    by_version: defaultdict[tuple[int, int], list[Form]] = defaultdict(list)
    for form in sample():
        if form.supports(arch) and form.ptx_version <= NEWEST:
            by_version[form.ptx_version_on(arch)].append(form)
    assert min(by_version) == architecture(arch).ptx_version
    for version, forms in by_version.items():
        assemble(module(arch, version, tuple(forms)), arch)
