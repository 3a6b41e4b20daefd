"""Instructions on registers: the shapes of their operands, each demand with its neighbour, and hazards."""

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
from tileproof import R, laneid, tx, warpid
from tileproof.contracts.families import load
from tileproof.contracts.family.arithmetic import MNEMONICS
from tileproof.contracts.grammar import enumerate_spellings, shapes
from tileproof.errors import CallError
from tileproof.layouts.tensor import Tensor

# The bits and the number of the registers of each operand, in PTX order: PTX ISA 9.7.1 to 9.7.5, 9.7.9.
SHAPES = [
    ("mov.b16", [(16, 1), (16, 1)]),
    ("mov.f32", [(32, 1), (32, 1)]),
    ("mov.b128", [(128, 1), (128, 1)]),
    ("mov.b32", [(32, 1), (16, 2)]),
    ("mov.b32", [(16, 2), (32, 1)]),
    ("mov.b64", [(64, 1), (32, 2)]),
    ("mov.b64", [(16, 4), (64, 1)]),
    ("mov.b128", [(128, 1), (64, 2)]),
    ("mov.b128", [(32, 4), (128, 1)]),
    ("add.f16", [(16, 1)] * 3),
    ("add.rn.f32", [(32, 1)] * 3),
    ("add.rm.f64", [(64, 1)] * 3),
    ("add.rn.f16x2", [(32, 1)] * 3),
    ("sub.bf16x2", [(32, 1)] * 3),
    ("mul.rz.ftz.f32x2", [(64, 1)] * 3),
    ("add.rn.f32.bf16", [(32, 1), (16, 1), (32, 1)]),
    ("fma.rn.f32.f16", [(32, 1), (16, 1), (16, 1), (32, 1)]),
    ("add.u16x2", [(32, 1)] * 3),
    ("mul.wide.s16", [(32, 1), (16, 1), (16, 1)]),
    ("mul.wide.u32", [(64, 1), (32, 1), (32, 1)]),
    ("mul.hi.u64", [(64, 1)] * 3),
    ("fma.rn.relu.bf16x2", [(32, 1)] * 4),
    ("fma.rp.f64", [(64, 1)] * 4),
    ("div.full.f32", [(32, 1)] * 3),
    ("div.s16", [(16, 1)] * 3),
    ("min.NaN.f16x2", [(32, 1)] * 3),
    ("max.f32", [(32, 1)] * 3),
    ("max.f32", [(32, 1)] * 4),
    ("max.abs.f32", [(32, 1)] * 4),
    ("max.relu.s16x2", [(32, 1)] * 3),
    ("abs.bf16", [(16, 1)] * 2),
    ("neg.s64", [(64, 1)] * 2),
    ("sqrt.rn.f64", [(64, 1)] * 2),
    ("rcp.approx.ftz.f32", [(32, 1)] * 2),
    ("rsqrt.approx.f64", [(64, 1)] * 2),
    ("ex2.approx.ftz.bf16x2", [(32, 1)] * 2),
    ("lg2.approx.f32", [(32, 1)] * 2),
    ("tanh.approx.f16", [(16, 1)] * 2),
    ("cvt.rn.f16.f32", [(16, 1), (32, 1)]),
    ("cvt.sat.u8.s32", [(8, 1), (32, 1)]),
    ("cvt.rn.f16x2.f32", [(32, 1), (32, 1), (32, 1)]),
    ("cvt.rs.bf16x2.f32", [(32, 1)] * 4),
    ("cvt.rn.satfinite.e4m3x2.f32", [(16, 1), (32, 1), (32, 1)]),
    ("cvt.rn.satfinite.e5m2x2.f16x2", [(16, 1), (32, 1)]),
    ("cvt.rn.f16x2.e4m3x2", [(32, 1), (16, 1)]),
    ("cvt.rn.satfinite.e2m1x2.f32", [(8, 1), (32, 1), (32, 1)]),
    ("mov.b32", [(8, 4), (32, 1)]),
    ("cvt.rn.satfinite.e2m3x2.f32", [(16, 1), (32, 1), (32, 1)]),
    ("cvt.rz.ue8m0x2.bf16x2", [(16, 1), (32, 1)]),
    ("cvt.rs.satfinite.e4m3x4.f32", [(32, 1), (32, 4), (32, 1)]),
    ("cvt.rs.satfinite.e2m1x4.f32", [(16, 1), (32, 4), (32, 1)]),
    ("cvt.rna.tf32.f32", [(32, 1), (32, 1)]),
]  # fmt: skip


def operands(shape: list[tuple[int, int]], repeats: int = 3) -> list[Tensor]:
    return [registers((repeats, n), bits=bits, name="DABC"[p]) for p, (bits, n) in enumerate(shape)]


