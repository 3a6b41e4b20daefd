"""The inverse of ``ld_128bit``: 64 threads, three 128-bit stores each, from registers two slots apart."""

from __future__ import annotations

import numpy as np
from _run import Array, run

from tileproof import Kernel, S, TileLayout, laneid, tx, warpid

STORE = "st.global.v4.b32"
SLOTS = 8 * 2 + 2 * 3 + 1
LOWEST = "sm_75"


def build() -> Kernel:
    k = Kernel("st_128bit", block=64)
    source = k.parameter("In", (64, SLOTS), "uint32")
    out = k.parameter("Out", (2, 32, 3, 4), "uint32")

    raw = k.registers("raw", (SLOTS,), "uint32")
    k.apply("ld.global.b32", raw.view(SLOTS, 1), source[tx].view(SLOTS, 1))
    two_apart = TileLayout(S[(2, 32, 3, 4) : (1 @ warpid, 1 @ laneid, 8, 2)])
    vectors = raw.declare((2, 32, 3, 4), layout=two_apart)
    k.apply(STORE, out, vectors, scope="cta")
    return k


def inputs() -> list[Array]:
    return [np.arange(64 * SLOTS, dtype=np.uint32).reshape(64, SLOTS), np.zeros((2, 32, 3, 4), np.uint32)]


def expected() -> list[Array]:
    source, _ = inputs()
    out = np.zeros((2, 32, 3, 4), np.uint32)
    for warp in range(2):
        for lane in range(32):
            for repeat in range(3):
                for word in range(4):
                    out[warp, lane, repeat, word] = source[32 * warp + lane, 8 * repeat + 2 * word]
    return [source, out]


ISSUED = {STORE: 2 * 3}

if __name__ == "__main__":
    raise SystemExit(not run(build, inputs, expected, ISSUED))
