"""Parameters of every kind: how they are declared, checked at a launch, passed and simulated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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
    with pytest.raises(CallError, match="dtype is 'int32'; typed scalars are float16, bfloat16"):
        k.scalar("n", dtype="int32")
    with pytest.raises(CallError, match="bounds and multiple_of are for integers"):
        k.scalar("n", 0, 5, dtype="float32")  # type: ignore[call-overload]
    # What was refused takes no name.
    k.scalar("n", dtype="float32")
    with pytest.raises(CallError, match="the name n is taken"):
        k.scalar("n", 0, 5)


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
