"""Which threads reach a call: convergence and coverage, told by hand and compared with counting threads."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tileproof as tp
from tests.contracts.calls import (
    PROVED,
    Neighbours,
    assert_neighbours,
    assert_told,
    check,
    failing,
    first_failure,
    memory,
    on,
    registers,
)
from tileproof import cbx, cby, cbz, laneid, tid_in_wg, tx, ty, warpid, wgid, wid_in_wg
from tileproof.errors import CallError
from tileproof.layouts.evaluate import evaluate
from tileproof.layouts.index import Relation
from tileproof.layouts.traverse import leaves

LDMATRIX = "ldmatrix.sync.aligned.m8n8.x1.shared.b16"
OWNERS = (4 @ laneid, 1 @ laneid)
X = tp.symbol("x", 0, 9, uniform="thread")
W = tp.symbol("w", 0, 9, uniform="warp")
C = tp.symbol("c", 0, 9, uniform="cta")
U = tp.symbol("u", 0, 9, uniform="cluster")
G = tp.symbol("g", 0, 9)


def lanes(extent: int = 32, step: int = 1, first: int = 0, **keywords: Any) -> Any:
    """A load at warp scope by ``extent`` lanes, ``step`` apart."""
    regs = registers((extent, 4), (step @ laneid, 1), first @ laneid)
    return on(regs, memory((extent, 4)), scope="warp", **keywords)


def warps(
    extent: int, step: int = 1, first: int = 0, scope: str = "cta", lane: Any = None, **keywords: Any
) -> Any:
    """A load by the lanes of ``extent`` warps, ``step`` apart."""
    axis = wid_in_wg if scope == "warpgroup" else warpid
    regs = registers((extent, 32, 4), (step @ axis, lane or 1 @ laneid, 1), first @ axis)
    return on(regs, memory((extent, 32, 4)), scope=scope, **keywords)


def clusters(extents: tuple[int, ...], axes: tuple[Any, ...], lane: int = 32, **keywords: Any) -> Any:
    shape = (*extents, 1, lane, 4)
    strides = (*(1 @ a for a in axes), 0, 1 @ laneid, 1)
    return on(registers(shape, strides), memory(shape), scope="cluster", **keywords)


def one_matrix(**keywords: Any) -> Any:
    return on(registers((1, 8, 4), (1, *OWNERS)), memory((1, 8, 4), space="shared"), scope="warp", **keywords)


def matrices(extent: int, step: int = 1, first: int = 0, scope: str = "cta", **keywords: Any) -> Any:
    axis = wid_in_wg if scope == "warpgroup" else warpid
    regs = registers((extent, 1, 8, 4), (step @ axis, 1, *OWNERS), first @ axis)
    return on(regs, memory((extent, 1, 8, 4), space="shared"), scope=scope, **keywords)


CONVERGED = [
    # Warp scope, one element for each lane.
    ("every second lane", lanes(16, 2, active=laneid % 2 == 0), lanes(32, active=laneid % 2 == 0), {"warp": 0, "lane": 1}),
    ("odd lanes", lanes(16, 2, 1, active=laneid % 2 == 1), lanes(16, 2, 1, active=laneid % 4 == 1), {"lane": 3}),
    ("first lanes", lanes(12, active=tx < 12), lanes(12, active=tx < 11), {"lane": 11}),
    ("last lanes", lanes(16, 1, 16, active=laneid >= 16), lanes(16, 1, 16, active=laneid > 16), {"lane": 16}),
    ("lanes past the last", lanes(32, active=warpid < 1, block=64), lanes(40, active=warpid < 1, block=64), {"lane": 32}),
    ("40 of 64", lanes(active=tx < 64, block=64), lanes(active=tx < 40, block=64), {"warp": 1, "lane": 8}),
    ("block of 16", lanes(16, block=16), lanes(32, block=16), {"warp": 0, "lane": 16}),
    ("value of a warp", lanes(active=W < 3), lanes(active=X < 3), {"lane": 1, "symbols": {"x": 3, "x'": 0}}),
    ("loop to the lane", lanes(active=G < warpid, block=96), lanes(active=G < laneid), {"lane": 0, "symbols": {"g": 0}}),
    ("value of a single thread", lanes(1, block=1, active=X < 3), lanes(2, block=2, active=X < 3), {"lane": 1}),
    ("assumed value", lanes(active=X < 3, assume=X == 2), lanes(active=X < 3, assume=X <= 3), {"symbols": {"x": 3, "x'": 0}}),
    ("assumed of lanes that are there", lanes(16, active=laneid < 16, assume=laneid < 16), lanes(active=laneid < 16, assume=laneid < 16), {"lane": 16}),
    ("assumed of threads that are there", lanes(active=tx < 32 * G, assume=tx < 96, block=96), lanes(active=tx < G, assume=tx < G, block=96), {"lane": 1, "symbols": {"g": 1}}),
    ("row of a block", lanes(16, active=ty % 2 == 0, block=(16, 4)), lanes(17, active=ty % 2 == 0, block=(16, 4)), {"lane": 16}),
    # Wider scopes, one element for each lane of each warp.
    ("64 of 128", warps(2, active=tx < 64, block=128), warps(3, active=tx < 64, block=128), {"warp": 2, "lane": 0}),
    ("63 of 128", warps(2, active=tx < 64, block=128), warps(2, active=tx < 63, block=128), {"warp": 1, "lane": 31}),
    ("partial last warp", warps(2, block=64), warps(2, block=63), {"warp": 1, "lane": 31}),
    ("a warp too many", warps(2, block=64), warps(3, block=64), {"warp": 2, "lane": 0}),
    ("40 lanes of one warp", warps(1, active=warpid == 0, block=64), on(
        registers((1, 40, 4), (1 @ warpid, 1 @ laneid, 1)), memory((1, 40, 4)), scope="cta", active=warpid == 0, block=64,
    ), {"warp": 0, "lane": 32}),
    ("second half by tx", on(
        registers((1, 32, 4), (1, 1 @ tx, 1), 32 @ tx), memory((1, 32, 4)), scope="cta", active=tx >= 32, block=64,
    ), on(
        registers((1, 32, 4), (1, 1 @ tx, 1), 32 @ tx), memory((1, 32, 4)), scope="cta", active=tx > 32, block=64,
    ), {"warp": 1, "lane": 0}),
    ("value of a CTA", warps(2, active=C < 3, block=64), warps(2, active=W < 3, block=64), {"symbols": {"w": 3, "w'": 0}}),
    ("warpgroup", warps(4, scope="warpgroup", block=128), warps(5, scope="warpgroup", block=128), {"warp": 4}),
    ("8 warps for a warpgroup", warps(4, scope="warpgroup", block=256), on(
        registers((2, 4, 32, 4), (4 @ wid_in_wg, 1 @ wid_in_wg, 1 @ laneid, 1)).view(8, 32, 4), memory((8, 32, 4)),
        scope="warpgroup", block=128,
    ), {"warp": 4, "lane": 0}),
    ("warps of a warpgroup", warps(2, 1, 2, scope="warpgroup", block=256, active=wid_in_wg >= 2),
     warps(2, 1, 2, scope="warpgroup", block=256, active=(wid_in_wg >= 2) & (warpid != 7)), {"warp": 7}),
    ("numbers in a warpgroup", on(
        registers((1, 32, 4), (1, 1 @ tid_in_wg, 1), 96 @ tid_in_wg), memory((1, 32, 4)), scope="warpgroup", block=256,
        active=tid_in_wg >= 96,
    ), on(
        registers((1, 32, 4), (1, 1 @ tid_in_wg, 1), 96 @ tid_in_wg), memory((1, 32, 4)), scope="warpgroup", block=256,
        active=(tid_in_wg >= 96) & (tx != 254),
    ), {"warp": 7, "lane": 30}),
    ("second warpgroup", on(
        registers((4, 32, 4), (1 @ wid_in_wg, 1 @ laneid, 1), 1 @ wgid), memory((4, 32, 4)), scope="cta", block=256,
        active=wgid == 1,
    ), on(
        registers((4, 32, 4), (1 @ wid_in_wg, 1 @ laneid, 1), 1 @ wgid), memory((4, 32, 4)), scope="cta", block=256,
        active=(wgid == 1) & (tx != 200),
    ), {"warp": 6, "lane": 8}),
    ("three warps are no warpgroup", warps(4, scope="warpgroup", block=128), warps(3, scope="warpgroup", block=96),
     {"warp": 3, "lane": 31, "needed": "a block that has warp 3, lane 31"}),
    ("the last warpgroup is partial", warps(4, scope="warpgroup", block=160, active=wgid == 0),
     warps(4, scope="warpgroup", block=160), {"warp": 5, "lane": 0}),
    ("cluster", clusters((2,), (cbx,), cluster=2), clusters((2,), (cbx,), cluster=2, active=cbx == 0), {"warp": 0, "lane": 0}),
    ("value of a cluster", clusters((2,), (cbx,), cluster=2, active=U < 3),
     clusters((2,), (cbx,), cluster=2, active=C < 3), {"symbols": {"c": 3, "c'": 0}}),
    ("value of a warp in two CTAs", clusters((2,), (cbx,), cluster=2, active=U < 3),
     clusters((2,), (cbx,), cluster=2, active=W < 3), {"symbols": {"w": 3, "w'": 0}}),
    ("value of a thread in two CTAs", clusters((2,), (cbx,), 1, cluster=2, block=1, active=U < 3),
     clusters((2,), (cbx,), 1, cluster=2, block=1, active=X < 3), {"symbols": {"x": 3, "x'": 0}}),
    ("a CTA of a cluster", warps(1, cluster=2, active=cbx == 0), warps(1, cluster=2, active=(cbx == 0) & (tx < 31)), {"lane": 31}),
    ("every fourth lane", lanes(8, 4, 1, active=laneid % 4 == 1), lanes(8, 4, 1, active=(laneid % 4 == 1) & (laneid < 29)), {"lane": 29}),
    ("first warp of the second warpgroup", warps(4, scope="warpgroup", block=256, active=wgid == 1),
     warps(4, scope="warpgroup", block=256, active=warpid == 4), {"warp": 5}),
    ("two warps are no warpgroup", warps(4, scope="warpgroup", block=128), warps(2, scope="warpgroup", block=64), {"warp": 3, "lane": 31}),
    ("nor are the last three", warps(3, scope="warpgroup", block=256, active=wid_in_wg < 3),
     warps(3, scope="warpgroup", block=224, active=wgid == 1), {"warp": 7, "lane": 31}),
    ("threads that the block lacks", lanes(32, block=40, active=(warpid == 0) | (laneid >= 8)),
     lanes(32, block=40, active=(warpid == 0) | (laneid >= 7)), {"warp": 1, "lane": 0}),
    ("warps that the block lacks", warps(1, block=40, active=(warpid == 0) | (laneid >= 8)),
     warps(1, block=40, active=(warpid == 0) & (laneid < 31)), {"warp": 0, "lane": 31}),
    ("first warp", lanes(32, block=48, active=warpid == 0), lanes(32, block=48), {"warp": 1, "lane": 16}),
    ("assumed lanes do not reach for others", lanes(32, block=32, assume=laneid < 8 * G), lanes(32, block=16, assume=laneid < 8 * G),
     {"lane": 16}),
    ("whatever a predicate says", warps(4, scope="warpgroup", block=128, pred=laneid < 0),
     warps(3, scope="warpgroup", block=96, pred=laneid < 0), {"warp": 3, "lane": 31}),
]  # fmt: skip
COLLECTIVE = [
    ("every second lane", one_matrix(active=warpid % 2 == 0, block=96), one_matrix(active=laneid % 2 == 0), {"lane": 1}),
    ("40 of 64", one_matrix(active=tx < 32, block=64), one_matrix(active=tx < 40, block=64), {"warp": 1, "lane": 8}),
    ("31 of 32", one_matrix(active=tx < 32, block=64), one_matrix(active=tx < 31, block=64), {"warp": 0, "lane": 31}),
    ("block of 16", one_matrix(), one_matrix(block=16), {"warp": 0, "lane": 16}),
    ("partial last warp", one_matrix(block=64), one_matrix(block=48), {"warp": 1, "lane": 16}),
    ("value of a warp", one_matrix(active=W == 1), one_matrix(active=X == 1), {"lane": 0, "symbols": {"x": 0, "x'": 1}}),
    ("warps below a number", one_matrix(active=warpid < G, block=96), one_matrix(active=laneid < G), {"symbols": {"g": 1}, "lane": 1}),
    ("loop to the lane", one_matrix(active=G < warpid, block=96), one_matrix(active=G < laneid), {"symbols": {"g": 0}, "lane": 0}),
    ("warps of a CTA", matrices(2, block=64), matrices(2, block=63), {"warp": 1, "lane": 31}),
    ("a warp too many", matrices(2, block=64), matrices(3, block=64), {"warp": 2}),
    ("even warps", matrices(2, 2, block=128, active=warpid % 2 == 0),
     matrices(2, 2, block=128, active=(warpid % 2 == 0) & (tx != 70)), {"warp": 2, "lane": 6}),
    ("warpgroup", matrices(4, scope="warpgroup", block=128), matrices(5, scope="warpgroup", block=128), {"warp": 4}),
    ("three warps are no warpgroup", matrices(4, scope="warpgroup", block=128), matrices(3, scope="warpgroup", block=96), {"warp": 3}),
    ("value of a warp at warpgroup scope", matrices(4, scope="warpgroup", block=128, active=C > 1),
     matrices(4, scope="warpgroup", block=128, active=W > 1), {"warp": 1, "symbols": {"w": 0, "w'": 2}}),
]  # fmt: skip
COVERED = [
    ("lane left out", lanes(16, 2, active=laneid % 2 == 0), lanes(15, 2, active=laneid % 2 == 0), {"warp": 0, "lane": 30}),
    ("first lane left out", lanes(16, 1, 16, active=laneid >= 16), lanes(15, 1, 17, active=laneid >= 16), {"lane": 16}),
    ("without a guard", lanes(32), lanes(31), {"lane": 31, "needed": "a group (lane) of extents (31,) that has the thread"}),
    ("between lanes", lanes(16, 2, active=laneid % 2 == 0), lanes(16, 2, active=laneid >= 0 * tx), {"lane": 1}),
    ("assumed number of lanes", lanes(16, active=laneid < 4 * G, assume=G == 4), lanes(16, active=laneid < 4 * G, assume=G == 5), {"lane": 16}),
    ("warp left out", warps(2, active=tx < 64, block=128), warps(1, active=tx < 64, block=128), {"warp": 1, "lane": 0}),
    ("partial warp left out", warps(2, block=64), warps(2, block=65), {"warp": 2, "lane": 0}),
    ("warp of a warpgroup left out", warps(4, scope="warpgroup", block=256), warps(3, scope="warpgroup", block=256), {"warp": 3}),
    ("even warp left out", matrices(2, 2, block=128, active=warpid % 2 == 0), matrices(1, 2, block=128, active=warpid % 2 == 0), {"warp": 2}),
    ("warp of collectives left out", matrices(2, block=64), matrices(1, block=64), {"warp": 1}),
]  # fmt: skip


def neighbours(demand: str, rows: list[Any], opcode: str | None = None) -> list[Neighbours]:
    def named(setup: Any) -> str:
        return opcode or (
            LDMATRIX if setup.operands[1].as_view().tensor.space == "shared" else "ld.global.v4.b32"
        )

    return [Neighbours(demand, name, legal, wrong, told, named(legal)) for name, legal, wrong, told in rows]


@pytest.mark.parametrize(
    "case",
    [
        *neighbours("converged", CONVERGED),
        *neighbours("converged", COLLECTIVE),
        *neighbours("covered", COVERED),
    ],
    ids=str,
)
def test_threads(case: Neighbours) -> None:
    assert_neighbours(case)


@pytest.mark.parametrize(
    ("setup", "fails"),
    [
        (warps(2, active=warpid % 2 == 0, block=128), {"converged", "covered"}),
        (lanes(16, active=laneid % 2 == 0), {"converged", "covered"}),
        (warps(2, 2, active=warpid % 2 == 0, block=128), set()),
        (warps(1, active=warpid < 2, block=128), {"covered"}),
        (lanes(32, 1, -1, active=laneid < 31), {"converged", "owned"}),
        (lanes(active=X > 3), {"converged"}),
        (lanes(active=(warpid == 0) & (X > 3)), {"converged"}),
        (lanes(active=(tp.select(laneid < 16, 1, 2) * W) % 2 == 0), {"converged"}),
    ],
)
def test_both(setup: Any, fails: set[str]) -> None:
    assert failing(check("ld.global.v4.b32", setup)) == fails


def test_unevenly_spaced_threads_are_not_supported() -> None:
    """An honest non-answer: the call may be right."""
    regs = tp.tensor(
        "R", (16, 4), "b32", "registers", layout=tp.TileLayout(tp.S[(8, 2, 4) : (4 @ laneid, 1 @ laneid, 1)])
    )
    setup = on(regs, memory((16, 4)), scope="warp")
    report = check("ld.global.v4.b32", setup, active=laneid % 4 < 2)
    assert report.verdict is tp.Verdict.UNSUPPORTED
    assert "0, 1, 4, 5, 8" in report.reason
    assert "not evenly spaced" in report.reason
    assert check("ld.global.v4.b32", setup).verdict is tp.Verdict.REFUTED


@pytest.mark.parametrize(
    ("active", "pred", "fails"),
    [
        # Lanes 0, 1, 4, 5 under a guard that leaves the first four: lane 2 has the registers of lane 4.
        (laneid < 4, None, {"owned"}),
        (laneid < 4, laneid < 3, {"owned"}),
        (laneid < 4, laneid < 2, set()),
        (laneid < 3, laneid < 2, {"converged"}),
        (laneid < 5, laneid < 2, {"covered"}),
        ((laneid >= 1) & (laneid < 5), laneid < 2, {"owned"}),
        ((laneid >= 1) & (laneid < 5), laneid < 1, set()),
    ],
)
def test_the_guard_says_who_is_in_a_group_whose_registers_are_wrong(
    active: Relation, pred: Relation | None, fails: set[str]
) -> None:
    regs = tp.tensor(
        "R", (4, 4), "b32", "registers", layout=tp.TileLayout(tp.S[(2, 2, 4) : (4 @ laneid, 1 @ laneid, 1)])
    )
    report = check("ld.global.v4.b32", on(regs, memory((4, 4)), scope="warp", active=active, pred=pred))
    assert failing(report) == fails
    if pred is None:
        assert_told(first_failure(report, "owned"), {"lane": 2, "warp": 0})


@pytest.mark.parametrize(("first", "fails"), [(7, {"owned"}), (8, set()), (9, {"owned"})])
def test_registers_that_a_symbol_chooses(first: int, fails: set[str]) -> None:
    n = tp.symbol("n", 0, 28)
    setup = on(registers((32, 4), (1 @ laneid, 1))[n : n + 4], memory((4, 4)), scope="warp")
    assert failing(check("ld.global.v4.b32", setup, active=laneid // 4 == 2, assume=n == first)) == fails


def test_whole_warpgroups_need_no_demand_of_their_own() -> None:
    for block, count in ((128, 1), (256, 1), (160, 2)):
        report = check("ld.global.v4.b32", warps(4, scope="warpgroup", block=block, active=wgid == 0))
        assert report.verdict is PROVED
        assert sum(f.obligation.id == "ld.converged" for f in report.findings) == count


def test_the_reaching_thread_is_told() -> None:
    example = first_failure(check(LDMATRIX, one_matrix(active=tx < 40, block=64)), "converged").counterexample
    assert example is not None
    assert example.needed == "an active thread: warp 1, lane 8"
    assert example.found.endswith("one of the 64 threads of the block; warp 1, lane 0 does reach it")
    assert example.values["lane'"] == 0
    assert (example.storage, example.byte_address, example.slot) == (None, None, None)


def test_two_values_belong_to_two_threads() -> None:
    """A value of each thread is one value of one thread: the witness has two threads."""
    example = first_failure(check(LDMATRIX, one_matrix(active=X == 1)), "converged").counterexample
    assert example is not None
    assert example.found.endswith("warp 0, lane 1 does reach it")
    assert example.lane == 0


CLUSTERS = [
    (2, (2,), (cbx,)),
    ((4, 1, 1), (4,), (cbx,)),
    ((2, 3), (3, 2), (cby, cbx)),
    ((1, 3), (3, 1), (cby, cbx)),
    ((2, 3, 2), (2, 3, 2), (cbz, cby, cbx)),
    ((1, 1, 4), (4, 1, 1), (cbz, cby, cbx)),
]


@pytest.mark.parametrize(("cluster", "extents", "axes"), CLUSTERS)
def test_cluster_axes_come_in_z_y_x_order(
    cluster: Any, extents: tuple[int, ...], axes: tuple[Any, ...]
) -> None:
    assert check("ld.global.v4.b32", clusters(extents, axes, cluster=cluster)).verdict is PROVED
    for position, extent in enumerate(extents):
        name = f"cta_{axes[position].name[2]}"
        for other in {max(1, extent - 1), extent + 1} - {extent}:
            wrong = (*extents[:position], other, *extents[position + 1 :])
            report = check("ld.global.v4.b32", clusters(wrong, axes, cluster=cluster))
            assert failing(report) == {"covered"}
            told = {"needed": f"{extent} CTAs along {name}", "found": f"a group extent of {other}"}
            assert_told(first_failure(report, "covered"), told)
    if len(set(extents)) > 1 and extents != extents[::-1]:
        backwards = check("ld.global.v4.b32", clusters(extents[::-1], axes, cluster=cluster))
        assert failing(backwards) == {"covered"}


def test_cluster_scope_needs_a_cluster() -> None:
    with pytest.raises(CallError, match=r"cluster scope needs cluster=\(\.\.\.\) at the launch"):
        check("ld.global.v4.b32", warps(1, scope="cluster"))


def test_collectives_fill_whole_warps_of_a_cluster() -> None:
    shape = (2, 1, 1, 8, 4)
    setup = on(
        registers(shape, (1 @ cbx, 0, 1, *OWNERS)), memory(shape, space="shared"), scope="cluster", cluster=2
    )
    assert check(LDMATRIX, setup).verdict is PROVED
    assert failing(check(LDMATRIX, setup, active=laneid < 31)) == {"converged"}


# Counting threads

BLOCKS = (16, 32, 48, 64, 96, 128, 160)


@st.composite
def guards(draw: st.DrawFn) -> Relation:
    subject = draw(
        st.sampled_from([laneid, warpid, tx, wid_in_wg, laneid + 32 * warpid, laneid // 8 + warpid])
    )
    relation = draw(
        st.sampled_from(
            [
                lambda e, n: e < n,
                lambda e, n: e >= n,
                lambda e, n: e % 2 == n % 2,
                lambda e, n: e % 4 < n % 4,
                lambda e, n: e != n,
            ]
        )
    )
    made: Relation = relation(subject, draw(st.integers(0, 40)))
    return made


@st.composite
def guarded_calls(
    draw: st.DrawFn,
) -> tuple[str, int, Relation, tuple[int, ...], tuple[int, int], tuple[int, int]]:
    """Scope, block, guard, group extents, and step and first of lanes and of warps."""
    scope = draw(st.sampled_from(["warp", "warpgroup", "cta"]))
    block = draw(st.sampled_from(BLOCKS))
    active = draw(guards())
    if draw(st.booleans()):
        active = active & draw(guards())
    lane = (draw(st.sampled_from([1, 1, 2])), draw(st.sampled_from([0, 0, 0, 1, 16])))
    warp = (draw(st.sampled_from([1, 1, 2])), draw(st.sampled_from([0, 0, 1])))
    extents = (draw(st.sampled_from([32, 32, 32, 16, 15, 12, 31, 33])),)
    if scope != "warp":
        extents = (draw(st.integers(1, 4)), *extents)
    return scope, block, active, extents, lane, warp


def _reaches(active: Relation, block: int, warp: int, lane: int) -> bool:
    number = warp * 32 + lane
    seen = {"laneid": lane, "warpid": warp, "tx": number, "wid_in_wg": warp % 4, "wgid": warp // 4}
    return number < block and bool(evaluate(active, {v: seen[v.name] for v in leaves(active)}))


def counted(
    scope: str,
    block: int,
    active: Relation,
    extents: tuple[int, ...],
    lane: tuple[int, int],
    warp: tuple[int, int],
) -> set[str]:
    """The demands that fail, by visiting every thread of every unit that reaches the call."""
    total = -(-block // 32)
    size = {"warp": 1, "warpgroup": 4, "cta": total}[scope]
    fails = set()
    for unit in range(-(-total // size)):
        numbers = range(unit * size, unit * size + size)
        reaching = {(w, l) for w in numbers for l in range(32) if _reaches(active, block, w, l)}
        if not reaching:
            continue
        lane_group = [lane[0] * g + lane[1] for g in range(extents[-1])]
        warp_group = (
            [unit * size + warp[0] * g + warp[1] for g in range(extents[0])] if scope != "warp" else [unit]
        )
        group = set(product(warp_group, lane_group))
        if not group <= reaching or (scope == "warpgroup" and (unit + 1) * 128 > block):
            fails.add("converged")
        if not reaching <= group:
            fails.add("covered")
    return fails


@given(guarded_calls())
@settings(max_examples=80)
def test_convergence_agrees_with_counting_threads(call: Any) -> None:
    scope, block, active, extents, lane, warp = call
    threads = [(w, l) for w in range(-(-block // 32)) for l in range(32) if _reaches(active, block, w, l)]
    if not threads:
        return
    if active.value is True:
        lane, warp = (1, 0), (1, 0)
    axis = wid_in_wg if scope == "warpgroup" else warpid
    strides = ((warp[0] @ axis,) if scope != "warp" else ()) + (lane[0] @ laneid, 1)
    first = registers((*extents, 1), strides, lane[1] @ laneid)
    if scope != "warp":
        layout = tp.TileLayout(first.layout.spec + (warp[1] @ axis))
        first = tp.tensor("R", (*extents, 1), "b32", "registers", layout=layout)
    report = tp.check("ld.global.b32", first, memory((*extents, 1)), scope=scope, block=block, active=active)
    assert failing(report) & {"converged", "covered"} == counted(scope, block, active, extents, lane, warp), (
        str(report)
    )
    if not failing(report) & {"converged", "covered"}:
        assert report.verdict is PROVED, str(report)
