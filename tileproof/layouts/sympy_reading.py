"""The SymPy reading: an expression as people write and read it, and back.

``to_sympy`` gives ``floor(i/8)``, ``Mod(i, 8)``, ``Min``, ``Piecewise`` and, for bit operations, the
functions ``xor``, ``bitand`` and ``bitor`` of this module. ``index_from_sympy`` understands these,
``ceiling``, ``Abs`` and small powers. Fractions may stand only inside ``floor`` and ``ceiling``, where they
become floor division.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from math import lcm
from typing import Any

import sympy
from sympy.logic import boolalg

from tileproof.errors import LayoutError
from tileproof.layouts import index as ix
from tileproof.layouts import symbols, traverse
from tileproof.layouts.index import Expression, Index, Relation, const, leaf, truth
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.traverse import postorder

GREATEST_POWER = 16
"""The greatest exponent that is written out as a product."""


class IndexSymbol(sympy.Symbol):  # type: ignore[misc]
    """The SymPy symbol of a variable. It remembers the variable, so it comes back as that and no other."""

    __slots__ = ("variable",)
    variable: Leaf

    def __new__(cls, variable: Leaf) -> IndexSymbol:
        symbol: IndexSymbol = sympy.Symbol.__xnew__(cls, variable.label, **_assumptions(variable))
        symbol.variable = variable
        return symbol

    def __getnewargs_ex__(self) -> tuple[tuple[Leaf], dict[str, Any]]:
        return (self.variable,), {}

    def _hashable_content(self) -> tuple[Any, ...]:
        return (*super()._hashable_content(), repr(self.variable))  # SymPy orders symbols by what is here


def _assumptions(variable: Leaf) -> dict[str, bool]:
    known = {"integer": True}
    if variable.lo is not None and variable.lo >= 0:
        known["positive" if variable.lo else "nonnegative"] = True
    elif variable.hi is not None and variable.hi <= 0:
        known["nonpositive" if variable.hi == 0 else "negative"] = True
    # Not even=True for a multiple of two: SymPy 1.14 then takes Mod(k/2 + i, 3) for Mod(i, 3).
    return known


class _Bitwise(sympy.Function):  # type: ignore[misc]
    """A bit operation on integers in two's complement of unlimited width."""

    nargs = 2
    is_integer = True
    operator = ""

    @classmethod
    def eval(cls, a: Any, b: Any) -> Any:
        if a.is_Integer and b.is_Integer:
            return sympy.Integer(ix.bitwise(cls.operator, const(int(a)), const(int(b))).value)
        return None


class xor(_Bitwise):  # noqa: N801 - a function's name, as SymPy writes it
    """``a ^ b``."""

    operator = "xor"


class bitand(_Bitwise):  # noqa: N801 - a function's name, as SymPy writes it
    """``a & b``."""

    operator = "and"


class bitor(_Bitwise):  # noqa: N801 - a function's name, as SymPy writes it
    """``a | b``."""

    operator = "or"


def _select(condition: Any, a: Any, b: Any) -> Any:
    # Unevaluated: Piecewise would try to solve its conditions, which takes seconds where they divide.
    if condition in (sympy.true, sympy.false):
        return a if condition else b
    return sympy.Piecewise((a, condition), (b, True), evaluate=False)


_TO_SYMPY: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: sympy.floor(a / b),
    "mod": sympy.Mod,
    "xor": xor,
    "and": bitand,
    "or": bitor,
    "min": sympy.Min,
    "max": sympy.Max,
    "select": _select,
    "eq": sympy.Eq,
    "lt": sympy.Lt,
    "not": sympy.Not,
    "all": sympy.And,
    "any": sympy.Or,
}


def to_sympy(node: Expression) -> Any:
    """The expression as a ``sympy.Expr`` or ``sympy.Boolean``; SymPy may simplify it while it is built.

    Raises :class:`LayoutError` when two different variables would print under one name.
    """
    _distinct_names(traverse.leaves(node))
    done: dict[int, Any] = {}
    for part in postorder(node):
        if part.op == "leaf":
            done[part.uid] = IndexSymbol(part.args[0])
        elif part.op in ("const", "truth"):
            done[part.uid] = sympy.sympify(part.args[0])
        else:
            done[part.uid] = _TO_SYMPY[part.op](*(done[a.uid] for a in part.args))
    return done[node.uid]


