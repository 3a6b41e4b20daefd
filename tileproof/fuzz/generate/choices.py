"""Choices as a sequence of small numbers, so that whatever is generated from them can be replayed and made
smaller.

Zero is the plainest choice everywhere; a sequence that ends goes on with zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """Draws numbers from ``source(n)``, which answers 0 to ``n - 1``, and remembers them.

    ``legal`` leaves out the changes that are there to break a call; most calls are legal then.
    """

    def __init__(self, source: Callable[[int], int], *, legal: bool = False) -> None:
        self._source, self.legal = source, legal
        self.drawn: list[int] = []

    @classmethod
    def seeded(cls, seed: int, *, legal: bool = False) -> Choices:
        random = Random(seed)  # noqa: S311 - a seed has to give the same views again
        return cls(lambda n: int(random.random() * n), legal=legal)

    @classmethod
    def replayed(cls, sequence: Sequence[int]) -> Choices:
        left = iter(sequence)
        return cls(lambda n: min(next(left, 0), n - 1))

    def below(self, n: int) -> int:
        number = self._source(n)
        self.drawn.append(number)
        return number

    def between(self, lo: int, hi: int) -> int:
        return lo + self.below(hi - lo + 1)

    def among(self, *items: T) -> T:
        return items[self.below(len(items))]

    def chance(self, percent: int) -> bool:
        """True in ``percent`` of a hundred cases; the plainest answer is no."""
        return self.below(100) >= 100 - percent

    def spoil(self, percent: int) -> bool:
        """A chance of breaking something; never with legal choices."""
        return not self.legal and self.chance(percent)

    def order(self, n: int) -> list[int]:
        """A permutation of ``0 .. n-1``; the plainest is the identity."""
        left = list(range(n))
        return [left.pop(self.below(len(left))) for _ in range(n)]


def smallest(
    sequence: Sequence[int], wanted: Callable[[Sequence[int]], bool], rounds: int = 2000
) -> list[int]:
    """A short sequence of small numbers that is still ``wanted``, found greedily within so many trials."""
    best = list(sequence)
    trials = 0

    def improved(candidate: list[int]) -> bool:
        nonlocal best, trials
        trials += 1
        if trials <= rounds and candidate != best and wanted(candidate):
            best = candidate
            return True
        return False

    progress = True
    while progress and trials < rounds:
        progress = False
        for length in (16, 8, 4, 2, 1):
            position = len(best) - length
            while position >= 0:
                if improved(best[:position] + best[position + length :]):
                    progress = True
                position -= 1
        for position in range(len(best)):
            for smaller in (0, best[position] // 2, best[position] - 1):
                if (
                    position < len(best)
                    and 0 <= smaller < best[position]
                    and improved([*best[:position], smaller, *best[position + 1 :]])
                ):
                    progress = True
    return best
