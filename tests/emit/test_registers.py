"""Instructions on registers as they are written, assembled and executed."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

import tileproof as tp
from tests.contracts.calls import registers
from tests.emit.test_examples import example
from tests.emit.test_fragment import surrounded
from tileproof import Kernel, tx
from tileproof.emit.assemble import assemble
from tileproof.emit.fragment import emit
from tileproof.emit.runnable import ARCHITECTURES
from tileproof.errors import EmissionError
from tileproof.scalars.expression import constant, variable


def at(name: str, count: int = 2, bits: int = 32, each: int = 1) -> Any:
    return registers((count, each), bits=bits, name=name)


N = tp.symbol("n", 0, 100)

FRAGMENTS: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    "f32": ("fma.rn.f32", [at("D"), at("A"), 2.5, at("C")], {}),
    "f64": ("add.rz.f64", [at("D", bits=64), at("A", bits=64), -0.1], {}),
    "s32": ("max.s32", [at("D"), at("A"), -7], {}),
    "u64": ("min.u64", [at("D", bits=64), at("A", bits=64), (1 << 64) - 1], {}),
    "two of f16": ("fma.rn.f16", [at("D", bits=16), at("A", bits=16), 0.5, 1], {}),
    "bf16x2": ("mul.rn.bf16x2", [at("D"), 0x40004000, at("B")], {}),
    "f32x2": ("add.f32x2", [at("D", bits=64), at("A", bits=64), 0x3F8000003F800000], {}),
    "bits": ("mov.b32", [at("D"), -1], {}),
    "index": ("add.s32", [at("D"), at("A"), 2 * N + tx], {}),
    "wide index": ("add.u64", [at("D", bits=64), at("A", bits=64), N * 8], {}),
    "fixed index": ("add.s32", [at("D"), at("A"), N - N + 3], {}),
    "typed": ("fma.rn.f32", [at("D"), at("A"), variable("alpha", "float32"), constant(1.0, "float32")], {}),
    "predicated": ("neg.f32", [at("D"), at("A")], {"pred": N < 7, "preserve_dst": True}),
    "pack": ("mov.b32", [at("D"), at("A", bits=16, each=2)], {}),
    "unpack": ("mov.b64", [at("D", bits=16, each=4), at("A", bits=64)], {}),
    "pack by cvt": ("cvt.rn.relu.bf16x2.f32", [at("D"), at("A"), at("B")], {}),
    "four by cvt": ("cvt.rs.satfinite.e4m3x4.f32", [at("D"), at("A", each=4), at("B")], {}),
    "three": ("max.NaN.f32", [at("D"), at("A"), at("B"), 0.0], {}),
    "pair of e2m1": ("cvt.rn.satfinite.e2m1x2.f32", [at("D", bits=8), at("A"), at("B")], {}),
    "bytes": ("mov.b32", [at("D"), at("A", bits=8, each=4)], {}),
    "byte": ("cvt.sat.u8.s32", [at("D", bits=8), at("A")], {}),
}  # fmt: skip


def fragment(name: str) -> str:
    opcode, operands, keywords = FRAGMENTS[name]
    return emit(tp.prove(opcode, *operands, **keywords))


@pytest.mark.parametrize("name", FRAGMENTS)
def test_the_text_of_a_fragment(name: str, snapshot: SnapshotAssertion) -> None:
    assert fragment(name) == snapshot


@pytest.mark.parametrize("name", FRAGMENTS)
def test_a_fragment_assembles_on_the_first_target_that_has_it(name: str) -> None:
    opcode, operands, keywords = FRAGMENTS[name]
    form = tp.prove(opcode, *operands, **keywords).call.form
    arch = next(a for a in ARCHITECTURES if form.supports(a))
    text = surrounded(fragment(name)).replace("sm_90a", arch)
    assert assemble(text, arch).image


@pytest.mark.parametrize("name", FRAGMENTS)
def test_one_instruction_for_each_repeat(name: str) -> None:
    opcode = re.escape(FRAGMENTS[name][0])
    written = re.findall(rf"^ +(?:@%p0 )?{opcode} \{{?%D_(\d+)", fragment(name), re.MULTILINE)
    assert len(written) == len(set(written)) == 2


def test_a_constant_is_held_once_for_all_repeats() -> None:
    text = emit(tp.prove("mul.f16x2", at("D", 64), at("A", 64), 0x3C003C00))
    assert text.count("mov.b32") == 1


def test_an_index_that_may_not_fit_its_arithmetic_is_refused() -> None:
    wide = tp.symbol("w", 0, 2**40)
    report = tp.prove("mov.u32", at("D"), (wide // 3) % 7)
    with pytest.raises(EmissionError, match="declare narrower bounds"):
        emit(report)


def test_two_names_that_are_one_in_ptx_are_refused() -> None:
    with pytest.raises(EmissionError, match="would both be %n"):
        emit(tp.prove("fma.rn.f32", at("D"), at("A"), variable("n", "float32"), at("n")[:, :], pred=N < 3))


# A kernel of several instructions


def test_the_text_of_axpby(snapshot: SnapshotAssertion) -> None:
    assert example("axpby_registers").build().ptx("sm_90a") == snapshot


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_axpby_assembles_everywhere(arch: str) -> None:
    assert example("axpby_registers").build().assemble(arch).kernels[0].name == "axpby_registers"


def test_the_numbers_of_axpby() -> None:
    module = example("axpby_registers")
    kernel, arguments = module.build(), module.inputs()
    assert all(r.verdict is tp.Verdict.PROVED and not r.hazards for r in kernel.reports)
    result = kernel.simulate(*arguments)
    assert [a.tobytes() for a in arguments] == [e.tobytes() for e in module.expected()]
    assert {opcode: result.issued[opcode] for opcode in module.ISSUED} == module.ISSUED


def test_bytes_that_go_through_registers_of_bytes() -> None:
    """Two floats become a byte, four bytes a word, and a pair of halves comes back from the byte."""
    k = Kernel("bytes", block=1)
    source = k.parameter("S", (4, 2), "float32")
    word, back = k.parameter("W", (1,), "uint32"), k.parameter("H", (4,), "uint32")
    floats, pairs = k.registers("floats", (4, 2), "float32"), k.registers("pairs", (4,), "uint8", fill=0x17)
    packed, halves = k.registers("packed", (1,), "uint32"), k.registers("halves", (4, 1), "uint32")
    k.apply("ld.global.v2.f32", floats, source)
    k.apply("cvt.rn.satfinite.e2m1x2.f32", pairs.view(4, 1), floats[:, 1:2], floats[:, 0:1])
    k.apply("mov.b32", packed, pairs)
    k.apply("cvt.rn.f16x2.e2m1x2", halves, pairs.view(4, 1))
    k.apply("st.global.b32", word, packed)
    k.apply("st.global.v4.b32", back, halves.view(4))
    assert ".reg .b8 %pairs_<4>;" in k.ptx()
    values = np.array([[0.5, 1.0], [-1.5, 2.0], [3.0, -4.0], [6.0, 0.0]], np.float32)
    found = [np.zeros(1, np.uint32), np.zeros(4, np.uint32)]
    k.simulate(values, *found)
    codes = {0.0: 0, 0.5: 1, 1.0: 2, 1.5: 3, 2.0: 4, 3.0: 5, 4.0: 6, 6.0: 7}
    nibbles = [codes[abs(x)] | (x < 0) << 3 for x in values.ravel().tolist()]
    assert int(found[0][0]) == sum(nibble << 4 * place for place, nibble in enumerate(nibbles))
    assert found[1].view(np.float16).tolist() == values.ravel().tolist()
    assert k.assemble("sm_100a").image


# Opcode, types of the sources and of the result, and what NumPy makes of it.
NUMBERS: list[tuple[str, list[str], str, Any]] = [
    ("add.rn.f32", ["float32"] * 2, "float32", lambda a, b: a + b),
    ("mul.f64", ["float64"] * 2, "float64", lambda a, b: a * b),
    ("sub.f16", ["float16"] * 2, "float16", lambda a, b: a - b),
    ("add.s32", ["int32"] * 2, "int32", lambda a, b: a + b),
    ("mul.wide.s32", ["int32"] * 2, "int64", lambda a, b: a.astype(np.int64) * b),
    ("div.rn.f32", ["float32"] * 2, "float32", lambda a, b: a / b),
    ("max.f32", ["float32"] * 3, "float32", lambda a, b, c: np.maximum(np.maximum(a, b), c)),
    ("sqrt.rn.f32", ["float32"], "float32", np.sqrt),
    ("abs.f32", ["float32"], "float32", np.abs),
    ("neg.s64", ["int64"], "int64", np.negative),
    ("cvt.rn.f16.f32", ["float32"], "float16", lambda a: a.astype(np.float16)),
    ("cvt.rzi.s32.f32", ["float32"], "int32", lambda a: np.trunc(a).astype(np.int32)),
    ("cvt.f64.f32", ["float32"], "float64", lambda a: a.astype(np.float64)),
    ("cvt.sat.u8.s32", ["int32"], "uint8", lambda a: np.clip(a, 0, 255).astype(np.uint8)),
]  # fmt: skip


@pytest.mark.parametrize(("opcode", "sources", "target", "compute"), NUMBERS, ids=[n[0] for n in NUMBERS])
def test_a_kernel_computes_what_numpy_does(
    opcode: str, sources: list[str], target: str, compute: Any
) -> None:
    k = Kernel("numbers", block=32)
    types = [target, *sources]
    memory = [k.parameter(f"M{i}", (32, 3, 1), dtype) for i, dtype in enumerate(types)]
    held = [k.registers(f"r{i}", (3, 1), dtype) for i, dtype in enumerate(types)]
    bits = [view.as_view().bits for view in held]
    for i in range(1, len(types)):
        k.apply(f"ld.global.b{bits[i]}", held[i], memory[i][tx])
    k.apply(opcode, *held)
    k.apply(f"st.global.b{bits[0]}", memory[0][tx], held[0])
    draw = np.random.default_rng(11)
    values = [(draw.uniform(1, 500, 96) * 2).astype(t) for t in sources]
    arrays = [np.zeros((32, 3, 1), target), *(v.reshape(32, 3, 1) for v in values)]
    k.simulate(*arrays)
    np.testing.assert_array_equal(arrays[0].ravel(), compute(*values))
    assert k.assemble().image
