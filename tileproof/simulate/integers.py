"""Integer operations that NumPy lacks or defines differently; operands and results are arrays of one
fixed-width type.
"""

from __future__ import annotations

import numpy as np

from tileproof.simulate.scalars import Array, ScalarType, unsigned


def double_product(a: Array, b: Array, kind: ScalarType) -> tuple[Array, Array]:
    """The low and high halves of the product of full width, both in `kind.dtype`."""
    if kind.bits < 64:
        wide = np.int64 if kind.kind == "s" else np.uint64
        product = a.astype(wide) * b.astype(wide)
        half = unsigned(kind.bits).dtype
        return product.astype(half).view(kind.dtype), (product >> wide(kind.bits)).astype(half).view(
            kind.dtype
        )
    x, y = a.view(np.uint64), b.view(np.uint64)
    shift, mask = np.uint64(32), np.uint64(0xFFFF_FFFF)
    x0, x1, y0, y1 = x & mask, x >> shift, y & mask, y >> shift
    middle = x1 * y0 + (x0 * y0 >> shift)
    other = x0 * y1 + (middle & mask)
    high = x1 * y1 + (middle >> shift) + (other >> shift)
    if kind.kind == "s":
        # The unsigned product counts 2**64 * b too much for a negative a, and likewise for b.
        high = high - np.where(a < 0, y, np.uint64(0)) - np.where(b < 0, x, np.uint64(0))
    return (x * y).view(kind.dtype), high.view(kind.dtype)


def magnitude(values: Array, kind: ScalarType) -> Array:
    """Absolute values as unsigned, so that the most negative number has one."""
    bits = values.view(unsigned(kind.bits).dtype)
    return np.where(values < 0, bits.dtype.type(0) - bits, bits) if kind.kind == "s" else bits


def divide(a: Array, b: Array, kind: ScalarType) -> tuple[Array, Array]:
    """Quotient truncated toward zero and the remainder with the sign of `a`; `b` must not hold zeros.

    The ISA leaves the rounding of negative quotients to the machine (9.7.1.9); ptxas generates code that
    truncates.
    """
    up, down = magnitude(a, kind), magnitude(b, kind)
    quotient, rest = up // down, up % down
    zero = quotient.dtype.type(0)
    if kind.kind == "s":
        quotient = np.where((a < 0) != (b < 0), zero - quotient, quotient)
        rest = np.where(a < 0, zero - rest, rest)
    return quotient.view(kind.dtype), rest.view(kind.dtype)


def saturating(wide: Array, kind: ScalarType) -> Array:
    """64-bit signed results -> the nearest value of a narrower type."""
    limits = np.iinfo(kind.dtype)
    found: Array = np.clip(wide, limits.min, limits.max).astype(kind.dtype)
    return found


def shift_left(values: Array, amounts: Array) -> Array:
    """Amounts (u32) of the width and more shift everything out (ISA 9.7.8.8, shl)."""
    bits = values.dtype.itemsize * 8
    inside = np.minimum(amounts, bits - 1).astype(values.dtype)
    shifted: Array = np.where(amounts >= bits, values.dtype.type(0), values << inside)
    return shifted


def shift_right(values: Array, amounts: Array) -> Array:
    """Amounts (u32) of the width and more leave zeros, or the sign of signed values (ISA 9.7.8.9, shr)."""
    bits = values.dtype.itemsize * 8
    inside = np.minimum(amounts, bits - 1).astype(values.dtype)
    gone = (amounts >= bits) & (values.dtype.kind == "u")
    shifted: Array = np.where(gone, values.dtype.type(0), values >> inside)
    return shifted


def population(values: Array) -> Array:
    """The number of bits that are set."""
    found: Array = np.bitwise_count(values.view(f"u{values.dtype.itemsize}")).astype(np.uint32)
    return found


def reverse(values: Array) -> Array:
    """Bit 0 becomes the highest bit, and so on."""
    octets = np.ascontiguousarray(values).view(np.uint8).reshape(values.size, -1)
    flipped = np.packbits(np.unpackbits(octets, axis=1)[:, ::-1], axis=1)
    return np.ascontiguousarray(flipped).view(values.dtype).reshape(values.shape)


def leading_zeros(values: Array) -> Array:
    """Zeros above the highest set bit; the width for 0."""
    bits = values.view(f"u{values.dtype.itemsize}").copy()
    width = values.dtype.itemsize * 8
    step = 1
    while step < width:
        bits |= bits >> bits.dtype.type(step)
        step *= 2
    found: Array = (width - population(bits)).astype(np.uint32)
    return found
