"""What would mend a failure: the nearest value of a symbol, or the least alignment of a base, that is legal.

A suggestion is about the reported point only. It is found by evaluating the demand near by, and it is never used as
a proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tileproof.layouts.evaluate import evaluate
from tileproof.layouts.index import Relation
from tileproof.layouts.leaf import Leaf

REACH = 512


def near(variable: Leaf, value: int) -> Iterator[int]:
    """Other allowed values of a variable, the nearest first and of two equally near the larger first."""
    step = variable.multiple_of
    for distance in range(step, REACH * step + 1, step):
        for candidate in (value + distance, value - distance):
            if (variable.lo is None or candidate >= variable.lo) and (
                variable.hi is None or candidate <= variable.hi
            ):
                yield candidate


def mended_symbol(premise: Relation, claim: Relation, values: dict[Leaf, int]) -> tuple[Leaf, int] | None:
    """The symbol that has to change least, with its nearest value at which premise and claim hold."""
    best: tuple[int, Leaf, int] | None = None
    for variable, value in values.items():
        if variable.kind != "symbol" or variable.copy:
            continue
        for candidate in near(variable, value):
            changed = {**values, variable: candidate}
            if evaluate(premise, changed) and evaluate(claim, changed):
                distance = abs(candidate - value)
                if best is None or distance < best[0]:
                    best = distance, variable, candidate
                break
    return None if best is None else (best[1], best[2])


def mended_alignment(claim: Relation, values: dict[Leaf, int]) -> tuple[Leaf, int] | None:
    """The base whose alignment is too small, with the least larger power of two at which the claim holds."""
    for base, value in values.items():
        if base.kind == "base" and value:
            for power in range(base.multiple_of.bit_length(), 11):
                aligned = replace(base, multiple_of=1 << power)
                if evaluate(claim, {**values, base: 0}) and evaluate(
                    claim, {**values, base: aligned.multiple_of}
                ):
                    return base, 1 << power
    return None


def suggestion(premise: Relation, claim: Relation, values: dict[Leaf, int]) -> str:
    """The suggestion as text, empty when nothing near by helps."""
    base = mended_alignment(claim, values)
    if base is not None:
        return f"{base[0].label} aligned to {base[1]} bytes"
    symbol = mended_symbol(premise, claim, values)
    return "" if symbol is None else f"{symbol[0].label} = {symbol[1]}"
