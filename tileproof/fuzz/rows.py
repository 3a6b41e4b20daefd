"""What a campaign is made of: chunks of numbered views, and one row for each view looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tileproof.fuzz.generate.choices import Choices

STRIDE = 1 << 40
"""Campaigns of different seeds share no view."""


@dataclass(frozen=True, order=True)
class Chunk:
    """Views ``first`` to ``first + views - 1`` of a family; each follows from family, seed and number alone."""

    family: str
    seed: int
    first: int
    views: int

    @property
    def numbers(self) -> range:
        return range(self.first, self.first + self.views)


def choices_of(seed: int, number: int, *, legal: bool = False) -> Choices:
    """The choices from which view ``number`` of a campaign is made; ``legal`` ones break nothing on purpose."""
    return Choices.seeded(seed * STRIDE + number, legal=legal)


@dataclass(frozen=True)
class Row:
    """One view.

    ``verdict`` is the library's word, or ``refused`` (there is no such view), ``unreachable``, ``raised`` (an
    exception that is no answer) or ``died`` (every process that looked at the view ended). ``refuted``,
    ``hazards`` and ``undecided`` are obligations. ``executed`` says what was run: ``emitted`` code of a
    proof, ``addresses`` of a refused view, or nothing, an empty text. ``result`` is ``agreed``, ``differs``
    (memory or registers are not what the layout says), ``trapped: ...``, or, for a proved view of which nothing
    is run, ``not emitted: ...`` or ``not executed: ...``. ``faults`` are disagreements; a view with none is in
    order. ``milliseconds`` maps a stage to its time.
    """

    family: str
    seed: int
    number: int
    opcode: str
    scope: str
    verdict: str
    refuted: tuple[str, ...] = ()
    hazards: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    executed: str = ""
    result: str = ""
    faults: tuple[str, ...] = ()
    milliseconds: Mapping[str, float] = field(default_factory=dict)
    device: str = ""


@dataclass(frozen=True, order=True)
class Tally:
    """How many views had one verdict, where there are too many for a row each.

    ``refuted`` are the demands that fail, in alphabetical order. ``executed`` is as in :class:`Row`, or ``map``
    for views that were held against a recorded map.
    """

    family: str
    opcode: str
    verdict: str
    refuted: tuple[str, ...]
    views: int
    executed: str = ""


Looked = Sequence[Row | Tally]
"""What is known of a chunk: a row for each view, in order; or tallies of them all, and rows of views of interest."""


class Runner(Protocol):
    """Looks at views, in as many processes as it likes. Results do not depend on how many, nor on the order."""

    def run(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Looked]]:
        """Each chunk with what is known of it, as soon as it is finished, in any order."""
        ...

    def close(self) -> None:
        """Give back processes and devices."""
        ...
