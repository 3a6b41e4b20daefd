"""The NumPy reading of scalar functions: what the expressions mean, each operation rounded in its own type.

Arrays have the NumPy type of the parameter; ``bfloat16`` is its bits in ``uint16``. Inside, floats are held exactly
in arrays of ``float64``. Sums, products, quotients and square roots of the narrower types are computed there and
rounded once more. That is the correctly rounded result, since 53 bits are at least twice as many plus two (S.
Figueroa, "When is double rounding innocuous?", 1995), and none of them leaves float64's normal range. ``fma`` and
integers beyond 53 bits, where that is not so, are computed in exact fractions. Approximations are what float64 gives,
rounded to the type; PTX may differ by the ``error`` in the table of operations. The bits of a NaN mean nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from tileproof.errors import CallError
from tileproof.scalars.expression import Scalar
from tileproof.scalars.function import LambdaExpr, Parameter
from tileproof.scalars.types import Number, Rounding, ScalarType, round_to

Array = np.ndarray[Any, Any]

_STORED = {"bfloat16": np.dtype(np.uint16)}


def evaluate(function: LambdaExpr, *inputs: Array | Scalar | Number) -> Array:
    """The function of arrays, element by element, with scalars broadcast.

    Raises :class:`CallError` for a wrong number, type or shape of inputs, and for an integer division by zero,
    whose result PTX does not specify.
    """
    function.demand_count(len(inputs))
    values: dict[int, Array] = {}
    for parameter, given in zip(function.parameters, inputs, strict=True):
        values[parameter.variable.uid] = _input(function, parameter, given)
    try:
        shape = np.broadcast_shapes(*(v.shape for v in values.values()))
    except ValueError:
        shapes = ", ".join(str(v.shape) for v in values.values())
        raise CallError(f"{function.name}: inputs of shapes {shapes} do not go together") from None
    with np.errstate(all="ignore"):
        for node in function.nodes:
            if node.uid not in values:
                values[node.uid] = _value(node, [values[a.uid] for a in node.args])
    return stored(np.broadcast_to(values[function.body.uid], shape), function.body.type)


def _input(function: LambdaExpr, parameter: Parameter, given: Array | Scalar | Number) -> Array:
    needed = _STORED.get(parameter.dtype, np.dtype(parameter.dtype.replace("bfloat16", "uint16")))
    if isinstance(given, np.ndarray):
        if given.dtype != needed:
            raise CallError(
                f"{function.name}, parameter {parameter}: got an array of {given.dtype}, not {needed}"
            )
        return held(given, parameter.type)
    scalar = function.input(parameter, given)
    if scalar.op != "constant":
        raise CallError(
            f"{function.name}, parameter {parameter}: {scalar!r} has no value here; pass a number"
        )
    return _constant(scalar)


def held(bits: Array, kind: ScalarType) -> Array:
    """Numbers as they are stored -> as they are held: floats in float64, integers and bools in their own type."""
    if kind.name == "bfloat16":
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    return bits.astype(np.float64) if kind.is_float else bits


def stored(numbers: Array, kind: ScalarType) -> Array:
    """The inverse of :func:`held`."""
    if kind.name == "bfloat16":
        return (numbers.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    return numbers.astype(np.dtype(kind.name))


def _constant(node: Scalar) -> Array:
    dtype = np.float64 if node.type.is_float else np.dtype(node.dtype)
    return np.asarray(node.value, dtype)


def _value(node: Scalar, args: list[Array]) -> Array:
    if node.op == "constant":
        return _constant(node)
    if node.op == "select":
        return np.where(args[0], args[1], args[2])
    source = node.args[0].type
    if node.op == "cast":
        return _cast(args[0], source, node.type, node.value)
    if node.op in _COMPARISONS:
        return np.asarray(_COMPARISONS[node.op](*args))
    if source.is_float:
        return np.asarray(_rounded(np.asarray(_FLOATS[node.op](source, *args)), source))
    return np.asarray(_INTEGERS[node.op](source, *args))


def _rounded(numbers: Array, kind: ScalarType, rounding: Rounding = "rn") -> Array:
    """Float64 numbers -> the nearest numbers of the type, ties to even, or those in the direction."""
    if kind.name == "float64":
        return numbers
    _, exponents = np.frexp(numbers)
    unit = np.maximum(exponents - 1, kind.lowest) - kind.precision + 1
    step: Callable[[Array], Array] = {"rn": np.rint, "rz": np.trunc, "rm": np.floor, "rp": np.ceil}[rounding]
    finite = np.isfinite(numbers)
    near = np.ldexp(step(np.ldexp(np.where(finite, numbers, 0.0), -unit)), unit)
    largest = math.ldexp(2.0 - 2.0 ** (1 - kind.precision), kind.highest)
    inward = {
        "rn": np.zeros(near.shape, bool),
        "rz": np.ones(near.shape, bool),
        "rm": near > 0,
        "rp": near < 0,
    }[rounding]
    limit = np.copysign(np.where(inward, largest, np.inf), numbers)
    near = np.where(np.abs(near) > largest, limit, near)
    return np.where(finite, np.copysign(near, numbers), numbers)


def _exactly(exact: Callable[..., Fraction], kind: ScalarType, rounding: Rounding, *columns: Array) -> Array:
    """Each result computed as a fraction and rounded once."""
    flat = [c.ravel().tolist() for c in np.broadcast_arrays(*columns)]
    shape = np.broadcast_shapes(*(c.shape for c in columns))
    found = [round_to(exact(*row), kind, rounding) for row in zip(*flat, strict=True)]
    return np.asarray(found, np.float64).reshape(shape)


def _fma(kind: ScalarType, a: Array, b: Array, c: Array) -> Array:
    rough = np.asarray(a * b + c)
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    safe = [np.where(finite, x, 0.0) for x in np.broadcast_arrays(a, b, c)]
    exact = _exactly(lambda x, y, z: Fraction(x) * Fraction(y) + Fraction(z), kind, "rn", *safe)
    # A zero has the sign of what float64 gives: that of an exact zero, or of a result too small for any float.
    return np.where(finite, np.where(exact == 0, np.copysign(exact, rough), exact), rough)


def _extreme(pick_first: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    def compute(_: ScalarType, a: Array, b: Array) -> Array:
        return np.where(np.isnan(a), b, np.where(np.isnan(b) | pick_first(a, b), a, b))

    return compute


def _less(a: Array, b: Array) -> Array:
    """By value; -0.0 is less than 0.0."""
    return np.asarray((a < b) | ((a == b) & np.signbit(a)))


def _greater(a: Array, b: Array) -> Array:
    return np.asarray((a > b) | ((a == b) & ~np.signbit(a)))


def _exp2(kind: ScalarType, x: Array) -> Array:
    return np.exp2(_flushed(x, kind) if kind.name == "bfloat16" else x)


def _flushed(numbers: Array, kind: ScalarType) -> Array:
    tiny = np.abs(numbers) < math.ldexp(1.0, kind.lowest)
    return np.where(tiny, np.copysign(0.0, numbers), numbers)


_FLOATS: Mapping[str, Callable[..., Array]] = {
    "add": lambda _, a, b: a + b,
    "sub": lambda _, a, b: a - b,
    "mul": lambda _, a, b: a * b,
    "div": lambda _, a, b: a / b,
    "fma": _fma,
    "min": _extreme(_less),
    "max": _extreme(_greater),
    "abs": lambda _, x: np.abs(x),
    "neg": lambda _, x: -x,
    "sqrt": lambda _, x: np.sqrt(x),
    "rcp": lambda _, x: 1.0 / x,
    "rsqrt": lambda _, x: 1.0 / np.sqrt(x),
    "exp2": _exp2,
    "log2": lambda _, x: np.log2(x),
    "tanh": lambda _, x: np.tanh(x),
    "sin": lambda _, x: np.sin(x),
    "cos": lambda _, x: np.cos(x),
}


def _divided(divide: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    def compute(kind: ScalarType, a: Array, b: Array) -> Array:
        if (b == 0).any():
            raise CallError(
                f"a {kind.name} is divided by zero, and PTX does not specify the result (9.7.1.8)"
            )
        return divide(a, b)

    return compute


def _shifted(shift: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    """In two steps, since NumPy shifts by less than the width only."""

    def compute(kind: ScalarType, x: Array, amount: Array) -> Array:
        whole = np.minimum(amount, np.uint32(kind.bits))
        once = np.minimum(whole, np.uint32(kind.bits - 1))
        return shift(shift(x, once.astype(x.dtype)), (whole - once).astype(x.dtype))

    return compute


_INTEGERS: Mapping[str, Callable[..., Array]] = {
    "add": lambda _, a, b: a + b,
    "sub": lambda _, a, b: a - b,
    "mul": lambda _, a, b: a * b,
    "floordiv": _divided(np.floor_divide),
    "mod": _divided(np.remainder),
    "min": lambda _, a, b: np.minimum(a, b),
    "max": lambda _, a, b: np.maximum(a, b),
    "abs": lambda _, x: np.abs(x),
    "neg": lambda _, x: -x,
    "and": lambda _, a, b: a & b,
    "or": lambda _, a, b: a | b,
    "xor": lambda _, a, b: a ^ b,
    "not": lambda _, x: ~x,
    "shl": _shifted(np.left_shift),
    "shr": _shifted(np.right_shift),
}

_COMPARISONS: Mapping[str, Callable[[Array, Array], Any]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}

_WHOLE: Mapping[str, Callable[[Array], Array]] = {
    "rzi": np.trunc,
    "rni": np.rint,
    "rmi": np.floor,
    "rpi": np.ceil,
}


def _cast(x: Array, source: ScalarType, target: ScalarType, rounding: Any) -> Array:
    if source.is_float and target.is_float:
        return _rounded(x, target, rounding or "rn")
    if source.is_float:
        return _to_integer(_WHOLE[rounding](x), source, target)
    if target.is_float:
        return _exactly(Fraction, target, rounding, x)
    return x.astype(np.dtype(target.name))


def _to_integer(whole: Array, source: ScalarType, target: ScalarType) -> Array:
    """Clamped to the range of the integer (PTX ISA 9.7.9.21)."""
    dtype = np.dtype(target.name)
    least, past = float(target.least), 2.0 ** (target.bits - (target.kind == "signed"))
    inside = (whole > least) & (whole < past)
    found = np.where(inside, whole, 0.0).astype(dtype)
    found = np.where(whole >= past, dtype.type(target.greatest), found)
    found = np.where(whole <= least, dtype.type(target.least), found)
    highest_bit = target.least if target.kind == "signed" else 1 << (target.bits - 1)
    nan = highest_bit if source.name == "float64" or target.bits == 64 else 0
    return np.where(np.isnan(whole), dtype.type(nan), found)
