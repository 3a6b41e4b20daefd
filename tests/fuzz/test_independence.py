"""The second opinion shares no code with the first."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tileproof.contracts.families
from tileproof.fuzz import families

ROOT = Path(families.__file__).parent
INDEPENDENT = [p for part in ("oracle", "generate", "family") for p in sorted((ROOT / part).glob("*.py"))]
SHARED = {"tileproof.fuzz.families"}


@pytest.mark.parametrize("path", INDEPENDENT, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_brute_force_imports_nothing_of_the_library(path: Path) -> None:
    tree = ast.parse(path.read_text())
    imported = {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    imported |= {alias.name for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names}
    own = {name for name in imported if name.startswith("tileproof")}
    parts = tuple(f"tileproof.fuzz.{part}" for part in ("oracle", "generate", "family"))
    assert {name for name in own - SHARED if not name.startswith(parts)} <= {"tileproof.fuzz"}


def test_every_contract_has_its_fuzz_module() -> None:
    contracts = tileproof.contracts.families.load()
    pages: dict[str, set[str]] = {}
    for mnemonic, family in contracts.items():
        pages.setdefault(family.page, set()).add(mnemonic)
    assert {page: set(mnemonics) for page, mnemonics in families.pages().items()} == pages
    assert {p.stem for p in (ROOT / "family").glob("*.py")} - {"__init__"} == set(pages)
