"""What may stand in a spec file, and of which type: the tables of the TOML as pydantic models.

    [symbols.i]     a runtime integer
    [tensors.A]     storage with a shape and a layout, or a tensor declared over other storage
    [[calls]]       an instruction with its operands, each a tensor under a list of view steps

Numbers are integers or, where a runtime value makes sense, expressions in text. The models only say what is
well formed; ``build.py`` makes the objects.
"""

from __future__ import annotations

import reprlib
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, model_validator

LARGEST = 1 << 64
"""Numbers in a spec stay below this in magnitude: no address, size or runtime value of a GPU is larger."""


def _integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"needs an integer, got {_shown(value)}")
    if abs(value) > LARGEST:
        raise ValueError(f"is larger than 2**64 in magnitude: {_shown(value)}")
    return value


def _small(value: object) -> int:
    number = _integer(value)
    if abs(number) > 64:
        raise ValueError(f"counts bits of an offset, so it is at most 64 in magnitude; got {number}")
    return number


def _positive(value: object) -> int:
    number = _integer(value)
    if number < 1:
        raise ValueError(f"needs a positive integer, got {number}")
    return number


def _expression(value: object) -> int | str:
    if isinstance(value, str):
        return value
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"needs an integer or an expression in text, got {_shown(value)}")
    return _integer(value)


def _scalar(value: object) -> int | float | str:
    return value if isinstance(value, float) else _expression(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"needs text, got {_shown(value)}")
    return value


def _texts(value: object) -> list[str]:
    texts = value if isinstance(value, list) else [value]
    return [_text(text) for text in texts]


def _launch(value: object) -> tuple[int, ...]:
    sizes = value if isinstance(value, list) else [value]
    if not 1 <= len(sizes) <= 3:
        raise ValueError(f"needs one to three positive integers, got {_shown(value)}")
    return tuple(_positive(n) for n in sizes)


def _target(value: object) -> str | list[int | str]:
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or not value:
        raise ValueError(f"needs an element type in text or a list of sizes, got {_shown(value)}")
    return [_expression(n) for n in value]


def _parameter(value: object) -> int | str | bool:
    return value if isinstance(value, bool) else _expression(value)


def _shown(value: object) -> str:
    kind = "a table " if isinstance(value, dict) else "a list " if isinstance(value, list) else ""
    text = reprlib.repr(value)
    return kind + text


Integer = Annotated[int, PlainValidator(_integer)]
Bits = Annotated[int, PlainValidator(_small)]
Positive = Annotated[int, PlainValidator(_positive)]
Expression = Annotated[int | str, PlainValidator(_expression)]
Text = Annotated[str, PlainValidator(_text)]
Texts = Annotated[list[str], PlainValidator(_texts)]
Extents = Annotated[tuple[int, ...], PlainValidator(_launch)]
Target = Annotated[str | list[int | str], PlainValidator(_target)]
Parameter = Annotated[int | str | bool, PlainValidator(_parameter)]

OPERATIONS = ("slice", "sub", "permute", "rearrange", "view", "broadcast")
Hazards = Literal["warn", "error", "ignore"]


class Table(BaseModel):
    """What all tables have in common: no key but those that are listed, no conversions."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class SymbolTable(Table):
    """``[symbols.NAME]``: bounds are inclusive; without them the symbol is unbounded."""

    lo: Integer | None = None
    hi: Integer | None = None
    multiple_of: Positive = 1
    uniform: Literal["grid", "cluster", "cta", "warp", "thread"] = "grid"


class SwizzleTable(Table):
    """A swizzle: ``bits, base, shift`` as CuTe has it, or the reference's three numbers, in elements."""

    bits: Bits | None = None
    base: Bits | None = None
    shift: Bits | None = None
    unit: Literal["element", "byte"] | None = None
    per_element: Bits | None = None
    swizzle_len: Bits | None = None
    atom_len: Bits | None = None

    @model_validator(mode="after")
    def _one_parametrisation(self) -> SwizzleTable:
        written = frozenset(name for name in type(self).model_fields if getattr(self, name) is not None)
        if written - {"unit"} != {"bits", "base", "shift"} and written != {
            "per_element",
            "swizzle_len",
            "atom_len",
        }:
            raise ValueError(
                "needs bits, base and shift (and unit, 'element' or 'byte'), "
                "or per_element, swizzle_len and atom_len"
            )
        return self


