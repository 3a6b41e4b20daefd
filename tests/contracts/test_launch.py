"""Launches: who is in a block, and by which numbers each thread knows itself."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import tileproof as tp
from tileproof import laneid, tid_in_wg, tx, ty, tz, warpid, wgid, wid_in_wg
from tileproof.contracts.launch import SCOPES, Launch, Thread, shared_by
from tileproof.errors import CallError, LayoutError
from tileproof.layouts.evaluate import evaluate
from tileproof.layouts.index import const, leaf, truth
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.normal import decide
from tileproof.layouts.traverse import leaves


@pytest.mark.parametrize(
    ("block", "shape", "threads", "warps"),
    [
        (1, (1, 1, 1), 1, 1),
        (32, (32, 1, 1), 32, 1),
        (33, (33, 1, 1), 33, 2),
        ((8, 4), (8, 4, 1), 32, 1),
        ((8, 4, 2), (8, 4, 2), 64, 2),
        ([16, 64], (16, 64, 1), 1024, 32),
        (1024, (1024, 1, 1), 1024, 32),
        ((1, 1, 64), (1, 1, 64), 64, 2),
    ],
)
def test_block(block: Any, shape: tuple[int, int, int], threads: int, warps: int) -> None:
    launch = Launch.of(block)
    assert (launch.block, launch.threads, launch.warps) == (shape, threads, warps)
    assert launch.cluster is None
    assert launch.cluster_axes == ()


@pytest.mark.parametrize(
    ("cluster", "axes"),
    [
        (1, [("cta_x", 1)]),
        (16, [("cta_x", 16)]),
        ((2, 4), [("cta_y", 4), ("cta_x", 2)]),
        ((1, 4), [("cta_y", 4), ("cta_x", 1)]),
        ((1, 2), [("cta_y", 2), ("cta_x", 1)]),
        ((2, 1), [("cta_x", 2)]),
        ((2, 2, 2), [("cta_z", 2), ("cta_y", 2), ("cta_x", 2)]),
        ((2, 2, 3), [("cta_z", 3), ("cta_y", 2), ("cta_x", 2)]),
        ((1, 1, 3), [("cta_z", 3), ("cta_y", 1), ("cta_x", 1)]),
    ],
)
def test_cluster_axes(cluster: Any, axes: list[tuple[str, int]]) -> None:
    assert list(Launch.of(32, cluster).cluster_axes) == axes


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"block": 0}, "block must be one to three positive integers, got 0"),
        ({"block": -32}, "block must be one to three positive integers, got -32"),
        ({"block": ()}, r"block must be one to three positive integers, got \(\)"),
        ({"block": (1, 2, 3, 4)}, "block must be one to three positive integers"),
        ({"block": (32, 0)}, "block must be one to three positive integers"),
        ({"block": (32, "1")}, "block must be one to three positive integers"),
        ({"block": 1.5}, "block must be one to three positive integers, got 1.5"),
        ({"block": "32"}, "block must be one to three positive integers, got '32'"),
        ({"block": True}, "block must be one to three positive integers, got True"),
        ({"block": None}, "block must be one to three positive integers, got None"),
        ({"block": 1025}, "block=1025 has 1025 members; at most 1024 are possible"),
        ({"block": (32, 33)}, r"block=\(32, 33\) has 1056 members; at most 1024 are possible"),
        ({"block": (1, 1, 65)}, r"block=\(1, 1, 65\) has 65 threads along z; at most 64 are possible"),
        ({"cluster": 0}, "cluster must be one to three positive integers, got 0"),
        ({"cluster": 17}, "cluster=17 has 17 members; at most 16 are possible"),
        ({"cluster": (4, 5)}, "has 20 members; at most 16 are possible"),
    ],
)
def test_wrong_dimensions(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(CallError, match=message):
        Launch.of(**keywords)


@pytest.mark.parametrize("given", ["n < 3", 3, [tp.symbol("n") + 1], {"n": 3}])
def test_wrong_relations(given: Any) -> None:
    with pytest.raises(LayoutError, match="a relation such as n % 4 == 0 is needed"):
        Launch.of(active=given)
    with pytest.raises(LayoutError, match="a relation such as n % 4 == 0 is needed"):
        Launch.of(assume=given)


def test_guards_and_assumptions() -> None:
    n = tp.symbol("n")
    assert Launch.of().active is truth(True)
    assert Launch.of(active=()).active is truth(True)
    assert Launch.of(active=n < 3).active is (n < 3)
    assert Launch.of(active=[n < 3, n > 0]).active is ((n < 3) & (n > 0))
    assert Launch.of(active=(True, n > 0)).active is (n > 0)
    assert Launch.of(assume=n < 3).assumptions == (n < 3,)
    assert Launch.of(assume=[n < 3, n > 0]).assumptions == (n < 3, n > 0)
    assert Launch.of(assume=()).assumptions == ()


BLOCKS = [(32,), (16, 4), (5, 3, 7), (1, 64), (128, 1, 2), (8, 2, 2), (7,), (256,)]


@pytest.mark.parametrize("block", BLOCKS)
def test_numbers_of_every_thread(block: tuple[int, ...]) -> None:
    """Against the definition: thread ``(x, y, z)`` is number ``x + y*nx + z*nx*ny``."""
    launch = Launch.of(block)
    nx, ny, nz = launch.block
    warp, lane = leaf(Leaf("w", "thread")), leaf(Leaf("l", "thread"))
    someone = Thread(warp, lane)
    axes = (tx, ty, tz, laneid, warpid, wid_in_wg, wgid, tid_in_wg)
    seen = {a.name: launch.value_on(a.name, someone) for a in axes}
    for z, y, x in product(range(nz), range(ny), range(nx)):
        number = x + y * nx + z * nx * ny
        at = {warp.args[0]: number // 32, lane.args[0]: number % 32}
        assert {name: evaluate(value, at) for name, value in seen.items()} == {
            "tx": x,
            "ty": y,
            "tz": z,
            "laneid": number % 32,
            "warpid": number // 32,
            "wid_in_wg": number // 32 % 4,
            "wgid": number // 128,
            "tid_in_wg": number % 128,
        }


@pytest.mark.parametrize("block", BLOCKS)
def test_who_exists(block: tuple[int, ...]) -> None:
    launch = Launch.of(block)
    warp, lane = leaf(Leaf("w", "thread")), leaf(Leaf("l", "thread"))
    exists = launch.exists(Thread(warp, lane))
    for w, l in product(range(-1, launch.warps + 1), range(-1, 34)):
        right = 0 <= w and 0 <= l < 32 and w * 32 + l < launch.threads
        assert evaluate(exists, {warp.args[0]: w, lane.args[0]: l}) == right


def test_defaults() -> None:
    for launch in (Launch(), Launch.of()):
        assert (launch.block, launch.cluster, launch.assumptions) == ((32, 1, 1), None, ())
        assert launch.active is truth(True)
    assert Thread(const(1), const(2)).cta == (const(0),) * 3


@pytest.mark.parametrize(
    ("threads", "warps", "lanes"),
    [(1, 1, 1), (20, 1, 20), (31, 1, 31), (32, 1, 32), (33, 2, 32), (96, 3, 32)],
)
def test_anyone_has_the_numbers_of_a_block(threads: int, warps: int, lanes: int) -> None:
    anyone = Launch.of(threads).thread()
    bounds = [(v.lo, v.hi) for v in leaves(anyone.warp, anyone.lane)]
    assert bounds == [(0, warps - 1), (0, lanes - 1)]


def test_anyone_of_a_full_block_exists() -> None:
    assert decide(Launch.of(64).exists(Launch.of(64).thread())).value is True
    assert decide(Launch.of(63).exists(Launch.of(63).thread())).value is None


def test_threads_are_told_apart() -> None:
    launch = Launch.of(64, cluster=(2, 3))
    first, second = launch.thread(), launch.thread(1)
    assert launch.cta() == launch.cta(0) == first.cta
    variables = leaves(*(first.warp, first.lane, *first.cta)) + leaves(
        *(second.warp, second.lane, *second.cta)
    )
    assert len(set(variables)) == 2 * 5
    assert launch.thread(1).lane is second.lane
    bounds = {v.name: (v.lo, v.hi) for v in variables}
    assert bounds == {"warp": (0, 1), "lane": (0, 31), "cta_x": (0, 1), "cta_y": (0, 2), "cta_z": (0, 0)}
    assert Launch.of(64).thread().cta == (const(0),) * 3


def test_seen_by() -> None:
    launch = Launch.of(64, cluster=(2, 3))
    n = tp.symbol("n", uniform="thread")
    someone = Thread(const(1), const(5), (const(1), const(2), const(0)))
    assert launch.seen_by(someone, tx + n).args == (const(37), n)
    assert launch.seen_by(someone, laneid * 100 + warpid).value == 501
    assert launch.seen_by(someone, tp.cbx + tp.cby * 10 + tp.cbz * 100).value == 21
    assert launch.seen_by(someone, laneid < 5).value is False
    assert launch.seen_by(someone, n + 3) is n + 3
    assert launch.seen_by(someone, tx.as_index()) is not launch.seen_by(
        Thread(const(0), const(5)), tx.as_index()
    )


def test_a_symbol_named_like_a_number_stays_itself() -> None:
    launch = Launch.of(64)
    someone, other = Thread(const(1), const(5)), launch.thread(1)
    for expression in (
        tp.symbol("lane", 0, 3) + tp.symbol("warp", 0, 3),
        tp.symbol("tx", 0, 3) * 2,
        other.lane + other.warp,
    ):
        assert launch.seen_by(someone, expression) is expression
    assert launch.seen_by(someone, other.lane + tx) is other.lane + 37


@pytest.mark.parametrize(
    ("uniform", "units"),
    [
        ("thread", {"thread"}),
        ("warp", {"thread", "warp"}),
        ("cta", {"thread", "warp", "warpgroup", "cta"}),
        ("cluster", {"thread", "warp", "warpgroup", "cta", "cluster"}),
        ("grid", {"thread", "warp", "warpgroup", "cta", "cluster"}),
    ],
)
def test_shared_by(uniform: str, units: set[str]) -> None:
    assert {unit for unit in SCOPES if shared_by(uniform, unit)} == units
