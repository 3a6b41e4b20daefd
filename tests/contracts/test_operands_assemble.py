"""Statements and near misses: the table takes what the assembler takes, where the ISA has it."""

from __future__ import annotations

import re
from functools import cache

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.contracts.test_grammar_assembles import NEWEST
from tileproof.contracts.special import REGISTERS
from tileproof.contracts.statement import Statement, read
from tileproof.emit.assemble import assemble
from tileproof.errors import AssemblerError, CallError, OpcodeError

WIDTHS = {"p": 1, "b": 8, "h": 16, "r": 32, "rd": 64, "q": 128}
MODULE = """.version {version[0]}.{version[1]}
.target {arch}
.address_size 64
.shared .align 32 .b8 s[64];
.global .align 32 .b8 g[64];
.visible .entry k()
{{
    .reg .pred %p<8>;
    .reg .b8 %b<8>;
    .reg .b16 %h<8>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<8>;
    {wide}
    .reg .v4 .b32 %v;
{lines}
    ret;
}}
"""


def width(name: str) -> int | None:
    if name in ("s", "g"):
        return 0
    if re.fullmatch(r"%v\.[xyzwrgba]", name):
        return 32
    found = re.fullmatch(r"%([a-z]+)[0-9]", name)
    return WIDTHS.get(found[1]) if found else None


def module(arch: str, version: tuple[int, int], *lines: str) -> str:
    wide = ".reg .b128 %q<8>;" if version >= (8, 3) else ""
    return MODULE.format(version=version, arch=arch, wide=wide, lines="\n".join(lines))


def assembles(text: str, arch: str = "sm_100a", version: tuple[int, int] = NEWEST) -> bool:
    try:
        assemble(module(arch, version, text), arch)
    except AssemblerError:
        return False
    return True


