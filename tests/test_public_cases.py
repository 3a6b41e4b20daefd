"""Mistakes that people reported in public, each with its mended form. The name of a test is the report's."""

from __future__ import annotations

import numpy as np
import pytest

import tileproof as tp
from tests.proofs.replay import assert_complete
from tileproof.errors import SimulationError
from tileproof.layouts.tensor import Tensor
from tileproof.proofs.report import Report
from tileproof.proofs.verdict import Counterexample
from tileproof.simulate import simulate

PROVED, REFUTED = tp.Verdict.PROVED, tp.Verdict.REFUTED


def registers(words: int, bits: int = 32) -> Tensor:
    return tp.tensor("R", (words,), f"b{bits}", "registers")


def refuted(report: Report, obligation: str) -> Counterexample:
    assert report.verdict is REFUTED, str(report)
    assert_complete(report)
    (finding,) = [f for f in report.failures if f.obligation.id == obligation]
    assert finding.counterexample is not None
    return finding.counterexample


def test_pytorch_125437() -> None:
    """A start that wraps modulo an odd extent: aligned until it wraps."""
    a = tp.tensor(
        "A", (50257, 32768), "bfloat16", layout=tp.TileLayout(tp.S[(50257, 32768) : (1, 50304)]), align=16
    )
    m0, k = tp.symbol("m0", 0, 100_000, multiple_of=8), tp.symbol("k", 0, 32767)
    columns = a.permute(1, 0)
    start = m0 % 50257
    report = tp.check(
        "ld.global.v4.b32", registers(4), columns[k : k + 1, start : start + 8].view("uint32").view(4)
    )
    example = refuted(report, "ld.aligned")
    # The first multiple of 8 past the end is 50264, which is element 7 after wrapping: byte 14.
    assert example.symbols["m0"] == 50264
    assert example.byte_address == 14

    mended = columns[k : k + 1, m0 : m0 + 8].view("uint32").view(4)
    assert tp.check("ld.global.v4.b32", registers(4), mended, active=m0 + 8 <= 50257).verdict is PROVED


def test_tvm_9731() -> None:
    """A pair of halves at an odd element."""
    a = tp.tensor("A", (1024,), "float16", align=4)
    i = tp.symbol("i", 0, 255)
    odd = a[1 + 2 * i : 3 + 2 * i].view("uint32")
    assert refuted(tp.check("ld.global.b32", registers(1), odd), "ld.aligned").byte_address == 2
    even = a[2 + 2 * i : 4 + 2 * i].view("uint32")
    assert tp.check("ld.global.b32", registers(1), even).verdict is PROVED


def test_tilelang_2526() -> None:
    """The index is a multiple of four, the base is not known to be."""
    t = tp.tx
    view = tp.tensor("A", (128,), "int32", align=4)[4 * t : 4 * t + 4]
    example = refuted(tp.check("ld.global.v4.b32", registers(4), view), "ld.aligned")
    assert (example.base, example.byte_address) == (4, 0)
    aligned = tp.tensor("A", (128,), "int32", align=16)[4 * t : 4 * t + 4]
    assert tp.check("ld.global.v4.b32", registers(4), aligned).verdict is PROVED


@pytest.mark.parametrize(("name", "step", "byte"), [("nvforum-461", 2, 2), ("nvforum-25769", 3, 3)])
def test_bytes_read_as_words(name: str, step: int, byte: int) -> None:
    """A 32-bit word at a byte offset that only some threads have right."""
    t = tp.tx
    buffer = tp.tensor("A", (128,), "uint8")
    word = buffer[step * t : step * t + 4].view("uint32")
    example = refuted(tp.check("ld.global.u32", registers(1), word), "ld.aligned")
    assert (example.lane, example.byte_address) == (1, byte)
    if name == "nvforum-461":
        for shift in (0, 2):
            half = buffer[step * t + shift : step * t + shift + 2].view("uint16")
            assert tp.check("ld.global.u16", registers(1, 16), half).verdict is PROVED
    else:
        for shift in range(3):
            single = buffer[step * t + shift : step * t + shift + 1]
            assert tp.check("ld.global.u8", registers(1, 8), single).verdict is PROVED


def test_ggml_18799() -> None:
    """16 bytes into a local array of pairs, which PTX aligns to 8."""
    i = tp.symbol("i", 0, 7)
    array = tp.tensor("L", (16, 2), "float32", "local", align=8)
    wide = array[2 * i : 2 * i + 2].view(4)
    example = refuted(tp.check("st.local.v4.b32", wide, registers(4)), "st.aligned")
    assert (example.base, example.byte_address) == (8, 0)
    for half in (0, 1):
        narrow = array[2 * i + half : 2 * i + half + 1].view(2)
        assert tp.check("st.local.v2.b32", narrow, registers(2)).verdict is PROVED


