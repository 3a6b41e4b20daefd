"""Tiles that go through two stages of shared memory: while one is used, the next one is on its way.

The proofs are about the copies; that each stage is committed, waited for and not overwritten too early is up to
the kernel, in instructions of its own. The simulator stops where a wait is missing.
"""

from __future__ import annotations

import numpy as np
from _run import Array, run

from tileproof import Kernel, tx

COPY = "cp.async.cg.shared.global"
TILES, THREADS = 6, 128
LOWEST = "sm_80"


def build() -> Kernel:
    k = Kernel("cp_async_double_buffer", block=THREADS)
    a = k.parameter("A", (TILES, THREADS, 4), "uint32")
    out = k.parameter("Out", (TILES, THREADS, 4), "uint32")
    stages = k.shared("SM", (2, THREADS, 4), "uint32", align=16)
    words = k.registers("words", (4,), "uint32")

    k.apply(COPY, stages[0, tx], a[0, tx], chunk_bytes=16)
    k.raw("cp.async.commit_group;")
    with k.loop("tile", 0, TILES) as tile:
        with k.when(tile + 1 < TILES):
            k.apply(COPY, stages[(tile + 1) % 2, tx], a[tile + 1, tx], chunk_bytes=16)
        # Every turn commits a group, the last one an empty one, so that the same wait is right in all of them.
        k.raw("cp.async.commit_group;")
        k.raw("cp.async.wait_group 1;")
        k.raw("bar.sync 0;")
        # What another thread has copied.
        k.apply("ld.shared.v4.b32", words, stages[tile % 2, THREADS - 1 - tx])
        k.apply("st.global.v4.b32", out[tile, tx], words)
        k.raw("bar.sync 0;")
    return k


def inputs() -> list[Array]:
    a = np.arange(TILES * THREADS * 4, dtype=np.uint32).reshape(TILES, THREADS, 4)
    return [a, np.zeros_like(a)]


def expected() -> list[Array]:
    a, _ = inputs()
    return [a, a[:, ::-1]]


WARPS = THREADS // 32
ISSUED = {
    COPY: TILES * WARPS,
    "cp.async.wait_group": TILES * WARPS,
    "ld.shared.v4.b32": TILES * WARPS,
    "st.global.v4.b32": TILES * WARPS,
}

if __name__ == "__main__":
    raise SystemExit(not run(build, inputs, expected, ISSUED))