TAKEN = """
mov.u32 %r0, %r1;
mov.u32 %r0, -5;
mov.u32 %r0, 0x1F;
mov.u32 %r0, 5U;
mov.u32 %r0, WARP_SZ;
mov.b16 %h0, 7;
mov.u64 %rd0, 18446744073709551615;
mov.f32 %r0, 1.0;
mov.f32 %r0, -.5;
mov.f32 %r0, 1e39;
mov.f32 %r0, 0f3F800000;
mov.f32 %r0, 0F3F800000;
mov.f32 %r0, 0d3FF0000000000000;
mov.f64 %rd0, -0d3FF0000000000000;
mov.f64 %rd0, 1.5E+05;
mov.f64 %rd0, 0.0e-500;
mov.f64 %rd0, 2.2250738585072014e-308;
mov.b32 %r0, 1;
mov.b32 %r0, 0f3F800000;
mov.b64 %rd0, 1.0;
mov.b64 %rd0, 0d3FF0000000000000;
mov.b128 %q0, %q1;
mov.u32 %r0, %tid.x;
mov.b32 %r0, %nctaid.w;
mov.s32 %r0, %laneid;
mov.u16 %h0, %ntid.y;
mov.u64 %rd0, %clock64;
mov.b64 %rd0, %globaltimer;
mov.u32 %r0, %gridid;
mov.b32 %r0, %envreg31;
mov.pred %p0, %p1;
mov.pred %p0, 1;
mov.pred %p0, %is_explicit_cluster;
mov.u32 %r0, s;
mov.u64 %rd0, s;
mov.b64 %rd0, g+16;
mov.u32 %r0, s+-16;
mov.u32 %r0, s[5];
mov.u32 %r0, %v.x;
mov.b32 %v.a, %r0;
mov.b32 %r0, {%h0, %h1};
mov.b32 {%h0, %h1}, %r0;
mov.b32 {%b0, %b1, %b2, %b3}, %r0;
mov.b16 %h0, {%b0, %b1};
mov.b16 {%b0, %b1}, %h0;
mov.b64 %rd0, {%r0, %v.y};
mov.b64 {%r0, _}, %rd0;
mov.b64 {_, %h0, _, %h1}, %rd0;
mov.b128 %q0, {%rd0, %rd1};
mov.b128 {%r0, %r1, %r2, %r3}, %q0;
@!%p0 add.u32 %r0, %r1, 1;
add.s64 %rd0, -1, %rd1;
add.rn.f32 %r0, 1.0, %r1;
add.f32.f16 %r0, %h0, 1.0;
add.f16x2 %r0, %r1, %r2;
sub.f64 %rd0, %rd1, 0.5;
mul.wide.u32 %rd0, %r0, 4;
mul.lo.u16 %h0, %h1, 3;
div.rn.f32 %r0, 1.0, %r1;
fma.rn.f32 %r0, %r1, 2.0, 0f3F800000;
fma.rn.f32.bf16 %r0, %h0, %h1, 1.0;
max.f32 %r0, %r1, 1.0;
max.f32 %r0, %r1, 1.0, 2.0;
min.relu.s32 %r0, %r1, 100;
abs.s32 %r0, -1;
neg.f64 %rd0, 1.0;
sqrt.rn.f32 %r0, 2.0;
rcp.approx.ftz.f64 %rd0, %rd1;
sin.approx.f32 %r0, %r1;
cos.approx.ftz.f32 %r0, 1.0;
tanh.approx.f32 %r0, %r1;
cvt.u64.u32 %rd0, %tid.x;
cvt.u16.u32 %h0, %laneid;
cvt.u32.u64 %r0, %clock64;
cvt.u32.u32 %r0, %clock64;
cvt.sat.s8.u64 %b0, %gridid;
cvt.rn.f32.u32 %r0, 7;
cvt.rn.f16.f32 %h0, 1.0;
cvt.u8.u32 %r0, %rd0;
cvt.u32.u8 %r0, %b0;
cvt.f32.f16 %r0, %r1;
cvt.rn.f16.f64 %q0, %rd0;
cvt.rn.f16x2.f32 %r0, 1.0, %r1;
cvt.rn.satfinite.e2m1x2.f32 %b0, %r0, 2.0;
cvt.rs.f16x2.f32 %r0, %r1, 1.0, %r2;
cvt.rs.satfinite.e4m3x4.f32 %r0, {%r1, %r2, %r3, %r4}, %r5;
cvt.rna.tf32.f32 %r0, %r1;
cvt.pack.sat.s16.s32 %r0, %r1, -1;
cvt.pack.sat.u4.s32.b32 %r0, %r1, %r2, 0;
cp.async.bulk.prefetch.L2.global [%rd0], 1048560;
cp.async.bulk.prefetch.tensor.3d.L2.global.im2col [%rd0, {%r0, %r1, %r2}], {1};
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 512;
tensormap.replace.tile.box_dim.global.b1024.b32 [%rd0], 4, 16;
tensormap.replace.tile.fill_mode.global.b1024.b32 [%rd0], 1;
mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%r6,%r7}, {%r0,%r1,%r2,%r3}, %r4, 3;
mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%r6,%r7}, {%r0,%r1,%r2,%r3}, %r4, 1;
""".strip().split("\n")

