"""Interleaved rows into separated registers: two ``ldmatrix`` instructions of two matrices each.

The first matrix is the even rows of SM, the second the odd rows, and the last dimension of SM makes two
repeats. The results go to slots 0, 2, 8 and 10 of twelve; the other eight keep what they held.
"""

from __future__ import annotations

import numpy as np
from _run import SENTINEL, Array, run

from tileproof import Kernel, S, TileLayout, laneid

LDMATRIX = "ldmatrix.sync.aligned.m8n8.x2.shared.b16"
LOWEST = "sm_75"


def build() -> Kernel:
    k = Kernel("ldmatrix_interleaved", block=32)
    a = k.parameter("A", (16, 4, 2), "uint32")
    out = k.parameter("Out", (32, 12), "uint32")
    sm = k.shared("SM", (16, 4, 2), "uint32", layout="(16,4,2):(8,1,128)", align=16)

    # Word n = lane + 32*q of A goes to word n of SM, wherever its layout has it.
    words = k.registers("words", (32, 4, 1), "uint32", layout=TileLayout(S[(32, 4, 1) : (1 @ laneid, 1, 1)]))
    k.apply("ld.global.b32", words, a.view(4, 32, 1).permute(1, 0, 2), scope="warp")
    k.apply("st.shared.b32", sm.view(4, 32, 1).permute(1, 0, 2), words, scope="warp")
    k.raw("bar.sync 0;")

    raw = k.registers("raw", (12,), "uint32", fill=SENTINEL)
    fragment = raw.declare((2, 2, 8, 4), layout=TileLayout(S[(2, 2, 8, 4) : (8, 2, 4 @ laneid, 1 @ laneid)]))
    rows = sm.rearrange("(r m) w k -> k m r w", r=8, m=2)
    k.apply(LDMATRIX, fragment, rows, scope="warp")
    k.apply("st.global.b32", out[laneid].view(12, 1), raw.view(12, 1))
    return k


def inputs() -> list[Array]:
    return [np.arange(128, dtype=np.uint32).reshape(16, 4, 2), np.zeros((32, 12), np.uint32)]


def expected() -> list[Array]:
    a, _ = inputs()
    out = np.full((32, 12), SENTINEL, np.uint32)
    for lane in range(32):
        for k in range(2):
            for matrix in range(2):
                out[lane, 8 * k + 2 * matrix] = a[2 * (lane // 4) + matrix, lane % 4, k]
    return [a, out]


ISSUED = {LDMATRIX: 2}

if __name__ == "__main__":
    raise SystemExit(not run(build, inputs, expected, ISSUED))
