"""The examples: their text, on every architecture, and their numbers."""

from __future__ import annotations

import importlib
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tileproof import Verdict
from tileproof.emit.assemble import assemble
from tileproof.errors import AssemblerError, EmissionError, SimulationError
from tileproof.simulate import simulate

FOLDER = str(Path(__file__).parents[2] / "examples")


def example(name: str) -> Any:
    """A module of the folder ``examples``."""
    if FOLDER not in sys.path:
        sys.path.insert(0, FOLDER)  # where Python looks when it runs a script of that folder
    return importlib.import_module(name)


EXAMPLES: dict[str, Any] = example("_all").examples()

# How often the text has each opcode that was proved, and for scalar functions each operation: one instruction for each
# repeat of a call.
EMITTED = {
    "axpby_registers": {
        "ld.global.v4.f32": 4, "cvt.rn.f16x2.f32": 8, "mul.rn.f16x2": 4, "fma.rn.f16x2": 4, "st.global.v4.b32": 1,
    },
    "cp_async_double_buffer": {"cp.async.cg.shared.global": 2, "ld.shared.v4.b32": 1, "st.global.v4.b32": 1},
    "cp_async_tail": {"cp.async.ca.shared.global": 1, "ld.shared.v2.b32": 1, "st.global.v2.b32": 1},
    "e4m3_pairs": {
        "ld.global.v4.f32": 1, "cvt.rn.satfinite.e4m3x2.f32": 2, "cvt.rn.f16x2.e4m3x2": 2,
        "st.global.v2.b16": 1, "st.global.v2.b32": 1,
    },
    "exp_shared": {
        "ld.global.v4.f32": 1, "st.shared.v4.f32": 2, "ld.shared.v4.f32": 2, "st.global.v4.f32": 1,
        "mul.rn.f32": 8, "add.rn.f32": 4, "ex2.approx.f32": 4,
    },
    "fma_shared": {
        "ld.global.v4.f32": 1, "st.shared.v4.f32": 2, "ld.shared.v4.f32": 2, "fma.rn.f32": 4, "st.global.v4.f32": 1,
    },
    "ld_128bit": {"ld.global.v4.b32": 3, "st.global.b32": 23},
    "ld_rearranged_compact": {"ld.global.v4.b32": 105, "st.global.v4.b32": 105},
    "ld_rearranged_spread": {"ld.global.v4.b32": 105, "st.global.v4.b32": 210},
    "ldmatrix_interleaved": {
        "ld.global.b32": 4, "st.shared.b32": 4, "ldmatrix.sync.aligned.m8n8.x2.shared.b16": 2, "st.global.b32": 12,
    },
    "matrix_transposed": {
        "ld.global.v4.b32": 1, "st.shared.v4.b32": 1, "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16": 1,
        "stmatrix.sync.aligned.m8n8.x4.shared.b16": 1, "ld.shared.v4.b32": 1, "st.global.v4.b32": 1,
    },
    "mov_halves": {"ld.global.v4.b32": 1, "mov.b32": 8, "st.global.v4.b32": 1},
    "mov_registers": {"ld.global.v4.f32": 1, "mov.f32": 4, "st.global.f32": 7},
    "quantize_registers": {
        "ld.global.v4.f32": 1, "div.rn.f32": 4, "cvt.rni.s32.f32": 4, "add.s32": 4, "min.s32": 4, "max.s32": 4,
        "st.global.v4.b32": 1, "sub.s32": 4, "cvt.rn.f32.s32": 4, "mul.rn.f32": 4, "st.global.v4.f32": 1,
    },
    "silu_affine": {
        "ld.global.b32": 3, "neg.f32": 3, "mul.rn.f32": 6, "ex2.approx.f32": 3, "add.rn.f32": 6, "div.rn.f32": 3,
        "st.global.b32": 3,
    },
    "st_128bit": {"ld.global.b32": 23, "st.global.v4.b32": 3},
    "stmatrix_interleaved": {
        "ld.global.b32": 12, "stmatrix.sync.aligned.m8n8.x2.shared.b16": 2, "ld.shared.b32": 4, "st.global.b32": 4,
    },
    "unit_vectors": {
        "ld.global.v2.f32": 2, "mul.rn.f32": 6, "fma.rn.f32": 2, "sqrt.rn.f32": 2, "rcp.rn.f32": 2, "abs.f32": 2,
        "neg.f32": 2, "st.global.v2.f32": 2,
    },
}  # fmt: skip

