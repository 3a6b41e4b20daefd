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
        threads = int(thread.max()) + 1 if thread.size else 1
        # One number for both sorts many times faster than pairs.
        found = np.unique(offsets[mask] * threads + thread[mask])
        offset, owner = found // threads, found % threads
        for step in range(1, min(len(found), 600)):
            near = offset[step:] - offset[:-step] < width
            if (near & (owner[step:] != owner[:-step])).any():
                return True
            if not near.any():
                break
    return False
