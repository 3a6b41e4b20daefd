"""cp.async: what arrives when, and each way in which a copy can go wrong (ISA 9.7.9.25.3)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.simulate.kernels import Array, run
from tileproof.simulate import SimulationError

TWO = ".param .u64 in, .param .u64 out"
SETUP = """
    .shared .align 16 .b8 tile[1024];
    ld.param.u64 %rd0, [in];
    ld.param.u64 %rd1, [out];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %rd2, %r0, 16;
    add.u64 %rd0, %rd0, %rd2;
    add.u64 %rd1, %rd1, %rd2;
    mov.u32 %r1, tile;
    mad.lo.u32 %r1, %r0, 16, %r1;
    mov.b32 %r9, -1;
    st.shared.v4.b32 [%r1], {%r9, %r9, %r9, %r9};
    bar.sync 0;
"""
"""%rd0, %rd1: the thread's 16 bytes of both arrays; %r1: its 16 bytes of shared memory, all ones."""

BACK = """
    ld.shared.v4.b32 {%r2, %r3, %r4, %r5}, [%r1];
    st.global.v4.b32 [%rd1], {%r2, %r3, %r4, %r5};
"""
WAIT = "cp.async.wait_all;"


def copied(body: str, count: int = 32, **options: Any) -> tuple[Array, Array]:
    """The source and what arrived, as bytes (threads, 16)."""
    source = np.random.default_rng(3).integers(1, 255, (count, 16), np.uint8)
    target = np.zeros_like(source)
    run(SETUP + body, [source, target], parameters=TWO, block=count, **options)
    return source, target


@pytest.mark.parametrize("operator", ["ca", "cg"])
@pytest.mark.parametrize("size", [4, 8, 16])
@pytest.mark.parametrize("prefetch", ["", ".L2::64B", ".L2::128B", ".L2::256B"])
def test_a_copy_arrives_and_leaves_its_neighbours_alone(operator: str, size: int, prefetch: str) -> None:
    body = f"cp.async.{operator}.shared.global{prefetch} [%r1], [%rd0], {size};" + WAIT + BACK
    if operator == "cg" and size < 16:
        with pytest.raises(SimulationError, match="copies 16 bytes"):
            copied(body)
        return
    source, target = copied(body)
    assert (target[:, :size] == source[:, :size]).all()
    assert (target[:, size:] == 255).all()


@pytest.mark.parametrize("octets", [0, 1, 4, 7, 15, 16])
@pytest.mark.parametrize("kind", ["constant", "register"])
def test_zeros_stand_for_what_is_not_read(octets: int, kind: str) -> None:
    operand = str(octets) if kind == "constant" else "%r6"
    body = (
        f"mov.b32 %r6, {octets}; cp.async.ca.shared::cta.global [%r1], [%rd0], 16, {operand};" + WAIT + BACK
    )
    source, target = copied(body)
    assert (target[:, :octets] == source[:, :octets]).all()
    assert (target[:, octets:] == 0).all()


def test_each_thread_has_its_own_src_size_and_predicate() -> None:
    body = (
        "min.u32 %r6, %r0, 16; setp.lt.u32 %p1, %r0, 20;"
        "@%p1 cp.async.cg.shared.global [%r1], [%rd0], 16, %r6;" + WAIT + BACK
    )
    source, target = copied(body)
    for thread in range(32):
        octets = min(thread, 16)
        wanted = [*source[thread, :octets], *[0] * (16 - octets)] if thread < 20 else [255] * 16
        assert target[thread].tolist() == wanted


@pytest.mark.parametrize(("operand", "ignored"), [("%p1", range(8)), ("!%p1", range(8, 32))])
def test_an_ignored_source_becomes_zeros(operand: str, ignored: range) -> None:
    source, target = copied(
        f"setp.lt.u32 %p1, %r0, 8; cp.async.cg.shared.global [%r1], [%rd0], 16, {operand};" + WAIT + BACK
    )
    for thread in range(32):
        assert (target[thread] == (0 if thread in ignored else source[thread])).all()


