"""Array arguments of any library under one description: NumPy, ``__cuda_array_interface__``, DLPack."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from tileproof.emit import dlpack
from tileproof.errors import LaunchError


@dataclass(frozen=True, eq=False)
class Array:
    """An array argument. ``strides`` are in elements, ``None`` for row-major.

    ``address`` is that of an array on a device, whose number is ``device`` where the library tells it;
    ``host`` is an array on the host, over the same memory. ``owner`` keeps the memory.
    """

    dtype: str
    itemsize: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    writeable: bool
    address: int | None = None
    device: int | None = None
    host: np.ndarray[Any, Any] | None = None
    owner: object = None

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.itemsize

    @property
    def compact(self) -> bool:
        """Whether the elements stand one after the other in row-major order."""
        if self.strides is None or 0 in self.shape:
            return True
        step = 1
        for extent, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if extent != 1 and stride != step:
                return False
            step *= extent
        return True


def described(argument: Any, stream: int | None = None) -> Array | None:
    """The description of an array, or ``None`` for what is none. ``stream`` is as in :mod:`dlpack`.

    Raises :class:`LaunchError` for an array that cannot be borrowed; its text begins with what is wrong.
    """
    if isinstance(argument, np.ndarray):
        return _numpy(argument)
    interface = cuda_interface(argument)
    if interface is not None:
        return _cuda(interface)
    if isinstance(argument, np.generic):
        return None
    tensor = dlpack.exported(argument, stream)
    return None if tensor is None else _exported(tensor)


def cuda_interface(argument: Any) -> dict[str, Any] | None:
    """What ``__cuda_array_interface__`` says. Raises as :func:`described` does."""
    try:
        interface = getattr(argument, "__cuda_array_interface__", None)
    except RuntimeError as error:
        # PyTorch's property refuses a tensor that requires gradients in this way.
        raise LaunchError(f"does not give its device pointer: {error}") from error
    return interface if isinstance(interface, dict) and "data" in interface else None


def _numpy(array: np.ndarray[Any, Any]) -> Array:
    kind = array.dtype
    strides = None if array.flags.c_contiguous else _in_elements(array.strides, kind.itemsize)
    return Array(
        kind.name if kind.isnative else kind.str,
        kind.itemsize,
        array.shape,
        strides,
        bool(array.flags.writeable),
        host=array,
        owner=array,
    )


def _cuda(interface: dict[str, Any]) -> Array:
    try:
        kind = np.dtype(interface["typestr"])
        shape = tuple(int(n) for n in interface["shape"])
        address, read_only = interface["data"]
        written = interface.get("strides")
        strides = None if written is None else _in_elements(tuple(written), kind.itemsize)
    except (KeyError, TypeError, ValueError) as error:
        raise LaunchError(f"has a __cuda_array_interface__ that cannot be read: {error!r}") from error
    if interface.get("mask") is not None:
        raise LaunchError("has a mask, which no kernel here knows of")
    return Array(kind.name, kind.itemsize, shape, strides, not read_only, address=address or 0)


def _exported(tensor: dlpack.Exported) -> Array:
    itemsize = tensor.bits // 8
    found = Array(
        tensor.dtype, itemsize, tensor.shape, tensor.strides, tensor.writeable, owner=tensor.capsule
    )
    if tensor.on_device:
        return replace(found, address=tensor.address, device=tensor.device)
    return replace(found, host=_over(tensor, found) if found.compact else None)


def _over(tensor: dlpack.Exported, found: Array) -> np.ndarray[Any, Any]:
    """A NumPy array over the memory of a compact tensor on the host, of unsigned integers for other types."""
    try:
        kind = np.dtype(tensor.dtype)
    except TypeError:
        kind = np.dtype(f"uint{tensor.bits}")
    if not found.nbytes:
        return np.zeros(tensor.shape, kind)
    memory = (ctypes.c_uint8 * found.nbytes).from_address(tensor.address)
    array: np.ndarray[Any, Any] = np.ctypeslib.as_array(memory).view(kind).reshape(tensor.shape)
    array.flags.writeable = tensor.writeable
    return array


def _in_elements(strides: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Strides in bytes as strides in elements; one that is no whole number of them is no stride of a compact
    array.
    """
    return tuple(-1 if s % itemsize else s // itemsize for s in strides) if itemsize else strides
