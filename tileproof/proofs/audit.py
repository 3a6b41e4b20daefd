"""Checks certificates again, from their text alone.

This module knows neither layouts nor contracts nor the simplifier: it hands the recorded SMT-LIB text to a
solver and compares the answers with what is recorded, and the recorded verdict with what the answers come
to. A certificate that is damaged, or that does not match its digest, is refused.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

from tileproof.errors import TileproofError
from tileproof.proofs.solvers import Reply, SolverError, asker, version

FORMAT = 1
CHECK = "(check-sat)\n"
_LOGICS = ("QF_BV", "QF_LIA", "QF_NIA")
_TOKEN = re.compile(r"\s*(?:(\|[^|\\]*\||[^\s()|;\"\\]+)|([()]))")
_VERDICTS = ("proved", "refuted", "undecided", "unsupported")


class AuditError(TileproofError):
    """A certificate that is none, is damaged or was changed."""


class Status(Enum):
    """What an audit makes of one question."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    UNKNOWN = "unknown"
    INEXPRESSIBLE = "not expressible"
    UNCLAIMED = "not claimed"


_STATUS = {
    "sat": Status.CONFIRMED,
    "unsat": Status.CONFIRMED,
    "unknown": Status.UNKNOWN,
    "inexpressible": Status.INEXPRESSIBLE,
}


@dataclass(frozen=True)
class Question:
    """What a certificate records of one obligation, or of its premises.

    ``texts`` are SMT-LIB scripts, one for each theory; none where no theory has words for the question.
    ``expected`` is the answer that the verdict claims, ``None`` where it claims none. A question that
    ``decides`` counts for the verdict; the others are hazards beside it, and whether the ``premise`` is
    possible.
    """

    id: str
    sentence: str
    texts: tuple[str, ...]
    expected: str | None
    decides: bool
    premise: bool = False


@dataclass(frozen=True)
class Certificate:
    """A certificate that is whole: its questions, what it says of the call, and the call itself."""

    verdict: str
    call: str
    premises: Question | None
    obligations: tuple[Question, ...]

    @property
    def questions(self) -> tuple[Question, ...]:
        return self.obligations if self.premises is None else (self.premises, *self.obligations)


@dataclass(frozen=True)
class Confirmation:
    """A question, what the solver says of each of its texts, and what follows."""

    question: Question
    replies: tuple[Reply, ...]

    @property
    def answer(self) -> str:
        """The answer of all texts that were answered."""
        answers = {r.answer for r in self.replies}
        decided = answers & {"sat", "unsat"}
        if len(decided) == 1:
            return decided.pop()
        return "unknown" if decided or "unknown" in answers else "inexpressible"

    @property
    def status(self) -> Status:
        if self.question.expected is None:
            return Status.UNCLAIMED
        if any(r.answer in ("sat", "unsat") and r.answer != self.question.expected for r in self.replies):
            return Status.CONTRADICTED
        return _STATUS[self.answer]

    @property
    def reason(self) -> str:
        """Why there is no answer; empty where there is one."""
        if self.answer in ("sat", "unsat"):
            return ""
        return next((r.reason for r in self.replies if r.answer == self.answer), "no theory has words for it")


@dataclass(frozen=True)
class Audit:
    """The answers of one solver to all questions of a certificate."""

    certificate: Certificate
    solver: str
    confirmations: tuple[Confirmation, ...]

    @cached_property
    def verdict(self) -> str:
        """The verdict that the answers alone come to."""
        deciding = [c.answer for c in self.confirmations if c.question.decides]
        if "sat" in deciding:
            return "refuted"
        possible = any(c.question.premise and c.answer == "sat" for c in self.confirmations)
        return "proved" if possible and deciding and set(deciding) == {"unsat"} else "undecided"

    @cached_property
    def status(self) -> Status:
        """What all of it comes to: contradicted if anything is, confirmed if all that is claimed is."""
        statuses = {c.status for c in self.confirmations}
        claimed = self.certificate.verdict
        if Status.CONTRADICTED in statuses or {claimed, self.verdict} == {"proved", "refuted"}:
            return Status.CONTRADICTED
        if claimed not in ("proved", "refuted"):
            return Status.UNCLAIMED
        for status in (Status.UNKNOWN, Status.INEXPRESSIBLE):
            if status in statuses:
                return status
        return Status.CONFIRMED if self.verdict == claimed else Status.UNKNOWN