@pytest.mark.parametrize("operand", ["%p1", "0"])
def test_a_source_that_is_not_read_need_not_exist(operand: str) -> None:
    body = f"setp.eq.u32 %p1, %r0, %r0; add.u64 %rd0, %rd0, 65536; cp.async.cg.shared.global [%r1], [%rd0], 16, {operand};"
    assert (copied(body + WAIT + BACK)[1] == 0).all()
    with pytest.raises(SimulationError, match=r"4-byte access at global address .* out of bounds"):
        copied(body.replace(f"16, {operand}", "16, 4") + WAIT)


def test_only_the_bytes_that_are_read_must_exist() -> None:
    body = (
        "setp.eq.u32 %p1, %r0, 31; add.u64 %rd0, %rd0, 16;"
        "selp.b32 %r6, {}, 16, %p1; cp.async.cg.shared.global [%r1], [%rd0], 16, %r6;"
    )
    assert (copied(body.format(0) + WAIT + BACK)[1][31] == 0).all()
    with pytest.raises(SimulationError, match=r"lane 31 .*1-byte access .* out of bounds"):
        copied(body.format(1) + WAIT)


def test_a_policy_is_an_operand() -> None:
    body = "createpolicy.fractional.L2::evict_first.b64 %rd9; cp.async.cg.shared.global.L2::cache_hint.L2::128B [%r1], [%rd0], 16, %rd9;"
    source, target = copied(body + WAIT + BACK)
    assert (source == target).all()
    with pytest.raises(SimulationError, match="reads %rd9, which is undefined"):
        copied(body.partition(";")[2])


# Groups

COPY = "cp.async.ca.shared.global [%r1{at}], [%rd0{at}], 4;"
COMMIT = "cp.async.commit_group;"


def in_groups(wait: str, loaded: str, count: int = 3) -> Array:
    groups = "".join(COPY.format(at=f"+{4 * n}") + COMMIT for n in range(count))
    return copied(groups + wait + loaded)[1]


@pytest.mark.parametrize("newest", [0, 1, 2, 3, 9])
@pytest.mark.parametrize("group", [0, 1, 2])
def test_a_wait_leaves_only_the_newest_groups_pending(newest: int, group: int) -> None:
    wait = f"cp.async.wait_group {newest};"
    load = f"ld.shared.b32 %r2, [%r1+{4 * group}];"
    if group < 3 - newest:
        in_groups(wait, load)
    else:
        with pytest.raises(SimulationError, match=r"destination of a cp\.async that nobody has waited for"):
            in_groups(wait, load)


def test_an_empty_group_counts() -> None:
    copied(COPY.format(at="") + COMMIT + COMMIT + "cp.async.wait_group 1;" + BACK)


def test_what_is_in_no_group_is_not_waited_for_by_wait_group() -> None:
    copied(COPY.format(at="") + "cp.async.wait_all;" + BACK)
    with pytest.raises(SimulationError, match="nobody has waited for"):
        copied(COPY.format(at="") + "cp.async.wait_group 0;" + BACK)


def test_wait_all_begins_a_new_group() -> None:
    with pytest.raises(SimulationError, match="nobody has waited for"):
        copied(
            COPY.format(at="")
            + "cp.async.wait_all;"
            + COPY.format(at="")
            + COMMIT
            + "cp.async.wait_group 1;"
            + BACK
        )


def test_a_thread_waits_for_its_own_copies_only() -> None:
    body = "cp.async.cg.shared.global [%r1], [%rd0], 16; setp.ne.u32 %p1, %r0, 5; @%p1 cp.async.wait_all;"
    with pytest.raises(
        SimulationError, match=r"lane 5 .*: shared address .*, byte 80 of 'tile', is the destination"
    ):
        copied(body + "bar.sync 0;" + BACK)


# What goes wrong

