"""Typed scalar expressions, built by ordinary Python operators.

    x = variable("x", "float32")
    y = x * 2 + float32(0.1)       # types match exactly; 2 is a float32 number, 0.1 is none and is rounded here

Expressions are immutable and hash-consed: equal ones are the same object, so subexpressions are shared. What an
operation means, in PTX and otherwise, is in :mod:`tileproof.scalars.operations`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

from tileproof.errors import CallError
from tileproof.scalars.operations import (
    OPERATIONS,
    SELECT,
    SHIFTS,
    Instruction,
    Operation,
    conversion,
    result_type,
    roundings,
)
from tileproof.scalars.types import BOOL, TYPES, Number, ScalarType, holds, plain, range_text, scalar_type

Value = int | float | str | None


class Trace:
    """A function that is being traced: it decides what ``bool`` of a comparison is. See ``trace.py``."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.running = True

    def decide(self, condition: Scalar) -> bool:
        raise NotImplementedError


@dataclass(frozen=True, eq=False, repr=False)
class Scalar:
    """A node: a ``constant`` or ``variable``, or an operation on ``args``.

    ``value`` is a constant's number, a variable's name or a conversion's rounding. ``uid`` numbers the nodes of
    this process. ``trace`` is the running trace that the node belongs to, if any.
    """

    op: str
    dtype: str
    args: tuple[Scalar, ...] = ()
    value: Value = None
    uid: int = -1
    trace: Trace | None = field(default=None)

    @property
    def type(self) -> ScalarType:
        return TYPES[self.dtype]

    # Arithmetic.

    def __add__(self, other: Scalar | Number) -> Scalar:
        return operate("add", self, other)

    def __radd__(self, other: Number) -> Scalar:
        return operate("add", other, self)

    def __sub__(self, other: Scalar | Number) -> Scalar:
        return operate("sub", self, other)

    def __rsub__(self, other: Number) -> Scalar:
        return operate("sub", other, self)

    def __mul__(self, other: Scalar | Number) -> Scalar:
        return operate("mul", self, other)

    def __rmul__(self, other: Number) -> Scalar:
        return operate("mul", other, self)

    def __truediv__(self, other: Scalar | Number) -> Scalar:
        return operate("div", self, other)

    def __rtruediv__(self, other: Number) -> Scalar:
        return operate("div", other, self)

    def __floordiv__(self, other: Scalar | Number) -> Scalar:
        return operate("floordiv", self, other)

    def __rfloordiv__(self, other: Number) -> Scalar:
        return operate("floordiv", other, self)

    def __mod__(self, other: Scalar | Number) -> Scalar:
        return operate("mod", self, other)

    def __rmod__(self, other: Number) -> Scalar:
        return operate("mod", other, self)

    def __neg__(self) -> Scalar:
        return operate("neg", self)

    def __pos__(self) -> Scalar:
        return self

    def __abs__(self) -> Scalar:
        return operate("abs", self)

    def __pow__(self, other: object) -> Scalar:
        raise CallError("scalar expressions have no **; write products, or exp2 and log2")

    # Bits.

    def __and__(self, other: Scalar | Number) -> Scalar:
        return operate("and", self, other)

    def __rand__(self, other: Number) -> Scalar:
        return operate("and", other, self)

    def __or__(self, other: Scalar | Number) -> Scalar:
        return operate("or", self, other)

    def __ror__(self, other: Number) -> Scalar:
        return operate("or", other, self)

    def __xor__(self, other: Scalar | Number) -> Scalar:
        return operate("xor", self, other)

    def __rxor__(self, other: Number) -> Scalar:
        return operate("xor", other, self)

    def __invert__(self) -> Scalar:
        return operate("not", self)

    def __lshift__(self, other: Scalar | Number) -> Scalar:
        return operate("shl", self, other)

    def __rshift__(self, other: Scalar | Number) -> Scalar:
        return operate("shr", self, other)

    # Comparisons, and what a Python number has that an expression has not.

    def __eq__(self, other: object) -> Scalar:  # type: ignore[override]
        return operate("eq", self, other)

    def __ne__(self, other: object) -> Scalar:  # type: ignore[override]
        return operate("ne", self, other)

    def __lt__(self, other: Scalar | Number) -> Scalar:
        return operate("lt", self, other)

    def __le__(self, other: Scalar | Number) -> Scalar:
        return operate("le", self, other)

    def __gt__(self, other: Scalar | Number) -> Scalar:
        return operate("gt", self, other)

    def __ge__(self, other: Scalar | Number) -> Scalar:
        return operate("ge", self, other)

    __hash__ = object.__hash__
    __array_ufunc__ = None  # a NumPy number on the left leaves the operation to the expression

    def __bool__(self) -> bool:
        if self.dtype != BOOL.name:
            raise CallError(f"a {self.dtype} is no condition; compare {self!r}, as in x != 0")
        if self.op == "constant":
            return bool(self.value)
        if self.trace is None:
            raise CallError(
                f"{self!r} has no truth value outside of a scalar function; combine conditions by &, | and ~, and "
                "choose by select"
            )
        _demand_running(self.trace, self)
        return self.trace.decide(self)

    def _no_number(self) -> Any:
        raise CallError(f"{self!r} has no value while a function is traced; convert it, as in tp.int32(x)")

    __int__ = __float__ = __index__ = __complex__ = _no_number

    def __iter__(self) -> Iterator[Any]:
        raise CallError(f"{self!r} is one scalar and has no elements")

    def __repr__(self) -> str:
        from tileproof.scalars.text import text

        return text(self)

    def __reduce__(self) -> Any:
        from tileproof.scalars.serial import restored, rows

        return restored, (rows(self),)


