"""Exit codes and counts over several files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.report.reports import reports
from tileproof.report.outcome import Outcome, exit_code, json_text, outcomes_text, sarif_text, summary
from tileproof.spec.build import Checked

REPORTS = reports()
PROVED, REFUTED, UNDECIDED, UNSUPPORTED = (
    Outcome(f"{name}.toml", (Checked(REPORTS[name]),))
    for name in ("proved", "refuted", "undecided", "unsupported")
)
UNUSABLE = Outcome("bad.toml", (), "bad.toml: cannot be read")


def expecting(name: str, verdict: str) -> Outcome:
    return Outcome("expected.toml", (Checked(REPORTS[name], verdict, 3),))


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ([PROVED], 0),
        ([REFUTED], 1),
        ([UNUSABLE], 2),
        ([UNDECIDED], 3),
        ([UNSUPPORTED], 3),
        ([PROVED, UNDECIDED], 3),
        ([REFUTED, UNDECIDED, PROVED], 1),
        ([UNDECIDED, UNUSABLE, REFUTED], 2),
        ([expecting("refuted", "refuted")], 0),
        ([expecting("undecided", "undecided")], 0),
        ([expecting("proved", "refuted")], 1),
        ([expecting("undecided", "proved")], 1),
        ([expecting("refuted", "refuted"), UNSUPPORTED], 3),
    ],
)
def test_the_worst_decides(outcomes, code):
    assert exit_code(outcomes) == code
    assert json.loads(json_text(outcomes))["exit_code"] == code


@pytest.mark.parametrize(
    ("outcomes", "text"),
    [
        ([PROVED], None),
        ([UNUSABLE], None),
        ([PROVED, PROVED, REFUTED], "3 calls: 2 proved, 1 refuted"),
        ([PROVED, UNUSABLE], "1 call: 1 proved, 1 unusable file"),
        (
            [UNDECIDED, UNSUPPORTED, UNUSABLE, UNUSABLE],
            "2 calls: 1 undecided, 1 unsupported, 2 unusable files",
        ),
    ],
)
def test_several_calls_are_counted(outcomes, text):
    assert summary(outcomes) == text


def test_an_expectation_is_told():
    assert "\n  as expected: refuted" in outcomes_text([expecting("refuted", "refuted")])
    told = outcomes_text([expecting("proved", "refuted")])
    assert told.startswith("expected.toml:3\n")
    assert told.endswith("NOT AS EXPECTED: the file expects refuted, and it is proved")


def test_what_fails_as_expected_is_no_result_of_a_review():
    assert json.loads(sarif_text([expecting("refuted", "refuted")]))["runs"][0]["results"] == []
    assert len(json.loads(sarif_text([expecting("refuted", "proved")]))["runs"][0]["results"]) == 1


def test_a_file_that_is_unusable_has_its_error_and_no_calls():
    (file,) = json.loads(json_text([UNUSABLE]))["files"]
    assert file == {"file": "bad.toml", "error": "bad.toml: cannot be read", "calls": []}


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from () if key in ("symbols", "element", "others") else keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def test_the_documented_keys_are_those_that_are_written():
    page = (Path(__file__).parents[2] / "docs/cli.md").read_text(encoding="utf-8").partition("## JSON\n")[2]
    documented = {word.removesuffix("[]") for word in re.findall(r"`([a-z_]+(?:\[\])?)`", page)}
    outcomes = [PROVED, REFUTED, UNSUPPORTED, Outcome("h.toml", (Checked(REPORTS["hazard"]),)), UNUSABLE]
    assert set(keys(json.loads(json_text(outcomes)))) == documented
