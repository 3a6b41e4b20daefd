"""Contents by which a byte is known again: each 32-bit word is a hash of its number.

The hash is a bijection, so no two words of a tagged region are equal, and both NumPy and a kernel compute it with one
multiplication (Knuth's multiplicative hashing; the factor is the odd number nearest 2**32 over the golden ratio).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

FACTOR = 0x9E3779B1

POISON = 0xA5
"""What each byte of a dump holds before a kernel writes it."""


def words(numbers: Any) -> npt.NDArray[np.uint32]:
    """The tag of each word number, as an array of the same shape. Zero is no number's tag from 0 to 2**32 - 2."""
    return ((np.asarray(numbers, np.uint64) + 1) * FACTOR).astype(np.uint32)


def region(size: int) -> npt.NDArray[np.uint8]:
    """``size`` tagged bytes; word ``n`` starts at byte ``4*n``, least significant byte first, as on the GPU."""
    return words(np.arange(-(-size // 4))).view(np.uint8)[:size]
