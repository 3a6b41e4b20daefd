"""What ``explain`` shows comes from the contracts, and all of it is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import tileproof
from tileproof.contracts.families import load
from tileproof.contracts.grammar import enumerate_spellings, resolve, table
from tileproof.contracts.syntax import Instruction
from tileproof.errors import OpcodeError
from tileproof.report.catalogue import all_entries, entries, exemplars, unsupported_reason
from tileproof.report.explain import RAW_ONLY, catalogue, catalogue_markdown, explain
from tileproof.report.instruction_page import instruction_list, instructions_markdown
from tileproof.report.sections import Section, sections_text, sections_view

ROOT = Path(__file__).parents[2]
WORDS = "some words that do not fit into one line"
OPCODES = [
    "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16",
    "st.global.L2::cache_hint.v4.b32",
    "ld.v2.b32",
    "cp.async.cg.shared.global.L2::cache_hint",
    "fence.acq_rel.gpu",
]


@pytest.mark.parametrize("opcode", [*OPCODES, "stmatrix", "mbarrier.arrive", "cp.async.wait_all"])
def test_an_opcode_or_a_mnemonic(opcode: str, snapshot: SnapshotAssertion) -> None:
    assert sections_text(explain(opcode)) == snapshot


@pytest.mark.parametrize(
    "opcode",
    [
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16",
        "tcgen05.mma.cta_group::1.kind::f16",
        "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes",
    ],
)
def test_operands_of_every_kind(opcode: str, snapshot: SnapshotAssertion) -> None:
    assert sections_text(explain(opcode)[2:]) == snapshot


@pytest.mark.parametrize(
    ("opcode", "message"),
    [
        ("foo", "there is no instruction 'foo'"),
        ("ld.global", "the type is missing"),
        ("", "is not an opcode"),
    ],
)
def test_what_is_no_opcode(opcode: str, message: str) -> None:
    with pytest.raises(OpcodeError, match=message):
        explain(opcode)


def test_every_obligation_that_the_contracts_name_is_in_the_catalogue() -> None:
    source = Path(tileproof.__file__).parent / "contracts"
    named = {
        found
        for file in source.rglob("*.py")
        for found in re.findall(
            r'f"\{(?:family|(?:self|call)\.family)\}\.((?:\{side\})?[a-z-]+)"',
            file.read_text(encoding="utf-8"),
        )
    }
    # A copy makes some demands of both sides alike.
    sided = {name for name in named if name.startswith("{side}")}
    named = (named - sided) | {n.replace("{side}", side) for n in sided for side in ("source", "destination")}
    named |= set(re.findall(r'demand\(\s*"([a-z-]+)"', (source / "call.py").read_text(encoding="utf-8")))
    listed = {entry.id.rpartition(".")[2] for mnemonic in load() for entry in all_entries(mnemonic)}
    assert len(named) > 10
    assert named == listed


@pytest.mark.parametrize("mnemonic", sorted(load()))
def test_an_id_has_one_place_in_the_catalogue(mnemonic: str) -> None:
    ids = [entry.id for entry in all_entries(mnemonic)]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(re.escape(mnemonic) + r"\.[a-z]+(-[a-z]+)*", name) for name in ids)
    assert all(entry.sentence and entry.section for entry in all_entries(mnemonic))


@pytest.mark.parametrize("instruction", table(), ids=lambda i: i.mnemonic)
def test_the_exemplars_have_every_qualifier_of_a_form_with_a_contract(instruction: Instruction) -> None:
    forms = list(exemplars(instruction))
    assert all(unsupported_reason(form) is None for form in forms)
    have = {qualifier for form in forms for qualifier in form.qualifiers.items()}
    every = list(enumerate_spellings(instruction.mnemonic))
    for spelling in every[:: max(1, len(every) // 300)]:
        form = resolve(spelling)
        if unsupported_reason(form) is None:
            assert {(slot, token) for slot, token in form.qualifiers.items() if token} <= have


def test_a_form_without_a_contract_says_why() -> None:
    assert "generic addresses" in str(unsupported_reason(resolve("ld.b32")))
    assert entries(resolve("ld.b32")) == []


def test_the_page_of_obligations_is_fresh() -> None:
    """``tileproof explain --markdown > docs/obligations.md`` writes it anew."""
    assert (ROOT / "docs/obligations.md").read_text(encoding="utf-8") == catalogue_markdown()


def test_the_page_of_instructions_is_fresh() -> None:
    """``tileproof explain --instructions --markdown > docs/instructions.md`` writes it anew."""
    assert (ROOT / "docs/instructions.md").read_text(encoding="utf-8") == instructions_markdown()


@pytest.mark.parametrize("instruction", table(), ids=lambda i: i.mnemonic)
def test_the_page_of_instructions_has_each_with_its_section(instruction: Instruction) -> None:
    row = next(
        line
        for line in instructions_markdown().splitlines()
        if line.startswith(f"| `{instruction.mnemonic}` |")
    )
    assert row.endswith(
        f"| {instruction.section} | {'contract, raw' if instruction.mnemonic in load() else 'raw'} |"
    )


def test_the_brief_list_has_every_instruction() -> None:
    (section,) = instruction_list()
    assert [row[0] for row in section.rows] == [i.mnemonic for i in table()]


@pytest.mark.parametrize("instruction", table(), ids=lambda i: i.mnemonic)
def test_every_instruction_and_a_form_of_it_can_be_shown(instruction: Instruction) -> None:
    form = next(enumerate_spellings(instruction.mnemonic))
    for sections in (explain(instruction.mnemonic), explain(form)):
        assert all(section.rows for section in sections)
        assert sections_text(sections)
        sections_view(sections)
        raw_only = any(row == (RAW_ONLY,) for row in sections[0].rows)
        assert raw_only == (instruction.mnemonic not in load())


def test_the_catalogue_has_every_instruction() -> None:
    instructions, *rest = catalogue()
    assert [row[0] for row in instructions.rows] == [i.mnemonic for i in table()]
    assert [section.title for section in rest] == [
        *(f"Obligations of {i.mnemonic}" for i in table() if i.mnemonic in load()),
        "Obligations of ewise",
    ]


def test_sections_align_their_columns() -> None:
    sections = [Section("One", (("a", "bcd", "e f"), ("xyz", "", "g"))), Section("Two", (("alone",),))]
    assert sections_text(sections) == "One\n  a    bcd  e f\n  xyz       g\n\nTwo\n  alone"


def test_sections_in_a_console_keep_every_word() -> None:
    from io import StringIO

    from rich.console import Console

    console = Console(file=StringIO(), width=30, _environ={})
    console.print(sections_view([Section("[bold]One", (("a", WORDS),))]))
    written = console.file.getvalue()  # type: ignore[attr-defined]
    assert written.split() == ["[bold]One", "a", *WORDS.split()]


def test_scalar_functions_are_explained_by_their_operations() -> None:
    head, operations, obligations = explain("ewise")
    assert head.title == "ewise"
    rows = {(row[0], row[1]): row[2:] for row in operations.rows}
    assert rows["+", "bfloat16"] == ("add.rn.bf16", "sm_90 or later")
    assert rows["exp2", "float32"] == ("ex2.approx.f32", "at most 2 ulp from the correctly rounded result")
    assert ("ewise.alias (hazard)",) in {row[:1] for row in obligations.rows}
