"""``ld`` and ``st``: state spaces, widths, shapes, parameters, and the examples of the reference."""

from __future__ import annotations

from typing import Any

import pytest

import tileproof as tp
from tests.contracts.calls import (
    PROVED,
    REFUTED,
    assert_told,
    check,
    failing,
    first_failure,
    memory,
    on,
    one,
    registers,
    swapped,
)  # fmt: skip
from tileproof import R, laneid, tx, warpid
from tileproof.errors import CallError
from tileproof.layouts.view import View, ViewOperations

FOUR = registers((4,))


def symbol(name: str, lo: int | None = None, hi: int | None = None, **more: Any) -> Any:
    return tp.symbol(name, lo, hi, **more)


SPACES = [
    ("ld.global.b32", "global", "shared"),
    ("ld.shared.b32", "shared", "global"),
    ("ld.shared::cta.b32", "shared", "local"),
    ("ld.shared::cluster.b32", "shared", "global"),
    ("ld.local.b32", "local", "registers"),
    ("ld.const.b32", "const", "global"),
    ("ld.param.b32", "param", "global"),
    ("ld.param::entry.b32", "param", "const"),
    ("st.global.b32", "global", "const"),
    ("st.shared.b32", "shared", "local"),
    ("st.local.b32", "local", "shared"),
]  # fmt: skip


@pytest.mark.parametrize(("opcode", "right", "wrong"), SPACES, ids=[s[0] for s in SPACES])
def test_state_space(opcode: str, right: Any, wrong: Any) -> None:
    def operands(space: Any) -> Any:
        pair = on(one(), memory((1,), space=space, align=None))
        return pair if opcode.startswith("ld") else swapped(pair)

    assert check(opcode, operands(right), hazards="ignore").verdict is PROVED
    refused = check(opcode, operands(wrong), hazards="ignore")
    assert refused.verdict is REFUTED
    assert failing(refused) == {"space"}
    example = first_failure(refused, "space").counterexample
    assert example is not None
    assert (example.needed, example.found.rpartition(": ")[2]) == (right, wrong)


