"""Wider elements that are one run of bits only for some starts or threads."""

from __future__ import annotations

from typing import Any

import pytest

import tileproof as tp
from tests.contracts.calls import failing
from tileproof.errors import LayoutError
from tileproof.layouts.axes import laneid, warpid
from tileproof.layouts.layout import S, TileLayout
from tileproof.layouts.swizzle import Swizzle

SWIZZLED = tp.tensor(
    "A", (16, 8), "uint16", "shared", layout=TileLayout(S[(16, 8):(32, 1)], Swizzle(3, 0, 5)), align=64
)  # fmt: skip
WORD = tp.tensor("R", (1,), "uint32", "registers")
N = tp.symbol("n", 0, 15)


def load(row: Any, **keywords: Any) -> tp.Report:
    """The first word of a row whose swizzle moves single 16-bit elements."""
    return tp.check("ld.shared.b32", WORD, SWIZZLED[row].view("uint32")[0:1], **keywords)


@pytest.mark.parametrize(
    ("row", "keywords", "fails"),
    [
        (tp.symbol("n", 0, 15, multiple_of=2), {}, False),
        (N, {}, True),
        (N, {"assume": N % 2 == 0}, False),
        (N, {"assume": N % 3 == 0}, True),
        (N, {"active": N % 4 == 2}, False),
        (laneid // 2, {}, True),
        (laneid // 4 * 2, {}, False),
        (warpid, {"block": 32}, False),
        (warpid, {"block": 64}, True),
        (warpid, {"block": 64, "active": warpid == 0}, False),
    ],
    ids=repr,
)
def test_wide_elements_are_proved_where_the_call_stands(row: Any, keywords: Any, fails: bool) -> None:
    assert ("whole-element" in failing(load(row, **keywords))) is fails


def halves(pitch: int) -> tp.View:
    """Eight bytes from every ``pitch``-th on, in a swizzle of bit 4 by bit 5, read as halves."""
    layout = TileLayout(S[(4, 32, 8) : (pitch, 32, 1)], Swizzle(1, 4, 1))
    return tp.tensor("A", (4, 32, 8), "uint8", "global", layout=layout, align=2).view("uint16")


def test_what_the_normal_form_does_not_see_is_proved_at_the_call() -> None:
    """From 7*r on for r < 4, no pair of the eight bytes crosses a multiple of 16; from 9 + 6 on, one does."""
    row, column = tp.symbol("row", 0, 2, multiple_of=2), tp.symbol("column", 0, 31)
    half = tp.tensor("H", (1,), "uint16", "registers")
    (join,) = halves(7).joins
    assert join.dtype == "uint16"
    assert not failing(tp.check("ld.global.b16", half, halves(7)[row, column, 0:1]))
    assert failing(tp.check("ld.global.b16", half, halves(9)[row, column, 0:1])) == {"whole-element"}


def test_the_counterexample() -> None:
    (failure, *_) = load(N).failures
    assert failure.obligation.id == "ld.whole-element"
    assert failure.counterexample is not None
    assert failure.counterexample.needed == "element `step` of a uint32 of A 16 bits past its first"
    assert failure.counterexample.found == "-16 bits"
    assert failure.counterexample.values["n"] == 1


def test_what_is_torn_for_every_start_is_no_view() -> None:
    with pytest.raises(LayoutError, match="dimension 0 is not contiguous"):
        SWIZZLED[1].view("uint32")
