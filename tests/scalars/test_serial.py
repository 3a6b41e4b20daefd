"""Scalar functions as JSON: nothing is lost, nothing is run, and what was changed is refused."""

from __future__ import annotations

import json
import math
import pickle
import struct
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tileproof as tp
from tests.scalars.machine import function_of
from tests.scalars.test_trace import clipped, logic, silu_affine
from tileproof import LambdaExpr, Scalar
from tileproof.errors import CallError
from tileproof.scalars.expression import operate
from tileproof.scalars.functions import cast, select
from tileproof.scalars.operations import OPERATIONS, SHIFTS, roundings
from tileproof.scalars.serial import _digest, document, read
from tileproof.scalars.traverse import postorder
from tileproof.scalars.types import TYPES, nearest

NUMERIC = [d for d in TYPES if d != "bool"]


@st.composite
def constants(draw: st.DrawFn, dtype: str) -> Scalar:
    kind = TYPES[dtype]
    if kind.is_integer:
        return tp.constant(draw(st.integers(kind.least, kind.greatest)), dtype)
    width = {"float64": 64, "float32": 32, "float16": 16, "bfloat16": 32}[dtype]
    number = draw(st.floats(width=width))  # type: ignore[arg-type]
    if dtype == "bfloat16" and math.isfinite(number) and abs(number) > 3e38:
        number = 1.0
    return tp.constant(nearest(number, kind), dtype)


@st.composite
def expressions(draw: st.DrawFn) -> LambdaExpr:
    """Functions of two parameters of any types, with any operations, conversions and selections."""
    types = draw(st.tuples(st.sampled_from(NUMERIC), st.sampled_from(NUMERIC)))
    pool: list[Scalar] = [tp.variable(f"x{n}", d) for n, d in enumerate(types)]
    for _ in range(draw(st.integers(1, 12))):
        x = draw(st.sampled_from(pool))
        kind = draw(st.sampled_from(["constant", "cast", "select", "operation"]))
        if kind == "constant":
            pool.append(draw(constants(draw(st.sampled_from(NUMERIC)))))
        elif kind == "cast":
            target = draw(st.sampled_from(NUMERIC))
            legal = [None, *roundings(TYPES[target], x.type)] if x.dtype != target else [None]
            pool.append(cast(x, target, draw(st.sampled_from(legal))))
        elif kind == "select" and any(p.dtype == "bool" for p in pool):
            condition = draw(st.sampled_from([p for p in pool if p.dtype == "bool"]))
            pool.append(select(condition, x, draw(st.sampled_from([p for p in pool if p.dtype == x.dtype]))))
        else:
            named = [o for o in OPERATIONS.values() if x.dtype in o.forms]
            operation = draw(st.sampled_from(named))
            same = st.sampled_from([p for p in pool if p.dtype == x.dtype])
            amounts = st.sampled_from([*(p for p in pool if p.dtype == "uint32"), tp.uint32(3)])
            others = [
                draw(amounts if operation.name in SHIFTS else same) for _ in range(operation.operands - 1)
            ]
            pool.append(operate(operation.name, x, *others))
    result = draw(st.sampled_from([p for p in pool if p.dtype != "bool"]))
    return function_of(lambda *_: result, list(types), result.dtype)


@given(expressions())
def test_a_function_comes_back_as_itself(function: LambdaExpr) -> None:
    text = function.to_json()
    again = LambdaExpr.from_json(text)
    assert again == function
    assert again.body is function.body
    assert again.to_json() == text
    assert len(json.loads(text)["nodes"]) == len(function.nodes)
    assert pickle.loads(pickle.dumps(function)) == function


@given(st.floats())
def test_constants_keep_their_bits(number: float) -> None:
    function = function_of(lambda: tp.constant(number, "float64"), [], "float64")
    (node,) = LambdaExpr.from_json(function.to_json()).nodes
    assert isinstance(node.value, float)
    assert math.isnan(number) or struct.pack("<d", node.value) == struct.pack("<d", number)


def test_what_is_shared_stays_shared() -> None:
    def build(x: Scalar) -> Scalar:
        for _ in range(200):
            x = x * x
        return x

    function = function_of(build, ["float32"], "float32")
    text = function.to_json()
    assert len(json.loads(text)["nodes"]) == 201
    assert len(postorder(LambdaExpr.from_json(text).body)) == 201


def test_another_process_needs_no_python_function(tmp_path: Any) -> None:
    place = tmp_path / "function.json"
    place.write_text(silu_affine.to_json(), encoding="utf-8")
    program = (
        "import sys, pathlib, numpy as np\n"
        "from tileproof import LambdaExpr\n"
        "f = LambdaExpr.from_json(pathlib.Path(sys.argv[1]).read_text())\n"
        "print(f.signature, f.evaluate(np.ones(1, np.float32), 2, 1)[0])\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", program, str(place)], capture_output=True, text=True, check=True
    )
    assert told.stdout == f"{silu_affine.signature} 2.4621172\n"