STRUCTURE = [
    (
        "space", "ld.global.b32", (memory((1,)), memory((1,), name="B")), {}, "registers",
        "operand 0 (A, registers): global",
    ),
    (
        "space", "ld.global.b32", (one(), memory((32,), (1 @ laneid,))[0:1]), {}, "strides in storage only",
        "operand 1 (A, memory): A has strides on laneid",
    ),
    (
        "space", "ld.global.b32", (registers((32,), (1 @ tp.TCol,))[0:1], memory((1,))), {},
        "strides in storage only", "operand 0 (R, registers): R has strides on TCol",
    ),
    (
        "width", "ld.global.b32", (one(16), memory((1,))), {}, "elements of 32 bits",
        "operand 0 (R, registers): uint16, 16 bits",
    ),
    (
        "width", "ld.global.b32", (one(), memory((1,), bits=64)), {}, "elements of 32 bits",
        "operand 1 (A, memory): uint64, 64 bits",
    ),
    (
        "shape", "ld.global.v4.b32", (registers((3,)), memory((4,))), {}, "(*repeat, 4)",
        "operand 0 (R, registers): shape (3,)",
    ),
    ("shape", "ld.global.v4.b32", (FOUR, memory((2, 2))), {}, "(*repeat, 4)", "operand 1 (A, memory): shape (2, 2)"),
    ("shape", "ld.global.b32", (FOUR, FOUR), {}, "(*repeat, 1)", "operand 0 (R, registers): shape (4,)"),
    (
        "shape", "ld.global.v4.b32", (registers((4,), (1,)), memory((4,))), {"scope": "warp"}, "(lane, *repeat, 4)",
        "operand 0 (R, registers): shape (4,)",
    ),
    (
        "shape", "ld.global.v4.b32", (registers((2, 4)), memory((3, 4))), {}, "group () and repeats (2,) as R has",
        "operand 1 (A, memory): group () and repeats (3,)",
    ),
    (
        "shape", "ld.global.v4.b32", (registers((2, 32, 4), (1 @ warpid, 1 @ laneid, 1)), memory((3, 32, 4))),
        {"scope": "cta", "block": 64}, "group (2, 32) and repeats () as R has",
        "operand 1 (A, memory): group (3, 32) and repeats ()",
    ),
    (
        "shape", "ld.global.v4.b32", (FOUR, tp.tensor("A", (symbol("n", 1), 4), "b32")), {}, "static extents",
        "operand 1 (A, memory): A: dimension 0 has the symbolic extent n; slice it to a static extent first",
    ),
    (
        "shape", "ld.global.b32", (registers((1,), (1,), R[(symbol("n", 1, 4),):(1,)]), memory((1,))), {},
        "static replicas", "operand 0 (R, registers): R has [n] replicas",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("demand", "opcode", "operands", "keywords", "needed", "found"), STRUCTURE)
def test_structure(
    demand: str, opcode: str, operands: Any, keywords: dict[str, Any], needed: str, found: str
) -> None:
    report = tp.check(opcode, *operands, **keywords)
    assert report.verdict is REFUTED
    assert failing(report) == {demand}
    (finding,) = report.findings
    assert_told(finding, {"needed": needed, "found": found})
    assert found in str(report)


def test_a_scalar_has_no_vector_demands() -> None:
    report = tp.check("ld.global.b32", one(), memory((1,)))
    assert [f.obligation.id for f in report.findings] == ["ld.aligned", "ld.whole-register", "ld.distinct"]


# Parameters

HINTED = "ld.global.L2::cache_hint.v4.b32"
POLICY = symbol("policy")
PARAMETERS = [
    (HINTED, {}, "\\.L2::cache_hint needs cache_policy=, the 64-bit policy operand"),
    ("ld.global.v4.b32", {"cache_policy": POLICY}, "cache_policy does not apply: the opcode has no \\.L2::cache_hint"),
    ("ld.global.v4.b32", {"preserve_dst": True}, "preserve_dst needs pred"),
    ("ld.global.v4.b32", {"preserve_dst": "yes", "pred": True}, "preserve_dst is True or False, got 'yes'"),
    ("st.global.v4.b32", {"preserve_dst": True, "pred": True}, "does not apply: a store has no destination registers"),
    ("ld.global.v4.b32", {"index_bits": 16}, "index_bits is 32 or 64, got 16"),
    ("st.global.L2::cache_hint.v4.b32", {}, "needs cache_policy"),
    (
        "ld.global.v4.b32", {"mask": 1},
        "has no parameter mask; its parameters are cache_policy, index_bits, pred, preserve_dst",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("opcode", "parameters", "message"), PARAMETERS)
def test_wrong_parameters(opcode: str, parameters: dict[str, Any], message: str) -> None:
    operands = on(FOUR, memory((4,)))
    with pytest.raises(CallError, match=message):
        check(opcode, operands if opcode.startswith("ld") else swapped(operands), **parameters)


@pytest.mark.parametrize(
    ("opcode", "parameters"),
    [
        (HINTED, {"cache_policy": POLICY}),
        ("ld.global.v4.b32", {"pred": POLICY > 3, "preserve_dst": True}),
        ("ld.global.v4.b32", {"pred": True, "preserve_dst": False}),
        ("ld.global.v4.b32", {"preserve_dst": False}),
        ("ld.global.v4.b32", {"index_bits": 64}),
        ("ld.global.nc.L1::no_allocate.L2::128B.v4.b32", {}),
        ("ld.relaxed.gpu.global.v4.b32", {}),
        ("ld.volatile.global.v4.b32", {}),
    ],
)
def test_right_parameters(opcode: str, parameters: dict[str, Any]) -> None:
    assert tp.check(opcode, FOUR, memory((4,)), **parameters).verdict is PROVED


def test_generic_addresses_have_no_contract() -> None:
    report = tp.check("ld.v4.b32", FOUR, memory((4,)))
    assert report.verdict is tp.Verdict.UNSUPPORTED
    assert "write the state space of the operand, for example ld.global" in report.reason
    assert report.findings == ()


# The reference's examples


@pytest.mark.parametrize("opcode", ["ld.global.v4.b32", "st.global.v4.b32"])
def test_three_accesses_for_each_of_64_threads(opcode: str) -> None:
    regs = registers((2, 32, 3, 4), (1 @ warpid, 1 @ laneid, 8, 2))
    setup = on(regs, tp.tensor("A", (2, 32, 3, 4), "b32"), scope="cta", block=64)
    report = check(opcode, setup if opcode.startswith("ld") else swapped(setup), hazards="error")
    assert report.verdict is PROVED
    assert (report.call.group_extents, report.call.repeat_extents) == ((2, 32), (3,))


@pytest.mark.parametrize("strides", [(4, 1, 60, 2), (8, 2, 120, 4)])
def test_105_rearranged_accesses(strides: tuple[int, ...]) -> None:
    def rearranged(tensor: ViewOperations) -> View:
        return tensor.rearrange("i b j d -> j i (d b)")

    array = rearranged(memory((15, 2, 7, 2), (4, 1, 60, 2)))
    regs = rearranged(registers((15, 2, 7, 2), strides))
    report = tp.check("ld.global.v4.b32", regs, array)
    assert report.verdict is PROVED
    assert report.call.repeat_extents == (7, 15)
    assert "105 instructions" in str(report)
    back = tp.check("st.global.v4.b32", array, regs, active=tx == 0, hazards="error")
    assert back.verdict is PROVED
