"""Loads, stores, addresses and atomics: what they move, and each way in which they can go wrong."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from tests.simulate.kernels import ADDRESS, module, run, threads
from tileproof.simulate import Buffer, SimulationError, simulate

TWO = ".param .u64 in, .param .u64 out"
SETUP = """
    ld.param.u64 %rd0, [in];
    ld.param.u64 %rd1, [out];
    mov.u32 %r0, %tid.x;
"""


@pytest.mark.parametrize("space", ["global", "shared", "shared::cta", "local", "generic"])
@pytest.mark.parametrize(
    ("word", "registers", "size"),
    [
        ("b8", "%h1", 1),
        ("u16", "%h1", 2),
        ("b32", "%r1", 4),
        ("f32", "%f1", 4),
        ("s64", "%rd5", 8),
        ("f64", "%fd1", 8),
        ("b128", "%q1", 16),
        ("v2.b8", "{%h1, %h2}", 2),
        ("v4.u16", "{%h1, %h2, %h3, %h4}", 8),
        ("v2.f32", "{%f1, %f2}", 8),
        ("v4.b32", "{%r1, %r2, %r3, %r4}", 16),
        ("v2.u64", "{%rd5, %rd6}", 16),
    ],
)
def test_what_is_stored_is_loaded_again(space: str, word: str, registers: str, size: int) -> None:
    source = np.random.default_rng(7).integers(0, 256, 32 * size, np.uint8)
    target = np.zeros_like(source)
    base = {"global": "%rd1", "shared": "%rd3", "shared::cta": "%rd3", "local": "%rd3", "generic": "%rd3"}[
        space
    ]
    middle = {
        "global": "mov.u64 %rd3, %rd1;",
        "shared": "mov.u64 %rd3, tile;",
        "shared::cta": "mov.u64 %rd3, tile;",
        "local": "mov.u64 %rd3, stack;",
        "generic": "mov.u64 %rd3, tile; cvta.shared.u64 %rd3, %rd3;",
    }[space]
    name = "" if space == "generic" else "." + space
    body = (
        SETUP
        + f"""
    .shared .align 16 .b8 tile[512];
    .local .align 16 .b8 stack[512];
    mul.wide.u32 %rd2, %r0, {size};
    add.u64 %rd0, %rd0, %rd2;
    add.u64 %rd1, %rd1, %rd2;
    {middle}
    {"" if space == "global" else "add.u64 %rd3, %rd3, %rd2;"}
    ld.global.{word} {registers}, [%rd0];
    st{name}.{word} [{base}], {registers};
    ld{name}.{word} {registers}, [{base}];
    st.global.{word} [%rd1], {registers};
"""
    )
    run(body, [source, target], parameters=TWO)
    assert target.tolist() == source.tolist()


@pytest.mark.parametrize(
    ("word", "step"),
    [("v8.b32", "%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8"), ("v4.b64", "%rd5, %rd6, %rd7, %rd8")],
)
def test_256_bit_accesses(word: str, step: str) -> None:
    source = np.arange(256, dtype=np.uint32)
    target = np.zeros_like(source)
    body = (
        SETUP
        + f"""
    mul.wide.u32 %rd2, %r0, 32;
    add.u64 %rd0, %rd0, %rd2;
    add.u64 %rd1, %rd1, %rd2;
    ld.global.L1::no_allocate.L2::evict_first.{word} {{{step}}}, [%rd0];
    st.global.{word} [%rd1], {{{step}}};
"""
    )
    run(body, [source, target], parameters=TWO, target="sm_100a")
    assert (target == source).all()


def test_sub_word_loads_extend_by_their_type() -> None:
    found = threads(
        """
    ld.global.s8 %r1, [%rd0+1];
    ld.global.u8 %r2, [%rd0+1];
    ld.global.s16 %r3, [%rd0+2];
    ld.global.b8 %r4, [%rd0+3];
    ld.global.s32 %rd5, [%rd0];
    shr.u64 %rd5, %rd5, 32;
    cvt.u32.u64 %r5, %rd5;
    st.global.v4.b32 [%rd0], {%r1, %r2, %r3, %r4};
    st.global.u32 [%rd0+16], %r5;
