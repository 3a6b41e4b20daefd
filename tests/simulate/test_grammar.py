"""Reading PTX text: what is understood, what is refused, and where a message points."""

from __future__ import annotations

import numpy as np
import pytest

from tests.simulate.kernels import module, threads
from tileproof.simulate import SimulationError, simulate, syntax
from tileproof.simulate.flow import order
from tileproof.simulate.grammar import parse

STORE = "\n    st.global.u32 [%rd2], %r1;\n"


def test_a_module() -> None:
    found = parse(
        """
    // a comment; with { things } in it
    .version 8.7
    .target sm_90a, debug
    .address_size 64
    .file 1 "a.cu"
    .extern .shared .align 1024 .b8 smem[];
    .visible .global .align 4 .b32 t[2][3] = {1, 0x2, 0b11, 010, -4, 5U};
    /* another
       comment */
    .visible .entry k(
        .param .u64 .ptr .global .align 16 x,
        .param .align 64 .b8 map[128],
        .param .f32 scale
    )
    .reqntid 32, 1, 1
    .maxnreg 128
    .pragma "nounroll";
    {
        .reg .b32 %r<3>, single;
        .loc 1 2 3
        @!p bra L;
    L:  ld.global.L1::no_allocate.v4.u32 {%r0, _, %r1, %r2}, [single+-16];
        ret;
    }
"""
    )
    assert found.version == (8, 7)
    assert found.targets == ("sm_90a", "debug")
    smem, table = found.variables
    assert (smem.elements, smem.align, smem.is_extern) == (None, 1024, True)
    assert (table.elements, [value.value for value in table.initial]) == (6, [1, 2, 3, 8, -4, 5])
    (kernel,) = found.kernels
    assert [(one.name, one.type, one.align, one.pointee_align) for one in kernel.parameters] == [
        ("x", "u64", None, 16),
        ("map", "b8", 64, None),
        ("scale", "f32", None, None),
    ]
    assert kernel.directives == {"reqntid": (32, 1, 1), "maxnreg": (128,)}
    registers, branch, label, load, _ = kernel.body.statements
    assert isinstance(registers, syntax.RegisterDeclaration)
    assert registers.names == (("%r", 3), ("single", None))
    assert isinstance(branch, syntax.Instruction)
    assert branch.guard == syntax.Guard(syntax.Name("p"), inverted=True)
    assert isinstance(load, syntax.Instruction)
    assert label == syntax.Label("L", load.line)
    assert load.operands[1] == syntax.Address(syntax.Name("single"), -16)


CONSTANTS = [
    ("0x1F", 0x1F),
    ("0b101", 5),
    ("017", 15),
    ("0", 0),
    ("4294967295U", 0xFFFF_FFFF),
    ("-1", 0xFFFF_FFFF),
    ("0f3F800000", 0x3F80_0000),
    ("WARP_SZ", 32),
]


@pytest.mark.parametrize(("text", "value"), CONSTANTS)
def test_integer_constants(text: str, value: int) -> None:
    assert (threads(f"mov.b32 %r1, {text};" + STORE) == value).all()


FLOATS = [
    ("0f40490FDB", 0x4049_0FDB),
    ("1.5", 0x3FC0_0000),
    ("-2.0", 0xC000_0000),
    ("1e1", 0x4120_0000),
    ("0d3FF0000000000000", 0x3F80_0000),
]


@pytest.mark.parametrize(("text", "value"), FLOATS)
def test_floating_point_constants(text: str, value: int) -> None:
    found = threads(f"mov.f32 %f1, {text};\n mov.b32 %r1, %f1;" + STORE)
    assert hex(found[0]) == hex(value)


