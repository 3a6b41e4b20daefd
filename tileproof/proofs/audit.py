"""Checks certificates again, from their text alone.

This module knows neither layouts nor contracts nor the simplifier: it hands the recorded SMT-LIB text to a
solver and compares the answers. A certificate whose content does not match its digest is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tileproof.errors import TileproofError

BUDGET = 20_000_000
"""The solvers' own resource units for one question."""

LONGEST_MS = 20_000
"""Milliseconds for one question, for what a solver's units do not count."""


class AuditError(TileproofError):
    """A certificate that is no certificate, was changed, or needs a solver that is not installed."""


@dataclass(frozen=True)
class Confirmation:
    """What a solver said of one question: ``holds`` when it answered as recorded, ``answer`` what it said."""

    id: str
    expected: str | None
    answer: str

    @property
    def holds(self) -> bool:
        return self.expected is not None and self.answer == self.expected


@dataclass(frozen=True)
class Audit:
    """The answers to all questions of a certificate, by one solver."""

    solver: str
    confirmations: tuple[Confirmation, ...]

    @property
    def doubts(self) -> tuple[Confirmation, ...]:
        """Questions that were not answered as recorded."""
        return tuple(c for c in self.confirmations if not c.holds)


def z3_answer(text: str) -> str:
    """What Z3 says of a script."""
    import z3

    solver = z3.Solver(ctx=z3.Context())
    solver.set("rlimit", BUDGET)
    solver.from_string(text)
    return str(solver.check())


def cvc5_answer(text: str) -> str:
    """What cvc5 says of a script."""
    import cvc5

    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("rlimit", str(BUDGET))
    solver.setOption("tlimit-per", str(LONGEST_MS))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "certificate")
    symbols, answer = parser.getSymbolManager(), "unknown"
    while not (command := parser.nextCommand()).isNull():
        answer = command.invoke(solver, symbols).strip() or answer
    return answer


def bitwuzla_answer(text: str) -> str:
    """What Bitwuzla says of a script; it knows bit-vectors only."""
    import bitwuzla

    if "(set-logic QF_BV)" not in text:
        return "not a bit-vector question"
    manager = bitwuzla.TermManager()
    parser = bitwuzla.Parser(manager, bitwuzla.Options())
    parser.parse(text, True, False)
    return str(parser.bitwuzla().check_sat()).rpartition(".")[2].lower()


SOLVERS: Mapping[str, Callable[[str], str]] = {
    "z3": z3_answer,
    "cvc5": cvc5_answer,
    "bitwuzla": bitwuzla_answer,
}


def read(text: str) -> dict[str, Any]:
    """A certificate from its JSON text. Raises :class:`AuditError` when it is none or was changed."""
    try:
        content = json.loads(text)
    except ValueError as error:
        raise AuditError(f"not a certificate: {error}") from None
    if not isinstance(content, dict) or content.get("format") != 1 or "sha256" not in content:
        raise AuditError("not a certificate of format 1: it has no 'format' and 'sha256'")
    bare = {key: value for key, value in content.items() if key != "sha256"}
    found = hashlib.sha256(json.dumps(bare, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    if found != content["sha256"]:
        raise AuditError(
            f"the certificate was changed: its content has SHA-256 {found}, it claims {content['sha256']}"
        )
    return content


def audit(content: Mapping[str, Any], solver: str = "cvc5") -> Audit:
    """Ask ``solver`` every question of a certificate again.

    Raises :class:`AuditError` for an unknown solver or one that is not installed.
    """
    ask = SOLVERS.get(solver)
    if ask is None:
        raise AuditError(f"unknown solver {solver!r}; the solvers are {', '.join(SOLVERS)}")
    questions = [{"id": "premises", **content["premises"]}, *content["obligations"]]
    confirmations = []
    for question in questions:
        text = question["smtlib"]
        try:
            answer = "no question recorded" if text is None else ask(text)
        except ImportError:
            raise AuditError(f"{solver} is not installed; pip install 'tileproof[audit]'") from None
        confirmations.append(Confirmation(question["id"], question["expect"], answer))
    return Audit(solver, tuple(confirmations))
