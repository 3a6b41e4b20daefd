"""Parameters of every kind: how they are declared, checked at a launch, passed and simulated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tileproof as tp
from tileproof import Kernel, S, TileLayout, tx
from tileproof.emit import host
from tileproof.errors import CallError, LaunchError

BITS = {"float16": 16, "bfloat16": 16, "float32": 32, "float64": 64}


def stores_a_scalar(dtype: str) -> Kernel:
    k = Kernel("scalar", block=32)
    k.scalar("alpha", dtype=dtype)
    bits = BITS[dtype]
    out = k.parameter("Out", (32, 1), f"uint{bits}")
    word = k.registers("word", (1,), f"uint{bits}")
    k.raw(f"mov.b{bits} %word_0, %alpha;")
    k.apply(f"st.global.b{bits}", out[tx], word)
    return k


@pytest.mark.parametrize("dtype", BITS)
@pytest.mark.parametrize("value", [0.1, -2, np.float32(1.5), np.int64(7), float("-inf")])
def test_a_typed_scalar_arrives_rounded(dtype: str, value: Any) -> None:
    k = stores_a_scalar(dtype)
    found = np.zeros(32, f"uint{BITS[dtype]}")
    k.simulate(value, found)
    if dtype == "bfloat16":
        expected = {0.1: 0x3DCD, -2: 0xC000, 1.5: 0x3FC0, 7: 0x40E0, float("-inf"): 0xFF80}[float(value)]
    else:
        expected = int(np.asarray(value, dtype).view(found.dtype))
    assert (found == expected).all()
    assert k.assemble("sm_90a").image


def test_a_typed_scalar_is_passed_as_its_bits() -> None:
    k = stores_a_scalar("bfloat16")
    assert k.scalar("beta", dtype="f32").dtype == "float32"
    passed = host.packed(k.definition, [1.0, np.zeros(32, np.uint16), -1])
    assert passed[0] == np.uint16(0x3F80)
    assert passed[0].dtype == np.uint16
    assert passed[2] == np.uint32(0xBF800000)
    assert passed[2].dtype == np.uint32


@pytest.mark.parametrize(
    ("dtype", "value", "words"),
    [
        ("float32", "1", "alpha: needed a number for float32, found '1'"),
        ("float32", True, "found True"),
        ("float32", None, "found None"),
        ("float16", 65520.0, "alpha: needed a number that float16 can hold, found 65520.0"),
        ("bfloat16", 1e39, "bfloat16 can hold"),
        ("float32", 10**400, "float32 can hold"),
        ("float64", -(10**400), "float64 can hold"),
    ],
)
def test_what_a_typed_scalar_cannot_hold(dtype: str, value: Any, words: str) -> None:
    k = stores_a_scalar(dtype)
    for run in (k.simulate, k.launch):
        with pytest.raises(LaunchError, match=words):
            run(value, np.zeros(32, f"uint{BITS[dtype]}"))


def test_the_greatest_number_of_a_type_passes() -> None:
    found = np.zeros(32, np.uint16)
    stores_a_scalar("float16").simulate(65519.0, found)
    assert (found == 0x7BFF).all()


def test_scalars_that_cannot_be_declared() -> None:
    k = Kernel("wrong")
    for dtype in ("int8", "bool", "float8_e5m2"):
        with pytest.raises(
            CallError, match=f"dtype is '{dtype}'; typed scalars are float64, .* given by their bounds"
        ):
            k.scalar("n", dtype=dtype)
    with pytest.raises(CallError, match="bounds and multiple_of are for integers"):
        k.scalar("n", 0, 5, dtype="float32")  # type: ignore[call-overload]
    # What was refused takes no name.
    k.scalar("n", dtype="float32")
    with pytest.raises(CallError, match="the name n is taken"):
        k.scalar("n", 0, 5)


INTEGERS = {f"{kind}int{bits}": (kind, bits) for kind in ("", "u") for bits in (16, 32, 64)}


@tp.scalar_function
def successor(x: tp.int32, by: tp.int32) -> tp.int32:
    return x + by


@pytest.mark.parametrize("dtype", INTEGERS)
def test_a_typed_integer_keeps_its_ends(dtype: str) -> None:
    kind, bits = INTEGERS[dtype]
    low, high = (0, 2**bits - 1) if kind else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    k = Kernel("ends", block=1)
    given = k.scalar("given", dtype=dtype)
    word, out = k.registers("word", (1, 1), dtype), k.parameter("Out", (1, 1), dtype)
    k.apply(f"mov.{'u' if kind else 's'}{bits}", word, given)
    k.apply(f"st.global.b{bits}", out, word)
    for value in (low, high):
        found = np.zeros(1, dtype)
        k.simulate(value, found)
        assert found[0] == value
    for value in (low - 1, high + 1):
        with pytest.raises(LaunchError, match=f"given: needed a number that {dtype} can hold, found {value}"):
            k.simulate(value, found)
    for odd in (1.0, np.float32(1), True, None, "1"):
        with pytest.raises(LaunchError, match=f"given: needed a number for {dtype}, found "):
            k.simulate(odd, found)


def test_calls_take_the_scalars_of_their_kernel() -> None:
    k = Kernel("uses", block=32)
    alpha, by = k.scalar("alpha", dtype="float32"), k.scalar("by", dtype="int32")
    n = k.scalar("n", 0, 9)
    a, b = k.parameter("A", (32, 2, 1), "float32"), k.parameter("B", (32, 2, 1), "int32")
    x, i = k.registers("x", (2, 1), "float32"), k.registers("i", (2, 1), "int32", fill=5)
    k.apply("ld.global.f32", x, a[tx])
    k.apply("fma.rn.f32", x, x, alpha, 1.5)
    k.apply("st.global.f32", a[tx], x)
    k.ewise(successor, i.view(2), i.view(2), by * by + by)
    k.apply("add.s32", i, i, n + tx)
    k.apply("st.global.b32", b[tx], i)
    numbers, found = np.arange(64, dtype=np.float32), np.zeros(64, np.int32)
    k.simulate(0.25, -7, 3, numbers, found)
    assert (numbers == np.arange(64, dtype=np.float32) / 4 + 1.5).all()
    assert (found == 5 + 42 + 3 + np.repeat(np.arange(32), 2)).all()
    assert k.assemble("sm_90a").image


def test_a_scalar_of_another_kernel_has_no_value() -> None:
    k = Kernel("mine")
    other, beta = Kernel("other").scalar("beta", dtype="float32"), k.scalar("gamma", dtype="float32")
    x = k.registers("x", (1,), "float32")
    with pytest.raises(
        CallError, match=r"beta \(float32\) has no value here; it must be a scalar of the kernel"
    ):
        k.apply("neg.f32", x, other)
    with pytest.raises(CallError, match=r"beta \(float32\) has no value here"):
        k.ewise(times, x, beta * other)
    with pytest.raises(CallError, match=r"is a scalar of float32, and the instruction takes \.f16"):
        k.apply("neg.f16", k.registers("h", (1,), "float16"), beta)
    assert not k.reports


@tp.scalar_function
def times(x: tp.float32) -> tp.float32:
    return x * x


def test_raw_instructions_are_held_to_the_width_of_a_typed_scalar() -> None:
    k = Kernel("widths")
    k.scalar("m", dtype="uint32")
    k.registers("w", (1,), "uint32")
    k.registers("h", (1,), "uint16")
    k.raw("shl.b32 %w_0, %m, 1;")
    with pytest.raises(CallError, match=r"shl\.b16: operand 2, a, is '%m', and %m has 32 bits"):
        k.raw("shl.b16 %h_0, %m, 1;")


# Extents that a launch decides.


def rows_of(layout: str) -> Kernel:
    """Vectors of 4 words at a column that the launch picks, of a matrix whose width it picks too."""
    k = Kernel("rows", block=32)
    n = k.scalar("n", 4, 4096, multiple_of=4)
    column = k.scalar("column", 0, 4092, multiple_of=4)
    k.assume(column + 4 <= n)
    strides = TileLayout(S[(32, n) : (n + 4, 1)]) if layout == "padded" else None
    a, out = k.parameter("A", (32, n), "uint32", layout=strides), k.parameter("Out", (32, 4), "uint32")
    words = k.registers("words", (4,), "uint32")
    k.apply("ld.global.v4.b32", words, a[tx, column : column + 4])
    k.apply("st.global.v4.b32", out[tx], words)
    return k


@pytest.mark.parametrize("layout", ["compact", "padded"])
def test_a_width_that_the_launch_decides(layout: str) -> None:
    n, pitch = 12, 12 if layout == "compact" else 16
    a, out = np.arange(32 * pitch, dtype=np.uint32), np.zeros((32, 4), np.uint32)
    k = rows_of(layout)
    k.simulate(n, 8, a, out)
    assert (out == a.reshape(32, pitch)[:, 8:12]).all()
    size = 4 * (31 * pitch + n)
    with pytest.raises(LaunchError, match=f"A: needed at least {size} bytes, found {size - 4} bytes"):
        k.simulate(n, 8, a[: size // 4 - 1].copy(), out)
    with pytest.raises(LaunchError, match="n: needed a multiple of 4, found 10"):
        k.simulate(10, 4, a, out)
    with pytest.raises(LaunchError, match=r"proved where column \+ 4 <= n, and here n = 12, column = 12"):
        k.simulate(n, 12, a, out)