@pytest.mark.parametrize(("opcode", "shape"), SHAPES, ids=lambda v: v if isinstance(v, str) else "")
def test_operands_are_registers_of_exactly_this_width_and_number(
    opcode: str, shape: list[tuple[int, int]]
) -> None:
    made = operands(shape)
    report = tp.check(opcode, *made, hazards="error")
    assert report.verdict is PROVED, str(report)
    assert report.call.repeat_extents == (3,)
    for position, (bits, count) in enumerate(shape):
        other_width = registers((3, count), bits=64 if bits == 8 else 8, name="W")
        longer = registers((3, count + 1), bits=bits, name="W")
        elsewhere = memory((3, count), bits=bits, space="shared", name="W")
        for other, demand in ((other_width, "width"), (longer, "shape"), (elsewhere, "space")):
            wrong = tp.check(opcode, *made[:position], other, *made[position + 1 :])
            assert wrong.verdict is REFUTED, str(wrong)
            assert failing(wrong) == {demand}
            assert f"operand {position} (W," in str(wrong)


@pytest.mark.parametrize("count", [2, 5])
def test_another_number_of_operands_is_no_call(count: int) -> None:
    with pytest.raises(CallError, match=f"max.f32 takes 3 or 4 operands in PTX order, got {count}"):
        tp.check("max.f32", *[registers((1, 1))] * count)


def test_the_third_input_needs_a_later_target() -> None:
    two, three = (tp.check("max.f32", *operands([(32, 1)] * n)).call.form for n in (3, 4))
    assert two.supports("sm_80")
    assert "max of three values" in str(three.unsupported_reason("sm_90a"))
    assert (two.ptx_version, three.ptx_version) == ((1, 0), (8, 8))


def test_packing_is_told_from_copying_by_the_registers() -> None:
    shapes_of = {
        tuple(o.registers for o in tp.check("mov.b32", *operands(shape)).call.form.operands)
        for shape in ([(32, 1), (32, 1)], [(32, 1), (16, 2)], [(16, 2), (32, 1)])
    }
    assert shapes_of == {(1, 1), (1, 2), (2, 1)}


EXEMPLARS = [f for m in MNEMONICS for s in list(enumerate_spellings(m))[::7] for f in shapes(s)]


@pytest.mark.parametrize("number", range(len(EXEMPLARS)))
def test_samples_of_every_kind_are_proved_or_unsupported(number: int) -> None:
    form = EXEMPLARS[number]
    made = load()[form.mnemonic].sample(form)
    report = tp.check(form.spelling, *made, hazards="error")
    unsupported = form.get("type") == "pred"
    assert report.verdict is (tp.Verdict.UNSUPPORTED if unsupported else PROVED), str(report)
    assert unsupported or report.call.form == form


def lanes(*shape: int, step: int = 1, first: int = 0, name: str = "A") -> Tensor:
    return registers(
        (32, *shape), (step @ laneid, *shape[1:], 1), first @ laneid if first else None, name=name
    )


def three(**changed: Tensor) -> Setup:
    """fma over two repeats at warp scope, with some operands changed."""
    made = {name: lanes(2, 1, name=name) for name in "DABC"} | changed
    return on(*made.values(), scope="warp")


WIDE = registers((8,), name="W")
F32 = "fma.rn.f32"
N = tp.symbol("n", 0, 4)

