"""A register copy: ``mov`` puts four loaded words into registers two slots apart, in another order.

A view changes coordinates and moves nothing. Where the order in the registers themselves has to change, the copy is
written, and it is one ``mov`` for each word. The slots between keep what they held.
"""

from __future__ import annotations

import numpy as np
from _run import SENTINEL, Array, run

from tileproof import Kernel, S, TileLayout, tx

COPY = "mov.f32"
THREADS, SLOTS = 64, 7
LOWEST = "sm_75"


def build() -> Kernel:
    k = Kernel("mov_registers", block=THREADS)
    a = k.parameter("A", (THREADS, 4), "float32")
    out = k.parameter("Out", (THREADS, SLOTS), "float32")

    words = k.registers("words", (2, 2, 1), "float32")
    raw = k.registers("raw", (SLOTS,), "float32", fill=SENTINEL)
    two_apart = raw.declare((2, 2, 1), layout=TileLayout(S[(2, 2, 1) : (4, 2, 1)]))
    k.apply("ld.global.v4.f32", words.view(4), a[tx])
    k.apply(COPY, two_apart, words.permute(1, 0, 2))
    k.apply("st.global.f32", out[tx].view(SLOTS, 1), raw.view(SLOTS, 1))
    return k


def inputs() -> list[Array]:
    a = np.arange(THREADS * 4, dtype=np.float32).reshape(THREADS, 4) / 8
    return [a, np.zeros((THREADS, SLOTS), np.float32)]


def expected() -> list[Array]:
    a, _ = inputs()
    out = np.full((THREADS, SLOTS), SENTINEL, np.uint32).view(np.float32)
    for i in range(2):
        for j in range(2):
            out[:, 4 * i + 2 * j] = a[:, 2 * j + i]
    return [a, out]


ISSUED = {COPY: 2 * 4}

if __name__ == "__main__":
    raise SystemExit(not run(build, inputs, expected, ISSUED))
