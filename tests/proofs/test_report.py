"""Reports: what they hold, and what they say of it."""

from __future__ import annotations

import pytest

import tileproof as tp
from tests.contracts.calls import PROVED, REFUTED, memory, registers
from tests.proofs.replay import assert_complete
from tileproof.proofs.report import ContractError, Report
from tileproof.proofs.verdict import Counterexample

I = tp.symbol("i", 0, 30)
R4 = registers((4,))


def report(*, align: int = 16, start: int = 4, limit: int = 64) -> Report:
    return tp.check("ld.global.v4.b32", R4, memory((limit,), align=align)[start * I : start * I + 4])


def test_a_proof() -> None:
    proved = report(limit=128)
    assert proved.verdict is PROVED
    assert proved.failures == ()
    assert proved.counterexample is None
    assert proved.hazards == ()
    assert proved.reason == ""
    assert {f.verdict for f in proved.findings} == {PROVED}
    assert all(f.method and f.counterexample is None and not f.reason for f in proved.findings)
    assert [f.obligation.id for f in proved.findings] == [
        "ld.aligned", "ld.contiguous", "ld.whole-register", "ld.in-bounds", "ld.distinct",
    ]  # fmt: skip


def test_failures_come_in_the_order_of_the_demands() -> None:
    refuted = report(align=8, limit=64)
    assert refuted.verdict is REFUTED
    assert [f.obligation.id for f in refuted.failures] == ["ld.aligned", "ld.in-bounds"]
    assert len(refuted.findings) == 5
    first, second = (f.counterexample for f in refuted.failures)
    assert refuted.counterexample is first
    assert first is not None
    assert second is not None
    assert (first.symbols, first.base) == ({"i": 0}, 8)
    assert second.symbols == {"i": 16}
    assert_complete(refuted)


def test_each_demand_says_where_it_comes_from() -> None:
    for finding in report().findings:
        obligation = finding.obligation
        assert obligation.id.startswith("ld.")
        assert obligation.sentence
        assert obligation.section.startswith(("PTX ISA", "contract reference"))


def test_text_of_a_proof() -> None:
    text = str(report(limit=128))
    assert text.startswith("ld.global.v4.b32 (R, A) at thread scope: PROVED\n")
    assert "ld.aligned: an access starts at a multiple of its whole size  [normal form]" in text
    assert text.endswith("1 instruction")


def test_text_of_a_refusal() -> None:
    text = str(report(start=2))
    for part in (
        "ld.global.v4.b32 (R, A) at thread scope: REFUTED",
        "FAILS     ld.aligned: an access starts at a multiple of its whole size",
        "at     i = 1, warp 0, lane 0, repeat ()",
        "in     byte 8 of A",
        "needed a multiple of 16 bytes",
        "found  byte address 8, which is 8 modulo 16",
        "see    PTX ISA 6.4.1, 9.7.9.8",
        "proved    ld.contiguous",
    ):
        assert part in text
    assert "instruction" not in text


def test_text_of_other_verdicts() -> None:
    unsupported = tp.check("ld.v4.b32", R4, memory((4,)))
    assert "UNSUPPORTED" in str(unsupported)
    assert unsupported.reason in str(unsupported)
    spent = tp.check(
        "ld.global.v4.b32",
        R4,
        memory((1 << 40,))[4 * (I ^ (I // 3)) : 4 * (I ^ (I // 3)) + 4],
        active=I * I % 7 == 2,
        budget=1,
    )
    for finding in spent.failures:
        assert finding.verdict is tp.Verdict.UNDECIDED
        assert finding.reason in str(spent)


def test_text_of_hazards() -> None:
    text = str(tp.check("st.global.v4.b32", memory((4,)), R4, block=2))
    assert "hazards:\n" in text
    assert "st.write-conflict: no two lanes or repeats store to one place" in text.partition("hazards:\n")[2]
    assert "lane' = 1" in text


def test_errors_carry_their_report() -> None:
    refuted = report(align=8)
    error = ContractError(refuted)
    assert error.report is refuted
    assert str(error) == str(refuted)


def test_counterexamples_tell_symbols_from_the_rest() -> None:
    example = report(start=2).counterexample
    assert isinstance(example, Counterexample)
    assert example.symbols == {"i": 1}
    assert set(example.values) > {"i"}
    assert set(example.kinds) == set(example.values)


def test_reports_are_immutable() -> None:
    with pytest.raises(AttributeError):
        report().verdict = PROVED  # type: ignore[misc]
