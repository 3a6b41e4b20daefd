"""A tile of 16x16 halves transposed: one ``ldmatrix.x4.trans`` and one ``stmatrix.x4``.

``.trans`` transposes each 8x8 matrix on its way into the registers; which of the four matrices goes where is an order
of coordinates. ``stmatrix`` needs sm_90 or later.
"""

from __future__ import annotations

import numpy as np
from _run import Array, run

from tileproof import Kernel, S, TileLayout, laneid

LDMATRIX = "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"
STMATRIX = "stmatrix.sync.aligned.m8n8.x4.shared.b16"
LOWEST = "sm_90"


def build() -> Kernel:
    k = Kernel("matrix_transposed", block=32)
    a = k.parameter("A", (16, 8), "uint32")
    out = k.parameter("Out", (16, 8), "uint32")
    source = k.shared("Source", (16, 8), "uint32", align=16)
    target = k.shared("Target", (16, 8), "uint32", align=16)
    words = k.registers("words", (4,), "uint32")

    # Two lanes bring a row: its left and its right four words.
    k.apply("ld.global.v4.b32", words, a.view(32, 4)[laneid])
    k.apply("st.shared.v4.b32", source.view(32, 4)[laneid], words)
    k.raw("bar.warp.sync 0xFFFFFFFF;")

    fragment = k.registers(
        "fragment", (4, 8, 4), "uint32", layout=TileLayout(S[(4, 8, 4) : (1, 4 @ laneid, 1 @ laneid)])
    )
    k.apply(
        LDMATRIX, fragment, source.rearrange("(down r) (right w) -> (down right) r w", r=8, w=4), scope="warp"
    )
    k.apply(
        STMATRIX, target.rearrange("(right r) (down w) -> (down right) r w", r=8, w=4), fragment, scope="warp"
    )
    k.raw("bar.warp.sync 0xFFFFFFFF;")
    k.apply("ld.shared.v4.b32", words, target.view(32, 4)[laneid])
    k.apply("st.global.v4.b32", out.view(32, 4)[laneid], words)
    return k


def inputs() -> list[Array]:
    a = np.arange(256, dtype=np.uint16).view(np.uint32).reshape(16, 8)
    return [a, np.zeros_like(a)]


def expected() -> list[Array]:
    a, _ = inputs()
    return [a, np.ascontiguousarray(a.view(np.uint16).T).view(np.uint32)]


ISSUED = {LDMATRIX: 1, STMATRIX: 1}

if __name__ == "__main__":
    raise SystemExit(not run(build, inputs, expected, ISSUED))
