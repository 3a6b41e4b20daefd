"""Vectors ``(x, y)`` divided by their length: ``mul``, ``fma``, ``sqrt``, ``rcp``, and ``abs`` and ``neg`` on the way.

Every rounding is the one of IEEE 754 (``.rn``), so a GPU returns the same bits as NumPy.
"""

from __future__ import annotations

import numpy as np
from _run import Array, run

from tileproof import Kernel, tx

THREADS, EACH = 64, 2
LOWEST = "sm_75"


def build() -> Kernel:
    k = Kernel("unit_vectors", block=THREADS)
    a = k.parameter("A", (THREADS, EACH, 2), "float32")
    out = k.parameter("Out", (THREADS, EACH, 2), "float32")

    vectors = k.registers("vectors", (EACH, 2), "float32")
    scale = k.registers("scale", (EACH, 1), "float32")
    x, y = vectors[:, 0:1], vectors[:, 1:2]
    k.apply("ld.global.v2.f32", vectors, a[tx])
    k.apply("mul.rn.f32", scale, x, x)
    k.apply("fma.rn.f32", scale, y, y, scale)
    k.apply("sqrt.rn.f32", scale, scale)
    k.apply("rcp.rn.f32", scale, scale)
    # Into the right half-plane, and mirrored.
    k.apply("abs.f32", x, x)
    k.apply("neg.f32", y, y)
    k.apply("mul.rn.f32", x, x, scale)
    k.apply("mul.rn.f32", y, y, scale)
    k.apply("st.global.v2.f32", out[tx], vectors)
    return k


def inputs() -> list[Array]:
    # Halves: their squares and sums of squares are exact in float64, which then rounds as fma does.
    a = np.random.default_rng(5).normal(0, 10, (THREADS, EACH, 2)).astype(np.float16).astype(np.float32)
    return [a, np.zeros_like(a)]


def expected() -> list[Array]:
    a, _ = inputs()
    x, y = a[..., 0], a[..., 1]
    square = (y.astype(np.float64) ** 2 + (x * x).astype(np.float64)).astype(np.float32)
    scale = np.float32(1) / np.sqrt(square)
    return [a, np.stack([np.abs(x) * scale, -y * scale], axis=-1)]


ONCE = ("fma.rn.f32", "sqrt.rn.f32", "rcp.rn.f32", "abs.f32", "neg.f32")
ISSUED = {**dict.fromkeys(ONCE, 2 * EACH), "mul.rn.f32": 2 * 3 * EACH}

if __name__ == "__main__":
    raise SystemExit(not run(build, inputs, expected, ISSUED))
