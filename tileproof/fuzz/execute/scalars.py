"""The bits of operands that stand in no tensor: numbers, typed scalars, indices."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any
from zlib import crc32

import numpy as np

from tileproof.fuzz.execute.masks import mask
from tileproof.fuzz.execute.points import Points
from tileproof.fuzz.execute.tags import words
from tileproof.fuzz.generate.spellings import bits_of
from tileproof.fuzz.oracle.description import Operand, Scalar
from tileproof.fuzz.oracle.terms import value

_FORMATS = {"f16": ("<e", "<H"), "f32": ("<f", "<I"), "f64": ("<d", "<Q")}


def pattern(name: str, bits: int) -> int:
    """Tags of a name."""
    first = crc32(name.encode()) % (1 << 20)
    low, high = (int(words(first + n)) for n in (0, 1))
    return (high << 32 | low) & (1 << bits) - 1


def encoded(number: float, type_: str) -> int:
    """The bits of a number that is a value of a PTX type; of ``bf16`` those of the upper half of an ``f32``."""
    if type_ == "bf16":
        return encoded(number, "f32") >> 16
    made, read = _FORMATS[type_]
    return int(struct.unpack(read, struct.pack(made, number))[0])


def scalar_bits(name: str, type_: str) -> int:
    """The bits of a typed scalar of a PTX type, which is an ordinary number if it is a float."""
    bits, ordinary = pattern(name, bits_of(type_)), mask(type_, "small")
    return bits if ordinary is None else bits & ordinary.keep | ordinary.put


def held(given: Iterable[tuple[str, Operand | Scalar]]) -> dict[str, int]:
    """The bits of the typed scalars among operands, which come with their PTX types; by name."""
    return {
        str(one.value): scalar_bits(one.value, type_)
        for type_, one in given
        if isinstance(one, Scalar) and one.kind == "variable"
    }


def bits_given(given: Scalar, type_: str, points: Points, held: Mapping[str, int]) -> Any:
    """What the instruction reads at each point, in unsigned 64-bit integers."""
    if given.kind == "index":
        bits: Any = np.asarray(value(given.value, points.known), np.int64).view(np.uint64)
        return bits
    if given.kind == "variable":
        return np.asarray(held[given.value], np.uint64)
    is_float = type_ in (*_FORMATS, "bf16")
    number = encoded(given.value, type_) if is_float else int(given.value) % (1 << 64)
    return np.asarray(number, np.uint64)


def unsigned(bits: Any, width: int) -> Any:
    """The lowest bytes, as unsigned integers of that width."""
    return bits.astype(f"u{width}")