OPCODE = re.compile(r"^ +(?:@!?%\w+ )?([a-z][\w.:]*) ", re.MULTILINE)


@pytest.mark.parametrize("name", EXAMPLES)
def test_one_instruction_stands_for_each_repeat(name: str) -> None:
    kernel = EXAMPLES[name].build()
    forms = [report.call.form for report in kernel.reports]
    assert {form.spelling for form in forms if form.mnemonic != "ewise"} <= EMITTED[name].keys()
    written = Counter(OPCODE.findall(kernel.ptx()))
    assert {opcode: written[opcode] for opcode in EMITTED[name]} == EMITTED[name]


# The text of the others follows from that of a hand-written one: see test_machine_code.py.
SHOWN = [
    "cp_async_double_buffer", "ld_128bit", "ld_rearranged_compact", "ldmatrix_interleaved", "silu_affine", "st_128bit",
    "stmatrix_interleaved",
]  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_the_text_of_an_example(name: str, snapshot: SnapshotAssertion) -> None:
    assert EXAMPLES[name].build().ptx("sm_90a") == snapshot


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_call_is_proved_without_a_hazard(name: str) -> None:
    for report in EXAMPLES[name].build().reports:
        assert report.verdict is Verdict.PROVED
        assert report.hazards == ()


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_machine_computes_what_numpy_does(name: str) -> None:
    item = EXAMPLES[name]
    arguments = item.inputs()
    result = item.build().simulate(*arguments)
    assert [a.tobytes() for a in arguments] == [e.tobytes() for e in item.expected()]
    assert {opcode: result.issued[opcode] for opcode in item.issued} == item.issued
    assert result.conflicts == 0


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_kernel_that_does_nothing_would_be_wrong(name: str) -> None:
    item = EXAMPLES[name]
    assert any(a.tobytes() != b.tobytes() for a, b in zip(item.inputs(), item.expected(), strict=True))


def test_the_interleaved_results_go_to_slots_0_2_8_and_10() -> None:
    text = EXAMPLES["ldmatrix_interleaved"].build().ptx()
    assert re.findall(r"ldmatrix\S+ (\{.*?\}), \[%\w+(.*?)\];", text) == [
        ("{%raw_0, %raw_2}", ""),
        ("{%raw_8, %raw_10}", "+512"),
    ]


def test_the_spread_registers_are_two_slots_apart() -> None:
    text = EXAMPLES["ld_rearranged_spread"].build().ptx()
    loads = re.findall(r"ld\.global\.v4\.b32 \{%raw_(\d+), %raw_(\d+), %raw_(\d+), %raw_(\d+)\}", text)
    found = [tuple(map(int, slots)) for slots in loads]
    assert found == [
        tuple(8 * i + 120 * j + 2 * word for word in range(4)) for j in range(7) for i in range(15)
    ]


TARGETS = ("sm_75", "sm_80", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120a")


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_assembles_from_its_lowest_architecture_on(name: str) -> None:
    kernel, lowest = EXAMPLES[name].build(), EXAMPLES[name].lowest
    first = TARGETS.index(lowest)
    for arch in TARGETS[:first]:
        with pytest.raises(EmissionError, match=f"target must be {lowest} or later"):
            kernel.ptx(arch)
        with pytest.raises(AssemblerError, match="refused the PTX"):
            assemble(kernel.ptx(lowest).replace(f".target {lowest}", f".target {arch}"), arch)
    for arch in TARGETS[first:]:
        assert kernel.assemble(arch).kernels[0].name == kernel.name


@pytest.mark.parametrize("missing", ["cp.async.commit_group;", "cp.async.wait_group 1;"])
def test_the_machine_stops_where_a_copy_is_not_waited_for(missing: str) -> None:
    item = EXAMPLES["cp_async_double_buffer"]
    lines = item.build().ptx("sm_80").splitlines()
    last = max(number for number, line in enumerate(lines) if line.strip() == missing)
    faulty = "\n".join(line for number, line in enumerate(lines) if number != last)
    with pytest.raises(SimulationError, match=r"destination of a cp\.async that nobody has waited for"):
        simulate(faulty, item.inputs(), block=128, target="sm_80")
