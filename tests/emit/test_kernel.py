"""Whole kernels: what is proved where, what is written, what the machine computes, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from tileproof import Kernel, S, Swizzle, TileLayout, Verdict, cbx, laneid, symbol, tx, ty, warpid, wid_in_wg
from tileproof.emit import host
from tileproof.emit import launch as launcher
from tileproof.emit.assemble import assemble
from tileproof.errors import CallError, EmissionError, LaunchError, SimulationError
from tileproof.proofs.report import ContractError

V4 = "ld.global.v4.b32"
X1 = "ldmatrix.sync.aligned.m8n8.x1.shared.b16"


# Loops and guards.


def strided_copy() -> Kernel:
    """``for i in range(tid, 1000, 32)``: some threads take one turn more than others."""
    k = Kernel("strided_copy", block=32)
    a, b = k.parameter("A", (1000,), "float32"), k.parameter("B", (1000,), "float32")
    word = k.registers("word", (1,), "float32")
    with k.loop("i", tx, 1000, 32) as i:
        k.apply("ld.global.f32", word, a[i : i + 1])
        k.apply("st.global.f32", b[i : i + 1], word)
    return k


def guarded_copy() -> Kernel:
    """One element a thread, of a length that is known at run time."""
    k = Kernel("guarded_copy", block=64)
    n = k.scalar("n", 0, 1000)
    a, b = k.parameter("A", (n,), "float32"), k.parameter("B", (n,), "float32")
    word = k.registers("word", (1,), "float32")
    at = k.block_index("x", 16) * 64 + tx
    with k.when(at < n):
        k.apply("ld.global.f32", word, a[at : at + 1])
        k.apply("st.global.f32", b[at : at + 1], word)
    return k


def triangle() -> Kernel:
    """A loop whose bound is another loop's variable, and a guard inside."""
    k = Kernel("triangle", block=32)
    a, b = k.parameter("A", (16, 16, 32), "uint32"), k.parameter("B", (16, 16, 32), "uint32")
    word = k.registers("word", (1,), "uint32")
    with k.loop("row", 0, 16) as row, k.loop("column", 0, row + 1) as column, k.when(tx != column):
        k.apply("ld.global.b32", word, a[row, column, tx : tx + 1])
        k.apply("st.global.b32", b[row, column, tx : tx + 1], word)
    return k


@pytest.mark.parametrize("build", [strided_copy, guarded_copy, triangle], ids=lambda f: f.__name__)
def test_the_text_of_loops_and_guards(build: Callable[[], Kernel], snapshot: SnapshotAssertion) -> None:
    assert build().ptx("sm_90a") == snapshot
    assert build().assemble("sm_90a").kernels[0].name == build.__name__


def test_a_loop_with_bounds_of_each_thread_visits_every_element_once() -> None:
    a, b = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    result = strided_copy().simulate(a, b)
    assert (a == b).all()
    assert result.executed["st.global.f32"] == 1000


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 1000])
def test_a_guard_keeps_threads_away_from_what_is_not_there(n: int) -> None:
    a, b = np.arange(n + 1, dtype=np.float32), np.full(n + 1, -1, np.float32)
    guarded_copy().simulate(n, a, b, grid=16)
    assert (b[:n] == a[:n]).all()
    assert b[n] == -1


def test_nested_loops_and_guards_do_what_they_say() -> None:
    a = np.arange(16 * 16 * 32, dtype=np.uint32).reshape(16, 16, 32) + 1
    b = np.zeros_like(a)
    triangle().simulate(a, b)
    expected = np.zeros_like(a)
    for row in range(16):
        for column in range(row + 1):
            for thread in range(32):
                if thread != column:
                    expected[row, column, thread] = a[row, column, thread]
    assert (b == expected).all()


@pytest.mark.parametrize(
    ("start", "stop", "step"), [(0, 0, 1), (3, 3, 2), (5, 2, 1), (0, 7, 3), (-4, 5, 4), (0, 1, 9)]
)
def test_a_static_loop_takes_the_turns_of_a_range(start: int, stop: int, step: int) -> None:
    k = Kernel("turns", block=32)
    n = k.scalar("n", -10, 10)
    out = k.parameter("Out", (64,), "uint32")
    one = k.registers("one", (1,), "uint32", fill=1)
    with k.loop("i", start, n, step) as i:
        k.apply("st.global.b32", out[i + 16 : i + 17], one, hazards="ignore")
    found = np.zeros(64, np.uint32)
    k.simulate(stop, found)
    expected = np.zeros(64, np.uint32)
    expected[[i + 16 for i in range(start, stop, step)]] = 1
    assert (found == expected).all()


