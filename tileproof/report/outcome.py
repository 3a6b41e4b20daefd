"""What became of files: their reports, or why there are none, and how all of it is told."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tileproof.proofs.verdict import Verdict
from tileproof.report.json_report import SCHEMA, report_json
from tileproof.report.plain import report_text
from tileproof.report.sarif import Located, Unusable, sarif_log
from tileproof.report.version import tileproof_version
from tileproof.spec.build import Checked

if TYPE_CHECKING:
    from rich.console import RenderableType

PROVED, REFUTED, UNUSABLE, UNDECIDED = 0, 1, 2, 3
BY_WEIGHT = (PROVED, UNDECIDED, REFUTED, UNUSABLE)
"""Exit codes, the one that wins over the others last."""

_CODES = {Verdict.PROVED: PROVED, Verdict.REFUTED: REFUTED}


@dataclass(frozen=True, eq=False)
class Outcome:
    """A file with its calls, or with the error that made it unusable."""

    file: str
    checked: tuple[Checked, ...]
    error: str | None = None


def exit_code(outcomes: Sequence[Outcome]) -> int:
    """The worst of all. A call whose verdict a file expects is as good as proved when that verdict comes."""
    codes = [PROVED]
    for outcome in outcomes:
        codes += [UNUSABLE] if outcome.error is not None else map(_code, outcome.checked)
    return max(codes, key=BY_WEIGHT.index)


def _code(checked: Checked) -> int:
    if checked.expected is not None:
        return PROVED if checked.as_expected else REFUTED
    return _CODES.get(checked.report.verdict, UNDECIDED)


def outcomes_text(outcomes: Sequence[Outcome]) -> str:
    """Plain text: every report below its file and line, and a count when there are several."""
    blocks = []
    for outcome in outcomes:
        for checked in outcome.checked:
            lines = [place(outcome, checked), report_text(checked.report)]
            expectation = expected(checked)
            blocks.append("\n".join([*lines, f"  {expectation}"] if expectation else lines))
    count = summary(outcomes)
    return "\n\n".join([*blocks, count] if count else blocks)


def outcomes_view(outcomes: Sequence[Outcome]) -> RenderableType:
    """The same for a rich console."""
    from rich.console import Group
    from rich.text import Text

    from tileproof.report.terminal import report_view

    parts: list[RenderableType] = []
    for outcome in outcomes:
        for checked in outcome.checked:
            parts += [Text(place(outcome, checked), "dim"), report_view(checked.report)]
            expectation = expected(checked)
            if expectation:
                parts.append(Text(f"  {expectation}", "green" if checked.as_expected else "bold red"))
            parts.append(Text())
    count = summary(outcomes)
    return Group(*parts, Text(count, "bold")) if count else Group(*parts[:-1])


def place(outcome: Outcome, checked: Checked) -> str:
    """The file of a call, and its line where that is known."""
    return outcome.file if checked.line is None else f"{outcome.file}:{checked.line}"


def expected(checked: Checked) -> str | None:
    """How the verdict compares with the one that the file expects."""
    if checked.expected is None:
        return None
    if checked.as_expected:
        return f"as expected: {checked.expected}"
    return f"NOT AS EXPECTED: the file expects {checked.expected}, and it is {checked.report.verdict.value}"


def summary(outcomes: Sequence[Outcome]) -> str | None:
    """How many calls have which verdict, when there is more than one to count."""
    verdicts = Counter(c.report.verdict.value for outcome in outcomes for c in outcome.checked)
    unusable = sum(outcome.error is not None for outcome in outcomes)
    total = sum(verdicts.values())
    if total + unusable < 2:
        return None
    parts = [f"{verdicts[verdict.value]} {verdict.value}" for verdict in Verdict if verdicts[verdict.value]]
    parts += [f"{unusable} unusable file{'s' if unusable > 1 else ''}"] if unusable else []
    return f"{total} call{'s' if total != 1 else ''}: {', '.join(parts)}"


def outcomes_json(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Everything, for programs; the schema is documented in ``docs/cli.md``."""
    return {
        "schema": SCHEMA,
        "tileproof": tileproof_version(),
        "exit_code": exit_code(outcomes),
        "files": [
            {
                "file": outcome.file,
                "error": outcome.error,
                "calls": [
                    {
                        "line": checked.line,
                        "expected": checked.expected,
                        "as_expected": checked.as_expected,
                        **report_json(checked.report),
                    }
                    for checked in outcome.checked
                ],
            }
            for outcome in outcomes
        ],
    }


def outcomes_sarif(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """What is not proved, for code review; calls that fail as their file expects are left out."""
    located = [
        Located(outcome.file, checked.line, checked.report)
        for outcome in outcomes
        for checked in outcome.checked
        if checked.expected is None or not checked.as_expected
    ]
    unusable = [Unusable(outcome.file, outcome.error) for outcome in outcomes if outcome.error is not None]
    return sarif_log(located, unusable, tileproof_version())


def json_text(outcomes: Sequence[Outcome]) -> str:
    """:func:`outcomes_json` as text."""
    return json.dumps(outcomes_json(outcomes), indent=2)


def sarif_text(outcomes: Sequence[Outcome]) -> str:
    """:func:`outcomes_sarif` as text."""
    return json.dumps(outcomes_sarif(outcomes), indent=2)
