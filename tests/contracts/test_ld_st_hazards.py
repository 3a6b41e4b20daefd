"""``ld`` and ``st``: what no single access forbids but destroys data all the same."""

from __future__ import annotations

from typing import Any

import pytest

import tileproof as tp
from tests.contracts.calls import PROVED, Neighbours, assert_hazard, memory, on, one, registers, words_from
from tileproof import R, cbx, cby, cbz, laneid, tx, warpid, wgid, wid_in_wg
from tileproof.layouts.view import View, ViewOperations

FOUR = registers((4,))
WARP = registers((32, 4), (1 @ laneid, 1))


def symbol(name: str, lo: int | None = None, hi: int | None = None, **more: Any) -> Any:
    return tp.symbol(name, lo, hi, **more)


def along(axis: Any, value: Any) -> Any:
    """A store of each CTA of a cluster of two, along an axis, to the place that its number and ``value`` give."""
    where = ("x", "y", "z").index(axis.name[2])
    ranks = (cbx, cby, cbz)[where::-1]
    extents = (2, *[1] * where, 1, 1, 1)
    word = words_from(8 * axis + value, 1).view(*[1] * len(extents)).broadcast(*extents)
    regs = registers(extents, (*(1 @ rank for rank in ranks), 0, 0, 1))
    return on(word, regs, scope="cluster", cluster=(1,) * where + (2,), block=1)


X = symbol("x", 0, 40, uniform="thread")
W = symbol("w", 0, 40, uniform="warp")
C8 = symbol("c", 0, 8, uniform="cta")
U8 = symbol("c", 0, 8, uniform="cluster")
CTA = symbol("c", 0, 40, uniform="cta")
V = symbol("v", 0, 40, uniform="thread")
CLUSTER = registers((2, 1, 32, 4), (1 @ cbx, 0, 1 @ laneid, 1))
LANES = registers((32, 2, 1), (1 @ laneid, 1, 1))


def rows_from(start: Any) -> View:
    """A row for each lane, and the same ones in the shared memory of two CTAs."""
    rows = memory((80, 4), space="shared")[start : start + 32, :]
    return rows.view(1, 1, 32, 4).broadcast(2, 1, 32, 4)


