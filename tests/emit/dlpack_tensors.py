"""Objects with ``__dlpack__`` that say whatever a test wants, over memory of NumPy."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from tileproof.emit.dlpack import _Tensor, _Versioned


class Tensor:
    """A tensor over the memory of an array; keywords replace fields of its description."""

    def __init__(
        self,
        array: Any,
        *,
        device: tuple[int, int] = (1, 0),
        code: int | None = None,
        bits: int | None = None,
        lanes: int = 1,
        strides: Sequence[int] | None = None,
        legacy: bool = False,
        flags: int = 0,
        major: int = 1,
        name: bytes | None = None,
        error: Exception | None = None,
    ) -> None:
        self.array, self.device, self.legacy, self.error = array, device, legacy, error
        self.streams: list[int | None] = []
        self.live = 0
        self.name = name or (b"dltensor" if legacy else b"dltensor_versioned")
        kind = array.dtype
        extents = (ctypes.c_int64 * array.ndim)(*array.shape)
        steps = None if strides is None else (ctypes.c_int64 * array.ndim)(*strides)
        self._kept = extents, steps
        tensor = _Tensor(
            array.ctypes.data, *device, array.ndim,
            {"i": 0, "u": 1, "f": 2, "b": 6}[kind.kind] if code is None else code,
            8 * kind.itemsize if bits is None else bits, lanes, extents, steps, 0,
        )  # fmt: skip
        self.struct = tensor if legacy else _Versioned(major, 0, None, None, flags, tensor)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **keywords: Any) -> object:
        if self.legacy and "max_version" in keywords:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        if self.error is not None:
            raise self.error
        self.streams.append(keywords.get("stream"))
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(self.struct), self.name, None)


class OfNumPy:
    """NumPy's own export, behind an object that is no NumPy array."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()  # type: ignore[return-value]

    def __dlpack__(self, **keywords: Any) -> object:
        return self.array.__dlpack__(**keywords)
