"""Numbers to eight bits and back, one scalar instruction for each step.

``q = clamp(round(x / step) + zero)`` and ``(q - zero) * step``: floating-point and integer arithmetic, and ``cvt``
between both, each rounding written in its opcode.
"""

from __future__ import annotations

import numpy as np
from _run import Array, run

from tileproof import Kernel, tx

THREADS, EACH = 64, 4
STEP, ZERO = 0.1, 3
ROUND, BACK = "cvt.rni.s32.f32", "cvt.rn.f32.s32"
LOWEST = "sm_75"


def build() -> Kernel:
    k = Kernel("quantize_registers", block=THREADS)
    x = k.parameter("X", (THREADS, EACH), "float32")
    codes = k.parameter("Codes", (THREADS, EACH), "int32")
    out = k.parameter("Out", (THREADS, EACH), "float32")

    f = k.registers("f", (EACH, 1), "float32")
    q = k.registers("q", (EACH, 1), "int32")
    k.apply("ld.global.v4.f32", f.view(EACH), x[tx])
    k.apply("div.rn.f32", f, f, STEP)
    k.apply(ROUND, q, f)
    k.apply("add.s32", q, q, ZERO)
    k.apply("min.s32", q, q, 127)
    k.apply("max.s32", q, q, -128)
    k.apply("st.global.v4.b32", codes[tx], q.view(EACH))
    k.apply("sub.s32", q, q, ZERO)
    k.apply(BACK, f, q)
    k.apply("mul.rn.f32", f, f, STEP)
    k.apply("st.global.v4.f32", out[tx], f.view(EACH))
    return k


def inputs() -> list[Array]:
    x = np.linspace(-20, 20, THREADS * EACH, dtype=np.float32).reshape(THREADS, EACH)
    return [x, np.zeros(x.shape, np.int32), np.zeros_like(x)]


def expected() -> list[Array]:
    x, _, _ = inputs()
    q = np.clip(np.rint(x / np.float32(STEP)).astype(np.int32) + ZERO, -128, 127)
    return [x, q, (q - ZERO).astype(np.float32) * np.float32(STEP)]


STEPS = ("div.rn.f32", ROUND, "add.s32", "min.s32", "max.s32", "sub.s32", BACK, "mul.rn.f32")
ISSUED = dict.fromkeys(STEPS, 2 * EACH)

if __name__ == "__main__":
    raise SystemExit(not run(build, inputs, expected, ISSUED))
