"""The kernels of ``examples/`` as somebody would write them by hand, straight from their docstrings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tests.emit.handwritten import matrix, memory, registers, shared

HAND: dict[str, Callable[[], str]] = {
    "axpby_registers": registers.axpby_registers,
    "cp_async_double_buffer": shared.cp_async_double_buffer,
    "cp_async_tail": shared.cp_async_tail,
    "e4m3_pairs": registers.e4m3_pairs,
    "exp_shared": shared.exp_shared,
    "fma_shared": shared.fma_shared,
    "ld_128bit": memory.ld_128bit,
    "ld_rearranged_compact": partial(memory.ld_rearranged, 420, (4, 1, 60, 2)),
    "ld_rearranged_spread": partial(memory.ld_rearranged, 840, (8, 2, 120, 4)),
    "ldmatrix_interleaved": matrix.ldmatrix_interleaved,
    "matrix_transposed": matrix.matrix_transposed,
    "mov_halves": registers.mov_halves,
    "mov_registers": registers.mov_registers,
    "quantize_registers": registers.quantize_registers,
    "silu_affine": registers.silu_affine,
    "st_128bit": memory.st_128bit,
    "stmatrix_interleaved": matrix.stmatrix_interleaved,
    "unit_vectors": registers.unit_vectors,
}
