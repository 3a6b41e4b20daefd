"""Where an element of a view stands, step by step as the description says it. Works on integers and on arrays
alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tileproof.fuzz.oracle.description import Factor, Operand
from tileproof.fuzz.oracle.terms import Term, value


@dataclass(frozen=True)
class Place:
    """The value on each thread axis that the layout names, and the offset from the start of the storage in
    bytes.
    """

    axes: dict[str, Any]
    offset: Any


def _split(flat: Any, extents: Sequence[Any]) -> list[Any]:
    """Row-major coordinates. The first one takes whatever is left, so what lies outside stays outside."""
    result = []
    for extent in reversed(extents[1:]):
        result.append(flat % extent)
        flat = flat // extent
    return [flat, *reversed(result)] if extents else []


def _merge(coordinates: Sequence[Any], extents: Sequence[Any]) -> Any:
    flat: Any = 0
    for coordinate, extent in zip(coordinates, extents, strict=True):
        flat = flat * extent + coordinate
    return flat


def _blocks(shape: Sequence[Term], factors: Sequence[Factor]) -> list[tuple[list[int], list[Factor]]]:
    """The least runs of dimensions and of factors that have as many elements each."""
    dims = [d for d, n in enumerate(shape) if n != 1]
    parts = [f for f in factors if f.extent != 1]
    blocks: list[tuple[list[int], list[Factor]]] = []
    while dims or parts:
        here, there = [dims.pop(0)], [parts.pop(0)]
        left: Any = shape[here[0]]
        right: Any = there[0].extent
        while left != right:
            if not isinstance(left, int) or not isinstance(right, int):
                raise TypeError(f"symbolic extents must stand alone: {shape} and {factors}")
            if left < right:
                here.append(dims.pop(0))
                left = left * shape[here[-1]]
            else:
                there.append(parts.pop(0))
                right = right * there[-1].extent
        blocks.append((here, there))
    return blocks


def laid_out(operand: Operand) -> bool:
    """Whether the layout has as many elements as the shape."""
    try:
        _blocks(operand.shape, operand.factors)
    except IndexError:
        return False
    return True


def swizzled(operand: Operand, offset: Any) -> Any:
    """The offset in elements after the operand's swizzle: bits from above are XORed into bits below."""
    s = operand.swizzle
    if s is None:
        return offset
    source, target = s.base + max(s.shift, 0), s.base + max(-s.shift, 0)
    return offset ^ (((offset >> source) & ((1 << s.bits) - 1)) << target)


def tensor_place(
    operand: Operand, coordinates: Sequence[Any], known: Mapping[str, Any], replica: Sequence[Any] = ()
) -> dict[str, Any]:
    """For each axis that the layout names the value of the tensor's element; ``m`` in elements, swizzled."""
    found: dict[str, Any] = {"m": 0}

    def contribute(axis: str, amount: Any) -> None:
        found[axis] = found[axis] + amount if axis in found else amount

    for dims, parts in _blocks(operand.shape, operand.factors):
        flat = _merge([coordinates[d] for d in dims], [value(operand.shape[d], known) for d in dims])
        pieces = _split(flat, [value(f.extent, known) for f in parts])
        for factor, piece in zip(parts, pieces, strict=True):
            contribute(factor.axis, piece * value(factor.stride, known))
    for factor, which in zip(operand.replicas, replica, strict=False):
        contribute(factor.axis, which * value(factor.stride, known))
    for amount, axis in operand.offsets:
        contribute(axis, value(amount, known))
    found["m"] = swizzled(operand, found["m"])
    return found


def starts(operand: Operand, known: Mapping[str, Any]) -> list[Any]:
    """Where the region starts in each dimension of the tensor, in elements."""
    return [value(r.start, known) for r in operand.region]


def tensor_coordinates(
    operand: Operand, at: Sequence[Any], known: Mapping[str, Any]
) -> tuple[list[Any], Any]:
    """The tensor's coordinates of element ``at`` of the view, and how many view elements past its start it
    stands.
    """
    at = list(at)
    if operand.order is not None:
        before: list[Any] = [0] * len(at)
        for position, dimension in enumerate(operand.order):
            before[dimension] = at[position]
        at = before
    if operand.reshape is not None:
        at = _split(_merge(at, operand.reshape), operand.cut_shape)
    past: Any = 0
    if operand.view_bits > operand.bits:
        at[-1] = at[-1] * (operand.view_bits // operand.bits)
    elif operand.view_bits < operand.bits:
        ratio = operand.bits // operand.view_bits
        at[-1], past = at[-1] // ratio, at[-1] % ratio
    own = iter(at)
    coordinates = []
    for region, start in zip(operand.region, starts(operand, known), strict=True):
        coordinates.append(start if region.extent is None else start + next(own) * region.step)
    return coordinates, past


def place(
    operand: Operand, at: Sequence[Any], known: Mapping[str, Any], replica: Sequence[Any] = ()
) -> Place:
    """Where element ``at`` of the view stands; ``replica`` picks a copy, by default the first."""
    coordinates, past = tensor_coordinates(operand, at, known)
    axes = tensor_place(operand, coordinates, known, replica)
    first = value(operand.backing.at, known) if operand.backing is not None else 0
    start = first * operand.storage_unit
    return Place(axes, start + axes.pop("m") * (operand.bits // 8) + past * (operand.view_bits // 8))
