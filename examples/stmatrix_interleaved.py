"""The inverse of ``ldmatrix_interleaved``: registers 0, 2, 8 and 10 of each lane into interleaved rows.

``stmatrix`` needs sm_90 or later.
"""

from __future__ import annotations

import numpy as np
from _run import Array, run

from tileproof import Kernel, S, TileLayout, laneid

STMATRIX = "stmatrix.sync.aligned.m8n8.x2.shared.b16"
LOWEST = "sm_90"


def build() -> Kernel:
    k = Kernel("stmatrix_interleaved", block=32)
    source = k.parameter("In", (32, 12), "uint32")
    out = k.parameter("Out", (16, 4, 2), "uint32")
    sm = k.shared("SM", (16, 4, 2), "uint32", layout="(16,4,2):(8,1,128)", align=16)

    raw = k.registers("raw", (12,), "uint32")
    k.apply("ld.global.b32", raw.view(12, 1), source[laneid].view(12, 1))
    fragment = raw.declare((2, 2, 8, 4), layout=TileLayout(S[(2, 2, 8, 4) : (8, 2, 4 @ laneid, 1 @ laneid)]))
    k.apply(STMATRIX, sm.rearrange("(r m) w k -> k m r w", r=8, m=2), fragment, scope="warp")
    k.raw("bar.sync 0;")

    words = k.registers("words", (32, 4, 1), "uint32", layout=TileLayout(S[(32, 4, 1) : (1 @ laneid, 1, 1)]))
    k.apply("ld.shared.b32", words, sm.view(4, 32, 1).permute(1, 0, 2), scope="warp")
    k.apply("st.global.b32", out.view(4, 32, 1).permute(1, 0, 2), words, scope="warp")
    return k


def inputs() -> list[Array]:
    return [np.arange(32 * 12, dtype=np.uint32).reshape(32, 12), np.zeros((16, 4, 2), np.uint32)]


def expected() -> list[Array]:
    source, _ = inputs()
    out = np.zeros((16, 4, 2), np.uint32)
    for lane in range(32):
        for k in range(2):
            for matrix in range(2):
                out[2 * (lane // 4) + matrix, lane % 4, k] = source[lane, 8 * k + 2 * matrix]
    return [source, out]


ISSUED = {STMATRIX: 2}

if __name__ == "__main__":
    raise SystemExit(not run(build, inputs, expected, ISSUED))
