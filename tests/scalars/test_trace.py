"""Tracing: which expression a Python function is, what its conditions become, and how misuse is told."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

import tileproof as tp
from tests.scalars.machine import simulated
from tileproof import LambdaExpr, Scalar, scalar_function
from tileproof.errors import CallError, TileproofError
from tileproof.scalars import functions
from tileproof.scalars.functions import minimum, select
from tileproof.scalars.types import float32, int32, uint32

X = np.linspace(-4, 4, 33, dtype=np.float32)


@scalar_function
def silu_affine(x: tp.float32, scale: tp.float32, bias: tp.float32) -> tp.float32:
    y = x / (tp.float32(1) + tp.exp(-x))
    return y * scale + bias


@scalar_function
def clipped(x: float32) -> float32:
    if x > 2:
        return 2
    if x < -2:
        return tp.float32(-2)
    return x


@scalar_function
def polynomial(x: float32) -> float32:
    total = tp.float32(0)
    for coefficient in (1, 0.5, 0.25):
        total = total * x + coefficient
    return total


@scalar_function
def logic(x: float32, n: int32) -> float32:
    inside = (x > -1 and x < 1) or n == 3
    if not inside:
        x = -x
    return x if n > 0 else x * 2


@scalar_function
def bounded_while(n: uint32) -> uint32:
    turns = 0
    while turns < 3 and n > 4:
        n = n >> 1
        turns += 1
    return n + turns


def test_a_signature_and_a_body() -> None:
    assert silu_affine.signature == "silu_affine(x: float32, scale: float32, bias: float32) -> float32"
    x, scale, bias = (p.variable for p in silu_affine.parameters)
    assert silu_affine.body is x / (1 + tp.exp(-x)) * scale + bias
    assert polynomial.body is (((tp.float32(0) * polynomial.parameters[0].variable + 1) * x) + 0.5) * x + 0.25


def test_returns_under_conditions_are_nested_selections() -> None:
    x = clipped.parameters[0].variable
    assert clipped.body is select(x > 2, tp.float32(2), select(x < -2, tp.float32(-2), x))


# The functions themselves in plain Python are the oracle.


@pytest.mark.parametrize("n", [-1, 1, 3])
def test_conditions_mean_what_python_means(n: int) -> None:
    def plain(x: float) -> float:
        inside = (x > -1 and x < 1) or n == 3
        x = x if inside else -x
        return x if n > 0 else x * 2

    numbers = np.full(len(X), n, np.int32)
    wanted = [plain(float(x)) for x in X]
    assert logic.evaluate(X, numbers).tolist() == wanted
    assert simulated(logic, X, numbers).tolist() == wanted


def test_clipping() -> None:
    assert clipped.evaluate(X).tolist() == np.clip(X, -2, 2).tolist()
    assert simulated(clipped, X).tolist() == np.clip(X, -2, 2).tolist()


def test_a_loop_that_ends_on_every_way_through() -> None:
    def plain(n: int) -> int:
        turns = 0
        while turns < 3 and n > 4:
            n, turns = n >> 1, turns + 1
        return n + turns

    n = np.arange(64, dtype=np.uint32)
    assert simulated(bounded_while, n).tolist() == [plain(int(v)) for v in n]


def test_the_minimum_of_python_is_a_comparison() -> None:
    @scalar_function
    def least(x: float32, y: float32) -> float32:
        return min(x, y)

    x, y = (p.variable for p in least.parameters)
    assert least.body is select(y < x, y, x)


def test_a_condition_is_asked_once_on_each_way() -> None:
    seen = []

    @scalar_function
    def twice(x: float32) -> float32:
        seen.append([bool(x > 0), bool(x > 1), bool(x > 0)])
        return x

    assert seen == [[a, b, a] for a in (True, False) for b in (True, False)]
    assert twice.body is twice.parameters[0].variable


def test_functions_are_inlined_into_others() -> None:
    @scalar_function
    def twice_clipped(x: float32) -> float32:
        return clipped(x * 2) + clipped(3)

    x = twice_clipped.parameters[0].variable
    assert twice_clipped.evaluate(X).tolist() == (np.clip(X * 2, -2, 2) + 2).tolist()
    assert twice_clipped.body is clipped(x * 2) + clipped(3)


def test_annotations_as_text_and_as_types() -> None:
    def f(x: "tp.float32", n: int32) -> float32:  # noqa: UP037
        return x + tp.float32(n)

    traced = scalar_function(f)
    assert traced.signature == "f(x: float32, n: int32) -> float32"

    def g(x: Any) -> Any:
        return x

    g.__annotations__ = {"x": tp.bfloat16, "return": tp.bfloat16}
    assert scalar_function(g).signature == "g(x: bfloat16) -> bfloat16"


def test_a_name_without_a_value_is_no_annotation() -> None:
    with pytest.raises(CallError, match="annotated with 'later'"):

        @scalar_function
        def f(x: later) -> float32:
            return later(x)

    later = float32


def test_equal_functions() -> None:
    again = scalar_function(_double)
    assert again == scalar_function(_double)
    assert hash(again) == hash(scalar_function(_double))
    assert again != clipped
    assert again != "again"


def _double(x: float32) -> float32:
    return x * 2


# Misuse.

LEAKED: list[Scalar] = []


def leaks(x: float32) -> float32:
    LEAKED.append(x)
    return x


def no_annotation(x: float32, y) -> float32:  # type: ignore[no-untyped-def]
    return x + y


def no_result_type(x: float32):  # type: ignore[no-untyped-def]
    return x


def annotated_by_python(x: float) -> float32:
    return x  # type: ignore[return-value]


def unknown_annotation(x: tp.float33) -> float32:  # type: ignore[name-defined]
    return x


def code_in_an_annotation(x: print("run")) -> float32:  # type: ignore[valid-type]  # noqa: T201
    return x


def other_result(x: float32) -> int32:
    return x > 0


def inexact_result(_x: float32) -> float32:
    return 0.1


def nothing(x: float32) -> float32:
    if x > 0:
        return x
    return None  # type: ignore[return-value]


def defaults(x: float32 = 1) -> float32:
    return x


def keywords(x: float32, *, y: float32) -> float32:
    return x + y


def truth(x: tp.bool) -> float32:  # type: ignore[name-defined]
    return x


def endless(x: float32) -> float32:
    while x > 0:
        x = x - 1
    return x


def too_many_ways(x: float32) -> float32:
    for step in range(9):
        x = x + 1 if x > step else x * 2
    return x


def depends_on_chance(x: float32) -> float32:
    return x if x > tp.float32(random.random()) else -x


CALLS = iter(range(10))


def asks_only_once(x: float32) -> float32:
    return -x if next(CALLS) == 0 and x > 0 else x


def kernel_scalar(x: float32) -> float32:
    return x * tp.variable("alpha", "float32")


def of_another(x: float32) -> float32:
    return x + LEAKED[0]


def a_list(x: float32) -> float32:
    return [x]  # type: ignore[return-value]


def generator(x: float32) -> float32:
    yield x


BAD: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        no_annotation, no_result_type, annotated_by_python, unknown_annotation, code_in_an_annotation, other_result,
        inexact_result, nothing, defaults, keywords, endless, too_many_ways, asks_only_once, kernel_scalar, a_list,
    )
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_scalar_function(name: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(TileproofError) as error:
        scalar_function(BAD[name])
    assert type(error.value) is CallError
    assert str(error.value) == snapshot


@pytest.mark.parametrize(
    "given", [lambda x: x, 3, "silu", print, generator, truth], ids=lambda g: getattr(g, "__name__", repr(g))
)
def test_what_is_no_function_with_a_name(given: Any) -> None:
    with pytest.raises(CallError):
        scalar_function(given)


def test_a_function_that_changes_its_mind() -> None:
    random.seed(5)
    with pytest.raises(CallError, match="depends_on_chance does not do the same each time it runs"):
        scalar_function(depends_on_chance)


def test_a_traced_scalar_has_no_meaning_outside(snapshot: SnapshotAssertion) -> None:
    LEAKED.clear()
    scalar_function(leaks)
    (leaked,) = LEAKED
    told = []
    for use in (
        lambda: leaked + 1,
        lambda: scalar_function(of_another),
        lambda: minimum(leaked, 0),
        lambda: clipped(leaked),
        lambda: leaked == 1,
    ):
        with pytest.raises(CallError) as error:
            use()
        told.append(str(error.value))
    with pytest.raises(CallError):
        LambdaExpr("f", (), "float32", leaked)
    assert told == snapshot


def test_errors_of_the_function_itself_pass_and_end_the_trace() -> None:
    kept = []

    def fails(x: float32) -> float32:
        kept.append(x)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        scalar_function(fails)
    with pytest.raises(CallError, match="is over"):
        _ = kept[0] + 1


def test_what_no_function_is_made_of() -> None:
    x, parameter = tp.variable("x", "float32"), silu_affine.parameters[0]
    for name, parameters, result, body in (
        ("not a name", (parameter,), "float32", x),
        ("f", (parameter, parameter), "float32", x),
        ("f", (parameter,), "float16", x),
        ("f", (parameter,), "bool", x > 0),
        ("f", (), "float32", x),
    ):
        with pytest.raises(CallError):
            LambdaExpr(name, parameters, result, body)


@pytest.mark.parametrize(
    "inputs", [(), (1.0, 2.0, 3.0, 4.0), (0.1, 1, 1), (tp.float16(1), 1, 1), ("x", 1, 1)]
)
def test_calls_with_wrong_inputs(inputs: tuple[Any, ...]) -> None:
    with pytest.raises(CallError, match="silu_affine"):
        silu_affine(*inputs)


def test_exp_and_log_are_of_float32_only() -> None:
    for function in (functions.exp, functions.log):
        with pytest.raises(CallError, match="convert it"):
            function(tp.variable("d", "float64"))
