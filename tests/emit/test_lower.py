"""The PTX reading of expressions against the numeric one, on the reference machine and by the assembler."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.strategies import I, J, K, N, U, indices, points, relations
from tileproof.emit.assemble import assemble, available_assemblers
from tileproof.emit.code import Code
from tileproof.emit.lower import Lowering, Register, keeps_meaning, special, width_of
from tileproof.errors import EmissionError
from tileproof.layouts import index as ix
from tileproof.layouts.evaluate import evaluate
from tileproof.layouts.index import Index, Relation, const, leaf, maximum, minimum, select
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.normal import decide, simplify
from tileproof.layouts.symbols import symbol
from tileproof.layouts.traverse import leaves
from tileproof.simulate import simulate

LARGE = symbol("large", -(2**31), 2**31 - 1)
HUGE = symbol("huge", -(2**62), 2**62)
LONG = symbol("long", 0, 2**40)
SYMBOLS = (I, J, K, N, LARGE, LONG)
THREADS = 16


def kernel(lowered: Index | Relation, bits: int) -> tuple[str, list[Leaf]]:
    """A module whose thread t reads its own values of the variables and stores what the expression is."""
    variables = [v for v in leaves(lowered) if not v.name.startswith("%")]
    code = Code()
    registers = {
        v: Register(f"%{v.name}", 32 if -(2**31) <= (v.lo or 0) and (v.hi or 0) < 2**31 else 64)
        for v in variables
    }
    lowering = Lowering(code, registers)
    if isinstance(lowered, Relation):
        found = code.compute(
            f"selp.b{bits}", "b32" if bits == 32 else "b64", "1", "0", lowering.predicate(lowered, bits)
        )
    else:
        found = lowering.operand(lowered, bits)
    loads = []
    for position, (_, register) in enumerate(registers.items()):
        loads += [
            f".reg .b{register.bits} {register.name};",
            f"ld.global.u{register.bits} {register.name}, [%from+{8 * position}];",
        ]
    declared = "\n".join(code.declarations())
    return (
        f""".version 8.0
