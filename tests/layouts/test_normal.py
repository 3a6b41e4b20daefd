"""The normal form: equal at every point, each rule confirmed by a solver, the forms that proofs count on."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.layouts.smt import always_equal
from tests.strategies import I, J, K, N, U, indices, points, relations
from tileproof.layouts.evaluate import evaluate
from tileproof.layouts.index import Index, Relation, const, maximum, minimum, select
from tileproof.layouts.normal import decide, normal, simplify, told_apart_by
from tileproof.layouts.swizzle import Swizzle
from tileproof.layouts.symbols import symbol
from tileproof.layouts.traverse import leaves, substitute

X = symbol("x", 0, 7)
Y = symbol("y", 0, 3)
W = symbol("w", 0, 1)
V = symbol("v", 4, 7)
B = symbol("b", 0, 1023)


@given(indices(), st.integers(0, 10**6))
def test_simplifying_keeps_every_value(expression: Index, seed: int) -> None:
    simple = simplify(expression)
    for values in points(expression, seed=seed):
        assert evaluate(simple, values) == evaluate(expression, values)


@given(relations(), st.integers(0, 10**6))
def test_deciding_keeps_every_truth_value(relation: Relation, seed: int) -> None:
    simple = decide(relation)
    for values in points(relation, seed=seed):
        assert evaluate(simple, values) == evaluate(relation, values)


@given(indices(), indices(), st.integers(-3, 3))
def test_sums_and_multiples_have_one_normal_form(a: Index, b: Index, c: int) -> None:
    assert simplify(a + c * b - a) is simplify(b * c)
    assert normal((a - b) * c + b * c) == normal(c * a)
    assert decide(a + b == b + a).value is True


@given(indices())
def test_variables_never_appear_out_of_nowhere(expression: Index) -> None:
    assert set(leaves(simplify(expression))) <= set(leaves(expression))


# Each rule of the normal form: what it takes, what it makes of it. Over the integers, or over bits.
INTEGER_RULES: dict[str, tuple[Index, Index]] = {
    "a variable with one value is a number": (symbol("p", 5, 5) * 2, const(10)),
    "products distribute over sums": ((U + 3) * (I - 2), 3 * I - 2 * U + I * U - 6),
    "products commute": (U * I * J - J * I * U, const(0)),
    "whole multiples leave a quotient": ((8 * U + X + 16) // 8, U + 2),
    "quotients between equal numbers": ((X + 8) // 8, const(1)),
    "negative quotients between equal numbers": ((X - 8) // 8, const(-1)),
    "a common factor leaves a quotient": ((4 * U + 2) // 8, U // 2),
    "a small part below a common factor leaves a quotient": ((4 * U + Y) // 8, U // 2),
    "a small negative part of a quotient": ((4 * U + Y - 4) // 8, (U - 1) // 2),
    "a small part above a common factor": ((4 * U + V) // 8, (U + 1) // 2),
    "a part that is not small": ((4 * U + Y + W) // 8, (4 * U + Y + W) // 8),
    "a small part below a known multiple": ((K + X) // 16, K // 16),
    "quotients of quotients": (U // 4 // 8, U // 32),
    "quotients of remainders": (U % 32 // 8, U // 8 % 4),
    "multiples of the modulus": ((8 * U + X) % 8, X),
    "known multiples of the modulus": ((3 * K + I) % 8, I % 8),
    "coefficients modulo the modulus": ((9 * U + 17) % 8, (U + 1) % 8),
    "coefficients just below the modulus": ((7 * X + 7) % 8, 7 - X),
    "a common factor leaves a remainder": ((4 * U + 2) % 8, 4 * (U % 2) + 2),
    "a small part below a common factor leaves a remainder": ((4 * U + Y) % 8, 4 * (U % 2) + Y),
    "a small negative part of a remainder": ((4 * U + Y - 4) % 8, 4 * ((U + 1) % 2) + Y),
    "a small part above a common factor, its remainder": ((4 * U + V) % 8, 4 * ((U + 1) % 2) + V - 4),
    "remainders of remainders": (U % 32 % 8, U % 8),
    "quotient and remainder make the whole": (8 * (U // 8) + U % 8, U),
    "scaled quotient and remainder": (96 * (U // 8) + 12 * (U % 8) + I, 12 * U + I),
    "quotient and remainder of a sum": ((U + I) // 8 * 8 + (U + I) % 8, U + I),
    "the quotient of what the remainder has lost multiples of": (
        3 * ((2 * U + X) // 3) + (2 * U + X) % 3,
        2 * U + X,
    ),
    "two digits make one": (3 * (U // 3 % 4) + U % 3, U % 12),
    "two digits of a sum": (3 * ((2 * U + X) // 3 % 4) + (2 * U + X) % 3, (2 * U + X) % 12),
    "a quotient of something else": (4 * (U // 4) + I % 4, 4 * (U // 4) + I % 4),
    "a digit of something else": (4 * (U // 4 % 2) + I % 4, 4 * (U // 4 % 2) + I % 4),
    "a quotient too often": (
        6 * ((2 * U + X) // 3) + (2 * U + X) % 3,
        6 * ((2 * U + X) // 3) + (2 * U + X) % 3,
    ),
    "a remainder that is no digit": (4 * (U % 2) + I % 4, 4 * (U % 2) + I % 4),
    "a quotient by something else": (4 * (U // 5) + U % 4, 4 * (U // 5) + U % 4),
    "the smaller one is known": (minimum(X, Y + 7), X),
    "the smaller one is not known": (minimum(X, Y + 6), minimum(X, Y + 6)),
    "the greater one is not known": (maximum(X, Y + 6), maximum(X, Y + 6)),
    "the greater one is known": (maximum(X, Y + 7), Y + 7),
    "a decided selection": (select(X < 8, U, J), U),
}

BIT_RULES: dict[str, tuple[Index, Index]] = {
    "no bit is set in both: xor": ((8 * Y) ^ X, 8 * Y + X),
    "no bit is set in both: or": ((8 * Y) | X, 8 * Y + X),
    "a mask of low bits": (J & 7, J % 8),
    "a mask of middle bits": (J & 24, 8 * (J // 8 % 4)),
    "a mask that clears low bits": (J & -8, J - J % 8),
    "a mask of nothing": (J & (Y - Y), const(0)),
    "xor with itself": (B ^ (B + 0), const(0)),
    "high bits pass through": ((8 * B + X) ^ Y, 8 * B + (X ^ Y)),
    "low bits pass through": ((4 * X + Y) ^ (4 * W), Y + ((4 * X) ^ (4 * W))),
    "low bits pass through below the smallest step": (
        (24 * X + 2 * Y + W) ^ (16 * V),
        W + ((24 * X + 2 * Y) ^ (16 * V)),
    ),
    "low bits pass through beside a number": ((W + 2) ^ (2 * X), W + (2 ^ (2 * X))),
}


@pytest.mark.parametrize("name", INTEGER_RULES)
def test_each_rule_over_the_integers(name: str) -> None:
    before, after = INTEGER_RULES[name]
    assert normal(before) == normal(after)
    assert always_equal(before, after, bits=False)
    assert always_equal(before, simplify(before), bits=False)


@pytest.mark.parametrize("name", BIT_RULES)
def test_each_rule_over_bits(name: str) -> None:
    before, after = BIT_RULES[name]
    assert normal(before) == normal(after)
    assert always_equal(before, after, bits=True)
    assert always_equal(before, simplify(before), bits=True)


SYMBOLIC_DIVISORS: dict[str, Callable[[Index], tuple[Index, Index]]] = {
    "a multiple of the divisor": lambda n: ((n * U + J) // n, U + J // n),
    "a multiple of the divisor with more factors": lambda n: ((I * n * U + J) // n, I * U + J // n),
    "the divisor itself": lambda n: ((J + 3 * n) // n, J // n + 3),
    "the remainder by its definition": lambda n: (J % n, J - n * (J // n)),
    "the remainder of a multiple": lambda n: ((n * U + J) % n, J % n),
    "quotient and remainder": lambda n: (U // n * n + U % n, U),
    "a multiple of something else": lambda n: ((I * U + J) // n, (I * U + J) // n),
}


@pytest.mark.parametrize("name", SYMBOLIC_DIVISORS)
def test_each_rule_for_symbolic_divisors(name: str) -> None:
    before, after = SYMBOLIC_DIVISORS[name](N)
    assert normal(before) == normal(after)
    for n in range(1, 13):  # all values of n: with a number for n, and for i, Z3 stays in linear arithmetic
        there = {N.args[0]: const(n), I.args[0]: const(n % 5)}
        for other in (after, simplify(before)):
            assert always_equal(substitute(before, there), substitute(other, there), bits=False)


def test_a_number_below_the_least_divisor() -> None:
    d = symbol("d", 8, 20)
    assert simplify(X // d) is const(0)
    assert simplify(X % d) is X
    assert simplify((X + 1) // d) is not const(0)
    for n in range(8, 21):
        assert always_equal(X // n, const(0), bits=False)


# Parametric: every rule that takes numbers, over many of them.
SHAPES: dict[str, Callable[[int, int, int], tuple[Index, bool]]] = {
    "quotient of a sum": (lambda a, b, d: ((a * U + b * X + 3) // d, False)),
    "remainder of a sum": (lambda a, b, d: ((a * U + b * X - 5) % d, False)),
    "quotient of a remainder": (lambda a, b, d: ((a * U + J) % (b * d) // d, False)),
    "remainder of a quotient": (lambda a, b, d: ((a * K + J) // b % d, False)),
    "three levels": (lambda a, b, d: (((a * U + X) // b * b + J) // d, False)),
    "exclusive or": (lambda a, b, d: ((a * X + b * Y) ^ (d * W), True)),
    "mask": (lambda a, b, d: ((a * X + b * J) & (d * 7), True)),
    "or": (lambda a, b, d: ((a * X + b) | (d * Y), True)),
    "swizzle": (lambda a, b, d: ((B * a + X) ^ ((B * a + X) // (8 * a) % 4 * b), True)),
}


@pytest.mark.parametrize("a", [1, 4, 6])
@pytest.mark.parametrize("b", [1, 2, 8])
@pytest.mark.parametrize("d", [1, 4, 16])
@pytest.mark.parametrize("name", SHAPES)
def test_rules_for_many_numbers(name: str, a: int, b: int, d: int) -> None:
    if name == "swizzle":
        a = 1 << a // 2
    before, bits = SHAPES[name](a, b, d)
    assert always_equal(before, simplify(before), bits=bits)


RELATIONS: dict[str, tuple[Relation, str]] = {
    "equal forms": (4 * (U + 1) == 4 * U + 4, "True"),
    "equal by the definition of the remainder": (U // 4 * 4 + U % 4 == U, "True"),
    "bounds decide <": (X < 8, "True"),
    "bounds leave <": (X < 7, "x < 7"),
    "bounds refute <": (X < 0, "False"),
    "bounds decide <=": (X <= 7, "True"),
    "bounds refute ==": (X == 8, "False"),
    "bounds leave ==": (X == 7, "x == 7"),
    "residues refute ==": (4 * U == 8 * J + 2, "False"),
    "residues leave ==": (4 * U == 8 * J + 4, "4*u == 8*j + 4"),
    "a multiple is one": ((8 * I + 4 * K) % 8 == 0, "True"),
    "a half multiple may be one": ((4 * I) % 8 == 0, "4*(i % 2) == 0"),
    "common terms cancel": (U + X < U + J, "x < j"),
    "negative terms change sides": (X - J < 3, "x < j + 3"),
    "a decided part of a conjunction": ((X < 8) & (U < 3), "u < 3"),
    "a false part of a conjunction": ((X > 7) & (U < 3), "False"),
    "a true part of a disjunction": ((X < 8) | (U < 3), "True"),
    "a negation": (~(X < 8), "False"),
}


@pytest.mark.parametrize("name", RELATIONS)
def test_decisions(name: str) -> None:
    relation, after = RELATIONS[name]
    assert repr(decide(relation)) == after
    assert always_equal(relation, decide(relation), bits=False)


@pytest.mark.parametrize(("bits", "base", "shift"), [(1, 0, 1), (3, 2, 3), (2, 1, 4), (2, 0, -2), (2, 3, -5)])
def test_a_swizzle_keeps_numbers_apart(bits: int, base: int, shift: int) -> None:
    swizzle = Swizzle(bits, base, shift)
    one, other = 8 * X + Y, 5 * V + W
    relation = 4 * swizzle.apply(one) + 12 == 4 * swizzle.apply(other) + 12
    assert decide(relation) is decide(one == other)
    assert always_equal(relation, decide(relation), bits=True)


@pytest.mark.parametrize(
    ("value", "simpler"),
    [
        (4 * Swizzle(3, 2, 3).apply(8 * X + Y) + 12, 8 * X + Y),
        (12 + Swizzle(2, 0, -2).apply(Swizzle(2, 3, 2).apply(X) * -4 + 1), X),
        (X + Y, X + Y),
        ((X ^ Y) * 4, X ^ Y),
        ((X ^ X // 2 % 4 * 2) + 1, X ^ X // 2 % 4 * 2),  # reads a bit that it changes
        (X // 4 * 4, X // 4),
    ],
    ids=repr,
)
def test_what_tells_variables_apart(value: Index, simpler: Index) -> None:
    assert told_apart_by(value) is simpler
    other = substitute(value, {X.args[0]: V, Y.args[0]: W})
    simpler_other = substitute(simpler, {X.args[0]: V, Y.args[0]: W})
    assert always_equal(value == other, simpler == simpler_other, bits=True)


def test_two_swizzles_do_not_keep_numbers_apart() -> None:
    relation = Swizzle(1, 0, 1).apply(X) == Swizzle(1, 1, 1).apply(Y)
    assert decide(relation) is not decide(X == Y)
    assert always_equal(relation, decide(relation), bits=True)
