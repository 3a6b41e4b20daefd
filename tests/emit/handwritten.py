"""The kernels of ``examples/`` as somebody would write them by hand, straight from their docstrings."""

from __future__ import annotations

from collections.abc import Iterable

SENTINEL = "0xFFFFFCF7"


def entry(
    name: str, threads: int, parameters: Iterable[str], declared: Iterable[str], body: Iterable[str]
) -> str:
    """A module for sm_90a with one kernel; each parameter is a pointer to global memory in a register of its name."""
    names = list(parameters)
    listed = ",\n".join(f"    .param .u64 .ptr .global .align 256 {n}" for n in names)
    loaded = [
        line for n in names for line in (f"ld.param.u64 %{n}, [{n}];", f"cvta.to.global.u64 %{n}, %{n};")
    ]
    registers = [f".reg .b64 %{n};" for n in names]
    lines = "\n".join(f"    {line}" for line in (*registers, *declared, *loaded, *body, "ret;"))
    head = f".version 8.0\n.target sm_90a\n.address_size 64\n\n.visible .entry {name}(\n{listed}\n)"
    return f"{head}\n.reqntid {threads}, 1, 1\n{{\n{lines}\n}}\n"


def ld_128bit() -> str:
    return entry(
        "ld_128bit", 64, ("A", "Out"), (".reg .b32 %t, %w<23>;", ".reg .b64 %row;"),
        [
            *(f"mov.b32 %w{n}, {SENTINEL};" for n in range(23)),
            "mov.u32 %t, %tid.x;",
            "mad.wide.u32 %A, %t, 48, %A;",
            *(f"ld.global.v4.b32 {{%w{8*j}, %w{8*j+2}, %w{8*j+4}, %w{8*j+6}}}, [%A+{16*j}];" for j in range(3)),
            "mad.wide.u32 %row, %t, 92, %Out;",
            *(f"st.global.b32 [%row+{4*n}], %w{n};" for n in range(23)),
        ],
    )  # fmt: skip


def st_128bit() -> str:
    return entry(
        "st_128bit", 64, ("In", "Out"), (".reg .b32 %t, %w<23>;", ".reg .b64 %row;"),
        [
            "mov.u32 %t, %tid.x;",
            "mad.wide.u32 %row, %t, 92, %In;",
            *(f"ld.global.b32 %w{n}, [%row+{4*n}];" for n in range(23)),
            "mad.wide.u32 %Out, %t, 48, %Out;",
            *(f"st.global.v4.b32 [%Out+{16*j}], {{%w{8*j}, %w{8*j+2}, %w{8*j+4}, %w{8*j+6}}};" for j in range(3)),
        ],
    )  # fmt: skip


def ld_rearranged(slots: int, strides: tuple[int, int, int, int]) -> str:
    i_step, b_step, j_step, d_step = strides
    loads = []
    for j in range(7):
        for i in range(15):
            four = ", ".join(
                f"%w{i * i_step + b * b_step + j * j_step + d * d_step}" for d in range(2) for b in range(2)
            )
            loads.append(f"ld.global.v4.b32 {{{four}}}, [%A+{240 * j + 16 * i}];")
    return entry(
        "ld_rearranged", 32, ("A", "Out"), (f".reg .b32 %t, %w<{slots}>;", ".reg .b64 %row;"),
        [
            *(f"mov.b32 %w{n}, {SENTINEL};" for n in range(slots)),
            *loads,
            "mov.u32 %t, %tid.x;",
            f"mad.wide.u32 %row, %t, {4 * slots}, %Out;",
            *(
                f"st.global.v4.b32 [%row+{4*n}], {{%w{n}, %w{n+1}, %w{n+2}, %w{n+3}}};" for n in range(0, slots, 4)
            ),
        ],
    )  # fmt: skip


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
