"""Verdicts, findings and counterexamples: what a check answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from tileproof.contracts.obligation import Obligation
from tileproof.layouts.index import Relation, truth
from tileproof.layouts.leaf import Leaf


class Verdict(Enum):
    """Never a truth value: an answer that is not ``PROVED`` may be any of three different things."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNDECIDED = "undecided"
    UNSUPPORTED = "unsupported"

    def __bool__(self) -> bool:
        raise TypeError("a verdict is not a truth value: compare it, as in report.verdict is Verdict.PROVED")


@dataclass(frozen=True)
class Counterexample:
    """One point where a demand fails, replayed with plain integers.

    ``values`` maps each variable's label to its value, ``kinds`` to what it is (symbol, thread, group,
    repeat, element, base). ``lane``, ``warp``, ``repeat`` and ``element`` are what the report prints of it;
    ``byte_address`` is relative to the start of ``storage``, in bytes, with ``base`` the assumed address of
    its start.
    """

    values: Mapping[str, int]
    kinds: Mapping[str, str]
    needed: str
    found: str
    lane: int | None
    warp: int | None
    repeat: tuple[int, ...]
    element: Mapping[str, int]
    storage: str | None
    base: int | None
    byte_address: int | None
    slot: int | None
    point: Mapping[Leaf, int] = field(default_factory=dict, repr=False)

    @property
    def symbols(self) -> dict[str, int]:
        """The values of the caller's symbols."""
        return {name: v for name, v in self.values.items() if self.kinds[name] == "symbol"}


@dataclass(frozen=True, eq=False)
class Finding:
    """What became of one obligation, by which method, with its counterexample or the reason for no answer.

    ``resources`` counts the solver's own units; without a solver it is zero.
    """

    obligation: Obligation
    verdict: Verdict
    method: str
    counterexample: Counterexample | None = None
    reason: str = ""
    resources: int = 0
    premise: Relation = field(default_factory=lambda: truth(True), repr=False)

    @cached_property
    def nearby(self) -> str:
        """What would mend the failure at its point: the nearest value of a symbol, or an alignment; else empty."""
        if self.counterexample is None or not self.counterexample.point:
            return ""
        from tileproof.proofs.repair import suggestion

        return suggestion(self.premise, self.obligation.claim, dict(self.counterexample.point))
