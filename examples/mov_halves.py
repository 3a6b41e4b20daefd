"""Pairs of halves sorted apart by ``mov``: two words become the word of the lower and that of the upper halves.

Which shape of ``mov`` it is, the operands say: two registers of 16 bits beside one of 32 are unpacked or packed.
"""

from __future__ import annotations

import numpy as np
from _run import Array, run

from tileproof import Kernel, tx

MOVE = "mov.b32"
THREADS, PAIRS = 64, 2
LOWEST = "sm_75"


def build() -> Kernel:
    k = Kernel("mov_halves", block=THREADS)
    a = k.parameter("A", (THREADS, 2 * PAIRS), "uint32")
    out = k.parameter("Out", (THREADS, 2 * PAIRS), "uint32")

    words = k.registers("words", (PAIRS, 2, 1), "uint32")
    halves = k.registers("halves", (PAIRS, 2, 2), "uint16")
    k.apply("ld.global.v4.b32", words.view(2 * PAIRS), a[tx])
    k.apply(MOVE, halves, words)
    k.apply(MOVE, words, halves.rearrange("pair word half -> pair half word"))
    k.apply("st.global.v4.b32", out[tx], words.view(2 * PAIRS))
    return k


def inputs() -> list[Array]:
    a = np.arange(THREADS * 4 * PAIRS, dtype=np.uint16).view(np.uint32).reshape(THREADS, 2 * PAIRS)
    return [a, np.zeros_like(a)]


def expected() -> list[Array]:
    a, _ = inputs()
    halves = a.view(np.uint16).reshape(THREADS, PAIRS, 2, 2)
    return [a, np.ascontiguousarray(halves.swapaxes(2, 3)).view(np.uint32).reshape(a.shape)]


ISSUED = {MOVE: 2 * 2 * 2 * PAIRS}

if __name__ == "__main__":
    raise SystemExit(not run(build, inputs, expected, ISSUED))
