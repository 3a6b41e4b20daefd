"""The generator as Hypothesis strategies, which shrink to plain legal calls."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.oracle.choices import Choices
from tests.oracle.description import Call
from tests.oracle.generate import generate


@st.composite
def calls(draw: st.DrawFn, family: str) -> Call:
    """Calls of ``ld``, ``st``, ``ldmatrix`` or ``stmatrix``."""
    return generate(family, Choices(lambda n: draw(st.integers(0, n - 1))))
