"""The normal form: an expression as a constant plus whole multiples of atoms.

Two expressions with one normal form are equal for all values of their variables. An atom is a variable, a
product of atoms, or an operation that no rule below could take apart. The rules only ever rewrite to an equal
expression over the unbounded integers, using the bounds and residues that the variables carry; each says why
in one line, and the tests let a solver confirm each. Nothing that certifies a proof relies on them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Any
from zlib import crc32

from tileproof.layouts import index as ix
from tileproof.layouts import traverse
from tileproof.layouts.bounds import Interval, bounds, congruence, scale
from tileproof.layouts.index import Expression, Index, Relation
from tileproof.layouts.traverse import remembered


@dataclass(frozen=True, slots=True)
class Affine:
    """``constant + sum(coefficient * atom)``; no coefficient is zero."""

    constant: int
    terms: dict[Index, int]

    def bounds(self) -> Interval:
        lo: int | None = self.constant
        hi: int | None = self.constant
        for atom, factor in self.terms.items():
            a, b = scale(bounds(atom), factor)
            lo = None if lo is None or a is None else lo + a
            hi = None if hi is None or b is None else hi + b
            if lo is None and hi is None:
                break
        return lo, hi

    def congruence(self) -> tuple[int, int]:
        modulus, residue = 0, self.constant
        for atom, factor in self.terms.items():
            m, r = congruence(atom)
            modulus, residue = gcd(modulus, m * factor), residue + r * factor
        modulus = abs(modulus)
        return modulus, residue % modulus if modulus else residue


@remembered(Index)
def simplify(node: Index) -> Index:
    """An equal expression, rebuilt from the normal form."""
    return _build(normal(node))


def _order(node: Any) -> tuple[int, str | int, int]:
    """Sorts nodes by what they say, so that equal sums and products are built alike whenever they are built."""
    if node.op == "leaf":
        return 0, node.args[0].label, node.uid
    return 1, _fingerprint(node), node.uid


@remembered(Expression)
def _fingerprint(node: Any) -> int:
    parts = node.args if node.op in ("leaf", "const", "truth") else [_fingerprint(a) for a in node.args]
    return crc32(f"{node.op}{parts}".encode())


def _build(form: Affine) -> Index:
    total: Index | None = None
    for atom, factor in sorted(form.terms.items(), key=lambda term: _order(term[0])):
        term = ix.mul(atom, ix.const(factor))
        total = term if total is None else ix.add(total, term)
    if total is None:
        return ix.const(form.constant)
    return ix.add(total, ix.const(form.constant))


def _atom(node: Index) -> Affine:
    return Affine(0, {node: 1})


def _number(value: int) -> Affine:
    return Affine(value, {})


def combine(a: Affine, b: Affine, factor: int = 1) -> Affine:
    """``a + factor * b``."""
    terms = dict(a.terms)
    for atom, coefficient in b.terms.items():
        total = terms.get(atom, 0) + coefficient * factor
        if total:
            terms[atom] = total
        else:
            terms.pop(atom, None)
    return Affine(a.constant + b.constant * factor, terms)


def scaled(a: Affine, factor: int) -> Affine:
    """``factor * a``."""
    if factor == 0:
        return _number(0)
    return Affine(a.constant * factor, {atom: c * factor for atom, c in a.terms.items()})


@remembered(Index)
def normal(node: Index) -> Affine:
    """The normal form of an index."""
    op, args = node.op, node.args
    if op == "const":
        return _number(args[0])
    if op == "leaf":
        lo, hi = args[0].lo, args[0].hi
        return _number(lo) if lo is not None and lo == hi else _atom(node)
    if op == "select":
        condition = decide(args[0])
        if condition.op == "truth":
            return normal(args[1] if condition.args[0] else args[2])
        return _opaque("select", condition, simplify(args[1]), simplify(args[2]))
    a, b = normal(args[0]), normal(args[1])
    if op == "add":
        return _collapse_division(combine(a, b))
    if op == "mul":
        return _product(a, b)
    if op == "div":
        return _divide(a, b)
    if op == "mod":
        return _modulo(a, b)
    if op in ("min", "max"):
        return _extremum(op, a, b)
    return _bitwise(op, a, b)


def _opaque(op: str, *args: Any) -> Affine:
    """An atom for an operation without a rule; constants have folded on the way."""
    node = traverse.rebuild(op, args)
    return _atom(node) if node.op not in ("const", "add", "mul") else normal(node)


def _collapse_division(form: Affine) -> Affine:
    """``c*(x % d) + c*d*(x // d)  ->  c*x``: the definition of the remainder. A digit above it joins
    likewise: ``c*(x % d) + c*d*(x // d % e)  ->  c*(x % (d*e))``.
    """
    for atom, factor in form.terms.items():
        if atom.op == "mod" and atom.args[1].op == "const":
            joined = _joined(form, atom, factor)
            if joined is not None:
                return _collapse_division(joined)
    return form


def _joined(form: Affine, remainder: Index, factor: int) -> Affine | None:
    """``form`` with ``factor * remainder`` and the quotient that belongs to it made one, if it has that
    quotient.
    """
    x, d = normal(remainder.args[0]), remainder.args[1].args[0]
    quotient = normal(ix.floordiv(remainder.args[0], remainder.args[1]))
    needed = scaled(quotient, factor * d)
    if quotient.terms and all(form.terms.get(t) == c for t, c in needed.terms.items()):
        return combine(combine(combine(form, needed, -1), _atom(remainder), -factor), x, factor)
    for other, coefficient in form.terms.items():
        if coefficient != factor * d or other.op not in ("div", "mod") or other.args[1].op != "const":
            continue
        digit = other.args[0] if other.op == "mod" else other
        whole = x
        if digit.op == "div" and digit.args[1].value == d:
            whole = normal(digit.args[0])
            apart = combine(whole, x, -1)  # x has lost what d divides
            if apart.constant % d or any(c % d for c in apart.terms.values()):
                continue
        elif other.op == "div" or digit is not _build(quotient):
            continue
        if other.op == "mod":
            whole = _modulo(whole, _number(d * other.args[1].args[0]))
        rest = combine(combine(form, _atom(remainder), -factor), _atom(other), -coefficient)
        return combine(rest, whole, factor)
    return None


def _factors(atom: Index) -> list[Index]:
    if atom.op == "mul":
        return _factors(atom.args[0]) + _factors(atom.args[1])
    return [atom]


def _monomial(a: Index, b: Index) -> Index:
    """The product of two atoms with its factors in one order: multiplication commutes."""
    product = ix.const(1)
    for factor in sorted(_factors(a) + _factors(b), key=_order):
        product = ix.mul(product, factor)
    return product


def _product(a: Affine, b: Affine) -> Affine:
    """Multiplication distributes over addition."""
    if not b.terms:
        return scaled(a, b.constant)
    if not a.terms:
        return scaled(b, a.constant)
    total = combine(scaled(a, b.constant), scaled(Affine(0, b.terms), a.constant))
    for x, c in a.terms.items():
        for y, d in b.terms.items():
            total = combine(total, _atom(_monomial(x, y)), c * d)
    return total


def _split_multiples(a: Affine, d: int) -> tuple[Affine, Affine]:
    """``a == d*whole + rest``, where ``rest`` keeps the terms whose coefficient ``d`` does not divide."""
    whole: dict[Index, int] = {}
    rest: dict[Index, int] = {}
    for atom, factor in a.terms.items():
        if factor % d == 0:
            whole[atom] = factor // d
        else:
            rest[atom] = factor
    return Affine(a.constant // d, whole), Affine(a.constant % d, rest)


def _split_low(a: Affine, d: int) -> tuple[Affine, Affine] | None:
    """``a == high + low`` with ``0 <= low < g`` for some ``g`` that divides both ``d`` and ``high``."""
    common = {atom: gcd(factor * gcd(*congruence(atom)), d) for atom, factor in a.terms.items()}
    for g in sorted({d, *common.values()}, reverse=True):
        low = Affine(a.constant % g, {atom: c for atom, c in a.terms.items() if common[atom] % g})
        lo, hi = low.bounds()
        if g > 1 and (low.terms or low.constant) and lo is not None and hi is not None and lo // g == hi // g:
            shift = lo // g * g
            low = Affine(low.constant - shift, low.terms)
            return combine(a, low, -1), low
    return None


def _divide(a: Affine, b: Affine) -> Affine:
    if b.terms:
        return _divide_by_symbol(a, b)
    d = b.constant
    whole, rest = _split_multiples(a, d)  # (d*w + r) // d == w + r // d
    lo, hi = rest.bounds()
    if lo is not None and hi is not None and lo // d == hi // d:
        return combine(whole, _number(lo // d))  # a quotient between two equal numbers is that number
    common = gcd(d, *rest.terms.values())
    if common > 1:
        # (g*x + c) // (g*e) == (x + c // g) // e
        reduced = Affine(rest.constant // common, {t: c // common for t, c in rest.terms.items()})
        return combine(whole, _divide(reduced, _number(d // common)))
    parts = _split_low(rest, d)
    if parts is not None:
        return combine(whole, _divide(parts[0], b))  # (g*x + r) // (g*e) == (g*x) // (g*e) for 0 <= r < g
    if rest.constant == 0 and len(rest.terms) == 1:
        ((atom, factor),) = rest.terms.items()
        if factor == 1 and atom.op == "div" and atom.args[1].op == "const":
            # (x // c) // d == x // (c*d)
            return combine(whole, _divide(normal(atom.args[0]), _number(atom.args[1].args[0] * d)))
        if factor == 1 and atom.op == "mod" and atom.args[1].op == "const" and atom.args[1].args[0] % d == 0:
            # (x % (d*e)) // d == (x // d) % e
            quotient = _divide(normal(atom.args[0]), _number(d))
            return combine(whole, _modulo(quotient, _number(atom.args[1].args[0] // d)))
    return combine(whole, _opaque("div", _build(rest), ix.const(d)))


def _divide_by_symbol(a: Affine, b: Affine) -> Affine:
    divisor = _build(b)
    if b.constant == 0 and len(b.terms) == 1 and next(iter(b.terms.values())) == 1:
        (n,) = b.terms
        whole: dict[Index, int] = {}
        rest: dict[Index, int] = {}
        for atom, factor in a.terms.items():
            cofactor = _without_factor(atom, n)
            if cofactor is None:
                rest[atom] = factor
            else:
                whole = combine(Affine(0, whole), cofactor, factor).terms if cofactor.terms else whole
                if not cofactor.terms:
                    return combine(_number(factor), _divide_by_symbol(combine(a, _atom(atom), -factor), b))
        if whole:
            # (n*w + r) // n == w + r // n
            return combine(Affine(0, whole), _divide_by_symbol(Affine(a.constant, rest), b))
    lo, hi = a.bounds()
    least = b.bounds()[0]
    if lo is not None and hi is not None and least is not None and 0 <= lo and hi < least:
        return _number(0)  # 0 <= a < b  ->  a // b == 0
    return _opaque("div", _build(a), divisor)


def _without_factor(atom: Index, n: Index) -> Affine | None:
    """``atom / n`` when ``n`` is one of the factors of the product ``atom``."""
    factors = _factors(atom)
    for position, factor in enumerate(factors):
        if factor is n:
            result = _number(1)
            for other in factors[:position] + factors[position + 1 :]:
                result = _product(result, _atom(other))
            return result
    return None


def _modulo(a: Affine, b: Affine) -> Affine:
    if b.terms:
        lo, hi = a.bounds()
        least = b.bounds()[0]
        if lo is not None and hi is not None and least is not None and 0 <= lo and hi < least:
            return a  # 0 <= a < b  ->  a % b == a
        return combine(a, _product(_divide_by_symbol(a, b), b), -1)  # a % b == a - b*(a // b)
    d = b.constant
    rest: dict[Index, int] = {}
    constant = a.constant
    for atom, factor in a.terms.items():
        m, r = congruence(atom)
        if m * factor % d == 0:
            constant += r * factor  # (x + d*y) % d == x % d
        else:
            rest[atom] = factor % d
            if 2 * (factor % d) > d:
                rest[atom] -= d  # the same residue, with smaller bounds
    reduced = Affine(constant % d, rest)
    lo, hi = reduced.bounds()
    if lo is not None and hi is not None and lo // d == hi // d:
        return combine(reduced, _number(-(lo // d) * d))
    common = gcd(d, *rest.values())
    if common > 1:
        # (g*x + c) % (g*e) == g*((x + c // g) % e) + c % g
        inner = Affine(reduced.constant // common, {t: c // common for t, c in rest.items()})
        return combine(_number(reduced.constant % common), _modulo(inner, _number(d // common)), common)
    parts = _split_low(reduced, d)
    if parts is not None:
        return combine(
            _modulo(parts[0], b), parts[1]
        )  # (g*x + r) % (g*e) == (g*x) % (g*e) + r for 0 <= r < g
    if reduced.constant == 0 and len(rest) == 1:
        ((atom, factor),) = rest.items()
        if factor == 1 and atom.op == "mod" and atom.args[1].op == "const" and atom.args[1].args[0] % d == 0:
            return _modulo(normal(atom.args[0]), b)  # (x % (d*e)) % d == x % d
    return _opaque("mod", _build(reduced), ix.const(d))


def _extremum(op: str, a: Affine, b: Affine) -> Affine:
    lo, hi = combine(a, b, -1).bounds()
    if hi is not None and hi <= 0:
        return a if op == "min" else b
    if lo is not None and lo >= 0:
        return b if op == "min" else a
    return _opaque(op, *_in_order(a, b))


def _in_order(a: Affine, b: Affine) -> list[Index]:
    """Both built, in the one order that a commutative operator has."""
    return sorted((_build(a), _build(b)), key=_order)


def _bitwise(op: str, a: Affine, b: Affine) -> Affine:
    if not a.terms and not b.terms:
        return normal(ix.bitwise(op, ix.const(a.constant), ix.const(b.constant)))
    if not a.terms:
        a, b = b, a
    if op == "and":
        return _mask(a, b)
    for x, y in ((a, b), (b, a)):
        zeros = _trailing_zeros(x)
        lo, hi = y.bounds()
        if lo is not None and hi is not None and lo >= 0 and hi < zeros:
            return combine(x, y)  # no bit is set in both: x ^ y == x | y == x + y
    if op == "xor":
        return _exclusive_or(a, b)
    return _opaque(op, *_in_order(a, b))


def _trailing_zeros(a: Affine) -> int:
    """The greatest power of two that is sure to divide every value."""
    number = gcd(*a.congruence())
    return number & -number if number else 1 << 64


def _mask(a: Affine, b: Affine) -> Affine:
    if not b.terms:
        mask = b.constant
        if mask == 0:
            return _number(0)
        low = mask & -mask
        if mask > 0 and (mask // low + 1) & (mask // low) == 0:
            # A run of ones: x & ((2**k - 1) * 2**s) == (x // 2**s % 2**k) * 2**s
            return scaled(_modulo(_divide(a, _number(low)), _number(mask // low + 1)), low)
        if mask < 0 and -mask == low:
            return combine(a, _modulo(a, _number(low)), -1)  # x & -2**k == x - x % 2**k
    return _opaque("and", *_in_order(a, b))


def _exclusive_or(a: Affine, b: Affine) -> Affine:
    """Keep only the part of one side that the other side's bits can touch."""
    for x, y in ((a, b), (b, a)):
        lo, hi = y.bounds()
        if lo is None or hi is None or lo < 0:
            continue
        above = 1 << hi.bit_length()
        # A multiple of 2**k added to x changes no bit below k: (x + 2**k*t) ^ y == (x ^ y) + 2**k*t for y <
        # 2**k.
        high, middle = _split_multiples(x, above)
        # The low bits of x below every bit of y pass through, when they do not carry into the rest of x.
        parts = _split_low(middle, min(_trailing_zeros(y), above))
        core, low = parts if parts is not None else (middle, _number(0))
        if high.terms or high.constant or low.terms or low.constant:
            through = combine(scaled(high, above), low)
            return combine(through, _bitwise("xor", core, y) if core.terms or core.constant else y)
    first, second = _in_order(a, b)
    return _number(0) if first is second else _opaque("xor", first, second)


@remembered(Relation)
def decide(relation: Relation) -> Relation:
    """An equivalent relation; a constant when bounds, residues or the normal form decide it."""
    op, args = relation.op, relation.args
    if op == "truth":
        return relation
    if op == "not":
        return ix.negate(decide(args[0]))
    if op == "all":
        return ix.conjunction(decide(a) for a in args)
    if op == "any":
        return ix.disjunction(decide(a) for a in args)
    if op == "eq":
        args = _unswizzled(*args)
    difference = combine(normal(args[0]), normal(args[1]), -1)
    difference = _collapse_division(difference)
    lo, hi = difference.bounds()
    if op == "lt":
        if hi is not None and hi < 0:
            return ix.truth(True)
        if lo is not None and lo >= 0:
            return ix.truth(False)
    else:
        if lo is not None and lo == hi:
            return ix.truth(lo == 0)
        modulus, residue = difference.congruence()
        if (lo is not None and lo > 0) or (hi is not None and hi < 0) or (modulus and residue % modulus):
            return ix.truth(False)
    positive = Affine(max(0, difference.constant), {t: c for t, c in difference.terms.items() if c > 0})
    negative = Affine(max(0, -difference.constant), {t: -c for t, c in difference.terms.items() if c < 0})
    left, right = _build(positive), _build(negative)
    return ix.equal(left, right) if op == "eq" else ix.less(left, right)


def _unswizzled(a: Index, b: Index) -> tuple[Index, Index]:
    """What one swizzle makes of two numbers is equal where the numbers are: a swizzle is a permutation."""
    x, y = a, b
    while x.op == y.op and x.op in ("add", "mul") and x.args[1] is y.args[1] and x.args[1].op == "const":
        x, y = x.args[0], y.args[0]
    if x.op == y.op == "xor":
        one, other = _swizzle_of(x), _swizzle_of(y)
        if one is not None and one == other:
            return x.args[0], y.args[0]
    return a, b


def told_apart_by(value: Index) -> Index:
    """A simpler value that tells its variables apart exactly if ``value`` does.

    Adding a constant, multiplying by one and swizzling send different numbers to different numbers.
    """
    while True:
        if value.op in ("add", "mul") and value.args[1].op == "const":
            value = value.args[0]
        elif value.op == "add" and value.args[0].op == "const":
            value = value.args[1]
        elif value.op == "xor" and _swizzle_of(value) is not None:
            value = value.args[0]
        else:
            return value


def _swizzle_of(node: Index) -> tuple[int, int, int] | None:
    """``(up, picked, down)`` if the node is ``v ^ v // up % picked * down`` and a permutation of ``v``."""
    value, rest, up, down = node.args[0], node.args[1], 1, 1
    if rest.op == "mul" and rest.args[1].op == "const":
        rest, down = rest.args[0], rest.args[1].args[0]
    if rest.op != "mod" or rest.args[1].op != "const":
        return None
    rest, picked = rest.args[0], rest.args[1].args[0]
    if rest.op == "div" and rest.args[1].op == "const":
        rest, up = rest.args[0], rest.args[1].args[0]
    powers = all(n > 0 and n & (n - 1) == 0 for n in (up, picked, down))
    # The bits that are read and the bits that are changed must not meet.
    apart = picked * up <= down or picked * down <= up
    return (up, picked, down) if rest is value and powers and apart else None
