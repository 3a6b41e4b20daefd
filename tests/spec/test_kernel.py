"""The kernel of a spec does what the spec says, and files without one are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tileproof.errors import CallError, EmissionError
from tileproof.proofs.report import ContractError
from tileproof.spec.errors import SpecError
from tileproof.spec.kernel import kernel_of_spec, kernel_text, kernels_of_file

COPY = """
[symbols.row]
lo = 0
hi = 3

[symbols.n]
lo = 0
hi = 64

[tensors.A]
shape = [4, 64, 4]
dtype = "uint32"

[tensors.B]
shape = [64, 4]
dtype = "uint32"

[tensors.W]
shape = [4]
dtype = "uint32"
space = "registers"

[[calls]]
opcode = "ld.global.v4.b32"
block = 64
active = "tx < n"
operands = ["W", { tensor = "A", steps = [{ slice = ["row", "tx"] }] }]

[[calls]]
opcode = "st.global.v4.b32"
block = 64
active = ["tx < n", "tx % 2 == 0"]
operands = [{ tensor = "B", steps = [{ slice = ["tx"] }] }, "W"]
"""


def spec(folder: Path, text: str, name: str = "copy-rows.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_kernel_of_a_spec_runs_its_calls_under_their_guards(tmp_path: Path) -> None:
    kernel = kernel_of_spec(spec(tmp_path, COPY))
    assert kernel.name == "copy_rows"
    a = np.arange(4 * 64 * 4, dtype=np.uint32).reshape(4, 64, 4)
    b = np.zeros((64, 4), np.uint32)
    # Parameters: the symbols, then the tensors in global memory.
    kernel.simulate(2, 40, a, b)
    expected = np.zeros((64, 4), np.uint32)
    expected[0:40:2] = a[2, 0:40:2]
    np.testing.assert_array_equal(b, expected)


def test_the_text_is_accounted_for(tmp_path: Path) -> None:
    text, account = kernel_text(spec(tmp_path, COPY), None, "sm_90a")
    assert "\n.target sm_90a\n" in text
    assert account.startswith("kernel copy_rows for sm_90a: 1 ld.global.v4.b32, 1 st.global.v4.b32; ")
    with pytest.raises(EmissionError, match="the target must be sm_100 or later"):
        kernel_text(spec(tmp_path, COPY.replace("v4.b32", "v8.b32").replace("4]", "8]")), None, "sm_90a")
    with pytest.raises(CallError, match="is not a GPU target"):
        kernel_text(spec(tmp_path, COPY), None, "sm_1")


def test_a_call_that_is_not_proved_is_no_kernel(tmp_path: Path) -> None:
    with pytest.raises(ContractError) as caught:
        kernel_of_spec(spec(tmp_path, COPY.replace("[64, 4]", "[32, 4]")))
    assert caught.value.report.counterexample is not None


def test_a_hazard_that_a_call_calls_an_error_is_no_kernel(tmp_path: Path) -> None:
    everyone = COPY.replace('slice = ["tx"]', 'slice = ["0"]')
    kernel_of_spec(spec(tmp_path, everyone))
    with pytest.raises(ContractError, match=r"FAILS +st.write-conflict"):
        kernel_of_spec(spec(tmp_path, everyone + "hazards = 'error'\n"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("hi = 3", "hi = 3\nuniform = 'warp'", "symbols.row: row varies inside the grid, so"),
        ("[tensors.W]", "[tensors.row]", "tensors.row: kernel copy_rows: the name row is taken"),
        ('space = "registers"', 'space = "tmem"', "tensors.W: a kernel declares global, shared, local"),
        ('[4]\ndtype = "uint32"', '["n"]\ndtype = "uint32"', "registers storage has a static size"),
        ('block = 64\nactive = "tx < n"', "block = 32", "its calls have 2 different launches"),
        ("ld.global.v4.b32", "ld.globl.v4.b32", "calls[0]: 'ld.globl.v4.b32'"),
    ],
)
def test_what_is_no_kernel(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        kernel_of_spec(spec(tmp_path, COPY.replace(old, new, 1)))
    assert message in str(caught.value)


PROGRAM = """
import tileproof as tp

def build(name="one"):
    k = tp.Kernel(name)
    a = k.parameter("A", (32, 4), "uint32")
    k.apply("ld.global.v4.b32", k.registers("W", (4,), "uint32"), a[tp.tx])
    return k
"""


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ("", ["one"]),
        ("kernel = build('two')", ["two"]),
        ("a = build('two')\nb = build('three')\nc = a", ["two", "three"]),
    ],
)
def test_the_kernels_of_a_program(tmp_path: Path, more: str, names: list[str]) -> None:
    assert [k.name for k in kernels_of_file(spec(tmp_path, PROGRAM + more, "program.py"))] == names


def test_one_kernel_of_several_is_named(tmp_path: Path) -> None:
    path = spec(tmp_path, PROGRAM + "a, b = build('two'), build('three')\n", "program.py")
    assert ".visible .entry three(" in kernel_text(path, "three", None)[0]
    with pytest.raises(SpecError, match="2 kernels, two, three; name one by --kernel"):
        kernel_text(path, None, None)
    with pytest.raises(SpecError, match="no kernel is named 'four'; there are two, three"):
        kernel_text(path, "four", None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "program.py: no kernel: assign a tp.Kernel to a module variable"),
        ("def build(): return 3", "program.py: no kernel"),
        ("def build(): return 1 / 0", "program.py:1: ZeroDivisionError"),
        ("def build(name): return name", "TypeError: build() missing 1 required positional argument"),
    ],
)
def test_a_program_without_a_kernel(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        kernels_of_file(spec(tmp_path, text, "program.py"))
    assert message in str(caught.value)


def test_a_file_of_another_kind(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="neither a spec"):
        kernels_of_file(tmp_path / "kernel.ptx")
