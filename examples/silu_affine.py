"""A scalar composition: ``silu(x) * 2 + 1`` of a register tile, loaded from global memory and stored back.

The function is written in Python with an explicit signature, traced once, and written out at each register
coordinate: 64 threads with three words each, in registers two slots apart. Division and multiplication are rounded
as IEEE 754 says; the exponential is PTX's approximation, so a result may be off by a few units in the last place.
"""

from __future__ import annotations

import numpy as np
from _run import Array, run

import tileproof as tp
from tileproof import Kernel, S, TileLayout, laneid, warpid

LOAD, STORE = "ld.global.b32", "st.global.b32"
SHAPE = (2, 32, 3)
LOWEST = "sm_75"


@tp.scalar_function
def silu_affine(x: tp.float32, scale: tp.float32, bias: tp.float32) -> tp.float32:
    y = x / (tp.float32(1) + tp.exp(-x))
    return y * scale + bias


def build() -> Kernel:
    k = Kernel("silu_affine", block=64)
    x = k.parameter("X", (*SHAPE, 1), "float32")
    y = k.parameter("Y", (*SHAPE, 1), "float32")
    tile = k.registers(
        "tile", (*SHAPE, 1), "float32", layout=TileLayout(S[(*SHAPE, 1) : (1 @ warpid, 1 @ laneid, 2, 1)])
    )
    elements = tile.view(*SHAPE)
    k.apply(LOAD, tile, x, scope="cta")
    k.ewise(silu_affine, elements, elements, 2, 1, scope="cta")
    k.apply(STORE, y, tile, scope="cta")
    return k


def inputs() -> list[Array]:
    """The argument, and room for the result."""
    return [np.linspace(-8, 8, 192, dtype=np.float32), np.zeros(192, np.float32)]


def expected() -> list[Array]:
    x, _ = inputs()
    return [x, silu_affine.evaluate(x, 2, 1)]


ULP = 16
"""How far a GPU's results may be off: 1.25*8 + 2 from the exponential, and a rounding in each of four operations."""

ISSUED = {LOAD: 6, "ex2.approx.f32": 6, "div.rn.f32": 6, STORE: 6}

if __name__ == "__main__":
    raise SystemExit(not run(build, inputs, expected, ISSUED, ULP))
