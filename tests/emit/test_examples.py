"""The examples: their text, on every architecture, and their numbers."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
import numpy.typing as npt
import pytest
from syrupy.assertion import SnapshotAssertion

from tileproof import Kernel, Verdict
from tileproof.emit.runnable import ARCHITECTURES
from tileproof.errors import EmissionError, SimulationError
from tileproof.simulate import simulate

FOLDER = str(Path(__file__).parents[2] / "examples")


def example(name: str) -> ModuleType:
    if FOLDER not in sys.path:
        sys.path.insert(0, FOLDER)  # where Python looks when it runs a script of that folder
    return importlib.import_module(name)


Arrays = list[npt.NDArray[np.generic]]
Case = tuple[Callable[[], Kernel], Callable[[], Arrays], Callable[[], Arrays], dict[str, int]]

PLAIN = [
    "ld_128bit",
    "st_128bit",
    "ldmatrix_interleaved",
    "stmatrix_interleaved",
    "cp_async_double_buffer",
    "silu_affine",
]
NAMES = [*PLAIN, "ld_rearranged_compact", "ld_rearranged_spread"]


def case(name: str) -> Case:
    if name in PLAIN:
        module = example(name)
        return module.build, module.inputs, module.expected, module.ISSUED
    module = example("ld_rearranged")
    strides = module.COMPACT if name.endswith("compact") else module.SPREAD
    return (
        partial(module.build, strides),
        partial(module.inputs, strides),
        partial(module.expected, strides),
        module.ISSUED,
    )


@pytest.mark.parametrize("name", [*PLAIN, "ld_rearranged_compact"])
def test_the_text_of_an_example(name: str, snapshot: SnapshotAssertion) -> None:
    assert case(name)[0]().ptx("sm_90a") == snapshot


@pytest.mark.parametrize("name", NAMES)
def test_every_call_is_proved_without_a_hazard(name: str) -> None:
    for report in case(name)[0]().reports:
        assert report.verdict is Verdict.PROVED
        assert report.hazards == ()


@pytest.mark.parametrize("name", NAMES)
def test_the_machine_computes_what_plain_loops_do(name: str) -> None:
    build, inputs, expected, issued = case(name)
    arguments = inputs()
    result = build().simulate(*arguments)
    assert [a.tobytes() for a in arguments] == [e.tobytes() for e in expected()]
    assert {opcode: result.issued[opcode] for opcode in issued} == issued
    assert result.conflicts == 0


COUNTS = {
    "ld_128bit": 3,
    "st_128bit": 3,
    "ldmatrix_interleaved": 2,
    "stmatrix_interleaved": 2,
    "silu_affine": 3,
    "cp_async_double_buffer": 2,
    "ld_rearranged_compact": 105,
    "ld_rearranged_spread": 105,
}


@pytest.mark.parametrize("name", NAMES)
def test_one_instruction_stands_for_each_repeat(name: str) -> None:
    build, _, _, issued = case(name)
    text = build().ptx()
    if name == "cp_async_double_buffer":
        issued = {"cp.async.cg.shared.global": issued["cp.async.cg.shared.global"]}
    for opcode in issued:
        assert len(re.findall(rf"^ +{re.escape(opcode)} ", text, re.MULTILINE)) == COUNTS[name]


def test_the_interleaved_results_go_to_slots_0_2_8_and_10() -> None:
    text = case("ldmatrix_interleaved")[0]().ptx()
    assert re.findall(r"ldmatrix\S+ (\{.*?\}), \[%\w+(.*?)\];", text) == [
        ("{%raw_0, %raw_2}", ""),
        ("{%raw_8, %raw_10}", "+512"),
    ]


def test_the_spread_registers_are_two_slots_apart() -> None:
    text = case("ld_rearranged_spread")[0]().ptx()
    loads = re.findall(r"ld\.global\.v4\.b32 \{%raw_(\d+), %raw_(\d+), %raw_(\d+), %raw_(\d+)\}", text)
    found = [tuple(map(int, slots)) for slots in loads]
    assert found == [
        tuple(8 * i + 120 * j + 2 * word for word in range(4)) for j in range(7) for i in range(15)
    ]


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", [*PLAIN, "ld_rearranged_compact"])
def test_an_example_assembles_on_every_architecture_that_has_it(name: str, arch: str) -> None:
    kernel = case(name)[0]()
    if name == "stmatrix_interleaved" and arch == "sm_80":
        with pytest.raises(EmissionError, match=r"stmatrix.*sm_90"):
            kernel.assemble(arch)
    else:
        assert kernel.assemble(arch).kernels[0].name == kernel.name


@pytest.mark.parametrize("missing", ["cp.async.commit_group;", "cp.async.wait_group 1;"])
def test_the_machine_stops_where_a_copy_is_not_waited_for(missing: str) -> None:
    build, inputs, _, _ = case("cp_async_double_buffer")
    lines = build().ptx("sm_80").splitlines()
    last = max(number for number, line in enumerate(lines) if line.strip() == missing)
    faulty = "\n".join(line for number, line in enumerate(lines) if number != last)
    with pytest.raises(SimulationError, match=r"destination of a cp\.async that nobody has waited for"):
        simulate(faulty, inputs(), block=128, target="sm_80")
