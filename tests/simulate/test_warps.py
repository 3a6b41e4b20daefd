"""Exchange between lanes: what each lane gets, and who has to be there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.simulate.kernels import threads
from tileproof.simulate import SimulationError

STORE = "\n    st.global.u32 [%rd2], %r1;\n"

# mode, b, c, and the lane that lane l reads, with the predicate: straight from the pseudocode of ISA 9.7.9.6.
SHUFFLES: list[tuple[str, str, str, Callable[[int], tuple[int, bool]]]] = [
    ("bfly", "1", "31", lambda lane: (lane ^ 1, True)),
    ("bfly", "16", "0x1f", lambda lane: (lane ^ 16, True)),
    ("bfly", "8", "0x1807", lambda lane: (lane ^ 8 if lane & 8 else lane, bool(lane & 8))),
    ("up", "3", "0", lambda lane: (lane - 3, True) if lane >= 3 else (lane, False)),
    ("up", "1", "0x1800", lambda lane: (lane - 1, True) if lane % 8 else (lane, False)),
    ("down", "3", "31", lambda lane: (lane + 3, True) if lane + 3 <= 31 else (lane, False)),
    ("down", "2", "0x1c03", lambda lane: (lane + 2, True) if lane % 4 < 2 else (lane, False)),
    ("idx", "5", "31", lambda lane: (5, True)),
    ("idx", "9", "0x1807", lambda lane: (lane // 8 * 8 + 1, True)),
    ("idx", "%r0", "31", lambda lane: (lane, True)),
]


@pytest.mark.parametrize(("mode", "b", "c", "source"), SHUFFLES)
def test_shfl(mode: str, b: str, c: str, source: Callable[[int], tuple[int, bool]]) -> None:
    found = threads(
        f"""
    add.u32 %r2, %r0, 100;
    shfl.sync.{mode}.b32 %r1|%p1, %r2, {b}, {c}, 0xffffffff;
    @%p1 add.u32 %r1, %r1, 1000;
"""
        + STORE
    )
    expected = [source(lane) for lane in range(32)]
    assert found.tolist() == [100 + lane + 1000 * inside for lane, inside in expected]


def test_reading_a_lane_that_takes_no_part_gives_nothing_to_use() -> None:
    body = """
    setp.lt.u32 %p1, %r0, 16;
    mov.u32 %r1, 0;
    @%p1 shfl.sync.down.b32 %r1, %r0, 1, 31, 0xffff;
"""
    assert threads(body + "setp.lt.u32 %p2, %r0, 15;\n @%p2 st.global.u32 [%rd2], %r1;")[
        :15
    ].tolist() == list(range(1, 16))
    with pytest.raises(SimulationError, match=r"lane 15 .*reads %r1, which is undefined"):
        threads(body + STORE)


def test_votes() -> None:
    found = threads(
        """
    setp.lt.u32 %p1, %r0, 8;
    vote.sync.ballot.b32 %r1, %p1, 0xffffffff;
    vote.sync.ballot.b32 %r2, !%p1, 0xffffffff;
    vote.sync.any.pred %p2, %p1, 0xffffffff;
    vote.sync.all.pred %p3, %p1, 0xffffffff;
    vote.sync.uni.pred %p4, %p1, 0xffffffff;
    selp.u32 %r3, 1, 0, %p2; selp.u32 %r4, 2, 0, %p3; selp.u32 %r5, 4, 0, %p4;
    or.b32 %r3, %r3, %r4; or.b32 %r3, %r3, %r5;
    setp.eq.u32 %p5, %r0, 0;
    @%p5 st.global.v2.u32 [%rd0], {%r1, %r2};
    @%p5 st.global.u32 [%rd0+8], %r3;
"""
    )
    assert found[:3].tolist() == [0xFF, 0xFFFF_FF00, 1]


def test_elect_chooses_one_lane_of_the_mask() -> None:
    found = threads(
        """
    mov.u32 %r1, 0;
    elect.sync %r2|%p1, 0xffffffff;
    elect.sync _|%p2, -1;
    @%p1 add.u32 %r1, %r1, 1;
    @%p2 add.u32 %r1, %r1, 1;
    add.u32 %r1, %r1, %r2;
"""
        + STORE
    )
    leader = found.tolist().index(max(found.tolist()))
    assert found.tolist() == [leader + 2 * (lane == leader) for lane in range(32)]


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("add.u32", [120, 376]),
        ("min.u32", [0, 16]),
        ("max.s32", [15, 31]),
        ("and.b32", [0, 16]),
        ("or.b32", [15, 31]),
        ("xor.b32", [0, 0]),
    ],
)
def test_redux_over_the_halves_of_a_warp(operation: str, expected: list[int]) -> None:
    found = threads(
        f"""
    setp.lt.u32 %p1, %r0, 16;
    selp.b32 %r2, 0xffff, 0xffff0000, %p1;
    redux.sync.{operation} %r1, %r0, %r2;
"""
        + STORE
    )
    assert found.tolist() == [expected[0]] * 16 + [expected[1]] * 16


def test_match() -> None:
    found = threads("shr.u32 %r2, %r0, 3;\n match.any.sync.b32 %r1, %r2, -1;" + STORE)
    assert found.tolist() == [0xFF << lane // 8 * 8 for lane in range(32)]
    found = threads("match.all.sync.b32 %r1|%p1, %r0, -1;\n @!%p1 add.u32 %r1, %r1, 5;" + STORE)
    assert found.tolist() == [5] * 32


def test_activemask_names_the_threads_of_one_side() -> None:
    found = threads("setp.lt.u32 %p1, %r0, 4;\n mov.u32 %r1, 0;\n @%p1 activemask.b32 %r1;" + STORE)
    assert found.tolist() == [0xF] * 4 + [0] * 28


def test_a_sync_instruction_waits_for_its_whole_membermask() -> None:
    # The lanes below 16 come to the shuffle at once, the others after a detour behind it in the text.
    found = threads(
        """
    setp.lt.u32 %p1, %r0, 16;
    mov.u32 %r2, %r0;
    @!%p1 bra late;
together:
    shfl.sync.bfly.b32 %r1, %r2, 16, 31, 0xffffffff;
    st.global.u32 [%rd2], %r1;
    exit;
late:
    add.u32 %r2, %r2, 1000;
    bra together;
"""
    )
    assert found.tolist() == [1016 + lane for lane in range(16)] + list(range(16))


def test_threads_that_exited_are_not_waited_for() -> None:
    found = threads(
        "setp.ge.u32 %p1, %r0, 30;\n @%p1 exit;\n vote.sync.ballot.b32 %r1, 1, 0xffffffff;" + STORE
    )
    assert found.tolist() == [0x3FFF_FFFF] * 30 + [0xFFFF_FFFF] * 2


FAULTS = [
    ("bar.warp.sync 0xfffffffe;", r"lane 0 .*membermask 0xfffffffe, which does not name its own lane"),
    (
        "setp.lt.u32 %p1, %r0, 4;\n @%p1 bra low;\n bar.warp.sync -1;\n ret;\nlow: bar.warp.sync -1;",
        r"deadlock: .*warp 0 lanes 0-3; .*warp 0 lanes 4-31",
    ),
    ("shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;", "reads %r2, which is undefined"),
]


@pytest.mark.parametrize(("body", "message"), FAULTS)
def test_undefined_behaviour_is_an_error(body: str, message: str) -> None:
    with pytest.raises(SimulationError, match=message):
        threads(body)
