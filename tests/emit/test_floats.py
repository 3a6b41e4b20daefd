"""Rounding of numbers to floating-point types, against NumPy and against exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileproof.emit.floats import bits, rounded

FLOATS = st.floats(allow_nan=False)


@given(FLOATS)
def test_half_single_and_double_round_as_numpy_does(value: float) -> None:
    with np.errstate(over="ignore"):
        for dtype in (np.float16, np.float32, np.float64):
            expected = dtype(value)
            name = np.dtype(dtype).name
            assert float(expected) == rounded(value, name)
            assert expected.tobytes() == bits(value, name).tobytes()


def brain(pattern: int) -> float:
    return float(np.uint32(pattern << 16).view(np.float32))


@given(st.integers(0, 0x7F7E), st.fractions(0, 1))
def test_brain_floats_round_to_the_nearer_neighbour(low: int, part: Fraction) -> None:
    """Between two neighbours, whose patterns are consecutive integers."""
    a, b = Fraction(brain(low)), Fraction(brain(low + 1))
    value = float(a + (b - a) * part)
    exact, middle = Fraction(value), (a + b) / 2
    expected = low if exact < middle or (exact == middle and low % 2 == 0) else low + 1
    assert int(bits(value, "bfloat16")) == expected
    assert int(bits(-value, "bfloat16")) == expected | 0x8000


@pytest.mark.parametrize(
    ("value", "pattern"),
    [(0.0, 0), (-0.0, 0x8000), (inf, 0x7F80), (-inf, 0xFF80), (3.3895313892515355e38, 0x7F7F),
     (3.3961775292304957e38, 0x7F80), (1e39, 0x7F80)],
)  # fmt: skip
def test_ends_of_brain_floats(value: float, pattern: int) -> None:
    """The last number that still rounds to the greatest lies half a unit above it."""
    assert int(bits(value, "bfloat16")) == pattern


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_not_a_number_stays_so(dtype: str) -> None:
    assert isnan(rounded(nan, dtype))
    pattern = bits(nan, dtype)
    wide = np.uint32(int(pattern) << 16).view(np.float32) if dtype == "bfloat16" else pattern.view(dtype)
    assert np.isnan(wide)
