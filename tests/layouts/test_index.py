"""Index expressions: what their operators compute, what folds, what is refused, what survives pickling."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.strategies import BOUNDED_AND_NOT, I, J, K, N, indices, points, relations
from tileproof.errors import LayoutError
from tileproof.layouts import index as ix
from tileproof.layouts.axes import laneid, m
from tileproof.layouts.bounds import bounds, congruence
from tileproof.layouts.evaluate import evaluate, evaluate_array
from tileproof.layouts.index import (
    as_index,
    as_relation,
    conjunction,
    const,
    disjunction,
    implies,
    leaf,
    maximum,
    minimum,
    select,
    truth,
)
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.normal import decide, simplify
from tileproof.layouts.symbols import cast, symbol, truncdiv, truncmod
from tileproof.layouts.traverse import leaves, postorder, substitute

A = Leaf("a", lo=-20, hi=20)
B = Leaf("b", lo=1, hi=20)
PAIRS = [(a, b) for a in range(-9, 10) for b in (1, 2, 3, 4, 7, 8, 16)]

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "^": operator.xor,
    "&": operator.and_,
    "|": operator.or_,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@pytest.mark.parametrize("sign", BINARY)
def test_operators_compute_what_python_computes(sign: str) -> None:
    apply = BINARY[sign]
    both = apply(leaf(A), leaf(B))
    for a, b in PAIRS:
        want = apply(a, b)
        assert evaluate(both, {A: a, B: b}) == want
        assert evaluate(apply(leaf(A), b), {A: a}) == want
        assert evaluate(apply(a, leaf(B)), {B: b}) == want
        assert apply(const(a), const(b)).value == want  # constants fold


OTHER: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "negation": (lambda a, _: -a, lambda a, _: -a),
    "shift left": (lambda a, _: a << 3, lambda a, _: a << 3),
    "shift right": (lambda a, _: a >> 2, lambda a, _: a >> 2),
    "minimum": (minimum, min),
    "maximum": (maximum, max),
    "select": (lambda a, b: select(a < b, a, 5), lambda a, b: a if a < b else 5),
    "truncdiv": (truncdiv, lambda a, b: int(a / b)),
    "truncmod": (truncmod, lambda a, b: a - b * int(a / b)),
    "cast to s3": (lambda a, _: cast(a, 3), lambda a, _: (a + 4) % 8 - 4),
    "cast to u3": (lambda a, _: cast(a, 3, signed=False), lambda a, _: a % 8),
    "conjunction": (lambda a, b: (a < b) & (a != 0), lambda a, b: a < b and a != 0),
    "disjunction": (lambda a, b: (a < b) | (a == 8), lambda a, b: a < b or a == 8),
    "complement": (lambda a, b: ~((a < b) & (a != 0)), lambda a, b: not (a < b and a != 0)),
    "implication": (lambda a, b: implies(a < b, a == 0), lambda a, b: a >= b or a == 0),
    "no conditions": (lambda a, _: select(conjunction(()), a, 0), lambda a, _: a),
    "no alternatives": (lambda a, _: select(disjunction(()), 0, a), lambda a, _: a),
}


@pytest.mark.parametrize("name", OTHER)
def test_functions_compute_what_python_computes(name: str) -> None:
    build, python = OTHER[name]
    expression = build(leaf(A), leaf(B))
    for a, b in PAIRS:
        assert evaluate(expression, {A: a, B: b}) == python(a, b)


@pytest.mark.parametrize(
    ("folded", "simple"),
    [
        (I + 0, I),
        (0 + I, I),
        (I * 1, I),
        (1 * I, I),
        (I * 0, const(0)),
        (I // 1, I),
        (I % 1, const(0)),
        (I ^ 0, I),
        (0 | I, I),
        (I & 0, const(0)),
        (I << 0, I),
        (minimum(I, I), I),
        (maximum(I, I), I),
        (select(I < 3, J, J), J),
        (select(truth(True), I, J), I),
        (select(truth(False), I, J), J),
        (I + 0 == I, truth(True)),
        (I + 0 < I, truth(False)),
        (I + 0 <= I, truth(True)),
        (~~(I < 3), I < 3),
        ((I < 3) & True, I < 3),
        ((I < 3) | False, I < 3),
        ((I < 3) & False, truth(False)),
        ((I < 3) | True, truth(True)),
        ((I < 3) & (I < 3), I < 3),
    ],
)
def test_units_fold_to_the_very_same_node(folded: ix.Expression, simple: ix.Expression) -> None:
    assert folded is simple


@pytest.mark.parametrize(
    "kept", [I - I, I * 2 + I, (I + 1) - 1, I // 64, I % 64, (4 * I) % 4, (I < 64) | (I >= 64)]
)
def test_nothing_else_folds_on_construction(kept: ix.Expression) -> None:
    assert kept.op not in ("const", "truth", "leaf")


def test_equal_structure_is_one_object() -> None:
    assert symbol("i", 0, 31) is I
    assert 4 * I + J is I * 4 + J
    assert symbol("i", 0, 30) is not I


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "a divisor that may be zero": (lambda: I // J, "may be zero or negative (its least value is -5)"),
    "a divisor without bounds": (lambda: I % symbol("u"), "its least value is unknown"),
    "division by zero": (lambda: I // 0, "its least value is 0"),
    "a negative divisor": (lambda: I % -4, "its least value is -4"),
    "a truth value": (lambda: I + True, "got the truth value True"),
    "a fraction": (lambda: I + 0.5, "got 0.5"),
    "nothing": (lambda: as_index(None), "got None"),
    "a type": (lambda: as_index(int), "got <class 'int'>"),
    "text": (lambda: as_index("i"), "got 'i'"),
    "a relation as an index": (lambda: as_index(I < 3), "got i < 3"),
    "an index as a relation": (lambda: as_relation(I), "got i"),
    "an index as a condition": (lambda: select(I, 1, 2), "got i"),
    "a symbolic shift": (lambda: I << J, "a shift amount must be a constant that is not negative, got j"),
    "a negative shift": (lambda: I >> -1, "not negative, got -1"),
    "a storage axis as a number": (lambda: m + 1, "m is a storage axis"),
    "a symbol without a name": (lambda: symbol("1x"), "must be an identifier, got '1x'"),
    "multiples of nothing": (lambda: symbol("i", multiple_of=0), "at least 1, got 0"),
    "a symbol without a value": (
        lambda: symbol("i", 1, 7, multiple_of=8),
        "no multiple of 8 lies in its bounds",
    ),
    "an unknown uniformity": (lambda: symbol("i", uniform="block"), "got 'block'"),  # type: ignore[arg-type]
    "no bits": (lambda: cast(I, 0), "at least one bit, got 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_operands_are_refused(name: str) -> None:
    build, message = REFUSED[name]
    with pytest.raises(LayoutError) as error:
        build()
    assert message in str(error.value)


def test_the_nearest_legal_operands_are_accepted() -> None:
    assert bounds(I // (J + 6)) == (0, 31)
    assert symbol("i", 1, 8, multiple_of=8).args[0].lo == 8
    assert cast(I, 1).op == "add"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: 0 <= I < 4, "must be written (0 <= i) & (i < n)"),
        (lambda: bool(I < 3), "i < 3 is neither true nor false yet"),
        (lambda: bool(I), "an index expression has no truth value"),
        (lambda: I / 2, "write // (floor division) instead of /"),
        (lambda: range(I), "i is symbolic; a plain integer is needed here"),
    ],
)
def test_python_that_would_decide_too_early_is_a_type_error(
    build: Callable[[], object], message: str
) -> None:
    with pytest.raises(TypeError) as error:
        build()
    assert message in str(error.value)


def test_constants_and_decided_relations_are_python_values() -> None:
    assert list(range(const(3))) == [0, 1, 2]
    assert bool(const(3) < 4) is True
    assert (I.value, (I < 3).value, const(7).value, truth(False).value) == (None, None, 7, False)


def test_other_integers_are_taken_exactly() -> None:
    big = 10**30
    assert as_index(np.int64(-3)) is const(-3)
    assert (I + big) // big is not None
    assert evaluate(I * big, {I.args[0]: 31}) == 31 * big


def test_an_axis_is_the_number_that_its_thread_sees() -> None:
    lane = leaves(laneid // 4 * 16 + laneid % 4)
    assert [(v.name, v.kind, v.lo, v.hi, v.uniform) for v in lane] == [("laneid", "thread", 0, 31, "thread")]
    assert evaluate(32 - laneid, {lane[0]: 5}) == 27


def test_bounds_of_symbols_are_rounded_to_multiples() -> None:
    got = symbol("s", -7, 30, multiple_of=8).args[0]
    assert (got.lo, got.hi) == (0, 24)


def test_copies_of_a_variable_are_told_apart_by_primes() -> None:
    assert Leaf("laneid", "thread", copy=2).label == "laneid''"
    assert repr(leaf(Leaf("i", copy=1)) + leaf(Leaf("i"))) == "i' + i"


@given(indices() | relations())
def test_pickling_and_copying_give_the_same_node(expression: ix.Expression) -> None:
    assert pickle.loads(pickle.dumps(expression)) is expression
    assert copy.deepcopy(expression) is expression


@given(indices() | relations(), st.integers(0, 10**6))
def test_substitution_is_evaluation_of_what_was_put_in(expression: ix.Expression, seed: int) -> None:
    put_in = {v: leaf(v) * 2 + J - 1 for v in leaves(I, K)}
    replaced = substitute(expression, put_in)
    for values in points(expression, replaced, J, seed=seed):
        outer = {
            **values,
            **{v: evaluate(e, {**values, v: values.get(v, 0)}) for v, e in put_in.items() if v in values},
        }
        assert evaluate(replaced, values) == evaluate(expression, outer)


def test_substitution_folds_and_leaves_the_rest_alone() -> None:
    expression = select(I < 4, I * 2, J)
    assert substitute(expression, {I.args[0]: const(3)}) is const(6)
    assert substitute(expression, {K.args[0]: const(0)}) is expression
    assert (
        substitute(I - J, {I.args[0]: J, J.args[0]: I}) is J - I
    )  # at the same time, not one after the other


@given(indices(BOUNDED_AND_NOT[:4]), st.integers(0, 10**6))
def test_the_array_reading_agrees_with_the_exact_one(expression: ix.Index, seed: int) -> None:
    relation = expression < J
    rows = list(points(expression, relation, I, seed=seed))
    assume(all(abs(evaluate(part, row)) < 2**62 for part in postorder(expression) for row in rows))
    arrays = {v: np.array([row[v] for row in rows], np.int64) for v in rows[0]}
    for e in (expression, relation, ~relation & (expression == I)):
        got = np.broadcast_to(evaluate_array(e, arrays), len(rows))
        assert got.tolist() == [evaluate(e, row) for row in rows]


def test_a_variable_without_a_value_is_named() -> None:
    with pytest.raises(LayoutError, match="no value was given for n"):
        evaluate(I + N, {I.args[0]: 3})


def test_parts_come_once_and_arguments_first() -> None:
    shared = I + 1
    order = postorder(shared * shared)
    assert order == [I, const(1), shared, shared * shared]
    assert [v.name for v in leaves(J + I, K * J)] == ["j", "i", "k"]


def test_depth_costs_no_stack() -> None:
    depth = 3000
    index = reduce(lambda e, step: (e // 2 + J) ^ step, range(1, depth), I)
    relation = reduce(lambda r, step: (r & (I < step)) | (J == step), range(depth), truth(True))
    values = {I.args[0]: 7, J.args[0]: 12}
    want = reduce(lambda e, step: (e // 2 + 12) ^ step, range(1, depth), 7)
    assert evaluate(index, values) == want
    assert evaluate(simplify(index), values) == want
    assert evaluate(relation, values) is evaluate(decide(relation), values) is True
    lo, hi = bounds(index)
    assert lo is not None
    assert hi is not None
    assert lo <= want <= hi
    assert congruence(index) == (1, 0)
    assert evaluate(substitute(index, {J.args[0]: I + 5}), values) == want
    assert repr(index) == f"... ^ {depth - 1}"
