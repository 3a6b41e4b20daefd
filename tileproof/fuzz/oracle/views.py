"""Whether operands are shaped for the instruction, and whether their tensors and views can exist at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from tileproof.fuzz.oracle.description import Access, Call, Operand, operand_names
from tileproof.fuzz.oracle.grid import along, symbol_grid
from tileproof.fuzz.oracle.places import starts, tensor_place
from tileproof.fuzz.oracle.threads import numbers, warps


def access_misfits(call: Access) -> list[str]:
    """Demands of an access on state space, width and shape."""
    found = []
    spaces = {"registers": ("registers",), "memory": (call.space.partition("::")[0],)}
    for operand, role in ((call.registers, "registers"), (call.memory, "memory")):
        if operand.space not in spaces[role]:
            found.append("space")
        if operand.view_bits != call.bits:
            found.append("width")
    prefix, suffix = len(call.group_axes), call.suffix
    for operand in call.operands:
        shape = operand.view_shape
        if len(shape) < prefix + len(suffix) or shape[len(shape) - len(suffix) :] != suffix:
            found.append("shape")
    first, second = (o.view_shape[: len(o.view_shape) - len(suffix)] for o in call.operands)
    if first != second:
        found.append("shape")
    return [*found, *named_threads(call, call.registers)]


def named_threads(call: Call, registers: Operand) -> list[str]:
    """At thread scope "no thread axes are accepted": each thread has all of the tensor."""
    if call.scope != "thread":
        return []
    named = {f.axis for f in registers.factors if f.extent != 1} | {f.axis for f in registers.replicas}
    return ["owned"] if (named | {axis for _, axis in registers.offsets}) - {"m"} else []


def begins_early(operand: Operand) -> bool:
    """Whether a layout of plain numbers reaches before the start of the storage that is made for it."""
    if operand.backing is not None or list(operand_names(operand, regions=False)):
        return False
    at = [
        along(np.arange(n), d, len(operand.shape)) for d, n in enumerate(operand.shape) if isinstance(n, int)
    ]
    return bool(np.min(tensor_place(operand, at, {})["m"]) < 0)


def torn(call: Call, operand: Operand) -> Any:
    """Where a wide element of the view is not one run of bytes of one thread, by symbols, warp and lane."""
    if operand.view_bits <= operand.bits:
        return np.False_
    ratio = operand.view_bits // operand.bits
    shape = (*operand.cut_shape[:-1], operand.cut_shape[-1] * ratio)
    n = len(call.symbols)
    ndim = n + 2 + len(shape)
    known = symbol_grid(call, extra=2 + len(shape))
    known |= numbers(call.block, along(range(warps(call.threads)), n, ndim), along(range(32), n + 1, ndim))
    at = [along(np.arange(e), n + 2 + d, ndim) for d, e in enumerate(shape)]
    coordinates = []
    own = iter(at)
    for region, start in zip(operand.region, starts(operand, known), strict=True):
        coordinates.append(start if region.extent is None else start + next(own) * region.step)
    found = np.zeros([1] * (n + 2), dtype=bool)
    for axis, place in tensor_place(operand, coordinates, known).items():
        whole = np.broadcast_to(place, np.broadcast_shapes(np.shape(place), at[-1].shape))
        parts = whole.reshape(*whole.shape[:-1], -1, ratio)
        wrong = parts != parts[..., :1] + (np.arange(ratio) if axis == "m" else 0)
        found = found | wrong.any(axis=tuple(range(n + 2, wrong.ndim)))
    return found
