"""Reports as SARIF 2.1.0, which code review tools show beside the lines of a file.

A rule is an obligation; a result is an obligation that is not proved. A refuted or undecided one is an error,
because neither is a pass; a hazard that stands beside the verdict is a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal
from urllib.parse import quote

from tileproof.proofs.report import Report
from tileproof.proofs.verdict import Finding, Verdict
from tileproof.report.json_report import counterexample_json
from tileproof.report.plain import call_text, details

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

Level = Literal["error", "warning"]


@dataclass(frozen=True)
class Located:
    """A report with the file, and the line where it is known, that it is about."""

    file: str
    line: int | None
    report: Report


@dataclass(frozen=True)
class Unusable:
    """A file that could not be checked, and why."""

    file: str
    error: str


def sarif_log(reports: Iterable[Located], unusable: Sequence[Unusable], version: str) -> dict[str, Any]:
    """One run over some files. ``version`` is that of tileproof."""
    rules: dict[str, dict[str, Any]] = {}
    results = [
        _result(rules, located, finding, level)
        for located in reports
        for finding, level in _failures(located.report)
    ]
    invocation: dict[str, Any] = {"executionSuccessful": not unusable}
    if unusable:
        invocation["toolExecutionNotifications"] = [
            {
                "level": "error",
                "message": {"text": failure.error},
                "locations": [_location(failure.file, None)],
            }
            for failure in unusable
        ]
    driver = {"name": "tileproof", "semanticVersion": version, "rules": list(rules.values())}
    run = {"tool": {"driver": driver}, "invocations": [invocation], "results": results}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _failures(report: Report) -> Iterable[tuple[Finding | None, Level]]:
    for finding in report.failures:
        yield finding, "error"
    for hazard in report.hazards:
        yield hazard, "warning"
    if report.verdict is Verdict.UNSUPPORTED:
        yield None, "error"


def _result(
    rules: dict[str, dict[str, Any]], located: Located, finding: Finding | None, level: Level
) -> dict[str, Any]:
    report = located.report
    if finding is None:
        rule_id = f"{report.call.form.mnemonic}.unsupported"
        sentence, section, lines = "the form has a contract", "", [("reason", report.reason)]
    else:
        obligation = finding.obligation
        rule_id, sentence, section, lines = (
            obligation.id,
            obligation.sentence,
            obligation.section,
            details(finding),
        )
    if rule_id not in rules:
        rules[rule_id] = {"id": rule_id, "shortDescription": {"text": sentence}}
        if section:
            rules[rule_id]["help"] = {"text": section}
    text = "\n".join([f"{call_text(report)}: {sentence}", *(f"{label}: {words}" for label, words in lines)])
    result: dict[str, Any] = {
        "ruleId": rule_id,
        "ruleIndex": list(rules).index(rule_id),
        "level": level,
        "message": {"text": text},
        "locations": [_location(located.file, located.line)],
    }
    if finding is not None and finding.counterexample is not None:
        result["properties"] = {"counterexample": counterexample_json(finding.counterexample, finding.nearby)}
    return result


def _location(file: str, line: int | None) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": quote(PurePath(file).as_posix())}}
    if line is not None:
        place["region"] = {"startLine": line}
    return {"physicalLocation": place}
