"""Hypothesis strategies of random calls, views and kernels. All of them shrink to plain legal ones."""

from __future__ import annotations

from hypothesis import currently_in_test_context, note, reject
from hypothesis import strategies as st

import tileproof as tp
from tileproof.errors import CallError, LayoutError, TileproofError
from tileproof.fuzz import build
from tileproof.fuzz.example import Example
from tileproof.fuzz.families import generate, mnemonics
from tileproof.fuzz.generate.choices import Choices
from tileproof.fuzz.generate.views import SPACES, WIDTHS, random_view
from tileproof.fuzz.oracle.description import Call
from tileproof.layouts.view import View


class _Drawn(Choices):
    """Choices that Hypothesis makes, and makes plainer when it shrinks."""

    def chance(self, percent: int) -> bool:
        """What is unusual draws more than what is plain, as shrinking takes a longer sequence to be the worse one."""
        unusual = super().chance(percent)
        for _ in range(PADDING if unusual else 0):
            self.below(2)
        return unusual


PADDING = 3


def _drawn(draw: st.DrawFn) -> Choices:
    return _Drawn(lambda n: draw(st.integers(0, n - 1)))


@st.composite
def described(draw: st.DrawFn, family: str) -> Call:
    """Descriptions of calls of an instruction, whether or not the library makes such views."""
    return generate(family, _drawn(draw))


def calls(family: str | None = None, *, legal: bool | None = None) -> st.SearchStrategy[Example]:
    """Calls of an instruction such as ``"ldmatrix"``, or of any: about two thirds legal, the others wrong in one or
    two ways.

    With ``legal`` they are all one or the other, by brute force. Every one has a report: impossible views are
    left out, and calls that no thread reaches.
    """
    _demand_family(family)
    return _examples(family, legal)


@st.composite
def _examples(draw: st.DrawFn, family: str | None, legal: bool | None) -> Example:
    chosen = family or draw(st.sampled_from(sorted(mnemonics())))
    example = Example(generate(chosen, _drawn(draw)))
    outcome = example.outcome
    impossible = outcome.unbuildable is not None or outcome.unreachable
    if impossible or legal not in (None, example.legal) or not example.exists:
        reject()
    return example


def views(space: str | None = None, bits: int | None = None) -> st.SearchStrategy[View]:
    """Views of tensors with all that layouts have: gaps, permutations, swizzles, replicas, symbolic starts, elements
    read as wider ones.

    ``space`` is a state space, ``bits`` the width of an element; both vary if they are not given.
    """
    for what, given, known in (("space", space, SPACES), ("bits", bits, WIDTHS)):
        if given is not None and given not in known:
            raise CallError(f"views: {what} is one of {', '.join(map(str, known))}, got {given!r}")
    return _views(space, bits)


@st.composite
def _views(draw: st.DrawFn, space: str | None, bits: int | None) -> View:
    chosen = space or draw(st.sampled_from(SPACES))
    operand, symbols = random_view(chosen, bits or draw(st.sampled_from(WIDTHS)), _drawn(draw))
    if not operand.buildable:
        reject()
    try:
        return build.view(operand, build.made_symbols(symbols)).as_view()
    except LayoutError:
        reject()


def kernels(family: str | None = None) -> st.SearchStrategy[tp.Kernel]:
    """Kernels of one proven call, under a guard or not, whose PTX is written.

    The call of a failing example is noted beside it.
    """
    _demand_family(family)
    return _kernels(family)


@st.composite
def _kernels(draw: st.DrawFn, family: str | None) -> tp.Kernel:
    example = draw(_examples(family, True))
    try:
        made = example.kernel()
    except TileproofError:  # what no kernel declares, or no register can be, is not meant here
        reject()
    if currently_in_test_context():
        note(repr(example))
    return made


def _demand_family(family: str | None) -> None:
    if family is not None and family not in mnemonics():
        raise CallError(f"no calls of {family!r} are made up; there are calls of {', '.join(mnemonics())}")
