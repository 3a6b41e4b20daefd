"""Reports for people at a terminal: the words of the plain text, aligned and in colour."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tileproof.proofs.report import Report
from tileproof.proofs.verdict import Finding, Verdict
from tileproof.report.plain import MARKS, call_text, conclusion, details, hazard_mark, without_repetition

STYLES = {
    Verdict.PROVED: "green",
    Verdict.REFUTED: "bold red",
    Verdict.UNDECIDED: "bold yellow",
    Verdict.UNSUPPORTED: "bold yellow",
}
_EMPHASIS = {
    "at": "bold",
    "in": "bold",
    "needed": "green",
    "found": "red",
    "nearby": "green",
    "reason": "yellow",
    "see": "dim",
}


def report_view(report: Report) -> RenderableType:
    """A report for a rich console. Nothing in it is read as markup."""
    style = STYLES[report.verdict]
    title = Text.assemble((call_text(report), "bold"), ": ", (report.verdict.name, style))
    parts: list[RenderableType] = [title]
    if report.reason:
        parts.append(Padding(Text(report.reason), (0, 0, 0, 2)))
    if report.findings:
        parts.append(_table(report.findings, hazard=False))
    if report.hazards:
        parts += [Padding(Text("hazards:", "bold yellow"), (0, 0, 0, 2)), _table(report.hazards, hazard=True)]
    closing = conclusion(report)
    if closing is not None:
        parts.append(Padding(Text(closing), (0, 0, 0, 2)))
    return Group(*parts)


def _table(findings: tuple[Finding, ...], *, hazard: bool) -> RenderableType:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()
    for finding in without_repetition(findings):
        style = "bold yellow" if hazard else STYLES[finding.verdict]
        proved = finding.verdict is Verdict.PROVED
        words = Text(finding.obligation.sentence)
        if proved:
            words.append(f"  {finding.method}", "dim")
        name = Text(finding.obligation.id, "" if proved else "bold")
        mark = hazard_mark(finding) if hazard else MARKS[finding.verdict]
        table.add_row(Text(mark, style), name, words if proved else Group(words, _details(finding)))
    return Padding(table, (0, 0, 0, 2))


def _details(finding: Finding) -> RenderableType:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column()
    for label, text in details(finding):
        table.add_row(label, Text(text, _EMPHASIS[label]))
    return table
