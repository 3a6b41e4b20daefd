"""The solver reading means what evaluation means, in both theories."""

from __future__ import annotations

from typing import Any

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

import tileproof as tp
from tests.strategies import I, J, K, N, U, indices, points, relations
from tileproof import Swizzle
from tileproof.layouts.bounds import bounds
from tileproof.layouts.evaluate import evaluate
from tileproof.layouts.index import Index, bitwise, const, leaf, truth
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.symbols import symbol
from tileproof.layouts.traverse import leaves, postorder
from tileproof.proofs.smt import MOST_BITS, Reading, UnencodableError, bit_width, nodes, theory_for
from tileproof.proofs.smtlib import TextTerms
from tileproof.proofs.z3_terms import value_of

BOUNDED = (I, J, K, N)


def solver_for(reading: Reading) -> z3.Solver:
    return z3.Solver(ctx=reading._make.context)  # type: ignore[attr-defined]


def agrees(reading: Reading, node: Any, values: dict[Leaf, int]) -> bool:
    """Whether the term can have the value at these values of the variables, and no other."""
    term = reading.term(node)
    solver = solver_for(reading)
    solver.add(*reading.side)
    solver.add(*(reading.variables[v] == reading.number(n) for v, n in values.items()))
    right = evaluate(node, values)
    expected = z3.BoolVal(right, solver.ctx) if isinstance(right, bool) else reading.number(right)
    return bool(solver.check(term == expected) == z3.sat and solver.check(term != expected) == z3.unsat)


def encodable(node: Any) -> bool:
    """Integers without a width can only mix bits with a number that has bounds and no sign."""

    def natural(x: Index) -> bool:
        lo, hi = bounds(x)
        return lo is not None and hi is not None and lo >= 0

    return all(any(natural(a) for a in n.args) for n in postorder(node) if n.op in ("xor", "and", "or"))


@given(st.one_of(indices(BOUNDED, 7), relations(BOUNDED, 3)))
@settings(max_examples=40)
def test_bit_vectors(node: Any) -> None:
    reading = Reading(bit_width([node]))
    assert reading.width is not None
    assert all(agrees(reading, node, values) for values in points(node, count=4))


@given(st.one_of(indices(max_leaves=6), relations(max_leaves=3)))
@settings(max_examples=40)
def test_integers(node: Any) -> None:
    reading = Reading(None)
    try:
        reading.term(node)
    except UnencodableError as error:
        assert not encodable(node)
        assert "mixes the bits of two numbers without bounds" in str(error)
    else:
        assert encodable(node)
        assert all(agrees(reading, node, values) for values in points(node, count=3))


NEGATIVE = symbol("n", -9, 9)


@pytest.mark.parametrize("divisor", [1, 2, 3, 4, 7, 8, 13, 64, 1000])
@pytest.mark.parametrize("theory", ["integers", "vectors"])
def test_division_rounds_to_minus_infinity(divisor: int, theory: str) -> None:
    quotient, rest = NEGATIVE // const(divisor), NEGATIVE % const(divisor)
    reading = Reading(None if theory == "integers" else bit_width([quotient < rest]))
    for number in (-9, -8, -1, 0, 1, 8, 9):
        values = {NEGATIVE.args[0]: number}
        assert evaluate(quotient, values) == number // divisor
        assert agrees(reading, quotient, values)
        assert agrees(reading, quotient * divisor + rest, values)