""",
        count=1,
        words=8,
    )
    # Every byte of the array starts as 0xff.
    assert [hex(value) for value in found[:5].tolist()] == [
        "0xffffffff",
        "0xff",
        "0xffffffff",
        "0xff",
        "0xffffffff",
    ]


def test_modifiers_that_do_not_change_what_is_loaded() -> None:
    found = threads(
        """
    mov.u32 %r1, 5;
    createpolicy.fractional.L2::evict_first.b64 %rd5, 1.0;
    st.global.L1::no_allocate.u32 [%rd2], %r1;
    st.relaxed.gpu.global.u32 [%rd2], %r1;
    st.volatile.global.u32 [%rd2], %r1;
    st.global.L2::cache_hint.u32 [%rd2], %r1, %rd5;
    ld.global.nc.L1::evict_last.L2::128B.u32 %r2, [%rd2];
    ld.acquire.sys.global.u32 %r2, [%rd2];
    ld.global.L2::cache_hint.u32 %r2, [%rd2], %rd5;
    ld.global.cg.u32 %r3, [%rd2];
    prefetch.global.L2 [%rd2];
    add.u32 %r3, %r2, %r3;
    st.global.cs.u32 [%rd2], %r3;
"""
    )
    assert (found == 10).all()


def test_a_sink_takes_what_is_not_wanted() -> None:
    found = threads("mov.b64 {_, %r2}, 0x700000005; st.global.u32 [%rd2], %r2;")
    assert (found == 7).all()


def test_a_predicated_load_leaves_the_register_alone() -> None:
    found = threads(
        """
    mov.u32 %r1, 9;
    setp.lt.u32 %p1, %r0, 4;
    @%p1 ld.global.u32 %r1, [%rd2];
    @!%p1 st.global.u32 [%rd2], %r1;
"""
    )
    assert found.tolist() == [0xFFFF_FFFF] * 4 + [9] * 28


def test_parameters_constants_and_module_variables() -> None:
    head = """
.const .align 4 .b32 table[4] = {10, 20, -1};
.global .align 8 .f64 half = 0.5;
.global .u32 counter;
"""
    out = np.zeros(8, np.uint32)
    block = np.arange(16, dtype=np.uint8)
    run(
        """
    ld.param.u64 %rd0, [out];
    ld.param.u16 %h1, [n];
    ld.param.b32 %r1, [block+4];
    ld.const.u32 %r2, [table+8];
    ld.const.u32 %r3, [table+12];
    ld.global.f64 %fd1, [half];
    cvt.rn.f32.f64 %f1, %fd1;
    atom.global.add.u32 %r4, [counter], 5;
    ld.global.u32 %r5, [counter];
    cvt.u32.u16 %r6, %h1;
    mov.b64 %rd3, block;
    cvta.param.u64 %rd3, %rd3;
    ld.u8 %r7, [%rd3+15];
    mov.u64 %rd4, table+4;
    cvta.const.u64 %rd4, %rd4;
    ld.b32 %r8, [%rd4];
    st.global.v4.b32 [%rd0], {%r1, %r2, %r3, %r5};
    st.global.f32 [%rd0+16], %f1;
    st.global.b32 [%rd0+20], %r6;
    st.global.b32 [%rd0+24], %r7;
    st.global.b32 [%rd0+28], %r8;
""",
        [out, 513, block],
        parameters=".param .u64 out, .param .u16 n, .param .align 16 .b8 block[16]",
        head=head,
        block=1,
    )
    assert out.tolist() == [0x0706_0504, 0xFFFF_FFFF, 0, 5, 0x3F00_0000, 513, 15, 20]


def test_shared_variables_are_placed_by_their_alignment() -> None:
    found = threads(
        """
    .shared .b8 one[3];
    .shared .align 8 .b8 two[8];
    .shared .b32 three;
    .shared .align 128 .b8 four[16];
    mov.u32 %r1, one; mov.u32 %r2, two; mov.u32 %r3, three; mov.u32 %r4, four;
    st.global.v4.b32 [%rd0], {%r1, %r2, %r3, %r4};
    mov.u32 %r5, dynamic;
    st.global.u32 [%rd0+16], %r5;
    mov.u32 %r5, alias;
    st.global.u32 [%rd0+20], %r5;
    mov.u32 %r5, %dynamic_smem_size;
    st.global.u32 [%rd0+24], %r5;
    st.shared.u32 [dynamic+60], %r5;
