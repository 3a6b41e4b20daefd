"""Statements of a kernel: complements of guards, unrolled loops, comments, clusters, registers of others."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from tileproof import Kernel, S, TileLayout, cbx, emit, laneid, tx, warpid
from tileproof.errors import CallError, EmissionError
from tileproof.proofs.report import ContractError

V4 = "ld.global.v4.b32"


def halves() -> Kernel:
    """The first threads copy, the others store zeros, two vectors each."""
    k = Kernel("halves", block=64)
    n = k.scalar("n", 0, 64)
    a, b = k.parameter("A", (2, 64, 4), "uint32"), k.parameter("B", (2, 64, 4), "uint32")
    words, zeros = k.registers("words", (4,), "uint32"), k.registers("zeros", (4,), "uint32", fill=0)
    with k.when(tx < n):
        for i in k.unroll("i", 0, 2):
            k.apply(V4, words, a[i, tx])
            k.apply("st.global.v4.b32", b[i, tx], words)
    with k.otherwise():
        k.apply("st.global.v4.b32", b[:, tx], zeros.declare((2, 4), layout=TileLayout(S[(2, 4) : (0, 1)])))
    return k


@pytest.mark.parametrize("n", [0, 1, 40, 64])
def test_otherwise_is_for_the_threads_that_did_not_take_the_block(n: int) -> None:
    a = np.arange(512, dtype=np.uint32).reshape(2, 64, 4) + 1
    b = np.full_like(a, 7)
    halves().simulate(n, a, b)
    assert (b[:, :n] == a[:, :n]).all()
    assert not b[:, n:].any()


def test_the_comments_of_a_kernel(snapshot: SnapshotAssertion) -> None:
    assert halves().ptx("sm_90a") == snapshot


def test_comments_are_comments_only() -> None:
    k = halves()
    bare = re.sub(r"(?m)^ *//.*\n|  //.*$", "", k.ptx("sm_90a"))
    assert bare == k.ptx("sm_90a", comments=False)


def test_a_name_cannot_end_a_comment() -> None:
    k = Kernel("names", block=32)
    a, raw = k.parameter("A", (32, 4), "uint32"), k.registers("raw", (4,), "uint32")
    report = k.apply(V4, raw.declare((4,), name="x\n trap; //"), a[tx])
    for text in (k.ptx(), emit(report)):
        assert "\n trap" not in text
        assert "x? trap; //" in text


def test_a_call_is_numbered_as_its_report() -> None:
    k = halves()
    text = k.ptx("sm_90a")
    told = re.findall(r"// call (\d+): (\S+)", text)
    assert told == [(str(n), r.call.form.spelling) for n, r in enumerate(k.reports)]
    lines = re.findall(r"^ *(\S+) .*;  // call (\d+)(?:, repeat (\d+))?$", text, re.MULTILINE)
    assert [(k.reports[int(n)].call.form.spelling, r) for _, n, r in lines] == [
        (V4, ""), ("st.global.v4.b32", ""), (V4, ""), ("st.global.v4.b32", ""),
        ("st.global.v4.b32", "0"), ("st.global.v4.b32", "1"),
    ]  # fmt: skip


def test_otherwise_adds_the_complement_to_the_proofs() -> None:
    k = Kernel("facts", block=32)
    n = k.scalar("n", 0, 60)
    a, words = k.parameter("A", (64,), "uint32"), k.registers("words", (4,), "uint32")
    with k.when(n % 4 != 0), pytest.raises(ContractError, match=r"ld\.aligned"):
        k.apply(V4, words, a[n : n + 4])
    with k.otherwise():
        k.apply(V4, words, a[n : n + 4])


def test_otherwise_stands_right_after_when() -> None:
    k = Kernel("alone", block=32)
    with pytest.raises(CallError, match="kernel alone: otherwise stands right after a when block"):
        k.otherwise()
    with k.when(tx < 3):
        pass
    k.raw("bar.warp.sync 0xffffffff;")
    with pytest.raises(CallError, match="right after a when block"):
        k.otherwise()
    with k.when(tx < 3), pytest.raises(CallError, match="right after a when block"):
        k.otherwise()


@pytest.mark.parametrize("span", [(0, 3), (3, 0), (0, 8, 3), (6, -1, -2), (2, 2)])
def test_an_unrolled_loop_takes_the_turns_of_a_range(span: tuple[int, ...]) -> None:
    k = Kernel("turns", block=32)
    assert list(k.unroll("i", *span)) == list(range(*span))
    assert re.findall(r"// i = (-?\d+)", k.ptx()) == [str(i) for i in range(*span)]


@pytest.mark.parametrize("span", [(0, 3, 0), (0, 3.0, 1), (0, True, 1)])
def test_an_unrolled_loop_counts_in_integers(span: Any) -> None:
    with pytest.raises(CallError, match="unroll i: start, stop and step are integers and step is not 0"):
        Kernel("turns").unroll("i", *span)
    with pytest.raises(EmissionError, match="no PTX identifier"):
        Kernel("turns").unroll("i\n;", 0, 1)


def test_a_cluster_has_its_rank_and_its_barrier() -> None:
    """Each CTA stores its rank, after the barrier of the cluster."""
    k = Kernel("ranks", block=32, cluster=4)
    out = k.parameter("Out", (4, 32, 1), "uint32")
    word = k.registers("word", (1,), "uint32")
    k.raw("barrier.cluster.arrive.aligned;")
    k.raw("barrier.cluster.wait.aligned;")
    k.raw("mov.u32 %word_0, %cluster_ctarank;")
    k.apply("st.global.b32", out[cbx, tx], word)
    assert "\n.reqnctapercluster 4, 1, 1\n" in k.ptx()
    assert k.assemble().image
    found = np.zeros((4, 32), np.uint32)
    k.simulate(found, grid=4)
    assert (found == np.arange(4)[:, None]).all()


def test_registers_of_others_keep_what_no_call_loads() -> None:
    """Three vectors at slots 1, 6 and 11 of sixteen: what lies between them stays."""
    k = Kernel("slots", block=32)
    a, out = k.parameter("A", (32, 3, 4), "uint32"), k.parameter("Out", (32, 16, 1), "uint32")
    raw = k.registers("raw", (16,), "uint32", fill=0xEEEE)
    k.apply(V4, raw.declare((3, 4), layout=TileLayout(S[(3, 4) : (5, 1)]), at=1), a[tx])
    k.apply("st.global.b32", out[tx], raw.view(16, 1))
    x, found = np.arange(384, dtype=np.uint32).reshape(32, 3, 4), np.zeros((32, 16), np.uint32)
    k.simulate(x, found)
    expected = np.full((32, 16), 0xEEEE, np.uint32)
    for vector in range(3):
        expected[:, 1 + 5 * vector : 5 + 5 * vector] = x[:, vector]
    assert (found == expected).all()
    with pytest.raises(ContractError, match=r"in-storage"):
        k.apply(V4, raw.declare((3, 4), layout=TileLayout(S[(3, 4) : (5, 1)]), at=3), a[tx])


def test_a_group_of_some_lanes_leaves_the_registers_of_the_others() -> None:
    k = Kernel("lanes", block=64)
    a, out = k.parameter("A", (8, 4), "uint32"), k.parameter("Out", (64, 4), "uint32")
    raw = k.registers("raw", (4,), "uint32", fill=9)
    with k.when((warpid == 1) & (laneid < 8)):
        k.apply(V4, raw, a[laneid])
    k.apply("st.global.v4.b32", out[tx], raw)
    x, found = np.arange(32, dtype=np.uint32).reshape(8, 4), np.zeros((64, 4), np.uint32)
    k.simulate(x, found)
    expected = np.full((64, 4), 9, np.uint32)
    expected[32:40] = x
    assert (found == expected).all()