@pytest.mark.parametrize(
    ("node", "operator"),
    [
        (I // 8, "bvashr"), ((I - 40) // 8, "bvashr"), (I % 8, "bvand"), ((I - 40) % 8, "bvand"), (I // 2, "bvashr"),
        (I // 6, "bvudiv"), (I % 6, "bvurem"), ((I - 40) % 6, "bvsmod"), ((I - 40) // 6, "bvsdiv"), (I // 7, "bvudiv"),
    ],
    ids=str,
)  # fmt: skip
def test_powers_of_two_need_no_division(node: Index, operator: str) -> None:
    terms = TextTerms()
    term, _ = Reading(12, terms).term(node)
    defined = next(line for line in terms.lines if f" {term} " in line)
    assert f"({operator} " in defined


@pytest.mark.parametrize("theory", ["integers", "vectors"])
def test_division_by_a_variable(theory: str) -> None:
    divisor = symbol("d", 1, 11)
    node = (NEGATIVE // divisor) * 100 + NEGATIVE % divisor
    reading = Reading(None if theory == "integers" else bit_width([node]))
    for number, by in ((-9, 2), (-9, 11), (-1, 1), (9, 4), (0, 3)):
        assert agrees(reading, node, {NEGATIVE.args[0]: number, divisor.args[0]: by})


@pytest.mark.parametrize(
    "node",
    [
        U ^ I,
        I ^ U,
        U ^ (I * 4),
        (U * 8) ^ (I * 4),
        U & I,
        (I % 8) & U,
        U | I,
        U | (I * 16),
        U ^ 5,
        5 & U,
        U ^ (U % 8),
        (U ^ I) ^ (U % 4),
        (U // 3) ^ (I // 2),
        Swizzle(3, 2, 3).apply(U),
        Swizzle(2, 0, 2).apply(U * 3 + I),
        I ^ symbol("natural", 0),
        symbol("natural", 0) | I,
        I & symbol("low", hi=9),
        bitwise("and", U, symbol("zero", 0, 0)),
        bitwise("xor", symbol("zero", 0, 0), U),
    ],
    ids=repr,
)
def test_bits_of_unbounded_integers_are_split_off(node: Index) -> None:
    reading = Reading(None)
    for values in points(node, count=8):
        assert agrees(reading, node, values)
    for far in (2**70 + 5, -(2**70) + 3):
        assert agrees(reading, node, {v: far if v.name == "u" else 0 for v in leaves(node)})
    assert reading.theory == "linear integers"


@pytest.mark.parametrize(
    "node",
    [
        U ^ symbol("w"), U & symbol("w", 0), U | (J - 20), U ^ J,
        symbol("x", hi=5) ^ symbol("w"), symbol("w") ^ symbol("x", hi=5), symbol("x", hi=5) & symbol("y", hi=9),
    ],
    ids=repr,
)  # fmt: skip
def test_bits_of_two_numbers_without_bounds(node: Index) -> None:
    with pytest.raises(UnencodableError, match="mixes the bits of two numbers without bounds"):
        Reading(None).term(node)


@pytest.mark.parametrize(
    ("roots", "width"),
    [
        ([const(0) == I], 7),  # 0 <= i < 32 takes 5 bits, a sign and one to spare
        ([I < 1], 7),
        ([symbol("a", 0, 1) < 1], 3),
        ([symbol("a", -1, 0) < 0], 3),
        ([symbol("a", -128, 0) < 0], 10),
        ([symbol("a", 0, 127) < 0], 9),
        ([symbol("a", 0, 128) < 0], 10),
        ([I * 1000 < 5], 17),
        ([I < 5, J * J < 5], bit_width([J * J < 5])),
        ([U < 5], None),
        ([I < 5, U < 5], None),
        ([symbol("a", 0) < 5], None),
        ([truth(True)], 3),
        ([symbol("a", 0, 2 ** (MOST_BITS - 2) - 1) < 5], MOST_BITS),
        ([symbol("a", 0, 2 ** (MOST_BITS - 2)) < 5], None),
    ],
    ids=repr,
)
def test_width(roots: Any, width: int | None) -> None:
    assert bit_width(roots) == width


@pytest.mark.parametrize(
    ("roots", "vectors"),
    [
        ([I * 4 + J < 5], False),
        ([I // 3 + J % 8 == 5, U < 3], False),
        ([tp.select(I < J, I, J) < tp.minimum(I, 4)], False),
        ([(I ^ J) < 5], True),
        ([(I & 3) < 5], True),
        ([(I | 3) < 5], True),
        ([I * J < 5], True),
        ([I // N < 5], True),
        ([I % N < 5], True),
        ([I < 5, (J ^ 3) < 5], True),
        ([(I ^ J) < U], False),
        ([I * U < 5], False),
    ],
    ids=repr,
)
def test_theory(roots: Any, vectors: bool) -> None:
    width = theory_for(roots)
    assert width == (bit_width(roots) if vectors else None)
    assert (width is not None) == vectors


@pytest.mark.parametrize(
    ("width", "node", "theory", "logic"),
    [
        (12, I ^ J, "12-bit vectors", "QF_BV"),
        (None, I * 4 + U // 3, "linear integers", "QF_LIA"),
        (None, I * U, "integers", "QF_NIA"),
        (None, U // N, "integers", "QF_NIA"),
        (None, U % N, "integers", "QF_NIA"),
        (None, U ^ I, "linear integers", "QF_LIA"),
    ],
)
def test_names(width: int | None, node: Index, theory: str, logic: str) -> None:
    reading = Reading(width)
    reading.term(node)
    assert (reading.theory, reading.logic) == (theory, logic)


def test_variables_that_are_called_alike_are_different_unknowns() -> None:
    alike = [
        leaf(Leaf("i", kind, 0, hi, copy=copy))  # type: ignore[arg-type]
        for kind, hi, copy in (("symbol", 3, 0), ("group", 3, 0), ("symbol", 2, 0), ("symbol", 3, 1))
    ]
    for width in (None, 8):
        reading = Reading(width)
        for a in alike:
            for b in alike:
                term = reading.term(a == b) if a is not b else reading.term(truth(True))
                solver = solver_for(reading)
                solver.add(*reading.side)
                assert solver.check(term) == z3.sat
                if a is not b:
                    assert solver.check(z3.Not(term)) == z3.sat
        assert len(reading.variables) == len(alike)


@pytest.mark.parametrize("width", [None, 12])
@pytest.mark.parametrize(
    ("lo", "hi", "step"), [(-9, 9, 1), (-12, 12, 4), (3, 17, 5), (0, 0, 8), (-30, -7, 6)]
)
def test_variables_have_exactly_their_values(width: int | None, lo: int, hi: int, step: int) -> None:
    variable = leaf(Leaf("v", "symbol", lo, hi, step))
    reading = Reading(width)
    term = reading.term(variable)
    solver = solver_for(reading)
    solver.add(*reading.side)
    found = set()
    while solver.check() == z3.sat:
        found.add(value_of(solver.model(), term))
        solver.add(*(term != reading.number(n) for n in found))
    assert found == {n for n in range(lo, hi + 1) if n % step == 0}


def test_half_bounded_variables() -> None:
    for lo, hi, inside, outside in ((0, None, 10**30, -1), (None, 7, -(10**30), 8)):
        reading = Reading(None)
        term = reading.term(symbol("v", lo, hi))
        solver = solver_for(reading)
        solver.add(*reading.side)
        assert solver.check(term == reading.number(inside)) == z3.sat
        assert solver.check(term == reading.number(outside)) == z3.unsat


def test_at_most() -> None:
    for width in (None, 8):
        reading = Reading(width)
        solver = solver_for(reading)
        small, large = reading.number(-5), reading.number(3)
        assert solver.check(reading.at_most(small, large)) == z3.sat
        assert solver.check(reading.at_most(small, small)) == z3.sat
        assert solver.check(reading.at_most(large, small)) == z3.unsat


def test_nodes_come_after_their_arguments_and_once() -> None:
    shared = I + J
    found = nodes(shared * shared < 5, shared == 3)
    assert len({n.uid for n in found}) == len(found)
    for position, node in enumerate(found):
        if node.op not in ("leaf", "const", "truth"):
            assert {a.uid for a in node.args} <= {n.uid for n in found[:position]}
    deep = I
    for step in range(3000):
        deep = deep + symbol(f"s{step}", 0, 1)
    assert len(nodes(deep)) == 6001


def test_each_reading_has_a_context_of_its_own() -> None:
    """A context that other questions were asked in makes a query cost more or less."""
    assert Reading(None)._make.context is not Reading(None)._make.context  # type: ignore[attr-defined]