def test_quack_156() -> None:
    """Bytes transposed by an instruction that moves units of 16 bits, from rows that are 8-byte aligned."""
    regs = tp.tensor(
        "R", (4, 8, 4), "uint32", "registers",
        layout=tp.TileLayout(tp.S[(4, 8, 4) : (1, 4 @ tp.laneid, 1 @ tp.laneid)]),
    )  # fmt: skip
    opcode = "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"
    narrow = tp.tensor("A", (4, 8, 16), "float8_e4m3fn", "shared", align=8).view("uint32")
    refuted(tp.check(opcode, regs, narrow, scope="warp"), "ldmatrix.row-aligned")
    aligned = tp.tensor("A", (4, 8, 16), "float8_e4m3fn", "shared", align=16).view("uint32")
    report = tp.check(opcode, regs, aligned, scope="warp")
    assert [h.obligation.id for h in report.hazards] == ["ldmatrix.transposed-unit"]
    assert tp.check(opcode, regs, aligned, scope="warp", hazards="error").verdict is REFUTED
    halves = tp.tensor("A", (4, 8, 8), "float16", "shared", align=16).view("uint32")
    assert tp.check(opcode, regs, halves, scope="warp", hazards="error").verdict is PROVED


@pytest.mark.parametrize(
    ("name", "shape", "strides", "bits", "first_bad"),
    [
        # Row 2**29 of a four-wide tensor is element 2**31.
        ("cutlass-3604", (536870913, 4), (4, 1), 16, 2**31),
        ("vllm-47671", (163000, 480, 576), (276480, 576, 1), 16, 2147696640),
        ("ort-28108", (262144, 8960), (8960, 1), 16, 2**31),
    ],
)
def test_offsets_past_32_bits(
    name: str, shape: tuple[int, ...], strides: tuple[int, ...], bits: int, first_bad: int
) -> None:
    """Element offsets beyond ``2**31``: refused in 32-bit arithmetic, proved when it may be as wide as
    needed.

    The reports count elements, the proof counts bytes, so the least row here is the first whose *byte* offset
    wraps; the reported row wraps as well, which the last assertion pins down.
    """
    a = tp.tensor("A", shape, f"b{bits}", layout=tp.TileLayout(tp.S[shape:strides]))
    starts = [tp.symbol(f"c{d}", 0, n - 1) for d, n in enumerate(shape)]
    view = a.sub(starts, [1] * len(shape)).view(1)
    example = refuted(tp.check("ld.global.b16", registers(1, 16), view, index_bits=32), "ld.no-overflow")
    assert example.byte_address is not None
    assert example.byte_address >= 2**31
    assert tp.check("ld.global.b16", registers(1, 16), view).verdict is PROVED
    offset = sum(s * step for s, step in zip(starts, strides, strict=True))
    below = tp.check("ld.global.b16", registers(1, 16), view, index_bits=32, active=(offset < 2**30))
    assert below.verdict is PROVED
    reported = tp.check("ld.global.b16", registers(1, 16), view, index_bits=32, active=(offset == first_bad))
    assert reported.verdict is REFUTED


@pytest.mark.parametrize("page", [163000, 7768])
def test_vllm_47671_asynchronous(page: int) -> None:
    """Page number times page stride, as the source of a copy: 7768 pages of halves are more than ``2**31`` bytes
    twice over.
    """
    a = tp.tensor("A", (page, 480, 576), "b16")
    p, row, c = tp.symbol("p", 0, page - 1), tp.symbol("row", 0, 479), tp.symbol("c", 0, 71)
    source = a[p, row, 8 * c : 8 * c + 8]
    tile = tp.tensor("SM", (8,), "b16", "shared", align=16)
    opcode = "cp.async.cg.shared.global"
    narrow = tp.check(opcode, tile, source, chunk_bytes=16, block=1, index_bits=32)
    example = refuted(narrow, "cp.async.no-overflow")
    assert example.byte_address is not None
    assert example.byte_address >= 2**31
    assert tp.check(opcode, tile, source, chunk_bytes=16, block=1).verdict is PROVED
    below = tp.check(opcode, tile, source, chunk_bytes=16, block=1, index_bits=32, active=p < 3883)
    assert below.verdict is PROVED


@pytest.mark.parametrize("operator", ["ca", "cg"])
def test_pytorch_125437_asynchronous(operator: str) -> None:
    """The same wrapped start, copied asynchronously: the source is off, not the destination."""
    a = tp.tensor("A", (50257, 8), "bfloat16", layout=tp.TileLayout(tp.S[(50257, 8) : (1, 50304)]), align=16)
    m0 = tp.symbol("m0", 0, 100_000, multiple_of=8)
    row = a.permute(1, 0)[0:1]
    tile = tp.tensor("SM", (1, 8), "bfloat16", "shared", align=16)
    opcode = f"cp.async.{operator}.shared.global"
    start = m0 % 50257
    wrapped = tp.check(opcode, tile, row[:, start : start + 8], chunk_bytes=16, block=1)
    example = refuted(wrapped, "cp.async.source-aligned")
    assert (example.symbols["m0"], example.byte_address) == (50264, 14)
    whole = row[:, m0 : m0 + 8]
    mended = tp.check(opcode, tile, whole, chunk_bytes=16, block=1, active=m0 + 8 <= 50257)
    assert mended.verdict is PROVED
    # Without the guard the hardware can fill with zeros what lies past the end.
    left = 2 * tp.minimum(tp.maximum(50257 - m0, 0), 8)
    assert tp.check(opcode, tile, whole, chunk_bytes=16, block=1, src_size=left).verdict is PROVED


