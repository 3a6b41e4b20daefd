"""Whether stores of equal width meet, from the offsets at which they start."""

from __future__ import annotations

from typing import Any

import numpy as np


def collides(there: Any, words: Any, width: int) -> bool:
    """Whether two entries of one row overlap."""
    far = int(words.max()) + width if words.size else 0
    unused = far + np.arange(words.shape[-1]) * width
    rows = np.sort(np.where(there, words, unused), axis=-1)
    return bool((rows[..., 1:] - rows[..., :-1] < width).any())


def crosses(there: Any, words: Any, width: int, *, narrow: bool) -> bool:
    """Whether entries of two threads (``narrow``) or warps overlap for some values that each of them may
    have.
    """
    for mask, offsets in zip(there, words, strict=True):
        thread = np.arange(offsets.shape[1]).reshape(1, -1, 1)
        if narrow:
            thread = thread * offsets.shape[2] + np.arange(offsets.shape[2]).reshape(1, 1, -1)
        thread = np.broadcast_to(thread.reshape(*thread.shape, *[1] * (offsets.ndim - 3)), offsets.shape)
        pairs = np.unique(np.stack([offsets[mask], thread[mask]], axis=-1), axis=0)
        for step in range(1, min(len(pairs), 600)):
            near = pairs[step:, 0] - pairs[:-step, 0] < width
            if (near & (pairs[step:, 1] != pairs[:-step, 1])).any():
                return True
            if not near.any():
                break
    return False
