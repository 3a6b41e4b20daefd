"""Swizzles: permutations of offsets that XOR some higher bits into lower ones.

Both usual parametrisations name the same map. With ``base``, ``bits`` and ``shift``,

    offset  ->  offset ^ ((offset >> (base + shift)) & (2**bits - 1)) << base

which the contract reference writes ``(per_element, swizzle_len, atom_len) = (base, bits, shift)`` and CuTe
writes ``Swizzle<bits, base, shift>``. A swizzle is meant in some unit: elements of the tensor, or bytes. The
byte form ``Swizzle<3,4,3>`` of the 128-byte mode is ``Swizzle<3,2,3>`` for four-byte elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tileproof.errors import LayoutError
from tileproof.layouts.index import Index, IndexLike, as_index, bitwise, const


@dataclass(frozen=True)
class Swizzle:
    """``bits`` address bits from ``base + shift`` upwards are XORed into the bits from ``base`` upwards."""

    bits: int
    base: int
    shift: int
    unit: Literal["element", "byte"] = "element"

    def __post_init__(self) -> None:
        if self.bits < 0 or self.base < 0 or abs(self.shift) < self.bits:
            raise LayoutError(
                f"no such swizzle: bits={self.bits} and base={self.base} must not be negative and "
                f"|shift|={abs(self.shift)} must be at least bits, or the map would not be a permutation"
            )
        if self.unit not in ("element", "byte"):
            raise LayoutError(f"a swizzle's unit is 'element' or 'byte', got {self.unit!r}")

    @classmethod
    def from_reference(cls, per_element: int, swizzle_len: int, atom_len: int) -> Swizzle:
        """The reference's ``(per_element, swizzle_len, atom_len)``, in elements."""
        return cls(swizzle_len, per_element, atom_len)

    @property
    def period(self) -> int:
        """Offsets that differ by a multiple of this keep differing by it."""
        return 1 << (self.base + self.bits + abs(self.shift))

    def in_elements(self, element_bits: int) -> Swizzle:
        """The same permutation in units of elements of ``element_bits`` bits."""
        if self.unit == "element" or self.bits == 0:
            return self if self.unit == "element" else Swizzle(0, 0, 0)
        piece, rest = divmod(8 << self.base, element_bits)
        if rest or piece & (piece - 1):
            raise LayoutError(
                f"{self} permutes pieces of {1 << self.base} bytes, which {element_bits}-bit elements do not fill "
                "by a power of two"
            )
        return Swizzle(self.bits, piece.bit_length() - 1, self.shift)

    def apply(self, offset: IndexLike) -> Index:
        """Where ``offset`` (in this swizzle's unit) is stored."""
        value = as_index(offset)
        if self.bits == 0:
            return value
        up, down = self.base + max(self.shift, 0), self.base + max(-self.shift, 0)
        picked = value // (1 << up) % (1 << self.bits) * (1 << down)
        return bitwise("xor", value, picked if self.bits else const(0))

    def __str__(self) -> str:
        return f"Swizzle<{self.bits},{self.base},{self.shift}>" + (
            "" if self.unit == "element" else " in bytes"
        )