DEMANDS = [
    *(Neighbours("owned", f"lane of {name}",
        three(), three(**{name: registers((32, 2, 1), (0, 1, 1), name=name)}), {"lane": 1}, F32) for name in "DABC"),
    Neighbours("owned", "the next lane", three(), three(B=lanes(2, 1, first=1, name="B")), {"lane": 0}, F32),
    Neighbours("distinct", "results of two repeats",
        on(registers((2, 1), (1, 1), name="D"), WIDE[0:2].view(2, 1)),
        on(registers((2, 1), (0, 1), name="D"), WIDE[0:2].view(2, 1)), {"repeat": (0,)}, "neg.f32"),
    Neighbours("distinct", "parts of two repeats",
        on(registers((2, 2), (2, 1), bits=16, name="D"), registers((2, 1))),
        on(registers((2, 2), (1, 1), bits=16, name="D"), registers((2, 1))), {"repeat": (0,)}, "mov.b32"),
    Neighbours("in-bounds", "a slice of registers",
        on(registers((1,), name="D"), WIDE[N + 3:N + 4]), on(registers((1,), name="D"), WIDE[N + 4:N + 5]),
        {"symbols": {"n": 4}}, "neg.f32"),
    Neighbours("in-storage", "a declared tensor",
        on(registers((1,), name="D"), registers((4,), bits=32, name="RAW").declare((1,), at=3, name="X")),
        on(registers((1,), name="D"), registers((4,), bits=32, name="RAW").declare((1,), at=4, name="X")),
        {}, "neg.f32"),
    Neighbours("whole-register", "a halfword later",
        on(registers((1,), name="D"), registers((6,), bits=16, name="RAW").declare((1,), "b32", at=2, name="X")),
        on(registers((1,), name="D"), registers((6,), bits=16, name="RAW").declare((1,), "b32", at=1, name="X")),
        {}, "neg.f32"),
    Neighbours("converged", "a guard that leaves a lane out", three(), Setup(three().operands,
        {"scope": "warp", "active": tx < 31}), {}, F32),
    Neighbours("covered", "more warps than the group has",
        on(*(registers((1, 32, 1), (1 @ warpid, 1 @ laneid, 1), name=n) for n in "DA"), scope="cta", block=32),
        on(*(registers((1, 32, 1), (1 @ warpid, 1 @ laneid, 1), name=n) for n in "DA"), scope="cta", block=64),
        {}, "neg.f32"),
    Neighbours("fits", "a signed index",
        on(registers((1,), name="D"), registers((1,), name="A"), tp.symbol("i", -(2**31), 2**31 - 1)),
        on(registers((1,), name="D"), registers((1,), name="A"), tp.symbol("i", -(2**31), 2**31)),
        {"symbols": {"i": 2**31}}, "add.s32"),
    Neighbours("fits", "an unsigned index under a guard",
        on(registers((1,), name="D"), registers((1,), name="A"), N - 2, active=N >= 2),
        on(registers((1,), name="D"), registers((1,), name="A"), N - 2, active=N >= 1),
        {"symbols": {"n": 1}, "found": "-1"}, "add.u32"),
]  # fmt: skip


@pytest.mark.parametrize("case", DEMANDS, ids=str)
def test_demands(case: Neighbours) -> None:
    assert_neighbours(case)


X = registers((8,), name="X")


def in_place(d: Any, a: Any) -> Setup:
    return on(d, a)


OVERWRITTEN = [
    Neighbours("overwritten", "one element later", in_place(X[0:4].view(4, 1), X[0:4].view(4, 1)),
        in_place(X[1:5].view(4, 1), X[0:4].view(4, 1)), {"repeat": (0,)}, "neg.f32"),
    Neighbours("overwritten", "one element earlier is fine", in_place(X[0:4].view(4, 1), X[1:5].view(4, 1)),
        in_place(X[3:7].view(4, 1), X[1:5].view(4, 1)), {"repeat": (0,)}, "neg.f32"),
    Neighbours("overwritten", "a broadcast source", in_place(X[1:5].view(4, 1), X[0:1].broadcast(4, 1)),
        in_place(X[0:4].view(4, 1), X[0:1].broadcast(4, 1)), {"repeat": (0,)}, "neg.f32"),
    Neighbours("overwritten", "transposed in place",
        in_place(X[0:4].view(2, 2, 1), X[4:8].view(2, 2).permute(1, 0).broadcast(1, 2, 2).permute(1, 2, 0)),
        in_place(X[0:4].view(2, 2, 1), X[0:4].view(2, 2).permute(1, 0).broadcast(1, 2, 2).permute(1, 2, 0)),
        {"repeat": (0, 1)}, "neg.f32"),
    Neighbours("replica", "a destination twice in storage",
        in_place(registers((2, 1), name="D"), X[0:2].view(2, 1)),
        in_place(registers((2, 1), (1, 1), R[2:2], name="D"), X[0:2].view(2, 1)), {}, "neg.f32"),
]  # fmt: skip


@pytest.mark.parametrize("case", OVERWRITTEN, ids=str)
def test_hazards(case: Neighbours) -> None:
    assert_hazard(case)


def test_two_widths_in_the_same_registers_are_refused() -> None:
    report = tp.check("mov.b32", X[0:1].view(1, 1), X[1:2].view("uint16").view(1, 2))
    assert failing(report) == {"whole-register"}
    assert "registers of one storage are read and written in one width" in str(report)


@pytest.mark.parametrize("name", ["pred", "preserve_dst"])
def test_parameters(name: str) -> None:
    d, a = registers((1,), name="D"), registers((1,), name="A")
    assert check("neg.f32", on(d, a, pred=N < 2, preserve_dst=True)).verdict is PROVED
    with pytest.raises(CallError, match=name):
        tp.check(
            "neg.f32",
            d,
            a,
            **({"preserve_dst": True} if name == "pred" else {"preserve_dst": "yes", "pred": True}),
        )
