"""Divergence and reconvergence, barriers, exits, deadlocks, limits."""

from __future__ import annotations

import numpy as np
import pytest

from tests.simulate.kernels import ADDRESS, module, run, threads
from tileproof.simulate import SimulationError, simulate

STORE = "\n    st.global.u32 [%rd2], %r1;\n"
WARP_OP = "movmatrix.sync.aligned.m8n8.trans.b16 %r9, %r0;"
"""Faults unless all 32 lanes have come together again."""


def test_both_sides_of_a_branch_meet_at_the_join() -> None:
    found = threads(
        f"""
    and.b32 %r2, %r0, 1;
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra even;
    mov.u32 %r1, 111;
    bra.uni join;
even:
    mov.u32 %r1, 222;
join:
    {WARP_OP}
"""
        + STORE
    )
    assert found.tolist() == [222, 111] * 16


def test_a_side_that_lies_out_of_line_is_done_before_the_join() -> None:
    found = threads(
        f"""
    setp.lt.u32 %p1, %r0, 5;
    mov.u32 %r1, 1;
    @%p1 bra cold;
join:
    {WARP_OP}
    st.global.u32 [%rd2], %r1;
    exit;
cold:
    mov.u32 %r1, 2;
    bra join;
"""
    )
    assert found.tolist() == [2] * 5 + [1] * 27


def test_nested_branches() -> None:
    found = threads(
        f"""
    setp.lt.u32 %p1, %r0, 16;
    setp.lt.u32 %p2, %r0, 8;
    mov.u32 %r1, 0;
    @!%p1 bra outer_else;
    @!%p2 bra inner_else;
    mov.u32 %r1, 1;
    bra inner_join;
inner_else:
    mov.u32 %r1, 2;
inner_join:
    activemask.b32 %r2;
    bra outer_join;
outer_else:
    mov.u32 %r1, 3;
    mov.u32 %r2, 0;
outer_join:
    {WARP_OP}
    setp.eq.u32 %p3, %r2, 0xffff;
    @%p3 add.u32 %r1, %r1, 10;
"""
        + STORE
    )
    assert found.tolist() == [11] * 8 + [12] * 8 + [3] * 16


