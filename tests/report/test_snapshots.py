"""What each kind of report looks like, in every form in which it is told."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from tests.report.reports import reports
from tileproof.proofs.report import Report
from tileproof.proofs.verdict import Verdict
from tileproof.report.json_report import report_json
from tileproof.report.sarif import Located, Unusable, sarif_log
from tileproof.report.terminal import report_view

REPORTS = reports()


def shown(report: Report, width: int, *, colour: bool = False) -> str:
    console = Console(
        file=StringIO(),
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        _environ={},
    )
    console.print(report_view(report))
    written: str = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in written.split("\n"))


def log(name: str) -> dict[str, Any]:
    return sarif_log([Located("calls.toml", 7, REPORTS[name])], [], "1.2.3")


@pytest.mark.parametrize("name", REPORTS)
def test_plain(name: str, snapshot: SnapshotAssertion) -> None:
    assert str(REPORTS[name]) == snapshot


@pytest.mark.parametrize("name", ["proved", "refuted", "hazard", "unsupported", "undecided"])
def test_json(name: str, snapshot: SnapshotAssertion) -> None:
    assert json.dumps(report_json(REPORTS[name]), indent=1) == snapshot


@pytest.mark.parametrize("name", ["proved", "refuted twice", "hazard", "unsupported", "undecided"])
def test_sarif(name: str, snapshot: SnapshotAssertion) -> None:
    assert json.dumps(log(name), indent=1) == snapshot


@pytest.mark.parametrize("name", ["proved", "refuted", "hazard", "unsupported", "undecided"])
def test_terminal(name: str, snapshot: SnapshotAssertion) -> None:
    assert shown(REPORTS[name], 100) == snapshot


def test_a_narrow_terminal_keeps_every_word(snapshot: SnapshotAssertion) -> None:
    assert shown(REPORTS["refuted twice"], 60) == snapshot


def test_the_terminal_makes_verdict_and_counterexample_stand_out() -> None:
    text = shown(REPORTS["refuted"], 100, colour=True)
    assert "\x1b[1;31mREFUTED\x1b[0m" in text
    assert "\x1b[1;31mFAILS \x1b[0m" in text
    assert "\x1b[1mj = 1, i = 0, warp 0, lane 0, repeat ()" in text
    assert "\x1b[32ma multiple of 16 bytes" in text
    assert "\x1b[31mbyte address 8, which is 8 modulo 16" in text


def test_nothing_is_read_as_markup() -> None:
    report = REPORTS["unsupported"]
    marked = Report(report.call, report.verdict, (), reason="[bold]x[/bold] [red]y")
    assert "[bold]x[/bold] [red]y" in shown(marked, 100)


@pytest.mark.parametrize("name", REPORTS)
def test_all_forms_tell_the_same(name: str) -> None:
    report, data = REPORTS[name], report_json(REPORTS[name])
    assert data["verdict"] == report.verdict.value
    assert [f["id"] for f in data["findings"]] == [f.obligation.id for f in report.findings]
    assert [f["id"] for f in data["hazards"]] == [f.obligation.id for f in report.hazards]
    for finding in data["findings"]:
        assert (finding["counterexample"] is not None) == (finding["verdict"] == "refuted")
    levels = [r["level"] for r in log(name)["runs"][0]["results"]]
    failures = len(report.failures) + (report.verdict is Verdict.UNSUPPORTED)
    assert levels == ["error"] * failures + ["warning"] * len(report.hazards)
    assert (failures == 0) == (report.verdict is Verdict.PROVED)


@pytest.mark.parametrize("name", REPORTS)
def test_sarif_is_well_formed(name: str) -> None:
    """What SARIF 2.1.0 demands of the parts that are written here (sections 3.13, 3.14, 3.27, 3.49)."""
    written = sarif_log(
        [Located("a b/ü.toml", None, REPORTS[name])],
        [Unusable("bad.toml", "bad.toml: cannot be read")],
        "1.2.3",
    )
    assert written["version"] == "2.1.0"
    (run,) = written["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning")
        assert result["message"]["text"]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%20b/%C3%BC.toml"
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    (notification,) = invocation["toolExecutionNotifications"]
    assert notification["message"]["text"] == "bad.toml: cannot be read"