def changed(function: LambdaExpr, **keys: Any) -> dict[str, Any]:
    """A document with other entries, under a digest that fits."""
    content = {k: v for k, v in {**document(function), **keys}.items() if k != "sha256"}
    return {**content, "sha256": _digest(content)}


def row(function: LambdaExpr, place: int, *values: Any) -> list[Any]:
    nodes = document(function)["nodes"]
    return [*nodes[:place], list(values), *nodes[place + 1 :]]


OTHER = {**document(logic), "format": "tileproof-lambda-2", "result": "float16"}


@pytest.mark.parametrize("key", ["name", "parameters", "result", "nodes", "format"])
def test_a_document_that_was_changed(key: str) -> None:
    assert read(document(clipped)) == clipped
    with pytest.raises(CallError, match=r"changed after it was written|of format"):
        read({**document(clipped), key: OTHER[key]})


BAD: dict[str, Any] = {
    "no object": [],
    "no format": {},
    "a key too many": changed(clipped, more=1),
    "no digest": {k: v for k, v in document(clipped).items() if k != "sha256"},
    "a name that is no text": changed(clipped, name=3),
    "a name that is none": changed(clipped, name="a b"),
    "parameters that are no list": changed(clipped, parameters={"x": "float32"}),
    "an unknown parameter type": changed(clipped, parameters=[["x", "float99"]]),
    "a parameter that is missing": changed(clipped, parameters=[]),
    "another parameter type": changed(clipped, parameters=[["x", "float64"]]),
    "another result": changed(clipped, result="float64"),
    "nodes that are no list": changed(clipped, nodes="x"),
    "no nodes": changed(clipped, nodes=[]),
    "a node that is no list": changed(clipped, nodes=[document(clipped)["nodes"][0], "x"]),
    "an unknown operation": changed(clipped, nodes=row(clipped, 2, "exec", "bool", [0, 1], None)),
    "an unknown type": changed(clipped, nodes=row(clipped, 0, "variable", "object", [], "x")),
    "an operation that is no text": changed(clipped, nodes=row(clipped, 2, 3, "bool", [0, 1], None)),
    "another type of the result": changed(clipped, nodes=row(clipped, 2, "gt", "float32", [0, 1], None)),
    "a later argument": changed(clipped, nodes=row(clipped, 2, "gt", "bool", [0, 3], None)),
    "a negative argument": changed(clipped, nodes=row(clipped, 2, "gt", "bool", [0, -1], None)),
    "a truth value as an argument": changed(clipped, nodes=row(clipped, 2, "gt", "bool", [0, True], None)),
    "an argument too few": changed(clipped, nodes=row(clipped, 2, "gt", "bool", [0], None)),
    "a value where none is": changed(clipped, nodes=row(clipped, 2, "gt", "bool", [0, 1], 3)),
    "a decimal constant": changed(clipped, nodes=row(clipped, 1, "constant", "float32", [], 2.0)),
    "text that is no number": changed(clipped, nodes=row(clipped, 1, "constant", "float32", [], "two")),
    "a constant of more bits": changed(
        clipped, nodes=row(clipped, 1, "constant", "float32", [], "0x1.0000000000001p+0")
    ),
    "a constant out of range": changed(clipped, nodes=row(clipped, 1, "constant", "int16", [], 1 << 20)),
    "code as a name": changed(clipped, nodes=row(clipped, 0, "variable", "float32", [], "__import__('os')")),
    "a name that is a number": changed(clipped, nodes=row(clipped, 0, "variable", "float32", [], 3)),
    "another variable": changed(clipped, nodes=row(clipped, 0, "variable", "float32", [], "y")),
    "a node twice": changed(clipped, nodes=[document(clipped)["nodes"][0], *document(clipped)["nodes"]]),
    "a rounding that is none": changed(
        silu_affine, nodes=row(silu_affine, 5, "cast", "float16", [4], "up")
    ),
    "a rounding that is a number": changed(
        silu_affine, nodes=row(silu_affine, 5, "cast", "float16", [4], 1)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_document_that_is_no_function(name: str) -> None:
    with pytest.raises(CallError):
        read(BAD[name])


@pytest.mark.parametrize(
    "text", ["", "{", "null", "3", "[" * 100_000, '{"format": "tileproof-lambda-1"}', "NaN"]
)
def test_text_that_is_no_document(text: str) -> None:
    with pytest.raises(CallError, match="scalar function"):
        LambdaExpr.from_json(text)
