"""From a Python function to a :class:`LambdaExpr`: it runs once for each way through its conditions.

    @scalar_function
    def relu(x: float32) -> float32:
        if x > 0:
            return x
        return float32(0)

A comparison in an ``if`` (or in ``and``, ``or``, ``not``, ``while``) is asked for its truth value, which nobody
knows yet. It is taken to hold, and once that way is through, not to hold; the two results become a ``select``. So
both are computed, always. The order is that of the text, and nothing but the conditions may tell one run from the
next.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tileproof.errors import CallError
from tileproof.scalars.expression import Scalar, Trace, make, select
from tileproof.scalars.function import LambdaExpr, Parameter
from tileproof.scalars.traverse import postorder, substitute
from tileproof.scalars.types import TYPES, ScalarType, holds, nearest

PATHS = 256
"""The most ways through a function."""

DECISIONS = 64
"""The most conditions on one way; more are a loop whose end depends on a traced value."""


@dataclass
class _Decision:
    condition: Scalar
    outcome: bool


class _Tracing(Trace):
    """Replays the decisions that are fixed and takes further conditions to hold."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.decisions: list[_Decision] = []
        self.position = 0

    def decide(self, condition: Scalar) -> bool:
        for earlier in self.decisions[: self.position]:
            if earlier.condition is condition:
                return earlier.outcome
        if self.position == len(self.decisions):
            if self.position == DECISIONS:
                raise CallError(
                    f"{self.name}: more than {DECISIONS} conditions on one way through it; a loop must have a "
                    "number of turns that does not depend on traced values"
                )
            self.decisions.append(_Decision(condition, True))
        elif self.decisions[self.position].condition is not condition:
            raise CallError(
                f"{self.name} does not do the same each time it runs: it asked for "
                f"{self.decisions[self.position].condition!r} before, and now for {condition!r}"
            )
        self.position += 1
        return self.decisions[self.position - 1].outcome

    def demand_replayed(self) -> None:
        if self.position < len(self.decisions):
            raise CallError(
                f"{self.name} does not do the same each time it runs: it did not ask for "
                f"{self.decisions[self.position].condition!r} again"
            )

    def next_path(self) -> bool:
        """Turn the last decision that held, drop those after it; whether there was one."""
        while self.decisions and not self.decisions[-1].outcome:
            self.decisions.pop()
        if not self.decisions:
            return False
        self.decisions[-1].outcome = False
        self.position = 0
        return True


def scalar_function(function: Callable[..., Any]) -> LambdaExpr:
    """Trace a function. Each parameter and the result are annotated with a type, such as ``tp.float32``.

    Its body may use ordinary operators, the functions of :mod:`tileproof.scalars.functions`, other scalar
    functions, local variables, conditions with returns, and loops with a fixed number of turns. Raises
    :class:`CallError` for a missing annotation, a result of another type or none, and for too many ways through.
    """
    name = getattr(function, "__name__", "")
    if not callable(function) or not hasattr(function, "__code__"):
        raise CallError(f"scalar_function takes a Python function, got {function!r}")
    if not name.isidentifier():
        raise CallError(f"a scalar function has a name; write def instead of {name}")
    parameters, result = _signature(function, name)
    tracing = _Tracing(name)
    inputs = {p.name: make("variable", p.dtype, (), p.name, tracing) for p in parameters}
    try:
        body = _explored(function, tracing, inputs, result)
    finally:
        tracing.running = False
    plain = {inputs[p.name].uid: p.variable for p in parameters}
    return LambdaExpr(name, parameters, result.name, _untraced(body, plain, name))


def _explored(
    function: Callable[..., Any], tracing: _Tracing, inputs: Mapping[str, Scalar], result: ScalarType
) -> Scalar:
    ways: list[tuple[tuple[tuple[Scalar, bool], ...], Scalar]] = []
    while True:
        found = _typed(function(*inputs.values()), result, tracing.name)
        tracing.demand_replayed()
        ways.append((tuple((d.condition, d.outcome) for d in tracing.decisions), found))
        if not tracing.next_path():
            return _selected(ways, 0)
        if len(ways) == PATHS:
            raise CallError(
                f"{tracing.name}: more than {PATHS} ways through its conditions; choose by select instead, which "
                "does not multiply them"
            )


def _selected(ways: list[tuple[tuple[tuple[Scalar, bool], ...], Scalar]], depth: int) -> Scalar:
    """The ways as nested selections; they agree on their first ``depth`` decisions."""
    decisions, result = ways[0]
    if len(decisions) == depth:
        return result
    condition = decisions[depth][0]
    first = [way for way in ways if way[0][depth][1]]
    second = [way for way in ways if not way[0][depth][1]]
    return select(condition, _selected(first, depth + 1), _selected(second, depth + 1))


def _untraced(body: Scalar, plain: Mapping[int, Scalar], name: str) -> Scalar:
    for node in postorder(body):
        if node.op == "variable" and node.uid not in plain:
            raise CallError(
                f"{name}: {node.value} ({node.dtype}) is no parameter of the function; pass it as one"
            )
    return substitute(body, plain)


def _typed(found: object, result: ScalarType, name: str) -> Scalar:
    if found is None:
        raise CallError(f"{name} returns nothing on some way through it; it must return a {result.name}")
    if isinstance(found, (bool, int, float)):
        if not holds(found, result):
            raise CallError(f"{name} returns {found!r}, which is no {result.name} number")
        return result(nearest(found, result))
    if not isinstance(found, Scalar):
        raise CallError(f"{name} returns {found!r}; it must return a {result.name}")
    if found.dtype != result.name:
        raise CallError(
            f"{name} is declared to return {result.name} and returns a {found.dtype}, {found!r}; convert it, as in "
            f"tp.{result.name}(...)"
        )
    return found


def _signature(function: Callable[..., Any], name: str) -> tuple[tuple[Parameter, ...], ScalarType]:
    signature = inspect.signature(function)
    parameters = []
    for parameter in signature.parameters.values():
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or parameter.default is not parameter.empty:
            raise CallError(f"{name}: {parameter} is no plain parameter; scalar functions have no others")
        kind = _annotation(function, parameter.annotation, f"{name}, parameter {parameter.name}")
        parameters.append(Parameter(parameter.name, kind.name))
    return tuple(parameters), _annotation(function, signature.return_annotation, f"{name}, result")


def _annotation(function: Callable[..., Any], written: object, where: str) -> ScalarType:
    """The type that an annotation means. Text, which postponed annotations are, is a dotted name and looked up,
    never run.
    """
    found = _looked_up(function, written) if isinstance(written, str) else written
    if not isinstance(found, ScalarType):
        given = "is not annotated" if written is inspect.Signature.empty else f"is annotated with {written!r}"
        raise CallError(f"{where} {given}; annotate it with a type, as in tp.float32")
    return found


def _looked_up(function: Callable[..., Any], written: str) -> object:
    first, *rest = written.strip().strip("'\"").split(".")
    found: object = function.__globals__.get(first)
    if first in function.__code__.co_freevars:
        cell = (function.__closure__ or ())[function.__code__.co_freevars.index(first)]
        try:
            found = cell.cell_contents
        except ValueError:  # a name of the function around that has no value yet
            found = None
    for part in rest:
        found = getattr(found, part, None)
    return TYPES.get(first) if found is None and not rest else found