UNREADABLE = [
    ("add.u32 %r1, %r0, 1", r"line \d+: `ret;` is not PTX"),
    (
        "add.u32 %r1 %r0;",
        r"`add.u32 %r1 %r0;` is not PTX that the simulator reads \(column \d+; expected one of",
    ),
    ("add.u32 %r1, %unknown, 1;", "`add.u32 %r1, %unknown, 1`: '%unknown' is not declared"),
    ("frobnicate.u32 %r1, %r0;", "does not know the instruction frobnicate.u32"),
    ("add.sat.u32 %r1, %r0, 1;", ".sat goes with .s32 only"),
    ("add.cc.u32 %r1, %r0, 1;", "does not know add with .cc"),
    ("add.u32 %r1, %r0;", "has 2 operands; it takes 3"),
    ("add.b32 %r1, %r0, 1;", "type .b32 is not one of .u16"),
    ("add %r1, %r0, 1;", "add has no type"),
    ("mul.u32 %r1, %r0, 1;", "mul.u32 needs one of .lo, .hi, .wide"),
    ("fma.f32 %f1, %f1, %f1, %f1;", "fma.f32 needs one of .rn"),
    ("setp.lt.b32 %p1, %r0, 1;", "compare by .eq and .ne only"),
    ("setp.ltu.u32 %p1, %r0, 1;", ".ltu does not compare .u32"),
    ("ld.global.v3.u32 {%r1, %r2, %r3}, [%rd0];", "does not know ld with .v3"),
    ("ld.global.v2.u32 {%r1, %r2, %r3}, [%rd0];", "moves 2 elements, but {%r1, %r2, %r3} has 3"),
    ("ld.global.v8.u16 {%h1}, [%rd0];", "there is no .v8 of .u16"),
    ("ld.global.v4.f64 {%fd1}, [%rd0];", "has 1"),
    ("ld.shared.v4.f64 {%fd1, %fd1, %fd1, %fd1}, [%r0];", "256-bit accesses are for .global and generic"),
    ("ld.global.f16 %h1, [%rd0];", "type .f16 is not one of"),
    ("ld.global.u32 %r1, %rd0;", r"operand %rd0 is not an address; write \[%rd0\]"),
    ("bra %r1;", "bra needs a label"),
    ("@%r1 exit;", "a guard must be a .pred register"),
    (".reg .b32 %r1;\n .reg .b32 %r1;", "'%r1' is declared twice"),
    ("ld.global.u32 %r1, [%rd0-4];", "is not PTX"),
    (".reg .b33 %x;", ".b33 is not a type"),
    (".reg .v4 .b32 %x;", "vector registers"),
    (".local .b8 x[];", "'x' has no size"),
    (".shared .align 3 .b8 x[4];", ".align 3, which is not a power of two"),
    (".shared x[4];", "needs a state space"),
    (
        ".shared .b8 x[232448], y;",
        "'y' ends at byte 232449 of .shared memory, of which a kernel has at most 232448",
    ),
    (".local .pred x;", "'x' is .pred, which only registers can be"),
    (".param .b32 x;", ".param 'x' cannot stand here"),
    (".reg .b32 %x<65536>;", "more than 65536 registers"),
    ("mov.u32 %r1, %clock;", "'%clock' is not declared"),
    ("lop3.b32 %r1, %r0, %r0, %r0, 256;", "the table must be a constant from 0 to 0xff"),
    ("mov.b64 %rd5, {%r0, %r0, %r0};", "has 3 parts"),
    ("mov.u64 %rd5, %r1+4;", "only the address of a variable takes an offset"),
    ("cvta.shared.u64 %rd5, out;", "'out' is a .param variable"),
    ("cvta.shared.u32 %r1, %r0;", "type .u32 is not one of .u64"),
    ("red.global.cas.b32 [%rd0], %r0;", "needs one of .and"),
    ("call (%r1), f, (%r0);", "is not PTX"),
]


@pytest.mark.parametrize(("statement", "message"), UNREADABLE)
def test_what_cannot_be_read_is_refused_before_anything_runs(statement: str, message: str) -> None:
    out = np.full(32, 5, np.uint32)
    with pytest.raises(SimulationError, match=message):
        simulate(module("st.global.u32 [%rd0], %r0;\n    " + statement), [out])
    assert (out == 5).all()


def test_text_that_is_no_ptx_at_all() -> None:
    for text in ("", "hello", ".version 8.7\n.target sm_90a\n.visible .entry k() {"):
        with pytest.raises(SimulationError, match="is not PTX"):
            simulate(text, [])


ORDERS: list[tuple[list[list[int]], list[int]]] = [
    ([], []),
    ([[1], [2], []], [0, 1, 2]),
    # 0: if; 1, 2: then; 3: else; 4: join
    ([[1, 3], [2], [4], [4], []], [0, 1, 2, 3, 4]),
    # 0: head of a loop, which leaves to 3; 2 goes back
    ([[1, 3], [2], [0], []], [0, 1, 2, 3]),
    # 1 branches to 4, out of line, which comes back to 2
    ([[1], [2, 4], [3], [], [2]], [0, 1, 3, 4, 2]),
    # 3 cannot be reached
    ([[1], [2], [], [2]], [0, 1, 2, 3]),
]


@pytest.mark.parametrize(("successors", "ranks"), ORDERS)
def test_the_order_of_control_flow(successors: list[list[int]], ranks: list[int]) -> None:
    assert order(successors).tolist() == ranks
