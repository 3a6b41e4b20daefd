"""A report can be made again from its own text, with the same verdict and the same counterexample."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tileproof as tp
from tests.proofs.described_views import build, entries
from tileproof.errors import TileproofError
from tileproof.proofs.report import Report
from tileproof.spec.files import check_file


def story(report: Report) -> list[tuple[str, Any]]:
    return [(f.obligation.id, f.counterexample and dict(f.counterexample.values)) for f in report.failures]


@pytest.mark.parametrize("entry", entries(), ids=lambda e: e["name"])
def test_pasted_spec_says_the_same(entry: dict[str, Any], tmp_path: Path) -> None:
    try:
        opcode, operands, keywords = build(entry)
        report = tp.check(opcode, *operands, **keywords)
    except TileproofError:
        return  # there is no report to make again
    spec = tmp_path / "again.toml"
    spec.write_text(report.reproduction())
    (again,) = check_file(spec)
    assert again.report.verdict is report.verdict
    assert story(again.report) == story(report)
    assert [h.obligation.id for h in again.report.hazards] == [h.obligation.id for h in report.hazards]


def test_every_view_operation_is_told() -> None:
    i = tp.symbol("i", 0, 7, multiple_of=2, uniform="warp")
    n = tp.symbol("n", 1, None)
    a = tp.tensor("A", (n, 8, 8), "bfloat16", align=16)
    view = a[i : i + 1, ..., 0:8].permute(1, 0, 2).rearrange("r o (c k) -> r o c k", k=4)
    view = view.view(8, 2, 4).view("uint32").sub([0, 0, 0], [1, 2, 2]).broadcast(3, 2, 2)
    regs = tp.tensor("raw", (24,), "uint32", "registers").declare((3, 2, 2), at=2, name="R")
    report = tp.check(
        "ld.global.v2.b32",
        regs,
        view,
        active=(i < n, tp.laneid < 4),
        assume=n > 3,
        preserve_dst=True,
        pred=i > 0,
    )
    text = report.reproduction()
    for word in (
        "slice",
        "permute",
        "rearrange",
        "view",
        "broadcast",
        "over",
        "at = 8",
        "uniform",
        "multiple_of",
        "assume",
        "pred",
    ):
        assert word in text, word
