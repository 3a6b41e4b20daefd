"""What a refusal suggests would mend it does, at the reported point, and nothing nearer would."""

from __future__ import annotations

import pytest

import tileproof as tp
from tileproof.layouts.index import Index
from tileproof.layouts.leaf import Leaf
from tileproof.proofs.repair import near


def first(report: tp.Report) -> str:
    return report.failures[0].nearby


WORDS = tp.tensor("W", (4,), "uint32", "registers")
I = tp.symbol("i", 0, 63)


@pytest.mark.parametrize(
    ("start", "suggestion"),
    [(I, "i = 0"), (2 * I, "i = 2"), (I + 1, "i = 3"), (4 * I + 2, ""), (61 - I, "i = 1")],
)
def test_nearest_start(start: Index, suggestion: str) -> None:
    a = tp.tensor("A", (4096,), "uint32")
    assert first(tp.check("ld.global.v4.b32", WORDS, a[start : start + 4])) == suggestion


@pytest.mark.parametrize(
    ("align", "suggestion"), [(4, "A aligned to 16 bytes"), (8, "A aligned to 16 bytes")]
)
def test_least_alignment(align: int, suggestion: str) -> None:
    a = tp.tensor("A", (4,), "uint32", align=align)
    assert first(tp.check("ld.global.v4.b32", WORDS, a)) == suggestion


def test_a_repair_keeps_the_premises() -> None:
    a = tp.tensor("A", (4096,), "uint32")
    report = tp.check("ld.global.v4.b32", WORDS, a[I : I + 4], active=I % 6 == 5)
    # i = 5 fails; 4 and 8 are aligned, but the guard allows only 5, 11, 17, ...: none is a multiple of 4.
    assert report.counterexample is not None
    assert report.counterexample.symbols == {"i": 5}
    assert first(report) == ""


def test_values_near_by() -> None:
    allowed = list(near(Leaf("n", "symbol", 0, 12, 4), 4))
    assert allowed == [8, 0, 12]
