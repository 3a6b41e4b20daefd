"""``a*x + b*y`` in pairs of halves: floats are packed by cvt, scaled by packed mul and fma, and stored as words."""

from __future__ import annotations

import numpy as np
from _run import Array, run

from tileproof import Kernel, tx

THREADS, WORDS = 64, 4
A, B = 2.5, -0.75
A_TWICE, B_TWICE = 0x41004100, 0xBA00BA00
"""Packed arithmetic takes the bits of a pair: A and B in both halves."""

PACK, SCALE, FUSE = "cvt.rn.f16x2.f32", "mul.rn.f16x2", "fma.rn.f16x2"
LOWEST = "sm_80"


def build() -> Kernel:
    k = Kernel("axpby_registers", block=THREADS)
    x = k.parameter("X", (THREADS, 2 * WORDS), "float32")
    y = k.parameter("Y", (THREADS, 2 * WORDS), "float32")
    out = k.parameter("Out", (THREADS, WORDS), "uint32")
    floats = k.registers("floats", (2 * WORDS,), "float32")
    xs = k.registers("xs", (WORDS, 1), "uint32")
    ys = k.registers("ys", (WORDS, 1), "uint32")

    for source, pairs in ((x, xs), (y, ys)):
        k.apply("ld.global.v4.f32", floats.view(2, 4), source[tx].view(2, 4))
        # The first source of a packing cvt becomes the upper half.
        lower, upper = (floats.view(WORDS, 2)[:, place : place + 1] for place in (0, 1))
        k.apply(PACK, pairs, upper, lower)
    k.apply(SCALE, ys, ys, B_TWICE)
    k.apply(FUSE, xs, xs, A_TWICE, ys)
    k.apply("st.global.v4.b32", out[tx], xs.view(WORDS))
    return k


def inputs() -> list[Array]:
    draw = np.random.default_rng(7)
    x, y = (draw.normal(0, 100, (THREADS, 2 * WORDS)).astype(np.float32) for _ in range(2))
    return [x, y, np.zeros((THREADS, WORDS), np.uint32)]


def expected() -> list[Array]:
    x, y, _ = inputs()
    scaled = y.astype(np.float16) * np.float16(B)
    # Products and sums of halves are exact in float64, so this rounds once, as fma does.
    fused = x.astype(np.float16).astype(np.float64) * A + scaled.astype(np.float64)
    return [x, y, fused.astype(np.float16).view(np.uint32)]


ISSUED = {PACK: 2 * 2 * WORDS, SCALE: 2 * WORDS, FUSE: 2 * WORDS}

if __name__ == "__main__":
    raise SystemExit(not run(build, inputs, expected, ISSUED))