def matrix_kernel() -> tuple[Kernel, Any, Any]:
    k = Kernel("matrix", block=64)
    shared = k.shared("SM", (1, 8, 4), "uint32", align=16)
    layout = TileLayout(S[(1, 8, 4) : (1, 4 @ laneid, 1 @ laneid)])
    return k, k.registers("R", (1, 8, 4), "uint32", layout=layout), shared


def lane_loop(k: Kernel, r: Any, sm: Any) -> None:
    with k.loop("i", laneid, 63, 32):
        k.apply(X1, r, sm, scope="warp")


def half_a_warp(k: Kernel, r: Any, sm: Any) -> None:
    with k.when(tx < 40):
        k.apply(X1, r, sm, scope="warp")


def every_other_lane(k: Kernel, r: Any, sm: Any) -> None:
    with k.when(laneid % 2 == 0):
        k.apply(X1, r, sm, scope="warp")


def one_warp(k: Kernel, r: Any, sm: Any) -> None:
    n = k.scalar("n", 0, 2)
    with k.when(warpid < n):
        k.apply(X1, r, sm, scope="warp")


def even_loop(k: Kernel, r: Any, sm: Any) -> None:
    with k.loop("i", laneid, 64, 32):
        k.apply(X1, r, sm, scope="warp")


@pytest.mark.parametrize("body", [lane_loop, half_a_warp, every_other_lane], ids=lambda f: f.__name__)
def test_a_warp_that_is_not_whole_is_refused_with_a_lane(body: Callable[..., None]) -> None:
    k, r, sm = matrix_kernel()
    with pytest.raises(ContractError, match=r"ldmatrix.converged") as refusal:
        body(k, r, sm)
    assert refusal.value.report.counterexample is not None
    assert refusal.value.report.counterexample.lane is not None
    assert k.reports == ()
    assert X1 not in k.ptx()


@pytest.mark.parametrize("body", [one_warp, even_loop], ids=lambda f: f.__name__)
def test_a_whole_warp_under_a_guard_is_proved(body: Callable[..., None]) -> None:
    k, r, sm = matrix_kernel()
    body(k, r, sm)
    (report,) = k.reports
    assert report.verdict is Verdict.PROVED


def test_facts_of_a_block_end_with_it() -> None:
    k = Kernel("facts", block=32)
    n = k.scalar("n", 0, 100)
    a = k.parameter("A", (64,), "uint32")
    words = k.registers("words", (4,), "uint32")
    with k.when((n % 4 == 0) & (n <= 60)):
        k.apply(V4, words, a[n : n + 4])
    with pytest.raises(ContractError, match=r"ld\.aligned"):
        k.apply(V4, words, a[n : n + 4])
    with k.when(n <= 60):
        k.assume(n % 4 == 0)
        k.apply(V4, words, a[n : n + 4])
    with k.when(n <= 60), pytest.raises(ContractError, match=r"ld\.aligned"):
        k.apply(V4, words, a[n : n + 4])
    k.apply(V4, words, a[n : n + 4], assume=[n % 4 == 0, n <= 60])
    with pytest.raises(ContractError, match=r"ld\.aligned"):
        k.apply(V4, words, a[n : n + 4])


# Widths, spaces, coordinates.


@pytest.mark.parametrize(
    ("dtype", "fill", "opcode"),
    [
        ("uint8", 0xA5, "st.global.b8"),
        ("int16", -2, "st.global.b16"),
        ("float32", 0x3F800000, "st.global.f32"),
        ("uint64", 2**63 + 5, "st.global.b64"),
        ("uint128", 2**100 + 3, "st.global.b128"),
    ],
)
def test_registers_of_every_width_are_filled(dtype: str, fill: int, opcode: str) -> None:
    k = Kernel("fill", block=4)
    out = k.parameter("Out", (4, 3, 1), dtype)
    words = k.registers("words", (3, 1), dtype, fill=fill)
    k.apply(opcode, out[tx], words)
    words_of = np.uint64 if dtype == "uint128" else np.dtype(dtype)
    found = np.zeros(24 if dtype == "uint128" else 12, words_of)
    k.simulate(found)
    size = {"uint8": 1, "int16": 2, "float32": 4, "uint64": 8, "uint128": 16}[dtype]
    assert found.tobytes() == (fill % 2 ** (8 * size)).to_bytes(size, "little") * 12
    assert k.assemble("sm_90a").image


