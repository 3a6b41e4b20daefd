"""``check_ewise``: from a scalar function and its operands to a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tileproof.contracts.call import Call
from tileproof.contracts.families import load
from tileproof.contracts.family.ewise import MNEMONIC, ewise_form, scalar_input
from tileproof.contracts.launch import Launch
from tileproof.errors import CallError
from tileproof.layouts.index import Relation
from tileproof.layouts.view import View, ViewOperations
from tileproof.proofs.check import Hazards, _one_meaning, _report, demand_options
from tileproof.proofs.discharge import BUDGET
from tileproof.proofs.report import ContractError, Report
from tileproof.proofs.verdict import Verdict
from tileproof.scalars.expression import Scalar
from tileproof.scalars.function import LambdaExpr
from tileproof.scalars.trace import scalar_function
from tileproof.scalars.traverse import postorder
from tileproof.scalars.types import Number

Input = ViewOperations | Scalar | Number


def check_ewise(
    function: LambdaExpr | Callable[..., Any],
    destination: ViewOperations,
    *inputs: Input,
    scope: str = "thread",
    block: int | Iterable[int] = 32,
    cluster: int | Iterable[int] | None = None,
    active: Relation | Iterable[Relation] | None = None,
    assume: Relation | Iterable[Relation] = (),
    hazards: Hazards = "warn",
    budget: int = BUDGET,
) -> Report:
    """Prove or refute that a scalar function may be applied at each register coordinate.

    ``destination`` and the tensors among ``inputs`` are registers of shape ``(*group, *repeat)``. Other inputs, one
    for each parameter in all, are scalars of exactly the parameter's type: expressions of constants and variables,
    or Python numbers that the type has exactly. The keywords are those of :func:`tileproof.check`.

    A bad view is an answer, not an exception. A scalar of another type, a wrong number of inputs and whatever else
    is malformed raise :class:`CallError`.
    """
    known = function if isinstance(function, LambdaExpr) else scalar_function(function)
    known.demand_count(len(inputs))
    views = [_register_view(known, "the destination", destination)]
    parameters: dict[str, Any] = {}
    for position, given in enumerate(inputs):
        if isinstance(given, ViewOperations):
            views.append(given.as_view())
        else:
            parameters[scalar_input(position)] = _scalar(known, position, given)
    _one_type(known, parameters.values())
    launch = Launch.of(block, cluster, active, assume)
    demand_options(scope, hazards, budget)
    if scope == "cluster" and launch.cluster is None:
        raise CallError(f"{MNEMONIC} {known.name}: cluster scope needs cluster=(...) at the launch")
    scalars = tuple(n for n in range(len(inputs)) if scalar_input(n) in parameters)
    form = ewise_form(known, scalars)
    call = Call(form, tuple(views), scope, launch, parameters, family=MNEMONIC)
    _one_meaning(call)
    return _report(call, load()[MNEMONIC], hazards, budget)


def prove_ewise(
    function: LambdaExpr | Callable[..., Any], destination: ViewOperations, *inputs: Input, **keywords: Any
) -> Report:
    """As :func:`check_ewise`, but raises :class:`ContractError` unless the verdict is ``PROVED``."""
    report = check_ewise(function, destination, *inputs, **keywords)
    if report.verdict is not Verdict.PROVED:
        raise ContractError(report)
    return report


def _register_view(function: LambdaExpr, what: str, given: object) -> View:
    if not isinstance(given, ViewOperations):
        raise CallError(f"{MNEMONIC} {function.name}: {what} must be a tensor or a view, got {given!r}")
    return given.as_view()


def _scalar(function: LambdaExpr, position: int, given: Any) -> Scalar:
    value = function.input(function.parameters[position], given)
    if value.trace is not None:
        raise CallError(
            f"{MNEMONIC} {function.name}: {value!r} was traced in {value.trace.name}, and has no value here"
        )
    return value


def _one_type(function: LambdaExpr, scalars: Iterable[Scalar]) -> None:
    """Raise unless each name stands for a variable of one type."""
    meaning: dict[str, str] = {}
    for scalar in scalars:
        for node in postorder(scalar):
            if node.op == "variable" and meaning.setdefault(str(node.value), node.dtype) != node.dtype:
                raise CallError(
                    f"{MNEMONIC} {function.name}: the scalar {node.value} is both {meaning[str(node.value)]} and "
                    f"{node.dtype}; it has one type"
                )