def test_cutlass_1768() -> None:
    """8 bytes with ``.cg``, which copies 16 bytes only."""
    tile = tp.tensor("SM", (32, 8, 4), "float16", "shared", align=16)
    a = tp.tensor("A", (32, 8, 4), "float16")
    views = [tile.permute(1, 0, 2).rearrange("b l w -> l b w"), a]
    report = tp.check("cp.async.cg.shared.global", *views, scope="warp", chunk_bytes=8)
    example = refuted(report, "cp.async.chunk-bytes")
    assert (example.needed, example.found) == ("16 bytes", "8 bytes")
    assert tp.check("cp.async.ca.shared.global", *views, scope="warp", chunk_bytes=8).verdict is PROVED
    wide = [view.rearrange("l (b two) w -> l b (two w)", two=2) for view in views]
    assert tp.check("cp.async.cg.shared.global", *wide, scope="warp", chunk_bytes=16).verdict is PROVED


def test_cutlass_761() -> None:
    """Rows of seven halves: no size that the instruction has fits every row."""
    opcode = "cp.async.ca.shared.global"
    m = tp.symbol("m", 0, 63)

    def copy(pitch: int, halves: int, **parameters: object) -> Report:
        layout = tp.TileLayout(tp.S[(64, 7) : (pitch, 1)])
        a = tp.tensor("A", (64, 7), "float16", layout=layout)
        tile = tp.tensor("SM", (64, 8), "float16", "shared", align=16)[m]
        return tp.check(opcode, tile[0:halves], a[m, 0:halves], block=1, chunk_bytes=2 * halves, **parameters)

    assert refuted(copy(7, 1), "cp.async.chunk-bytes").found == "2 bytes"
    example = refuted(copy(7, 2), "cp.async.source-aligned")
    assert (example.symbols["m"], example.byte_address) == (1, 14)
    assert copy(8, 2).verdict is PROVED
    # All seven of a padded row by one copy of 16 bytes, of which 14 are read.
    refuted(copy(8, 8), "cp.async.in-bounds")
    assert copy(8, 8, src_size=14).verdict is PROVED
    refuted(copy(8, 8, src_size=15), "cp.async.in-bounds")


def test_cutlass_2634() -> None:
    """A byte-space swizzle applied to offsets of four-byte elements."""
    rows = tp.S[(32, 8) : (1, 32)]
    wrong = tp.TileLayout(rows, tp.Swizzle(3, 4, 3))
    right = tp.TileLayout(rows, tp.Swizzle(3, 4, 3, unit="byte"))
    where = {}
    for name, layout in (("wrong", wrong), ("right", right)):
        view = tp.tensor("SM", (32, 8), "float32", "shared", layout=layout, align=1024)[0:1, 1:2]
        found = view.place([0 * tp.symbol("z"), 0 * tp.symbol("z")]).byte_offset
        where[name] = int(found) // 4
    assert where == {"wrong": 32, "right": 36}


def test_llamacpp_8123() -> None:
    """On sm_75 every lane's address has to be valid, also those that ``.x2`` does not read: spare lanes repeat rows."""
    k = tp.Kernel("spare_lanes", block=32)
    out = k.parameter("Out", (32, 2), "uint32")
    rows = k.shared("SM", (2, 8, 4), "uint32", align=16)
    one = tp.TileLayout(tp.S[(32, 2, 1) : (1 @ tp.laneid, 1, 1)])
    words = k.registers("words", (32, 2, 1), "uint32", layout=one, fill=7)
    k.apply("st.shared.b32", rows.view(2, 32, 1).permute(1, 0, 2), words, scope="warp")
    k.raw("bar.sync 0;")
    layout = tp.TileLayout(tp.S[(2, 8, 4) : (1, 4 @ tp.laneid, 1 @ tp.laneid)])
    fragment = k.registers("fragment", (2, 8, 4), "uint32", layout=layout)
    k.apply("ldmatrix.sync.aligned.m8n8.x2.shared.b16", fragment, rows, scope="warp")
    lanes = fragment.permute(1, 2, 0).view(32, 2, 1)
    k.apply("st.global.b32", out.view(32, 2, 1), lanes, scope="warp")
    text = k.ptx("sm_75")
    got = np.zeros((32, 2), np.uint32)
    simulate(text, [got], target="sm_75")
    assert (got == 7).all()

    # The same with addresses that go on past the rows: lane 16 has none, which newer machines do not read.
    line = next(part for part in text.splitlines() if "and.b32" in part and ", 15;" in part)
    faulty = text.replace(line, line.replace(", 15;", ", 31;"))
    with pytest.raises(SimulationError, match="lane 16"):
        simulate(faulty, [got], target="sm_75")
    simulate(faulty.replace("sm_75", "sm_80"), [got], target="sm_80")
