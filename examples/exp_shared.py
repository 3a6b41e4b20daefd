"""A scalar composition on shared memory: ``exp(x * scale + bias)`` of a tile, in place.

The tile is loaded into registers, the function is written out at each of them, and they are stored back. The
exponential is PTX's approximation of the power of two, which a GPU may miss by 2 units in the last place.
"""

from __future__ import annotations

import numpy as np
from _run import Array, run

import tileproof as tp
from tileproof import Kernel, tx

THREADS, EACH = 128, 4
SCALE, BIAS = 0.5, -1
LOAD, STORE = "ld.shared.v4.f32", "st.shared.v4.f32"
LOWEST = "sm_75"


@tp.scalar_function
def exp_affine(x: tp.float32, scale: tp.float32, bias: tp.float32) -> tp.float32:
    return tp.exp(x * scale + bias)


def build() -> Kernel:
    k = Kernel("exp_shared", block=THREADS)
    x = k.parameter("X", (THREADS, EACH), "float32")
    out = k.parameter("Out", (THREADS, EACH), "float32")
    sm = k.shared("SM", (THREADS, EACH), "float32", align=16)
    row = k.registers("row", (EACH,), "float32")

    k.apply("ld.global.v4.f32", row, x[tx])
    k.apply(STORE, sm[tx], row)
    k.raw("bar.sync 0;")
    other = sm[THREADS - 1 - tx]
    k.apply(LOAD, row, other)
    k.ewise(exp_affine, row, row, SCALE, BIAS)
    k.apply(STORE, other, row)
    k.raw("bar.sync 0;")
    k.apply(LOAD, row, sm[tx])
    k.apply("st.global.v4.f32", out[tx], row)
    return k


def inputs() -> list[Array]:
    x = np.linspace(-16, 16, THREADS * EACH, dtype=np.float32).reshape(THREADS, EACH)
    return [x, np.zeros_like(x)]


def expected() -> list[Array]:
    x, _ = inputs()
    scaled = x * np.float32(SCALE) + np.float32(BIAS)
    power = scaled * np.float32(np.log2(np.e))
    return [x, np.exp2(power.astype(np.float64)).astype(np.float32)]


ULP = 2
"""How far off a GPU's results may be: ``ex2.approx.f32`` (PTX ISA 9.7.3.21); all before it is rounded as in NumPy."""

WARPS = THREADS // 32
ISSUED = {LOAD: 2 * WARPS, "ex2.approx.f32": EACH * WARPS, STORE: 2 * WARPS}

if __name__ == "__main__":
    raise SystemExit(not run(build, inputs, expected, ISSUED, ULP))
