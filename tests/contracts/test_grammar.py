from __future__ import annotations

import pickle
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import combinations, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from tileproof.contracts.grammar import Form, Operand, enumerate_spellings, resolve, table
from tileproof.contracts.syntax import ANY, Condition, Instruction
from tileproof.errors import CallError, OpcodeError

ROOT = Path(__file__).parents[2]
INSTRUCTIONS = {instruction.mnemonic: instruction for instruction in table()}
COUNTS = {"ld": 85458, "st": 22100, "ldmatrix": 63, "stmatrix": 27}
TOKENS = [token for mnemonic in COUNTS for slot in INSTRUCTIONS[mnemonic].slots for token in slot.tokens]
LDMATRIX = "ldmatrix.sync.aligned."
STMATRIX = "stmatrix.sync.aligned."


@cache
def legal(mnemonic: str) -> tuple[str, ...]:
    return tuple(enumerate_spellings(mnemonic))


@cache
def legal_set(mnemonic: str) -> frozenset[str]:
    return frozenset(legal(mnemonic))


def accepted(spelling: str) -> Form | None:
    try:
        return resolve(spelling)
    except OpcodeError:
        return None


def sample(size: int) -> list[str]:
    """Up to so many legal spellings of each mnemonic, the same on every run."""
    return [s for m in COUNTS for s in random.Random(m).sample(legal(m), min(size, COUNTS[m]))]


def refusal(spelling: str) -> str:
    with pytest.raises(OpcodeError) as caught:
        resolve(spelling)
    return str(caught.value)


# Forms


def test_a_form_says_what_its_spelling_says() -> None:
    form = resolve("ld.relaxed.gpu.global.L1::no_allocate.L2::cache_hint.L2::128B.v4.b32")
    assert {slot: token for slot, token in form.qualifiers.items() if token} == {
        "sem": "relaxed",
        "scope": "gpu",
        "space": "global",
        "l1": "L1::no_allocate",
        "cache_hint": "L2::cache_hint",
        "prefetch": "L2::128B",
        "vec": "v4",
        "type": "b32",
    }
    assert form.get("vec") == "v4"
    assert form.get("cop") is None
    assert form.get("no such slot") is None
    assert form.quantities == {"vector": 4, "element_bits": 32, "access_bits": 128}
    assert form.quantity("access_bits") == 128
    assert form.operands == (
        Operand("d", "registers", "written", 4, 32, braced=True, wider=True),
        Operand("a", "address", "read", 1, 64, braced=False),
        Operand("cache-policy", "registers", "read", 1, 64, constants=ANY),
    )
    assert str(form) == form.spelling
    assert form.ptx_version == (7, 4)


@pytest.mark.parametrize(
    ("spelling", "registers", "bits", "braced"),
    [
        ("ld.b8", 1, 8, False),
        ("ld.global.v2.f64", 2, 64, True),
        ("ld.global.v8.f32", 8, 32, True),
        ("st.shared.b128", 1, 128, False),
        ("st.shared::cta.v4.u16", 4, 16, True),
        (LDMATRIX + "m8n8.x1.shared.b16", 1, 32, True),
        (LDMATRIX + "m8n8.x4.trans.b16", 4, 32, True),
        (LDMATRIX + "m8n16.x2.shared::cta.b8x16.b4x16_p64", 2, 32, True),
        (LDMATRIX + "m16n16.x1.trans.shared.b8", 2, 32, True),
        (LDMATRIX + "m16n16.x2.trans.shared.b8x16.b6x16_p32", 4, 32, True),
        (STMATRIX + "m8n8.x2.shared.b16", 2, 32, True),
        (STMATRIX + "m16n8.x4.trans.shared.b8", 4, 32, True),
    ],
)
def test_register_operands_follow_the_qualifiers(
    spelling: str, registers: int, bits: int, braced: bool
) -> None:
    (operand,) = (entry for entry in resolve(spelling).operands if entry.kind == "registers")
    assert (operand.registers, operand.bits, operand.braced) == (registers, bits, braced)
    assert operand.access == ("written" if spelling.startswith("ld") else "read")


