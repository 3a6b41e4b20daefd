"""A plain translation of indices and relations to Z3, to confirm that two of them agree on all values."""

from __future__ import annotations

from typing import Any

import z3

from tileproof.layouts.index import Expression
from tileproof.layouts.traverse import leaves, postorder

WIDTH = 24
"""Bits of the bit-vectors: what is put in stays below 2**20, so that no sum or product of it wraps around."""


def _integers(op: str, args: list[Any]) -> Any:
    # Z3's div and mod on integers are Euclidean, which for positive divisors is floor division.
    table = {
        "div": lambda a, b: a / b,
        "mod": lambda a, b: a % b,
        **_COMMON,
    }
    return table[op](*args)


def _bit_vectors(op: str, args: list[Any]) -> Any:
    # Division by 2**k rounds to minus infinity when it is an arithmetic shift, and its remainder is a mask.
    table = {
        "div": lambda a, b: a >> _log2(b),
        "mod": lambda a, b: a & ((1 << _log2(b)) - 1),
        "xor": lambda a, b: a ^ b,
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        **_COMMON,
    }
    return table[op](*args)


def _log2(constant: Any) -> int:
    number = int(z3.simplify(constant).as_signed_long())
    assert number.bit_count() == 1, f"{number} is no power of two"
    return number.bit_length() - 1


_COMMON = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "min": lambda a, b: z3.If(a < b, a, b),
    "max": lambda a, b: z3.If(a < b, b, a),
    "select": z3.If,
    "eq": lambda a, b: a == b,
    "lt": lambda a, b: a < b,
    "not": z3.Not,
    "all": z3.And,
    "any": z3.Or,
}


def always_equal(a: Expression, b: Expression, *, bits: bool) -> bool:
    """Whether ``a`` and ``b`` have one value for all values in range, as Z3 sees it.

    With ``bits`` every variable needs bounds and divisors are powers of two; without it, there
    are no bit operations.
    """
    terms: dict[int, Any] = {}
    facts = []
    for part in postorder(a, b):
        if part.op == "leaf":
            v = part.args[0]
            term = z3.BitVec(v.label, WIDTH) if bits else z3.Int(v.label)
            assert not bits or None not in (v.lo, v.hi), "a bit-vector without bounds"
            assert max(map(abs, (v.lo or 0, v.hi or 0))) < 1 << 11
            facts += [term >= v.lo] if v.lo is not None else []
            facts += [term <= v.hi] if v.hi is not None else []
            facts.append((term & (v.multiple_of - 1) if bits else term % v.multiple_of) == 0)
        elif part.op == "const":
            term = z3.BitVecVal(part.args[0], WIDTH) if bits else z3.IntVal(part.args[0])
        elif part.op == "truth":
            term = z3.BoolVal(part.args[0])
        else:
            term = (_bit_vectors if bits else _integers)(part.op, [terms[p.uid] for p in part.args])
        terms[part.uid] = term
    assert len({v.label for v in leaves(a, b)}) == len(leaves(a, b)), "one name for two variables"
    solver = z3.Solver()
    solver.add(*facts)
    assert solver.check() == z3.sat, "the variables have no values"
    solver.add(terms[a.uid] != terms[b.uid])
    answer = solver.check()
    assert answer != z3.unknown, "no answer from Z3"
    return bool(answer == z3.unsat)
