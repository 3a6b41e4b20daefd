"""Casts of pairs: floats to eight bits (E4M3) and back to halves, both by packing ``cvt``.

``cvt`` rounds to the nearest number of the format and keeps to the largest one, 448. It needs sm_89 or later.
"""

from __future__ import annotations

import numpy as np
from _run import Array, run

from tileproof import Kernel, tx

THREADS, PAIRS = 64, 2
NARROW, WIDEN = "cvt.rn.satfinite.e4m3x2.f32", "cvt.rn.f16x2.e4m3x2"
LOWEST = "sm_89"


def build() -> Kernel:
    k = Kernel("e4m3_pairs", block=THREADS)
    x = k.parameter("X", (THREADS, 2 * PAIRS), "float32")
    codes = k.parameter("Codes", (THREADS, PAIRS), "uint16")
    out = k.parameter("Out", (THREADS, PAIRS), "uint32")

    floats = k.registers("floats", (PAIRS, 2), "float32")
    bytes_ = k.registers("bytes", (PAIRS, 1), "uint16")
    halves = k.registers("halves", (PAIRS, 1), "uint32")
    k.apply("ld.global.v4.f32", floats.view(2 * PAIRS), x[tx])
    # The first source of a packing cvt becomes the upper half.
    k.apply(NARROW, bytes_, floats[:, 1:2], floats[:, 0:1])
    k.apply("st.global.v2.b16", codes[tx], bytes_.view(PAIRS))
    k.apply(WIDEN, halves, bytes_)
    k.apply("st.global.v2.b32", out[tx], halves.view(PAIRS))
    return k


def inputs() -> list[Array]:
    x = np.random.default_rng(3).normal(0, 1, (THREADS, 2 * PAIRS)) * np.logspace(-3, 3, 2 * PAIRS)
    return [
        x.astype(np.float32),
        np.zeros((THREADS, PAIRS), np.uint16),
        np.zeros((THREADS, PAIRS), np.uint32),
    ]


def numbers() -> Array:
    """The magnitudes of E4M3 for the codes 0 to 126: four bits of exponent, biased by 7, and three of mantissa."""
    codes = np.arange(127)
    exponent, mantissa = codes // 8, codes % 8
    return np.where(exponent == 0, mantissa / 512, np.ldexp(1 + mantissa / 8, exponent - 7))


def expected() -> list[Array]:
    x, _, _ = inputs()
    away = np.abs(np.abs(x)[..., None].astype(np.float64) - numbers())
    # Of two that are equally near, the one with the even code.
    nearest = np.argmin(away + np.where(np.arange(127) % 2, 1e-12, 0), axis=-1)
    codes = (nearest + np.where(np.signbit(x), 128, 0)).astype(np.uint8)
    halves = np.copysign(numbers()[nearest], x).astype(np.float16)
    return [x, codes.view(np.uint16), halves.view(np.uint32)]


ISSUED = {NARROW: 2 * PAIRS, WIDEN: 2 * PAIRS}

if __name__ == "__main__":
    raise SystemExit(not run(build, inputs, expected, ISSUED))