""",
        count=1,
        words=8,
        head=".extern .shared .align 16 .b8 dynamic[];\n.extern .shared .align 32 .b8 alias[];",
        dynamic_shared=64,
    )
    assert found[:7].tolist() == [0, 8, 16, 128, 160, 160, 64]


def test_atomics_take_turns_in_lane_order() -> None:
    found = threads(
        """
    .shared .u32 total;
    setp.eq.u32 %p1, %r0, 0;
    @%p1 st.shared.u32 [total], 0;
    bar.sync 0;
    atom.global.add.u32 %r1, [%rd0+256], 2;
    red.shared.add.u32 [total], 1;
    st.global.u32 [%rd2], %r1;
    bar.sync 0;
    ld.shared.u32 %r2, [total];
    @%p1 st.global.u32 [%rd0+260], %r2;
""",
        words=80,
    )
    start = 0xFFFF_FFFF
    assert found[:32].tolist() == [(start + 2 * lane) & start for lane in range(32)]
    assert found[64] == (start + 64) & start
    assert found[65] == 32


ATOMS = [
    ("and.b32", 0b1100, "0b1010", 0b1000),
    ("or.b32", 0b1100, "0b1010", 0b1110),
    ("xor.b32", 0b1100, "0b1010", 0b0110),
    ("exch.b32", 3, "9", 9),
    ("min.s32", -1 & 0xFFFF_FFFF, "1", 0xFFFF_FFFF),
    ("min.u32", 0xFFFF_FFFF, "1", 1),
    ("max.s32", 0xFFFF_FFFF, "1", 1),
    ("inc.u32", 4, "4", 0),
    ("inc.u32", 3, "4", 4),
    ("dec.u32", 0, "4", 4),
    ("dec.u32", 5, "4", 4),
    ("dec.u32", 3, "4", 2),
    ("add.s32", 0x7FFF_FFFF, "1", 0x8000_0000),
    ("cas.b32", 3, "3, 8", 8),
    ("cas.b32", 4, "3, 8", 4),
]


@pytest.mark.parametrize(("operation", "before", "sources", "after"), ATOMS)
def test_atomic_operations(operation: str, before: int, sources: str, after: int) -> None:
    data = np.array([before, 0], np.uint32)
    body = f"""
    ld.param.u64 %rd0, [out];
    atom.relaxed.gpu.global.{operation} %r1, [%rd0], {sources};
    st.global.b32 [%rd0+4], %r1;
