"""Arguments, kernels, targets, launch extents: what is taken, and what the message says about what is not."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import tileproof.simulate
from tests.simulate.kernels import module, run
from tileproof.simulate import Buffer, SimulationError, simulate

WORD = """
    ld.param.u64 %rd0, [out];
    ld.param.{kind} {register}, [value];
    st.global.{kind} [%rd0], {register};
"""

SCALARS: list[tuple[str, str, Any, int]] = [
    ("u32", "%r1", 7, 7),
    ("s32", "%r1", -1, 0xFFFF_FFFF),
    ("b32", "%r1", -1, 0xFFFF_FFFF),
    ("b32", "%r1", 0xFFFF_FFFF, 0xFFFF_FFFF),
    ("u16", "%h1", 0xFFFF, 0xFFFF),
    ("s16", "%h1", -2, 0xFFFE),
    ("u8", "%h1", np.uint8(200), 200),
    ("u64", "%rd5", 2**64 - 1, 2**64 - 1),
    ("u64", "%rd5", np.int32(5), 5),
    ("f32", "%f1", 1.0, 0x3F80_0000),
    ("f32", "%f1", np.float64(0.5), 0x3F00_0000),
    ("f32", "%f1", 2, 0x4000_0000),
    ("b32", "%r1", np.float32(1.0), 0x3F80_0000),
    ("b16", "%h1", np.float16(1.0), 0x3C00),
    ("f64", "%fd1", 1.0, 0x3FF0 << 48),
]


@pytest.mark.parametrize(("kind", "register", "value", "expected"), SCALARS)
def test_a_scalar_parameter(kind: str, register: str, value: Any, expected: int) -> None:
    out = np.zeros(1, np.uint64)
    run(
        WORD.format(kind=kind, register=register),
        [out, value],
        parameters=f".param .u64 out, .param .{kind} value",
        block=1,
    )
    assert hex(out[0]) == hex(expected)


OUT = np.zeros(4, np.uint32)
FROZEN = np.zeros(4, np.uint32)
FROZEN.flags.writeable = False

BAD_ARGUMENTS: list[tuple[str, Any, str]] = [
    (".u32", 2**32, "4294967296 does not fit"),
    (".u32", -1, "-1 does not fit"),
    (".s32", 2**31, "does not fit"),
    (".b16", 2**16, "does not fit"),
    (".u32", 1.5, "1.5 is not an integer"),
    (".u32", True, "bool cannot be passed"),
    (".u32", "x", "str cannot be passed"),
    (".u32", OUT, "an array needs a 64-bit pointer parameter"),
    (".u64", np.zeros((4, 4), np.uint32)[:, 0], "C-contiguous and writable"),
    (".u64", FROZEN, "C-contiguous and writable"),
    (".u64", np.array([None]), "Python objects"),
    (".u64", Buffer(OUT, align=3), "align must be a power of two"),
    (".u64", Buffer(OUT, align=16, offset=16), "offset from 0 up to less than align"),
    (
        ".u64 .ptr .global .align 512",
        OUT,
        r"declared .align 512, but the array lies at 0x\w+, 256 bytes past",
    ),
    (".u64 .ptr .global .align 16", Buffer(OUT, align=8), "8 bytes past such a boundary"),
    (
        ".align 16 .b8 value[16]",
        np.zeros(15, np.uint8),
        "needs an array of exactly 16 bytes; found an array of 15 bytes",
    ),
    (".align 16 .b8 value[16]", 3, "exactly 16 bytes; found 3"),
]


@pytest.mark.parametrize(("declared", "argument", "message"), BAD_ARGUMENTS)
def test_an_argument_that_does_not_fit_its_parameter(declared: str, argument: Any, message: str) -> None:
    name = "" if declared.endswith("]") else " value"
    with pytest.raises(SimulationError, match=message) as caught:
        run("", [argument], parameters=f".param {declared}{name}")
    assert "kernel 'k', parameter 'value'" in str(caught.value)


def test_pointer_alignment_that_is_kept_is_taken() -> None:
    for array in (np.zeros(4, np.uint32), Buffer(np.zeros(4, np.uint32), align=16)):
        run("", [array], parameters=".param .u64 .ptr .global .align 16 value")


def test_an_array_passed_twice_is_one_place_in_memory() -> None:
    body = """
    ld.param.u64 %rd0, [a];
    ld.param.u64 %rd1, [b];
    sub.u64 %rd0, %rd1, %rd0;
    st.global.u64 [%rd1], %rd0;