_NODES: WeakValueDictionary[Any, Scalar] = WeakValueDictionary()
_UIDS = count()


def make(op: str, dtype: str, args: tuple[Scalar, ...], value: Value, trace: Trace | None = None) -> Scalar:
    """The one node of that description, unchecked."""
    known = ("bits", struct.pack("<d", value)) if isinstance(value, float) else (type(value), value)
    key = (op, dtype, tuple(a.uid for a in args), known, id(trace))
    found = _NODES.get(key)
    if found is None:
        found = _NODES[key] = Scalar(op, dtype, args, value, next(_UIDS), trace)
    return found


def constant(value: Number, dtype: str | ScalarType) -> Scalar:
    """A constant. Raises :class:`CallError` for a number that the type does not have exactly."""
    kind = scalar_type(dtype)
    if not holds(value, kind):
        raise CallError(_unheld(value, kind))
    number = plain(value)
    if kind.is_float:
        # The sign and the payload of a NaN mean nothing, so there is one.
        number = math.nan if math.isnan(number) else float(number)
    return make("constant", kind.name, (), number)


def variable(name: str, dtype: str | ScalarType) -> Scalar:
    """A value that is known at run time: a parameter of a scalar function or of a kernel."""
    if not isinstance(name, str) or not name.isidentifier():
        raise CallError(f"the name of a scalar must be an identifier, got {name!r}")
    return make("variable", scalar_type(dtype).name, (), name)


def operate(name: str, *operands: Any) -> Scalar:
    """An operation of the table. Raises :class:`CallError` for operands that it does not have."""
    operation = OPERATIONS[name]
    if name in SHIFTS:
        amount = _literal(operands[1], TYPES["uint32"], f"the amount of {operation.symbol}")
        if amount.dtype != "uint32":
            raise CallError(f"the amount of {operation.symbol} must be uint32, got {amount.dtype}")
        (first,) = _alike(operation.symbol, operands[0])
        args: tuple[Scalar, ...] = (first, amount)
    else:
        args = _alike(operation.symbol, *operands)
    kind = args[0].type
    if kind.name not in operation.forms:
        raise CallError(_lacking(operation, kind))
    return make(name, result_type(operation, kind).name, args, None, trace_of(args))


def select(condition: Scalar, a: Scalar | Number, b: Scalar | Number) -> Scalar:
    """``a`` where the condition holds, else ``b``."""
    if not isinstance(condition, Scalar) or condition.dtype != BOOL.name:
        raise CallError(f"the condition of select must be a comparison, got {condition!r}")
    one, other = _alike("select", a, b)
    if one is other:
        return one
    if one.dtype == BOOL.name:  # predicates have no selp
        return (condition & one) | (~condition & other)
    args = (condition, one, other)
    return make("select", one.dtype, args, None, trace_of(args))


