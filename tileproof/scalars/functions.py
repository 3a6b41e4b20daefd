"""Functions on scalar expressions; those of one PTX instruction are rows of the table of operations."""

from __future__ import annotations

import math

from tileproof.errors import CallError
from tileproof.scalars.expression import Scalar, cast, operate, select
from tileproof.scalars.types import Number, float32

__all__ = [
    "cast", "cos", "exp", "exp2", "fma", "log", "log2", "maximum", "minimum", "rcp", "rsqrt", "select", "sin",
    "sqrt", "tanh",
]  # fmt: skip


def fma(a: Scalar | Number, b: Scalar | Number, c: Scalar | Number) -> Scalar:
    """``a * b + c``, rounded once."""
    return operate("fma", a, b, c)


def minimum(a: Scalar | Number, b: Scalar | Number) -> Scalar:
    """The less; a number wins over NaN, and -0.0 is less than 0.0 (PTX ISA 9.7.3.11)."""
    return operate("min", a, b)


def maximum(a: Scalar | Number, b: Scalar | Number) -> Scalar:
    """The greater; a number wins over NaN, and -0.0 is less than 0.0 (PTX ISA 9.7.3.12)."""
    return operate("max", a, b)


def sqrt(x: Scalar) -> Scalar:
    """The square root, rounded correctly."""
    return operate("sqrt", x)


def rcp(x: Scalar) -> Scalar:
    """``1 / x``, rounded correctly."""
    return operate("rcp", x)


def rsqrt(x: Scalar) -> Scalar:
    """``1 / sqrt(x)``; relative error at most 2**-22.9 (PTX ISA 9.7.3.16)."""
    return operate("rsqrt", x)


def exp2(x: Scalar) -> Scalar:
    """``2**x``; of a float32 at most 2 ulp off (PTX ISA 9.7.3.21)."""
    return operate("exp2", x)


def log2(x: Scalar) -> Scalar:
    """The logarithm to base 2; absolute error at most 2**-22 between 0.5 and 2, elsewhere relative (PTX ISA
    9.7.3.20).
    """
    return operate("log2", x)


def tanh(x: Scalar) -> Scalar:
    """The hyperbolic tangent; of a float32, relative error at most 2**-11 (PTX ISA 9.7.3.22)."""
    return operate("tanh", x)


def sin(x: Scalar) -> Scalar:
    """The sine; absolute error at most 2**-20.5 from -2*pi to 2*pi (PTX ISA 9.7.3.18)."""
    return operate("sin", x)


def cos(x: Scalar) -> Scalar:
    """The cosine; absolute error at most 2**-20.5 from -2*pi to 2*pi (PTX ISA 9.7.3.19)."""
    return operate("cos", x)


def exp(x: Scalar) -> Scalar:
    """``e**x`` of a float32, as ``exp2(x * float32(log2(e)))``.

    The product is rounded, and so is the constant, by 2**-24 and 2**-26 of its value at most: the result is off
    by ``1.25 * |x| + 2`` ulp at most.
    """
    return exp2(_single("exp", x) * float32(math.log2(math.e)))


def log(x: Scalar) -> Scalar:
    """The natural logarithm of a float32, as ``log2(x) * float32(log(2))``."""
    return log2(_single("log", x)) * float32(math.log(2.0))


def _single(name: str, x: Scalar) -> Scalar:
    if not isinstance(x, Scalar) or x.dtype != float32.name:
        kind = x.dtype if isinstance(x, Scalar) else repr(x)
        raise CallError(
            f"{name} is of a float32, which is what PTX approximates; got {kind}: convert it, as in tp.float32(x)"
        )
    return x