"""
    run(body, [data], block=1)
    assert data.tolist() == [after, before]


def test_lanes_that_store_different_values_to_one_place_are_counted() -> None:
    out = np.zeros(66, np.uint32)
    result = run(
        ADDRESS + "st.global.u32 [%rd0], %r0; st.global.u32 [%rd0+4], 5; st.global.u32 [%rd2+8], %r0;",
        [out],
        block=64,
    )
    # Of each warp's 32 lanes, 31 lose to the last. That the warps disagree too is no conflict between lanes.
    assert result.conflicts == 62
    assert out[0] == 63
    assert out[1] == 5


# Each row: the access, the text that its error must hold. %rd0 is the array of 32 words, tile has 64 bytes.
FAULTS = [
    (
        "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd0+4];",
        r"lane 0 .*misaligned global address 0x\w+4, byte 4 of 'out', .*multiple of 16",
    ),
    ("ld.global.u32 %r1, [%rd0+2];", "byte 2 of 'out'"),
    ("st.global.b64 [%rd0+12], %rd1;", "12 of 'out', is 4 past a multiple of 8"),
    (
        "ld.global.u32 %r1, [%rd0+128];",
        r"4-byte access at global address \w+ is out of bounds: it starts 0 bytes past the end of 'out'",
    ),
    ("ld.global.u32 %r1, [%rd0+-4];", "it starts 4 bytes before 'out'"),
    ("ld.global.u32 %r1, [%rd2+64];", r"lane 16 .*past the end of 'out'"),
    ("mov.u64 %rd5, 0; ld.global.u32 %r1, [%rd5];", "global address 0x0 is out of bounds"),
    ("st.shared.v2.u32 [tile+60], {%r0, %r0};", "misaligned shared address 0x3c, byte 60 of 'tile'"),
    ("st.shared.u32 [tile+64], %r0;", "it starts 0 bytes past the end of 'tile'"),
    (
        "mov.u32 %r1, tile; sub.u32 %r1, %r1, 4; ld.shared.u32 %r2, [%r1];",
        "outside the shared memory of the executing block",
    ),
    ("mov.u32 %r1, 0x1000; ld.shared.u32 %r1, [%r1];", r"shared address 0x1000 is out of bounds"),
    ("ld.shared.u32 %r1, [16];", "a number is an address of .local memory only"),
    ("ld.local.u32 %r1, [0];", "the kernel has no local memory"),
    (
        "mov.u64 %rd5, tile; cvta.shared.u64 %rd5, %rd5; cvt.u32.u64 %r1, %rd5; ld.shared.u32 %r2, [%r1];",
        "outside the shared memory",
    ),
    (
        "mov.u64 %rd5, tile; cvta.shared.u64 %rd5, %rd5; ld.global.u32 %r2, [%rd5];",
        "global address 0x7e01[0-9a-f]+ is out of bounds",
    ),
    ("cvta.to.shared.u64 %rd5, %rd0;", "does not point into shared memory"),
    ("ld.u32 %r1, [%rd0+130];", "misaligned global address"),
    ("mov.u64 %rd5, out; cvta.param.u64 %rd5, %rd5; st.u32 [%rd5], %r0;", "'out' is read-only"),
    ("ld.global.u32 %r1, [%r0];", "address register %r0 is .b32; global addresses have 64 bits"),
    (
        "ld.global.u32 %r1, [tile];",
        "'tile' is a .shared variable, but the instruction addresses global memory",
    ),
    ("ld.shared.u32 %r1, [tile]; add.u32 %r1, %r1, 1;", r"reads %r1, which is undefined"),
    ("atom.shared.add.u32 %r1, [tile], 1;", "reads memory that was never written"),
    ("add.u32 %r1, %r2, 1;", r"block \(0, 0, 0\), warp 0, lane 0 .*reads %r2, which is undefined"),
    (
        "ld.global.u32 %rd5, [%rd0]; add.u32 %r1, %rd5, 1;",
        "register %rd5 is .b64, where the instruction takes .u32",
    ),
    ("ld.global.u32 %h1, [%rd0];", "register %h1 is .b16, where the instruction writes .u32"),
    ("add.s32 %f1, %r0, 1;", "register %f1 is .f32, where the instruction writes .s32"),
    ("add.f32 %f1, %f1, 1;", "undefined"),
    ("mov.f32 %f1, 0f3F800000; add.f32 %f1, %f1, 1;", "constant 1 cannot be used as .f32"),
    ("mov.u32 %r1, 0x100000000;", "constant 4294967296 does not fit in .u32"),
]


@pytest.mark.parametrize(("access", "message"), FAULTS)
def test_undefined_behaviour_is_an_error(access: str, message: str) -> None:
    with pytest.raises(SimulationError, match=message):
        threads(".shared .align 16 .b8 tile[64];\n" + access)


def test_an_error_names_the_kernel_the_line_and_its_text() -> None:
    body = """
    mov.u32 %r1, %tid.y;
    mad.lo.u32 %r1, %r1, 8, %r0;
    mad.wide.u32 %rd2, %r1, 4, %rd0;
    mov.u32 %r2, %ctaid.y;
    setp.eq.u32 %p1, %r2, 1;
    @%p1 ld.global.u32  %r1,
        [%rd2+4];  // too far
