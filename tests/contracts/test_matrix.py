"""``ldmatrix`` and ``stmatrix``: every demand with the call that meets it by a hair and the one next to it
that does not.
"""

from __future__ import annotations

from typing import Any

import pytest

import tileproof as tp
from tests.contracts.calls import (
    PROVED,
    REFUTED,
    Neighbours,
    assert_hazard,
    assert_neighbours,
    assert_told,
    check,
    failing,
    first_failure,
    memory,
    on,
    registers,
    swapped,
)
from tileproof import R, S, Swizzle, TileLayout, laneid, tx, warpid, wid_in_wg
from tileproof.contracts.grammar import enumerate_spellings, resolve
from tileproof.errors import CallError
from tileproof.layouts.tensor import Tensor

X1, X2, X4 = (f"ldmatrix.sync.aligned.m8n8.x{n}.shared.b16" for n in (1, 2, 4))
OWNERS = (4 @ laneid, 1 @ laneid)


def fragment(count: int, step: Any = 1, extra: Any = None) -> Tensor:
    """The registers of one warp: a matrix in every ``step``-th slot."""
    return registers((count, 8, 4), (step, *OWNERS), extra)


def shared(shape: tuple[int, ...], strides: Any = None, extra: Any = None, **more: Any) -> Tensor:
    return memory(shape, strides, extra, **{"space": "shared", "name": "SM", "align": 128, **more})


def tile(count: int, strides: Any = None, **more: Any) -> Tensor:
    return shared((count, 8, 4), strides, **more)


def warps(*operands: Any, **keywords: Any) -> Any:
    return on(*operands, **{"scope": "warp", **keywords})


def halves(count: int) -> Tensor:
    """Two registers over so many 16-bit ones."""
    raw = tp.tensor("RAW", (count,), "b16", "registers")
    return raw.declare((2, 8, 4), "b32", name="D", layout=TileLayout(S[(2, 8, 4) : (1, *OWNERS)]))


def declared(backing: int, shape: tuple[int, ...], at: Any, strides: Any, *, space: Any = "shared") -> Tensor:
    raw = tp.tensor("RAW", (backing,), "b32", space, align=128 if space == "shared" else None)
    return raw.declare(shape, at=at, name="D", layout=TileLayout(S[shape:strides]))


