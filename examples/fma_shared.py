"""Arithmetic on shared memory, in its three steps: load into registers, ``fma`` there, store back.

Instructions of arithmetic have no operands in memory. Each thread works on a row that another one has brought, in
place; the barriers are the kernel's own.
"""

from __future__ import annotations

import numpy as np
from _run import Array, run

from tileproof import Kernel, tx

THREADS, EACH = 128, 4
SCALE, BIAS = 2.5, -0.75
LOAD, FUSE, STORE = "ld.shared.v4.f32", "fma.rn.f32", "st.shared.v4.f32"
LOWEST = "sm_75"


def build() -> Kernel:
    k = Kernel("fma_shared", block=THREADS)
    x = k.parameter("X", (THREADS, EACH), "float32")
    out = k.parameter("Out", (THREADS, EACH), "float32")
    sm = k.shared("SM", (THREADS, EACH), "float32", align=16)
    row = k.registers("row", (EACH,), "float32")
    elements = row.view(EACH, 1)

    k.apply("ld.global.v4.f32", row, x[tx])
    k.apply(STORE, sm[tx], row)
    k.raw("bar.sync 0;")
    other = sm[THREADS - 1 - tx]
    k.apply(LOAD, row, other)
    k.apply(FUSE, elements, elements, SCALE, BIAS)
    k.apply(STORE, other, row)
    k.raw("bar.sync 0;")
    k.apply(LOAD, row, sm[tx])
    k.apply("st.global.v4.f32", out[tx], row)
    return k


def inputs() -> list[Array]:
    x = np.random.default_rng(11).normal(0, 10, (THREADS, EACH)).astype(np.float32)
    return [x, np.zeros_like(x)]


def expected() -> list[Array]:
    x, _ = inputs()
    # Exact in float64, so this rounds once, as fma does.
    return [x, (x.astype(np.float64) * SCALE + BIAS).astype(np.float32)]


WARPS = THREADS // 32
ISSUED = {LOAD: 2 * WARPS, FUSE: EACH * WARPS, STORE: 2 * WARPS}

if __name__ == "__main__":
    raise SystemExit(not run(build, inputs, expected, ISSUED))
