"""Matrices between shared memory and registers."""

from __future__ import annotations

from tests.emit.handwritten.module import SENTINEL, entry, four

# Word n = lane + 32*q of the array stands at word 8*(n//8) + n//2%4 + 128*(n%2) of SM, and 32*q words are 128 bytes
# further in both.
_WORD = (
    "shr.u32 %x, %t, 3;", "shl.b32 %x, %x, 3;",
    "shr.u32 %y, %t, 1;", "and.b32 %y, %y, 3;", "add.u32 %x, %x, %y;",
    "and.b32 %y, %t, 1;", "shl.b32 %y, %y, 7;", "add.u32 %x, %x, %y;",
    "shl.b32 %x, %x, 2;", "add.u32 %word, %x, %s;",
)  # fmt: skip
# Lane 8*matrix + r supplies row 2*r + matrix.
_ROW = (
    "shr.u32 %x, %t, 3;", "and.b32 %x, %x, 1;", "and.b32 %y, %t, 7;", "shl.b32 %y, %y, 1;", "add.u32 %x, %x, %y;",
    "shl.b32 %x, %x, 5;", "add.u32 %row, %x, %s;",
)  # fmt: skip
_SHARED = (
    ".shared .align 16 .b8 SM[1008];",
    ".reg .b32 %t, %s, %x, %y, %row, %word, %v<4>, %w<12>;",
    ".reg .b64 %g, %h;",
)
_MATRIX = "ldmatrix.sync.aligned.m8n8.x2.shared.b16"


def ldmatrix_interleaved() -> str:
    return entry(
        "ldmatrix_interleaved", 32, ("A", "Out"), _SHARED,
        [
            "mov.u32 %t, %tid.x;", "mov.u32 %s, SM;",
            "mad.wide.u32 %g, %t, 4, %A;",
            *(f"ld.global.b32 %v{q}, [%g+{128*q}];" for q in range(4)),
            *_WORD,
            *(f"st.shared.b32 [%word+{128*q}], %v{q};" for q in range(4)),
            "bar.sync 0;",
            *(f"mov.b32 %w{n}, {SENTINEL};" for n in range(12)),
            *_ROW,
            f"{_MATRIX} {{%w0, %w2}}, [%row];",
            f"{_MATRIX} {{%w8, %w10}}, [%row+512];",
            "mad.wide.u32 %h, %t, 48, %Out;",
            *(f"st.global.b32 [%h+{4*n}], %w{n};" for n in range(12)),
        ],
    )  # fmt: skip


def stmatrix_interleaved() -> str:
    return entry(
        "stmatrix_interleaved", 32, ("In", "Out"), _SHARED,
        [
            "mov.u32 %t, %tid.x;", "mov.u32 %s, SM;",
            "mad.wide.u32 %g, %t, 48, %In;",
            *(f"ld.global.b32 %w{n}, [%g+{4*n}];" for n in range(12)),
            *_ROW,
            f"{_MATRIX.replace('ld', 'st', 1)} [%row], {{%w0, %w2}};",
            f"{_MATRIX.replace('ld', 'st', 1)} [%row+512], {{%w8, %w10}};",
            "bar.sync 0;",
            *_WORD,
            *(f"ld.shared.b32 %v{q}, [%word+{128*q}];" for q in range(4)),
            "mad.wide.u32 %h, %t, 4, %Out;",
            *(f"st.global.b32 [%h+{128*q}], %v{q};" for q in range(4)),
        ],
    )  # fmt: skip


def matrix_transposed() -> str:
    lines = (
        ".shared .align 16 .b8 Source[512];", ".shared .align 16 .b8 Target[512];",
        ".reg .b32 %t, %s, %d, %x, %y, %row, %w<4>, %f<4>;",
    )  # fmt: skip
    return entry(
        "matrix_transposed", 32, ("A", "Out"), lines,
        [
            "mov.u32 %t, %tid.x;", "mov.u32 %s, Source;", "mov.u32 %d, Target;",
            "mad.wide.u32 %A, %t, 16, %A;",
            f"ld.global.v4.b32 {four('w')}, [%A];",
            "shl.b32 %x, %t, 4;", "add.u32 %row, %x, %s;",
            f"st.shared.v4.b32 [%row], {four('w')};",
            "bar.warp.sync 0xFFFFFFFF;",
            # Lane 16*down + 8*right + r supplies row 8*down + r, from its word 4*right: 16 bytes at 16*down + 2*r + right.
            "shr.u32 %x, %t, 3;", "and.b32 %x, %x, 1;", "shr.u32 %y, %t, 4;", "shl.b32 %y, %y, 4;", "add.u32 %x, %x, %y;",
            "and.b32 %y, %t, 7;", "shl.b32 %y, %y, 1;", "add.u32 %x, %x, %y;",
            "shl.b32 %x, %x, 4;", "add.u32 %row, %x, %s;",
            f"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {four('f')}, [%row];",
            # Of the target it is row 8*right + r, from word 4*down: 16 bytes at 2*(8*right + r) + down.
            "and.b32 %x, %t, 15;", "shl.b32 %x, %x, 1;", "shr.u32 %y, %t, 4;", "add.u32 %x, %x, %y;",
            "shl.b32 %x, %x, 4;", "add.u32 %row, %x, %d;",
            f"stmatrix.sync.aligned.m8n8.x4.shared.b16 [%row], {four('f')};",
            "bar.warp.sync 0xFFFFFFFF;",
            "shl.b32 %x, %t, 4;", "add.u32 %row, %x, %d;",
            f"ld.shared.v4.b32 {four('w')}, [%row];",
            "mad.wide.u32 %Out, %t, 16, %Out;",
            f"st.global.v4.b32 [%Out], {four('w')};",
        ],
    )  # fmt: skip
