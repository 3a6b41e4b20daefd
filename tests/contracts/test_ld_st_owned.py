"""``ld`` and ``st``: whose registers a group coordinate names, by whichever thread axes a layout does."""

from __future__ import annotations

from typing import Any

import pytest

import tileproof as tp
from tests.contracts.calls import (
    PROVED,
    Neighbours,
    assert_neighbours,
    check,
    failing,
    memory,
    on,
    registers,
    swapped,
)  # fmt: skip
from tileproof import R, S, TileLayout, laneid, tid_in_wg, tx, ty, warpid, wgid, wid_in_wg

FOUR = registers((4,))
BY_CTA = [
    ("warpid and laneid", TileLayout(S[(8, 32, 4):(1 @ warpid, 1 @ laneid, 1)])),
    ("tx", TileLayout(S[(8, 32, 4):(32 @ tx, 1 @ tx, 1)])),
    ("wgid and wid_in_wg", TileLayout(S[(2, 4, 32, 4):(1 @ wgid, 1 @ wid_in_wg, 1 @ laneid, 1)])),
    ("wgid and tid_in_wg", TileLayout(S[(2, 4, 32, 4):(1 @ wgid, 32 @ tid_in_wg, 1 @ tid_in_wg, 1)])),
    ("split lanes", TileLayout(S[(8, 4, 8, 4):(1 @ warpid, 8 @ laneid, 1 @ laneid, 1)])),
]  # fmt: skip


@pytest.mark.parametrize(("name", "layout"), BY_CTA, ids=[n for n, _ in BY_CTA])
def test_owned_by_cta_however_threads_are_named(name: str, layout: TileLayout) -> None:
    regs = tp.tensor("R", (8, 32, 4), "b32", "registers", layout=layout)
    assert tp.check("ld.global.v4.b32", regs, memory((8, 32, 4)), scope="cta", block=256).verdict is PROVED


@pytest.mark.parametrize("name", ["wid_in_wg", "warpid", "tid_in_wg", "tx"])
def test_owned_by_a_warpgroup_of_one(name: str) -> None:
    strides = {
        "wid_in_wg": (1 @ wid_in_wg, 1 @ laneid, 1),
        "warpid": (1 @ warpid, 1 @ laneid, 1),
        "tid_in_wg": (32 @ tid_in_wg, 1 @ tid_in_wg, 1),
        "tx": (32 @ tx, 1 @ tx, 1),
    }
    setup = on(registers((4, 32, 4), strides[name]), memory((4, 32, 4)), scope="warpgroup", block=128)
    assert check("ld.global.v4.b32", setup).verdict is PROVED


@pytest.mark.parametrize("axis", [laneid, tid_in_wg, tx], ids=repr)
def test_owned_by_a_warp_of_one(axis: Any) -> None:
    assert (
        check(
            "ld.global.v4.b32", on(registers((32, 4), (1 @ axis, 1)), memory((32, 4)), scope="warp")
        ).verdict
        is PROVED
    )


def test_owned_by_numbers_in_a_block_of_two_dimensions() -> None:
    layout = TileLayout(S[(8, 2, 16, 4) : (2 @ ty, 1 @ ty, 1 @ tx, 1)])
    regs = tp.tensor("R", (8, 32, 4), "b32", "registers", layout=layout)
    setup = on(regs, memory((8, 32, 4)), scope="cta")
    assert check("ld.global.v4.b32", setup, block=(16, 16)).verdict is PROVED
    assert failing(check("ld.global.v4.b32", setup, block=256)) == {"owned"}


def cta(strides: Any, extra: Any = None, warps: int = 8, **keywords: Any) -> Any:
    return on(
        registers((warps, 32, 4), strides, extra),
        memory((warps, 32, 4)),
        scope="cta",
        block=32 * warps,
        **keywords,
    )


def warp(strides: Any, extra: Any = None, **keywords: Any) -> Any:
    return on(registers((32, 4), strides, extra), memory((32, 4)), scope="warp", **keywords)


def group(strides: Any, extra: Any = None, block: int = 256, **keywords: Any) -> Any:
    return on(
        registers((4, 32, 4), strides, extra), memory((4, 32, 4)), scope="warpgroup", block=block, **keywords
    )