def _distinct_names(variables: Iterable[Leaf]) -> None:
    named: dict[str, Leaf] = {}
    for variable in variables:
        other = named.setdefault(variable.label, variable)
        if other != variable:
            raise LayoutError(
                f"two different variables are called {variable.label}: {_described(other)} and "
                f"{_described(variable)}; rename one of them"
            )


def _described(variable: Leaf) -> str:
    lo = "" if variable.lo is None else f"{variable.lo} <= "
    hi = "" if variable.hi is None else f" <= {variable.hi}"
    multiple = f", a multiple of {variable.multiple_of}" if variable.multiple_of > 1 else ""
    return f"the {variable.kind} {lo}{variable.label}{hi}{multiple}"


def index_from_sympy(expression: Any) -> Index:
    """The index that a SymPy expression stands for.

    Symbols made by :func:`to_sympy` come back as the variables they stand for; others must be declared
    ``integer=True`` and take their bounds from ``nonnegative``, ``positive`` and their like. Raises
    :class:`LayoutError` naming the sub-expression that is no integer expression.
    """
    result = _integer(sympy.sympify(expression))
    _distinct_names(traverse.leaves(result))
    return result


def relation_from_sympy(relation: Any) -> Relation:
    """The relation that a SymPy comparison, or a combination of some by And, Or and Not, stands for.

    Raises :class:`LayoutError` as :func:`index_from_sympy` does.
    """
    result = _truth(sympy.sympify(relation))
    _distinct_names(traverse.leaves(result))
    return result


_COMPARE: dict[Any, Callable[[Index, Index], Relation]] = {
    sympy.Eq: ix.equal,
    sympy.Ne: lambda a, b: a != b,
    sympy.Lt: lambda a, b: a < b,
    sympy.Le: lambda a, b: a <= b,
    sympy.Gt: lambda a, b: a > b,
    sympy.Ge: lambda a, b: a >= b,
}


def _truth(e: Any) -> Relation:
    if e in (sympy.true, sympy.false):
        return truth(bool(e))
    if e.func in _COMPARE:
        return _COMPARE[e.func](_integer(e.lhs), _integer(e.rhs))
    if e.func is sympy.And:
        return ix.conjunction(_truth(a) for a in _in_order(e))
    if e.func is sympy.Or:
        return ix.disjunction(_truth(a) for a in _in_order(e))
    if e.func is sympy.Not:
        return ix.negate(_truth(e.args[0]))
    if e.func is sympy.ITE:  # what SymPy makes of a comparison with a Piecewise
        condition, a, b = map(_truth, e.args)
        return (condition & a) | (~condition & b)
    raise LayoutError(f"{e} is no relation: comparisons, And, Or and Not of them are understood")


def _in_order(e: Any) -> list[Any]:
    """The arguments of a function whose order is free, always in the same order."""
    return sorted(e.args, key=sympy.default_sort_key)


def _integer(e: Any) -> Index:
    if e.is_Integer:
        return const(int(e))
    if isinstance(e, sympy.Symbol):
        return _variable(e)
    if e.is_Add or e.is_Mul or e.is_Pow or e.is_Rational:
        numerator, denominator = _fraction(e)
        if denominator.value != 1 and not e.is_integer:
            raise LayoutError(f"{e} need not be an integer: write floor({e}) or ceiling({e})")
        return ix.floordiv(numerator, denominator)
    if e.func in _INTEGER:
        return _INTEGER[e.func](e)
    if isinstance(e, boolalg.Boolean):
        raise LayoutError(f"{e} is a truth value; an integer expression is needed here")
    raise LayoutError(
        f"{e} is no integer expression that tileproof knows; integer symbols may be combined by + - *, "
        "floor, ceiling, Mod, Min, Max, Abs, Piecewise, xor, bitand, bitor and small constant powers"
    )