def digest(content: Mapping[str, Any]) -> str:
    """The SHA-256 of a certificate's content: all keys but ``sha256``, as canonical JSON.

    That is ASCII with the keys in order and no white space.
    """
    bare = {key: value for key, value in content.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(bare, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def read(text: str | bytes) -> Certificate:
    """A certificate from its JSON text. Raises :class:`AuditError` when it is none, is damaged or was changed."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise AuditError(f"not a certificate: no JSON: {error}") from None
    if not isinstance(content, dict) or "format" not in content or "sha256" not in content:
        raise AuditError("not a certificate: it has no 'format' and 'sha256'")
    if content["format"] != FORMAT:
        raise AuditError(f"format {content['format']!r}: this version reads certificates of format {FORMAT}")
    found = digest(content)
    if found != content["sha256"]:
        raise AuditError(
            f"the certificate was changed: its content has SHA-256 {found}, it claims {content['sha256']!r}"
        )
    return _certificate(content)


def _certificate(content: Mapping[str, Any]) -> Certificate:
    verdict = _field(content, "the certificate", "verdict", str)
    if verdict not in _VERDICTS:
        raise AuditError(f"the certificate: unknown verdict {verdict!r}")
    call = _field(content, "the certificate", "call", dict)
    opcode, scope = (_shown(call, "call", key) for key in ("opcode", "scope"))
    operands = _field(call, "call", "operands", list)
    names = (_shown(_checked(o, "an operand", dict), "an operand", "name") for o in operands)
    title = f"{opcode} ({', '.join(names)}) at {scope} scope"
    premises = _field(content, "the certificate", "premises", dict, type(None))
    obligations = enumerate(_field(content, "the certificate", "obligations", list), 1)
    return Certificate(
        verdict,
        title,
        None if premises is None else _question(premises, "premises", premise=True),
        tuple(_question(_checked(o, f"obligation {n}", dict), f"obligation {n}") for n, o in obligations),
    )


def _question(entry: Mapping[str, Any], where: str, *, premise: bool = False) -> Question:
    expected = _field(entry, where, "expect", str, type(None))
    if expected not in ("sat", "unsat", None):
        raise AuditError(f"{where}: 'expect' is sat, unsat or null, not {expected!r}")
    scripts = enumerate(_field(entry, where, "scripts", list), 1)
    texts = tuple(
        _text(_checked(s, f"{where}, script {n}", dict), f"{where}, script {n}") for n, s in scripts
    )
    if premise:
        return Question("premises", "some thread can reach the call", texts, expected, False, True)
    name, sentence = (_shown(entry, where, key) for key in ("id", "sentence"))
    return Question(name, sentence, texts, expected, _field(entry, where, "decides", bool))


def _text(script: Mapping[str, Any], where: str) -> str:
    """The script with its witness pinned."""
    text, witness = (_field(script, where, key, str) for key in ("smtlib", "witness"))
    if not text.endswith(CHECK):
        raise AuditError(f"{where}: its SMT-LIB text does not end in (check-sat)")
    pinned: str = text.removesuffix(CHECK) + witness + CHECK
    _require_plain(pinned, where)
    return pinned


def _field(entry: Mapping[str, Any], where: str, key: str, *kinds: type) -> Any:
    if key not in entry:
        raise AuditError(f"{where}: the key {key!r} is missing")
    return _checked(entry[key], f"{where}: {key!r}", *kinds)


def _shown(entry: Mapping[str, Any], where: str, key: str) -> str:
    """A text that will be shown: it must not take command of a terminal."""
    text: str = _field(entry, where, key, str)
    if not text.isprintable():
        raise AuditError(f"{where}: {key!r} must be printable, not {text!r}")
    return text


def _checked(value: Any, where: str, *kinds: type) -> Any:
    if not isinstance(value, kinds):
        names = " or ".join("null" if kind is type(None) else kind.__name__ for kind in kinds)
        raise AuditError(f"{where} must be {names}, not {type(value).__name__}")
    return value


def _require_plain(text: str, where: str) -> None:
    """Raise unless a script only declares, defines and asserts before its one ``(check-sat)``: no other
    command could make a solver say what it does not find.
    """
    commands = list(_commands(text, where))
    if commands[0] not in [("set-logic", logic) for logic in _LOGICS]:
        raise AuditError(f"{where}: its SMT-LIB text must begin with one of the logics {', '.join(_LOGICS)}")
    for head, _ in commands[1:-1]:
        if head not in ("declare-const", "define-fun", "assert"):
            raise AuditError(
                f"{where}: its SMT-LIB text has the command {head!r}; it may only declare and assert"
            )


def _commands(text: str, where: str) -> Iterator[tuple[str, str]]:
    """The first two words of each command of a script."""
    position, depth = 0, 0
    words: list[str] = []
    stripped = text.rstrip()
    while position < len(stripped):
        found = _TOKEN.match(stripped, position)
        if found is None:
            raise AuditError(
                f"{where}: its SMT-LIB text cannot be read at {stripped[position:].lstrip()[:20]!r}"
            )
        position = found.end()
        word, parenthesis = found.groups()
        depth += {"(": 1, ")": -1, None: 0}[parenthesis]
        if depth < 0 or (word is not None and depth == 0):
            raise AuditError(f"{where}: its SMT-LIB text has {word or parenthesis!r} outside of a command")
        if word is not None:
            words.append(word)
        if depth == 0:
            first, second, *_ = (*words, "", "")
            yield first, second
            words = []
    if depth:
        raise AuditError(f"{where}: its SMT-LIB text ends inside a command")


def audit(certificate: Certificate, solver: str = "cvc5") -> Audit:
    """Ask ``solver`` every question of a certificate again.

    Raises :class:`SolverError` for a solver that is unknown or not installed, and for text that it cannot
    read.
    """
    name, ask = f"{solver} {version(solver)}", asker(solver)
    known: dict[str, Reply] = {}
    confirmations = []
    for question in certificate.questions:
        for text in question.texts:
            if text not in known:
                try:
                    known[text] = ask(text)
                except SolverError as error:
                    raise SolverError(f"{question.id}: {error}") from None
        confirmations.append(Confirmation(question, tuple(known[text] for text in question.texts)))
    return Audit(certificate, name, tuple(confirmations))