.target sm_90a
.address_size 64
.visible .entry f(.param .u64 in, .param .u64 out) .reqntid {THREADS}, 1, 1
{{
.reg .b64 %from;
.reg .b64 %to;
.reg .b32 %t;
.reg .b{bits} %result;
{declared}
ld.param.u64 %from, [in];
ld.param.u64 %to, [out];
mov.u32 %t, %tid.x;
mad.wide.u32 %from, %t, {8 * max(1, len(variables))}, %from;
mad.wide.u32 %to, %t, {bits // 8}, %to;
{chr(10).join(loads + code.lines)}
mov.b{bits} %result, {found};
st.global.b{bits} [%to], %result;
ret;
}}
""",
        variables,
    )


def run(lowered: Index | Relation, bits: int, cases: list[dict[Leaf, int]]) -> list[int]:
    """What the machine computes at each of the points, as signed numbers."""
    text, variables = kernel(lowered, bits)
    given_values = np.zeros((THREADS, max(1, len(variables))), np.int64)
    for row in range(THREADS):
        case = cases[min(row, len(cases) - 1)]
        given_values[row, : len(variables)] = [case[v] for v in variables]
    out = np.zeros(THREADS, f"i{bits // 8}")
    simulate(text, [given_values, out], block=THREADS)
    return [int(value) for value in out[: len(cases)]]


def wrapped(value: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return (value + half) % (1 << bits) - half


@settings(max_examples=150)
@given(indices(SYMBOLS), st.sampled_from((32, 64)), st.integers(0, 10**6))
def test_an_index_is_computed_as_evaluated(expression: Index, bits: int, seed: int) -> None:
    assume(keeps_meaning(expression, bits))
    cases = list(points(expression, seed=seed, count=THREADS))
    assert run(expression, bits, cases) == [wrapped(evaluate(expression, c), bits) for c in cases]


@settings(max_examples=60)
@given(indices(SYMBOLS), st.integers(0, 10**6))
def test_a_simplified_index_is_computed_as_the_plain_one(expression: Index, seed: int) -> None:
    simple = simplify(expression)
    assume(keeps_meaning(simple, 64))
    cases = list(points(expression, seed=seed, count=THREADS))
    assert run(simple, 64, cases) == [wrapped(evaluate(expression, c), 64) for c in cases]


@settings(max_examples=100)
@given(relations(SYMBOLS), st.integers(0, 10**6))
def test_a_relation_is_decided_as_evaluated(relation: Relation, seed: int) -> None:
    assume(keeps_meaning(relation, 64))
    cases = list(points(relation, seed=seed, count=THREADS))
    assert run(relation, width_of(relation), cases) == [int(evaluate(relation, c)) for c in cases]


X = LARGE
EDGES: list[Any] = [
    X // 3,
    X % 3,
    X // N,
    X % N,
    X // 8,
    X % 8,
    X // 2**31,
    X // (2**31 + 5),
    X % (2**31 + 5),
    X % 2**31,
    X % 2**40,
    minimum(X, 2**35),
    minimum(X, -(2**35)),
    maximum(X, 2**35),
    maximum(X, -(2**35)),
    minimum(X, 7),
    X ^ -16,
    X & 0xFF00,
    X | 2**31,
    -X,
    X * -8,
    X * 2**32,
    I - X,
    X * X + X,
    select(X < 2**35, X, 0),
    select(-(2**35) < X, X, 0),
    select(const(2**35) < X, X, 0),
    select(X < -(2**35), X, 0),
    select(X == 2**40, 1, 2),
    select((X < 3) | ~((X == 5) & (I < X)), X, I),
]


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("expression", EDGES, ids=repr)
def test_the_edges_of_a_word(expression: Index, bits: int) -> None:
    values = [0, 1, -1, 2, -2, 3, 7, -8, 2**31 - 1, -(2**31), -(2**31) + 1, 2**30, 12345678, -87654321]
    cases = [{LARGE.args[0]: v, I.args[0]: 31, N.args[0]: 7} for v in values]
    assert run(expression, bits, cases) == [wrapped(evaluate(expression, c), bits) for c in cases]


@pytest.mark.parametrize(
    "expression",
    [HUGE // 3, HUGE % 5, HUGE // 16, HUGE % 64, HUGE * 3 + LONG, LONG * I, HUGE // 2**63],
    ids=repr,
)
def test_the_edges_of_two_words(expression: Index) -> None:
    values = [0, 1, -1, 2**62, -(2**62), 2**33 + 1, -(2**40) - 3]
    cases = [{HUGE.args[0]: v, LONG.args[0]: 2**40 - 7, I.args[0]: 31} for v in values]
    assert run(expression, 64, cases) == [wrapped(evaluate(expression, c), 64) for c in cases]


@pytest.mark.parametrize("relation", [ix.truth(True), ix.truth(False), ~(I < 3), decide(I < 32)], ids=repr)
def test_a_decided_relation_is_a_constant_predicate(relation: Relation) -> None:
    cases = list(points(relation, count=THREADS))
    assert run(relation, 32, cases) == [int(evaluate(relation, c)) for c in cases]


def lines(expression: Index, bits: int = 32) -> list[str]:
    code = Code()
    registers = {
        v: Register(f"%{v.name}", 64 if v in (LONG.args[0], U.args[0]) else 32) for v in leaves(expression)
    }
    Lowering(code, registers).operand(expression, bits)
    return [line.strip() for line in code.lines]


B = leaf(Leaf("base", "base", 0, None, 16))

WRITTEN: list[tuple[Index, int, list[str]]] = [
    (I * 16, 32, ["shl.b32 %r0, %i, 4;"]),
    (I // 8, 32, ["shr.u32 %r0, %i, 3;"]),
    (J // 8, 32, ["shr.s32 %r0, %j, 3;"]),
    (J % 8, 32, ["and.b32 %r0, %j, 7;"]),
    (I % 7, 32, ["rem.u32 %r0, %i, 7;"]),
    (I // N, 32, ["div.u32 %r0, %i, %n;"]),
    (I * 12 + J, 32, ["mad.lo.s32 %r0, %i, 12, %j;"]),
    (J - I, 32, ["sub.s32 %r0, %j, %i;"]),
    (minimum(I, N), 32, ["min.s32 %r0, %i, %n;"]),
    (I * 48 + LONG, 64, ["mad.wide.u32 %rd0, %i, 48, %long;"]),
    (J * 48 + LONG, 64, ["mad.wide.s32 %rd0, %j, 48, %long;"]),
    (I + 1 + LONG, 64, ["add.s32 %r0, %i, 1;", "cvt.u64.u32 %rd0, %r0;", "add.s64 %rd1, %rd0, %long;"]),
    (LONG % 8, 64, ["cvt.u32.u64 %r0, %long;", "and.b32 %r1, %r0, 7;", "cvt.u64.u32 %rd0, %r1;"]),
    (I * 4 + (I * 4 ^ J), 32, ["shl.b32 %r0, %i, 2;", "xor.b32 %r1, %r0, %j;", "add.s32 %r2, %r0, %r1;"]),
]


@pytest.mark.parametrize(("expression", "bits", "written"), WRITTEN, ids=repr)
def test_what_is_written(expression: Index, bits: int, written: list[str]) -> None:
    assert lines(expression, bits) == written


def test_special_registers_are_read_once_and_with_one_value_not_at_all() -> None:
    tid, one = leaf(special("%tid.x", 64)), leaf(special("%tid.y", 1))
    assert lines(tid * 8 + (tid ^ 3) + one, 32)[0] == "mov.u32 %r0, %tid.x;"
    assert sum("%tid" in line for line in lines(tid * 8 + (tid ^ 3) + one, 32)) == 1


def test_a_nested_block_sees_what_was_computed_before_it_and_keeps_its_own() -> None:
    code = Code()
    outer = Lowering(code, {I.args[0]: Register("%i", 32)})
    outer.operand(I * 8, 32)
    inner = outer.nested()
    assert inner.operand(I * 8, 32) == "%r0"
    assert inner.operand(I * 16, 32) == "%r1"
    assert outer.operand(I * 16, 32) == "%r2"


def test_a_symbol_without_a_register_is_named() -> None:
    with pytest.raises(EmissionError, match="i has no register here"):
        Lowering(Code(), {}).operand(I + 1, 32)


@pytest.mark.parametrize(
    ("expression", "bits"),
    [(I // 3, 32), (LONG // 3, 64), (U // 3, 64), (U * U, 32), (U < 3, 64), (I * 2**33, 32), (U % 8, 32)],
    ids=repr,
)
def test_the_width_follows_from_what_is_read_as_a_number(expression: Any, bits: int) -> None:
    assert width_of(expression) == bits


@pytest.mark.parametrize("expression", [(U + 1) // 3, (LONG * 2**30) // 3, U * I < 3], ids=repr)
def test_what_may_not_fit_in_64_bits_is_refused(expression: Any) -> None:
    with pytest.raises(EmissionError, match="declare narrower bounds"):
        width_of(expression)


def test_a_constant_that_is_divided_has_to_fit() -> None:
    with pytest.raises(EmissionError, match="index_bits=64"):
        lines(const(2**35) // N, 32)
    assert lines(const(2**35) // N, 64)[-1].startswith("div.u64")


@pytest.mark.parametrize("bits", [32, 64])
def test_the_assembler_takes_every_operation(bits: int) -> None:
    assert available_assemblers(), "this test needs an assembler: pip install 'tileproof[ptxas]'"
    everything = const(0)
    for expression in EDGES:
        everything = everything ^ expression
    text, _ = kernel(everything, bits)
    assert assemble(text, "sm_90a").kernels[0].name == "f"
