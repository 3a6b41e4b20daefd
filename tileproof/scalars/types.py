"""The element types of scalar expressions, and which Python numbers each of them can hold.

A type is an annotation in a scalar function and a constructor: ``float32(0.1)`` is the nearest constant, and
``float32(x)`` converts an expression.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from tileproof.errors import CallError

if TYPE_CHECKING:
    from tileproof.scalars.expression import Scalar

Number = int | float
Rounding = Literal["rn", "rz", "rm", "rp"]


@dataclass(frozen=True)
class ScalarType:
    """An element type. ``ptx`` is its name in opcodes; ``precision`` counts the significant bits of a float,
    and ``lowest`` and ``highest`` are the exponents of its smallest and largest normal number.
    """

    name: str
    bits: int
    kind: Literal["float", "signed", "unsigned", "bool"]
    ptx: str
    precision: int = 0
    lowest: int = 0
    highest: int = 0

    def __call__(self, value: Scalar | Number) -> Scalar:
        """A constant, rounded to nearest, or the conversion of an expression to this type."""
        from tileproof.scalars.expression import Scalar, cast, constant

        if isinstance(value, Scalar):
            return cast(value, self.name)
        return constant(nearest(value, self), self.name)

    def __repr__(self) -> str:
        return self.name

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        return self.kind in ("signed", "unsigned")

    @property
    def least(self) -> int:
        """The least integer of the type."""
        return -(1 << (self.bits - 1)) if self.kind == "signed" else 0

    @property
    def greatest(self) -> int:
        """The greatest integer of the type."""
        return (1 << (self.bits - (self.kind == "signed"))) - 1


float64 = ScalarType("float64", 64, "float", "f64", 53, -1022, 1023)
float32 = ScalarType("float32", 32, "float", "f32", 24, -126, 127)
float16 = ScalarType("float16", 16, "float", "f16", 11, -14, 15)
bfloat16 = ScalarType("bfloat16", 16, "float", "bf16", 8, -126, 127)
int64 = ScalarType("int64", 64, "signed", "s64")
int32 = ScalarType("int32", 32, "signed", "s32")
int16 = ScalarType("int16", 16, "signed", "s16")
uint64 = ScalarType("uint64", 64, "unsigned", "u64")
uint32 = ScalarType("uint32", 32, "unsigned", "u32")
uint16 = ScalarType("uint16", 16, "unsigned", "u16")
BOOL = ScalarType("bool", 1, "bool", "pred")

TYPES: Mapping[str, ScalarType] = MappingProxyType(
    {
        t.name: t
        for t in (
            float64, float32, float16, bfloat16, int64, int32, int16, uint64, uint32, uint16, BOOL,
        )
    }
)  # fmt: skip


_WHOLE: Mapping[Rounding, Callable[[Fraction], int]] = {
    "rn": round,
    "rz": math.trunc,
    "rm": math.floor,
    "rp": math.ceil,
}


def scalar_type(dtype: str | ScalarType) -> ScalarType:
    """The type of that name. Raises :class:`CallError` for a type that expressions do not have."""
    found = dtype if isinstance(dtype, ScalarType) else TYPES.get(dtype)
    if found is None:
        raise CallError(f"scalar expressions have no type {dtype!r}; their types are {', '.join(TYPES)}")
    return found


def plain(value: object) -> Number | bool:
    """A Python or NumPy number as a Python one. Raises :class:`CallError` for anything else."""
    if isinstance(value, (bool, int, float)):
        return value if isinstance(value, (bool, int)) else float(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real) and not isinstance(value, Fraction):
        return float(value)
    if type(value).__name__ in ("bool_", "bool"):  # NumPy's, which is no number of Python's
        return bool(value)
    raise CallError(f"needed a number or a scalar expression, got {value!r}")


def holds(value: object, dtype: ScalarType) -> bool:
    """Whether the type has exactly this number; a ``float`` is no integer, and ``True`` is a ``bool`` only."""
    number = plain(value)
    if isinstance(number, bool) or dtype is BOOL:
        return isinstance(number, bool) and dtype is BOOL
    if dtype.is_integer:
        return isinstance(number, int) and dtype.least <= number <= dtype.greatest
    if isinstance(number, float) and not math.isfinite(number):
        return True
    return round_to(Fraction(number), dtype) == number


def nearest(value: object, dtype: ScalarType) -> Number:
    """The number of the type that is nearest to ``value``. Raises :class:`CallError` if it is out of range."""
    number = plain(value)
    if not dtype.is_float:
        if not holds(number, dtype):
            raise CallError(f"{dtype.name}({number!r}): {range_text(dtype)}")
        return number
    if isinstance(number, bool):
        raise CallError(f"{dtype.name}({number!r}): a bool is no {dtype.name}; write 1.0 or 0.0")
    if isinstance(number, float) and not math.isfinite(number):
        return number
    found = round_to(Fraction(number), dtype)
    if math.isinf(found):
        raise CallError(f"{dtype.name}({number!r}): beyond the range of {dtype.name}; write float('inf')")
    return math.copysign(0.0, number) if found == 0 else found


def range_text(dtype: ScalarType) -> str:
    """What numbers the type has, for messages."""
    if dtype is BOOL:
        return "bool is True or False"
    if dtype.is_integer:
        return f"{dtype.name} has the integers from {dtype.least} to {dtype.greatest}"
    return f"{dtype.name} has {dtype.precision} significant bits"


def round_to(value: Fraction, dtype: ScalarType, rounding: Rounding = "rn") -> float:
    """The number of a float type that an exact value rounds to, once; zero comes out as ``+0.0``.

    ``rn`` is to nearest, ties to even; ``rz``, ``rm``, ``rp`` are toward zero, minus and plus infinity (IEEE 754,
    4.3; PTX ISA 9.7.3). All types fit in Python's ``float``, which is ``float64``.
    """
    if value == 0:
        return 0.0
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, dtype.lowest) - dtype.precision + 1)
    step: Callable[[Fraction], int] = _WHOLE[rounding]
    whole = step(value / unit)
    found = whole * unit
    largest = (2 - Fraction(2) ** (1 - dtype.precision)) * Fraction(2) ** dtype.highest
    if abs(found) <= largest:
        return float(found)
    away = {"rn": True, "rz": False, "rm": value < 0, "rp": value > 0}[rounding]
    return math.copysign(math.inf if away else float(largest), 1 if value > 0 else -1)
