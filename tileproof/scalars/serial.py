"""Scalar functions as JSON and back, without the Python function that they came from.

    {"format": "tileproof-lambda-1", "name": "scaled", "parameters": [["x", "float32"]], "result": "float32",
     "nodes": [["variable", "float32", [], "x"], ["constant", "float32", [], "0x1.8000000000000p+0"],
               ["mul", "float32", [0, 1], null]],
     "sha256": "..."}

Nodes come after their arguments, which are numbers of nodes, so what is shared stays shared; the last node is the
body. Floats are hexadecimal, so no bit is lost. Reading builds each node by the same checks as writing it in
Python does, and then demands that the function would be written as the same document.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from tileproof.errors import CallError
from tileproof.scalars.expression import Scalar, Value, cast, constant, operate, select, variable
from tileproof.scalars.function import LambdaExpr, Parameter
from tileproof.scalars.operations import OPERATIONS
from tileproof.scalars.traverse import postorder
from tileproof.scalars.types import BOOL, scalar_type

FORMAT = "tileproof-lambda-1"

Row = list[Any]


def rows(root: Scalar) -> list[Row]:
    """The nodes of an expression, arguments first."""
    nodes = postorder(root)
    place = {node.uid: number for number, node in enumerate(nodes)}
    return [[n.op, n.dtype, [place[a.uid] for a in n.args], _written(n.value)] for n in nodes]


def restored(given: Sequence[Any]) -> Scalar:
    """The expression that :func:`rows` wrote. Raises :class:`CallError` for anything else."""
    nodes: list[Scalar] = []
    for number, row in enumerate(given):
        if not (isinstance(row, list) and len(row) == 4 and isinstance(row[2], list)):
            raise CallError(f"node {number} is {row!r}; needed is [operation, type, arguments, value]")
        op, dtype, places, value = row
        if not all(isinstance(p, int) and not isinstance(p, bool) and 0 <= p < number for p in places):
            raise CallError(
                f"node {number} ({op!r}) has arguments {places!r}; they are numbers of earlier nodes"
            )
        try:
            node = _built(op, dtype, [nodes[p] for p in places], value)
        except CallError as error:
            raise CallError(f"node {number}: {error}") from None
        if (node.op, node.dtype) != (op, dtype):
            raise CallError(
                f"node {number} is written as {op!r} of {dtype!r}; it is {node.op} of {node.dtype}"
            )
        nodes.append(node)
    if not nodes:
        raise CallError("an expression has at least one node")
    return nodes[-1]


def document(function: LambdaExpr) -> dict[str, Any]:
    """The function, ready for ``json.dump``. The same function gives the same document."""
    content: dict[str, Any] = {
        "format": FORMAT,
        "name": function.name,
        "parameters": [[p.name, p.dtype] for p in function.parameters],
        "result": function.result,
        "nodes": rows(function.body),
    }
    return {**content, "sha256": _digest(content)}


def read(given: object) -> LambdaExpr:
    """The function of a document. Raises :class:`CallError` for one that :func:`document` did not write."""
    if not isinstance(given, dict) or given.get("format") != FORMAT:
        raise CallError(f"not a scalar function: a document of format {FORMAT!r} is needed")
    content = {key: value for key, value in given.items() if key != "sha256"}
    keys = {"format", "name", "parameters", "result", "nodes"}
    if set(content) != keys:
        raise CallError(
            f"a scalar function has the keys {', '.join(sorted(keys))} and sha256; got {sorted(given)}"
        )
    if given.get("sha256") != _digest(content):
        raise CallError("the scalar function was changed after it was written: its sha256 is another")
    name, listed, nodes = content["name"], content["parameters"], content["nodes"]
    pairs = isinstance(listed, list) and all(
        isinstance(p, list) and len(p) == 2 and all(isinstance(word, str) for word in p) for p in listed
    )
    if not (
        isinstance(name, str) and pairs and isinstance(nodes, list) and isinstance(content["result"], str)
    ):
        raise CallError(
            "a scalar function has a name, parameters as [name, type] pairs, a result type and nodes"
        )
    parameters = tuple(Parameter(one, scalar_type(dtype).name) for one, dtype in listed)
    function = LambdaExpr(name, parameters, content["result"], restored(nodes))
    if document(function) != given:
        raise CallError(
            "the scalar function is not written as it would be: nodes are repeated, unused or out of order"
        )
    return function


def to_json(function: LambdaExpr) -> str:
    """The document as text."""
    return json.dumps(document(function))


def from_json(text: str) -> LambdaExpr:
    """Read :func:`to_json`'s text. Raises :class:`CallError` for any other."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CallError(f"not a scalar function: {error}") from None
    return read(given)


def _digest(content: dict[str, Any]) -> str:
    plain = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(plain.encode()).hexdigest()


def _written(value: Value) -> int | str | bool | None:
    return value.hex() if isinstance(value, float) else value


def _built(op: object, dtype: object, args: list[Scalar], value: object) -> Scalar:
    if not isinstance(op, str) or not isinstance(dtype, str):
        raise CallError(f"an operation and a type are text, got {op!r} and {dtype!r}")
    kind = scalar_type(dtype)
    counts = {"constant": 0, "variable": 0, "cast": 1, "select": 3}
    needed = counts.get(op, OPERATIONS[op].operands if op in OPERATIONS else None)
    if needed is None:
        raise CallError(f"unknown operation {op!r}")
    if len(args) != needed:
        raise CallError(f"{op} has {needed} arguments, got {len(args)}")
    if op == "constant":
        return constant(_number(value, kind.is_float, kind is BOOL), dtype)
    if op == "variable":
        return variable(value, dtype)  # type: ignore[arg-type]  # which checks it
    if op == "cast":
        return cast(args[0], dtype, _rounding(value))
    if value is not None:
        raise CallError(f"{op} has no value, got {value!r}")
    return select(*args) if op == "select" else operate(op, *args)


def _rounding(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise CallError(f"a rounding is text, got {value!r}")
    return value


def _number(value: object, is_float: bool, is_bool: bool) -> int | float:
    if is_bool and isinstance(value, bool):
        return value
    if is_float and isinstance(value, str):
        try:
            return float.fromhex(value)
        except (ValueError, OverflowError):
            raise CallError(f"{value!r} is no hexadecimal float") from None
    if not is_float and not is_bool and isinstance(value, int) and not isinstance(value, bool):
        return value
    raise CallError(f"{value!r} is no constant of that type")