def test_threads_leave_a_loop_when_they_are_done_and_meet_behind_it() -> None:
    found = threads(
        f"""
    mov.u32 %r1, 0;
    mov.u32 %r2, 0;
loop:
    setp.ge.u32 %p1, %r2, %r0;
    @%p1 bra done;
    add.u32 %r2, %r2, 1;
    add.u32 %r1, %r1, %r2;
    bra loop;
done:
    {WARP_OP}
"""
        + STORE,
        count=64,
    )
    assert found.tolist() == [n * (n + 1) // 2 for n in range(64)]


def test_counts_are_of_warps_and_of_threads() -> None:
    out = np.zeros(64, np.uint32)
    result = run(
        ADDRESS
        + """
    setp.lt.u32 %p1, %r0, 40;
    setp.lt.u32 %p2, %r0, 4;
    @%p1 add.u32 %r1, %r0, 1;
    @%p2 add.u32 %r1, %r0, 1;
    bar.sync 0;
""",
        [out],
        block=64,
        grid=3,
    )
    assert result.issued["add.u32"] == 3 * (2 + 1)
    assert result.executed["add.u32"] == 3 * (40 + 4)
    assert result.issued["bar.sync"] == 6
    assert result.issued["ret"] == 6
    assert result.executed["ret"] == 192


def test_a_barrier_orders_the_warps_of_a_block() -> None:
    found = threads(
        """
    .shared .align 4 .b8 tile[512];
    mov.u32 %r2, tile;
    mad.lo.u32 %r3, %r0, 4, %r2;
    mov.u32 %r4, %r0;
    // The later the warp, the longer it takes.
wait:
    setp.lt.u32 %p1, %r4, 32;
    @%p1 bra go;
    sub.u32 %r4, %r4, 32;
    bra wait;
go:
    st.shared.u32 [%r3], %r0;
    barrier.sync.aligned 3, 128;
    xor.b32 %r5, %r0, 127;
    mad.lo.u32 %r3, %r5, 4, %r2;
    ld.shared.u32 %r1, [%r3];
"""
        + STORE,
        count=128,
    )
    assert found.tolist() == list(range(127, -1, -1))


def test_producers_arrive_and_consumers_wait() -> None:
    found = threads(
        """
    .shared .align 4 .b8 tile[256];
    mov.u32 %r2, tile;
    mad.lo.u32 %r3, %r0, 4, %r2;
    setp.lt.u32 %p1, %r0, 32;
    @%p1 bra consume;
    st.shared.u32 [%r3], %r0;
    bar.arrive 1, 64;
    bra end;
consume:
    bar.sync 1, 64;
    ld.shared.u32 %r1, [%r3+128];
    st.global.u32 [%rd2], %r1;
end:
""",
        count=64,
    )
    assert found.tolist() == list(range(32, 64)) + [0xFFFF_FFFF] * 32


def test_a_barrier_does_not_wait_for_threads_that_exited() -> None:
    found = threads(
        "setp.ge.u32 %p1, %r0, 40;\n @%p1 exit;\n bar.sync 0;\n mov.u32 %r1, 7;" + STORE, count=96
    )
    assert found.tolist() == [7] * 40 + [0xFFFF_FFFF] * 56


def test_an_unaligned_barrier_gathers_the_sides_of_a_branch() -> None:
    found = threads(
        """
    setp.lt.u32 %p1, %r0, 20;
    mov.u32 %r1, 1;
    @%p1 bra low;
    barrier.sync 0;
    bra join;
low:
    barrier.sync 0;
    mov.u32 %r1, 2;
join:
"""
        + STORE
    )
    assert found.tolist() == [2] * 20 + [1] * 12


SPIN = """
    .shared .align 4 .b32 flag;
    setp.eq.u32 %p2, %r0, {first};
    @%p2 st.shared.u32 [flag], 0;
    bar.sync 0;
    setp.{side} %p1, %r0, {producer};
    @%p1 bra produce;
spin:
    ld.volatile.shared.u32 %r1, [flag];
    setp.eq.u32 %p3, %r1, 0;
    @%p3 bra spin;
    bra join;
produce:
    mov.u32 %r1, 99;
    st.volatile.shared.u32 [flag], %r1;
join:
"""


def test_a_warp_that_spins_does_not_starve_the_one_it_waits_for() -> None:
    body = SPIN.format(first=0, side="ge.u32", producer=32)
    assert (threads(body + STORE, count=64) == 99).all()


def test_lanes_that_spin_do_not_starve_a_lane_of_their_own_warp() -> None:
    body = SPIN.format(first=0, side="eq.u32", producer=17)
    assert (threads(body + STORE, count=32) == 99).all()


def test_a_kernel_may_end_without_ret() -> None:
    ptx = module("    bra.uni end;\nend:").replace("    ret;\n", "")
    assert dict(simulate(ptx, [np.zeros(1, np.uint32)]).issued) == {"bra.uni": 1}


def test_names_in_braces_are_their_own() -> None:
    found = threads(
        """
    mov.u32 %r1, 1;
    {
        .reg .u32 %r1;
        mov.u32 %r1, 2;
        bra.uni end;
    end:
        add.u32 %r1, %r1, 1;
    }
    {
        .reg .pred end;
        setp.eq.u32 end, %r0, 0;
        @end mov.u32 %r1, 5;
    }
"""
        + STORE
    )
    assert found.tolist() == [5] + [1] * 31


NOTHING = """
    nanosleep.u32 20;
    membar.gl;
    fence.acq_rel.gpu;
    fence.proxy.async.shared::cta;
    fence.mbarrier_init.release.cluster;
    griddepcontrol.wait;
    griddepcontrol.launch_dependents;
    bar.warp.sync 0xffffffff;
    .pragma "nounroll";
"""


def test_instructions_without_an_effect() -> None:
    assert (threads(NOTHING + "mov.u32 %r1, 1;" + STORE) == 1).all()


FAULTS = [
    ("setp.lt.u32 %p1, %r0, 16;\n @%p1 bar.sync 0;", r"only lanes 0-15 are here while lanes 16-31 are not"),
    (
        "setp.lt.u32 %p1, %r0, 32;\n @%p1 bar.sync 0, 64;\n",
        r"deadlock: .*`@%p1 bar.sync 0, 64`: warp 0 lanes 0-31; 32 threads have exited",
    ),
    (
        "setp.lt.u32 %p1, %r0, 32;\n @%p1 bra one;\n bar.sync 2;\n bra end;\none:\n bar.sync 1;\nend:",
        r"deadlock: .*`bar.sync 1`: warp 0 lanes 0-31; line \d+ `bar.sync 2`: warp 1 lanes 0-31; 0 threads",
    ),
    ("bar.sync 0, 32;\n", "barrier 0 expects 32 threads, and this arrival makes 64"),
    ("bar.sync 0, 40;\n", "barrier thread count 40 is not a positive multiple of 32"),
    ("bar.sync 16;\n", "barrier 16 does not exist"),
    ("bar.arrive 0, 128;\n bar.arrive 0, 128;\n", "arrives at barrier 0 twice in one phase"),
    (
        "setp.lt.u32 %p1, %r0, 32;\n @%p1 bar.arrive 0, 64;\n @!%p1 bar.sync 0, 128;\n",
        "barrier 0 is used with 128 threads here and with 64 threads",
    ),
    ("loop: bra loop;\n", "the limit of 500 issued instructions is spent"),
    ("setp.eq.u32 %p1, %r0, 3;\n @%p1 trap;\n", r"lane 3 .*the kernel trapped"),
    (
        "setp.lt.u32 %p1, %r0, 3;\n @%p1 bra.uni end;\nend:",
        "a .uni branch must be taken by all threads of the warp",
    ),
    ("@%p4 mov.u32 %r1, 0;\n", "reads %p4, which is undefined"),
]


@pytest.mark.parametrize(("body", "message"), FAULTS)
def test_undefined_behaviour_is_an_error(body: str, message: str) -> None:
    with pytest.raises(SimulationError, match=message):
        threads(body, count=64, limit=500)


def test_blocks_run_one_after_another_and_know_where_they_are() -> None:
    out = np.zeros((12, 4), np.uint32)
    run(
        """
    ld.param.u64 %rd0, [out];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ctaid.y;
    mov.u32 %r3, %nctaid.x;
    mad.lo.u32 %r4, %r2, %r3, %r1;
    mov.u32 %r5, %tid.x;
    mov.u32 %r6, %tid.y;
    mov.u32 %r7, %ntid.x;
    mad.lo.u32 %r5, %r6, %r7, %r5;
    mad.lo.u32 %r4, %r4, 2, %r5;
    mad.wide.u32 %rd1, %r4, 16, %rd0;
    mov.u32 %r8, %laneid;
    mov.u32 %r9, %lanemask_lt;
    st.global.v4.u32 [%rd1], {%r1, %r2, %r8, %r9};
""",
        [out],
        grid=(2, 3),
        block=(1, 2),
    )
    assert out.tolist() == [[x, y, lane, lane] for y in range(3) for x in range(2) for lane in range(2)]


def test_clusters() -> None:
    out = np.zeros((8, 4), np.uint32)
    body = """
    .shared .align 4 .b32 word;
    ld.param.u64 %rd0, [out];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %cluster_ctarank;
    setp.eq.u32 %p1, %r0, 0;
    @%p1 st.shared.u32 [word], %r1;
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    mov.u32 %r3, word;
    xor.b32 %r4, %r2, 1;
    mapa.shared::cluster.u32 %r5, %r3, %r4;
    ld.shared::cluster.u32 %r6, [%r5];
    cvt.u64.u32 %rd1, %r3;
    cvta.shared.u64 %rd1, %rd1;
    mapa.u64 %rd1, %rd1, %r4;
    ld.u32 %r7, [%rd1];
    getctarank.u64 %r8, %rd1;
    mad.wide.u32 %rd2, %r1, 16, %rd0;
    @%p1 st.global.v4.u32 [%rd2], {%r2, %r6, %r7, %r8};
    barrier.cluster.arrive;
    barrier.cluster.wait;
"""
    run(body, [out], grid=8, block=64, cluster=2)
    assert out.tolist() == [[block % 2, block ^ 1, block ^ 1, block % 2 ^ 1] for block in range(8)]
    with pytest.raises(SimulationError, match="block rank 1 is not in a cluster of 1"):
        run(body, [out], grid=8, block=64)
    with pytest.raises(SimulationError, match="outside the shared memory of the executing block"):
        run(body.replace("ld.shared::cluster", "ld.shared"), [out], grid=8, block=64, cluster=2)
    with pytest.raises(SimulationError, match="without having arrived"):
        run("barrier.cluster.wait;", [out], cluster=1)
