"""PTX scalar types: width, interpretation, and the NumPy type that holds their values (ISA 5.2, fundamental
types).

A register is stored as its bits (an unsigned integer array, one entry per thread); an instruction's type
says how those bits are read. Three types have no NumPy number behind them and stay bits: `.bf16`, the packed
pairs (`.f16x2`, ...) and `.b128`, which is two 64-bit words in the last axis, low word first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Kind = Literal["b", "u", "s", "f", "p"]


@dataclass(frozen=True, slots=True)
class ScalarType:
    """One type word of PTX; its kind is untyped bits, unsigned, signed, floating point or predicate."""

    name: str
    bits: int
    kind: Kind
    dtype: np.dtype[Any]

    @property
    def bytes(self) -> int:
        return self.bits // 8

    @property
    def is_integer(self) -> bool:
        return self.kind in "us"

    @property
    def storage(self) -> np.dtype[Any]:
        """The unsigned type that holds the bits (of one word, for 128-bit types)."""
        return np.dtype(bool) if self.kind == "p" else np.dtype(f"u{min(self.bytes, 8)}")

    def __str__(self) -> str:
        return f".{self.name}"


def _table() -> dict[str, ScalarType]:
    found = [ScalarType("pred", 1, "p", np.dtype(bool)), ScalarType("b128", 128, "b", np.dtype(np.uint64))]
    for bits in (8, 16, 32, 64):
        found.append(ScalarType(f"b{bits}", bits, "b", np.dtype(f"u{bits // 8}")))
        found.append(ScalarType(f"u{bits}", bits, "u", np.dtype(f"u{bits // 8}")))
        found.append(ScalarType(f"s{bits}", bits, "s", np.dtype(f"i{bits // 8}")))
    found += [ScalarType(f"f{bits}", bits, "f", np.dtype(f"f{bits // 8}")) for bits in (16, 32, 64)]
    found.append(ScalarType("bf16", 16, "f", np.dtype(np.uint16)))
    found.append(ScalarType("tf32", 32, "f", np.dtype(np.uint32)))
    found += [ScalarType(name, 32, "f", np.dtype(np.uint32)) for name in ("f16x2", "bf16x2")]
    found.append(ScalarType("f32x2", 64, "f", np.dtype(np.uint64)))
    found += [
        ScalarType("u16x2", 32, "u", np.dtype(np.uint32)),
        ScalarType("s16x2", 32, "s", np.dtype(np.uint32)),
    ]
    return {scalar.name: scalar for scalar in found}


TYPES = _table()

PRED, B128 = TYPES["pred"], TYPES["b128"]
B8, B16, B32, B64 = (TYPES[f"b{bits}"] for bits in (8, 16, 32, 64))
U8, U16, U32, U64 = (TYPES[f"u{bits}"] for bits in (8, 16, 32, 64))
S8, S16, S32, S64 = (TYPES[f"s{bits}"] for bits in (8, 16, 32, 64))
F16, F32, F64, BF16, TF32 = (TYPES[name] for name in ("f16", "f32", "f64", "bf16", "tf32"))
F16X2, BF16X2, F32X2 = (TYPES[name] for name in ("f16x2", "bf16x2", "f32x2"))

PACKED = {"f16x2": F16, "bf16x2": BF16, "f32x2": F32, "u16x2": U16, "s16x2": S16}
"""Packed pair -> type of each half; the first half is the low one."""


def unsigned(bits: int) -> ScalarType:
    """The `.uN` of a width, for reading addresses and counts."""
    return TYPES[f"u{bits}"]


def untyped(bits: int) -> ScalarType:
    """The `.bN` of a width."""
    return TYPES[f"b{bits}"]


def to_bits(values: Array, scalar: ScalarType) -> Array:
    """Values of a type -> the bits a register of that width holds, in the same shape."""
    if scalar.kind == "p":
        return values.astype(bool, copy=False)
    return np.ascontiguousarray(values.astype(scalar.dtype, copy=False)).view(scalar.storage)


def resize_bits(bits: Array, source: ScalarType, target_bits: int) -> Array:
    """Bits of a `source` value -> bits of a register of `target_bits`: chopped, or extended (sign-extended
    for `.sN`).

    ISA 9.4.1, operand size exceeding instruction-type size.
    """
    if source.bits == target_bits or source.kind == "p":
        return bits
    if source.bits == 128:
        return resize_bits(bits[:, 0], B64, target_bits)
    narrow = bits.view(f"i{source.bytes}") if source.kind == "s" else bits
    if target_bits == 128:
        low = narrow.astype(np.int64 if source.kind == "s" else np.uint64)
        high = low >> 63 if source.kind == "s" else np.zeros_like(low)
        return np.stack([low, high], axis=-1).view(np.uint64)
    wide = narrow.astype(f"{'i' if source.kind == 's' else 'u'}{target_bits // 8}")
    return wide.view(f"u{target_bits // 8}")