START = "cp.async.cg.shared.global [%r1], [%rd0], 16;"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (START + BACK, "byte 0 of 'tile', is the destination of a cp.async"),
        (
            START + "st.shared.b8 [%r1+15], %h1;".replace("%h1", "%r9"),
            "byte 15 of 'tile', is the destination",
        ),
        (START + START, "is the destination of a cp.async that nobody has waited for"),
        (START + "atom.shared.add.u32 %r2, [%r1+4], 1;", "byte 4 of 'tile', is the destination"),
        (
            "mov.u32 %r1, tile; " + START,
            r"lane 1 .*: shared address .* is the destination of a cp.async",
        ),
        (START + "st.global.b32 [%rd0+12], %r9;" + WAIT, "whose source has changed since it was issued"),
        (
            "cp.async.cg.shared.global [%r1+8], [%rd0], 16;",
            "misaligned shared address .* 8 past a multiple of 16",
        ),
        (
            "cp.async.cg.shared.global [%r1], [%rd0+4], 16;",
            "misaligned global address .* 4 past a multiple of 16",
        ),
        ("cp.async.cg.shared.global [%r1], [%rd0+4], 16, 0;", "misaligned global address"),
        ("cp.async.ca.shared.global [%r1+2], [%rd0], 4;", "misaligned shared address .* multiple of 4"),
        ("cp.async.ca.shared.global [%r1+4], [%rd0], 8;", "misaligned shared address .* multiple of 8"),
        ("cp.async.cg.shared.global [%r1+1024], [%rd0], 16;", "out of bounds"),
        (
            "mov.b32 %r6, 17; cp.async.cg.shared.global [%r1], [%rd0], 16, %r6;",
            "src-size is 17, which is undefined",
        ),
        (
            "mov.b32 %r6, 5; cp.async.ca.shared.global [%r1], [%rd0], 4, %r6;",
            "src-size is 5, which is undefined",
        ),
        ("cp.async.cg.shared.global [%r1], [%rd0], 16, %r7;", "reads %r7, which is undefined"),
        ("cp.async.cg.shared.global [%r1], [%rd0], 16, %p3;", "reads %p3, which is undefined"),
    ],
)
def test_undefined_copies(body: str, message: str) -> None:
    with pytest.raises(SimulationError, match=message):
        copied(body)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("cp.async.ca.shared.global [%r1], [%rd0], 2;", "copies 4 or 8 or 16 bytes, not 2"),
        ("cp.async.cg.shared.global [%r1], [%rd0], %r6;", "operand %r6 must be a constant"),
        ("cp.async.cg.shared.global [%r1], [%rd0], 16, 17;", "src-size 17 is more than"),
        ("cp.async.cg.shared.global [%r1], [%rd0];", "has 2 operands"),
        ("cp.async.cg.shared.global [%r1], %rd0, 16;", "is not an address"),
        ("cp.async.cg.shared.global.L2::cache_hint [%r1], [%rd0], 16;", "has 3 operands; it takes 4 or 5"),
        ("cp.async.cg.shared.global.L2::32B [%r1], [%rd0], 16;", "does not know"),
        ("cp.async.shared.global [%r1], [%rd0], 16;", "needs one of .ca, .cg"),
        ("cp.async.ca.shared::cluster.global [%r1], [%rd0], 16;", "needs one of .shared, .shared::cta"),
        ("cp.async.wait_group %r1;", "must be a constant"),
        ("cp.async.wait_group -1;", "cannot leave -1 groups pending"),
        ("cp.async.commit_group 1;", "has 1 operands"),
    ],
)
def test_what_is_no_copy(body: str, message: str) -> None:
    with pytest.raises(SimulationError, match=message):
        copied(body)


@pytest.mark.parametrize("body", [START, COMMIT, WAIT, "cp.async.wait_group 0;"])
def test_older_targets_have_no_copies(body: str) -> None:
    with pytest.raises(SimulationError, match="needs sm_80 or later, and the target is sm_75"):
        copied(body, target="sm_75")
    copied(body, target="sm_80")
