"""What became of an audit: each certificate, its questions and answers, and how all of it is told."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tileproof.errors import TileproofError
from tileproof.proofs.audit import Audit, AuditError, Confirmation, Question, Status, audit, read
from tileproof.report.version import tileproof_version

if TYPE_CHECKING:
    from rich.console import RenderableType

SCHEMA = 1
CONFIRMED, CONTRADICTED, UNUSABLE, UNCONFIRMED = 0, 1, 2, 3
BY_WEIGHT = (CONFIRMED, UNCONFIRMED, CONTRADICTED, UNUSABLE)
"""Exit codes, the one that wins over the others last."""

_CODES = {Status.CONFIRMED: CONFIRMED, Status.CONTRADICTED: CONTRADICTED}
_STYLES = {Status.CONFIRMED: "green", Status.CONTRADICTED: "bold red"}
_CLAIMS = {"unsat": "proved", "sat": "fails", None: "undecided"}


@dataclass(frozen=True)
class Audited:
    """A file with its audit, or with the reason why it is no certificate."""

    file: str
    audit: Audit | None
    error: str | None = None


def audited(path: Path, solver: str) -> Audited:
    """Read a certificate and ask its questions again; a file that is no certificate is told, not raised."""
    try:
        return Audited(str(path), audit(read(path.read_bytes()), solver))
    except OSError as error:
        return Audited(str(path), None, f"{path}: cannot be read: {error.strerror or error}")
    except TileproofError as error:
        return Audited(str(path), None, f"{path}: {error}")


def certificates_in(paths: Iterable[Path]) -> list[Path]:
    """The files named, and for a folder the ``.json`` files in it by name. Raises :class:`AuditError` for a
    folder without any.
    """
    found: list[Path] = []
    for path in paths:
        inside = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not inside:
            raise AuditError(f"{path}: the folder has no certificates (*.json)")
        found += inside
    return found


def exit_code(results: Sequence[Audited]) -> int:
    """The worst of all."""
    codes = [UNUSABLE if r.audit is None else _CODES.get(r.audit.status, UNCONFIRMED) for r in results]
    return max(codes, key=BY_WEIGHT.index, default=CONFIRMED)


def headline(checked: Audit) -> str:
    """The call, what is recorded of it, and what the solver makes of that."""
    recorded = checked.certificate
    return f"{recorded.call}: {recorded.verdict}; {checked.solver}: {_shown(checked.status)}"


def _shown(status: Status) -> str:
    word: str = status.value
    return word if status is Status.CONFIRMED else word.upper()


def rows(checked: Audit) -> list[tuple[Status, str, str]]:
    """Of each question its status, what is recorded of what, and further words; what is alike is told once."""
    told = Counter((c.status, _claim(c.question), _words(c)) for c in checked.confirmations)
    lines = [(s, claim, words if n == 1 else f"{words} ({n} times)") for (s, claim, words), n in told.items()]
    recorded = checked.certificate.verdict
    if checked.status is Status.UNCLAIMED:
        lines.append((Status.UNCLAIMED, "verdict", f"{recorded} claims nothing"))
    elif checked.verdict != recorded and {status for status, _, _ in lines} <= {Status.CONFIRMED}:
        lines.append(
            (checked.status, "verdict", f"recorded {recorded}, the answers come to {checked.verdict}")
        )
    return lines


def _claim(question: Question) -> str:
    if question.premise:
        return "premises possible"
    return f"{question.id} {_CLAIMS[question.expected]}"


def _words(confirmation: Confirmation) -> str:
    question, reason = confirmation.question, confirmation.reason
    if confirmation.status is Status.CONTRADICTED:
        answers = " and ".join(r.answer for r in confirmation.replies)
        return f"{question.sentence}: recorded {question.expected}, answered {answers}"
    return f"{question.sentence}: {reason}" if reason else question.sentence


def summary(results: Sequence[Audited]) -> str:
    """How many certificates and questions came to what."""
    checked = [r.audit for r in results if r.audit is not None]
    certificates = Counter(a.status.value for a in checked)
    refused = len(results) - len(checked)
    parts = [f"{certificates[s.value]} {s.value}" for s in Status if certificates[s.value]]
    parts += [f"{refused} refused"] if refused else []
    questions = Counter(c.status.value for a in checked for c in a.confirmations)
    asked = ", ".join(f"{questions[s.value]} {s.value}" for s in Status if questions[s.value])
    count = f"{len(results)} certificate{'s' if len(results) != 1 else ''}: {', '.join(parts)}"
    return f"{count}; questions: {asked}" if asked else count


def audits_text(results: Sequence[Audited]) -> str:
    """Plain text: every certificate below its file, and the counts."""
    blocks = []
    for result in results:
        if result.audit is not None:
            lines = [result.file, headline(result.audit)]
            lines += [f"  {_shown(s):15} {claim}: {words}" for s, claim, words in rows(result.audit)]
            blocks.append("\n".join(lines))
    return "\n\n".join([*blocks, summary(results)])


def audits_view(results: Sequence[Audited]) -> RenderableType:
    """The same for a rich console."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    parts: list[RenderableType] = []
    for result in results:
        if result.audit is None:
            continue
        checked = result.audit
        said, call = _shown(checked.status), headline(checked)
        style = _STYLES.get(checked.status, "bold yellow")
        title = Text.assemble((call.removesuffix(said), "bold"), (said, style))
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column()
        for status, claim, words in rows(checked):
            table.add_row(Text(_shown(status), _STYLES.get(status, "bold yellow")), Text(claim), Text(words))
        parts += [Text(result.file, "dim"), title, Padding(table, (0, 0, 0, 2)), Text()]
    return Group(*parts, Text(summary(results), "bold"))


def audits_json(results: Sequence[Audited]) -> str:
    """Everything, for programs; the keys are documented in ``docs/certificates.md``."""
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "tileproof": tileproof_version(),
        "exit_code": exit_code(results),
        "certificates": [_json(r) for r in results],
    }
    return json.dumps(content, indent=2)


def _json(result: Audited) -> dict[str, Any]:
    checked = result.audit
    if checked is None:
        return {"file": result.file, "error": result.error}
    return {
        "file": result.file,
        "error": None,
        "call": checked.certificate.call,
        "solver": checked.solver,
        "recorded": checked.certificate.verdict,
        "found": checked.verdict,
        "status": checked.status.value,
        "questions": [
            {
                "id": c.question.id,
                "expected": c.question.expected,
                "answers": [r.answer for r in c.replies],
                "reason": c.reason or None,
                "status": c.status.value,
            }
            for c in checked.confirmations
        ],
    }
