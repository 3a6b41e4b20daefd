"""The PTX of scalar functions: its text, its registers, what it needs of a target, and random functions run."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from syrupy.assertion import SnapshotAssertion

import tileproof as tp
from tests.scalars.machine import function_of, kernel_of, numpy_type, same, simulated
from tests.scalars.test_numbers import samples
from tests.scalars.test_serial import NUMERIC, expressions
from tests.scalars.test_trace import clipped, silu_affine
from tileproof import Kernel, LambdaExpr, S, Scalar, TileLayout, check_ewise, laneid, tx
from tileproof.emit.assemble import assemble
from tileproof.errors import AssemblerError, CallError, EmissionError, SimulationError
from tileproof.proofs.report import ContractError
from tileproof.scalars.expression import operate
from tileproof.scalars.functions import cast, select
from tileproof.scalars.operations import OPERATIONS, SHIFTS, roundings
from tileproof.scalars.types import TYPES


def registers(name: str, shape: tuple[int, ...], dtype: str = "float32", strides: Any = None) -> Any:
    layout = None if strides is None else TileLayout(S[shape:strides])
    return tp.tensor(name, shape, dtype, "registers", layout=layout)


def body(report: Any) -> list[str]:
    """The instructions of a fragment, without declarations."""
    lines = tp.emit(report).splitlines()
    return [line.strip() for line in lines if line.startswith("    ") and not line.startswith("    .reg")]


def test_the_text_of_a_fragment(snapshot: SnapshotAssertion) -> None:
    made = registers("R", (32, 2), strides=(1 @ laneid, 3))
    report = check_ewise(silu_affine, made, made, 2, tp.variable("bias", "float32"), scope="warp")
    assert tp.emit(report) == snapshot


def test_conditions_are_predicates(snapshot: SnapshotAssertion) -> None:
    text = tp.emit(check_ewise(clipped, registers("R", (1,)), registers("A", (1,))))
    assert text == snapshot
    assert "bra" not in text


def test_what_occurs_twice_is_computed_once() -> None:
    def build(x: Scalar) -> Scalar:
        square = x * x
        return square + square * square

    function = function_of(build, ["float32"], "float32")
    made = registers("R", (2,))
    assert body(check_ewise(function, made, made)) == [
        "mul.rn.f32 %r0, %R_0, %R_0;",
        "mul.rn.f32 %r1, %r0, %r0;",
        "add.rn.f32 %R_0, %r0, %r1;",
        "mul.rn.f32 %r2, %R_1, %R_1;",
        "mul.rn.f32 %r3, %r2, %r2;",
        "add.rn.f32 %R_1, %r2, %r3;",
    ]


def test_what_depends_on_scalars_alone_is_computed_once_for_all_coordinates() -> None:
    function = function_of(lambda x, a: x * (a * a) + tp.float16(1.5), ["float16", "float16"], "float16")
    alpha = tp.variable("alpha", "float16")
    report = check_ewise(
        function, registers("R", (2,), "float16"), registers("A", (2,), "float16"), alpha + alpha
    )
    assert body(report) == [
        "add.rn.f16 %rs0, %alpha, %alpha;",
        "mul.rn.f16 %rs1, %rs0, %rs0;",
        "mov.b16 %rs2, 0x3E00;",
        "mul.rn.f16 %rs3, %A_0, %rs1;",
        "add.rn.f16 %R_0, %rs3, %rs2;",
        "mul.rn.f16 %rs4, %A_1, %rs1;",
        "add.rn.f16 %R_1, %rs4, %rs2;",
    ]
    assert "// in  %alpha .b16: the float16 alpha" in tp.emit(report)


def test_a_body_without_an_operation_is_a_move() -> None:
    made, other = registers("R", (1,)), registers("A", (1,))
    assert body(check_ewise(function_of(lambda x: x, ["float32"], "float32"), made, other)) == [
        "mov.f32 %R_0, %A_0;"
    ]
    assert body(check_ewise(function_of(lambda: tp.float32(1), [], "float32"), made)) == [
        "mov.f32 %R_0, 0f3F800000;"
    ]
    bits = function_of(tp.uint32, ["int32"], "uint32")
    found = check_ewise(bits, registers("R", (1,), "uint32"), registers("A", (1,), "int32"))
    assert body(found) == ["mov.b32 %R_0, %A_0;"]


def test_a_broadcast_reads_one_register() -> None:
    function = function_of(lambda x, y: x + y, ["float32", "float32"], "float32")
    row = registers("A", (2,)).view(2, 1).broadcast(2, 2)
    assert body(check_ewise(function, registers("R", (2, 2)), row, 1)) == [
        f"add.rn.f32 %R_{2 * i + j}, %A_{i}, 0f3F800000;" for i in range(2) for j in range(2)
    ]


def test_nothing_is_written_without_a_proof() -> None:
    made = registers("R", (2,))
    refused = check_ewise(clipped, made, registers("A", (2,), "float16"))
    with pytest.raises(EmissionError, match=r"ewise\.dtype"):
        tp.emit(refused)


def test_a_register_has_one_width() -> None:
    halves = registers("H", (4,), "bfloat16")
    words = halves.declare((2,), "float32", name="W")
    function = function_of(tp.bfloat16, ["float32"], "bfloat16")
    report = check_ewise(function, halves[:2], words)
    with pytest.raises(EmissionError, match="H is used as registers of 16 and of 32 bits"):
        tp.emit(report)


def test_a_scalar_may_have_the_name_of_another_parameter() -> None:
    report = check_ewise(
        silu_affine, registers("R", (1,)), registers("A", (1,)), tp.variable("x", "float32"), 1
    )
    assert body(report)[-2:] == ["mul.rn.f32 %r5, %r4, %x;", "add.rn.f32 %R_0, %r5, 0f3F800000;"]


def test_a_name_that_ptx_cannot_spell_is_told() -> None:
    made = registers("R", (1,))
    report = check_ewise(function_of(lambda x: -x, ["float32"], "float32", name="négation"), made, made)
    with pytest.raises(EmissionError, match="'négation' is no PTX identifier"):
        tp.emit(report)


def test_names_that_become_one_are_told() -> None:
    made = registers("R", (2,))
    report = check_ewise(silu_affine, made, made, 2, tp.variable("R_1", "float32"))
    with pytest.raises(EmissionError, match=r"would both be %R_1"):
        tp.emit(report)


# Kernels.


def test_a_kernel_computes_under_a_guard_and_in_a_loop() -> None:
    k = Kernel("guarded", block=64)
    a, b = k.parameter("A", (64, 4), "float32"), k.parameter("B", (64, 4), "float32")
    held = k.registers("held", (1,), "float32")
    with k.when(tx < 48), k.loop("i", 0, 4) as i:
        k.apply("ld.global.f32", held, a[tx, i : i + 1])
        report = k.ewise(clipped, held, held)
        k.apply("st.global.f32", b[tx, i : i + 1], held)
    assert report in k.reports
    source, target = np.linspace(-4, 4, 256, dtype=np.float32).reshape(64, 4), np.zeros((64, 4), np.float32)
    k.simulate(source, target)
    wanted = np.clip(source, -2, 2)
    wanted[48:] = 0
    assert (target == wanted).all()
    assert k.assemble("sm_90a").kernels[0].spill_store_bytes == 0


def test_what_a_kernel_refuses() -> None:
    k = Kernel("refusing", block=32)
    held = k.registers("held", (2,), "float32")
    with pytest.raises(CallError, match=r"alpha \(float32\) has no value here"):
        k.ewise(silu_affine, held, held, tp.variable("alpha", "float32"), 1)
    with pytest.raises(CallError, match="R is not declared here"):
        k.ewise(clipped, held, registers("R", (2,)))
    with pytest.raises(ContractError, match=r"ewise\.dtype"):
        k.ewise(clipped, held, held.view("int32"))
    with pytest.raises(ContractError, match=r"ewise\.alias"):
        k.ewise(clipped, held, held.declare((2,), layout=TileLayout(S[(2,) : (0,)])), hazards="error")
    halves = k.registers("wide", (2,), "uint32").view("uint16")
    moved = function_of(lambda x: x, ["uint16"], "uint16")
    with pytest.raises(EmissionError, match="16-bit elements"):
        k.ewise(moved, halves[0:2], halves[2:4])
    assert k.reports == ()


def test_bfloat16_arithmetic_needs_hopper() -> None:
    kernel = kernel_of(function_of(lambda x: x * 2, ["bfloat16"], "bfloat16"), 1)
    assert kernel.architecture == "sm_90a"
    with pytest.raises(EmissionError, match=r"for mul\.rn\.bf16 the target must be sm_90 or later"):
        kernel.ptx("sm_80")
    assert ".version 8.0" in kernel.ptx("sm_90a")
    assert kernel_of(function_of(tp.bfloat16, ["float32"], "bfloat16"), 1).architecture == "sm_80"


def test_silu_affine_is_within_its_bound_of_the_exact_function() -> None:
    x = np.linspace(-8, 8, 640, dtype=np.float32)
    exact = x.astype(np.float64)
    exact = exact / (1 + np.exp(-exact)) * 2 + 1
    found = simulated(silu_affine, x, scale=2, bias=1)
    assert (np.abs(found - exact) <= 16 * np.spacing(exact.astype(np.float32))).all()


# The assembler as a witness.


def everything(target: int) -> list[LambdaExpr]:
    """A function for each operation, selection and conversion that needs exactly this target."""
    found = []
    for operation in OPERATIONS.values():
        for dtype, instruction in operation.forms.items():
            if instruction.target == target and dtype != "bool":
                types = [dtype, "uint32"] if operation.name in SHIFTS else [dtype] * operation.operands
                found.append(_numeric(lambda *x, o=operation.name: operate(o, *x), types))
    for target_type in NUMERIC:
        for source in NUMERIC:
            for rounding in roundings(TYPES[target_type], TYPES[source]) or (None,):
                function = _numeric(lambda x, t=target_type, r=rounding: cast(x, t, r), [source])
                needs = {need.targets.minimum for need in check_ewise_form(function)}
                if max(needs, default=0) == target:
                    found.append(function)
    if target == 0:
        found += [_numeric(lambda x, y: select(x > y, x, y), [d, d]) for d in NUMERIC if d != "bfloat16"]
    return found


def check_ewise_form(function: LambdaExpr) -> Any:
    from tileproof.contracts.family.ewise import ewise_form

    return ewise_form(function).needs


def _numeric(build: Any, types: list[str]) -> LambdaExpr:
    def numeric(*x: Scalar) -> Scalar:
        made: Scalar = build(*x)
        return tp.uint32(made) if made.dtype == "bool" else made

    probe = numeric(*(tp.variable(f"x{n}", d) for n, d in enumerate(types)))
    return function_of(numeric, types, probe.dtype)


def module(functions: list[LambdaExpr], constants: bool) -> Kernel:
    """All functions one after another, of registers or of constants."""
    k = Kernel("all", block=32)
    held = {d: k.registers(f"h_{d}", (3,), d, fill=1) for d in NUMERIC}
    out = {d: k.registers(f"o_{d}", (1,), d) for d in NUMERIC}
    sink = {d: k.parameter(f"P_{d}", (32, 1), d) for d in NUMERIC}
    for function in functions:
        inputs = [
            _constant(p.dtype) if constants else held[p.dtype][n : n + 1]
            for n, p in enumerate(function.parameters)
        ]
        k.ewise(function, out[function.result], *inputs)
        # Volatile, so that the assembler has to keep it.
        k.apply(
            f"st.volatile.global.b{TYPES[function.result].bits}",
            sink[function.result][tx],
            out[function.result],
        )
    return k


def _constant(dtype: str) -> Scalar:
    kind = TYPES[dtype]
    return tp.constant(kind.greatest if kind.is_integer else 1.5, dtype)


@pytest.mark.parametrize("constants", [False, True], ids=["registers", "constants"])
@pytest.mark.parametrize("target", [0, 75, 80, 90])
def test_every_form_assembles_where_it_says(target: int, constants: bool) -> None:
    functions = everything(target)
    assert len(functions) > {0: 100, 75: 3, 80: 7, 90: 50}[target] - 2
    arch = f"sm_{max(target, 75)}"
    assert assemble(module(functions, constants).ptx(arch), arch).arch == arch


def test_no_form_assembles_below_what_it_says() -> None:
    for target, below in ((80, "sm_75"), (90, "sm_89")):
        for function in everything(target):
            text = (
                module([function], False)
                .ptx(f"sm_{target}")
                .replace(f".target sm_{target}", f".target {below}")
            )
            with pytest.raises(AssemblerError):
                assemble(text, below)


# Random functions: two readings, and the assembler.


@given(expressions())
@settings(max_examples=60)
def test_random_functions_compute_what_they_mean(function: LambdaExpr) -> None:
    kernel = kernel_of(function, 2)
    columns = [np.resize(samples(p.dtype, 24, n), 64) for n, p in enumerate(function.parameters)]
    out = np.zeros(64, numpy_type(function.result))
    divides = any(node.op in ("floordiv", "mod") for node in function.nodes)
    try:
        wanted = function.evaluate(*columns)
    except CallError:
        assert divides
        with pytest.raises(SimulationError, match="division by zero"):
            kernel.simulate(*columns, out)
        return
    kernel.simulate(*columns, out)
    assert same(out, wanted, function.result)
    kernel.assemble("sm_90a")


def test_the_text_depends_on_nothing_else() -> None:
    texts = {kernel_of(silu_affine, 2).ptx() for _ in range(2)}
    assert len(texts) == 1
    assert len(re.findall(r"ex2\.approx\.f32", texts.pop())) == 2
