"""Calls with certificates that several tests share: one proved by its guards, one refuted, and a sample."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import tileproof as tp
from tests.proofs.described_views import build, entries
from tileproof.contracts.grammar import resolve
from tileproof.errors import LayoutError, OpcodeError
from tileproof.proofs.audit import digest
from tileproof.proofs.certificate import certificate_text
from tileproof.proofs.report import Report
from tileproof.spec.files import check_file

EXAMPLES = Path(__file__).parents[2] / "examples"
SOLVERS = ("z3", "cvc5")

Content = dict[str, Any]


@cache
def guarded() -> Report:
    """Sixteen bytes from word ``4*i`` on, where a guard keeps them inside: every premise is needed."""
    i, n = tp.symbol("i"), tp.symbol("n", 1, 1000)
    memory = tp.tensor("A", (n,), "uint32")
    registers = tp.tensor("R", (4,), "uint32", "registers")
    return tp.check("ld.global.v4.b32", registers, memory[4 * i : 4 * i + 4], active=(i >= 0, 4 * i + 4 <= n))


@cache
def swizzled() -> Report:
    """A row of a tile under the 128-byte swizzle, at a start that is off by one."""
    i = tp.symbol("i", 0, 7)
    layout = tp.TileLayout(tp.S[(32, 32) : (32, 1)], tp.Swizzle(3, 2, 3))
    tile = tp.tensor("SM", (32, 32), "float32", "shared", layout=layout, align=1024)
    registers = tp.tensor("R", (1, 4), "float32", "registers")
    return tp.check("ld.shared.v4.b32", registers, tile[i : i + 1, i : i + 4])


def described(step: int = 1, first: int = 0) -> dict[str, Callable[[], Report]]:
    """Every ``step``-th described view that is one, as calls to be checked, by name."""

    def call(entry: dict[str, Any]) -> Report:
        opcode, operands, keywords = build(entry)
        return tp.check(opcode, *operands, **keywords)

    found: dict[str, Callable[[], Report]] = {}
    for entry in entries()[first::step]:
        try:
            resolve(build(entry)[0])
        except (LayoutError, OpcodeError):
            continue
        found[entry["name"]] = lambda entry=entry: call(entry)
    return found


def misaligned() -> Report:
    """An example whose every symbol has bounds."""
    return examples()["misaligned.toml 0"]


@cache
def examples() -> dict[str, Report]:
    """The calls of the example specs, by file and number."""
    return {
        f"{path.name} {n}": checked.report
        for path in sorted(EXAMPLES.glob("*.toml"))
        for n, checked in enumerate(check_file(path))
    }


text_of = cache(certificate_text)
"""The certificate of a report, written once."""


def content(report: Report) -> Content:
    """A fresh copy of its certificate, to change."""
    found: Content = json.loads(text_of(report))
    return found


def sealed(changed: Content) -> str:
    """A certificate with a digest that fits what was made of it."""
    return json.dumps({**changed, "sha256": digest(changed)})


def obligation(changed: Content, id: str) -> Content:
    """The first obligation of that name."""
    entry: Content = next(o for o in changed["obligations"] if o["id"] == id)
    return entry