"""
    both = np.ones(4, np.uint64)
    run(body, [both, both], parameters=".param .u64 a, .param .u64 b")
    assert both[0] == 0
    with pytest.raises(SimulationError, match=r"parameter 'b' .*overlaps another argument"):
        run(body, [both, both[1:]], parameters=".param .u64 a, .param .u64 b")


def test_the_wrong_number_of_arguments() -> None:
    with pytest.raises(SimulationError, match=r"takes 1 arguments \(.u64 out\); 2 were given"):
        run("", [OUT, OUT])


LAUNCHES: list[tuple[dict[str, Any], str, str]] = [
    ({"block": 1025}, "", "1025 threads; a block has at most 1024"),
    ({"block": (32, 0)}, "", "one to three positive integers"),
    ({"grid": (1, 1, 1, 1)}, "", "one to three positive integers"),
    ({"grid": 3, "cluster": 2}, "", r"3 % 2 != 0 along x"),
    ({"grid": 17, "cluster": 17}, "", "17 blocks; 16 is the most"),
    ({"dynamic_shared": -1}, "", "must not be negative"),
    ({"dynamic_shared": 227 * 1024 + 1}, "", "0 bytes of static shared memory leave 232448"),
    ({"block": 64}, ".reqntid 32", r"requires blocks of \(32, 1, 1\) threads"),
    ({"block": (8, 8)}, ".maxntid 63", "at most 63 threads"),
    ({"grid": 4, "cluster": 4}, ".reqnctapercluster 2", r"requires clusters of \(2, 1, 1\) blocks"),
]


@pytest.mark.parametrize(("options", "directive", "message"), LAUNCHES)
def test_a_launch_that_cannot_be(options: dict[str, Any], directive: str, message: str) -> None:
    ptx = module("").replace("k(.param .u64 out)", f"k(.param .u64 out) {directive}")
    with pytest.raises(SimulationError, match=message):
        simulate(ptx, [OUT], **options)


def test_launch_extents_that_the_kernel_asks_for() -> None:
    ptx = module("").replace(
        "k(.param .u64 out)", "k(.param .u64 out) .reqntid 8, 8 .minnctapersm 1 .reqnctapercluster 2"
    )
    assert simulate(ptx, [OUT], grid=4, block=(8, 8)).issued["ret"] == 8


TARGETS = [
    ("sm_80", "sm_90a", True),
    ("sm_90", "sm_100", True),
    ("sm_90a", "sm_90a", True),
    ("sm_90a", "sm_90", False),
    ("sm_90a", "sm_100a", False),
    ("sm_100", "sm_90a", False),
    ("sm_100f", "sm_103a", True),
    ("sm_100f", "sm_103f", True),
    ("sm_100f", "sm_103", False),
    ("sm_100f", "sm_120a", False),
]


@pytest.mark.parametrize(("written", "device", "runs"), TARGETS)
def test_which_device_runs_which_target(written: str, device: str, runs: bool) -> None:
    ptx = module("", target=written)
    if runs:
        simulate(ptx, [OUT], target=device)
    else:
        with pytest.raises(SimulationError, match=f"PTX for {written} does not run on {device}"):
            simulate(ptx, [OUT], target=device)


def test_a_kernel_is_chosen_by_name() -> None:
    one = module("", parameters="")
    two = one + one[one.index(".visible") :].replace("k()", "other()").replace("ret;", "exit;")
    assert "exit" in simulate(two, [], kernel="other").issued
    with pytest.raises(SimulationError, match=r"2 kernels \(k, other\); say which"):
        simulate(two, [])
    with pytest.raises(SimulationError, match="no kernel 'third'; it has k, other"):
        simulate(two, [], kernel="third")
    with pytest.raises(SimulationError, match="target 'hopper' is not an architecture"):
        simulate(one, [], target="hopper")


def test_importing_the_package_loads_neither_numpy_nor_the_grammar() -> None:
    loaded = "print(sorted({'numpy', 'lark'} & set(sys.modules)))"
    script = f"import sys, tileproof.simulate as s; {loaded}; s.Buffer; s.simulate"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    with pytest.raises(AttributeError, match="no attribute 'missing'"):
        _ = tileproof.simulate.missing
