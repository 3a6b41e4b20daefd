"""What the operations compute: the NumPy reading, the emitted PTX on the simulated machine, and exact rationals."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tileproof as tp
from tests.scalars.machine import Array, function_of, numbers, numpy_type, same, simulated
from tileproof import LambdaExpr, Scalar
from tileproof.errors import CallError
from tileproof.scalars import functions
from tileproof.scalars.expression import operate, select
from tileproof.scalars.operations import OPERATIONS, SELECT, SHIFTS, Operation, roundings
from tileproof.scalars.types import TYPES, ScalarType

FLOATS = ("float64", "float32", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "uint64", "uint32", "uint16")

SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    1.5,
    -2.5,
    3.0,
    0.5,
    math.inf,
    -math.inf,
    math.nan,
    1e-40,
    -1e-40,
    6e-8,
    65504.0,
    7e4,
]


def samples(dtype: str, count: int, seed: int) -> Array:
    """Random bits, random numbers of a usual size, and the corners of the type."""
    generator = np.random.default_rng(seed)
    kind, stored = TYPES[dtype], numpy_type(dtype)
    bits = generator.integers(0, 1 << min(kind.bits, 63), count, dtype=np.uint64).astype(
        f"u{stored.itemsize}"
    )
    if kind.is_integer:
        corners = np.array([0, 1, 2, kind.greatest, kind.greatest - 1, kind.least, kind.least + 1], stored)
        return np.concatenate([corners, bits.view(stored), (bits % 100).astype(stored)])
    with np.errstate(over="ignore"):
        usual = np.concatenate([SPECIAL, generator.normal(size=count) * 4])
        made = (
            (usual.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
            if dtype == "bfloat16"
            else usual.astype(stored)
        )
    return np.concatenate([made, bits.view(stored)])


def crossed(dtypes: list[str], count: int = 120) -> list[Array]:
    """Columns of operands, in which every corner meets every other."""
    corners = [samples(d, 0, 0) for d in dtypes]
    grid = (
        [g.ravel() for g in np.meshgrid(*corners)] if len(dtypes) < 3 else [np.resize(c, 40) for c in corners]
    )
    rng = np.random.default_rng(7)
    random = [rng.permutation(samples(d, count, n))[:count] for n, d in enumerate(dtypes)]
    return [np.concatenate(pair) for pair in zip(grid, random, strict=True)]


def operands_of(operation: Operation, dtype: str) -> list[str]:
    return [dtype, "uint32"] if operation.name in SHIFTS else [dtype] * operation.operands


def case(operation: Operation, dtype: str) -> tuple[LambdaExpr, list[Array]]:
    """The operation as a function, with a number in place of a truth value."""

    def build(*x: Scalar) -> Scalar:
        found = operate(operation.name, *x)
        return (
            select(found, tp.constant(1, "uint32"), tp.constant(0, "uint32"))
            if found.dtype == "bool"
            else found
        )

    types = operands_of(operation, dtype)
    columns = crossed(types)
    if operation.name in ("floordiv", "mod"):
        columns[1] = np.where(columns[1] == 0, 3, columns[1]).astype(columns[1].dtype)
    if operation.name in SHIFTS:
        columns[1] = (columns[1] % 70).astype(np.uint32)
    return function_of(build, types, "uint32" if operation.result == "bool" else dtype), columns


FORMS = [(o, d) for o in OPERATIONS.values() for d in o.forms if d != "bool"]


@pytest.mark.parametrize(("operation", "dtype"), FORMS, ids=lambda x: x if isinstance(x, str) else x.name)
def test_the_machine_and_numpy_read_an_operation_alike(operation: Operation, dtype: str) -> None:
    """Two readings that share no code. Both round approximations to nearest, so they agree there too, up to one
    unit where float64 itself is not exact.
    """
    function, columns = case(operation, dtype)
    found, wanted = simulated(function, *columns), function.evaluate(*columns)
    assert same(found, wanted, function.result), (found[:8], wanted[:8])


# The definition, in exact rationals.


def value(bits: Any, dtype: str) -> float:
    return float(numbers(np.asarray([bits]), dtype)[0])


def is_nearest(found: float, exact: Fraction, kind: ScalarType) -> bool:
    """Whether no other number of the type is nearer, and a tie went to the even one; by neighbours only."""
    unit = Fraction(2) ** (max(kind.lowest, math.frexp(found)[1] - 1) - kind.precision + 1)
    below = unit / 2 if abs(Fraction(found)) == Fraction(2) ** (math.frexp(found)[1] - 1) else unit
    if max(kind.lowest, math.frexp(found)[1] - 1) == kind.lowest:
        below = unit
    off = (exact - Fraction(found)) * (1 if found >= 0 else -1)
    even = (Fraction(found) / unit) % 2 == 0
    return -below / 2 < off < unit / 2 or (even and off in (-below / 2, unit / 2))


RATIONAL: dict[str, Callable[..., Fraction]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "rcp": lambda a: 1 / a,
    "fma": lambda a, b, c: a * b + c,
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", RATIONAL)
def test_arithmetic_is_rounded_once_to_nearest(name: str, dtype: str) -> None:
    operation, kind = OPERATIONS[name], TYPES[dtype]
    if dtype not in operation.forms:
        with pytest.raises(CallError, match=f"{dtype} has no"):
            operate(name, *([tp.variable("x", dtype)] * operation.operands))
        return
    function, columns = case(operation, dtype)
    largest = (2 - Fraction(2) ** (1 - kind.precision)) * Fraction(2) ** kind.highest
    checked = 0
    for bits, *operands in zip(function.evaluate(*columns), *columns, strict=True):
        numbers_ = [value(x, dtype) for x in operands]
        if not all(map(math.isfinite, numbers_)) or (name in ("div", "rcp") and numbers_[-1] == 0):
            continue
        exact, found = RATIONAL[name](*map(Fraction, numbers_)), value(bits, dtype)
        if math.isinf(found):
            assert abs(exact) >= largest + Fraction(2) ** (kind.highest - kind.precision)
        else:
            assert is_nearest(found, exact, kind), (numbers_, found)
        checked += 1
    assert checked > 60


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_square_root_is_rounded_once_to_nearest(dtype: str) -> None:
    function, (column,) = case(OPERATIONS["sqrt"], dtype)
    positive = np.abs(column[np.isfinite(column) & (column != 0)])
    for x, root in zip(positive.tolist(), function.evaluate(positive), strict=True):
        low, high = (np.nextafter(root, root.dtype.type(end)) for end in (0, np.inf))
        middle = [(Fraction(float(root)) + Fraction(float(other))) / 2 for other in (low, high)]
        assert middle[0] ** 2 <= Fraction(x) <= middle[1] ** 2


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["add", "mul"])
def test_products_and_sums_of_halves_at_the_least_exponents(name: str, dtype: str) -> None:
    """Subnormal results, where rounding twice could go wrong."""
    bits = np.arange(0, 0x0480, 7, dtype=np.uint16)
    one = (0x3C00 if dtype == "float16" else 0x3F80) - np.arange(len(bits), dtype=np.uint16)
    columns = [
        bits.view(numpy_type(dtype)),
        (one if name == "mul" else bits[::-1].copy()).view(numpy_type(dtype)),
    ]
    function = function_of(lambda a, b: operate(name, a, b), [dtype, dtype], dtype)
    for found, a, b in zip(function.evaluate(*columns), *columns, strict=True):
        exact = RATIONAL[name](Fraction(value(a, dtype)), Fraction(value(b, dtype)))
        assert is_nearest(value(found, dtype), exact, TYPES[dtype])


# Approximations, to the stated error.

SINGLE: dict[str, tuple[Callable[[Array], Array], tuple[float, float], float]] = {
    "exp2": (np.exp2, (-120, 127), 2.0**-22),
    "rsqrt": (lambda x: 1 / np.sqrt(x), (1e-30, 1e30), 2.0**-22.9),
    "tanh": (np.tanh, (-9, 9), 2.0**-11),
    "log2": (np.log2, (2.0, 1e30), 2.0**-22),
}


@pytest.mark.parametrize("name", SINGLE)
def test_an_approximation_is_within_its_stated_error(name: str) -> None:
    exact, (low, high), relative = SINGLE[name]
    x = np.linspace(low, high, 400, dtype=np.float32)
    found = simulated(function_of(lambda a: operate(name, a), ["float32"], "float32"), x)
    wanted = exact(x.astype(np.float64))
    assert (np.abs(found - wanted) <= relative * np.abs(wanted)).all()


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_circular_functions_are_within_their_stated_error(name: str) -> None:
    x = np.linspace(-2 * math.pi, 2 * math.pi, 400, dtype=np.float32)
    found = simulated(function_of(lambda a: operate(name, a), ["float32"], "float32"), x)
    assert (np.abs(found - getattr(np, name)(x.astype(np.float64))) <= 2.0**-20.5).all()


def test_exp_is_within_the_error_that_follows_from_its_product() -> None:
    x = np.linspace(-87, 88, 2000, dtype=np.float32)
    found = simulated(function_of(functions.exp, ["float32"], "float32"), x).astype(np.float64)
    wanted = np.exp(x.astype(np.float64))
    ulp = np.spacing(wanted.astype(np.float32)).astype(np.float64)
    assert (np.abs(found - wanted) <= (1.25 * np.abs(x) + 2) * ulp).all()


def test_log_is_two_roundings_from_log2() -> None:
    x = np.geomspace(1e-30, 1e30, 999, dtype=np.float32)
    found = simulated(function_of(functions.log, ["float32"], "float32"), x)
    wanted = np.log(x.astype(np.float64))
    assert (np.abs(found - wanted) <= 2.0**-22 * (np.abs(wanted) + 1)).all()


# Conversions and selection.

NUMERIC = [d for d in TYPES if d != "bool"]


@pytest.mark.parametrize("target", NUMERIC)
@pytest.mark.parametrize("source", NUMERIC)
def test_the_machine_and_numpy_convert_alike(source: str, target: str) -> None:
    column = samples(source, 60, 3)
    for rounding in roundings(TYPES[target], TYPES[source]) or (None,):
        if target == "float64" and source in ("int64", "uint64") and rounding != "rn":
            continue  # which the simulated machine does not know
        function = function_of(lambda x, r=rounding: functions.cast(x, target, r), [source], target)
        found, wanted = simulated(function, column), function.evaluate(column)
        assert same(found, wanted, target), (rounding, column, found, wanted)


@pytest.mark.parametrize("dtype", SELECT)
def test_selection(dtype: str) -> None:
    a, b = samples(dtype, 20, 1), samples(dtype, 20, 2)
    function = function_of(lambda x, y, n: select(n > 2, x, y), [dtype, dtype, "int32"], dtype)
    n = (np.arange(len(a)) % 5).astype(np.int32)
    wanted = np.where(n > 2, a, b)
    assert same(simulated(function, a, b, n), wanted, dtype)
    assert same(function.evaluate(a, b, n), wanted, dtype)


def test_logic_of_conditions() -> None:
    def build(a: Scalar, b: Scalar) -> Scalar:
        one, other = a > 0, b > 0
        bits = [one & other, one | other, one ^ other, ~one, select(one, other, ~other)]
        word: Scalar = tp.constant(0, "uint32")
        for place, bit in enumerate(bits):
            word = word | tp.uint32(bit) << place
        return word

    function = function_of(build, ["int32", "int32"], "uint32")
    a, b = np.array([-1, -1, 1, 1], np.int32), np.array([-1, 1, -1, 1], np.int32)
    table = [
        sum(int(x) << n for n, x in enumerate((p and q, p or q, p != q, not p, q if p else not q)))
        for p, q in zip(a > 0, b > 0, strict=True)
    ]
    assert simulated(function, a, b).tolist() == table
    assert function.evaluate(a, b).tolist() == table


def test_python_comparisons_of_nan() -> None:
    def build(x: Scalar, y: Scalar) -> Scalar:
        return tp.uint32(x != y) + tp.uint32(x == y) * 2 + tp.uint32(x <= y) * 4

    function = function_of(build, ["float32", "float32"], "uint32")
    x = np.array([1.0, math.nan], np.float32)
    assert simulated(function, x, x).tolist() == function.evaluate(x, x).tolist() == [6, 1]


def test_what_evaluate_refuses() -> None:
    function = function_of(lambda a, b: a // b, ["uint32", "uint32"], "uint32")
    zeros = np.zeros(2, np.uint32)
    with pytest.raises(CallError, match="divided by zero"):
        function.evaluate(zeros, zeros)
    with pytest.raises(CallError, match=r"shapes \(2,\), \(3,\)"):
        function.evaluate(zeros, np.ones(3, np.uint32))
    with pytest.raises(CallError, match="an array of int32, not uint32"):
        function.evaluate(zeros.view(np.int32), zeros)
    with pytest.raises(CallError, match="takes 2 inputs, got 1"):
        function.evaluate(zeros)
    with pytest.raises(CallError, match="has no value here"):
        function.evaluate(zeros, tp.variable("n", "uint32"))