LANES = (1 @ laneid, 1)
OWNED = [
    Neighbours("owned", "lane shifted",
        warp(LANES), warp(LANES, 1 @ laneid),
        {"lane": 0, "needed": "laneid 0", "found": "laneid 1", "storage": "R", "slot": 0, "byte_address": None}),
    Neighbours("owned", "lane reversed",
        warp(LANES), warp((-1 @ laneid, 1), 31 @ laneid), {"lane": 0, "found": "laneid 31"}),
    Neighbours("owned", "lane missing",
        warp(LANES), warp((4, 1)), {"lane": 1, "needed": "laneid 1", "found": "laneid 0", "slot": 4}),
    Neighbours("owned", "lane stride", warp(LANES), warp((2 @ laneid, 1)), {"lane": 1, "found": "laneid 2"}),
    Neighbours("owned", "a warp too many named",
        warp((1 @ tx, 1)), warp((1 @ tx, 1), block=64), {"warp": 1, "found": "tx 0", "needed": "tx 32"}),
    Neighbours("owned", "number in the warpgroup of another warp",
        warp((1 @ tid_in_wg, 1), block=32), warp((1 @ tid_in_wg, 1), block=64),
        {"warp": 1, "needed": "tid_in_wg 32", "found": "tid_in_wg 0"}),
    Neighbours("owned", "replica with another lane",
        warp(LANES), warp(LANES, R[(2,):(1 @ laneid,)]), {"found": "laneid 1", "lane": 0}),
    Neighbours("owned", "thread axes at thread scope",
        on(FOUR, memory((4,))), on(registers((4,), (1,), 0 @ laneid), memory((4,))), {}),
    Neighbours("owned", "warp and lane swapped",
        cta((1 @ warpid, 1 @ laneid, 1)), cta((1 @ laneid, 1 @ warpid, 1)), {"lane": 1, "warp": 0}),
    Neighbours("owned", "warp shifted",
        cta((1 @ warpid, 1 @ laneid, 1)), cta((1 @ warpid, 1 @ laneid, 1), 1 @ warpid), {"found": "warpid 1"}),
    Neighbours("owned", "warp missing",
        cta((1 @ warpid, 1 @ laneid, 1)), cta((4, 1 @ laneid, 1)), {"needed": "warpid 1", "found": "warpid 0"}),
    Neighbours("owned", "warpgroup missing",
        cta((1 @ wid_in_wg, 1 @ laneid, 1), warps=4), cta((1 @ wid_in_wg, 1 @ laneid, 1), warps=5),
        {"warp": 4, "lane": 0}),
    Neighbours("owned", "warpgroup missing beside the number in it",
        cta((32 @ tid_in_wg, 1 @ tid_in_wg, 1), warps=4), cta((32 @ tid_in_wg, 1 @ tid_in_wg, 1), warps=5),
        {"warp": 4}),
    Neighbours("owned", "warp of the warpgroup missing",
        cta((1 @ wgid, 1 @ laneid, 1), warps=1), cta((1 @ wgid, 1 @ laneid, 1), warps=2), {"warp": 1}),
    Neighbours("owned", "rows of a block of two dimensions",
        on(registers((4, 32, 4), (1 @ ty, 1 @ tx, 1)), memory((4, 32, 4)), scope="cta", block=(32, 4)),
        on(registers((4, 32, 4), (4, 1 @ tx, 1)), memory((4, 32, 4)), scope="cta", block=(32, 4)),
        {"needed": "ty 1", "found": "ty 0", "warp": 1, "lane": 0}),
    Neighbours("owned", "planes of a block of three dimensions",
        on(registers((4, 32, 4), (1 @ tp.tz, 1 @ tx, 1)), memory((4, 32, 4)), scope="cta", block=(32, 1, 4)),
        on(registers((4, 32, 4), (4, 1 @ tx, 1)), memory((4, 32, 4)), scope="cta", block=(32, 1, 4)),
        {"needed": "tz 1", "found": "tz 0", "warp": 1, "lane": 0}),
    Neighbours("owned", "warp of the CTA for warp of the warpgroup",
        group((1 @ warpid, 1 @ laneid, 1), block=128), group((1 @ warpid, 1 @ laneid, 1), block=256),
        {"warp": 4, "needed": "warpid 4", "found": "warpid 0"}),
    Neighbours("owned", "warp of the warpgroup missing",
        group((1 @ wid_in_wg, 1 @ laneid, 1)), group((4, 1 @ laneid, 1)),
        {"warp": 1, "needed": "wid_in_wg 1", "found": "wid_in_wg 0"}),
    Neighbours("owned", "number in the warpgroup",
        group((32 @ tid_in_wg, 1 @ tid_in_wg, 1)), group((16 @ tid_in_wg, 1 @ tid_in_wg, 1)),
        {"warp": 1, "needed": "tid_in_wg 32", "found": "tid_in_wg 16"}),
    Neighbours("owned", "warpgroup named",
        group((1 @ wid_in_wg, 1 @ laneid, 1)), group((1 @ wid_in_wg, 1 @ laneid, 1), 1 @ wgid),
        {"warp": 0, "found": "wgid 1"}),
    Neighbours("owned", "CTA of the cluster missing",
        on(
            registers((2, 1, 32, 4), (1 @ tp.cbx, 1, 1 @ laneid, 1)), memory((2, 1, 32, 4)), scope="cluster",
            cluster=2,
        ),
        on(registers((2, 1, 32, 4), (4, 1, 1 @ laneid, 1)), memory((2, 1, 32, 4)), scope="cluster", cluster=2),
        {"needed": "cbx 1", "found": "cbx 0", "warp": 0}),
    Neighbours("owned", "CTA of the cluster named at CTA scope",
        cta((1 @ warpid, 1 @ laneid, 1), warps=1, cluster=2),
        cta((1 @ warpid, 1 @ laneid, 1), 1 @ tp.cbx, warps=1, cluster=2), {"found": "cbx 1"}),
]  # fmt: skip


@pytest.mark.parametrize("case", OWNED, ids=str)
def test_owned(case: Neighbours) -> None:
    assert_neighbours(case)
    assert failing(check("st.global.v4.b32", swapped(case.wrong), hazards="ignore")) == {case.demand}
