"""64 threads, three 128-bit loads each, into registers that are two slots apart."""

from __future__ import annotations

import numpy as np
from _run import SENTINEL, Array, run

from tileproof import Kernel, S, TileLayout, laneid, tx, warpid

LOAD = "ld.global.v4.b32"
SLOTS = 8 * 2 + 2 * 3 + 1
LOWEST = "sm_75"


def build() -> Kernel:
    k = Kernel("ld_128bit", block=64)
    a = k.parameter("A", (2, 32, 3, 4), "uint32")
    out = k.parameter("Out", (64, SLOTS), "uint32")

    # The first two dimensions are the warp and the lane, the third makes repeats, the fourth is one vector.
    raw = k.registers("raw", (SLOTS,), "uint32", fill=SENTINEL)
    two_apart = TileLayout(S[(2, 32, 3, 4) : (1 @ warpid, 1 @ laneid, 8, 2)])
    vectors = raw.declare((2, 32, 3, 4), layout=two_apart)
    k.apply(LOAD, vectors, a, scope="cta")
    k.apply("st.global.b32", out[tx].view(SLOTS, 1), raw.view(SLOTS, 1))
    return k


def inputs() -> list[Array]:
    return [np.arange(2 * 32 * 3 * 4, dtype=np.uint32).reshape(2, 32, 3, 4), np.zeros((64, SLOTS), np.uint32)]


def expected() -> list[Array]:
    a, _ = inputs()
    out = np.full((64, SLOTS), SENTINEL, np.uint32)
    for warp in range(2):
        for lane in range(32):
            for repeat in range(3):
                for word in range(4):
                    out[32 * warp + lane, 8 * repeat + 2 * word] = a[warp, lane, repeat, word]
    return [a, out]


ISSUED = {LOAD: 2 * 3}

if __name__ == "__main__":
    raise SystemExit(not run(build, inputs, expected, ISSUED))