def test_local_memory_and_two_dimensional_blocks() -> None:
    k = Kernel("spill", block=(8, 4))
    a, b = k.parameter("A", (8, 4, 4), "uint32"), k.parameter("B", (8, 4, 4), "uint32")
    words = k.registers("words", (4,), "uint32")
    spilled = k.local("spilled", (4,), "uint32", align=16)
    k.apply(V4, words, a[tx, ty])
    k.apply("st.local.v4.b32", spilled, words)
    k.apply("ld.local.v2.b32", words.view(2, 2), spilled.view(2, 2).permute(0, 1))
    k.apply("st.global.v4.b32", b[tx, ty], words)
    x = np.arange(128, dtype=np.uint32)
    y = np.zeros_like(x)
    k.simulate(x, y)
    assert (x == y).all()
    assert k.assemble("sm_80").image


def test_a_cluster_knows_its_ctas() -> None:
    k = Kernel("cluster", block=32, cluster=2)
    out = k.parameter("Out", (4, 32, 1), "uint32")
    one = k.registers("one", (2, 1, 32, 1), "uint32", fill=7,
                      layout=TileLayout(S[(2, 1, 32, 1) : (1 @ cbx, 1 @ warpid, 1 @ laneid, 1)]))  # fmt: skip
    k.apply("st.global.b32", out[1:3].view(2, 1, 32, 1), one, scope="cluster")
    assert ".reqnctapercluster 2, 1, 1" in k.ptx()
    assert k.ptx().startswith(".version 8.0\n.target sm_90a\n")
    found = np.zeros((4, 32), np.uint32)
    k.simulate(found, grid=2)
    assert found.any(axis=1).tolist() == [False, True, True, False]
    with pytest.raises(EmissionError, match="clusters need sm_90"):
        k.ptx("sm_80")


