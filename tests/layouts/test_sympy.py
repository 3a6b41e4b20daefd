"""The SymPy reading: both directions keep every value; what is no integer expression is refused by name."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
import sympy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.strategies import BOUNDED_AND_NOT, I, J, K, N, U, indices, points, relations
from tileproof.errors import LayoutError
from tileproof.layouts.bounds import bounds, is_multiple
from tileproof.layouts.evaluate import evaluate
from tileproof.layouts.index import Expression, Index, as_index, as_relation, maximum, minimum, select
from tileproof.layouts.symbols import symbol
from tileproof.layouts.sympy_reading import (
    GREATEST_POWER,
    bitand,
    bitor,
    index_from_sympy,
    relation_from_sympy,
    to_sympy,
    xor,
)
from tileproof.layouts.traverse import leaves

P = sympy.Symbol("p", integer=True)
Q = sympy.Symbol("q", integer=True, positive=True)


def back(expression: Expression) -> Any:
    converted = to_sympy(expression)
    return index_from_sympy(converted) if isinstance(expression, Index) else relation_from_sympy(converted)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(indices(max_leaves=6) | relations(max_leaves=3), st.integers(0, 10**6))
def test_there_and_back_keeps_every_value(expression: Expression, seed: int) -> None:
    """SymPy simplifies on the way, at times wrongly for what it is told to assume: so values are compared."""
    again = back(expression)
    for values in points(expression, seed=seed):
        assert evaluate(again, values) == evaluate(expression, values)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(indices(max_leaves=5), st.integers(0, 10**6))
def test_sympy_computes_the_same_values(expression: Index, seed: int) -> None:
    converted = to_sympy(expression)
    for values in points(expression, seed=seed, count=3):
        there = {v: values[v.variable] for v in converted.free_symbols}
        assert converted.subs(there) == evaluate(expression, values)


PRINTED: list[tuple[Expression, str]] = [
    (4 * I + J, "4*i + j"),
    (I // 8, "floor(i/8)"),
    (I // N, "floor(i/n)"),
    (I % 8, "Mod(i, 8)"),
    (I ^ J, "xor(i, j)"),
    (I & 7, "bitand(i, 7)"),
    (I | J, "bitor(i, j)"),
    (minimum(U, J), "Min(j, u)"),
    (maximum(U, J), "Max(j, u)"),
    (select(I < J, I, 3), "Piecewise((i, i < j), (3, True))"),
    (N % 64 == 0, "Eq(Mod(n, 64), 0)"),
    (I < J, "i < j"),
    (I <= J, "i <= j"),
    (I != J, "Ne(i, j)"),
    ((I < J) & (U < 3), "(i < j) & (u < 3)"),
    ((I < J) | (U < 3), "(i < j) | (u < 3)"),
]


@pytest.mark.parametrize(("expression", "text"), PRINTED, ids=[text for _, text in PRINTED])
def test_what_sympy_prints(expression: Expression, text: str) -> None:
    converted = expression.sympy
    if text.startswith(("(i < j)", "i <= j")):
        assert set(str(converted).replace("j >= i", "i <= j").split(" ")) == set(text.split(" "))
    else:
        assert str(converted) == text


def test_a_multiple_of_two_is_not_called_even() -> None:
    """With ``even=True`` SymPy makes ``Mod(i, 3)`` of this."""
    assert evaluate(back((K // 2 + I) % 3), {K.args[0]: 8, I.args[0]: 0}) == 1


def test_a_symbol_comes_back_as_the_variable_that_it_stands_for() -> None:
    assert index_from_sympy(I.sympy) is I
    assert as_index(I.sympy + 1) is I + 1
    assert leaves(I + N.sympy * 2) == leaves(I, N)
    copies = {v.sympy for v in (*BOUNDED_AND_NOT, *BOUNDED_AND_NOT)}
    assert len(copies) == len(BOUNDED_AND_NOT)
    assert pickle.loads(pickle.dumps(I.sympy + J.sympy)) == I.sympy + J.sympy


def test_symbols_of_one_name_stay_apart() -> None:
    other = symbol("i", 0, 7)
    assert other.sympy != I.sympy
    assert other.sympy - I.sympy != 0
    for build in (
        lambda: to_sympy(other + I),
        lambda: as_index(other.sympy + I.sympy),
        lambda: as_relation(other.sympy < I.sympy),
    ):
        with pytest.raises(LayoutError) as error:
            build()
        message = str(error.value)
        assert "two different variables are called i" in message
        assert "0 <= i <= 7" in message
        assert "0 <= i <= 31" in message


def test_what_is_known_of_a_variable_is_told_to_sympy() -> None:
    assert (I.sympy.is_nonnegative, N.sympy.is_positive, J.sympy.is_nonnegative, U.sympy.is_integer) == (
        True,
        True,
        None,
        True,
    )
    assert (symbol("s", -9, 0).sympy.is_nonpositive, symbol("s", -9, -1).sympy.is_negative) == (True, True)


@pytest.mark.parametrize(
    ("assumptions", "expected", "even"),
    [
        ({}, (None, None), False),
        ({"nonnegative": True}, (0, None), False),
        ({"positive": True}, (1, None), False),
        ({"negative": True}, (None, -1), False),
        ({"nonpositive": True}, (None, 0), False),
        ({"even": True}, (None, None), True),
        ({"even": True, "positive": True}, (2, None), True),
        ({"zero": True}, (0, 0), True),
    ],
)
def test_bounds_of_a_foreign_symbol_come_from_its_assumptions(
    assumptions: dict[str, bool], expected: tuple[int | None, int | None], even: bool
) -> None:
    found = as_index(sympy.Symbol("s", integer=True, **assumptions))
    assert bounds(found) == expected
    assert is_multiple(found, 2) is even


Floor, Ceiling = sympy.floor, sympy.ceiling
UNDERSTOOD: dict[str, tuple[Any, Callable[[int, int], Any]]] = {
    "a sum": (3 * P - Q + 2, lambda p, q: 3 * p - q + 2),
    "a product": ((P + 1) * (Q - P), lambda p, q: (p + 1) * (q - p)),
    "a power": ((P + Q) ** 3, lambda p, q: (p + q) ** 3),
    "the greatest power": (P**GREATEST_POWER, lambda p, _: p**GREATEST_POWER),
    "floor of a half": (Floor((P + 1) / 2), lambda p, _: (p + 1) // 2),
    "floor of different fractions": (
        Floor(P / 4 + Q / 6 + sympy.Rational(1, 3)),
        lambda p, q: (3 * p + 2 * q + 4) // 12,
    ),
    "floor of a negative fraction": (Floor(-P / 3), lambda p, _: -p // 3),
    "floor of a symbolic fraction": (Floor(P / Q), lambda p, q: p // q),
    "floor of a sum of symbolic fractions": (
        Floor(P / Q + sympy.Rational(1, 2)),
        lambda p, q: (2 * p + q) // (2 * q),
    ),
    "floor of fractions with one denominator": (Floor((P + 3) / Q + P / Q), lambda p, q: (2 * p + 3) // q),
    "floor of a fraction over a power": (Floor(P / Q**2), lambda p, q: p // q**2),
    "floor of a floor": (Floor(Floor(P / 3) / 2), lambda p, _: p // 3 // 2),
    "ceiling": (Ceiling((P + Q) / 8), lambda p, q: -(-(p + q) // 8)),
    "remainder": (sympy.Mod(P, 8), lambda p, _: p % 8),
    "remainder of a symbol": (sympy.Mod(P, Q), lambda p, q: p % q),
    "minimum": (sympy.Min(P, Q, 4), lambda p, q: min(p, q, 4)),
    "maximum": (sympy.Max(P, Q, 4), lambda p, q: max(p, q, 4)),
    "magnitude": (sympy.Abs(P - 3), lambda p, _: abs(p - 3)),
    "cases": (
        sympy.Piecewise((P, P < 0), (Q, P < 5), (7, True)),
        lambda p, q: p if p < 0 else q if p < 5 else 7,
    ),
    "exclusive or": (xor(P, Q), lambda p, q: p ^ q),
    "bitwise and": (bitand(P, 6), lambda p, _: p & 6),
    "bitwise or": (bitor(P, Q), lambda p, q: p | q),
    "equal": (sympy.Eq(sympy.Mod(P, 4), 0), lambda p, _: p % 4 == 0),
    "different": (sympy.Ne(P, Q), lambda p, q: p != q),
    "less": (P < Q, lambda p, q: p < q),
    "at most": (P <= Q, lambda p, q: p <= q),
    "more": (P > Q, lambda p, q: p > q),
    "at least": (P >= Q, lambda p, q: p >= q),
    "both": (sympy.And(P < Q, sympy.Mod(P, 2) < 1), lambda p, q: p < q and p % 2 < 1),
    "either": (sympy.Or(P < Q, P > 9), lambda p, q: p < q or p > 9),
    "neither": (sympy.Not(sympy.Or(P < Q, P > 9)), lambda p, q: not (p < q or p > 9)),
    "a comparison of cases": (
        sympy.Eq(sympy.Piecewise((P, Q > 3), (0, True)), 2),
        lambda p, q: (p if q > 3 else 0) == 2,
    ),
    "a bound without end": (P < sympy.oo, lambda p, _: True),
    "true": (sympy.true, lambda p, _: True),
}


@pytest.mark.parametrize("name", UNDERSTOOD)
def test_what_people_write(name: str) -> None:
    written, python = UNDERSTOOD[name]
    found: Any = (
        as_relation(written) if isinstance(written, sympy.logic.boolalg.Boolean) else as_index(written)
    )
    here = {v.name: v for v in leaves(found)}
    for p in range(-9, 14):
        for q in (1, 2, 3, 8):
            values = {v: {"p": p, "q": q}[n] for n, v in here.items()}
            assert evaluate(found, values) == python(p, q)


def test_they_mix_with_indices() -> None:
    mixed: list[Any] = [P + I, I + P, P * I, I - P, I // Q, P % (I + 1)]
    assert [repr(e) for e in mixed] == ["p + i", "i + p", "p*i", "i - p", "i // q", "p % (i + 1)"]
    assert repr(I < P) == "i < p"
    assert repr(P < I) == "p < i"
    assert repr(I == Q) == "i == q"
    assert repr((I < P) & as_relation(P < Q)) == "i < p and p < q"


REFUSED: dict[str, tuple[Any, str]] = {
    "a symbol that may be a fraction": (
        sympy.Symbol("x") + 1,
        "the SymPy symbol x may be a fraction; declare it as sympy.Symbol('x', integer=True)",
    ),
    "a real symbol": (sympy.Symbol("x", positive=True), "may be a fraction"),
    "a half": (P / 2, "p/2 need not be an integer: write floor(p/2) or ceiling(p/2)"),
    "a half in a sum": (P + Q / 2, "p + q/2 need not be an integer"),
    "a rational number": (sympy.Rational(1, 2), "1/2 need not be an integer"),
    "a half in a remainder": (sympy.Mod(P / 2, 3), "p/2 need not be an integer"),
    "a decimal": (sympy.Float(0.5) * P, "is no integer expression that tileproof knows"),
    "a root": (sympy.sqrt(Q), "sqrt(q): exponents are constants from 0 to 16"),
    "too great a power": (P ** (GREATEST_POWER + 1), "p**17: exponents are constants from 0 to 16"),
    "a symbolic power": (2**P, "2**p: exponents are constants from 0 to 16"),
    "a function": (sympy.sin(P), "sin(p) is no integer expression that tileproof knows"),
    "an unknown function": (sympy.Function("f")(P), "f(p) is no integer expression"),
    "pi": (Floor(sympy.pi * P), "pi is no integer expression"),
    "infinity": (sympy.oo, "oo is no integer expression"),
    "no number": (sympy.nan, "nan is no integer expression"),
    "a relation": (P < Q, "p < q is a truth value; an integer expression is needed here"),
    "a divisor that may be zero": (sympy.Mod(Q, P), "the divisor of q % p may be zero or negative"),
    "cases without an end": (sympy.Piecewise((P, P < 3)), "has no value where none of its conditions holds"),
    "a dummy": (sympy.Dummy("d", integer=True) + 1, "_d is a SymPy dummy"),
    "no identifier": (sympy.Symbol("x y", integer=True), "a symbol's name must be an identifier, got 'x y'"),
    "one name twice": (
        P + sympy.Symbol("p", integer=True, positive=True),
        "two different variables are called p",
    ),
    "a matrix": (sympy.Matrix([1]), "is no integer expression"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_integer_expression_is_named(name: str) -> None:
    written, message = REFUSED[name]
    with pytest.raises(LayoutError) as error:
        as_index(written)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (P, "p is no relation: comparisons, And, Or and Not of them are understood"),
        (sympy.Xor(P < 3, Q < 4), "is no relation"),
        (sympy.Symbol("t") & (P < 3), "t is no relation"),
        (sympy.Eq(P / 2, Q), "p/2 need not be an integer"),
        (sympy.Symbol("x") < 3, "the SymPy symbol x may be a fraction"),
    ],
)
def test_what_is_no_relation_is_named(written: Any, message: str) -> None:
    with pytest.raises(LayoutError) as error:
        as_relation(written)
    assert message in str(error.value)