"""
    ptx = module(ADDRESS + body)
    line = next(number for number, text in enumerate(ptx.splitlines(), 1) if "@%p1" in text)
    with pytest.raises(SimulationError) as caught:
        simulate(ptx, [np.zeros(32, np.uint32)], grid=(1, 2), block=(8, 8))
    assert str(caught.value).startswith(
        f"kernel 'k', line {line}, `@%p1 ld.global.u32 %r1, [%rd2+4]`: "
        "block (0, 1, 0), warp 0, lane 31 (thread (7, 3, 0)): 4-byte access at global address 0x"
    )


def test_each_access_lies_in_one_allocation() -> None:
    body = ADDRESS + ".shared .align 8 .b8 a[4]; .shared .b8 b[4];\n st.shared.b64 [a], %rd0;"
    with pytest.raises(SimulationError, match="it runs 4 bytes past the end of 'a'"):
        run(body, [np.zeros(32, np.uint32)])


def test_a_buffer_is_no_more_aligned_than_it_says() -> None:
    body = ADDRESS + "cvt.u32.u64 %r1, %rd0; st.global.u32 [%rd2], %r1;"
    for align in (4, 16, 64, 256, 4096):
        out = np.zeros(32, np.uint32)
        run(body, [Buffer(out, align=align)])
        assert out[0] % align == 0
        assert out[0] % (2 * align) == align
    out = np.zeros(32, np.uint32)
    run(body, [Buffer(out, align=16, offset=4)])
    assert out[0] % 16 == 4
    plain = np.zeros(32, np.uint32)
    run(body, [plain])
    assert plain[0] % 512 == 256


def test_every_local_variable_is_the_threads_own() -> None:
    found = threads(
        """
    .local .align 4 .b8 mine[4];
    st.local.u32 [mine], %r0;
    mov.u64 %rd5, mine;
    cvta.local.u64 %rd5, %rd5;
    ld.u32 %r1, [%rd5];
    st.global.u32 [%rd2], %r1;
"""
    )
    assert found.tolist() == list(range(32))


def test_isspacep_and_the_way_back_from_generic_addresses() -> None:
    found = threads(
        """
    .shared .align 4 .b8 tile[8];
    mov.u64 %rd5, tile+4;
    cvta.shared.u64 %rd6, %rd5;
    isspacep.shared %p1, %rd6;
    isspacep.global %p2, %rd6;
    isspacep.global %p3, %rd0;
    cvta.to.shared.u64 %rd7, %rd6;
    cvt.u32.u64 %r1, %rd7;
    selp.u32 %r2, 10, 0, %p1;
    selp.u32 %r3, 100, 0, %p2;
    selp.u32 %r4, 1000, 0, %p3;
    add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4;
    st.global.u32 [%rd2], %r1;
"""
    )
    assert (found == 1014).all()


LISTED = Path(__file__).parents[1] / "data" / "ptxas-accepts.tsv"
FAMILIES = [
    "ld",
    "st",
    "ld.cop",
    "st.cop",
    "ld.evict",
    "st.evict",
    "ld.sem",
    "ld.hint",
    "ld.prefetch",
    "ldmatrix",
    "stmatrix",
]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_spelling_that_the_assembler_takes_can_be_read(family: str) -> None:
    with LISTED.open(encoding="utf-8", newline="") as lines:
        rows = [
            row
            for row in csv.DictReader(lines, delimiter="\t")
            if row["family"] == family and row["yes_13.0"] != "-"
        ]
    # The assembler takes eight bytes and eight halves too, which the ISA does not have.
    rows = [row for row in rows if not row["spelling"].endswith((".v8.b8", ".v8.b16"))]
    assert rows
    body = "\n".join(f"    {row['spelling']} {row['operands']};" for row in rows)
    head = """
.shared .align 1024 .b8 smem[1024];
.global .align 64 .b8 gvar[64];
.const .align 64 .b8 cvar[64];
"""
    registers = "\n".join(
        f".reg .{kind} %{name}<40>;"
        for name, kind in [
            ("h", "b16"),
            ("r", "b32"),
            ("f", "f32"),
            ("rd", "b64"),
            ("fd", "f64"),
            ("q", "b128"),
            ("p", "pred"),
            ("b", "b8"),
        ]
    )
    ptx = f"""
.version 8.8
.target sm_100a
.address_size 64
{head}
.visible .entry k(.param .align 64 .b8 pi[64])
{{
    {registers}
    .local .align 64 .b8 lvar[64];
    bra end;
{body}
end:
    ret;
}}
"""
    assert simulate(ptx, [np.zeros(64, np.uint8)], target="sm_100a").issued == {"bra": 1, "ret": 1}