HAZARDS = [
    Neighbours("write-conflict", "lanes",
        on(memory((32, 4), (4, 1)), WARP, scope="warp"),
        on(memory((1, 4)).broadcast(32, 4), WARP, scope="warp"),
        {"lane": 0, "found": "A byte offset 0 twice", "byte_address": 0}, "st.global.v4.b32"),
    Neighbours("write-conflict", "last lane of a thread's own place",
        on(words_from(tx % 32, 1), one()), on(words_from(tx % 31, 1), one()),
        {"lane": 0, "values": {"A": 0, "warp": 0, "lane": 0, "lane'": 31, "word": 0}}, "st.global.b32"),
    Neighbours("write-conflict", "repeats",
        on(memory((2, 4), (4, 1)), registers((2, 4)), active=tx == 0),
        on(memory((1, 4)).broadcast(2, 4), registers((2, 4)), active=tx == 0), {"repeat": (0,)},
        "st.global.v4.b32"),
    Neighbours("write-conflict", "several threads at thread scope",
        on(memory((4,)), FOUR, active=tx < 1), on(memory((4,)), FOUR, active=tx < 2), {"lane": 0, "warp": 0},
        "st.global.v4.b32"),
    Neighbours("write-conflict", "a predicate elects",
        on(memory((4,)), FOUR, pred=tx == 3), on(memory((4,)), FOUR, pred=tx // 2 == 3), {"lane": 6},
        "st.global.v4.b32"),
    Neighbours("write-conflict", "a block of one thread",
        on(memory((4,)), FOUR, block=1), on(memory((4,)), FOUR, block=2), {"lane": 0}, "st.global.v4.b32"),
    Neighbours("write-conflict", "warps at warp scope",
        on(memory((64, 4))[32 * warpid:32 * warpid + 32, :], WARP, scope="warp", block=64),
        on(memory((64, 4))[31 * warpid:31 * warpid + 32, :], WARP, scope="warp", block=64),
        {"warp": 0, "lane": 31, "byte_address": 496}, "st.global.v4.b32"),
    Neighbours("write-conflict", "warpgroups at warpgroup scope",
        on(
            memory((2, 4, 32, 4))[wgid, :, :, :], registers((4, 32, 4), (1 @ wid_in_wg, 1 @ laneid, 1)),
            scope="warpgroup", block=256,
        ),
        on(
            memory((4, 32, 4)), registers((4, 32, 4), (1 @ wid_in_wg, 1 @ laneid, 1)), scope="warpgroup", block=256,
        ),
        {"lane": 0, "byte_address": 0}, "st.global.v4.b32"),
    Neighbours("write-conflict", "a value of each thread",
        on(words_from(X, 1), one(), active=tx == 5), on(words_from(X, 1), one(), active=tx >= 30),
        {"lane": 30, "symbols": {"x": 0, "x'": 0}}, "st.global.b32"),
    Neighbours("write-conflict", "repeats from a value of each thread",
        on(memory((64,))[X:X + 2].view(2, 1), registers((2, 1)), active=tx == 5),
        on(memory((64,))[X:X + 2].view(2, 1), registers((2, 1)), active=tx // 2 == 3),
        {"lane": 6, "repeat": (0,)}, "st.global.b32"),
    Neighbours("write-conflict", "repeats of one thread",
        on(memory((64,))[X:X + 2].view(2, 1), registers((2, 1)), active=tx == 5),
        on(memory((64,))[X:X + 1].broadcast(2, 1), registers((2, 1)), active=tx == 5),
        {"lane": 5, "repeat": (0,), "symbols": {"x": 0, "x'": 0}}, "st.global.b32"),
    *(
        Neighbours("write-conflict", f"a value of each CTA along {axis}", along(axis, U8), along(axis, C8),
                   {"symbols": {"c": 8, "c'": 0}}, "st.global.b32")
        for axis in (cbx, cby, cbz)
    ),
    Neighbours("write-conflict", "a value of each warp",
        on(memory((80, 4))[W:W + 32, :], WARP, scope="warp", block=32),
        on(memory((80, 4))[W:W + 32, :], WARP, scope="warp", block=64),
        {"warp": 0, "lane": 0, "symbols": {"w": 0, "w'": 0}}, "st.global.v4.b32"),
    Neighbours("write-conflict", "local memory is each thread's own",
        on(memory((2, 4), space="local"), registers((2, 4)), block=64),
        on(memory((2, 4), (0, 1), space="local"), registers((2, 4)), block=64),
        {"repeat": (0,), "lane": 0, "storage": "A"}, "st.local.v4.b32"),
    Neighbours("write-conflict", "local memory of many lanes",
        on(memory((1, 2, 1), space="local").broadcast(32, 2, 1), LANES, scope="warp", block=64),
        on(memory((1, 1, 1), space="local").broadcast(32, 2, 1), LANES, scope="warp", block=64),
        {"repeat": (0,), "lane": 0}, "st.local.b32"),
    Neighbours("write-conflict", "shared memory is each CTA's own",
        on(memory((1, 1, 32, 4), space="shared").broadcast(2, 1, 32, 4), CLUSTER, scope="cluster", cluster=2),
        on(memory((1, 1, 1, 4), space="shared").broadcast(2, 1, 32, 4), CLUSTER, scope="cluster", cluster=2),
        {"lane": 0}, "st.shared.v4.b32"),
    Neighbours("write-conflict", "shared memory at a place of each CTA",
        on(rows_from(CTA), CLUSTER, scope="cluster", cluster=2),
        on(rows_from(V), CLUSTER, scope="cluster", cluster=2),
        {"lane": 0}, "st.shared.v4.b32"),
    Neighbours("write-conflict", "global memory is for all CTAs",
        on(memory((2, 1, 32, 4)), CLUSTER, scope="cluster", cluster=2),
        on(memory((1, 1, 32, 4)).broadcast(2, 1, 32, 4), CLUSTER, scope="cluster", cluster=2),
        {"lane": 0, "byte_address": 0}, "st.global.v4.b32"),
    Neighbours("replica", "of loaded registers",
        on(registers((4,), (1,), R[(1,):(4,)]), memory((4,))), on(registers((4,), (1,), R[(2,):(4,)]), memory((4,))),
        {"found": "R has 2 replicas 4 elements apart; only the first is written"}),
    Neighbours("replica", "next to the first",
        on(registers((4,), (2,), R[(2,):(0,)]), memory((4,))), on(registers((4,), (2,), R[(2,):(1,)]), memory((4,))),
        {"found": "R has 2 replicas 1 elements apart; only the first is written"}),
    Neighbours("replica", "of stored memory",
        on(memory((4,), (1,), R[(1,):(4,)]), FOUR, block=1), on(memory((4,), (1,), R[(2,):(4,)]), FOUR, block=1),
        {"found": "A has 2 replicas 4 elements apart; only the first is written"}, "st.global.v4.b32"),
]  # fmt: skip


@pytest.mark.parametrize("case", HAZARDS, ids=str)
def test_hazard(case: Neighbours) -> None:
    assert_hazard(case)


@pytest.mark.parametrize(
    ("opcode", "operands"),
    [
        ("ld.global.v4.b32", (FOUR, memory((4,), (1,), R[(2,) : (4,)]))),
        ("st.global.v4.b32", (memory((4,)), registers((4,), (1,), R[(2,) : (4,)]))),
    ],
)
def test_a_source_may_have_replicas(opcode: str, operands: tuple[ViewOperations, ...]) -> None:
    assert tp.check(opcode, *operands, block=1, hazards="error").verdict is PROVED


def test_loads_do_not_conflict() -> None:
    assert tp.check("ld.global.v4.b32", FOUR, memory((4,)), block=64, hazards="error").verdict is PROVED
