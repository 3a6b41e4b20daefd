"""What the random views of a family are like: how many are legal, and which demand refuses how many of the others."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tileproof.fuzz.families import generate, judge
from tileproof.fuzz.rows import choices_of


@dataclass
class Mix:
    """Counts over ``views`` views, by brute force. A view may break several demands.

    ``verdicts`` counts ``legal``, ``refused``, ``impossible`` (there is no such view) and ``unreachable`` (no
    thread executes it) ones; ``refused`` and ``hazards`` map a demand to how many views break it.
    """

    family: str
    views: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    hazards: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        def told(counts: Counter[str]) -> str:
            return ", ".join(f"{name} {100 * n / self.views:.1f} %" for name, n in counts.most_common())

        lines = [
            f"{self.family}, {self.views} views: {told(self.verdicts)}",
            f"  refused by {told(self.refused)}",
        ]
        return "\n".join([*lines, *([f"  hazards {told(self.hazards)}"] if self.hazards else [])])


def mix(family: str, views: int = 1000, seed: int = 0) -> Mix:
    """The mix of the first views of a campaign with this seed."""
    found = Mix(family)
    for number in range(views):
        outcome = judge(generate(family, choices_of(seed, number)))
        verdict = "refused" if outcome.failing else "legal"
        if outcome.unbuildable is not None:
            verdict = "impossible"
        elif outcome.unreachable:
            verdict = "unreachable"
        found.views += 1
        found.verdicts[verdict] += 1
        found.refused.update(list(outcome.failing))
        found.hazards.update(list(outcome.hazards))
    return found