def cast(x: Scalar, dtype: str | ScalarType, rounding: str | None = None) -> Scalar:
    """The value in another type, by PTX ``cvt``; the default rounds floats to nearest and integers to zero.

    ``rounding`` is ``rn``, ``rz``, ``rm`` or ``rp`` where the result is a float, ``rzi``, ``rni``, ``rmi`` or
    ``rpi`` from a float to an integer. A ``bool`` becomes one or zero.
    """
    target, source = scalar_type(dtype), _scalar(x).type
    legal = roundings(target, source)
    if rounding is not None and rounding not in legal:
        named = f"one of {', '.join(legal)}" if legal else "no rounding, since it needs none"
        raise CallError(f"{target.name} of a {source.name} takes {named}; got {rounding!r}")
    if target is source:
        return x
    if target is BOOL:
        raise CallError(f"a {source.name} is not converted to bool; write x != 0")
    if source is BOOL:
        return select(x, constant(1, target), constant(0, target))
    chosen = rounding or (legal[0] if legal else None)
    return make("cast", target.name, (x,), chosen, trace_of((x,)))


def instruction_of(node: Scalar) -> Instruction | None:
    """The instruction of a node; ``None`` for a leaf, and for a conversion that leaves the bits as they are."""
    if node.op in OPERATIONS:
        return OPERATIONS[node.op].forms[node.args[0].dtype]
    if node.op == "select":
        return SELECT[node.dtype]
    if node.op == "cast":
        return conversion(node.type, node.args[0].type, None if node.value is None else str(node.value))
    return None


def _scalar(x: object) -> Scalar:
    if not isinstance(x, Scalar):
        raise CallError(f"needed a scalar expression, got {x!r}; give a number a type, as in tp.float32(0.5)")
    return x


def _alike(symbol: str, *operands: object) -> tuple[Scalar, ...]:
    """The operands as expressions of one type; a Python number takes the type of the others."""
    typed = [x for x in operands if isinstance(x, Scalar)]
    if not typed:
        raise CallError(
            f"{symbol} of {', '.join(map(repr, operands))}: give one a type, as in tp.float32(0.5)"
        )
    kind = typed[0].type
    args = tuple(_literal(x, kind, symbol) for x in operands)
    for other in args:
        if other.dtype != kind.name:
            raise CallError(
                f"{symbol} of {kind.name} and {other.dtype}: types match exactly or are converted, as in "
                f"tp.{kind.name}(...); the operands are {args[0]!r} and {other!r}"
            )
    return args


def _literal(x: object, kind: ScalarType, where: str) -> Scalar:
    if isinstance(x, Scalar):
        return x
    number = plain(x)
    if not holds(number, kind):
        raise CallError(f"{where}: {_unheld(number, kind)}")
    return constant(number, kind)


def _unheld(value: object, kind: ScalarType) -> str:
    number = plain(value)
    if kind.is_float and not isinstance(number, bool):
        return f"{number!r} is no {kind.name} number; write tp.{kind.name}({number!r}) to round it"
    return f"{number!r} is no {kind.name} number: {range_text(kind)}"


def _lacking(operation: Operation, kind: ScalarType) -> str:
    legal = ", ".join(operation.forms)
    advice = ""
    if kind is BOOL:
        advice = "; combine conditions by &, | and ~, and choose by select"
    elif operation.name in ("floordiv", "mod") and kind.kind == "signed":
        advice = "; which way PTX rounds a negative quotient is not specified"
    elif "float32" in operation.forms and kind.is_float:
        advice = f"; convert, as in tp.{kind.name}(f(tp.float32(x)))"
    return f"{kind.name} has no {operation.symbol} in PTX: it is there for {legal}{advice}"


def trace_of(args: tuple[Scalar, ...]) -> Trace | None:
    """The trace that the operands belong to."""
    found: Trace | None = None
    for arg in args:
        if arg.trace is not None:
            _demand_running(arg.trace, arg)
            if found is not None and found is not arg.trace:
                raise CallError(f"{arg!r} is of {arg.trace.name}, and {found.name} has no value of it")
            found = arg.trace
    return found


def _demand_running(trace: Trace, node: Scalar) -> None:
    if not trace.running:
        raise CallError(
            f"{node!r} was traced in {trace.name}, which is over; a traced scalar has no meaning outside of its "
            "function"
        )
