"""Tensors of any library through DLPack: where their elements lie, without a copy (dmlc/dlpack, ``dlpack.h``).

A tensor is borrowed: its capsule is never marked as used, so that it gives the tensor back when it goes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tileproof.errors import LaunchError

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
READ_ONLY, COPIED, PADDED = 1, 2, 4  # flags

NEWEST = (1, 1)
"""The DLPack version that is read; a later minor version adds codes only."""

LEGACY_STREAM = 1
"""How DLPack names CUDA's default stream, whose handle is 0."""

_CODES: Mapping[tuple[int, int], str] = MappingProxyType(
    {
        **{(0, bits): f"int{bits}" for bits in (8, 16, 32, 64)},
        **{(1, bits): f"uint{bits}" for bits in (8, 16, 32, 64)},
        **{(2, bits): f"float{bits}" for bits in (16, 32, 64)},
        (4, 16): "bfloat16",
        (6, 8): "bool",
        (10, 8): "float8_e4m3fn",
        (12, 8): "float8_e5m2",
        (14, 8): "float8_e8m0fnu",
    }
)
"""Element types by type code and bits, one lane each."""


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


@dataclass(frozen=True, eq=False)
class Exported:
    """A tensor as its library describes it. ``strides`` are in elements; ``device`` is the number of
    the GPU that has it, if one alone does; ``capsule`` keeps the tensor alive.
    """

    dtype: str
    bits: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    address: int
    on_device: bool
    device: int | None
    writeable: bool
    capsule: object


def exported(argument: Any, stream: int | None = None) -> Exported | None:
    """The tensor, or ``None`` for an object without DLPack.

    A CUDA tensor is made ready on ``stream``, a handle, by default the default stream. Raises
    :class:`LaunchError` for a tensor that cannot be borrowed; its text begins with what is wrong.
    """
    if not (hasattr(argument, "__dlpack__") and hasattr(argument, "__dlpack_device__")):
        return None
    capsule = _capsule(argument, stream or LEGACY_STREAM)
    if _is(capsule, b"dltensor_versioned"):
        versioned = ctypes.cast(_pointer(capsule, b"dltensor_versioned"), ctypes.POINTER(_Versioned)).contents
        if versioned.major != NEWEST[0]:
            raise LaunchError(f"comes in DLPack {versioned.major}.{versioned.minor}; needed is {NEWEST[0]}.x")
        if versioned.flags & (COPIED | PADDED):
            raise LaunchError("comes as a copy, or padded, in DLPack; needed are the elements themselves")
        return _described(versioned.tensor, not versioned.flags & READ_ONLY, capsule)
    if _is(capsule, b"dltensor"):
        tensor = ctypes.cast(_pointer(capsule, b"dltensor"), ctypes.POINTER(_Tensor)).contents
        return _described(tensor, True, capsule)
    raise LaunchError(f"gives no DLPack tensor but {capsule!r}")


def _capsule(argument: Any, stream: int) -> object:
    try:
        kind, _ = argument.__dlpack_device__()
        keywords = {"stream": stream} if int(kind) in (CUDA, CUDA_MANAGED) else {}
        try:
            return argument.__dlpack__(max_version=NEWEST, **keywords)
        except TypeError:  # older than DLPack 1.0
            return argument.__dlpack__(**keywords)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise LaunchError(f"does not give its elements by DLPack: {error}") from error


def _described(tensor: _Tensor, writeable: bool, capsule: object) -> Exported:
    device = int(tensor.device_type)
    if device not in (CPU, CUDA, CUDA_HOST, CUDA_MANAGED):
        raise LaunchError(f"lies on a device of DLPack type {device}, which is neither a CPU nor a CUDA GPU")
    dtype = _CODES.get((int(tensor.code), int(tensor.bits))) if tensor.lanes == 1 else None
    if dtype is None:
        raise LaunchError(
            f"has elements of DLPack type code {tensor.code} with {tensor.bits} bits in {tensor.lanes} lanes, "
            "which no tensor here has"
        )
    count = int(tensor.ndim)
    strides = tuple(int(tensor.strides[d]) for d in range(count)) if tensor.strides else None
    return Exported(
        dtype,
        int(tensor.bits),
        tuple(int(tensor.shape[d]) for d in range(count)),
        strides,
        (tensor.data or 0) + int(tensor.byte_offset),
        device in (CUDA, CUDA_MANAGED),
        int(tensor.device_id) if device == CUDA else None,
        writeable,
        capsule,
    )


def _is(capsule: object, name: bytes) -> bool:
    valid = ctypes.pythonapi.PyCapsule_IsValid
    valid.restype, valid.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)
    return bool(valid(capsule, name))


def _pointer(capsule: object, name: bytes) -> int:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return int(pointer(capsule, name))
