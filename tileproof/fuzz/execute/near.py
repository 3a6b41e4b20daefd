"""Floats that are as good as those expected: other NaNs, and approximations within their error."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tileproof.fuzz.execute.entry import Bytes, Expected, Near

WIDTHS = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}
"""Bytes of a float of a PTX type."""


def scalar_of(type_: str) -> str:
    """The type of a number, or of each half of a pair."""
    return type_.removesuffix("x2")


def numbers(dump: Bytes, at: npt.NDArray[np.int64], type_: str) -> npt.NDArray[np.float64]:
    """The floats of a flat dump at these numbers."""
    bits: Any = dump.view(f"u{WIDTHS[type_]}")[at]
    found = (bits.astype(np.uint32) << 16).view("f4") if type_ == "bf16" else bits.view(f"f{WIDTHS[type_]}")
    with np.errstate(invalid="ignore"):  # a signalling NaN
        return np.asarray(found, np.float64)


def settle(dump: Bytes, wanted: Bytes, near: Near) -> None:
    """Overwrite in a flat dump what is near enough with what is wanted."""
    found, right = (numbers(one, near.at, near.type) for one in (dump, wanted))
    with np.errstate(invalid="ignore", over="ignore"):
        least, most = np.minimum(np.abs(found), np.abs(right)), np.maximum(np.abs(found), np.abs(right))
        finite = np.isfinite(found) & np.isfinite(right)
        if near.relative:
            close = np.abs(found - right) <= near.relative * most + near.absolute
        else:
            # An exact result is zero or the least normal number, if it was flushed before or after rounding.
            close = (least == 0) & (most == near.absolute) & (np.signbit(found) == np.signbit(right))
        good = (np.isnan(found) & np.isnan(right)) | (finite & close)
    at = near.at[good]
    kind = f"u{WIDTHS[near.type]}"
    dump.view(kind)[at] = wanted.view(kind)[at]


def settled(dump: Bytes, wanted: Expected) -> Bytes:
    """The dump with what is near enough as it is expected."""
    if not wanted.near:
        return dump
    dump = dump.copy()
    for near in wanted.near:
        settle(dump.reshape(-1), wanted.dump.reshape(-1), near)
    return dump
