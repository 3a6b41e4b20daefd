"""Bounds for variables that have none, where a question leaves their other values without a say.

A question with products or bit operations is best asked in bit-vectors, and those need bounds. A variable
without them gets some for either of two reasons, each of which keeps the answer:

* **fact**: a premise compares the variable with a number. Beyond it the question has no points;
* **period**: the variable is only ever asked for its remainder modulo some number. One period has a value for
  each remainder.

Nothing else of the question changes, and the facts stay in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import lcm
from typing import Any

from tileproof.layouts.index import Relation, leaf
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.sharpen import conjuncts
from tileproof.layouts.traverse import leaves, substitute

EXACT = 0
"""The modulus of a number that is asked for itself."""


def bounded(relations: Iterable[Relation]) -> tuple[list[Relation], dict[Leaf, Leaf]]:
    """The relations with every variable bounded that a fact or a period bounds, and what became of each such
    variable. They hold together somewhere exactly where the given ones do.
    """
    asked = list(relations)
    became = {v: v for v in leaves(*asked) if v.lo is None or v.hi is None}
    elsewhere = []
    for relation in (c for r in asked for c in conjuncts(r)):
        fact = _fact(relation)
        if fact is None or fact[0] not in became:
            elsewhere.append(relation)
        else:
            variable, lo, hi = fact
            became[variable] = _narrower(became[variable], lo, hi)
    # A fact holds in all of a period that starts at its bound, so that only the other uses count.
    counted = periods(elsewhere)
    for variable, now in became.items():
        period = counted.get(variable, 1)
        if period != EXACT and (now.lo is None or now.hi is None):
            became[variable] = _one_period(now, period)
    became = {v: n for v, n in became.items() if v != n}
    return [substitute(r, {v: leaf(n) for v, n in became.items()}) for r in asked], became


def _fact(relation: Relation) -> tuple[Leaf, int | None, int | None] | None:
    """The variable that a relation compares with a number, between the least and the greatest value that it
    allows.
    """
    negated = relation.op == "not"
    inner = relation.args[0] if negated else relation
    if inner.op not in ("lt", "eq") or {a.op for a in inner.args} != {"leaf", "const"}:
        return None
    on_the_left = inner.args[0].op == "leaf"
    variable, number = (a.args[0] for a in (inner.args if on_the_left else inner.args[::-1]))
    if inner.op == "eq":
        return None if negated else (variable, number, number)
    if on_the_left:  # x < n, or x >= n
        return (variable, number, None) if negated else (variable, None, number - 1)
    return (variable, None, number) if negated else (variable, number + 1, None)  # x <= n, or x > n


def _narrower(variable: Leaf, lo: int | None, hi: int | None) -> Leaf:
    least = [n for n in (variable.lo, lo) if n is not None]
    greatest = [n for n in (variable.hi, hi) if n is not None]
    return replace(variable, lo=max(least, default=None), hi=min(greatest, default=None))


def _one_period(variable: Leaf, period: int) -> Leaf:
    """The variable over as many of its values as there are remainders."""
    step = variable.multiple_of
    reach = (period - 1) * step
    if variable.lo is None and variable.hi is not None:
        last = variable.hi // step * step
        return replace(variable, lo=last - reach, hi=last)
    first = 0 if variable.lo is None else -(-variable.lo // step) * step
    return replace(variable, lo=first, hi=first + reach)


def periods(relations: Iterable[Relation]) -> dict[Leaf, int]:
    """For each variable the least modulus whose remainder decides all of its uses; ``EXACT`` where none does."""
    found: dict[Leaf, int] = {}
    seen: set[tuple[int, int]] = set()
    todo: list[tuple[Any, int]] = [(r, EXACT) for r in relations]
    while todo:
        node, modulus = todo.pop()
        if (node.uid, modulus) in seen or node.op in ("const", "truth"):
            continue
        seen.add((node.uid, modulus))
        if node.op == "leaf":
            found[node.args[0]] = lcm(found.get(node.args[0], 1), modulus)
        else:
            todo += zip(node.args, _asked_of_arguments(node, modulus), strict=True)
    return found


def _asked_of_arguments(node: Any, modulus: int) -> list[int]:
    """The moduli to which a node's arguments decide the node to its own modulus."""
    op, args = node.op, node.args
    exact = [EXACT] * len(args)
    if op == "mod" and args[1].op == "const":
        divisor = args[1].args[0]
        # (x % (d*e)) % d == x % d
        return [modulus if modulus != EXACT and divisor % modulus == 0 else divisor, EXACT]
    if modulus == EXACT:
        return exact
    if op in ("add", "mul"):
        return [modulus, modulus]  # sums and products of equal remainders have equal remainders
    if op in ("xor", "and", "or") and modulus & (modulus - 1) == 0:
        return [modulus, modulus]  # the low bits decide the low bits
    if op == "div" and args[1].op == "const":
        return [args[1].args[0] * modulus, EXACT]  # (x + c*m*t) // c == x // c + m*t
    if op == "select":
        return [EXACT, modulus, modulus]
    return exact
