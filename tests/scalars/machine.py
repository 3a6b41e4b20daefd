"""Scalar functions on the simulated machine: arrays go through registers, one element of each to a thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import tileproof as tp
from tileproof import Kernel, LambdaExpr
from tileproof.scalars.types import TYPES

Array = npt.NDArray[Any]

THREADS = 32


def kernel_of(function: LambdaExpr, per_thread: int, constants: dict[str, Any] | None = None) -> Kernel:
    """A kernel that computes the function of arrays of ``THREADS * per_thread`` elements."""
    k = Kernel("apply", block=THREADS)
    inputs: list[Any] = []
    for number, parameter in enumerate(function.parameters):
        if constants and parameter.name in constants:
            inputs.append(constants[parameter.name])
            continue
        source = k.parameter(f"A{number}", (THREADS, per_thread, 1), parameter.dtype)
        held = k.registers(f"a{number}", (per_thread, 1), parameter.dtype)
        k.apply(f"ld.global.b{TYPES[parameter.dtype].bits}", held, source[tp.tx])
        inputs.append(held.view(per_thread))
    target = k.parameter("Out", (THREADS, per_thread, 1), function.result)
    held = k.registers("out", (per_thread, 1), function.result)
    k.ewise(function, held.view(per_thread), *inputs)
    k.apply(f"st.global.b{TYPES[function.result].bits}", target[tp.tx], held)
    return k


def numpy_type(dtype: str) -> np.dtype[Any]:
    return np.dtype(dtype.replace("bfloat16", "uint16"))


def simulated(function: LambdaExpr, *inputs: Array, **constants: Any) -> Array:
    """What the emitted PTX computes of arrays of one length, padded to whole turns of the block."""
    count = len(inputs[0]) if inputs else 1
    per_thread = -(-count // THREADS)
    padded = [np.resize(a, THREADS * per_thread) for a in inputs]
    out = np.zeros(THREADS * per_thread, numpy_type(function.result))
    kernel_of(function, per_thread, constants).simulate(*padded, out)
    return out[:count]


def same(found: Array, wanted: Array, dtype: str) -> bool:
    """Whether all bits agree, except those of NaNs."""
    one, other = numbers(found, dtype), numbers(wanted, dtype)
    equal = (one == other) & (np.signbit(one) == np.signbit(other)) if TYPES[dtype].is_float else one == other
    return bool((equal | np.isnan(one) & np.isnan(other)).all())


def numbers(bits: Array, dtype: str) -> Array:
    """Stored elements as numbers that NumPy has: bfloat16 as float32."""
    return (bits.astype(np.uint32) << 16).view(np.float32) if dtype == "bfloat16" else bits


def function_of(build: Callable[..., Any], parameters: list[str], result: str, name: str = "f") -> LambdaExpr:
    """A function of parameters ``x0``, ``x1``, ... of these types."""
    from tileproof.scalars.function import Parameter

    listed = tuple(Parameter(f"x{n}", dtype) for n, dtype in enumerate(parameters))
    return LambdaExpr(name, listed, result, build(*(p.variable for p in listed)))
