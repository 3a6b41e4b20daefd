"""Facts about one variable become its bounds.

``n >= 0``, ``n < 64`` and ``n % 4 == 0`` say the same as a symbol declared with these bounds and this
divisor. Reading them off first lets the normal form decide most guarded obligations. The facts themselves
stay premises: this only ever narrows the values that a proof has to cover to those that the premises allow
anyway.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import lcm

from tileproof.layouts.index import Index, Relation, leaf
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.normal import combine, decide, normal
from tileproof.layouts.traverse import remembered


def conjuncts(relation: Relation) -> list[Relation]:
    """The relations that a conjunction is made of."""
    return [r for a in relation.args for r in conjuncts(a)] if relation.op == "all" else [relation]


@remembered(Relation)
def sharpen(premise: Relation) -> Mapping[Leaf, Leaf]:
    """Narrower variables that the premise allows, for those of its variables where it says something plain."""
    narrowed: dict[Leaf, Leaf] = {}
    for fact in conjuncts(decide(premise)):
        negated = fact.op == "not"
        inner = fact.args[0] if negated else fact
        if inner.op not in ("lt", "eq"):
            continue
        difference = combine(normal(inner.args[0]), normal(inner.args[1]), -1)
        if len(difference.terms) != 1:
            continue
        ((atom, factor),) = difference.terms.items()
        c = difference.constant
        if atom.op == "leaf":
            variable: Leaf = atom.args[0]
            now = narrowed.get(variable, variable)
            if inner.op == "lt":
                # factor*x + c < 0, or its negation factor*x + c >= 0
                low, high = _half_line(factor, c, negated)
            elif not negated and c % factor == 0:
                low = high = -c // factor
            else:
                continue
            lo = now.lo if low is None else low if now.lo is None else max(now.lo, low)
            hi = now.hi if high is None else high if now.hi is None else min(now.hi, high)
            narrowed[variable] = _rounded(replace(now, lo=lo, hi=hi))
        elif inner.op == "eq" and not negated and c == 0 and atom.op == "mod":
            x, d = atom.args
            if x.op == "leaf" and d.op == "const":
                now = narrowed.get(x.args[0], x.args[0])
                narrowed[x.args[0]] = _rounded(replace(now, multiple_of=lcm(now.multiple_of, d.args[0])))
    return {v: n for v, n in narrowed.items() if n != v and not _empty(n)}


def _half_line(factor: int, c: int, negated: bool) -> tuple[int | None, int | None]:
    """The values of ``x`` with ``factor*x + c < 0``, or with ``>= 0`` when negated."""
    if negated:
        return (-(c // factor), None) if factor > 0 else (None, c // -factor)
    return (None, (-c - 1) // factor) if factor > 0 else (-((-c - 1) // -factor), None)


def _rounded(variable: Leaf) -> Leaf:
    step = variable.multiple_of
    lo = None if variable.lo is None else -(-variable.lo // step) * step
    hi = None if variable.hi is None else variable.hi // step * step
    return replace(variable, lo=lo, hi=hi)


def _empty(variable: Leaf) -> bool:
    return variable.lo is not None and variable.hi is not None and variable.lo > variable.hi


def as_replacement(narrowed: Mapping[Leaf, Leaf]) -> dict[Leaf, Index]:
    """The same as a substitution."""
    return {v: leaf(n) for v, n in narrowed.items()}