class TensorTable(Table):
    """``[tensors.NAME]``: with ``over``, declared over another's storage, from its element ``at`` on."""

    shape: Annotated[list[Expression], Field(min_length=1)]
    dtype: Text | None = None
    space: Text | None = None
    layout: Text | None = None
    swizzle: SwizzleTable | None = None
    align: Positive | None = None
    over: Text | None = None
    at: Expression | None = None

    @model_validator(mode="after")
    def _storage_of_its_own_or_not(self) -> TensorTable:
        if self.over is None and self.at is not None:
            raise ValueError("at goes with over: it says where in the other tensor's storage this one starts")
        if self.over is None and self.dtype is None:
            raise ValueError("a tensor with storage of its own needs dtype")
        if self.over is not None and (self.space is not None or self.align is not None):
            raise ValueError(f"space and align follow from the storage of {self.over!r}; leave them out")
        return self


class RegionTable(Table):
    """``sub``: one start and one extent for each dimension."""

    start: list[Expression]
    extent: list[Positive]


class StepTable(Table):
    """One view operation, called as in Python."""

    slice: Annotated[list[Expression], Field(min_length=1)] | None = None
    sub: RegionTable | None = None
    permute: list[Integer] | None = None
    rearrange: Text | None = None
    sizes: dict[str, Positive] = Field(default_factory=dict)
    view: Target | None = None
    broadcast: Annotated[list[Positive], Field(min_length=1)] | None = None

    @property
    def operation(self) -> str:
        """The keys of the operations that are written: one, in a step that is well formed."""
        return " and ".join(name for name in OPERATIONS if getattr(self, name) is not None)

    @model_validator(mode="after")
    def _one_operation(self) -> StepTable:
        if self.operation not in OPERATIONS:
            raise ValueError(f"a step is one of {', '.join(OPERATIONS)}; got {self.operation or 'none'}")
        if self.sizes and self.rearrange is None:
            raise ValueError("sizes goes with rearrange")
        return self


class OperandTable(Table):
    """A tensor under view steps, taken in order, or a scalar.

    Just the tensor's name is the same as no steps, and just a number the same as that scalar. A scalar is a
    number or an index expression in text; with ``dtype`` it is a typed number, or in text a typed scalar's name.
    ``expression`` is any other typed scalar, as :func:`tileproof.scalars.serial.rows` writes it.
    """

    tensor: Text | None = None
    steps: list[StepTable] = Field(default_factory=list)
    scalar: Annotated[int | float | str, PlainValidator(_scalar)] | None = None
    dtype: Text | None = None
    expression: list[Any] | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        if isinstance(value, int | float):
            return {"scalar": value}
        return {"tensor": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _is_one(self) -> OperandTable:
        if sum(key is not None for key in (self.tensor, self.scalar, self.expression)) != 1:
            raise ValueError(
                "an operand is a tensor or a scalar: needs one of the keys tensor, scalar and expression"
            )
        if self.tensor is None and self.steps:
            raise ValueError("steps goes with tensor")
        if self.scalar is None and self.dtype is not None:
            raise ValueError("dtype goes with scalar")
        return self


class CallTable(Table):
    """``[[calls]]``: what :func:`tileproof.check` takes, under the same names."""

    opcode: Text
    operands: list[OperandTable]
    scope: Text = "thread"
    block: Extents = (32,)
    cluster: Extents | None = None
    active: Texts = Field(default_factory=list)
    assume: Texts = Field(default_factory=list)
    hazards: Hazards | None = None
    parameters: dict[str, Parameter] = Field(default_factory=dict)
    expect: Literal["proved", "refuted", "undecided", "unsupported"] | None = None


class SpecTable(Table):
    """A whole file."""

    symbols: dict[str, SymbolTable] = Field(default_factory=dict)
    tensors: dict[str, TensorTable] = Field(default_factory=dict)
    calls: Annotated[list[CallTable], Field(min_length=1)]


TABLES: dict[str, type[BaseModel]] = {
    "symbols": SymbolTable,
    "tensors": TensorTable,
    "swizzle": SwizzleTable,
    "calls": CallTable,
    "operands": OperandTable,
    "steps": StepTable,
    "sub": RegionTable,
}
"""The model of the tables that stand under each key."""
