"""``cp.async`` as text and as a kernel: its optional operands, and what arrives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

import tileproof as tp
from tests.emit.test_fragment import surrounded
from tileproof import Kernel, Report, laneid, tx
from tileproof.emit.assemble import assemble
from tileproof.emit.fragment import emit
from tileproof.errors import EmissionError

CG = "cp.async.cg.shared.global"
CA = "cp.async.ca.shared.global"
HINTED = f"{CA}.L2::cache_hint.L2::256B"

CHUNK = tp.tensor("SM", (4,), "uint32", "shared", align=16)
I = tp.symbol("i", 0, 1 << 20)
LONG = tp.symbol("n", 0, 1 << 40)
ROW = tp.tensor("A", (LONG,), "uint32", align=16)


def left(whole: Any, start: Any, unit: int) -> Any:
    """How many bytes of a chunk of 16 there are from element ``start`` on."""
    return tp.minimum(tp.maximum(unit * (whole - start), 0), 16)


def check(opcode: str, destination: Any = CHUNK, source: Any = ROW[4 * I : 4 * I + 4], **more: Any) -> Report:
    return tp.check(opcode, destination, source, **{"chunk_bytes": 16, "block": 1, **more})


def whole() -> Report:
    tile = tp.tensor("SM", (2, 32, 3, 8), "float16", "shared", align=16)
    source = tp.tensor("A", (2, 32, 3, 8), "float16")
    return tp.check(CG, tile, source, scope="cta", block=64, chunk_bytes=16)


def tail() -> Report:
    return check(CG, src_size=left(LONG, 4 * I, 4))


def constant() -> Report:
    return check(CA, source=ROW[0:4], src_size=12, assume=LONG > 2)


def ignored() -> Report:
    return check(CG, ignore_src=4 * I + 4 > LONG)


def always_ignored() -> Report:
    return check(CG, ignore_src=True)


def everything() -> Report:
    return check(
        HINTED, ignore_src=4 * I + 4 > LONG, pred=I < 7, cache_policy=tp.symbol("policy"), hazards="ignore"
    )


def fixed_policy() -> Report:
    return check(HINTED, src_size=0, cache_policy=5)


def lanes() -> Report:
    tile = tp.tensor("SM", (16, 2), "uint32", "shared", align=16)
    source = tp.tensor("A", (16, 2), "uint32")
    return tp.check(CA, tile, source, scope="warp", active=laneid % 2 == 0, chunk_bytes=8)


CALLS = [whole, tail, constant, ignored, always_ignored, everything, fixed_policy, lanes]


@pytest.mark.parametrize("call", CALLS, ids=lambda f: f.__name__)
def test_the_text_of_a_copy(call: Any, snapshot: SnapshotAssertion) -> None:
    assert tp.emit(call()) == snapshot


@pytest.mark.parametrize("call", CALLS, ids=lambda f: f.__name__)
def test_a_copy_assembles_beside_the_registers_that_it_names(call: Any) -> None:
    assert assemble(surrounded(emit(call())), "sm_90a").image


@pytest.mark.parametrize(
    ("size", "written"), [(0, "16, 0;"), (16, "16, 16;"), (17, "16, %r"), (-1, "16, %r")]
)
def test_a_size_that_no_copy_has_is_no_immediate(size: int, written: str) -> None:
    # Nobody executes the copy, so any size is legal; the assembler refuses such constants all the same.
    report = check(CA, source=ROW[0:4], src_size=size, assume=LONG > 3, pred=I < 0)
    text = emit(report)
    assert written in text
    assert assemble(surrounded(text), "sm_90a").image


def test_an_amount_that_64_bits_may_not_hold_is_refused() -> None:
    u, v = tp.symbol("u"), tp.symbol("v")
    with pytest.raises(EmissionError, match="declare narrower bounds"):
        emit(check(CG, source=ROW[0:4], src_size=tp.minimum(tp.maximum(u * v, 0), 16), assume=LONG >= 4))


def test_a_narrowed_amount_is_computed_once_for_all_repeats() -> None:
    tile = tp.tensor("SM", (8, 4), "uint32", "shared", align=16)
    rows = tp.tensor("A", (8, LONG), "uint32", align=16)
    report = check(CG, tile, rows[:, 0:4], src_size=left(LONG, 0, 4), assume=LONG % 4 == 0)
    text = emit(report)
    assert text.count(f"{CG} [") == 8
    assert text.count("cvt.u32.u64") == 1


THREADS = 64


def kernel(how: str, bound: int) -> Kernel:
    k = Kernel("tail", block=THREADS)
    n = k.scalar("n", 0, bound)
    a = k.parameter("A", (n,), "uint16", align=16)
    out = k.parameter("Out", (THREADS, 4), "uint32")
    tile = k.shared("SM", (THREADS, 8), "uint16", align=16)
    words = k.registers("words", (4,), "uint32", fill=0xABABABAB)
    k.apply("st.shared.v4.b32", tile[tx].view("uint32"), words)
    start = 8 * tx
    cut = {
        "src_size": {"src_size": left(n, start, 2)},
        "ignore_src": {"ignore_src": start + 8 > n},
        "pred": {"pred": start + 8 <= n},
    }[how]
    k.apply(CG, tile[tx], a[start : start + 8], chunk_bytes=16, **cut)
    k.raw("cp.async.wait_all;")
    k.apply("ld.shared.v4.b32", words, tile[tx].view("uint32"))
    k.apply("st.global.v4.b32", out[tx], words)
    return k


@pytest.mark.parametrize("bound", [512, 1 << 40])
@pytest.mark.parametrize("how", ["src_size", "ignore_src", "pred"])
def test_what_arrives_of_a_tail(how: str, bound: int) -> None:
    """Also where the size is computed in 64 bits and narrowed."""
    built = kernel(how, bound)
    for n in (1, 7, 8, 9, 100, 505, 511, 512):
        a = np.arange(1, n + 1, dtype=np.uint16)
        out = np.zeros((THREADS, 4), np.uint32)
        built.simulate(n, a, out)
        there = np.zeros(THREADS * 8, np.uint16)
        there[:n] = a
        wanted = there.reshape(THREADS, 8)
        if how != "src_size":
            wanted[n // 8 :] = 0 if how == "ignore_src" else 0xABAB
        assert (out.view(np.uint16) == wanted).all(), n
