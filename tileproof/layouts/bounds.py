"""What is known of an index expression without a solver: an interval, and a residue modulo some number.

Both are sound over-approximations computed once per node: ``bounds`` gives the least interval that interval
arithmetic finds, ``congruence`` a pair ``(modulus, residue)`` with ``value % modulus == residue`` (modulus 0:
the value is the residue; modulus 1: nothing is known).
"""

from __future__ import annotations

from math import gcd

from tileproof.layouts.index import Index
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.traverse import remembered

Interval = tuple[int | None, int | None]
Congruence = tuple[int, int]


def _add(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


def scale(interval: Interval, factor: int) -> Interval:
    """The interval of ``factor * x``."""
    lo, hi = interval
    if factor == 0:
        return 0, 0
    low = None if lo is None else lo * factor
    high = None if hi is None else hi * factor
    return (low, high) if factor > 0 else (high, low)


def _product(a: Interval, b: Interval) -> Interval:
    if a[0] == a[1] and a[0] is not None:
        return scale(b, a[0])
    if b[0] == b[1] and b[0] is not None:
        return scale(a, b[0])
    if None not in a and None not in b:
        corners = [x * y for x in a for y in b if x is not None and y is not None]
        return min(corners), max(corners)
    if a[0] is not None and b[0] is not None and a[0] >= 0 and b[0] >= 0:
        return a[0] * b[0], None
    return None, None


def _bitwise(op: str, a: Interval, b: Interval) -> Interval:
    a_natural = a[0] is not None and a[0] >= 0
    b_natural = b[0] is not None and b[0] >= 0
    if op == "and":
        # A non-negative operand bounds the result whatever the other one is.
        highs = [x[1] for x, natural in ((a, a_natural), (b, b_natural)) if natural and x[1] is not None]
        if a_natural or b_natural:
            return 0, min(highs) if highs else None
    if not (a_natural and b_natural):
        ends = [x for x in (*a, *b) if x is not None]
        # In two's complement a result needs no more bits than its operands: -2**k <= a ^ b < 2**k where that
        # holds of both.
        whole = 1 << max(max(x, ~x).bit_length() for x in ends) if len(ends) == 4 else None
        return (None, None) if whole is None else (-whole, whole - 1)
    lo = 0 if op == "xor" else max(a[0] or 0, b[0] or 0)
    if a[1] is None or b[1] is None:
        return lo, None
    # Only bits that the other side can have are set: a | b and a ^ b are at most a | (all bits of b's width).
    above = (1 << a[1].bit_length()) - 1, (1 << b[1].bit_length()) - 1
    return lo, min(a[1] | above[1], b[1] | above[0], a[1] + b[1])


@remembered(Index)
def bounds(node: Index) -> Interval:
    """Inclusive least and greatest value; ``None`` where there is no bound."""
    op = node.op
    if op == "const":
        return node.args[0], node.args[0]
    if op == "leaf":
        variable: Leaf = node.args[0]
        return variable.lo, variable.hi
    if op == "select":
        a, b = bounds(node.args[1]), bounds(node.args[2])
        return (
            None if a[0] is None or b[0] is None else min(a[0], b[0]),
            None if a[1] is None or b[1] is None else max(a[1], b[1]),
        )
    a, b = bounds(node.args[0]), bounds(node.args[1])
    if op == "add":
        return _add(a[0], b[0]), _add(a[1], b[1])
    if op == "mul":
        return _product(a, b)
    if op == "div":
        return _quotient(a, b)
    if op == "mod":
        top = None if b[1] is None else b[1] - 1
        if a[0] is not None and a[1] is not None and b[0] is not None:
            if 0 <= a[0] and a[1] < b[0]:
                return a
            if b[0] == b[1] and a[0] // b[0] == a[1] // b[0]:
                return a[0] % b[0], a[1] % b[0]
        if a[0] is not None and a[0] >= 0 and a[1] is not None:
            return 0, a[1] if top is None else min(top, a[1])
        return 0, top
    if op in ("xor", "and", "or"):
        return _bitwise(op, a, b)
    if op == "min":
        highs = [x for x in (a[1], b[1]) if x is not None]
        return (None if a[0] is None or b[0] is None else min(a[0], b[0])), (min(highs) if highs else None)
    lows = [x for x in (a[0], b[0]) if x is not None]  # the operator left is max
    return (max(lows) if lows else None), (None if a[1] is None or b[1] is None else max(a[1], b[1]))


def _quotient(a: Interval, b: Interval) -> Interval:
    least, greatest = max(b[0] or 1, 1), b[1]  # divisors are positive
    lo: int | None
    hi: int | None
    if a[0] is None:
        lo = None
    elif a[0] >= 0:
        lo = 0 if greatest is None else a[0] // greatest
    else:
        lo = a[0] // least
    if a[1] is None:
        hi = None
    elif a[1] >= 0:
        hi = a[1] // least
    else:
        hi = -1 if greatest is None else a[1] // greatest
    return lo, hi


def _reduced(modulus: int, residue: int) -> Congruence:
    modulus = abs(modulus)
    return modulus, residue % modulus if modulus else residue


@remembered(Index)
def congruence(node: Index) -> Congruence:
    """``(modulus, residue)``: the value is ``residue`` modulo ``modulus``, or equals it when the modulus is
    0.
    """
    op = node.op
    if op == "const":
        return 0, node.args[0]
    if op == "leaf":
        variable: Leaf = node.args[0]
        if variable.lo is not None and variable.lo == variable.hi:
            return 0, variable.lo
        return variable.multiple_of, 0
    if op in ("select", "min", "max"):
        (m, r), (n, s) = (congruence(x) for x in node.args[-2:])
        return _reduced(gcd(m, n, r - s), r)
    (m, r), (n, s) = congruence(node.args[0]), congruence(node.args[1])
    if op == "add":
        return _reduced(gcd(m, n), r + s)
    if op == "mul":
        # (r + m*x) * (s + n*y) = r*s + r*n*y + s*m*x + m*n*x*y
        return _reduced(gcd(r * n, s * m, m * n), r * s)
    if op == "mod":
        # The value is a - b*q for some q.
        if n == 0 and m and m % s == 0:
            return 0, r % s
        return _reduced(gcd(m, n, s), r)
    if op == "div":
        if n == 0 and m % s == 0:
            # (r + m*x) // s = r // s + (m//s)*x
            return _reduced(m // s, r // s)
        return 1, 0
    if m == 0 and n == 0:
        return 0, {"xor": r ^ s, "and": r & s, "or": r | s}[op]
    # Bitwise: the low bits that are known on both sides are known of the result.
    width = (
        _known_low_bits(m)
        if n == 0
        else _known_low_bits(n)
        if m == 0
        else min(_known_low_bits(m), _known_low_bits(n))
    )
    mask = (1 << width) - 1
    low = {"xor": r ^ s, "and": r & s, "or": r | s}[op] & mask
    if op == "and":
        # Trailing zeros of one side clear the other's bits.
        zeros = max(_trailing_zeros(m, r), _trailing_zeros(n, s))
        if zeros > width:
            return 1 << zeros, 0
    return 1 << width, low


def _known_low_bits(modulus: int) -> int:
    return (modulus & -modulus).bit_length() - 1


def _trailing_zeros(modulus: int, residue: int) -> int:
    """How many low bits are sure to be zero."""
    number = gcd(modulus, residue)
    return (number & -number).bit_length() - 1 if number else 0


def is_multiple(node: Index, divisor: int) -> bool:
    """Whether every value is sure to be a multiple of ``divisor``."""
    modulus, residue = congruence(node)
    return modulus % divisor == 0 and residue % divisor == 0