def odd_lanes() -> tuple[Kernel, list[Any], Any]:
    """A group of every other lane: the register layout says which."""
    k = Kernel("odd_lanes", block=32)
    a, out = k.parameter("A", (16, 4), "uint32"), k.parameter("Out", (32, 4), "uint32")
    raw = k.registers("raw", (4,), "uint32", fill=5)
    mine = raw.declare((16, 4), layout=TileLayout(S[(16, 4) : (2 @ laneid, 1)] + 1 @ laneid))
    with k.when(laneid % 2 == 1):
        k.apply(V4, mine, a, scope="warp")
    k.apply("st.global.v4.b32", out[tx], raw)
    x = np.arange(64, dtype=np.uint32).reshape(16, 4) + 10
    expected = np.full((32, 4), 5, np.uint32)
    for lane in range(1, 32, 2):
        expected[lane] = x[lane // 2]
    return k, [x], expected


def two_warpgroups() -> tuple[Kernel, list[Any], Any]:
    k = Kernel("two_warpgroups", block=256)
    a, out = k.parameter("A", (4, 32, 4), "uint32"), k.parameter("Out", (256, 4), "uint32")
    raw = k.registers("raw", (4,), "uint32")
    mine = raw.declare((4, 32, 4), layout=TileLayout(S[(4, 32, 4) : (1 @ wid_in_wg, 1 @ laneid, 1)]))
    k.apply(V4, mine, a, scope="warpgroup")
    k.apply("st.global.v4.b32", out[tx], raw)
    x = np.arange(512, dtype=np.uint32).reshape(4, 32, 4)
    return k, [x], np.concatenate([x.reshape(128, 4)] * 2)


def backwards() -> tuple[Kernel, list[Any], Any]:
    """What the repeats share is 16 times a negative number."""
    k = Kernel("backwards", block=64)
    down = k.scalar("down", 0, 62)
    a, out = k.parameter("A", (64, 4), "uint32"), k.parameter("Out", (2, 4), "uint32")
    sm = k.shared("SM", (64, 4), "uint32", align=16)
    raw = k.registers("raw", (2, 4), "uint32")
    k.apply(V4, raw[0], a[tx])
    k.apply("st.shared.v4.b32", sm[tx], raw[0])
    k.raw("bar.sync 0;")
    k.apply("ld.shared.v4.b32", raw, sm[62 - down : 64 - down])
    with k.when(tx == 0):
        k.apply("st.global.v4.b32", out, raw)
    x = np.arange(256, dtype=np.uint32).reshape(64, 4)
    return k, [60, x], x[2:4]


def ring() -> tuple[Kernel, list[Any], Any]:
    """A 64-bit count of turns around a ring of 63 rows."""
    k = Kernel("ring", block=64)
    turn = k.scalar("turn", 0)
    a, out = k.parameter("A", (63, 4), "uint32"), k.parameter("Out", (4,), "uint32")
    sm = k.shared("SM", (63, 4), "uint32", align=16)
    raw = k.registers("raw", (4,), "uint32")
    with k.when(tx < 63):
        k.apply(V4, raw, a[tx])
        k.apply("st.shared.v4.b32", sm[tx], raw)
    k.raw("bar.sync 0;")
    k.apply("ld.shared.v4.b32", raw, sm[turn % 63])
    with k.when(tx == 0):
        k.apply("st.global.v4.b32", out, raw)
    x = np.arange(252, dtype=np.uint32).reshape(63, 4)
    return k, [2**40 + 5, x], x[(2**40 + 5) % 63]


def swizzled() -> tuple[Kernel, list[Any], Any]:
    """Rows of 64 halves under the 128-byte swizzle, as four pairs of matrices."""
    k = Kernel("swizzled", block=32)
    a, out = k.parameter("A", (8, 64), "uint16"), k.parameter("Out", (32, 8), "uint32")
    layout = TileLayout(S[(8, 64) : (64, 1)], Swizzle(3, 3, 3))
    sm = k.shared("SM", (8, 64), "uint16", layout=layout, align=1024)
    pieces = k.registers("pieces", (2, 4), "uint32")
    spread = pieces.declare((32, 2, 4), layout=TileLayout(S[(32, 2, 4) : (1 @ laneid, 4, 1)]))
    k.apply(V4, spread, a.view("uint32").view(2, 32, 4).permute(1, 0, 2), scope="warp")
    whole = sm.rearrange("(h r) (c e) -> h r c e", h=2, e=8)
    rows = whole.view("uint32").rearrange("h r c w -> (r c) h w")
    k.apply("st.shared.v4.b32", rows, spread, scope="warp")
    k.raw("bar.sync 0;")
    mine = k.registers("mine", (8,), "uint32")
    fragment = mine.declare((4, 2, 8, 4), layout=TileLayout(S[(4, 2, 8, 4) : (2, 1, 4 @ laneid, 1 @ laneid)]))
    tiles = sm.rearrange("r (k m e) -> k m r e", k=4, m=2).view("uint32")
    k.apply("ldmatrix.sync.aligned.m8n8.x2.shared.b16", fragment, tiles, scope="warp")
    k.apply("st.global.b32", out[tx].view(8, 1), mine.view(8, 1))
    x = np.arange(512, dtype=np.uint16).reshape(8, 64)
    words = x.view(np.uint32)
    expected = np.zeros((32, 8), np.uint32)
    for lane in range(32):
        for matrix in range(8):
            expected[lane, matrix] = words[lane // 4, 4 * matrix + lane % 4]
    return k, [x], expected


@pytest.mark.parametrize(
    "build", [odd_lanes, two_warpgroups, backwards, ring, swizzled], ids=lambda f: f.__name__
)
def test_the_numbers_of_a_kernel(build: Callable[[], tuple[Kernel, list[Any], Any]]) -> None:
    k, arguments, expected = build()
    found = np.zeros_like(expected)
    k.simulate(*arguments, found)
    assert (found == expected).all()
    assert k.assemble("sm_90a").image


@settings(max_examples=30)
@given(st.data())
def test_strided_views_move_what_their_strides_say(data: st.DataObject) -> None:
    """Any strides of repeats, lanes and register slots, against plain loops."""
    vector = data.draw(st.sampled_from((1, 2, 4)))
    repeats = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    lane_stride, *steps = (vector * data.draw(st.integers(0, 5)) for _ in range(3))
    start = vector * data.draw(st.integers(0, 3))
    count = repeats[0] * repeats[1] * vector

    k = Kernel("strided", block=64)
    n = k.scalar("n", 0, 3)
    size = start + 63 * lane_stride + 2 * steps[0] + 2 * steps[1] + vector + 3 * vector
    a = k.parameter("A", (size,), "uint32")
    out = k.parameter("Out", (64, count), "uint32")
    mine = k.registers("mine", (count,), "uint32")
    view = a.declare(
        (2, 32, *repeats, vector),
        layout=TileLayout(S[(2, 32, *repeats, vector) : (32 * lane_stride, lane_stride, *steps, 1)]),
        at=start + n * vector,
    )
    shape = (2, 32, *repeats, vector)
    turned = TileLayout(S[shape : (1 @ warpid, 1 @ laneid, vector, repeats[0] * vector, 1)])
    spelling = "ld.global.b32" if vector == 1 else f"ld.global.v{vector}.b32"
    k.apply(spelling, mine.declare(shape, layout=turned), view, scope="cta")
    k.apply("st.global.b32", out[tx].view(count, 1), mine.view(count, 1))

    chosen = data.draw(st.integers(0, 3))
    source, found = np.arange(size, dtype=np.uint32) * 3, np.zeros((64, count), np.uint32)
    k.simulate(chosen, source, found)
    for thread in range(64):
        for i in range(repeats[0]):
            for j in range(repeats[1]):
                for word in range(vector):
                    at = start + chosen * vector + thread * lane_stride + i * steps[0] + j * steps[1] + word
                    assert found[thread, (j * repeats[0] + i) * vector + word] == source[at]


# What is refused while a kernel is built.


def test_a_view_of_registers_of_another_width_is_refused() -> None:
    k = Kernel("widths", block=32)
    halves = k.registers("halves", (8,), "float16")
    a = k.parameter("A", (4,), "uint32")
    with pytest.raises(
        EmissionError, match=r"halves has 16-bit registers \(float16\), and its view here 32-bit"
    ):
        k.apply(V4, halves.view("uint32"), a)
    whole = k.registers("whole", (4,), "uint32")
    assert k.apply(V4, whole.view("float32"), a.view("float32")).verdict is Verdict.PROVED


def test_storage_that_the_kernel_does_not_declare_is_refused() -> None:
    other = Kernel("other").parameter("A", (4,), "uint32")
    k = Kernel("mine")
    words = k.registers("words", (4,), "uint32")
    with pytest.raises(CallError, match="A is not declared here"):
        k.apply(V4, words, other)


def test_a_symbol_that_the_kernel_does_not_declare_is_refused() -> None:
    k = Kernel("free")
    words = k.registers("words", (4,), "uint32")
    a = k.parameter("A", (64, 4), "uint32")
    i = symbol("i", 0, 63)
    with pytest.raises(CallError, match="i has no value here"):
        k.apply(V4, words, a[i])
    with pytest.raises(CallError, match="i has no value here"), k.loop("j", 0, i):
        pass


def test_the_variable_of_a_loop_ends_with_it() -> None:
    k = Kernel("after")
    words = k.registers("words", (4,), "uint32")
    a = k.parameter("A", (64, 4), "uint32")
    with k.loop("i", 0, 64) as i:
        k.apply(V4, words, a[i])
    with pytest.raises(CallError, match="i has no value here"):
        k.apply(V4, words, a[i])
    with pytest.raises(CallError, match="i has no value here"), k.when(i < 3):
        pass
    n = k.scalar("n", 0)
    with pytest.raises(CallError, match="i has no value here"):
        k.assume(n == i)
    with pytest.raises(CallError, match="i has no value here"):
        k.apply(V4, words, a[n], assume=n == i)


@pytest.mark.parametrize(
    "text",
    ["", ";", "bar.sync 0", "bar.sync 0; bar.sync 1;", "// nothing;", "bar.sync 0; // all", "/**/;",
     "{ exit; }", ".reg;", "$label:", "@%p;", "label: bra label;", "label: ret;"],
)  # fmt: skip
def test_raw_takes_one_instruction(text: str) -> None:
    with pytest.raises(CallError, match="raw takes one PTX instruction"):
        Kernel("raw").raw(text)


@pytest.mark.parametrize("text", ["bra $end;", "exit;", "ret;", "@%q bra.uni $end;", "call f;"])
def test_raw_takes_no_control_flow(text: str) -> None:
    with pytest.raises(CallError, match="control flow"):
        Kernel("raw").raw(text)


def test_raw_instructions_stand_where_they_were_written() -> None:
    k = Kernel("raw", block=32)
    out = k.parameter("Out", (32, 1), "uint32")
    word = k.registers("word", (1,), "uint32", fill=1)
    k.raw(".reg .pred %odd;")
    k.raw(".reg .b32 %bit;")
    k.raw("and.b32 %bit, %word_0, 1;")
    k.raw("setp.ne.b32 %odd, %bit, 0;")
    k.raw("  @%odd add.u32 %word_0, %word_0, 41;  ")
    k.apply("st.global.b32", out[tx], word)
    found = np.zeros(32, np.uint32)
    k.simulate(found)
    assert (found == 42).all()


def duplicate(k: Kernel) -> None:
    k.parameter("A", (4,), "uint32")
    k.shared("A", (4,), "uint32")


def too_much_shared(k: Kernel) -> None:
    k.shared("SM", (12 * 1024,), "uint32")
    k.shared("More", (1,), "uint8")


def symbolic_shared(k: Kernel) -> None:
    k.shared("SM", (k.scalar("n", 1, 8),), "uint32")


def backward_loop(k: Kernel) -> None:
    with k.loop("i", 0, 8, 0):
        pass


def loop_to_anywhere(k: Kernel) -> None:
    with k.loop("i", 0, k.scalar("n"), 3):
        pass


def two_counts(k: Kernel) -> None:
    k.block_index("x", 4)
    k.block_index("x", 5)


def six_bits(k: Kernel) -> None:
    k.registers("R", (4,), "float6_e2m3fn")


def wide_fill(k: Kernel) -> None:
    k.registers("R", (4,), "uint8", fill=256)


def own_launch(k: Kernel) -> None:
    k.apply(V4, k.registers("R", (4,), "uint32"), k.parameter("A", (4,), "uint32"), block=64)


def too_aligned(k: Kernel) -> None:
    k.shared("Kept", (4,), "uint32", align=1024)
    k.shared("Lost", (4,), "uint32", align=2048)


def inside_a_block(k: Kernel) -> None:
    with k.when(tx < 4):
        k.ptx()


MALFORMED: list[tuple[Callable[[Kernel], None], type[Exception], str]] = [
    (duplicate, CallError, "the name A is taken"),
    (too_much_shared, CallError, "More brings static shared memory to 49153 bytes, and 49152 is the most"),
    (too_aligned, CallError, "tensor Lost: align is 2048, and shared memory keeps at most 1024 bytes"),
    (symbolic_shared, CallError, "static size"),
    (backward_loop, CallError, "the step 0 may be less than 1"),
    (loop_to_anywhere, EmissionError, "declare narrower bounds"),
    (two_counts, CallError, "has count 4 already; now it was given 5"),
    (six_bits, CallError, "float6_e2m3fn has 6 bits"),
    (wide_fill, CallError, "fill is 0x100, which 8 bits cannot hold"),
    (own_launch, CallError, "apply takes no block"),
    (inside_a_block, EmissionError, "a block is still open"),
]


@pytest.mark.parametrize(("build", "error", "words"), MALFORMED, ids=[m[0].__name__ for m in MALFORMED])
def test_what_is_malformed_is_refused(
    build: Callable[[Kernel], None], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        build(Kernel("malformed"))


def test_the_most_shared_memory_is_allowed() -> None:
    k = Kernel("full")
    k.shared("SM", (12 * 1024,), "uint32")
    assert k.assemble("sm_80").kernels[0].static_shared_bytes == 48 * 1024


def test_names_that_ptx_has_already() -> None:
    k = Kernel("add", block=32)
    tid, r0 = k.scalar("tid", 0, 3), k.scalar("r0", 0, 3)
    mov, out = k.parameter("mov", (8, 32, 1), "uint32"), k.parameter("min", (32, 1), "uint32")
    word = k.registers("p", (1,), "uint32")
    k.apply("ld.global.b32", word, mov[tid + r0, tx])
    k.apply("st.global.b32", out[tx], word)
    a, b = np.arange(256, dtype=np.uint32), np.zeros(32, np.uint32)
    k.simulate(2, 1, a, b)
    assert (b == a[96:128]).all()
    assert k.assemble("sm_80").image


# Architectures.


def test_a_form_that_the_architecture_lacks_is_refused() -> None:
    k = Kernel("wide")
    a, words = k.parameter("A", (8,), "uint32"), k.registers("words", (8,), "uint32")
    k.apply("ld.global.v8.b32", words, a)
    assert k.architecture == "sm_100a"
    assert ".version 8.8\n.target sm_100a" in k.ptx()
    with pytest.raises(EmissionError, match=r"kernel wide: ld.global.v8.b32.*sm_100"):
        k.ptx("sm_90a")
    with pytest.raises(CallError, match="sm_9000"):
        k.ptx("sm_9000")


def test_the_version_is_the_oldest_that_has_everything() -> None:
    k = Kernel("versions")
    assert ".version 7.0\n.target sm_80\n" in k.ptx()
    assert ".version 8.0\n.target sm_90a\n" in k.ptx("sm_90a")
    assert ".version 8.7\n.target sm_120a\n" in k.ptx("sm_120a")
    later = Kernel("later", ptx_version=(8, 3))
    assert ".version 8.3\n.target sm_80\n" in later.ptx()
    assemble(k.ptx(), "sm_80")


# Arguments.


def checked() -> Kernel:
    k = Kernel("checked", block=32)
    n = k.scalar("n", 0, 100, multiple_of=4)
    rows = k.scalar("rows", 1, 10)
    a = k.parameter("A", (rows, 16), "float32")
    b = k.parameter("B", (16,), "bfloat16", align=512)
    words = k.registers("words", (4,), "uint32")
    k.assume(rows * 16 >= n + 4)
    with k.when(n >= 8):
        k.assume(n % 8 == 0)
        k.apply(V4, words, a.view("uint32").view(rows * 16)[n : n + 4])
    with k.when(tx < n):
        k.assume(rows != 3)
    k.apply("ld.global.v2.b32", words[:2], b.view("uint32")[:2])
    k.block_index("y", 2)
    return k


class DeviceArray:
    """An array on the device, which nothing here can follow."""

    def __init__(
        self, size: int, dtype: str = "float32", address: int = 0x7000_0000, strides: Any = None
    ) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size,), "typestr": np.dtype(dtype).str, "data": (address, False), "strides": strides,
            "version": 3,
        }  # fmt: skip


F = np.zeros(160, np.float32)
D = DeviceArray(16, "uint16", 0x7000_0200)

GOOD: list[tuple[Any, ...]] = [
    (8, 10, F, D),
    (np.int64(0), 1, F[:16], D),
    (4, 1, F, D),
    (8, 2, DeviceArray(32), D),
]

BAD: list[tuple[tuple[Any, ...], Any, str]] = [
    ((8, 10, F), 1, r"has 4 parameters \(n, rows, A, B\); 3 arguments"),
    ((8.0, 10, F, D), 1, "parameter n: needed an integer, found 8.0"),
    ((True, 10, F, D), 1, "parameter n: needed an integer, found True"),
    ((104, 10, F, D), 1, "parameter n: needed a number from 0 to 100, found 104"),
    ((10, 10, F, D), 1, "parameter n: needed a multiple of 4, found 10"),
    ((8, 0, F, D), 1, "parameter rows: needed a number from 1 to 10, found 0"),
    ((16, 1, F, D), 1, r"proved where .*, and here n = 16, rows = 1"),
    ((12, 10, F, D), 1, r"proved where .*, and here n = 12, rows = 10"),
    ((8, 3, F, D), 1, r"proved where .*, and here n = 8, rows = 3"),
    ((8, 10, F[:159], D), 1, "parameter A: needed at least 640 bytes, found 636 bytes"),
    ((8, 10, F.astype(np.float64), D), 1, "parameter A: needed elements of type float32, found float64"),
    ((8, 10, F.astype(">f4"), D), 1, "parameter A: needed elements of type float32, found >f4"),
    ((8, 10, [1.0], D), 1, "parameter A: needed a NumPy array or an array on the device, found a list"),
    ((8, 10, DeviceArray(160, address=0x7000_0080), D), 1, "A: needed an address that is a multiple of 256"),
    ((8, 10, DeviceArray(160, strides=(8,)), D), 1, r"A: needed a contiguous array, found .* strides \(2,\)"),
    ((8, 10, F, np.zeros(16, np.uint16)), 1, "B: needed an array on the device at a multiple of 512 bytes"),
    ((8, 10, F, DeviceArray(16, "uint32", 0x7000_0200)), 1, "B: needed .* bfloat16 or uint16, found uint32"),
    ((8, 10, F, D), (1, 3), "at most 2 CTAs along y"),
    ((8, 10, F, D), "one", "grid is 'one'"),
]  # fmt: skip


@pytest.mark.parametrize("arguments", GOOD, ids=range(len(GOOD)))
def test_arguments_that_keep_what_was_proved_with(arguments: tuple[Any, ...]) -> None:
    host.check_arguments(checked().definition, arguments, (1, 2))


@pytest.mark.parametrize(("arguments", "grid", "words"), BAD, ids=range(len(BAD)))
def test_arguments_that_break_what_was_proved_with(arguments: tuple[Any, ...], grid: Any, words: str) -> None:
    with pytest.raises(LaunchError, match=words):
        checked().launch(*arguments, grid=grid)


@pytest.mark.parametrize("at_the_call", [False, True])
@pytest.mark.parametrize(("guard", "proved"), [(1, False), (4, True)])
def test_what_is_assumed_under_a_guard_holds_for_the_ctas_under_it(
    guard: int, proved: bool, at_the_call: bool
) -> None:
    k = Kernel("some", block=32, cluster=2)
    which = k.block_index("x", 4)
    a = k.parameter("A", (2, 1, 32, 1), "uint32")
    word = k.registers(
        "word", (2, 1, 32, 1), "uint32", layout=TileLayout(S[(2, 1, 32, 1) : (1 @ cbx, 1, 1 @ laneid, 1)])
    )
    with k.when(which < guard):
        given = which < guard
        if not at_the_call:
            k.assume(given)
        with nullcontext() if proved else pytest.raises(ContractError, match=r"ld\.converged"):
            k.apply("ld.global.b32", word, a, scope="cluster", assume=[given] if at_the_call else [])


@pytest.mark.parametrize("most", [4096, None])
def test_an_array_is_as_large_as_its_strides_reach(most: int | None) -> None:
    k = Kernel("pitched", block=32)
    ld = k.scalar("ld", 16, most, multiple_of=4)
    a = k.parameter("A", (32, 16), "float32", layout=TileLayout(S[(32, 16) : (ld, 1)]))
    k.apply(V4, k.registers("words", (4,), "float32").view("uint32"), a[tx, 12:16].view("uint32"))
    host.check_arguments(k.definition, (20, np.zeros(31 * 20 + 16, np.float32)), 1)
    with pytest.raises(LaunchError, match="A: needed at least 2544 bytes, found 2540 bytes"):
        host.check_arguments(k.definition, (20, np.zeros(31 * 20 + 15, np.float32)), 1)


def test_a_launch_hands_checked_arguments_to_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    launched: list[Any] = []
    monkeypatch.setattr(launcher, "compute_capability", lambda device: (9, 0))
    monkeypatch.setattr(
        launcher, "launch", lambda *a, **k: launched.append(SimpleNamespace(positional=a, named=k))
    )
    a, b = np.zeros(8, np.float32), np.zeros(8, np.float32)
    guarded_copy().launch(8, a, b, grid=2, device=1)
    (call,) = launched
    cubin, name, grid, block, arguments = call.positional
    assert (cubin.arch, name, grid, block) == ("sm_90a", "guarded_copy", 2, (64, 1, 1))
    assert arguments[0] == (8, "s32")
    assert arguments[1] is a
    assert call.named == {"cluster": None, "dynamic_shared": 0, "device": 1, "stream": None}


@pytest.mark.parametrize(
    ("capability", "arch"),
    [((8, 0), "sm_80"), ((8, 9), "sm_89"), ((9, 0), "sm_90a"), ((10, 0), "sm_100a"), ((12, 0), "sm_120a")],
)
def test_the_target_of_a_gpu_has_all_its_features(
    capability: tuple[int, int], arch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "compute_capability", lambda device: capability)
    assert host.device_architecture() == arch


def test_simulation_takes_host_arrays_at_no_more_than_the_promised_alignment() -> None:
    k = guarded_copy()
    with pytest.raises(LaunchError, match="A: needed a NumPy array to simulate with"):
        k.simulate(1, DeviceArray(1), np.zeros(1, np.float32))
    frozen = np.zeros(1, np.float32)
    frozen.flags.writeable = False
    with pytest.raises(SimulationError, match="writable"):
        k.simulate(1, frozen, np.zeros(1, np.float32))


def test_one_array_may_be_passed_twice() -> None:
    a = np.arange(64, dtype=np.float32)
    guarded_copy().simulate(64, a, a)
    assert (a == np.arange(64)).all()
