"""Where offset arithmetic must not wrap around, checked against arithmetic that does wrap around."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tileproof as tp
from tests.contracts.calls import memory, registers
from tests.strategies import indices, points
from tileproof.contracts.call import Call
from tileproof.contracts.grammar import resolve
from tileproof.contracts.launch import Launch
from tileproof.contracts.width import exact_points, fits, index_bits, wrap_points
from tileproof.errors import CallError
from tileproof.layouts.evaluate import evaluate
from tileproof.layouts.index import Index, const, floordiv
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.normal import simplify
from tileproof.layouts.symbols import symbol

I, J, N = symbol("i", 0, 2**20), symbol("j", -5, 2**20), symbol("n")


@pytest.mark.parametrize(
    ("node", "narrowest"),
    [
        (symbol("a", 0, 2**31 - 1), 32),
        (symbol("a", 0, 2**31), 33),
        (symbol("a", -(2**31), 0), 32),
        (symbol("a", -(2**31) - 1, 0), 33),
        (symbol("a", 0, 2**63 - 1), 64),
        (symbol("a", -(2**63), 5), 64),
        (const(1), 2),
        (const(-2), 2),
        (const(2), 3),
    ],
)
def test_fits(node: Index, narrowest: int) -> None:
    assert fits(node, narrowest)
    assert not fits(node, narrowest - 1)


@pytest.mark.parametrize(
    "node", [symbol("a", 0), symbol("a", None, 3), symbol("a"), symbol("a", 0) % 8 - symbol("b", 0)]
)
def test_what_is_unbounded_never_fits(node: Index) -> None:
    assert not fits(node, 1000)


@pytest.mark.parametrize(
    ("offset", "exact"),
    [
        (I * 4 + J, []),
        (I, []),
        (I ^ J, []),
        ((I & 12) | J, []),
        (I % 8, []),
        (I // 8, [I]),
        (I % 12, [I]),
        ((I * 4 + J) // 8, [I * 4 + J]),
        ((I // 3) // 4 + J, [I // 3, I]),
        ((I // 3) % 4, [I]),
        (I % symbol("d", 1, 9), [I, symbol("d", 1, 9)]),
        (I // symbol("d", 1, 9), [I, symbol("d", 1, 9)]),
        (tp.minimum(I, J * 2), [I, J * 2]),
        (tp.maximum(I, 7) + 1, [I]),
        (tp.select(I < J, I * 8, 0), [I, J]),
        (tp.select((I + 1 == J) & ~(J < 5), I, J), [I + 1, J]),
        (tp.select(I // 2 < 3, J // 5, I), [I // 2, I, J]),
    ],
    ids=repr,
)
def test_exact_points(offset: Index, exact: list[Index]) -> None:
    found = list(exact_points(offset))
    assert {p.uid for p in found} == {p.uid for p in exact}
    assert offset.uid not in {p.uid for p in found}


def load(start: Any, active: Any = None, assume: Any = (), **parameters: Any) -> Call:
    array = memory((1 << 62,), bits=8)[start : start + 1]
    call = Call(
        resolve("ld.global.b8"),
        (registers((1,), bits=8).as_view(), array),
        "thread",
        Launch.of(active=active, assume=assume),
        parameters,
        family="ld",
    )
    call.operand(0, "registers", ("registers",), (1,), 8)
    return call


def points_of(start: Any, **parameters: Any) -> list[tuple[int, Index]]:
    call = load(start, **parameters)
    return list(wrap_points(call, call.operand(1, "memory", ("global",), (1,), 8), (const(0),)))


@pytest.mark.parametrize(
    ("start", "bits"),
    [
        (symbol("a", 0, 2**31 - 1), 32),
        (symbol("a", 0, 2**31), 64),
        (symbol("a", 0), 64),
        (symbol("a", 0, 2**31 - 1) // 3, 32),
        (symbol("a", 0, 2**31) // 3, 64),
        (symbol("a", 0, 2**40) % 8, 32),
        (symbol("a", 0, 2**40) % 12, 64),
        (symbol("a", 0, 2**40) % 64 * 8 + I, 32),
    ],
    ids=repr,
)
def test_narrowest_width_that_bounds_allow(start: Index, bits: int) -> None:
    assert index_bits(load(start), simplify(start)) == bits
    for chosen in (32, 64):
        assert index_bits(load(start, index_bits=chosen), simplify(start)) == chosen


def test_guards_and_assumptions_narrow_the_width() -> None:
    a = tp.symbol("a")
    for keywords, bits in (
        ({}, 64),
        ({"active": (a >= 0) & (a < 2**31)}, 32),
        ({"active": (a >= 0) & (a <= 2**31)}, 64),
        ({"active": a >= 0, "assume": a < 2**31}, 32),
    ):
        call = load(a, **keywords)
        assert index_bits(call, simplify(a)) == bits
        assert index_bits(call, simplify(a // 3)) == bits


@pytest.mark.parametrize("chosen", [0, 16, 31, 128, "32", -32, 32.5])
def test_other_widths(chosen: Any) -> None:
    with pytest.raises(CallError, match="index_bits is 32 or 64, got"):
        index_bits(load(I, index_bits=chosen), I)


WIDE = symbol("a", 0, 2**40)


@pytest.mark.parametrize(
    ("start", "parameters", "found"),
    [
        (I, {}, []),
        (I, {"index_bits": 32}, []),
        (WIDE, {}, []),
        (WIDE, {"index_bits": 32}, [(32, WIDE)]),
        (WIDE, {"index_bits": 64}, []),
        (N, {}, []),
        (N, {"index_bits": 32}, [(32, N)]),
        (N // 3, {}, []),
        (N // 3, {"index_bits": 32}, [(32, N), (32, N // 3)]),
        ((N + 1) // 3, {}, [(64, N + 1)]),
        (WIDE // 2**20, {"index_bits": 32}, [(32, WIDE)]),
        (WIDE % 2**20, {"index_bits": 32}, []),
        (WIDE * 2**30 // 3, {}, [(64, WIDE * 2**30)]),
        (WIDE * 2**22 // 3, {}, []),
        (I // 3, {"index_bits": 32}, []),
    ],
    ids=repr,
)
def test_wrap_points(start: Index, parameters: dict[str, Any], found: list[tuple[int, Index]]) -> None:
    assert {(b, simplify(p).uid) for b, p in points_of(start, **parameters)} == {
        (b, simplify(p).uid) for b, p in found
    }


def wrapped(value: int, bits: int) -> int:
    """The value that a signed register of so many bits holds."""
    half = 1 << (bits - 1)
    return (value + half) % (1 << bits) - half


def machine(node: Any, values: dict[Leaf, int], bits: int) -> Any:
    """What arithmetic in signed registers of so many bits computes. Constants of exact operations are
    immediates.
    """

    def exact(argument: Any) -> Any:
        return argument.args[0] if argument.op == "const" else machine(argument, values, bits)

    op = node.op
    if op == "leaf":
        return wrapped(values[node.args[0]], bits)
    if op in ("const", "truth"):
        return wrapped(node.args[0], bits) if op == "const" else node.args[0]
    if op in ("div", "min", "max", "eq", "lt"):
        a, b = (exact(x) for x in node.args)
        found = {"div": lambda: a // b if b > 0 else 0, "min": lambda: min(a, b), "max": lambda: max(a, b)}
        return found[op]() if op in found else a == b if op == "eq" else a < b
    if op == "mod":
        a, b = (exact(x) for x in node.args)
        return wrapped(a % b if b > 0 else 0, bits)
    arguments = [machine(x, values, bits) for x in node.args]
    if op == "select":
        return arguments[1] if arguments[0] else arguments[2]
    if op == "not":
        return not arguments[0]
    if op in ("all", "any"):
        return all(arguments) if op == "all" else any(arguments)
    a, b = arguments
    return wrapped({"add": a + b, "mul": a * b, "xor": a ^ b, "and": a & b, "or": a | b}[op], bits)


@given(indices(max_leaves=8), st.sampled_from([6, 8, 10, 12]))
def test_arithmetic_is_exact_where_all_points_fit(offset: Index, bits: int) -> None:
    """In a width so narrow that much wraps around: if every point fits, so does what is computed."""
    half = 1 << (bits - 1)
    exact = [*exact_points(offset), offset]
    for values in points(offset, *exact):
        if all(-half <= evaluate(p, values) < half for p in exact):
            assert machine(offset, values, bits) == evaluate(offset, values)


def test_each_point_is_needed() -> None:
    """Without the demand on what is divided, the machine computes something else although the offset fits."""
    offset, values = floordiv(I, const(8)), {I.args[0]: 200}
    assert evaluate(offset, values) == 25
    assert machine(offset, values, 8) == -7


@given(indices(max_leaves=6))
def test_bounds_that_fit_are_true(offset: Index) -> None:
    widths = [bits for bits in (4, 8, 16) if fits(offset, bits)]
    for bits in widths:
        half = 1 << (bits - 1)
        assert all(-half <= evaluate(offset, values) < half for values in points(offset))
