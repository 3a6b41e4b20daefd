"""Many calls at once give the same reports as one after the other."""

from __future__ import annotations

import pytest

import tileproof as tp
from tests.proofs.described_views import build, entries
from tileproof.errors import CallError, OpcodeError, TileproofError
from tileproof.proofs.check_all import Request, check_all, request
from tileproof.proofs.report import Report


def requests() -> list[Request]:
    found = []
    for entry in entries():
        try:
            opcode, operands, keywords = build(entry)
        except TileproofError:
            continue
        if entry["name"] != "unknown opcode":
            found.append(request(opcode, *operands, **keywords))
    return found


def story(report: Report) -> object:
    return str(report)


def test_processes_change_nothing() -> None:
    calls = requests()
    alone = [story(r) for r in check_all(calls, processes=0)]
    assert [story(r) for r in check_all(calls, processes=2)] == alone
    assert [story(r.check()) for r in calls] == alone


def test_a_malformed_call_raises() -> None:
    good = requests()[0]
    with pytest.raises(OpcodeError, match="v3"):
        check_all([good, request("ld.global.v3.b32", *good.operands)])
    with pytest.raises(CallError, match="processes"):
        check_all([good], processes=-1)


def test_nothing_to_check() -> None:
    assert check_all([]) == []
    assert tp.check_all is check_all
