"""Arithmetic on shared memory, and asynchronous copies into it."""

from __future__ import annotations

from collections.abc import Iterable

from tests.emit.handwritten.module import entry, four

_EACH = range(4)


def _in_place(name: str, arithmetic: Iterable[str]) -> str:
    """128 threads of 16 bytes: own row to shared memory, the row of thread 127-t changed there, own row out."""
    return entry(
        name, 128, ("X", "Out"), (".shared .align 16 .b8 SM[2048];", ".reg .b32 %t, %s, %own, %other, %r<4>;"),
        [
            "mov.u32 %t, %tid.x;", "mov.u32 %s, SM;",
            "mad.wide.u32 %X, %t, 16, %X;",
            f"ld.global.v4.f32 {four('r')}, [%X];",
            "shl.b32 %own, %t, 4;", "add.u32 %own, %own, %s;",
            f"st.shared.v4.f32 [%own], {four('r')};",
            "bar.sync 0;",
            "sub.u32 %other, 127, %t;", "shl.b32 %other, %other, 4;", "add.u32 %other, %other, %s;",
            f"ld.shared.v4.f32 {four('r')}, [%other];",
            *arithmetic,
            f"st.shared.v4.f32 [%other], {four('r')};",
            "bar.sync 0;",
            f"ld.shared.v4.f32 {four('r')}, [%own];",
            "mad.wide.u32 %Out, %t, 16, %Out;",
            f"st.global.v4.f32 [%Out], {four('r')};",
        ],
    )  # fmt: skip


def fma_shared() -> str:
    return _in_place("fma_shared", (f"fma.rn.f32 %r{n}, %r{n}, 0f40200000, 0fBF400000;" for n in _EACH))


def exp_shared() -> str:
    half, minus_one, log2e = "0f3F000000", "0fBF800000", "0f3FB8AA3B"
    return _in_place(
        "exp_shared",
        (
            line
            for n in _EACH
            for line in (
                f"mul.rn.f32 %r{n}, %r{n}, {half};",
                f"add.rn.f32 %r{n}, %r{n}, {minus_one};",
                f"mul.rn.f32 %r{n}, %r{n}, {log2e};",
                f"ex2.approx.f32 %r{n}, %r{n};",
            )
        ),
    )


def cp_async_tail() -> str:
    declared = (".shared .align 8 .b8 SM[1024];", ".reg .b32 %t, %s, %x, %left, %w<2>;")
    text = entry(
        "cp_async_tail", 128, ("A", "Out"), declared,
        [
            "mov.u32 %t, %tid.x;", "mov.u32 %s, SM;",
            "mad.wide.u32 %A, %t, 8, %A;",
            # 402 halves of 2 bytes, of which the threads before have taken 8 bytes each.
            "shl.b32 %left, %t, 3;", "sub.s32 %left, 804, %left;", "max.s32 %left, %left, 0;", "min.s32 %left, %left, 8;",
            "shl.b32 %x, %t, 3;", "add.u32 %x, %x, %s;",
            "cp.async.ca.shared.global [%x], [%A], 8, %left;",
            "cp.async.commit_group;", "cp.async.wait_group 0;", "bar.sync 0;",
            "sub.u32 %x, 127, %t;", "shl.b32 %x, %x, 3;", "add.u32 %x, %x, %s;",
            "ld.shared.v2.b32 {%w0, %w1}, [%x];",
            "mad.wide.u32 %Out, %t, 8, %Out;",
            "st.global.v2.b32 [%Out], {%w0, %w1};",
        ],
    )  # fmt: skip
    return text.replace(".align 256 A", ".align 8 A")


def cp_async_double_buffer() -> str:
    declared = (
        ".shared .align 16 .b8 SM[4096];",
        ".reg .b32 %t, %s, %x, %n, %tile, %w<4>;", ".reg .b64 %g;", ".reg .pred %p;",
    )  # fmt: skip
    return entry(
        "cp_async_double_buffer", 128, ("A", "Out"), declared,
        [
            "mov.u32 %t, %tid.x;", "mov.u32 %s, SM;",
            "shl.b32 %x, %t, 4;", "add.u32 %x, %x, %s;", "mad.wide.u32 %g, %t, 16, %A;",
            "cp.async.cg.shared.global [%x], [%g], 16;",
            "cp.async.commit_group;",
            "mov.u32 %tile, 0;",
            "Turn:",
            "setp.ge.u32 %p, %tile, 6;", "@%p bra Done;",
            "setp.ge.u32 %p, %tile, 5;", "@%p bra Last;",
            # Stage (tile+1)%2 of 128 rows of 16 bytes; tile tile+1 is 2048 bytes after tile.
            "add.u32 %x, %tile, 1;", "and.b32 %x, %x, 1;", "shl.b32 %x, %x, 7;", "add.u32 %x, %x, %t;",
            "shl.b32 %x, %x, 4;", "add.u32 %x, %x, %s;",
            "shl.b32 %n, %tile, 7;", "add.u32 %n, %n, %t;", "mad.wide.u32 %g, %n, 16, %A;",
            "cp.async.cg.shared.global [%x], [%g+2048], 16;",
            "Last:",
            "cp.async.commit_group;", "cp.async.wait_group 1;", "bar.sync 0;",
            "and.b32 %x, %tile, 1;", "shl.b32 %x, %x, 7;", "sub.u32 %n, 127, %t;", "add.u32 %x, %x, %n;",
            "shl.b32 %x, %x, 4;", "add.u32 %x, %x, %s;",
            f"ld.shared.v4.b32 {four('w')}, [%x];",
            "shl.b32 %n, %tile, 7;", "add.u32 %n, %n, %t;", "mad.wide.u32 %g, %n, 16, %Out;",
            f"st.global.v4.b32 [%g], {four('w')};",
            "bar.sync 0;",
            "add.u32 %tile, %tile, 1;",
            "bra Turn;",
            "Done:",
        ],
    )  # fmt: skip
