"""The operations of scalar expressions: what each means in PTX, on which types, and how exact it is.

One operation is one instruction. Where PTX has a correctly rounded form (``.rn``) that one is meant, spelled
out: an instruction with an explicit rounding is never contracted into a fused multiply-add (PTX ISA 9.7.3.3).
Where PTX has approximations only, ``error`` says the ISA's bound. Nothing is flushed to zero, except where PTX
has no other form. What PTX has no instruction for is no operation here: convert to a type that has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from tileproof.scalars.types import BOOL, TYPES, ScalarType

FLOATS = ("float64", "float32", "float16", "bfloat16")
SIGNED = ("int64", "int32", "int16")
UNSIGNED = ("uint64", "uint32", "uint16")
INTEGERS = (*SIGNED, *UNSIGNED)

PtxVersion = tuple[int, int]


@dataclass(frozen=True)
class Instruction:
    """An opcode, and the least target (90 for sm_90) and PTX ISA version that have it."""

    opcode: str
    target: int = 0
    version: PtxVersion = (1, 0)
    error: str = ""


@dataclass(frozen=True)
class Operation:
    """An operation on ``operands`` values, all of one type, which the result has too unless it is a ``bool``.

    ``symbol`` is how Python writes it. ``forms`` has the instruction for each type of the operands.
    """

    name: str
    symbol: str
    operands: int
    section: str
    forms: Mapping[str, Instruction]
    result: Literal["same", "bool"] = "same"


@dataclass
class _Table:
    rows: dict[str, Operation] = field(default_factory=dict)

    def add(
        self,
        name: str,
        symbol: str,
        operands: int,
        section: str,
        *forms: dict[str, Instruction],
        result: Literal["same", "bool"] = "same",
    ) -> None:
        merged: dict[str, Instruction] = {}
        for some in forms:
            merged |= some
        self.rows[name] = Operation(name, symbol, operands, section, MappingProxyType(merged), result)


def _each(
    pattern: str,
    dtypes: tuple[str, ...],
    target: int = 0,
    version: PtxVersion = (1, 0),
    error: str = "",
) -> dict[str, Instruction]:
    """An instruction for each type: ``{t}`` stands for the type, ``{b}`` for its width without a type."""
    return {
        d: Instruction(pattern.format(t=TYPES[d].ptx, b=f"b{TYPES[d].bits}"), target, version, error)
        for d in dtypes
    }


def _operations() -> dict[str, Operation]:
    table = _Table()
    single, half, brain = ("float32",), ("float16",), ("bfloat16",)
    ieee = ("float64", "float32", "float16")
    for name, symbol, number in (("add", "+", 1), ("sub", "-", 2), ("mul", "*", 3)):
        table.add(
            name, symbol, 2, f"9.7.3, 9.7.4.{number}, 9.7.1.{number}",
            _each(f"{name}.rn.{{t}}", ieee), _each(f"{name}.rn.{{t}}", brain, 90, (7, 8)),
            _each("mul.lo.{t}" if name == "mul" else f"{name}.{{t}}", INTEGERS),
        )  # fmt: skip
    table.add("div", "/", 2, "9.7.3.8", _each("div.rn.{t}", ("float64", "float32")))
    unspecified = "by zero: unspecified"
    table.add("floordiv", "//", 2, "9.7.1.8", _each("div.{t}", UNSIGNED, error=unspecified))
    table.add("mod", "%", 2, "9.7.1.9", _each("rem.{t}", UNSIGNED, error=unspecified))
    table.add(
        "fma", "fma", 3, "9.7.3.6, 9.7.4.4",
        _each("fma.rn.{t}", ieee), _each("fma.rn.{t}", brain, 80, (7, 0)),
    )  # fmt: skip
    for name, number in (("min", 11), ("max", 12)):
        table.add(
            name, f"{name}imum", 2, f"9.7.3.{number}, 9.7.4.{number - 4}, 9.7.1.{number + 1}",
            _each(f"{name}.{{t}}", ("float64", "float32", *INTEGERS)),
            _each(f"{name}.{{t}}", ("float16", "bfloat16"), 80, (7, 0)),
        )  # fmt: skip
    for name, symbol, number in (("abs", "abs", 9), ("neg", "-", 10)):
        table.add(
            name, symbol, 1, f"9.7.3.{number}, 9.7.4, 9.7.1.{number + 1}",
            _each(f"{name}.{{t}}", (*ieee, *SIGNED), version=(6, 5)), _each(f"{name}.{{t}}", brain, 80, (7, 0)),
        )  # fmt: skip
    table.add("sqrt", "sqrt", 1, "9.7.3.15", _each("sqrt.rn.{t}", ("float64", "float32")))
    table.add("rcp", "rcp", 1, "9.7.3.13", _each("rcp.rn.{t}", ("float64", "float32")))
    table.add(
        "rsqrt", "rsqrt", 1, "9.7.3.16",
        _each("rsqrt.approx.{t}", single, error="relative error at most 2**-22.9"),
    )  # fmt: skip
    table.add(
        "exp2", "exp2", 1, "9.7.3.21, 9.7.4.10",
        _each("ex2.approx.{t}", single, error="at most 2 ulp from the correctly rounded result"),
        _each("ex2.approx.{t}", half, 75, (7, 0), "relative error at most 2**-9.9"),
        _each("ex2.approx.ftz.{t}", brain, 90, (7, 8), "relative error at most 2**-7; subnormals are flushed"),
    )  # fmt: skip
    table.add(
        "log2", "log2", 1, "9.7.3.20",
        _each(
            "lg2.approx.{t}", single,
            error="absolute error at most 2**-22 between 0.5 and 2, else relative error at most 2**-22",
        ),
    )  # fmt: skip
    table.add(
        "tanh", "tanh", 1, "9.7.3.22, 9.7.4.9",
        _each("tanh.approx.{t}", single, 75, (7, 0), "relative error at most 2**-11"),
        _each("tanh.approx.{t}", half, 75, (7, 0), "absolute error at most 2**-10.987"),
        _each("tanh.approx.{t}", brain, 90, (7, 8), "absolute error at most 2**-8"),
    )  # fmt: skip
    circle = "absolute error at most 2**-20.5 from -2*pi to 2*pi, 2**-14.7 from -100*pi to 100*pi"
    table.add("sin", "sin", 1, "9.7.3.18", _each("sin.approx.{t}", single, error=circle))
    table.add("cos", "cos", 1, "9.7.3.19", _each("cos.approx.{t}", single, error=circle))
    # Only `!=` holds of NaN, as in Python.
    for name, symbol in (("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")):
        word = "neu" if name == "ne" else name
        table.add(
            name, symbol, 2, "9.7.6.2, 9.7.7.2",
            _each(f"setp.{word}.{{t}}", ieee), _each(f"setp.{word}.{{t}}", brain, 90, (7, 8)),
            _each(f"setp.{name}.{{t}}", INTEGERS), result="bool",
        )  # fmt: skip
    for name, symbol, number in (("and", "&", 1), ("or", "|", 2), ("xor", "^", 3)):
        forms = {**_each(f"{name}.{{b}}", INTEGERS), "bool": Instruction(f"{name}.pred")}
        table.add(name, symbol, 2, f"9.7.8.{number}", forms)
    table.add("not", "~", 1, "9.7.8.4", _each("not.{b}", INTEGERS), {"bool": Instruction("not.pred")})
    # The amount is a uint32; amounts past the width are taken as the width.
    table.add("shl", "<<", 2, "9.7.8.8", _each("shl.{b}", INTEGERS))
    table.add("shr", ">>", 2, "9.7.8.9", _each("shr.{t}", INTEGERS))
    return table.rows


OPERATIONS: Mapping[str, Operation] = MappingProxyType(_operations())

SHIFTS = ("shl", "shr")

SELECT: Mapping[str, Instruction] = MappingProxyType(
    {
        **_each("selp.{t}", ("float64", "float32")),
        **_each("selp.{b}", ("float16", "bfloat16", *INTEGERS)),
    }
)
"""``select(condition, a, b)`` by the type of ``a`` and ``b`` (PTX ISA 9.7.6.3)."""

FLOAT_ROUNDINGS = ("rn", "rz", "rm", "rp")
INTEGER_ROUNDINGS = ("rzi", "rni", "rmi", "rpi")


def roundings(target: ScalarType, source: ScalarType) -> tuple[str, ...]:
    """The roundings of a conversion, its default first; none where the conversion is exact or wraps."""
    if source.is_float and target.is_integer:
        return INTEGER_ROUNDINGS
    if source.is_integer and target.is_float:
        return FLOAT_ROUNDINGS
    if source.is_float and (source.precision > target.precision or source.highest > target.highest):
        # Only .rn and .rz go from .f32 to .f16 and .bf16 in the ISA's own syntax (PTX ISA 9.7.9.21).
        return FLOAT_ROUNDINGS[:2] if target.bits == 16 else FLOAT_ROUNDINGS
    return ()


def conversion(target: ScalarType, source: ScalarType, rounding: str | None) -> Instruction | None:
    """The instruction that converts (PTX ISA 9.7.9.21); ``None`` where the bits stay as they are.

    Integers are extended by the sign of their own type and cut off; floats out of an integer's range give its
    end, and NaN gives zero, or the highest bit alone from float64 or to 64 bits.
    """
    if source.is_integer and target.is_integer and source.bits == target.bits:
        return None
    opcode = ".".join(word for word in ("cvt", rounding, target.ptx, source.ptx) if word)
    if "bfloat16" not in (target.name, source.name):
        return Instruction(opcode)
    if (target.name, source.name) in (("bfloat16", "float32"), ("float32", "bfloat16")):
        return Instruction(opcode, 80, (7, 1))
    return Instruction(opcode, 90, (7, 8))


def result_type(operation: Operation, operand: ScalarType) -> ScalarType:
    """The type of the result, by the type of the operands."""
    return BOOL if operation.result == "bool" else operand
