from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from tileproof.emit.arguments import SCALAR_TYPES, pack
from tileproof.errors import LaunchError


class OnDevice:
    def __init__(self, address: int | None) -> None:
        self.__cuda_array_interface__ = {
            "data": (address, False),
            "shape": (4,),
            "typestr": "<f4",
            "version": 3,
        }


class NeedsGradient:
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        raise RuntimeError("use detach()")


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ((-1, "s8"), b"\xff"),
        ((255, "u8"), b"\xff"),
        ((-128, "b8"), b"\x80"),
        ((-2, "s16"), b"\xfe\xff"),
        ((0x1234, "b16"), b"\x34\x12"),
        ((-(2**31), "s32"), b"\x00\x00\x00\x80"),
        ((2**32 - 1, "u32"), b"\xff\xff\xff\xff"),
        ((np.int64(7), "s32"), b"\x07\x00\x00\x00"),
        ((-1, "b64"), b"\xff" * 8),
        ((2**63 - 1, "s64"), b"\xff" * 7 + b"\x7f"),
        ((2**64 - 1, "u64"), b"\xff" * 8),
        ((1.5, "f16"), b"\x00\x3e"),
        ((1.5, "f32"), struct.pack("<f", 1.5)),
        ((2, "f64"), struct.pack("<d", 2.0)),
        ((float("inf"), "f32"), b"\x00\x00\x80\x7f"),
        (np.int16(-2), b"\xfe\xff"),
        (np.float32(1.5), struct.pack("<f", 1.5)),
        (b"\x01\x02\x03", b"\x01\x02\x03"),
        (OnDevice(0x1000), b"\x00\x10" + bytes(6)),
        (OnDevice(None), bytes(8)),
    ],
)
def test_the_bytes_of_a_value(argument: Any, expected: bytes) -> None:
    (packed,) = pack([argument])
    assert packed.host is None
    assert packed.value == expected
    assert packed.size == len(expected)
    assert packed.on_device == isinstance(argument, OnDevice)


@pytest.mark.parametrize("ptx_type", SCALAR_TYPES)
def test_a_scalar_is_as_wide_as_its_type(ptx_type: str) -> None:
    (packed,) = pack([(1, ptx_type)])
    assert packed.size * 8 == int(ptx_type[1:])


BOUNDS = [
    ("s8", -128, 127),
    ("u8", 0, 255),
    ("b8", -128, 255),
    ("s32", -(2**31), 2**31 - 1),
    ("u32", 0, 2**32 - 1),
]
BOUNDS += [("b32", -(2**31), 2**32 - 1), ("s64", -(2**63), 2**63 - 1), ("u64", 0, 2**64 - 1)]


@pytest.mark.parametrize(("ptx_type", "low", "high"), BOUNDS)
def test_an_integer_must_fit_its_type(ptx_type: str, low: int, high: int) -> None:
    assert len(pack([(low, ptx_type), (high, ptx_type)])) == 2
    for value in (low - 1, high + 1):
        with pytest.raises(LaunchError, match=f"{value}; {ptx_type} holds integers from {low} to {high}"):
            pack([(value, ptx_type)])


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (5, r"bare number 5.*\(5, 's32'\)"),
        (2.5, r"bare number 2.5.*\(2.5, 'f32'\)"),
        ((5, "i32"), "'i32'; needed is one of s8, s16"),
        ((1.5, "s32"), "1.5; s32 holds integers"),
        ((1e39, "f32"), "f32 cannot hold"),
        ((70000.0, "f16"), "f16 cannot hold"),
        (("1", "f32"), "f32 cannot hold"),
        ((1, 2, 3), "is a tuple; needed is a NumPy array"),
        ([1, 2], "is a list; needed is a NumPy array"),
        (None, "is a NoneType"),
        (np.datetime64(0, "s"), "dtype datetime64"),
        (np.array([object()]), "Python objects"),
        (np.zeros(4, ">i4" if np.little_endian else "<i4"), "byte order"),
        (np.zeros((4, 4))[:, ::2], r"strides \(32, 16\).*ascontiguousarray"),
        (np.zeros((4, 4), order="F")[:, :2], "C-contiguous"),
        (NeedsGradient(), "does not give its device pointer: use detach"),
    ],
)
def test_what_is_refused(argument: Any, message: str) -> None:
    with pytest.raises(LaunchError, match=f"^argument 1 .*{message}"):
        pack([(0, "u8"), argument])


def test_arrays_are_kept_and_not_copied() -> None:
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    (packed,) = pack([array])
    assert packed.host is array
    assert packed.size == 8
    assert packed.span == (array.ctypes.data, array.ctypes.data + 12)


def test_arrays_may_be_equal_or_apart_but_not_overlap() -> None:
    array = np.zeros(8, np.int32)
    assert len(pack([array, array, array[:], array[:0]])) == 4
    assert len(pack([array[:4], array[4:]])) == 2
    for one, other in ((array, array[4:]), (array[:5], array[4:])):
        with pytest.raises(LaunchError, match=r"argument 0 .* and argument 1 .* overlap in host memory"):
            pack([one, other])
