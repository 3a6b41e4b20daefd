"""A permuted tensor in 105 vector loads: the original layout stays, only the coordinates change.

``A`` has shape (15, 2, 7, 2) and strides (4, 1, 60, 2). Rearranged to (j, i, (d b)) its last dimension is
four adjacent words. Each thread loads all of it, once into registers in the same compact order and once into
registers with the strides (8, 2, 120, 4), two slots apart.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from _run import SENTINEL, Array, run

from tileproof import Kernel, S, TileLayout, laneid

LOAD = "ld.global.v4.b32"
SHAPE = (15, 2, 7, 2)
COMPACT = (4, 1, 60, 2)
SPREAD = (8, 2, 120, 4)
SLOTS = {COMPACT: 420, SPREAD: 840}
VARIANTS = {"compact": COMPACT, "spread": SPREAD}
LOWEST = "sm_75"


def build(strides: tuple[int, ...] = COMPACT) -> Kernel:
    k = Kernel("ld_rearranged", block=32)
    slots = SLOTS[strides]
    a = k.parameter("A", SHAPE, "float32", layout=TileLayout(S[SHAPE:COMPACT]))
    out = k.parameter("Out", (32, slots), "float32")

    raw = k.registers("raw", (slots,), "float32", fill=SENTINEL)
    registers = raw.declare(SHAPE, layout=TileLayout(S[SHAPE:strides]))
    pattern = "i b j d -> j i (d b)"
    k.apply(LOAD, registers.rearrange(pattern), a.rearrange(pattern))
    k.apply("st.global.v4.b32", out[laneid].view(slots // 4, 4), raw.view(slots // 4, 4))
    return k


def inputs(strides: tuple[int, ...] = COMPACT) -> list[Array]:
    """A in the order of its storage, and room for the registers of each lane."""
    return [np.arange(420, dtype=np.float32) / 8, np.zeros((32, SLOTS[strides]), np.float32)]


def expected(strides: tuple[int, ...] = COMPACT) -> list[Array]:
    a, _ = inputs(strides)
    out = np.full((32, SLOTS[strides]), SENTINEL, np.uint32).view(np.float32)
    for i in range(15):
        for b in range(2):
            for j in range(7):
                for d in range(2):
                    slot = strides[0] * i + strides[1] * b + strides[2] * j + strides[3] * d
                    out[:, slot] = a[60 * j + 4 * i + 2 * d + b]
    return [a, out]


ISSUED = {LOAD: 15 * 7}

if __name__ == "__main__":
    good = [
        run(partial(build, strides), partial(inputs, strides), partial(expected, strides), ISSUED)
        for strides in VARIANTS.values()
    ]
    raise SystemExit(not all(good))
