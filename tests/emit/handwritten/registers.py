"""Copies, arithmetic and casts in registers."""

from __future__ import annotations

from tests.emit.handwritten.module import SENTINEL, entry, four

_EACH = range(4)


def mov_registers() -> str:
    return entry(
        "mov_registers", 64, ("A", "Out"), (".reg .b32 %t, %w<4>, %r<7>;",),
        [
            "mov.u32 %t, %tid.x;",
            "mad.wide.u32 %A, %t, 16, %A;",
            *(f"mov.b32 %r{n}, {SENTINEL};" for n in range(7)),
            f"ld.global.v4.f32 {four('w')}, [%A];",
            "mov.f32 %r0, %w0;", "mov.f32 %r2, %w2;", "mov.f32 %r4, %w1;", "mov.f32 %r6, %w3;",
            "mad.wide.u32 %Out, %t, 28, %Out;",
            *(f"st.global.f32 [%Out+{4*n}], %r{n};" for n in range(7)),
        ],
    )  # fmt: skip


def mov_halves() -> str:
    return entry(
        "mov_halves", 64, ("A", "Out"), (".reg .b32 %t, %w<4>;", ".reg .b16 %lo<4>, %up<4>;"),
        [
            "mov.u32 %t, %tid.x;",
            "mad.wide.u32 %A, %t, 16, %A;",
            f"ld.global.v4.b32 {four('w')}, [%A];",
            *(f"mov.b32 {{%lo{n}, %up{n}}}, %w{n};" for n in _EACH),
            "mov.b32 %w0, {%lo0, %lo1};", "mov.b32 %w1, {%up0, %up1};",
            "mov.b32 %w2, {%lo2, %lo3};", "mov.b32 %w3, {%up2, %up3};",
            "mad.wide.u32 %Out, %t, 16, %Out;",
            f"st.global.v4.b32 [%Out], {four('w')};",
        ],
    )  # fmt: skip


def quantize_registers() -> str:
    return entry(
        "quantize_registers", 64, ("X", "Codes", "Out"), (".reg .b32 %t, %f<4>, %q<4>;",),
        [
            "mov.u32 %t, %tid.x;",
            "mad.wide.u32 %X, %t, 16, %X;",
            f"ld.global.v4.f32 {four('f')}, [%X];",
            *(f"div.rn.f32 %f{n}, %f{n}, 0f3DCCCCCD;" for n in _EACH),
            *(f"cvt.rni.s32.f32 %q{n}, %f{n};" for n in _EACH),
            *(f"add.s32 %q{n}, %q{n}, 3;" for n in _EACH),
            *(f"min.s32 %q{n}, %q{n}, 127;" for n in _EACH),
            *(f"max.s32 %q{n}, %q{n}, -128;" for n in _EACH),
            "mad.wide.u32 %Codes, %t, 16, %Codes;",
            f"st.global.v4.b32 [%Codes], {four('q')};",
            *(f"sub.s32 %q{n}, %q{n}, 3;" for n in _EACH),
            *(f"cvt.rn.f32.s32 %f{n}, %q{n};" for n in _EACH),
            *(f"mul.rn.f32 %f{n}, %f{n}, 0f3DCCCCCD;" for n in _EACH),
            "mad.wide.u32 %Out, %t, 16, %Out;",
            f"st.global.v4.f32 [%Out], {four('f')};",
        ],
    )  # fmt: skip


def unit_vectors() -> str:
    pair = range(2)
    return entry(
        "unit_vectors", 64, ("A", "Out"), (".reg .b32 %t, %x<2>, %y<2>, %s<2>;",),
        [
            "mov.u32 %t, %tid.x;",
            "mad.wide.u32 %A, %t, 16, %A;",
            *(f"ld.global.v2.f32 {{%x{n}, %y{n}}}, [%A+{8*n}];" for n in pair),
            *(f"mul.rn.f32 %s{n}, %x{n}, %x{n};" for n in pair),
            *(f"fma.rn.f32 %s{n}, %y{n}, %y{n}, %s{n};" for n in pair),
            *(f"sqrt.rn.f32 %s{n}, %s{n};" for n in pair),
            *(f"rcp.rn.f32 %s{n}, %s{n};" for n in pair),
            *(f"abs.f32 %x{n}, %x{n};" for n in pair),
            *(f"neg.f32 %y{n}, %y{n};" for n in pair),
            *(f"mul.rn.f32 %x{n}, %x{n}, %s{n};" for n in pair),
            *(f"mul.rn.f32 %y{n}, %y{n}, %s{n};" for n in pair),
            "mad.wide.u32 %Out, %t, 16, %Out;",
            *(f"st.global.v2.f32 [%Out+{8*n}], {{%x{n}, %y{n}}};" for n in pair),
        ],
    )  # fmt: skip


