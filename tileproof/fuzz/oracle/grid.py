"""Everything that varies, laid out along the axes of broadcastable arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from tileproof.fuzz.oracle.description import Call


def along(values: Any, axis: int, ndim: int) -> Any:
    """The values along one axis of ``ndim``."""
    shape = [1] * ndim
    shape[axis] = -1
    return np.asarray(values, dtype=np.int64).reshape(shape)


def symbol_grid(call: Call, extra: int) -> dict[str, Any]:
    """The values of each symbol, along the first axes; ``extra`` axes follow them."""
    ndim = len(call.symbols) + extra
    return {s.name: along(s.values, d, ndim) for d, s in enumerate(call.symbols)}
