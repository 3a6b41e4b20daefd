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
from tileproof.report.explain import catalogue, catalogue_markdown, explain
from tileproof.report.sections import Section, sections_text, sections_view

ROOT = Path(__file__).parents[2]
WORDS = "some words that do not fit into one line"
OPCODES = [
    "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16",
    "st.global.L2::cache_hint.v4.b32",
    "ld.v2.b32",
]


@pytest.mark.parametrize("opcode", [*OPCODES, "stmatrix"])
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
            r'f"\{(?:family|(?:self|call)\.family)\}\.([a-z-]+)"', file.read_text(encoding="utf-8")
        )
    }
    named |= set(re.findall(r'demand\(\s*"([a-z-]+)"', (source / "call.py").read_text(encoding="utf-8")))
    listed = {entry.id.partition(".")[2] for mnemonic in load() for entry in all_entries(mnemonic)}
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


def test_the_catalogue_has_every_instruction() -> None:
    instructions, *rest = catalogue()
    assert [row[0] for row in instructions.rows] == [i.mnemonic for i in table()]
    assert [section.title for section in rest] == [
        f"Obligations of {i.mnemonic}" for i in table() if i.mnemonic in load()
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