def e4m3_pairs() -> str:
    return entry(
        "e4m3_pairs", 64, ("X", "Codes", "Out"), (".reg .b32 %t, %f<4>, %h<2>;", ".reg .b16 %c<2>;"),
        [
            "mov.u32 %t, %tid.x;",
            "mad.wide.u32 %X, %t, 16, %X;",
            f"ld.global.v4.f32 {four('f')}, [%X];",
            "cvt.rn.satfinite.e4m3x2.f32 %c0, %f1, %f0;", "cvt.rn.satfinite.e4m3x2.f32 %c1, %f3, %f2;",
            "mad.wide.u32 %Codes, %t, 4, %Codes;",
            "st.global.v2.b16 [%Codes], {%c0, %c1};",
            "cvt.rn.f16x2.e4m3x2 %h0, %c0;", "cvt.rn.f16x2.e4m3x2 %h1, %c1;",
            "mad.wide.u32 %Out, %t, 8, %Out;",
            "st.global.v2.b32 [%Out], {%h0, %h1};",
        ],
    )  # fmt: skip


def axpby_registers() -> str:
    floats = [f"{{%f{n}, %f{n + 1}, %f{n + 2}, %f{n + 3}}}" for n in (0, 4)]

    def packed(pointer: str, name: str) -> list[str]:
        return [
            f"mad.wide.u32 %{pointer}, %t, 32, %{pointer};",
            *(f"ld.global.v4.f32 {floats[half]}, [%{pointer}+{16 * half}];" for half in range(2)),
            *(f"cvt.rn.f16x2.f32 %{name}{n}, %f{2 * n + 1}, %f{2 * n};" for n in _EACH),
        ]

    return entry(
        "axpby_registers", 64, ("X", "Y", "Out"), (".reg .b32 %t, %a, %b, %f<8>, %x<4>, %y<4>;",),
        [
            "mov.u32 %t, %tid.x;", "mov.b32 %a, 0x41004100;", "mov.b32 %b, 0xBA00BA00;",
            *packed("X", "x"),
            *packed("Y", "y"),
            *(f"mul.rn.f16x2 %y{n}, %y{n}, %b;" for n in _EACH),
            *(f"fma.rn.f16x2 %x{n}, %x{n}, %a, %y{n};" for n in _EACH),
            "mad.wide.u32 %Out, %t, 16, %Out;",
            f"st.global.v4.b32 [%Out], {four('x')};",
        ],
    )  # fmt: skip


def silu_affine() -> str:
    one, two, log2e = "0f3F800000", "0f40000000", "0f3FB8AA3B"
    silu = [
        line for n in range(3) for line in (
            f"neg.f32 %e, %x{n};", f"mul.rn.f32 %e, %e, {log2e};", "ex2.approx.f32 %e, %e;", f"add.rn.f32 %e, %e, {one};",
            f"div.rn.f32 %x{n}, %x{n}, %e;", f"mul.rn.f32 %x{n}, %x{n}, {two};", f"add.rn.f32 %x{n}, %x{n}, {one};",
        )
    ]  # fmt: skip
    return entry(
        "silu_affine", 64, ("X", "Y"), (".reg .b32 %t, %e, %x<3>;",),
        [
            "mov.u32 %t, %tid.x;",
            "mad.wide.u32 %X, %t, 12, %X;",
            *(f"ld.global.b32 %x{n}, [%X+{4*n}];" for n in range(3)),
            *silu,
            "mad.wide.u32 %Y, %t, 12, %Y;",
            *(f"st.global.b32 [%Y+{4*n}], %x{n};" for n in range(3)),
        ],
    )  # fmt: skip