@pytest.mark.parametrize(
    ("spelling", "version", "section"),
    [
        ("ld.global.b32", (1, 0), "9.7.9.8"),
        ("ld.b32", (2, 0), "9.7.9.8"),
        ("ld.global.cg.nc.b32", (3, 1), "9.7.9.9"),
        ("ld.global.nc.v8.b32", (8, 8), "9.7.9.9"),
        ("ld.volatile.shared.b32", (1, 1), "9.7.9.8"),
        ("ld.volatile.local.b32", (9, 1), "9.7.9.8"),
        ("ld.relaxed.gpu.b128", (8, 3), "9.7.9.8"),
        ("ld.relaxed.sys.b128", (8, 4), "9.7.9.8"),
        ("st.release.cluster.global.b32", (7, 8), "9.7.9.11"),
        (LDMATRIX + "m8n8.x1.shared.b16", (6, 5), "9.7.14.5.15"),
        (LDMATRIX + "m8n8.x1.shared::cta.b16", (7, 8), "9.7.14.5.15"),
        (LDMATRIX + "m8n16.x1.shared.s8.s4", (9, 4), "9.7.14.5.15"),
        (STMATRIX + "m16n8.x1.trans.b8", (8, 6), "9.7.14.5.16"),
    ],
)
def test_versions_and_sections(spelling: str, version: tuple[int, int], section: str) -> None:
    form = resolve(spelling)
    assert (form.ptx_version, form.section) == (version, section)


# Each first target has the form and each second one lacks it.
@pytest.mark.parametrize(
    ("spelling", "has", "lacks"),
    [
        ("ld.global.L2::128B.b32", "sm_75", "sm_72"),
        ("ld.global.L2::256B.b32", "sm_80", "sm_75"),
        ("ld.shared::cluster.b32", "sm_90", "sm_89"),
        ("ld.global.v8.b32", "sm_100", "sm_90a"),
        (LDMATRIX + "m8n8.x1.shared.b16", "sm_75", "sm_72"),
        (LDMATRIX + "m16n16.x1.trans.shared.b8", "sm_100f", "sm_100"),
        (LDMATRIX + "m16n16.x1.trans.shared.b8", "sm_103a", "sm_103"),
        (LDMATRIX + "m16n16.x1.trans.shared.b8", "sm_121f", "sm_90a"),
        (LDMATRIX + "m8n16.x1.shared.s8.s4", "sm_90a", "sm_90"),
        (LDMATRIX + "m8n16.x1.shared.s8.s4", "sm_107f", "sm_107"),
        (STMATRIX + "m8n8.x1.shared.b16", "sm_90", "sm_89"),
        (STMATRIX + "m16n8.x1.trans.shared.b8", "sm_120a", "sm_120"),
    ],
)
def test_targets(spelling: str, has: str, lacks: str) -> None:
    form = resolve(spelling)
    assert form.supports(has)
    assert form.unsupported_reason(has) is None
    assert not form.supports(lacks)
    assert str(form.unsupported_reason(lacks)).startswith(f"{spelling}: for ")


def test_an_unsupported_target_is_told_which_would_do() -> None:
    assert resolve("ld.global.v8.b32").unsupported_reason("sm_90a") == (
        "ld.global.v8.b32: for 256-bit accesses the target must be sm_100 or later, and it is sm_90a "
        "(PTX ISA 9.7.9.8)"
    )


def test_a_module_version_serves_form_and_target() -> None:
    form = resolve("ld.global.L1::evict_last.b32")
    assert form.ptx_version_on("sm_80") == (7, 4)
    assert form.ptx_version_on("sm_120a") == (8, 7)
    with pytest.raises(CallError, match="'sm_95' is not a GPU target"):
        form.ptx_version_on("sm_95")


def test_forms_are_values() -> None:
    form, other = resolve("ld.global.b32"), resolve("st.global.b32")
    assert form is resolve("ld.global.b32")
    assert form != other
    assert {form: 1, other: 2}[resolve("ld.global.b32")] == 1
    assert pickle.loads(pickle.dumps(form)) == form
    with pytest.raises(TypeError):
        form.qualifiers["space"] = "shared"  # type: ignore[index]


# The grammar


@pytest.mark.parametrize("mnemonic", COUNTS)
def test_enumeration_is_of_distinct_spellings(mnemonic: str) -> None:
    assert len(legal(mnemonic)) == len(legal_set(mnemonic)) == COUNTS[mnemonic]


