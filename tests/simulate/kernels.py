"""Small kernels for the tests: one instruction between loads of its operands and a store of its result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tileproof.simulate import SimulationResult, simulate

Array = npt.NDArray[Any]

BITS = {"pred": 8}
for _kind in "bus":
    BITS |= {f"{_kind}{bits}": bits for bits in (8, 16, 32, 64)}
BITS |= {"f16": 16, "bf16": 16, "f32": 32, "f64": 64, "f16x2": 32, "bf16x2": 32, "f32x2": 64}


def module(body: str, *, parameters: str = ".param .u64 out", head: str = "", target: str = "sm_90a") -> str:
    """A kernel `k` with registers of every width declared around `body`."""
    return f"""
.version 8.8
.target {target}
.address_size 64
{head}
.visible .entry k({parameters})
{{
    .reg .pred %p<10>;
    .reg .b16 %h<10>;
    .reg .b32 %r<40>;
    .reg .f32 %f<10>;
    .reg .b64 %rd<20>;
    .reg .f64 %fd<10>;
    .reg .b128 %q<4>;
{body}
    ret;
}}
"""


ADDRESS = """
    ld.param.u64 %rd0, [out];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %rd1, %r0, 4;
    add.u64 %rd2, %rd0, %rd1;
"""
"""%rd0: the array, %r0: the thread, %rd2: the thread's word in the array."""


def threads(body: str, *, count: int = 32, words: int | None = None, **options: Any) -> Array:
    """What each of `count` threads stores at [%rd2] after `body`; the array starts as 0xffffffff."""
    out = np.full(count if words is None else words, 0xFFFFFFFF, np.uint32)
    run(ADDRESS + body, [out], block=count, **options)
    return out


def run(
    body: str,
    arguments: Sequence[Any],
    *,
    head: str = "",
    parameters: str = ".param .u64 out",
    **options: Any,
) -> SimulationResult:
    ptx = module(body, parameters=parameters, head=head, target=options.get("target", "sm_90a"))
    return simulate(ptx, arguments, **options)


def evaluate(instruction: str, out: str, **operands: tuple[str, Sequence[Any]]) -> Array:
    """Runs `instruction` once per element of the operands; its registers are d and the operands' names.

    Operands are (type, values): floats for `.f16`, `.f32` and `.f64`, booleans for `.pred`, else integers,
    taken modulo the width. The result is floats for an `out` of `.f32` and `.f64`, else the bits of d.
    """
    count = len(next(iter(operands.values()))[1])
    declared = [f".reg .{out} d;"] + [
        f".reg .{register_type(kind)} {name};" for name, (kind, _) in operands.items()
    ]
    lines = ["mov.u32 %r0, %tid.x;"]
    parameters, arrays = [], []
    for index, (name, (kind, values)) in enumerate(operands.items()):
        arrays.append(as_array(kind, values))
        parameters.append(f".param .u64 p{index}")
        lines += [f"ld.param.u64 %rd0, [p{index}];", *_move(name, kind, store=False)]
    lines.append(instruction)
    result = np.zeros(count, f"u{BITS[out] // 8}")
    parameters.append(".param .u64 out")
    lines += ["ld.param.u64 %rd0, [out];", *_move("d", out, store=True)]
    ptx = module(
        "\n".join(["    " + line for line in declared + lines]),
        parameters=", ".join(parameters),
        target="sm_100a",
    )
    simulate(ptx, [*arrays, result], block=count, target="sm_100a")
    return result.view(f"f{BITS[out] // 8}") if out in ("f32", "f64") else result


def register_type(kind: str) -> str:
    return "b16" if kind in ("u8", "s8", "b8") else kind


def as_array(kind: str, values: Sequence[Any]) -> Array:
    if kind in ("f16", "f32", "f64"):
        return np.array(values, f"f{BITS[kind] // 8}")
    mask = (1 << BITS[kind]) - 1
    return np.array([int(value) & mask for value in values], f"u{BITS[kind] // 8}")


def _move(name: str, kind: str, *, store: bool) -> list[str]:
    """Moves a register from or to element %r0 of the array at %rd0."""
    size = BITS[kind] // 8
    lines = [f"mul.wide.u32 %rd1, %r0, {size};", "add.u64 %rd0, %rd0, %rd1;"]
    if kind == "pred" and store:
        return [*lines, f"selp.u16 %h9, 1, 0, {name};", "st.global.u8 [%rd0], %h9;"]
    if kind == "pred":
        return [*lines, "ld.global.u8 %h9, [%rd0];", f"setp.ne.u16 {name}, %h9, 0;"]
    word = f"b{BITS[kind]}"
    return [*lines, f"st.global.{word} [%rd0], {name};" if store else f"ld.global.{word} {name}, [%rd0];"]