REFUSED = """
mov.u32 %r0;
mov.u32 %r0, %r1, %r2;
mov.u32 1, %r0;
mov.u32 _, %r0;
mov.u32 %r0, _;
mov.u32 %rd0, %r0;
mov.u32 %r0, %rd0;
mov.u32 %r0, %p0;
mov.u32 %r0, [%rd0];
mov.u32 %r0, 1.0;
mov.u32 %r0, 0f3F800000;
mov.u32 %r0, 09;
mov.u32 %r0, 5u;
mov.u32 %r0, s-16;
mov.u32 %r0, {%h0, %h1};
mov.u32 %v.q, %r0;
mov.f32 %r0, 1;
mov.f32 %r0, WARP_SZ;
mov.f32 %r0, -0f3F800000;
mov.f32 %r0, 0f3F80000;
mov.f32 %r0, 1.0f;
mov.f64 %rd0, 1.0e309;
mov.f64 %rd0, 1.0e-320;
mov.f64 %rd0, s;
mov.b32 %r0, 1.0;
mov.b32 %r0, 0d3FF0000000000000;
mov.b64 {%r0, %r1, %r2}, %rd0;
mov.b64 {%r0, %h1}, %rd0;
mov.b64 {_, _}, %rd0;
mov.b64 %rd0, {%r0, _};
mov.b64 %rd0, {%r0, %rd1};
mov.b64 %rd0, {%b0, %b1, %b2, %b3, %b4, %b5, %b6, %b7};
mov.pred %p0, %r0;
mov.pred %p0, 1.0;
mov.pred %r0, %p0;
mov.u32 %r0, %tid;
mov.u32 %r0, %tid.q;
mov.u32 %r0, %laneid.x;
mov.u32 %r0, %threadid.x;
mov.u32 %r0, %clock64;
mov.u64 %rd0, %tid.x;
mov.u16 %h0, %laneid;
mov.f32 %r0, %tid.x;
mov.pred %p0, %laneid;
mov.u32 %r0, %is_explicit_cluster;
mov.u32 %tid.x, 1;
mov.u32 %laneid, %r0;
mov.pred %is_explicit_cluster, %p0;
mov.u32 WARP_SZ, 1;
add.u32 %tid.x, %r0, 1;
add.u32 %r0, %tid.x, 1;
add.u32 %r0, %laneid, 1;
add.u32 %r0, s, 1;
add.u32 %r0, %r1, 1.0;
add.u32 %r0, %r1;
add.u32 %r0, %rd1, 1;
add.f32 %r0, %r1, 1;
add.f16 %h0, %h1, 1.0;
add.f16x2 %r0, %r1, 1;
add.f32x2 %rd0, %rd1, 1.0;
add.f32.f16 %r0, 1.0, %r1;
mul.wide.u32 %r0, %r1, 4;
fma.rn.f32 %r0, %r1, %r2;
fma.rn.f16 %h0, %h1, %h2, 1;
max.f32 %r0, %r1;
max.f32 %r0, %r1, %r2, %r3, %r4;
sqrt.rn.f32 %r0, 2;
sin.approx.f64 %rd0, %rd1;
cvt.rn.f32.u32 %r0, %tid.x;
cvt.u64.u32 %rd0, s;
cvt.u64.u32 %rd0, %is_explicit_cluster;
cvt.u64.u64 %rd0, %tid.x;
cvt.u64.u32 %r0, %r1;
cvt.u16.u32 %h0, %h1;
cvt.u32.u8 %r0, %p0;
cvt.f32.f16 %r0, 1.0;
cvt.rn.bf16.f32 %r0, %r1;
cvt.rn.satfinite.e4m3x2.f32 %r0, %r1, %r2;
cvt.rn.satfinite.e2m1x2.f32 %h0, %r1, %r2;
cvt.rs.f16x2.f32 %r0, %r1, %r2, 1;
cvt.rna.tf32.f32 %r0, 1.0;
cvt.rn.f16x2.f32 %r0, %r1;
cvt.pack.sat.u8.s32 %r0, %r1, %r2;
cvt.pack.sat.u4.s32.b32 %r0, %r1, %r2;
@%laneid add.u32 %r0, %r1, 1;
ld.shared.b32 %tid.x, [s];
cp.async.bulk.prefetch.L2.global [%rd0], 1048568;
cp.async.bulk.prefetch.L2.global [%rd0], 1048576;
cp.async.bulk.prefetch.tensor.3d.L2.global.im2col [%rd0, {%r0, %r1, %r2}], 1;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 96;
tensormap.replace.tile.box_dim.global.b1024.b32 [%rd0], 5, 16;
tensormap.replace.tile.fill_mode.global.b1024.b32 [%rd0], 2;
mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%r6,%r7}, {%r0,%r1,%r2,%r3}, %r4, 4;
mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%r6,%r7}, {%r0,%r1,%r2,%r3}, %r4, 2;
""".strip().split("\n")