def test_what_is_enumerated_resolves() -> None:
    for spelling in sample(2000):
        form = resolve(spelling)
        tokens = [token for token in form.qualifiers.values() if token]
        assert ".".join((form.mnemonic, *tokens)) == form.spelling == spelling


@pytest.mark.parametrize("mnemonic", ["ldmatrix", "stmatrix"])
def test_what_resolves_is_enumerated(mnemonic: str) -> None:
    slots = [slot.tokens if slot.mandatory else (None, *slot.tokens) for slot in INSTRUCTIONS[mnemonic].slots]
    found = set()
    for tokens in product(*slots):
        spelling = ".".join((mnemonic, *(token for token in tokens if token)))
        if accepted(spelling):
            found.add(spelling)
    assert found == set(legal(mnemonic))


@given(st.data(), st.sampled_from(["ld", "st"]))
def test_what_resolves_is_enumerated_at_random(data: st.DataObject, mnemonic: str) -> None:
    chosen = [
        data.draw(st.sampled_from(slot.tokens) if slot.mandatory else st.sampled_from((None, *slot.tokens)))
        for slot in INSTRUCTIONS[mnemonic].slots
    ]
    spelling = ".".join((mnemonic, *(token for token in chosen if token)))
    assert (accepted(spelling) is not None) == (spelling in legal_set(mnemonic))


@given(st.sampled_from(sorted(COUNTS)), st.lists(st.sampled_from(TOKENS), max_size=4))
def test_any_tokens_are_a_legal_spelling_or_refused(mnemonic: str, tokens: list[str]) -> None:
    spelling = ".".join((mnemonic, *tokens))
    assert (accepted(spelling) is not None) == (spelling in legal_set(mnemonic))


@given(st.text() | st.text("ldst.:mxvnb0123456789 {}[]%@", max_size=20) | st.none() | st.integers())
def test_any_input_is_resolved_or_refused(given_text: object) -> None:
    form = accepted(given_text)  # type: ignore[arg-type]
    assert form is None or form.spelling == given_text


def dropped(spelling: str) -> Iterator[tuple[str, set[str]]]:
    mnemonic, *tokens = spelling.split(".")
    for index, token in enumerate(tokens):
        yield ".".join((mnemonic, *tokens[:index], *tokens[index + 1 :])), {token}


def swapped(spelling: str) -> Iterator[tuple[str, set[str]]]:
    mnemonic, *tokens = spelling.split(".")
    for one, two in combinations(range(len(tokens)), 2):
        moved = list(tokens)
        moved[one], moved[two] = tokens[two], tokens[one]
        yield ".".join((mnemonic, *moved)), {tokens[one], tokens[two]}


def doubled(spelling: str) -> Iterator[tuple[str, set[str]]]:
    mnemonic, *tokens = spelling.split(".")
    for index, token in enumerate(tokens):
        yield ".".join((mnemonic, *tokens[: index + 1], *tokens[index:])), {token}


@pytest.mark.parametrize("change", [dropped, swapped, doubled])
def test_a_changed_spelling_is_another_form_or_an_error_that_names_the_token(change: object) -> None:
    refused = 0
    for spelling in sample(120):
        for changed, tokens in change(spelling):  # type: ignore[operator]
            if changed in legal_set(spelling.split(".")[0]):
                assert resolve(changed).spelling == changed
                continue
            refused += 1
            text = refusal(changed)
            assert any(f".{token}" in text.removeprefix(repr(changed)) for token in tokens), text
    assert refused > 300


def test_a_misplaced_qualifier_is_told_the_canonical_spelling() -> None:
    for spelling in sample(60):
        for changed, _ in swapped(spelling):
            assert repr(spelling) in refusal(changed)


# Messages


@pytest.mark.parametrize(
    "spelling",
    [
        "stmatrix.sync.aligned.m8n8.x3.b16",
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16.foo",
        "st.global.v4.b32.v4",
        "ldmatrix.sync.aligned.m8n8.shared.b16",
        "ld.global.b32.v4",
        "ld.relaxed.global.b32",
        "ld.shared.v8.b32",
        "ld.global.L2::evict_last.v4.b32",
        "ld.global.cv.nc.b32",
        "ld.mmio.acquire.gpu.b32",
        "st.weak.gpu.b32",
        "ldm.b16",
        "@%p0 ld.b32",
    ],
)
def test_messages(spelling: str, snapshot: SnapshotAssertion) -> None:
    assert refusal(spelling) == snapshot


