"""Assumptions that are false of threads are errors, not premises from which everything follows."""

from __future__ import annotations

import pytest

import tileproof as tp
from tests.contracts.calls import check, memory, on, registers
from tileproof.errors import AssumptionError
from tileproof.layouts.axes import laneid, tx, warpid
from tileproof.layouts.index import Relation, as_relation, conjunction
from tileproof.proofs.verdict import Verdict

N = tp.symbol("n", 0, 100)
S = tp.symbol("s")
X = tp.symbol("x", 0, 7, uniform="thread")


def loads(assume: Relation | list[Relation], active: Relation | None = None, block: int = 32) -> tp.Report:
    """A copy by each thread of the first warp, which is legal whatever is assumed."""
    return check(
        "ld.global.v4.b32", on(registers((4,)), memory((4,)), assume=assume, active=active, block=block)
    )


@pytest.mark.parametrize(
    ("assume", "active", "block"),
    [
        (laneid < 32, None, 32),
        (laneid < 16, laneid < 16, 32),
        (laneid < 16, None, 16),
        (laneid < 16, laneid < N, 32),  # the caller vouches for n
        (warpid == 0, None, 32),
        (tx < 40, None, 40),
        (laneid < N, None, 32),
        (laneid < N + S, None, 64),
        ([laneid < N, N <= 32], None, 32),
        ([laneid < N, N % 7 == 0], None, 32),
        (laneid * N < 50, None, 32),  # n is 0 or 1
        ((laneid < 16) | (N > 3), None, 32),
        (laneid < X + 20, None, 32),
        ((laneid ^ N) < 32, None, 32),
    ],
    ids=repr,
)
def test_assumptions_that_can_be_true(
    assume: Relation | list[Relation], active: Relation | None, block: int
) -> None:
    assert loads(assume, active, block).verdict is Verdict.PROVED


@pytest.mark.parametrize(
    ("assume", "active", "block", "where"),
    [
        (laneid < 31, None, 32, "warp 0, lane 31"),
        (laneid < 16, laneid < 17, 32, "warp 0, lane 16"),
        (laneid < 15, None, 16, "warp 0, lane 15"),
        (warpid == 0, None, 33, "warp 1, lane 0"),
        (tx < 39, None, 40, "warp 1, lane 7"),
        ([laneid < N, N <= 31], None, 32, "warp 0, lane 31"),
        ([laneid < N, N % 16 == 0, N < 32], None, 32, "warp 0, lane 16"),
        (laneid == N, None, 32, "warp 0, lane 0"),
        (conjunction(((laneid < 16) | (N > 3), as_relation(N < 3))), None, 32, "warp 0, lane 16"),
        ((laneid ^ N) < 31, None, 32, "lane"),
    ],
    ids=repr,
)
def test_assumptions_that_some_thread_makes_false(
    assume: Relation | list[Relation], active: Relation | None, block: int, where: str
) -> None:
    with pytest.raises(AssumptionError, match="which reaches the call") as caught:
        loads(assume, active, block)
    assert where in str(caught.value)
    assert "give it as active=" in str(caught.value)


def test_what_is_not_decided_is_not_proved() -> None:
    hard = tp.symbol("p", 2, 1 << 40) * tp.symbol("q", 2, 1 << 40) == 1000000016000000063 + laneid * 0
    report = tp.check(
        "ld.global.v4.b32", tp.tensor("R", (4,), "b32", "registers"), tp.tensor("A", (4,), "b32", "global", align=16),
        assume=[hard, laneid < tp.symbol("p", 2, 1 << 40)], budget=20_000,
    )  # fmt: skip
    assert report.verdict is Verdict.UNDECIDED
