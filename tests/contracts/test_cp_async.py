"""``cp.async``: every demand with the call that meets it by a hair and the one next to it that does not."""

from __future__ import annotations

from typing import Any

import pytest

import tileproof as tp
from tests.contracts.calls import (
    PROVED,
    REFUTED,
    Neighbours,
    Setup,
    assert_hazard,
    assert_neighbours,
    check,
    failing,
    memory,
    on,
    registers,
)
from tests.proofs.replay import assert_complete
from tileproof import R, S, Swizzle, TileLayout, laneid, tx, warpid
from tileproof.contracts.families import load
from tileproof.contracts.grammar import enumerate_spellings, resolve
from tileproof.contracts.issue import Constant, Memory, Predicate, Scalar
from tileproof.errors import CallError, TileproofError

CA, CG = "cp.async.ca.shared.global", "cp.async.cg.shared.global"


def shared(shape: tuple[int, ...], strides: Any = None, extra: Any = None, **more: Any) -> tp.Tensor:
    return memory(shape, strides, extra, space="shared", name="SM", **more)


def copy(destination: Any, source: Any, chunk_bytes: int = 16, **more: Any) -> Setup:
    """A copy by one thread, for further threads would write to the same place."""
    return on(destination, source, **{"chunk_bytes": chunk_bytes, "block": 1, **more})


ONE = shared((4,))
WORDS = memory((4,))
LONG = memory((4096,))
N = tp.symbol("n", 0, 4096)
I = tp.symbol("i", 0, 4096)


