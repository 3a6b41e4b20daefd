"""A report's call as a spec file: paste it, run ``tileproof check`` on it, and see the same verdict."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tileproof.contracts.call import Call
from tileproof.contracts.family.ewise import EwiseForm
from tileproof.contracts.operands import ScalarOperand
from tileproof.errors import CallError
from tileproof.layouts.index import Expression, Index, as_index
from tileproof.layouts.layout import Spec, TileLayout, factors, row_major
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.tensor import Tensor
from tileproof.layouts.traverse import leaves
from tileproof.layouts.view import View
from tileproof.scalars.expression import Scalar


def reproduction(call: Call) -> str:
    """The call as the text of a spec file (TOML). Names in it are those of the call.

    Raises :class:`CallError` for a scalar function, which a spec file cannot name.
    """
    if isinstance(call.form, EwiseForm):
        raise CallError(f"{call.form.spelling}: spec files have no scalar functions; keep the Python program")
    lines: list[str] = []
    for variable in _symbols(call):
        lines += [f"[symbols.{variable.name}]", *_symbol(variable), ""]
    written: set[str] = set()
    for view in call.operands:
        if view.tensor.name not in written:
            written.add(view.tensor.name)
            lines += _tensor(view.tensor)
    launch = call.launch
    lines += [
        "[[calls]]",
        f"opcode = {_text(call.form.spelling)}",
        f"scope = {_text(call.scope)}",
        f"block = {list(launch.block)}",
    ]
    if launch.cluster is not None:
        lines.append(f"cluster = {list(launch.cluster)}")
    if launch.active.value is not True:
        lines.append(f"active = [{_text(repr(launch.active))}]")
    if launch.assumptions:
        lines.append(f"assume = [{', '.join(_text(repr(a)) for a in launch.assumptions)}]")
    if call.parameters:
        values = ", ".join(f"{name} = {_value(value)}" for name, value in sorted(call.parameters.items()))
        lines.append(f"parameters = {{ {values} }}")
    views = iter(call.operands)
    operands = [
        _scalar(call.scalars[place]) if place in call.scalars else _operand(next(views))
        for place in range(len(call.operands) + len(call.scalars))
    ]
    lines += ["operands = [", *(f"    {operand}," for operand in operands), "]", ""]
    return "\n".join(lines)


def _symbols(call: Call) -> list[Leaf]:
    everything: list[Expression] = [call.launch.active, *call.launch.assumptions]
    for view in call.operands:
        spec = view.tensor.layout.spec
        everything += [
            *view.coordinates,
            *view.tensor.shape,
            view.tensor.offset,
            *(r.start for r in view.regions),
        ]
        everything += [f.stride for f in (*spec.factors, *spec.replicas)] + [f.extent for f in spec.factors]
    everything += [
        v for v in (*call.parameters.values(), *call.scalars.values()) if isinstance(v, Expression)
    ]
    return [v for v in leaves(*everything) if v.kind == "symbol"]


def _scalar(value: ScalarOperand) -> str:
    if isinstance(value, Scalar):
        written = _text(str(value.value)) if value.op == "variable" else repr(value.value)
        return f"{{ scalar = {written}, dtype = {_text(value.dtype)} }}"
    return f"{{ scalar = {_text(repr(value))} }}" if isinstance(value, Index) else repr(value)


def _symbol(variable: Leaf) -> Iterable[str]:
    if variable.lo is not None:
        yield f"lo = {variable.lo}"
    if variable.hi is not None:
        yield f"hi = {variable.hi}"
    if variable.multiple_of != 1:
        yield f"multiple_of = {variable.multiple_of}"
    yield f"uniform = {_text(variable.uniform)}"


def _tensor(tensor: Tensor) -> list[str]:
    shape = ", ".join(_number(n) for n in tensor.shape)
    lines = [
        f"[tensors.{tensor.name}]",
        f"shape = [{shape}]",
        f"dtype = {_text(tensor.dtype)}",
    ]
    if tensor.layout != TileLayout(Spec(factors(tensor.shape, row_major(tensor.shape)))):
        lines.append(f"layout = {_text(repr(tensor.layout))}")
    storage = tensor.storage
    if not tensor.declared:
        lines += [f"space = {_text(storage.space)}"]
        return [*lines, *([f"align = {storage.align}"] if storage.space != "registers" else []), ""]
    # The storage as bytes, under a name of its own.
    backing = storage.name if storage.name != tensor.name else f"{storage.name}_storage"
    size = as_index(1) if storage.size is None else storage.size
    before = [f"[tensors.{backing}]", f"shape = [{_number(size)}]", 'dtype = "uint8"']
    before += [f"space = {_text(storage.space)}"]
    before += [f"align = {storage.align}"] if storage.space != "registers" else []
    return [*before, "", *lines, f"over = {_text(backing)}", f"at = {_number(tensor.offset)}", ""]


def _operand(view: View) -> str:
    if not view.steps:
        return _text(view.tensor.name)
    steps = ", ".join(_step(operation, argument) for operation, argument in view.steps)
    return f"{{ tensor = {_text(view.tensor.name)}, steps = [{steps}] }}"


def _step(operation: str, argument: Any) -> str:
    if operation == "slice":
        parts = argument if isinstance(argument, tuple) else (argument,)
        return f"{{ slice = [{', '.join(_part(p) for p in parts)}] }}"
    if operation == "rearrange":
        pattern, sizes = argument
        given = ", ".join(f"{name} = {size}" for name, size in sizes.items())
        return f"{{ rearrange = {_text(pattern)}" + (f", sizes = {{ {given} }} }}" if given else " }")
    if isinstance(argument, str):
        return f"{{ {operation} = {_text(argument)} }}"
    return f"{{ {operation} = [{', '.join(_number(as_index(n)) for n in argument)}] }}"


def _part(part: object) -> str:
    if part is Ellipsis:
        return _text("...")
    if not isinstance(part, slice):
        return _number(as_index(part))
    ends = ["" if end is None else repr(as_index(end)) for end in (part.start, part.stop)]
    step = "" if part.step is None else f" : {as_index(part.step)!r}"
    return _text(f"{ends[0]} : {ends[1]}{step}".strip())


def _number(value: Index) -> str:
    return str(value.value) if value.value is not None else _text(repr(value))


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else _text(repr(value))


def _text(text: str) -> str:
    return json.dumps(text)
