"""A kernel as a document that :mod:`tileproof.spec.kernel_read` makes the same kernel of."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator
from math import isfinite
from typing import Any

from tileproof.contracts.call import Call
from tileproof.contracts.family.ewise import EwiseForm, scalar_inputs
from tileproof.contracts.operands import ScalarOperand
from tileproof.contracts.scalar_operands import operand_types
from tileproof.emit.statements import (
    Apply,
    Assume,
    Barrier,
    Body,
    Definition,
    Fill,
    Loop,
    Note,
    Raw,
    When,
    loops,
    parameter_name,
)
from tileproof.errors import CallError, LayoutError
from tileproof.layouts.dtypes import dtype_name
from tileproof.layouts.expressions import parse_value, require_name, thread_names
from tileproof.layouts.index import Expression, Index, Relation, as_index, leaf
from tileproof.layouts.layout import Spec, TileLayout, factors, row_major
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.tensor import Tensor
from tileproof.layouts.traverse import substitute
from tileproof.layouts.view import View, ViewOperations
from tileproof.scalars.expression import Scalar, constant
from tileproof.scalars.function import LambdaExpr
from tileproof.scalars.serial import document, rows

Table = dict[str, Any]


def kernel_json(kernel: Definition) -> str:
    """The document as JSON. Raises :class:`CallError` for what the format has no words for."""
    return json.dumps(_Writer(kernel).document(), indent=2) + "\n"


class _Writer:
    """Writes one kernel; tensors are written when first named, so what stands over others comes after them."""

    def __init__(self, kernel: Definition) -> None:
        self.kernel = kernel
        self.keys: dict[Tensor, str] = {}
        self.tensors: dict[str, Table] = {}
        self.functions: dict[str, Table] = {}
        scalars = [item.args[0] for item in kernel.parameters if isinstance(item, Index)]
        counters = [loop.counter for loop in loops(kernel.body)]
        self.names: dict[str, Index] = {}
        for variable in (*scalars, *counters):
            with_name = self._named(variable.name)
            self.names[with_name] = leaf(variable)
        self.block_index = {
            axis: (self._free(f"ctaid_{axis}"), count)
            for axis, count in zip("xyz", kernel.grid_limits, strict=True)
            if count is not None
        }
        self.replacement: dict[Leaf, Index] = {}
        for axis, (name, count) in self.block_index.items():
            stands_for = Leaf(f"%ctaid.{axis}", "symbol", 0, count - 1, uniform="cta")
            self.replacement[stands_for] = leaf(Leaf(name, "symbol", 0, count - 1, uniform="cta"))
            self.names[name] = leaf(stands_for)

    def document(self) -> Table:
        kernel = self.kernel
        head: Table = {"name": kernel.name, "block": list(kernel.launch.block)}
        if kernel.launch.cluster is not None:
            head["cluster"] = list(kernel.launch.cluster)
        if kernel.ptx_version != (0, 0):
            head["ptx_version"] = list(kernel.ptx_version)
        parameters = kernel.parameters
        found: Table = {
            "kernel": head,
            "parameters": [parameter_name(p) for p in parameters],
            "symbols": {p.args[0].name: _symbol(p.args[0]) for p in parameters if isinstance(p, Index)},
            "scalars": {parameter_name(p): {"dtype": p.dtype} for p in parameters if isinstance(p, Scalar)},
            "block_index": {
                axis: {"name": name, "count": count} for axis, (name, count) in self.block_index.items()
            },
            "tensors": self.tensors,
            "functions": self.functions,
        }
        files = [file.tensor for file in kernel.registers]
        for tensor in (*parameters, *kernel.variables, *kernel.dynamic, *files):
            if isinstance(tensor, Tensor):
                self._tensor(tensor)
        found["body"] = list(self._body(kernel.body))
        return {key: value for key, value in found.items() if value or key in ("kernel", "body")}

    # Names.

    def _named(self, name: str) -> str:
        try:
            require_name(name)
        except LayoutError as error:
            self._fail(str(error))
        return name

    def _free(self, name: str) -> str:
        while name in self.names or name in thread_names():
            name += "_"
        return name

    def _fail(self, reason: str) -> None:
        raise CallError(f"kernel {self.kernel.name} cannot be written: {reason}")

    # Numbers, expressions, tensors, views.

    def _expression(self, value: Expression) -> str:
        """The text of an expression, which reads back under the names of the document."""
        text = repr(substitute(value, self.replacement))
        try:
            parse_value(text, {**thread_names(), **self.names})
        except LayoutError as error:
            self._fail(str(error))
        return text

    def _number(self, value: object) -> int | str:
        index = as_index(value)
        return self._expression(index) if index.value is None else index.value

    def _tensor(self, tensor: Tensor) -> str:
        if tensor not in self.keys:
            over = None if tensor.over is None else self._tensor(tensor.over)
            key = _key(tensor.name, self.tensors)
            self.keys[tensor] = key
            self.tensors[key] = self._tensor_table(tensor, over, key)
        return self.keys[tensor]

    def _tensor_table(self, tensor: Tensor, over: str | None, key: str) -> Table:
        table: Table = {"shape": [self._number(n) for n in tensor.shape], "dtype": tensor.dtype}
        if tensor.layout != TileLayout(Spec(factors(tensor.shape, row_major(tensor.shape)))):
            table["layout"] = repr(tensor.layout)
        if key != tensor.name:
            table["title"] = tensor.name
        if over is not None:
            return {**table, "over": over, "at": self._number(tensor.at)}
        table["space"] = tensor.space
        if tensor.space != "registers":
            table["align"] = tensor.storage.align
        if tensor in self.kernel.dynamic:
            table["dynamic"] = True
        return table

    def _operand(self, view: View) -> str | Table:
        key = self._tensor(view.tensor)
        if not view.steps:
            return key
        return {"tensor": key, "steps": [self._step(operation, value) for operation, value in view.steps]}

    def _step(self, operation: str, value: Any) -> Table:
        if operation == "slice":
            return {"slice": [self._part(part) for part in (value if isinstance(value, tuple) else (value,))]}
        if operation == "rearrange":
            pattern, sizes = value
            return {"rearrange": pattern, **({"sizes": dict(sizes)} if sizes else {})}
        if isinstance(value, str):
            return {operation: value}
        return {operation: [self._number(n) for n in value]}

    def _part(self, part: object) -> int | str:
        if part is Ellipsis:
            return "..."
        if not isinstance(part, slice):
            return self._number(part)
        first, last = ("" if end is None else str(self._number(end)) for end in (part.start, part.stop))
        step = "" if part.step is None else f" : {self._number(part.step)}"
        return f"{first} : {last}{step}".strip()

    # Statements.

    def _body(self, body: Body) -> Iterator[Table]:
        for statement in body:
            match statement:
                case Apply(plan=planned) if isinstance(planned.report.call.form, EwiseForm):
                    yield {"ewise": self._ewise(statement, planned.report.call.form)}
                case Apply():
                    yield {"call": self._call(statement)}
                case Raw(text=text):
                    yield {"raw": text}
                case Note(text=text):
                    yield {"note": text}
                case Fill(file=file, pattern=pattern):
                    yield {"fill": {"registers": self._tensor(file.tensor), "pattern": f"{pattern:#x}"}}
                case Assume(relation=relation):
                    yield {"assume": self._expression(relation)}
                case Barrier():
                    yield {"mbarrier": self._barrier(statement)}
                case When(written=relation):
                    yield {"when": self._expression(relation), "body": list(self._body(statement.body))}
                case Loop(span=span):
                    start, stop, step = map(self._number, span)
                    head = {"name": statement.counter.name, "start": start, "stop": stop, "step": step}
                    yield {"loop": head, "body": list(self._body(statement.body))}
                case other:
                    self._fail(f"the format has no {type(other).__name__} statement")

    def _call(self, statement: Apply) -> Table:
        call = statement.plan.report.call
        views = iter(call.operands)
        operands = [
            self._scalar(call.scalars[place], type_) if place in call.scalars else self._operand(next(views))
            for place, type_ in enumerate(self._types(call))
        ]
        table: Table = {"opcode": call.form.spelling, "operands": operands, **self._keywords(statement)}
        if call.parameters:
            table["parameters"] = {
                name: self._parameter(call.form.spelling, name, value)
                for name, value in call.parameters.items()
            }
        return table

    def _ewise(self, statement: Apply, form: EwiseForm) -> Table:
        call = statement.plan.report.call
        scalars, views = scalar_inputs(call), iter(call.operands)
        operands = [
            self._operand(next(views)),
            *(
                self._scalar(scalars[p.name], p.dtype) if p.name in scalars else self._operand(next(views))
                for p in form.function.parameters
            ),
        ]
        return {
            "function": self._function(form.function),
            "operands": operands,
            **self._keywords(statement),
        }

    def _function(self, function: LambdaExpr) -> str:
        written = document(function)
        known = next((key for key, table in self.functions.items() if table == written), None)
        if known is None:
            known = _key(function.name, self.functions)
            self.functions[known] = written
        return known

    def _keywords(self, statement: Apply) -> Table:
        table: Table = {"scope": statement.plan.report.call.scope, **statement.policy}
        if statement.assumed:
            table["assume"] = [self._expression(relation) for relation in statement.assumed]
        return table

    def _types(self, call: Call) -> list[str]:
        """The type that a number has at each operand of a call; without scalars it does not matter."""
        if not call.scalars:
            return [""] * len(call.operands)
        return list(operand_types(call.form))

    def _scalar(self, value: ScalarOperand, type_: str) -> int | float | Table:
        """A scalar operand; a number of no type of its own has ``type_``. JSON has only finite numbers."""
        if isinstance(value, Index):
            return {"scalar": self._expression(value)}
        if isinstance(value, float) and not isfinite(value):
            value = constant(value, dtype_name(type_))
        if not isinstance(value, Scalar):
            return value
        written = value.value
        if value.op == "variable" or (
            value.op == "constant" and isinstance(written, int | float) and isfinite(written)
        ):
            return {"scalar": written, "dtype": value.dtype}
        return {"expression": rows(value)}

    def _parameter(self, opcode: str, name: str, value: object) -> int | str | bool:
        if isinstance(value, bool | int):
            return value
        if isinstance(value, Relation):
            return self._expression(value)
        if value is None or isinstance(value, str | tuple | list | ViewOperations):
            self._fail(f"parameter {name} of {opcode} is {value!r}, which is no number or relation")
        return self._number(value)

    def _barrier(self, barrier: Barrier) -> Table:
        at, operand = barrier.written
        table = {
            "operation": barrier.operation.removesuffix("_many"),
            "tensor": self._tensor(barrier.tensor),
            "at": self._number(at),
        }
        return table if operand is None else {**table, "operand": self._number(operand)}


def _key(name: str, taken: Container[str]) -> str:
    """The name, numbered if it is taken."""
    number, key = 1, name
    while key in taken:
        number += 1
        key = f"{name}_{number}"
    return key


def _symbol(variable: Leaf) -> Table:
    table: Table = {} if variable.lo is None else {"lo": variable.lo}
    if variable.hi is not None:
        table["hi"] = variable.hi
    if variable.multiple_of != 1:
        table["multiple_of"] = variable.multiple_of
    return table
