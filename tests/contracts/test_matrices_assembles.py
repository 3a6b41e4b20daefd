"""Matrix products, tensor memory and bulk copies go through the assembler that is installed here.

It refuses what the table denies a target or a version, and takes what the table allows, operands included.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

import pytest

from tests.contracts.operand_text import module, write
from tileproof.contracts.grammar import Form, enumerate_spellings, resolve, table
from tileproof.emit.assemble import assemble, available_assemblers
from tileproof.errors import AssemblerError, OpcodeError

if not available_assemblers():
    pytest.skip("no assembler: the nvidia wheels are extras", allow_module_level=True)

# CUDA 13.x brought PTX ISA 9.x; the table knows nothing newer than 9.5.
_MAJOR, _MINOR = (int(part) for part in available_assemblers()[0].version.split(".")[:2])
NEWEST = min((_MAJOR - 4, _MINOR), (9, 5))

FAMILIES = ("mma", "wgmma", "tcgen05", "cp.async.bulk", "cp.reduce", "multimem.cp", "tensormap.", "movmatrix")
INSTRUCTIONS = {entry.mnemonic: entry for entry in table() if entry.mnemonic.startswith(FAMILIES)}

# .kind::f8f6f4 of 8-bit floats: ptxas takes it for all of Blackwell; the target notes name sm_120a and sm_120f.
KIND_OF_F8 = re.compile(r"mma\.(sync|sp::).*\.kind::f8f6f4\.f(16|32)\.e[45]m[32]\.e[45]m[32]\.")
# Without a scale vector size: ptxas 13.0 wants PTX ISA 8.8 for it, as does the table; 13.5 takes it earlier.
BARE_BLOCK_SCALE = re.compile(r"tcgen05\.mma\S*\.block_scale(\.collector\S*)?")
# The operand scale-input-d: not for sm_110a.
SCALE_INPUT_D = re.compile(r"tcgen05\.mma(\.sp)?\.cta_group::.\.kind::(f16|tf32)")

TWO, FOUR = "{%r0,%r1}", "{%r0,%r1,%r2,%r3}"

# Spellings that the table refuses and ptxas takes, by reason. Each comes with one of them.
LAX = {
    "ptxas 13.5 has .noftz of .f32; the ISA 9.1 does not": (
        r"(multimem\.)?cp\.reduce\S*\.add\.noftz\.f32",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f32 [%rd0], [%rd0], %r0;",
    ),
    "the notes speak of .f16 accumulators, but no syntax line has them": (
        r"mma\.sp::ordered_metadata\S*\.m16n8k64\.row\.col(\.kind::\w+)?\.f16\.e[45]m[32]\.e[45]m[32]\.f16",
        f"mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f16.e4m3.e5m2.f16 {TWO}, {FOUR}, {FOUR}, {TWO}, %r0, 0;",
    ),
    "ptxas does not look at the .kind of 8-bit floats": (
        r"mma\.(sync|sp::)\S*\.row\.col\.kind::\w+\.f(16|32)\.e[45]m[32]\.e[45]m[32]\.f(16|32)",
        f"mma.sync.aligned.m16n8k32.row.col.kind::mxf4.f32.e4m3.e4m3.f32 {FOUR}, {FOUR}, {TWO}, {FOUR};",
    ),
    "ptxas ignores a bit operation of 4-bit integers": (
        r"mma\.sync\S*\.s32\.[su]4\.[su]4\.s32\.(and|xor)",
        f"mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32.xor {TWO}, {{%r0}}, {{%r0}}, {TWO};",
    ),
    "ptxas does not ask for the .aligned of wgmma": (
        r"wgmma\.\w+(\.sp)?\.sync(\.m64\S*)?",
        "wgmma.fence.sync;",
    ),
}


@cache
def forms() -> tuple[Form, ...]:
    return tuple(resolve(spelling) for name in INSTRUCTIONS for spelling in enumerate_spellings(name))


@cache
def sample() -> tuple[Form, ...]:
    """A few forms with each qualifier of each instruction."""
    with_token: defaultdict[tuple[str, str, str], list[Form]] = defaultdict(list)
    for form in forms():
        for slot, token in form.qualifiers.items():
            with_token[form.mnemonic, slot, str(token)].append(form)
    picker = random.Random("sample")
    chosen = {form for group in with_token.values() for form in picker.sample(group, min(2, len(group)))}
    chosen.update(form for form in forms() if not form.qualifiers)
    return tuple(sorted(chosen, key=str))


def refused(arch: str, version: tuple[int, int], statements: list[str]) -> set[str]:
    """The statements that the assembler refuses."""
    text = module(arch, version, statements)
    try:
        assemble(text, arch)
    except AssemblerError as error:
        numbers = {int(n) for n in re.findall(r"^  line (\d+):", str(error), re.MULTILINE)}
        lines = text.split("\n")
        return {lines[number - 1] for number in numbers}
    return set()


def has(form: Form, arch: str, version: tuple[int, int]) -> bool:
    return form.supports(arch) and form.ptx_version <= version


PLACES = [
    ("sm_80", (7, 0), False),
    ("sm_80", (7, 8), False),
    ("sm_89", (8, 3), False),
    ("sm_90a", (8, 1), False),
    ("sm_90a", (8, 5), False),
    ("sm_100a", (8, 7), False),
    ("sm_120a", (9, 0), False),
    *((arch, NEWEST, False) for arch in ("sm_90", "sm_100", "sm_100f", "sm_103a", "sm_120f")),
    *((arch, NEWEST, True) for arch in ("sm_90a", "sm_100a", "sm_110a")),
]


@pytest.mark.parametrize(("arch", "version", "other"), PLACES)
def test_the_assembler_refuses_exactly_what_a_target_or_version_lacks(
    arch: str, version: tuple[int, int], other: bool
) -> None:
    written = {write(form, other=other): form for form in forms()}
    denied = refused(arch, version, list(written))
    assert len(denied) > 10
    different = {
        text: form for text, form in written.items() if has(form, arch, version) != (text not in denied)
    }
    for text, form in different.items():
        if text in denied:
            assert (arch, other) == ("sm_110a", True)
            assert SCALE_INPUT_D.match(text)
        elif KIND_OF_F8.match(text):
            assert arch.startswith(("sm_100", "sm_103", "sm_110"))
        else:
            assert version < (8, 8)
            assert BARE_BLOCK_SCALE.fullmatch(form.spelling)


@pytest.mark.parametrize("arch", ["sm_80", "sm_89", "sm_90a", "sm_100a", "sm_103f", "sm_120a"])
def test_what_the_table_allows_assembles(arch: str) -> None:
    statements = [write(form) for form in sample() if has(form, arch, NEWEST)]
    assert len(statements) > 20
    assert assemble(module(arch, NEWEST, statements), arch).arch == arch


def test_the_sample_has_every_qualifier() -> None:
    tokens = {(form.mnemonic, token) for form in sample() for token in form.qualifiers.values() if token}
    assert tokens == {
        (name, token) for name, entry in INSTRUCTIONS.items() for slot in entry.slots for token in slot.tokens
    }
    assert {form.mnemonic for form in sample()} == INSTRUCTIONS.keys()


def changed(form: Form) -> Iterator[str]:
    """The spellings with one qualifier more, less or exchanged for another of its slot."""
    slots = INSTRUCTIONS[form.mnemonic].slots
    for slot in slots:
        for token in (None, *slot.tokens):
            tokens = [token if s is slot else form.get(s.name) for s in slots]
            yield ".".join((form.mnemonic, *(t for t in tokens if t)))


def is_legal(spelling: str) -> bool:
    try:
        resolve(spelling)
    except OpcodeError:
        return False
    return True


@cache
def illegal() -> tuple[str, ...]:
    """Some hundred statements that differ from a legal one in a qualifier, and are not legal."""
    picker = random.Random("illegal")
    statements = []
    for name in INSTRUCTIONS:
        own = [form for form in forms() if form.mnemonic == name]
        for form in picker.sample(own, min(12, len(own))):
            wrong = sorted(set(changed(form)))
            wrong = [s for s in picker.sample(wrong, min(8, len(wrong))) if not is_legal(s)]
            statements += [write(form).replace(form.spelling, spelling, 1) for spelling in wrong]
    return tuple(dict.fromkeys(statements))


@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a", "sm_120a"])
def test_one_changed_qualifier_is_refused_by_the_assembler_too(arch: str) -> None:
    taken = set(illegal()) - refused(arch, NEWEST, list(illegal()))
    assert len(illegal()) > 500
    for text in taken:
        spelling = text.rstrip(";").split(" ")[0]
        assert any(re.fullmatch(pattern, spelling) for pattern, _ in LAX.values()), text


@pytest.mark.parametrize("reason", LAX)
def test_what_only_the_assembler_takes(reason: str) -> None:
    pattern, statement = LAX[reason]
    spelling = statement.rstrip(";").split(" ")[0]
    assert re.fullmatch(pattern, spelling)
    assert not is_legal(spelling)
    arch = "sm_90a" if spelling.startswith("wgmma") else "sm_120a"
    assert not refused(arch, NEWEST, [statement])
