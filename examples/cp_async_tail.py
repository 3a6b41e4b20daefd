"""A row that ends within a chunk: ``cp.async`` reads ``src_size`` bytes of the last one and fills it up with zeros.

Chunks past the end are copied too, with nothing read, so that the whole tile is written.
"""

from __future__ import annotations

import numpy as np
from _run import Array, run

import tileproof as tp
from tileproof import Kernel, tx

COPY = "cp.async.ca.shared.global"
THREADS, LENGTH = 128, 402
LOWEST = "sm_80"


def build() -> Kernel:
    k = Kernel("cp_async_tail", block=THREADS)
    a = k.parameter("A", (LENGTH,), "float16", align=8)
    out = k.parameter("Out", (THREADS, 2), "uint32")
    tile = k.shared("SM", (THREADS, 4), "float16", align=8)
    words = k.registers("words", (2,), "uint32")

    start = 4 * tx
    left = tp.minimum(tp.maximum(2 * (LENGTH - start), 0), 8)
    k.apply(COPY, tile[tx], a[start : start + 4], chunk_bytes=8, src_size=left)
    k.raw("cp.async.commit_group;")
    k.raw("cp.async.wait_group 0;")
    k.raw("bar.sync 0;")
    # What another thread has copied.
    k.apply("ld.shared.v2.b32", words, tile[THREADS - 1 - tx].view("uint32"))
    k.apply("st.global.v2.b32", out[tx], words)
    return k


def inputs() -> list[Array]:
    return [np.arange(1, LENGTH + 1, dtype=np.float16), np.full((THREADS, 2), 0xFFFFFFFF, np.uint32)]


def expected() -> list[Array]:
    a, _ = inputs()
    tile = np.zeros((THREADS, 4), np.float16)
    tile.flat[:LENGTH] = a
    return [a, np.ascontiguousarray(tile[::-1]).view(np.uint32)]


WARPS = THREADS // 32
ISSUED = {COPY: WARPS, "ld.shared.v2.b32": WARPS, "st.global.v2.b32": WARPS}

if __name__ == "__main__":
    raise SystemExit(not run(build, inputs, expected, ISSUED))
