"""Every described view is decided rightly, and every refusal is complete and replays."""

from __future__ import annotations

from typing import Any

import pytest

import tileproof as tp
from tests.proofs.described_views import build, entries
from tests.proofs.replay import assert_complete
from tileproof.errors import LayoutError, OpcodeError

ENTRIES = entries()


def check(entry: dict[str, Any]) -> tp.Report:
    opcode, operands, keywords = build(entry)
    return tp.check(opcode, *operands, **keywords)


RAISED = {
    "symbolic region extent": (LayoutError, "not static"),
    "zero-extent repeat": (LayoutError, "empty"),
    "unknown opcode": (OpcodeError, "v3"),
}
"""What is no view or no opcode at all is refused before there is anything to prove."""

UNSUPPORTED = {"ldmatrix b8 m16n16": "m8n8"}
"""Legal PTX whose contract is not written yet: an honest non-answer that names what is supported."""


@pytest.mark.parametrize(
    "entry", [e for e in ENTRIES if e["name"] not in {*RAISED, *UNSUPPORTED}], ids=lambda e: e["name"]
)
def test_verdict(entry: dict[str, Any]) -> None:
    opcode, operands, keywords = build(entry)
    report = tp.check(opcode, *operands, **keywords)
    if entry["expect"] is None:
        # Whether n + 1 > n in 32 bits is the caller's affair; over the integers it holds.
        assert report.verdict is tp.Verdict.PROVED
    elif entry["kind"] == "hazard":
        assert report.verdict is tp.Verdict.PROVED, "each instruction alone is legal"
        assert report.hazards
        strict = tp.check(opcode, *operands, hazards="error", **keywords)
        assert strict.verdict is tp.Verdict.REFUTED
        assert tp.check(opcode, *operands, hazards="ignore", **keywords).hazards == ()
        assert_complete(strict)
    elif entry["expect"] == "accept":
        assert report.verdict is tp.Verdict.PROVED, str(report)
        assert not report.hazards
    else:
        assert report.verdict is tp.Verdict.REFUTED, str(report)
        assert_complete(report)


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e["name"] in RAISED], ids=lambda e: e["name"])
def test_raised(entry: dict[str, Any]) -> None:
    kind, text = RAISED[entry["name"]]
    with pytest.raises(kind, match=text):
        check(entry)


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e["name"] in UNSUPPORTED], ids=lambda e: e["name"])
def test_unsupported(entry: dict[str, Any]) -> None:
    opcode, operands, keywords = build(entry)
    report = tp.check(opcode, *operands, **keywords)
    assert report.verdict is tp.Verdict.UNSUPPORTED
    assert UNSUPPORTED[entry["name"]] in report.reason


@pytest.mark.parametrize(
    "entry",
    [e for e in ENTRIES if e["name"].startswith("int32") and e["name"] != "int32 wrap cols: shape (n,m)"],
    ids=lambda e: e["name"],
)
def test_wider_arithmetic_mends_a_wrap(entry: dict[str, Any]) -> None:
    """The views that wrap in 32 bits are legal when the offset arithmetic is left to be as wide as it has to
    be.
    """
    opcode, operands, keywords = build(entry)
    del keywords["index_bits"]
    assert tp.check(opcode, *operands, **keywords).verdict is tp.Verdict.PROVED
