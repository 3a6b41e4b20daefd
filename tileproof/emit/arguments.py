"""Kernel arguments as the bytes that a launch hands to the driver. Nothing here touches CUDA."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from tileproof.emit.arrays import cuda_interface, described
from tileproof.errors import LaunchError

POINTER_BYTES = 8
WIDTHS = (8, 16, 32, 64)
FLOATS = {"f16": "e", "f32": "f", "f64": "d"}
SCALAR_TYPES = (*(f"{sign}{bits}" for sign in "sub" for bits in WIDTHS), *FLOATS)


class DeviceArray(Protocol):
    """Whatever keeps its data on a GPU and says so: CuPy, PyTorch and Numba arrays."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


class DLPackTensor(Protocol):
    """A tensor of any library, on the host or on a GPU."""

    def __dlpack__(self) -> object: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...


Argument = np.ndarray[Any, Any] | np.generic | DeviceArray | DLPackTensor | tuple[int | float, str] | bytes


@dataclass(frozen=True, eq=False)
class Packed:
    """One argument: the parameter's bytes, little-endian, or the `host` array whose device copy is passed.

    `address` is that of an array on a device, `device` the number of that device where its library tells it;
    `owner` keeps the memory.
    """

    label: str
    value: bytes
    host: np.ndarray[Any, Any] | None = None
    address: int | None = None
    device: int | None = None
    owner: object = None

    @property
    def on_device(self) -> bool:
        return self.address is not None

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


def pack(arguments: Sequence[Argument], stream: int | None = None) -> tuple[Packed, ...]:
    """Every argument in order; `launch` lists the kinds, and is by `stream`. Raises `LaunchError`, naming the
    argument.
    """
    packed = tuple(_pack(f"argument {number}", argument, stream) for number, argument in enumerate(arguments))
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


def _pack(label: str, argument: Any, stream: int | None) -> Packed:
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
    try:
        interface = cuda_interface(argument)
        if interface is not None:
            address = interface["data"][0] or 0  # an empty array may have no address
            return _on_device(label, address, None, argument)
        found = described(argument, stream)
    except LaunchError as error:
        raise LaunchError(f"{label} {error}") from error
    if found is None:
        raise LaunchError(
            f"{label} is a {type(argument).__name__}; needed is a NumPy array, an object with "
            "__cuda_array_interface__ or __dlpack__, a (value, PTX type) pair, a NumPy scalar, or bytes"
        )
    if not found.compact:
        raise LaunchError(
            f"{label} has shape {found.shape} and strides {found.strides}, in elements; needed is row-major order"
        )
    if found.host is not None:
        return replace(_array(label, found.host), owner=found.owner)
    return _on_device(label, found.address or 0, found.device, found.owner)


def _on_device(label: str, address: int, device: int | None, owner: object) -> Packed:
    label = f"{label} (device array at {address:#x})"
    return Packed(label, pointer(address), address=address, device=device, owner=owner)


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