@pytest.mark.parametrize(
    ("opcode", "chunk", "bits"),
    [(CA, chunk, bits) for chunk in (4, 8, 16) for bits in (8, 16, 32, 64, 128) if bits <= 8 * chunk]
    + [(CG, 16, bits) for bits in (8, 16, 32, 64, 128)],
)
@pytest.mark.parametrize("side", ["destination", "source"])
def test_both_sides_are_aligned_to_the_chunk(opcode: str, chunk: int, bits: int, side: str) -> None:
    count = chunk * 8 // bits

    def call(destination: int, source: int) -> Setup:
        return copy(
            shared((count,), bits=bits, align=destination), memory((count,), bits=bits, align=source), chunk
        )

    assert check(opcode, call(chunk, chunk)).verdict is PROVED
    wrong = call(chunk // 2, chunk) if side == "destination" else call(chunk, chunk // 2)
    report = check(opcode, wrong)
    assert failing(report) == {f"{side}-aligned"}
    assert_complete(report)


BROKEN = [
    Neighbours(
        "destination-aligned", "a pitch of 24 bytes",
        copy(shared((32, 4), (8, 1)), memory((32, 4)), scope="warp", block=32),
        copy(shared((32, 4), (6, 1)), memory((32, 4)), scope="warp", block=32),
        {"lane": 1, "byte_address": 24}, CG,
    ),
    Neighbours(
        "source-aligned", "a row of seven halves",
        copy(shared((2,), bits=16), memory((8, 8), bits=16)[tx, 0:2], 4, block=8, hazards="ignore"),
        copy(shared((2,), bits=16), memory((8, 7), bits=16)[tx, 0:2], 4, block=8, hazards="ignore"),
        {"lane": 1, "byte_address": 14}, CA,
    ),
    Neighbours(
        "source-aligned", "alignment is demanded where nothing is read",
        copy(ONE, LONG[4:8], src_size=0), copy(ONE, LONG[2:6], src_size=0), {"byte_address": 8}, CG,
    ),
    Neighbours(
        "source-aligned", "alignment is demanded where the source is ignored",
        copy(ONE, LONG[4:8], ignore_src=True), copy(ONE, LONG[2:6], ignore_src=True), {"byte_address": 8}, CG,
    ),
    Neighbours(
        "destination-contiguous", "every second word",
        copy(ONE, WORDS), copy(shared((4,), (2,)), WORDS), {"byte_address": 8}, CG,
    ),
    Neighbours(
        "source-contiguous", "every second word",
        copy(ONE, WORDS), copy(ONE, memory((4,), (2,))), {"byte_address": 8}, CG,
    ),
    Neighbours(
        "destination-contiguous", "a swizzle inside a chunk",
        copy(shared((8, 16), swizzle=Swizzle(1, 2, 3))[1, 0:4], WORDS),
        copy(shared((8, 16), swizzle=Swizzle(1, 0, 1))[1, 0:4], WORDS),
        {}, CG,
    ),
    Neighbours(
        "src-size", "one byte too many",
        copy(ONE, WORDS, src_size=16), copy(ONE, WORDS, src_size=17), {"found": "src_size 17"}, CG,
    ),
    Neighbours(
        "src-size", "one byte too few",
        copy(ONE, WORDS, src_size=0), copy(ONE, WORDS, src_size=-1), {"found": "src_size -1"}, CG,
    ),
    Neighbours(
        "src-size", "as many as the chunk has",
        copy(shared((1,)), memory((1,)), 4, src_size=4), copy(shared((1,)), memory((1,)), 4, src_size=5), {}, CA,
    ),
    Neighbours(
        "src-size", "a number of the thread's own",
        copy(shared((17, 4)).permute(0, 1)[tx], memory((17, 4))[tx], src_size=tx.as_index(), block=17),
        copy(shared((18, 4)).permute(0, 1)[tx], memory((18, 4))[tx], src_size=tx.as_index(), block=18),
        {"lane": 17}, CG,
    ),
    Neighbours(
        "src-size", "an expression without a lower end",
        copy(ONE, WORDS, src_size=tp.minimum(tp.maximum(N - 5, 0), 16)),
        copy(ONE, WORDS, src_size=tp.minimum(N - 5, 16)), {"symbols": {"n": 0}}, CG,
    ),
    Neighbours(
        "in-bounds", "a destination past the end, although the source is cut",
        copy(shared((64,))[4 * I : 4 * I + 4], WORDS, src_size=0, active=I < 16),
        copy(shared((64,))[4 * I : 4 * I + 4], WORDS, src_size=0, active=I < 17), {"symbols": {"i": 16}}, CG,
    ),
    Neighbours(
        "in-bounds", "a source past the end",
        copy(ONE, LONG[4 * I : 4 * I + 4], active=I < 1024),
        copy(ONE, LONG[4 * I : 4 * I + 4], active=I < 1025), {"symbols": {"i": 1024}}, CG,
    ),
    Neighbours(
        "in-bounds", "a source past the end, of which the last word is not read",
        copy(ONE, memory((7,))[4:8], src_size=12), copy(ONE, memory((7,))[4:8], src_size=13),
        {"byte_address": 28}, CG,
    ),
    Neighbours(
        "in-bounds", "a source past the end where it is ignored",
        copy(ONE, LONG[4 * I : 4 * I + 4], ignore_src=I >= 1024),
        copy(ONE, LONG[4 * I : 4 * I + 4], ignore_src=I > 1024), {"symbols": {"i": 1024}}, CG,
    ),
    Neighbours(
        "in-bounds", "a source that begins before its tensor",
        copy(ONE, LONG[4 * I - 4 : 4 * I], ignore_src=I < 1, active=I < 9),
        copy(ONE, LONG[4 * I - 8 : 4 * I - 4], ignore_src=I < 1, active=I < 9), {"symbols": {"i": 1}}, CG,
    ),
    Neighbours(
        "in-bounds", "a row past the end",
        copy(ONE, memory((64, 4))[I], ignore_src=I >= 64), copy(ONE, memory((64, 4))[I], ignore_src=I >= 65),
        {"symbols": {"i": 64}}, CG,
    ),
    Neighbours(
        "in-bounds", "the tail of a tensor whose size is known at run time",
        copy(
            shared((8,), bits=16), tp.tensor("A", (N,), "float16", align=16)[8 * I : 8 * I + 8],
            src_size=tp.minimum(tp.maximum(2 * (N - 8 * I), 0), 16),
        ),
        copy(
            shared((8,), bits=16), tp.tensor("A", (N,), "float16", align=16)[8 * I : 8 * I + 8],
            src_size=tp.minimum(tp.maximum(2 * (N - 8 * I) + 1, 0), 16),
        ),
        {}, CG,
    ),
    Neighbours(
        "in-bounds", "words made of halves, whose halves nobody tells apart",
        copy(ONE, memory((8,), bits=16)[0:8].view("uint32"), src_size=14),
        copy(ONE, memory((7,), bits=16)[0:8].view("uint32"), src_size=14), {}, CG,
    ),
    Neighbours(
        "in-storage", "a declared source, of which 12 bytes are read",
        copy(ONE, tp.tensor("RAW", (28,), "uint8").declare((4,), "uint32", at=16), src_size=12),
        copy(ONE, tp.tensor("RAW", (27,), "uint8").declare((4,), "uint32", at=16), src_size=12),
        {"byte_address": 16}, CG,
    ),
    Neighbours(
        "in-storage", "a declared source that is ignored",
        copy(ONE, tp.tensor("RAW", (16,), "uint8").declare((4,), "uint32", at=16), ignore_src=True),
        copy(ONE, tp.tensor("RAW", (16,), "uint8").declare((4,), "uint32", at=16), ignore_src=False), {}, CG,
    ),
    Neighbours(
        "in-storage", "a declared destination",
        copy(tp.tensor("RAW", (32,), "uint8", "shared", align=16).declare((4,), "uint32", at=16), WORDS),
        copy(tp.tensor("RAW", (31,), "uint8", "shared", align=16).declare((4,), "uint32", at=16), WORDS),
        {"byte_address": 16}, CG,
    ),
    Neighbours(
        "no-overflow", "an offset in 32 bits",
        copy(ONE, memory((1 << 29,))[4 * I : 4 * I + 4], index_bits=32),
        copy(ONE, memory((1 << 30,))[(1 << 17) * I : (1 << 17) * I + 4], index_bits=32), {}, CG,
    ),
    Neighbours(
        "width", "elements of one width on both sides",
        copy(ONE, memory((8,), bits=16)[0:8].view("uint32")), copy(ONE, memory((4,), bits=16)), {}, CG,
    ),
    Neighbours(
        "width", "elements no wider than the chunk",
        copy(shared((1,), bits=64), memory((1,), bits=64), 8), copy(shared((1,), bits=128), memory((1,), bits=128), 8),
        {}, CA,
    ),
    Neighbours(
        "shape", "as many elements as the chunk has",
        copy(shared((4,), bits=8), memory((4,), bits=8), 4), copy(shared((8,), bits=8), memory((8,), bits=8), 4), {}, CA,
    ),
    Neighbours(
        "shape", "one group and one repeat",
        copy(shared((3, 4)), memory((3, 4))), copy(shared((3, 4)), memory((2, 4))), {}, CG,
    ),
    Neighbours("space", "into shared memory", copy(ONE, WORDS), copy(memory((4,), name="B"), WORDS), {}, CG),
    Neighbours("space", "from global memory", copy(ONE, WORDS), copy(ONE, memory((4,), space="local")), {}, CG),
    Neighbours(
        "covered", "a group of whoever executes",
        copy(shared((2, 32, 4)), memory((2, 32, 4)), scope="cta", block=64),
        copy(shared((2, 32, 4)), memory((2, 32, 4)), scope="cta", block=96), {"warp": 2}, CG,
    ),
    Neighbours(
        "converged", "a group of whoever executes",
        copy(shared((2, 32, 4)), memory((2, 32, 4)), scope="cta", block=64),
        copy(shared((2, 32, 4)), memory((2, 32, 4)), scope="cta", block=32), {"warp": 1}, CG,
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_neighbours(case: Neighbours) -> None:
    assert_neighbours(case)


ROWS = shared((32, 4))
HAZARDS = [
    Neighbours(
        "write-conflict", "two lanes to one place",
        copy(ROWS, memory((32, 4)), scope="warp", block=32),
        copy(shared((32, 4), (0, 1)), memory((32, 4)), scope="warp", block=32), {"lane": 0}, CG,
    ),
    Neighbours(
        "write-conflict", "two repeats to one place",
        copy(shared((3, 4)), memory((3, 4))), copy(shared((3, 4), (0, 1)), memory((3, 4))), {}, CG,
    ),
    Neighbours(
        "write-conflict", "threads of a block to one place",
        copy(shared((64, 4))[tx], memory((64, 4))[tx], block=64), copy(ONE, memory((64, 4))[tx], block=64), {}, CG,
    ),
    Neighbours(
        "write-conflict", "only one of them copies",
        copy(ONE, memory((64, 4))[tx], block=64, pred=tx == 3), copy(ONE, memory((64, 4))[tx], block=64, pred=tx >= 62),
        {}, CG,
    ),
    Neighbours(
        "replica", "a copy that goes stale",
        copy(ONE, WORDS), copy(shared((4,), (1,), R[2:64]), WORDS), {}, CG,
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", HAZARDS, ids=str)
def test_hazards(case: Neighbours) -> None:
    assert_hazard(case)


LEGAL = {
    "sources of all lanes in one place": copy(ROWS, memory((32, 4), (0, 1)), scope="warp", block=32),
    "a swizzled tile, a chunk of each thread": copy(
        shared((32, 32), align=1024, swizzle=Swizzle(3, 2, 3))[tx // 8, tx % 8 * 4 : tx % 8 * 4 + 4],
        memory((32, 32))[tx // 8, tx % 8 * 4 : tx % 8 * 4 + 4],
        block=256,
    ),
    "lanes from the sixteenth on": copy(
        shared((16, 4)), memory((16, 4)), scope="warp", block=32, active=laneid >= 16
    ),
    "every second lane": copy(
        shared((16, 4)), memory((16, 4)), scope="warp", block=32, active=laneid % 2 == 0
    ),
    "the last two of four warps": copy(
        shared((2, 32, 4)), memory((2, 32, 4)), scope="cta", block=128, active=warpid >= 2
    ),
    "a stage of a ring": copy(
        shared((3, 4))[tp.symbol("t") % 3], memory((512, 4))[tp.symbol("u", 0, 511)], hazards="error"
    ),
    "bytes": copy(shared((16,), bits=8), memory((16,), bits=8)),
    "of a row of a wider tensor": copy(ONE, memory((8, 12))[tp.symbol("r", 0, 7), 4:8]),
}


@pytest.mark.parametrize("name", LEGAL)
def test_legal(name: str) -> None:
    report = check(CG, LEGAL[name])
    assert report.verdict is PROVED, str(report)


@pytest.mark.parametrize(
    ("opcode", "chunk", "needed"),
    [
        (CA, 2, "4 or 8 or 16 bytes"),
        (CA, 32, "4 or 8 or 16 bytes"),
        (CA, 0, "4 or 8 or 16 bytes"),
        (CA, -16, "4 or 8 or 16 bytes"),
        (CG, 8, "16 bytes"),
        (CG, 4, "16 bytes"),
    ],
)
def test_chunk_sizes(opcode: str, chunk: int, needed: str) -> None:
    report = tp.check(opcode, ONE, WORDS, chunk_bytes=chunk)
    assert report.verdict is REFUTED
    (finding,) = report.failures
    assert finding.obligation.id == "cp.async.chunk-bytes"
    assert finding.counterexample is not None
    assert (finding.counterexample.needed, finding.counterexample.found) == (needed, f"{chunk} bytes")


@pytest.mark.parametrize(
    ("opcode", "parameters", "message"),
    [
        (CG, {}, "needs chunk_bytes="),
        (CG, {"chunk_bytes": True}, "needs chunk_bytes="),
        (CG, {"chunk_bytes": 16.0}, "needs chunk_bytes="),
        (CG, {"chunk_bytes": N}, "needs chunk_bytes="),
        (CG, {"chunk_bytes": 16, "src_size": 8, "ignore_src": N > 1}, "exclude each other"),
        (CG, {"chunk_bytes": 16, "src_size": False}, "src_size is a number of bytes"),
        (CG, {"chunk_bytes": 16, "cache_policy": N}, "cache_policy does not apply"),
        (CG + ".L2::cache_hint", {"chunk_bytes": 16}, "needs cache_policy="),
        (CG, {"chunk_bytes": 16, "preserve_dst": True}, "no parameter preserve_dst"),
    ],
)
def test_malformed(opcode: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(CallError, match=message):
        tp.check(opcode, ONE, WORDS, **parameters)


@pytest.mark.parametrize("parameters", [{"src_size": "8"}, {"ignore_src": 1}, {"pred": 1}])
def test_parameters_of_a_wrong_kind(parameters: dict[str, Any]) -> None:
    with pytest.raises(TileproofError):
        tp.check(CG, ONE, WORDS, chunk_bytes=16, **parameters)


def test_registers_are_no_operand() -> None:
    report = tp.check(CG, ONE, registers((4,)), chunk_bytes=16)
    assert failing(report) == {"space"}


@pytest.mark.parametrize("opcode", list(enumerate_spellings("cp.async")))
def test_samples_are_proved(opcode: str) -> None:
    family = load()["cp.async"]
    policy = {"cache_policy": tp.symbol("policy")} if "cache_hint" in opcode else {}
    operands = family.sample(resolve(opcode))
    report = tp.check(opcode, *operands, block=1, hazards="error", **family.sample_parameters, **policy)
    assert report.verdict is PROVED, str(report)
    assert report.call.repeat_extents == (2,)


# What is written after the opcode


def issued(opcode: str = CG, **parameters: Any) -> tuple[Any, ...]:
    report = tp.prove(opcode, ONE, WORDS, block=1, chunk_bytes=16, **parameters)
    return load()["cp.async"].issue(report.call)


def test_issue() -> None:
    destination, source, size, *rest = issued()
    assert (destination.view.name, source.view.name) == ("SM", "A")
    assert isinstance(destination, Memory)
    assert isinstance(source, Memory)
    assert isinstance(size, Constant)
    assert size.pattern == 16
    assert rest == [None, None]


def test_issue_of_a_part_and_of_nothing() -> None:
    part, none = issued(src_size=4)[3:]
    assert isinstance(part, Constant)
    assert (part.pattern, none) == (4, None)
    part, none = issued(src_size=tp.minimum(N, 16))[3:]
    assert isinstance(part, Scalar)
    assert (part.bits, none) == (32, None)
    none, ignored, policy = issued(CG + ".L2::cache_hint", ignore_src=N < 3, cache_policy=tp.symbol("p"))[3:]
    assert none is None
    assert isinstance(ignored, Predicate)
    assert (policy.value.args[0].name, policy.bits) == ("p", 64)


def test_views_of_one_storage_stay_apart() -> None:
    """A tensor's own elements tell what is read of them; a layout with strides does not change that."""
    pitched = tp.tensor("A", (8, 12), "uint16", layout=TileLayout(S[(8, 12) : (16, 1)]), align=16)
    row = tp.symbol("r", 0, 8)
    last = pitched[row, 8:16].view(8)
    halves = shared((8,), bits=16)
    assert tp.check(CG, halves, last, chunk_bytes=16, src_size=8, active=row < 8, block=1).verdict is PROVED
    assert failing(tp.check(CG, halves, last, chunk_bytes=16, src_size=9, active=row < 8, block=1)) == {
        "in-bounds"
    }
    assert failing(tp.check(CG, halves, last, chunk_bytes=16, src_size=8, block=1)) == {"in-bounds"}