I = tp.symbol("i", 0, 8)
J = tp.symbol("j", 0, 2**30)
ROWS = shared((64, 4))
X = tp.symbol("x", 0, 7, uniform="thread")
TWO = tp.select(warpid < 1, 3, laneid)
CASES = [
    Neighbours("row-aligned", "base",
        warps(fragment(1), tile(1, align=16)), warps(fragment(1), tile(1, align=8)),
        {"base": 8, "byte_address": 0, "found": "byte address 8, which is 8 modulo 16", "lane": 0}, X1),
    Neighbours("row-aligned", "row pitch",
        warps(fragment(1), tile(1, (64, 8, 1))), warps(fragment(1), tile(1, (64, 6, 1))),
        {"lane": 1, "element": {"matrix": 0, "row": 1}, "byte_address": 24, "needed": "a multiple of 16 bytes"}, X1),
    Neighbours("row-aligned", "second matrix",
        warps(fragment(2), tile(2, (36, 4, 1))), warps(fragment(2), tile(2, (35, 4, 1))),
        {"lane": 8, "element": {"matrix": 1, "row": 0}, "byte_address": 140}, X2),
    Neighbours("row-aligned", "repeat",
        warps(registers((3, 1, 8, 4), (1, 1, *OWNERS)), shared((3, 1, 8, 4), (32, 32, 4, 1))),
        warps(registers((3, 1, 8, 4), (1, 1, *OWNERS)), shared((3, 1, 8, 4), (34, 32, 4, 1))),
        {"repeat": (1,), "byte_address": 136}, X1),
    Neighbours("row-aligned", "start",
        warps(fragment(1), shared((512,))[4 * I:4 * I + 32].view(1, 8, 4)),
        warps(fragment(1), shared((512,))[2 * I:2 * I + 32].view(1, 8, 4)), {"symbols": {"i": 1}, "byte_address": 8},
        X1),
    Neighbours("row-contiguous", "gap",
        warps(fragment(1), tile(1, (64, 8, 1))), warps(fragment(1), tile(1, (64, 8, 2))),
        {"element": {"matrix": 0, "row": 0, "word": 1}, "needed": "byte offset 4", "found": "byte offset 8"}, X1),
    Neighbours("row-contiguous", "reversed",
        warps(fragment(1), shared((1, 8, 4), (32, 4, 1), 4)), warps(fragment(1), shared((1, 8, 4), (32, 4, -1), 4)),
        {"element": {"matrix": 0, "row": 0, "word": 1}, "needed": "byte offset 20", "found": "byte offset 12"}, X1),
    Neighbours("row-contiguous", "swizzle inside a row",
        warps(fragment(1), tile(1, swizzle=Swizzle(3, 2, 3))), warps(fragment(1), tile(1, swizzle=Swizzle(1, 0, 1))),
        {"element": {"matrix": 0, "row": 0, "word": 2}, "needed": "byte offset 8", "found": "byte offset 12"}, X1),
    Neighbours("owned", "rows and words swapped",
        warps(fragment(1), tile(1)), warps(registers((1, 8, 4), (1, 1 @ laneid, 8 @ laneid)), tile(1)),
        {"lane": 1, "element": {"row": 0, "word": 1}, "needed": "laneid 1", "found": "laneid 8"}, X1),
    Neighbours("owned", "shifted",
        warps(fragment(1), tile(1)), warps(fragment(1, 1, 1 @ laneid), tile(1)),
        {"element": {"row": 0, "word": 0}, "needed": "laneid 0", "found": "laneid 1"}, X1),
    Neighbours("owned", "last row",
        warps(fragment(1), tile(1)), warps(registers((1, 8, 4), (1, 3 @ laneid, 1 @ laneid)), tile(1)),
        {"lane": 4, "element": {"row": 1, "word": 0}, "needed": "laneid 4", "found": "laneid 3"}, X1),
    Neighbours("owned", "no thread named",
        warps(fragment(1), tile(1)), warps(registers((1, 8, 4)), tile(1)),
        {"element": {"row": 0, "word": 1}, "needed": "laneid 1", "found": "laneid 0"}, X1),
    Neighbours("owned", "replica with another lane",
        warps(fragment(1), tile(1)), warps(fragment(1, 1, R[(2,):(1 @ laneid,)]), tile(1)), {"found": "laneid 1"}, X1),
    Neighbours("owned", "warps of a CTA",
        on(registers((2, 1, 8, 4), (1 @ warpid, 1, *OWNERS)), shared((2, 1, 8, 4)), scope="cta", block=64),
        on(registers((2, 1, 8, 4), (4, 1, *OWNERS)), shared((2, 1, 8, 4)), scope="cta", block=64),
        {"warp": 1, "needed": "warpid 1", "found": "warpid 0"}, X1),
    Neighbours("owned", "warps of a warpgroup",
        on(registers((4, 1, 8, 4), (1 @ wid_in_wg, 1, *OWNERS)), shared((4, 1, 8, 4)), scope="warpgroup", block=256),
        on(registers((4, 1, 8, 4), (1 @ warpid, 1, *OWNERS)), shared((4, 1, 8, 4)), scope="warpgroup", block=256),
        {"warp": 4, "needed": "warpid 4", "found": "warpid 0"}, X1),
    Neighbours("owned", "CTAs of a cluster",
        on(
            registers((2, 1, 1, 8, 4), (1 @ tp.cbx, 0, 1, *OWNERS)), shared((2, 1, 1, 8, 4)), scope="cluster",
            cluster=2,
        ),
        on(registers((2, 1, 1, 8, 4), (4, 0, 1, *OWNERS)), shared((2, 1, 1, 8, 4)), scope="cluster", cluster=2),
        {"needed": "cbx 1", "found": "cbx 0"}, X1),
    Neighbours("uniform", "start from the lane",
        warps(fragment(1), ROWS[laneid // 32:laneid // 32 + 8, :].view(1, 8, 4)),
        warps(fragment(1), ROWS[laneid // 31:laneid // 31 + 8, :].view(1, 8, 4)),
        {"lane": 31, "found": "SM at byte offset 0 for lane 0 and 16 for lane 31"}, X1),
    Neighbours("uniform", "start from the thread's number",
        warps(fragment(1), ROWS[tx // 32:tx // 32 + 8, :].view(1, 8, 4), block=64),
        warps(fragment(1), ROWS[tx // 16:tx // 16 + 8, :].view(1, 8, 4), block=64),
        {"warp": 0, "lane": 16, "found": "SM at byte offset 0 for lane 0 and 16 for lane 16"}, X1),
    Neighbours("uniform", "start from a value of each thread",
        warps(fragment(1), ROWS[X:X + 8, :].view(1, 8, 4), assume=X == 3),
        warps(fragment(1), ROWS[X:X + 8, :].view(1, 8, 4)),
        {"symbols": {"x": 0, "x'": 1}, "found": "SM at byte offset 0 for lane 0 and 16 for lane 1", "lane": 1}, X1),
    Neighbours("uniform", "start from a value of each thread that another one fixes",
        warps(fragment(1), ROWS[X:X + 8, :].view(1, 8, 4), assume=tp.symbol("y", 0, 7) == X),
        warps(fragment(1), ROWS[X:X + 8, :].view(1, 8, 4), assume=tp.symbol("y", 0, 7, uniform="thread") == X),
        {"symbols": {"x": 0, "y": 0, "x'": 1, "y'": 1}, "lane": 1}, X1),
    Neighbours("uniform", "start from the lane in other warps",
        warps(fragment(1), ROWS[TWO:TWO + 8, :].view(1, 8, 4), block=64, active=warpid < 1),
        warps(fragment(1), ROWS[TWO:TWO + 8, :].view(1, 8, 4), block=64, active=warpid < 2), {"warp": 1, "lane": 1},
        X1),
    Neighbours("uniform", "start from a value of each warp",
        warps(
            fragment(1),
            ROWS[tp.symbol("w", 0, 7, uniform="warp"):tp.symbol("w", 0, 7, uniform="warp") + 8, :].view(1, 8, 4),
        ),
        warps(fragment(1), ROWS[X:X + 8, :].view(1, 8, 4), assume=X < 2), {"symbols": {"x": 0, "x'": 1}}, X1),
    Neighbours("whole-register", "halves of two registers",
        warps(
            tp.tensor("H", (1, 8, 10), "b16", "registers", layout=TileLayout(S[(1, 8, 5, 2):(8, *OWNERS, 1)]))[:, :, 0:8].view("b32"),
            tile(1),
        ),
        warps(
            tp.tensor("H", (1, 8, 8), "b16", "registers", layout=TileLayout(S[(1, 8, 4, 2):(8, *OWNERS, 1)] + 1)).view("b32"),
            tile(1),
        ),
        {"found": "register offset 2 bytes", "storage": "H", "needed": "a multiple of 4 bytes"}, X1),
    Neighbours("distinct", "two matrices",
        warps(fragment(2, 1), tile(2)), warps(fragment(2, 0), tile(2)),
        {"slot": 0, "found": "R slot 0 twice", "element": {"matrix": 0, "row": 0, "word": 0, "matrix'": 1}}, X2),
    Neighbours("distinct", "repeats",
        warps(registers((2, 2, 8, 4), (3, 2, *OWNERS)), shared((2, 2, 8, 4))),
        warps(registers((2, 2, 8, 4), (2, 2, *OWNERS)), shared((2, 2, 8, 4))),
        {"slot": 2, "repeat": (0,), "element": {"matrix": 1, "row": 0, "word": 0, "matrix'": 0}}, X2),
    Neighbours("distinct", "four matrices, interleaved",
        warps(registers((3, 4, 8, 4), (4, 3, *OWNERS)), shared((3, 4, 8, 4))),
        warps(registers((4, 4, 8, 4), (3, 3, *OWNERS)), shared((4, 4, 8, 4))), {"slot": 3, "repeat": (0,)}, X4),
    Neighbours("in-bounds", "rows",
        warps(fragment(1), ROWS[7 * I:7 * I + 8, :].view(1, 8, 4)),
        warps(fragment(1), ROWS[8 * I:8 * I + 8, :].view(1, 8, 4)),
        {
            "symbols": {"i": 8}, "needed": "SM, dimension 0: elements from 0 to 64",
            "found": "SM, dimension 0: elements from 64 to 72",
        },
        X1),
    Neighbours("in-bounds", "registers",
        warps(registers((9, 8, 4), (1, *OWNERS))[I:I + 1, :, :], tile(1)),
        warps(registers((8, 8, 4), (1, *OWNERS))[I:I + 1, :, :], tile(1)),
        {"symbols": {"i": 8}, "needed": "R, dimension 0: elements from 0 to 8"}, X1),
    Neighbours("in-storage", "last row",
        warps(fragment(1), declared(60, (1, 8, 4), 28, (32, 4, 1))),
        warps(fragment(1), declared(59, (1, 8, 4), 28, (32, 4, 1))),
        {
            "lane": 7, "element": {"matrix": 0, "row": 7}, "byte_address": 224,
            "found": "bytes of RAW from 224 to 240", "needed": "bytes of RAW from 0 to 236",
        },
        X1),
    Neighbours("in-storage", "first row",
        warps(fragment(1), declared(64, (1, 8, 4), 28, (32, -4, 1))),
        warps(fragment(1), declared(64, (1, 8, 4), 24, (32, -4, 1))),
        {"element": {"matrix": 0, "row": 7}, "byte_address": -16, "storage": "RAW"}, X1),
    Neighbours("in-storage", "registers",
        warps(declared(12, (2, 2, 8, 4), 1, (8, 2, *OWNERS), space="registers"), shared((2, 2, 8, 4))),
        warps(declared(12, (2, 2, 8, 4), 2, (8, 2, *OWNERS), space="registers"), shared((2, 2, 8, 4))),
        {"repeat": (1,), "slot": 12, "storage": "RAW"}, X2),
    Neighbours("in-storage", "half a register",
        warps(halves(4), tile(2)), warps(halves(3), tile(2)),
        {
            "element": {"matrix": 1, "row": 0, "word": 0}, "slot": 1, "found": "bytes of RAW from 4 to 8",
            "needed": "bytes of RAW from 0 to 6",
        },
        X2),
    Neighbours("no-overflow", "row addresses",
        warps(fragment(1), shared((2 ** 40, 4))[J:J + 8, :].view(1, 8, 4), index_bits=32, active=J + 7 < 2 ** 27),
        warps(fragment(1), shared((2 ** 40, 4))[J:J + 8, :].view(1, 8, 4), index_bits=32, active=J + 7 <= 2 ** 27),
        {
            "symbols": {"j": 2 ** 27 - 7}, "element": {"matrix": 0, "row": 7}, "found": str(2 ** 31),
            "byte_address": 2 ** 31,
        },
        X1),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_load(case: Neighbours) -> None:
    assert_neighbours(case)


@pytest.mark.parametrize("case", [c for c in CASES if c.demand != "distinct"], ids=str)
def test_store(case: Neighbours) -> None:
    """A store demands the same but that its registers are distinct."""
    opcode = case.opcode.replace("ld", "st", 1)
    assert check(opcode, swapped(case.legal), hazards="ignore").verdict is PROVED
    wrong = check(opcode, swapped(case.wrong), hazards="ignore")
    assert failing(wrong) == {case.demand}
    assert_told(first_failure(wrong, case.demand), case.told)


@pytest.mark.parametrize("case", [c for c in CASES if c.demand == "distinct"], ids=str)
def test_store_from_one_register_to_many_places(case: Neighbours) -> None:
    opcode = case.opcode.replace("ld", "st", 1)
    assert check(opcode, swapped(case.wrong), hazards="error").verdict is PROVED


HAZARDS = [
    Neighbours("write-conflict", "matrices",
        warps(tile(2, (32, 4, 1)), fragment(2)), warps(tile(2, (28, 4, 1)), fragment(2)),
        {"found": "SM byte offset 112 twice", "byte_address": 112}, "stmatrix.sync.aligned.m8n8.x2.shared.b16"),
    Neighbours("write-conflict", "rows",
        warps(tile(1, (32, 4, 1)), fragment(1)), warps(tile(1, (32, 0, 1)), fragment(1)),
        {
            "found": "SM byte offset 0 twice", "lane": 0,
            "element": {"matrix": 0, "row": 0, "word": 0, "row'": 1, "word'": 0},
        },
        "stmatrix.sync.aligned.m8n8.x1.shared.b16"),
    Neighbours("write-conflict", "repeats",
        warps(shared((2, 1, 8, 4)), registers((2, 1, 8, 4), (1, 1, *OWNERS))),
        warps(shared((1, 1, 8, 4)).broadcast(2, 1, 8, 4), registers((2, 1, 8, 4), (1, 1, *OWNERS))),
        {"found": "SM byte offset 0 twice", "repeat": (0,)}, "stmatrix.sync.aligned.m8n8.x1.shared.b16"),
    Neighbours("write-conflict", "warps at warp scope",
        warps(tile(1), fragment(1), block=64, active=warpid == 1), warps(tile(1), fragment(1), block=64),
        {"found": "SM byte offset 0 twice"}, "stmatrix.sync.aligned.m8n8.x1.shared.b16"),
    Neighbours("write-conflict", "warps of a CTA",
        on(shared((2, 1, 8, 4)), registers((2, 1, 8, 4), (1 @ warpid, 1, *OWNERS)), scope="cta", block=64),
        on(
            shared((2, 1, 8, 4), (28, 32, 4, 1)), registers((2, 1, 8, 4), (1 @ warpid, 1, *OWNERS)), scope="cta",
            block=64,
        ),
        {"byte_address": 112, "warp": 0}, "stmatrix.sync.aligned.m8n8.x1.shared.b16"),
    Neighbours("replica", "of loaded registers",
        warps(fragment(1, 1, R[(1,):(4,)]), tile(1)), warps(fragment(1, 1, R[(2,):(4,)]), tile(1)),
        {"found": "R has 2 replicas 4 elements apart; only the first is written"}, X1),
    Neighbours("replica", "of stored rows",
        warps(shared((1, 8, 4), (32, 4, 1), R[(1,):(32,)]), fragment(1)),
        warps(shared((1, 8, 4), (32, 4, 1), R[(2,):(32,)]), fragment(1)),
        {"found": "SM has 2 replicas 32 elements apart; only the first is written"},
        "stmatrix.sync.aligned.m8n8.x1.shared.b16"),
    Neighbours("transposed-unit", "load",
        warps(fragment(1), tp.tensor("SM", (1, 8, 8), "b16", "shared", align=16).view("b32")),
        warps(fragment(1), tp.tensor("SM", (1, 8, 16), "b8", "shared", align=16).view("b32")),
        {"needed": "elements of at least 16 bits", "found": "SM holds 8-bit elements; 2 neighbours stay together"},
        "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16"),
    Neighbours("transposed-unit", "store of nibbles",
        warps(tile(1), fragment(1)),
        warps(tp.tensor("SM", (1, 8, 32), "float4_e2m1fn", "shared", align=16).view("b32"), fragment(1)),
        {"found": "SM holds 4-bit elements; 4 neighbours stay together"},
        "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16"),
]  # fmt: skip


@pytest.mark.parametrize("case", HAZARDS, ids=str)
def test_hazard(case: Neighbours) -> None:
    assert_hazard(case)


def test_bytes_may_be_moved_whole() -> None:
    narrow = tp.tensor("SM", (1, 8, 16), "b8", "shared", align=16).view("b32")
    assert tp.check(X1, fragment(1), narrow, scope="warp", hazards="error").verdict is PROVED


@pytest.mark.parametrize("opcode", [X1, X2, X4, X1.replace(".shared", ".trans.shared::cta")])
@pytest.mark.parametrize("scope", ["warp", "warpgroup", "cta", "cluster"])
def test_every_scope(opcode: str, scope: str) -> None:
    count = resolve(opcode).quantity("matrices")
    group, axes = {
        "warp": ((), ()),
        "warpgroup": ((4,), (1 @ wid_in_wg,)),
        "cta": ((8,), (1 @ warpid,)),
        "cluster": ((2, 8), (1 @ tp.cbx, 1 @ warpid)),
    }[scope]
    shape = (*group, 3, count, 8, 4)
    regs = registers(shape, (*axes, count, 1, *OWNERS))
    pair = on(regs, shared(shape), scope=scope, block=256, cluster=2)
    assert check(opcode, pair, hazards="error").verdict is PROVED
    report = check(opcode.replace("ld", "st", 1), swapped(pair), hazards="ignore")
    assert report.verdict is PROVED
    assert report.call.repeat_extents == (3,)


def test_a_whole_warp_or_more_executes_it() -> None:
    with pytest.raises(
        CallError, match="is executed by a whole warp: its scope is warp or wider, not thread"
    ):
        tp.check(X1, fragment(1), tile(1))


@pytest.mark.parametrize("name", ["pred", "preserve_dst", "cache_policy", "trans"])
def test_no_parameters(name: str) -> None:
    with pytest.raises(CallError, match=f"has no parameter {name}; its parameters are index_bits"):
        tp.check(X1, fragment(1), tile(1), scope="warp", **{name: True})


STRUCTURE = [
    ("shape", on(fragment(2), tile(1)), "operand 0 (R, registers): shape (2, 8, 4)", "(*repeat, 1, 8, 4)"),
    ("shape", on(fragment(1), shared((8, 4))), "operand 1 (SM, shared memory): shape (8, 4)", "(*repeat, 1, 8, 4)"),
    ("shape", on(registers((1, 4, 8)), tile(1)), "operand 0 (R, registers): shape (1, 4, 8)", "(*repeat, 1, 8, 4)"),
    (
        "width", on(fragment(1), tile(1, bits=16)), "operand 1 (SM, shared memory): uint16, 16 bits",
        "elements of 32 bits",
    ),
    ("space", on(fragment(1), tile(1, space="global")), "operand 1 (SM, shared memory): global", "shared"),
    ("space", on(tile(1, name="X"), tile(1)), "operand 0 (X, registers): shared", "registers"),
]  # fmt: skip


@pytest.mark.parametrize(("demand", "setup", "found", "needed"), STRUCTURE)
def test_structure(demand: str, setup: Any, found: str, needed: str) -> None:
    report = check(X1, setup, scope="warp")
    assert report.verdict is REFUTED
    assert failing(report) == {demand}
    assert_told(report.findings[0], {"found": found, "needed": needed})


@pytest.mark.parametrize(
    "opcode",
    [
        o
        for m in ("ldmatrix", "stmatrix")
        for o in enumerate_spellings(m)
        if ".m8n8." not in o or ".shared" not in o
    ],
)
def test_other_shapes_have_no_contract_yet(opcode: str) -> None:
    report = tp.check(opcode, fragment(1), tile(1), scope="warp")
    assert report.verdict is tp.Verdict.UNSUPPORTED
    assert report.reason.endswith(
        "write .shared" if ".m8n8." in opcode else "only m8n8 matrices of .b16 have a contract so far"
    )


def interleaved() -> Any:
    words = shared((16, 4, 2), (8, 1, 128), align=16).rearrange("(r m) w k -> k m r w", r=8, m=2)
    return warps(registers((2, 2, 8, 4), (8, 2, *OWNERS)), words)


def test_only_what_may_vary_has_to_be_uniform() -> None:
    w = tp.symbol("w", 0, 7, uniform="warp")
    for start in (I, w, warpid // 2, I * 4 + w):
        report = tp.check(X1, fragment(1), ROWS[start : start + 8, :].view(1, 8, 4), scope="warp", block=128)
        assert report.verdict is PROVED
        assert "ldmatrix.uniform" not in {f.obligation.id for f in report.findings}


def test_two_lanes_are_told() -> None:
    report = tp.check(X1, fragment(1), ROWS[laneid : laneid + 8, :].view(1, 8, 4), scope="warp")
    example = first_failure(report, "uniform").counterexample
    assert example is not None
    assert (example.values["lane'"], example.lane, example.found) == (
        1,
        1,
        "SM at byte offset 0 for lane 0 and 16 for lane 1",
    )


def test_lanes_that_a_block_lacks_see_no_region() -> None:
    groups = registers((2, 1, 8, 4), (1 @ warpid, 1, *OWNERS))
    rows = ROWS[laneid // 31 : laneid // 31 + 16, :].view(2, 1, 8, 4)
    for block, demand in ((48, "converged"), (64, "uniform")):
        report = tp.check(X1, groups, rows, scope="cta", block=block, active=warpid == 1)
        refuted = [f.obligation.id for f in report.findings if f.verdict is REFUTED]
        assert f"ldmatrix.{demand}" in refuted
        assert ("ldmatrix.uniform" in refuted) == (block == 64)


def test_the_reference_example() -> None:
    report = check(X2, interleaved(), hazards="error")
    assert report.verdict is PROVED
    assert "2 instructions" in str(report)
    assert [f.obligation.id.rpartition(".")[2] for f in report.findings] == [
        "converged", "covered", "owned", "row-aligned", "row-contiguous", "whole-register", "distinct",
    ]  # fmt: skip
    stored = check(X2.replace("ld", "st", 1), swapped(interleaved()), hazards="error")
    assert stored.verdict is PROVED


@pytest.mark.parametrize("mnemonic", ["ldmatrix", "stmatrix"])
def test_trans_changes_no_demand(mnemonic: str) -> None:
    opcodes = [f"{mnemonic}.sync.aligned.m8n8.x2{trans}.shared.b16" for trans in ("", ".trans")]
    setup = interleaved() if mnemonic == "ldmatrix" else swapped(interleaved())
    plain, transposed = (
        [(f.obligation.id, f.obligation.claim, f.obligation.given) for f in check(o, setup).findings]
        for o in opcodes
    )
    assert all(a[0] == b[0] and a[1] is b[1] and a[2] is b[2] for a, b in zip(plain, transposed, strict=True))