# What ptxas takes and the ISA does not have.
LAX = """
mov.u32 %r0, %r1+4;
mov.pred %p0, !%p1;
mov.b64 %rd0, {%r0, 1};
mov.b64 %rd0, {%r0, %tid.x};
mov.b64 {%r0, %r1}, %clock64;
mov.b64 {%r0, %r1}, 7;
mov.b64 {%laneid, %r0}, %rd0;
mov.u32 %r0, 1+2;
mov.u16 %h0, s;
mov.b128 %q0, 1;
cvt.rn.f16x2.f32 %rd0, %r1, %r2;
cvt.ftz.f32.f16 %rd0, %h1;
@%is_explicit_cluster add.u32 %r0, %r1, 1;
ld.shared.b32 %r0, [%laneid];
""".strip().split("\n")


@pytest.mark.parametrize("text", TAKEN)
def test_what_the_assembler_and_the_isa_have_is_taken(text: str) -> None:
    assert read(text, width).unsupported_reason("sm_100a") is None
    assert assembles(text)


@pytest.mark.parametrize("text", REFUSED)
def test_near_misses_are_refused(text: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises((CallError, OpcodeError)) as caught:
        read(text, width)
    assert str(caught.value) == snapshot
    assert not assembles(text)


@pytest.mark.parametrize("text", LAX)
def test_what_only_the_assembler_has_is_refused(text: str) -> None:
    with pytest.raises((CallError, OpcodeError)):
        read(text, width)
    assert assembles(text)


# Special registers

NAMES = [f"{one}.x" if REGISTERS[one].vector else one for one in REGISTERS]
TYPES = {1: ("pred", "%p0"), 16: ("u16", "%h0"), 32: ("u32", "%r0"), 64: ("u64", "%rd0")}


@cache
def reads() -> dict[str, Statement]:
    """Each special register read in the width that it has."""
    found = {}
    for name in NAMES:
        type_, register = TYPES[REGISTERS[name.removesuffix(".x")].bits]
        text = f"mov.{type_} {register}, {name};"
        found[text] = read(text, width)
    return found


@pytest.mark.parametrize(
    ("arch", "version"),
    [
        ("sm_75", (7, 5)),
        ("sm_75", NEWEST),
        ("sm_80", (7, 5)),
        ("sm_80", (7, 6)),
        ("sm_80", NEWEST),
        ("sm_90", (7, 8)),
        ("sm_90", (8, 0)),
        ("sm_90", (8, 1)),
    ],
)
def test_special_registers_need_what_the_assembler_says(arch: str, version: tuple[int, int]) -> None:
    legal = {
        text
        for text, statement in reads().items()
        if statement.ptx_version <= version and statement.unsupported_reason(arch) is None
    }
    assemble(module(arch, version, *legal), arch)
    for text in reads().keys() - legal:
        assert not assembles(text, arch, version), text


def test_a_special_register_is_read_in_its_width_alone_or_in_an_older_one() -> None:
    legal, illegal = [], []
    for name in NAMES:
        special = REGISTERS[name.removesuffix(".x")]
        for bits, (type_, register) in TYPES.items():
            text = f"mov.{type_} {register}, {name};"
            if bits in (special.bits, *special.older):
                assert read(text, width).operands == (register, name)
                legal.append(text)
            else:
                with pytest.raises(CallError, match=f"and {re.escape(name)} has"):
                    read(text, width)
                illegal.append(text)
    assemble(module("sm_100a", NEWEST, *legal), "sm_100a")
    text = module("sm_100a", NEWEST, *illegal)
    with pytest.raises(AssemblerError) as caught:
        assemble(text, "sm_100a")
    numbers = re.findall(r"^  line (\d+):", str(caught.value), re.MULTILINE)
    assert {text.split("\n")[int(number) - 1] for number in numbers} == set(illegal)
