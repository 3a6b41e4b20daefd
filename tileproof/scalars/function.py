"""A scalar function as data: its signature and its body, without the Python function that it came from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tileproof.errors import CallError
from tileproof.scalars.expression import Scalar, constant, variable
from tileproof.scalars.traverse import postorder, substitute
from tileproof.scalars.types import BOOL, TYPES, Number, ScalarType, scalar_type

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Parameter:
    """A parameter: its name and the name of its type."""

    name: str
    dtype: str

    @property
    def type(self) -> ScalarType:
        return TYPES[self.dtype]

    @property
    def variable(self) -> Scalar:
        """What the body calls it."""
        return variable(self.name, self.dtype)

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}"


@dataclass(frozen=True, eq=False, repr=False)
class LambdaExpr:
    """A typed scalar function. Equal are those with the same name, signature and body.

    Called with expressions, inside another scalar function, it is its body with these in place. Raises
    :class:`CallError` for a signature that contradicts its body, and for ``bool`` in it, which no register holds.
    """

    name: str
    parameters: tuple[Parameter, ...]
    result: str
    body: Scalar

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise CallError(f"the name of a scalar function must be an identifier, got {self.name!r}")
        names = [p.name for p in self.parameters]
        if len(set(names)) < len(names):
            raise CallError(f"{self.name}: two parameters have one name: {', '.join(names)}")
        for what, dtype in (
            *((f"parameter {p.name}", p.dtype) for p in self.parameters),
            ("the result", self.result),
        ):
            if scalar_type(dtype) is BOOL:
                raise CallError(
                    f"{self.name}: {what} is a bool, which no register holds; use a uint16 or uint32"
                )
        if self.body.dtype != self.result:
            raise CallError(
                f"{self.name} returns {self.result}, and its body is {self.body.dtype}: {self.body!r}"
            )
        if self.body.trace is not None:
            raise CallError(f"{self.name}: the body belongs to the trace of {self.body.trace.name}")
        known = {p.variable.uid for p in self.parameters}
        for node in postorder(self.body):
            if node.op == "variable" and node.uid not in known:
                raise CallError(
                    f"{self.name}: {node.value} ({node.dtype}) is no parameter of the function; pass it as one"
                )

    @cached_property
    def nodes(self) -> tuple[Scalar, ...]:
        """The nodes of the body, arguments first."""
        return tuple(postorder(self.body))

    @property
    def signature(self) -> str:
        return f"{self.name}({', '.join(map(str, self.parameters))}) -> {self.result}"

    def __call__(self, *inputs: Scalar | Number) -> Scalar:
        self.demand_count(len(inputs))
        pairs = list(zip(self.parameters, inputs, strict=True))
        return substitute(self.body, {p.variable.uid: self.input(p, value) for p, value in pairs})

    def demand_count(self, given: int) -> None:
        """Raise :class:`CallError` unless there are as many inputs as parameters."""
        if given != len(self.parameters):
            raise CallError(f"{self.signature} takes {len(self.parameters)} inputs, got {given}")

    def input(self, parameter: Parameter, value: Scalar | Number) -> Scalar:
        """A scalar input of exactly the parameter's type. Raises :class:`CallError` naming both types."""
        if not isinstance(value, Scalar):
            try:
                return constant(value, parameter.dtype)
            except CallError as error:
                raise CallError(f"{self.name}, parameter {parameter}: {error}") from None
        if value.dtype != parameter.dtype:
            raise CallError(
                f"{self.name}, parameter {parameter}: got {value!r}, a {value.dtype}; types match exactly"
            )
        return value

    def evaluate(self, *inputs: np.ndarray[Any, Any] | Scalar | Number) -> np.ndarray[Any, Any]:
        """The function on NumPy arrays; see :func:`tileproof.scalars.evaluate.evaluate`."""
        from tileproof.scalars.evaluate import evaluate

        return evaluate(self, *inputs)

    def to_json(self) -> str:
        """The function as text, which :meth:`from_json` reads."""
        from tileproof.scalars.serial import to_json

        return to_json(self)

    @staticmethod
    def from_json(text: str) -> LambdaExpr:
        """Read what :meth:`to_json` wrote. Raises :class:`CallError` for anything else."""
        from tileproof.scalars.serial import from_json

        return from_json(text)

    def _key(self) -> Iterator[object]:
        yield from (self.name, self.parameters, self.result, self.body.uid)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LambdaExpr) and tuple(self._key()) == tuple(other._key())

    def __hash__(self) -> int:
        return hash(tuple(self._key()))

    def __repr__(self) -> str:
        return f"{self.signature}: {self.body!r}"

    def __reduce__(self) -> Any:
        return LambdaExpr.from_json, (self.to_json(),)
