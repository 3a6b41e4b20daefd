"""Building expressions: what operators give, what is shared, and what is refused with which words."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

import tileproof as tp
from tileproof import Scalar, constant, variable
from tileproof.errors import CallError, TileproofError
from tileproof.scalars import functions
from tileproof.scalars.operations import OPERATIONS, SHIFTS
from tileproof.scalars.traverse import postorder, substitute
from tileproof.scalars.types import TYPES, holds, nearest, round_to

X, Y = variable("x", "float32"), variable("y", "float32")
H, N, U = variable("h", "float16"), variable("n", "int32"), variable("u", "uint32")


@pytest.mark.parametrize(
    ("expression", "op", "dtype", "text"),
    [
        (X + Y, "add", "float32", "x + y"),
        (2 - X, "sub", "float32", "float32(2.0) - x"),
        (X * 0.5, "mul", "float32", "x * float32(0.5)"),
        (1 / X, "div", "float32", "float32(1.0) / x"),
        (-X, "neg", "float32", "-x"),
        (abs(N), "abs", "int32", "abs(n)"),
        (U // 3, "floordiv", "uint32", "u // uint32(3)"),
        (7 % U, "mod", "uint32", "uint32(7) % u"),
        (N & 3, "and", "int32", "n & int32(3)"),
        (1 | N, "or", "int32", "int32(1) | n"),
        (N ^ -1, "xor", "int32", "n ^ int32(-1)"),
        (~N, "not", "int32", "~n"),
        (N << 3, "shl", "int32", "n << uint32(3)"),
        (N >> U, "shr", "int32", "n >> u"),
        (X == 1, "eq", "bool", "x == float32(1.0)"),
        (X != Y, "ne", "bool", "x != y"),
        (2 < X, "gt", "bool", "x > float32(2.0)"),
        (N <= 4, "le", "bool", "n <= int32(4)"),
        (~(X > 0) & (N >= 0), "and", "bool", "(~(x > float32(0.0))) & (n >= int32(0))"),
        (functions.fma(X, 2, Y), "fma", "float32", "fma(x, float32(2.0), y)"),
        (functions.minimum(0, N), "min", "int32", "minimum(int32(0), n)"),
        (functions.select(X > 0, X, 0), "select", "float32", "select((x > float32(0.0)), x, float32(0.0))"),
        (tp.float16(X), "cast", "float16", "float16(x)"),
        (tp.float32(0.1), "constant", "float32", "float32(0.10000000149011612)"),
        (tp.exp(X), "exp2", "float32", "exp2((x * float32(1.4426950216293335)))"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)  # fmt: skip
def test_operators(expression: Scalar, op: str, dtype: str, text: str) -> None:
    assert (expression.op, expression.dtype, repr(expression)) == (op, dtype, text)


def test_equal_expressions_are_one_object() -> None:
    assert (X + 1) * 2 is (X + 1) * 2
    assert X + 1 is not 1 + X
    assert constant(0.0, "float32") is not constant(-0.0, "float32")
    assert constant(1, "float32") is constant(1.0, "float32")
    assert constant(1, "int32") is not constant(1, "uint32")
    assert constant(math.nan, "float32") is constant(-math.nan, "float32")
    assert +X is X
    assert tp.float32(X) is X


def test_expressions_go_to_another_process() -> None:
    for expression in (tp.exp(X), functions.select(N > 0, H, 1.5), tp.float16(-math.inf), (N > 0) | (X != 0)):
        assert pickle.loads(pickle.dumps(expression)) is expression


def test_nodes_come_after_their_arguments_once() -> None:
    root = X
    for _ in range(3000):
        root = root * root
    nodes = postorder(root)
    assert len(nodes) == 3001
    place = {node.uid: n for n, node in enumerate(nodes)}
    assert all(place[a.uid] < place[node.uid] for node in nodes for a in node.args)
    assert repr(root) == "a float32 expression of 3001 operations"
    assert substitute(X * X + Y, {X.uid: Y}) is Y * Y + Y


MISUSES: dict[str, Callable[[], Any]] = {
    "two types": lambda: X + H,
    "a literal that is not exact": lambda: X * 0.1,
    "a literal that is too large": lambda: H + 1e6,
    "an odd integer past 24 bits": lambda: X + (2**24 + 1),
    "an integer out of range": lambda: N + 2**31,
    "a negative unsigned": lambda: U - (-1),
    "a float with an integer": lambda: N * 2.0,
    "a bool with a number": lambda: N + True,
    "text": lambda: X + "1",
    "an array": lambda: X + np.ones(2),
    "no expression": lambda: functions.minimum(1, 2),
    "no division of integers": lambda: N / 2,
    "no floor division of signed integers": lambda: N // 2,
    "no negative of unsigned integers": lambda: -U,
    "no half division": lambda: H / 2,
    "no half exponential": lambda: tp.exp(H),
    "no double exponential": lambda: tp.exp2(variable("d", "float64")),
    "arithmetic of conditions": lambda: (X > 0) + (Y > 0),
    "a power": lambda: X**2,
    "a signed shift amount": lambda: N << N,
    "a truth value": lambda: bool(X > 0),
    "no condition": lambda: bool(X),
    "and": lambda: X > 0 and Y > 0,
    "a Python int": lambda: int(X),
    "a Python float": lambda: math.sqrt(X),  # type: ignore[arg-type]
    "an index": lambda: [1, 2][X],  # type: ignore[call-overload]
    "iteration": lambda: list(X),
    "select without a condition": lambda: functions.select(True, X, Y),  # type: ignore[arg-type]
    "select of two types": lambda: functions.select(X > 0, X, N),
    "a conversion to bool": lambda: functions.cast(X, "bool"),
    "a rounding of nothing": lambda: functions.cast(H, "float32", "rz"),
    "a float rounding to an integer": lambda: functions.cast(X, "int32", "rn"),
    "an unknown type": lambda: variable("x", "float8_e4m3fn"),
    "a name that is none": lambda: variable("x y", "float32"),
    "an inexact constant": lambda: constant(0.1, "float32"),
    "a constant out of range": lambda: tp.float16(1e6),
    "an integer from a float": lambda: tp.int32(2.5),
    "a bool as a float": lambda: tp.float32(True),
}


@pytest.mark.parametrize("name", MISUSES)
def test_misuse_is_told(name: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(TileproofError) as error:
        MISUSES[name]()
    assert type(error.value) is CallError
    assert str(error.value) == snapshot


def test_numbers_of_numpy_are_numbers() -> None:
    assert np.float32(0.5) * X is 0.5 * X
    assert X + np.float32(0.1) is X + tp.float32(0.1)
    assert N + np.int64(3) is N + 3
    with pytest.raises(CallError):
        _ = X + np.float64(0.1)


def test_every_operation_refuses_a_type_that_it_has_no_form_for() -> None:
    from tileproof.scalars.expression import operate

    for operation in OPERATIONS.values():
        for dtype in TYPES:
            operands = [variable("v", dtype)] * operation.operands
            if operation.name in SHIFTS:
                operands[1] = U
            if dtype in operation.forms:
                assert operate(operation.name, *operands).op == operation.name
            else:
                with pytest.raises(CallError, match=f"^{dtype} has no "):
                    operate(operation.name, *operands)


# Which numbers a type has.

EXACT = {"float32": np.float32, "float16": np.float16, "float64": np.float64}


@given(st.floats(), st.sampled_from(sorted(EXACT)))
def test_rounding_to_nearest_is_what_numpy_does(number: float, dtype: str) -> None:
    with np.errstate(over="ignore"):
        wanted = float(EXACT[dtype](number))
    assert holds(number, TYPES[dtype]) == (wanted == number or math.isnan(number))
    if math.isinf(wanted) and math.isfinite(number):
        with pytest.raises(CallError, match="beyond the range"):
            nearest(number, TYPES[dtype])
    else:
        found = nearest(number, TYPES[dtype])
        assert found == wanted or (math.isnan(found) and math.isnan(wanted))
        assert math.isnan(found) or math.copysign(1, found) == math.copysign(1, wanted)


@given(st.fractions(), st.sampled_from(["float64", "float32", "float16", "bfloat16"]))
def test_directed_roundings_enclose_the_number(number: Fraction, dtype: str) -> None:
    kind = TYPES[dtype]
    down, up = round_to(number, kind, "rm"), round_to(number, kind, "rp")
    assert down <= number <= up
    assert round_to(number, kind, "rz") == (down if number > 0 else up)
    assert round_to(number, kind) in (down, up)
    if math.isfinite(down) and math.isfinite(up) and down != up:
        near, low, high = round_to(number, kind), number - Fraction(down), Fraction(up) - number
        assert near == down if low < high else near == up if high < low else True


@given(st.integers(), st.sampled_from([d for d, t in TYPES.items() if t.is_integer]))
def test_integers_that_a_type_has(number: int, dtype: str) -> None:
    limits = np.iinfo(dtype)
    assert holds(number, TYPES[dtype]) == (limits.min <= number <= limits.max)
    assert not holds(float(number % 100), TYPES[dtype])
