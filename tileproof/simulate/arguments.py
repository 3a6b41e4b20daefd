"""Kernel arguments: arrays become global memory, numbers become bytes of the parameter space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tileproof.errors import SimulationError
from tileproof.simulate.memory import GLOBAL_BASE, Allocation, host
from tileproof.simulate.program import Placed
from tileproof.simulate.scalars import Array, ScalarType

GUARD = 4096
"""Unmapped bytes between arrays, at least."""
DEFAULT_ALIGN = 256
"""What a CUDA allocation guarantees."""


@dataclass(frozen=True, eq=False, slots=True)
class Buffer:
    """An array to pass by pointer, at an address of a chosen alignment.

    The address is `offset` bytes past a multiple of `align` (a power of two) that is no multiple of `2 *
    align`, so that a kernel which needs more than it was promised fails. Arrays passed without a `Buffer` are
    aligned to 256 bytes.
    """

    array: Array
    align: int = DEFAULT_ALIGN
    offset: int = 0


Argument = Array | Buffer | int | float | np.generic


@dataclass(slots=True)
class Bound:
    """Arguments in place: the allocations of global memory, and the bytes of the parameter space."""

    parameters: npt.NDArray[np.uint8]
    allocations: list[Allocation] = field(default_factory=list)


def bind(placed: Sequence[Placed], arguments: Sequence[Argument], kernel: str) -> Bound:
    """Raises `SimulationError` for a wrong number of arguments and for one that its parameter cannot take."""
    if len(arguments) != len(placed):
        names = ", ".join(f"{one.type} {one.variable.name}" for one in placed)
        raise SimulationError(
            f"kernel {kernel!r} takes {len(placed)} arguments ({names}); {len(arguments)} were given"
        )
    size = max((one.address + (one.size or 0) for one in placed), default=0)
    bound = Bound(np.zeros(size, np.uint8))
    arrays: list[tuple[Array, int]] = []
    for one, argument in zip(placed, arguments, strict=True):
        where = f"kernel {kernel!r}, parameter {one.variable.name!r} ({one.type})"
        if one.variable.is_array:
            octets = _by_value(argument, one, where)
        elif isinstance(argument, np.ndarray | Buffer):
            if one.type.bits != 64 or one.type.kind == "f":
                raise SimulationError(f"{where}: an array needs a 64-bit pointer parameter")
            buffer = argument if isinstance(argument, Buffer) else Buffer(argument)
            address = _map(buffer, one, bound, arrays, where)
            octets = np.frombuffer(address.to_bytes(8, "little"), np.uint8)
        else:
            octets = np.frombuffer(scalar_bytes(argument, one.type, where), np.uint8)
        bound.parameters[one.address : one.address + octets.size] = octets
    return bound


def _by_value(argument: Argument, one: Placed, where: str) -> npt.NDArray[np.uint8]:
    if not isinstance(argument, np.ndarray) or argument.nbytes != one.size:
        found = f"an array of {argument.nbytes} bytes" if isinstance(argument, np.ndarray) else repr(argument)
        raise SimulationError(
            f"{where}: passed by value, needs an array of exactly {one.size} bytes; found {found}"
        )
    return np.frombuffer(np.ascontiguousarray(argument).tobytes(), np.uint8)


def _map(buffer: Buffer, one: Placed, bound: Bound, arrays: list[tuple[Array, int]], where: str) -> int:
    """The address of a buffer; an array that was passed before keeps the address it got."""
    array, align = buffer.array, buffer.align
    if not array.flags.c_contiguous or not array.flags.writeable:
        raise SimulationError(
            f"{where}: the array must be C-contiguous and writable, for the kernel works on it in place"
        )
    if array.dtype.hasobject:
        raise SimulationError(f"{where}: an array of Python objects has no bytes that a kernel could read")
    if align < 1 or align & align - 1 or not 0 <= buffer.offset < align:
        raise SimulationError(
            f"{where}: align={align}, offset={buffer.offset}; align must be a power of two and offset from 0 "
            "up to less than align, in bytes"
        )
    address = next((at for other, at in arrays if _same(other, array)), None)
    if address is None:
        if any(np.may_share_memory(other, array) for other, _ in arrays):
            raise SimulationError(
                f"{where}: the array overlaps another argument; pass one array, and offsets into it"
            )
        end = max((other.base + other.size for other in bound.allocations), default=GLOBAL_BASE)
        base = -(-(end + GUARD) // align) * align
        address = base + (align if base // align % 2 == 0 else 0) + buffer.offset
        bound.allocations.append(host(one.variable.name, address, array.reshape(-1).view(np.uint8)))
        arrays.append((array, address))
    promised = one.variable.pointee_align
    if promised and address % promised:
        raise SimulationError(
            f"{where}: declared .align {promised}, but the array lies at {address:#x}, "
            f"{address % promised} bytes past such a boundary"
        )
    return address


def _same(a: Array, b: Array) -> bool:
    return a.__array_interface__["data"] == b.__array_interface__["data"] and a.nbytes == b.nbytes


def scalar_bytes(argument: object, kind: ScalarType, where: str) -> bytes:
    """A number as a parameter of a type holds it; NumPy scalars of the same size also pass their bits to
    `.bN`.
    """
    if (
        isinstance(argument, np.generic)
        and argument.dtype.kind in "iufb"
        and kind.kind == "b"
        and argument.nbytes == kind.bytes
    ):
        return argument.tobytes()
    if isinstance(argument, bool | np.bool_) or not isinstance(
        argument, int | float | np.integer | np.floating
    ):
        raise SimulationError(f"{where}: {argument!r} of type {type(argument).__name__} cannot be passed")
    if kind.kind == "f":
        if kind.dtype.kind != "f":
            raise SimulationError(
                f"{where}: a {kind} is passed as its bits, through a .b{kind.bits} parameter"
            )
        return np.asarray(argument, kind.dtype).tobytes()
    if isinstance(argument, float | np.floating):
        raise SimulationError(f"{where}: {argument!r} is not an integer")
    value = int(argument)
    low = 0 if kind.kind == "u" and value >= 0 else -(1 << kind.bits - 1)
    if not low <= value < 1 << (kind.bits - (kind.kind == "s")) or (kind.kind == "u" and value < 0):
        raise SimulationError(f"{where}: {value} does not fit")
    return (value & (1 << kind.bits) - 1).to_bytes(kind.bytes, "little")
