"""Kernel arguments as the bytes that a launch hands to the driver. Nothing here touches CUDA."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tileproof.errors import LaunchError

POINTER_BYTES = 8
WIDTHS = (8, 16, 32, 64)
FLOATS = {"f16": "e", "f32": "f", "f64": "d"}
SCALAR_TYPES = (*(f"{sign}{bits}" for sign in "sub" for bits in WIDTHS), *FLOATS)


class DeviceArray(Protocol):
    """Whatever keeps its data on a GPU and says so: CuPy, PyTorch and Numba arrays."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


Argument = np.ndarray[Any, Any] | np.generic | DeviceArray | tuple[int | float, str] | bytes


@dataclass(frozen=True, eq=False)
class Packed:
    """One argument: the parameter's bytes, little-endian, or the `host` array whose device copy is passed."""

    label: str
    value: bytes
    host: np.ndarray[Any, Any] | None = None
    on_device: bool = False

    @property
    def size(self) -> int:
        """The size of the kernel parameter in bytes."""
        return len(self.value) if self.host is None else POINTER_BYTES

    @property
    def span(self) -> tuple[int, int]:
        """First byte and end of the host array in host memory."""
        if self.host is None:
            return 0, 0
        return self.host.ctypes.data, self.host.ctypes.data + self.host.nbytes

    def __str__(self) -> str:
        return self.label


def pack(arguments: Sequence[Argument]) -> tuple[Packed, ...]:
    """Every argument in order; `launch` lists the kinds. Raises `LaunchError`, naming the argument."""
    packed = tuple(_pack(f"argument {number}", argument) for number, argument in enumerate(arguments))
    arrays = [item for item in packed if item.host is not None]
    for number, one in enumerate(arrays):
        for other in arrays[number + 1 :]:
            if one.span != other.span and max(one.span[0], other.span[0]) < min(one.span[1], other.span[1]):
                raise LaunchError(
                    f"{one} and {other} overlap in host memory, so that both cannot be copied back; "
                    "pass the whole array once, or copies"
                )
    return packed


def pointer(address: int) -> bytes:
    """The bytes of a 64-bit pointer parameter."""
    return address.to_bytes(POINTER_BYTES, "little")


def _pack(label: str, argument: Any) -> Packed:
    if isinstance(argument, np.ndarray):
        return _array(label, argument)
    if isinstance(argument, np.generic):
        if argument.dtype.hasobject or argument.dtype.kind in "USMm":
            raise LaunchError(
                f"{label} is a NumPy scalar of dtype {argument.dtype}, which no kernel parameter can hold"
            )
        return Packed(f"{label} ({argument.dtype} {argument})", argument.tobytes())
    if isinstance(argument, bytes):
        return Packed(f"{label} ({len(argument)} bytes by value)", argument)
    if isinstance(argument, tuple) and len(argument) == 2 and isinstance(argument[1], str):
        return Packed(f"{label} ({argument[1]} {argument[0]})", _scalar(label, *argument))
    if isinstance(argument, (int, float)):
        example = "s32" if isinstance(argument, int) else "f32"
        raise LaunchError(
            f"{label} is the bare number {argument!r}; needed is its type too: ({argument!r}, {example!r})"
        )
    interface = _interface(label, argument)
    if interface is None:
        raise LaunchError(
            f"{label} is a {type(argument).__name__}; needed is a NumPy array, an object with "
            "__cuda_array_interface__, a (value, PTX type) pair, a NumPy scalar, or bytes"
        )
    address = interface["data"][0] or 0  # an empty array may have no address
    return Packed(f"{label} (device array at {address:#x})", pointer(address), on_device=True)


def _array(label: str, array: np.ndarray[Any, Any]) -> Packed:
    label = f"{label} ({array.dtype} array of shape {array.shape})"
    if array.dtype.hasobject:
        raise LaunchError(f"{label} holds Python objects; needed is a dtype of fixed size")
    if not array.dtype.isnative:
        raise LaunchError(
            f"{label} is in the other byte order; pass array.astype(array.dtype.newbyteorder('='))"
        )
    if not array.flags.c_contiguous:
        raise LaunchError(
            f"{label} has strides {array.strides}; needed is C-contiguous: np.ascontiguousarray(array)"
        )
    return Packed(label, b"", host=array)


def _interface(label: str, argument: Any) -> dict[str, Any] | None:
    try:
        interface = getattr(argument, "__cuda_array_interface__", None)
    except RuntimeError as error:
        # PyTorch's property refuses a tensor that requires gradients in this way.
        raise LaunchError(f"{label} does not give its device pointer: {error}") from error
    return interface if isinstance(interface, dict) and "data" in interface else None


def _scalar(label: str, value: Any, ptx_type: str) -> bytes:
    if ptx_type in FLOATS:
        try:
            return struct.pack("<" + FLOATS[ptx_type], value)
        except (struct.error, OverflowError) as error:
            raise LaunchError(f"{label} is {value!r}, which {ptx_type} cannot hold: {error}") from error
    if ptx_type not in SCALAR_TYPES:
        raise LaunchError(
            f"{label} has the PTX type {ptx_type!r}; needed is one of {', '.join(SCALAR_TYPES)}"
        )
    kind, bits = ptx_type[0], int(ptx_type[1:])
    low, high = (0 if kind == "u" else -(2 ** (bits - 1))), (2 ** (bits - 1) if kind == "s" else 2**bits) - 1
    if not isinstance(value, (int, np.integer)) or not low <= value <= high:
        raise LaunchError(f"{label} is {value!r}; {ptx_type} holds integers from {low} to {high}")
    unsigned: int = int(value) % 2**bits
    return unsigned.to_bytes(bits // 8, "little")
