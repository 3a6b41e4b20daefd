"""Loads and stores."""

from __future__ import annotations

from tests.emit.handwritten.module import SENTINEL, entry


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