@pytest.mark.parametrize(
    ("spelling", "part"),
    [
        ("ld.global.v3.b32", "did you mean '.v2'?"),
        ("ld.GLOBAL.b32", "did you mean '.global'?"),
        ("ld.global.evict_last.b32", "did you mean '.L1::evict_last'?"),
        ("ld.global.b32 ", "did you mean '.b32'?"),
        ("ld.global.f16", "write '.b16' instead"),
        ("st.global.v4.bf16x2", "write '.b32' instead"),
        ("ld..b32", "'.' (qualifier 1) is not a qualifier of ld."),
        ("ld.", "'.' (qualifier 1) is not a qualifier of ld."),
        ("ld", "the type is missing after 'ld'"),
        ("", "'' is not an opcode"),
    ],
)
def test_advice(spelling: str, part: str) -> None:
    assert part in refusal(spelling)


@pytest.mark.parametrize(
    ("spelling", "near"),
    [
        ("ldmatrx.b16", "did you mean 'ldmatrix' or "),
        ("mbarrier.arive.b64", "did you mean 'mbarrier.arrive'?"),
        ("frobnicate", "in the table. `tileproof explain` lists"),
    ],
)
def test_an_unknown_instruction_is_told_near_ones(spelling: str, near: str) -> None:
    with pytest.raises(OpcodeError, match=re.escape(near)):
        enumerate_spellings(spelling)


# The table


def conditions(instruction: Instruction) -> Iterator[Condition]:
    for rule in instruction.rules:
        yield from (rule.when, rule.then)
    yield from (entry.when for entry in instruction.availability)
    yield from (when for when, _ in instruction.subsections)
    yield from (shape.when for shape in instruction.shapes)
    for operand in (*instruction.operands, *(o for shape in instruction.shapes for o in shape.operands)):
        written = (
            operand.braced,
            operand.wider,
            operand.real,
            operand.also_real,
            operand.narrow,
            operand.gaps,
            operand.special,
        )
        yield from (operand.when, *(condition for condition in written if condition is not None))


@pytest.mark.parametrize("instruction", table(), ids=INSTRUCTIONS)
def test_the_table_mentions_only_what_exists(instruction: Instruction) -> None:
    known = {slot.name: {None, *slot.tokens} for slot in instruction.slots}
    quantities = {quantity.name for quantity in instruction.quantities}
    assert len(known) == len(instruction.slots)
    assert not quantities & known.keys()
    for condition in conditions(instruction):
        for name, allowed in condition.items():
            assert name in quantities or set(allowed) <= known[name], (name, allowed)
    for quantity in instruction.quantities:
        for slot in instruction.slots:
            needed = set(slot.tokens) if slot.mandatory else known[slot.name]
            assert slot.name not in quantity.factors or needed <= set(quantity.factors[slot.name])
        for slots, factors in quantity.joint.items():
            choices = [
                slot.tokens if slot.mandatory else (None, *slot.tokens)
                for name in slots
                for slot in instruction.slots
                if slot.name == name
            ]
            assert set(product(*choices)) == set(factors)
    for operand in instruction.operands:
        assert {n for n in (operand.registers, operand.bits) if isinstance(n, str)} <= quantities
    assert any(not entry.when for entry in instruction.availability)


@pytest.mark.parametrize("instruction", table(), ids=INSTRUCTIONS)
def test_every_qualifier_and_every_rule_of_the_table_matters(instruction: Instruction) -> None:
    used = {
        token
        for spelling in legal(instruction.mnemonic)
        for token in spelling.removeprefix(instruction.mnemonic).split(".")[1:]
    }
    assert used == {token for slot in instruction.slots for token in slot.tokens}
    for slot in instruction.slots:
        for wanted, written in slot.instead.items():
            assert wanted not in slot.tokens
            assert written in slot.tokens


def test_importing_the_grammar_imports_nothing_heavy() -> None:
    code = "import sys, tileproof.contracts.grammar; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    heavy = {"z3", "sympy", "numpy", "lark", "pydantic", "typer", "rich", "cuda"}
    assert not heavy & set(done.stdout.split())
