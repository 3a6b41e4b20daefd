"""The generator as Hypothesis strategies, which shrink to plain legal calls."""

from __future__ import annotations

from hypothesis import strategies as st

from tileproof.fuzz.families import generate
from tileproof.fuzz.generate.choices import Choices
from tileproof.fuzz.oracle.description import Call


@st.composite
def described(draw: st.DrawFn, family: str) -> Call:
    """Descriptions of calls of an instruction of :func:`tileproof.fuzz.families.mnemonics`."""
    return generate(family, Choices(lambda n: draw(st.integers(0, n - 1))))