def _variable(symbol: Any) -> Index:
    if isinstance(symbol, IndexSymbol):
        return leaf(symbol.variable)
    if symbol.is_integer is not True:
        raise LayoutError(
            f"the SymPy symbol {symbol} may be a fraction; "
            f"declare it as sympy.Symbol({symbol.name!r}, integer=True)"
        )
    if isinstance(symbol, sympy.Dummy):
        raise LayoutError(f"{symbol} is a SymPy dummy, of which many may share a name; use sympy.Symbol")
    lo = 1 if symbol.is_positive else 0 if symbol.is_nonnegative else None
    hi = -1 if symbol.is_negative else 0 if symbol.is_nonpositive else None
    return symbols.symbol(symbol.name, lo, hi, multiple_of=2 if symbol.is_even else 1)


def _fraction(e: Any) -> tuple[Index, Index]:
    """Numerator and denominator of a sum, product or power."""
    if e.is_Rational:
        return const(int(e.p)), const(int(e.q))
    if e.is_Add:
        total = const(0), const(1)
        for term in e.as_ordered_terms():
            total = _sum(total, _fraction(term))
        return total
    if e.is_Mul:
        numerator, denominator = const(1), const(1)
        for factor in e.as_ordered_factors():
            n, d = _fraction(factor)
            numerator, denominator = numerator * n, denominator * d
        return numerator, denominator
    if e.is_Pow:
        n, d = _fraction(e.base)
        if not e.exp.is_Integer or abs(e.exp) > GREATEST_POWER:
            raise LayoutError(f"{e}: exponents are constants from 0 to {GREATEST_POWER}")
        return _power(n, d, int(e.exp)) if e.exp > 0 else _power(d, n, -int(e.exp))
    return _integer(e), const(1)


def _sum(a: tuple[Index, Index], b: tuple[Index, Index]) -> tuple[Index, Index]:
    (n, d), (m, e) = a, b
    if d is e:
        return n + m, d
    if d.value and e.value:
        common = lcm(d.value, e.value)
        return n * (common // d.value) + m * (common // e.value), const(common)
    return n * e + m * d, d * e


def _power(n: Index, d: Index, exponent: int) -> tuple[Index, Index]:
    numerator, denominator = const(1), const(1)
    for _ in range(exponent):
        numerator, denominator = numerator * n, denominator * d
    return numerator, denominator


def _floor(e: Any) -> Index:
    return ix.floordiv(*_fraction(e.args[0]))


def _ceiling(e: Any) -> Index:
    numerator, denominator = _fraction(e.args[0])
    return -ix.floordiv(-numerator, denominator)


def _magnitude(e: Any) -> Index:
    value = _integer(e.args[0])
    return ix.maximum(value, -value)


def _piecewise(e: Any) -> Index:
    *pieces, (otherwise, always) = e.args
    if always != sympy.true:
        raise LayoutError(
            f"{e} has no value where none of its conditions holds: end it with a piece (value, True)"
        )
    result = _integer(otherwise)
    for value, condition in reversed(pieces):
        result = ix.select(_truth(condition), _integer(value), result)
    return result


def _folded(combine: Callable[[Index, Index], Index]) -> Callable[[Any], Index]:
    return lambda e: reduce(combine, [_integer(a) for a in _in_order(e)])


def _pair(combine: Callable[[Index, Index], Index]) -> Callable[[Any], Index]:
    return lambda e: combine(_integer(e.args[0]), _integer(e.args[1]))


_INTEGER: dict[Any, Callable[[Any], Index]] = {
    sympy.floor: _floor,
    sympy.ceiling: _ceiling,
    sympy.Abs: _magnitude,
    sympy.Piecewise: _piecewise,
    sympy.Min: _folded(ix.minimum),
    sympy.Max: _folded(ix.maximum),
    sympy.Mod: _pair(ix.mod),
    xor: _pair(lambda a, b: a ^ b),
    bitand: _pair(lambda a, b: a & b),
    bitor: _pair(lambda a, b: a | b),
}
