"""Calls in canonical coordinates: group, repeat and element, and who executes for a group coordinate."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import tileproof as tp
from tests.contracts.calls import memory, registers
from tileproof import R, S, TileLayout, cbx, cby, laneid, tid_in_wg, tx, ty, warpid, wgid, wid_in_wg
from tileproof.contracts.call import Call, Operand, UnfitError, parameter
from tileproof.contracts.grammar import resolve
from tileproof.contracts.launch import Launch, Thread
from tileproof.errors import CallError
from tileproof.layouts.evaluate import evaluate
from tileproof.layouts.index import Relation, const, leaf
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.normal import decide
from tileproof.layouts.traverse import leaves
from tileproof.layouts.view import ViewOperations

LD, LDMATRIX = resolve("ld.global.v4.b32"), resolve("ldmatrix.sync.aligned.m8n8.x1.shared.b16")


def call(
    *views: ViewOperations,
    scope: str = "thread",
    collective: bool = False,
    parameters: Any = None,
    **launch: Any,
) -> Call:
    operands = tuple(v.as_view() for v in views)
    form, family = (LDMATRIX, "ldmatrix") if collective else (LD, "ld")
    return Call(form, operands, scope, Launch.of(**launch), parameters or {}, collective, family)


def of_shape(
    shape: tuple[int, ...],
    strides: Any = None,
    extra: Any = None,
    *,
    suffix: tuple[int, ...] = (4,),
    **more: Any,
) -> Call:
    """A call whose only operand is registers of that shape, already looked at."""
    made = call(registers(shape, strides, extra), **more)
    made.operand(0, "registers", ("registers",), suffix, 32)
    return made


@pytest.mark.parametrize(
    ("scope", "collective", "cluster", "axes"),
    [
        ("thread", False, None, ()),
        ("warp", False, None, ("lane",)),
        ("warpgroup", False, None, ("warp", "lane")),
        ("cta", False, None, ("warp", "lane")),
        ("cta", False, 2, ("warp", "lane")),
        ("cluster", False, 2, ("cta_x", "warp", "lane")),
        ("cluster", False, (2, 2), ("cta_y", "cta_x", "warp", "lane")),
        ("cluster", False, (1, 1, 2), ("cta_z", "cta_y", "cta_x", "warp", "lane")),
        ("warp", True, None, ()),
        ("warpgroup", True, None, ("warp",)),
        ("cta", True, None, ("warp",)),
        ("cluster", True, (2, 2), ("cta_y", "cta_x", "warp")),
    ],
)
def test_group_axes(scope: str, collective: bool, cluster: Any, axes: tuple[str, ...]) -> None:
    assert call(scope=scope, collective=collective, cluster=cluster).group_axes == axes


def test_extents_follow_the_group() -> None:
    made = of_shape((2, 32, 5, 7, 4), scope="cta", block=64)
    assert made.shaped
    assert (made.group_extents, made.repeat_extents) == ((2, 32), (5, 7))
    names = [
        (v.args[0].name, v.args[0].kind, v.args[0].lo, v.args[0].hi) for v in (*made.group, *made.repeat)
    ]
    assert names == [
        ("warp", "group", 0, 1),
        ("lane", "group", 0, 31),
        ("repeat0", "repeat", 0, 4),
        ("repeat1", "repeat", 0, 6),
    ]
    assert not call().shaped


def test_atom() -> None:
    first, second = call().atom(row=8, word=1)
    assert first.args[0] == Leaf("row", "element", 0, 7)
    assert second.args[0] == Leaf("word", "element", 0, 0)


def refusal(
    made: Call, position: int = 0, suffix: tuple[int, ...] = (4,), bits: int = 32
) -> tuple[str, str, str]:
    with pytest.raises(UnfitError) as caught:
        made.operand(position, "data", ("registers", "local"), suffix, bits)
    obligation = caught.value.obligation
    assert obligation.claim.value is False
    assert str(caught.value) == obligation.sentence
    return obligation.id, obligation.needed[0], obligation.found[0]


def test_unfit_operands() -> None:
    assert refusal(call(memory((4,)))) == ("ld.space", "registers or local", "operand 0 (A, data): global")
    assert refusal(call(registers((4,), bits=16))) == (
        "ld.width",
        "elements of 32 bits",
        "operand 0 (R, data): uint16, 16 bits",
    )
    assert refusal(call(registers((5,)))) == ("ld.shape", "(*repeat, 4)", "operand 0 (R, data): shape (5,)")
    assert refusal(call(registers((4,)), scope="cta"))[1] == "(warp, lane, *repeat, 4)"
    assert refusal(call(registers((8, 4)), scope="warp"), suffix=(8, 4))[1] == "(lane, *repeat, 8, 4)"
    assert (
        refusal(call(registers((8, 4)), scope="cta", collective=True), suffix=(8, 4))[0] == "ldmatrix.shape"
    )


@pytest.mark.parametrize(("rank", "fits"), [(1, False), (2, False), (3, True), (4, True)])
def test_rank(rank: int, fits: bool) -> None:
    made = call(registers((4,) * rank), scope="cta")
    if fits:
        made.operand(0, "data", ("registers",), (4,), 32)
        assert made.repeat_extents == (4,) * (rank - 3)
    else:
        assert refusal(made)[0] == "ld.shape"


def test_operands_agree() -> None:
    made = call(registers((2, 3, 4)), registers((2, 3, 4), name="Q"), registers((3, 2, 4), name="T"))
    for position in (0, 1):
        made.operand(position, "data", ("registers",), (4,), 32)
    assert refusal(made, 2) == (
        "ld.shape",
        "group () and repeats (2, 3) as R has",
        "operand 2 (T, data): group () and repeats (3, 2)",
    )


# Who executes


def executes(made: Call, group: tuple[int, ...], **known: int) -> tuple[int, int]:
    """Warp and lane for a group coordinate, with the warpgroup or warp that the group leaves open."""
    values = {v.args[0]: g for v, g in zip(made.group, group, strict=True)}
    thread = made.thread
    for v in leaves(thread.warp, thread.lane):
        if v.kind == "thread":
            values[v] = known[v.name]
    return int(evaluate(thread.warp, values)), int(evaluate(thread.lane, values))


def test_thread_of_a_group() -> None:
    assert executes(of_shape((4,)), (), warp=3, lane=9) == (3, 9)
    assert executes(of_shape((32, 4), scope="warp"), (7,), warp=3) == (3, 7)
    assert executes(of_shape((4, 32, 4), scope="warpgroup", block=256), (2, 7), warpgroup=1) == (6, 7)
    assert executes(of_shape((8, 32, 4), scope="cta", block=256), (5, 7)) == (5, 7)


def test_cta_of_a_group() -> None:
    made = of_shape((3, 2, 1, 32, 4), scope="cluster", cluster=(2, 3))
    x, y, z = made.thread.cta
    assert (x, y) == (made.group[1], made.group[0])
    assert z.args[0].name == "cta_z"
    assert of_shape((1, 32, 4), scope="cta", cluster=(2, 3)).thread.cta == Launch.of(32, (2, 3)).cta()


SLABS = [
    # extents, register strides, extra, scope, launch, step and first of warps and of lanes
    ((32,), (1 @ laneid,), None, "warp", {}, {"lane": (1, 0)}),
    ((16,), (2 @ laneid,), None, "warp", {}, {"lane": (1, 0)}),
    ((16,), (2 @ laneid,), None, "warp", {"active": laneid % 2 == 0}, {"lane": (2, 0)}),
    ((16,), (2 @ laneid,), 1 @ laneid, "warp", {"active": laneid % 2 == 1}, {"lane": (2, 1)}),
    ((1,), (1,), 9 @ laneid, "warp", {"active": laneid == 9}, {"lane": (1, 9)}),
    ((16,), (1 @ tx,), 16 @ tx, "warp", {"active": tx >= 16}, {"lane": (1, 16)}),
    ((16,), (1 @ tx,), 16 @ tx, "warp", {"active": tx >= 16, "block": (16, 2)}, {"lane": (1, 0)}),
    ((8,), (-1 @ laneid,), 7 @ laneid, "warp", {"active": laneid < 8}, {"lane": (1, 0)}),
    ((2, 32), (2 @ warpid, 1 @ laneid), None, "cta", {"active": warpid % 2 == 0, "block": 128}, {"warp": (2, 0), "lane": (1, 0)}),
    ((2, 32), (32 @ tx, 1 @ tx), 64 @ tx, "cta", {"active": tx >= 64, "block": 128}, {"warp": (1, 2), "lane": (1, 0)}),
    ((2, 32), (64 @ tx, 1 @ tx), 32 @ tx, "cta", {"active": warpid % 2 == 1, "block": 128}, {"warp": (2, 1), "lane": (1, 0)}),
    ((1, 8), (1, 1 @ tx), 72 @ tx, "cta", {"active": tx // 8 == 9, "block": 128}, {"warp": (1, 2), "lane": (1, 8)}),
    ((4, 32), (1 @ wid_in_wg, 1 @ laneid), 1 @ wgid, "cta", {"active": wgid == 1, "block": 256}, {"warp": (1, 4), "lane": (1, 0)}),
    ((2, 32), (1 @ wgid, 1 @ laneid), 3 @ wid_in_wg, "cta", {"active": wid_in_wg == 3, "block": 256}, {"warp": (4, 3), "lane": (1, 0)}),
    ((2, 32), (1 @ wgid, 1 @ tid_in_wg), 96 @ tid_in_wg, "cta", {"active": tid_in_wg >= 96, "block": 256}, {"warp": (4, 3), "lane": (1, 0)}),
    ((2, 32), (1 @ wid_in_wg, 1 @ laneid), 2 @ wid_in_wg, "warpgroup", {"active": wid_in_wg >= 2, "block": 256}, {"warp": (1, 2), "lane": (1, 0)}),
    ((2, 32), (1 @ wid_in_wg, 1 @ laneid), 1 @ wgid, "warpgroup", {"active": (wgid == 1) & (wid_in_wg < 2), "block": 256}, {"warp": (1, 0), "lane": (1, 0)}),
    ((2, 32), (32 @ tid_in_wg, 1 @ tid_in_wg), 64 @ tid_in_wg, "warpgroup", {"active": tid_in_wg >= 64, "block": 256}, {"warp": (1, 2), "lane": (1, 0)}),
    ((2, 32), (1 @ laneid, 1 @ warpid), None, "cta", {"active": tx < 64, "block": 128}, {"warp": (1, 0), "lane": (1, 0)}),
]  # fmt: skip


@pytest.mark.parametrize(("extents", "strides", "extra", "scope", "launch", "slabs"), SLABS)
def test_slabs(extents: Any, strides: Any, extra: Any, scope: str, launch: Any, slabs: Any) -> None:
    """What the registers' layout proposes under a guard; nothing is proposed where it says no such thing."""
    made = of_shape((*extents, 4), (*strides, 1), extra, scope=scope, **launch)
    assert dict(made.slabs) == slabs


@pytest.mark.parametrize(
    ("active", "slab"),
    [(laneid % 2 == 0, (2, 0)), (laneid >= 16, (1, 16)), (laneid < 16, (1, 0)), (warpid == 1, (1, 0))],
)
def test_slabs_of_a_call_without_registers(active: Relation, slab: tuple[int, int]) -> None:
    """The guard says who is in the group, as far as its bounds and divisors do."""
    made = call(memory((16, 4)), scope="warp", active=active)
    made.operand(0, "data", ("global",), (4,), 32)
    assert dict(made.slabs) == {"lane": slab}


def test_slabs_of_a_block_without_registers() -> None:
    made = call(memory((2, 32, 4)), scope="cta", block=128, active=(warpid >= 2) & (laneid % 4 == 0))
    made.operand(0, "data", ("global",), (4,), 32)
    assert dict(made.slabs) == {"warp": (1, 2), "lane": (4, 0)}
    inside = call(memory((2, 32, 4)), scope="warpgroup", block=256, active=wid_in_wg % 2 == 1)
    inside.operand(0, "data", ("global",), (4,), 32)
    assert dict(inside.slabs) == {"warp": (2, 1), "lane": (1, 0)}


def test_a_guard_that_leaves_threads_at_odds() -> None:
    made = call(memory((3, 4)), scope="warp", active=(laneid < 2) | (laneid == 5))
    made.operand(0, "data", ("global",), (4,), 32)
    assert made.scattered == "the guard leaves lane 0, 1, 5"


N = tp.symbol("n", 0, 3)
EVEN = {"lane": (1, 0)}
PAIRS_OF_LANES = tp.tensor(
    "R", (8, 4), "b32", "registers", layout=TileLayout(S[(4, 2, 4) : (4 @ laneid, 1 @ laneid, 1)])
)
PAIRS = (
    "the guard alone does not say who is in the group, and the registers name lane 0, 1, 4, 5, 8, 9, 12, 13"
)

UNEVEN = [
    # The registers are wrong, and the guard says who is in the group.
    (laneid < 8, EVEN, None),
    (laneid >= 24, {"lane": (1, 24)}, None),
    (laneid % 4 == 1, {"lane": (4, 1)}, None),
    ((laneid < 8) & (N < 2), EVEN, None),
    ((laneid < 8) | (N > 3), EVEN, None),
    ((laneid < 8) & (warpid <= N), EVEN, None),
    (((warpid == 0) & (laneid < 8)) | ((warpid == 1) & (laneid < 5)), EVEN, None),
    # Nobody is evenly spaced.
    (laneid % 4 < 2, EVEN, "the guard leaves lane 0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29"),
    ((laneid % 4 < 2) & (laneid < 7) & (N < 2), EVEN, "the guard leaves lane 0, 1, 4, 5"),
    # Nobody is there.
    (laneid * laneid == 2, EVEN, PAIRS),
    # The guard says it together with a symbol.
    ((laneid < 8) | (N > 2), EVEN, PAIRS),
    (laneid // 8 == N, EVEN, PAIRS),
    ((laneid % 4 < 2) & (laneid // 8 == N), EVEN, PAIRS),
    (((laneid % 4 < 2) & (N < 2)) | ((laneid % 4 < 2) & (N >= 2)), EVEN, PAIRS),
]  # fmt: skip


@pytest.mark.parametrize(("active", "slabs", "scattered"), UNEVEN, ids=lambda x: repr(x)[:40])
def test_registers_that_name_unevenly_spaced_threads(active: Any, slabs: Any, scattered: str | None) -> None:
    made = call(PAIRS_OF_LANES, scope="warp", active=active, block=64)
    made.operand(0, "registers", ("registers",), (4,), 32)
    assert dict(made.slabs) == slabs
    assert made.scattered == scattered


@pytest.mark.parametrize(("active", "first"), [(laneid // 4 == N, 0), (laneid // 4 == 2, 8)])
def test_registers_of_lanes_out_of_order(active: Any, first: int) -> None:
    """They are no group in increasing order, whatever the guard says: ownership tells."""
    lanes = tp.tensor(
        "R", (4, 4), "b32", "registers", layout=TileLayout(S[(2, 2, 4) : (1 @ laneid, 4 @ laneid, 1)])
    )
    made = call(lanes, scope="warp", active=active)
    made.operand(0, "registers", ("registers",), (4,), 32)
    assert (dict(made.slabs), made.scattered) == ({"lane": (1, first)}, None)


WHOLE = registers((32, 4), (1 @ laneid, 1))
FOUR_WARPS = registers((4, 32, 4), (1 @ wid_in_wg, 1 @ laneid, 1))


@pytest.mark.parametrize(
    ("view", "scope", "launch", "slabs"),
    [
        # Whoever executes owns the registers.
        (WHOLE[laneid : laneid + 1], "warp", {"active": laneid == 9}, {"lane": (1, 9)}),
        (WHOLE[laneid : laneid + 1], "warp", {"active": laneid == N}, {"lane": (1, 0)}),
        (WHOLE[laneid % 2 : laneid % 2 + 31 : 2], "warp", {"active": laneid % 2 == 1}, {"lane": (2, 1)}),
        (WHOLE[laneid : laneid + 1], "warp", {"active": (laneid == N) & (laneid > 1)}, {"lane": (1, 2)}),
        # A symbol says who owns them.
        (WHOLE[N : N + 4], "warp", {"active": laneid // 4 == 2}, {"lane": (1, 8)}),
        (WHOLE[N : N + 4], "warp", {"active": laneid % 8 == 2}, {"lane": (8, 2)}),
        (WHOLE[N : N + 1], "warp", {"active": laneid == 9}, {"lane": (1, 9)}),
        (WHOLE[N : N + 4], "warp", {"active": laneid // 4 == N}, {"lane": (1, 0)}),
        (FOUR_WARPS[N : N + 1], "warpgroup", {"active": wid_in_wg == 2, "block": 128}, {"warp": (1, 2), "lane": (1, 0)}),
        (FOUR_WARPS[wid_in_wg : wid_in_wg + 1], "warpgroup", {"active": wid_in_wg == 2, "block": 256}, {"warp": (1, 2), "lane": (1, 0)}),
        (FOUR_WARPS[wid_in_wg : wid_in_wg + 1], "warpgroup", {"active": (wid_in_wg == N) & (warpid > 3), "block": 256}, EVEN | {"warp": (1, 0)}),
    ],
)  # fmt: skip
def test_registers_that_other_values_choose(
    view: ViewOperations, scope: str, launch: Any, slabs: Any
) -> None:
    made = call(view, scope=scope, **launch)
    made.operand(0, "registers", ("registers",), (4,), 32)
    assert dict(made.slabs) == slabs


def test_a_guard_on_symbols_leaves_the_others_to_convergence() -> None:
    made = call(memory((8, 4)), scope="warp", active=(laneid // 8 == 2) & (warpid < tp.symbol("n", 0, 3)))
    made.operand(0, "data", ("global",), (4,), 32)
    assert dict(made.slabs) == {"lane": (1, 16)}


def test_facts() -> None:
    n = tp.symbol("n")
    made = of_shape(
        (32, 4),
        scope="warp",
        block=160,
        active=laneid < n,
        assume=[n > 3, tx >= 0],
        parameters={"pred": warpid == n},
    )
    (lane,) = made.group
    warp = made.launch.thread().warp
    values = {lane.args[0]: 3, warp.args[0]: 1, n.args[0]: 0}

    def holds(**changed: int) -> bool:
        return bool(evaluate(made.facts, {v: changed.get(v.name, old) for v, old in values.items()}))

    assert not holds()
    assert holds(n=4, warp=4)
    assert not holds(n=3, warp=3)
    assert not holds(n=4, warp=4, lane=4)
    assert not holds(n=5, warp=4)
    assert {v.name for v in leaves(made.reachable)} == {"lane", "warp", "n"}


def test_a_predicate_may_be_a_truth_value_or_come_from_sympy() -> None:
    import sympy

    always = of_shape((4,), parameters={"pred": True}, block=32).facts
    assert decide(always).value is True
    n = tp.symbol("n", 0, 9)
    written = sympy.Eq(n.sympy, 3)
    made = of_shape((4,), parameters={"pred": written})
    first = dict.fromkeys(leaves(made.facts), 0)
    assert evaluate(made.facts, {**first, n.args[0]: 3})
    assert not evaluate(made.facts, {**first, n.args[0]: 4})


def test_a_warpgroup_has_four_warps() -> None:
    made = of_shape((8, 32, 4), scope="warpgroup", block=256)
    values = {v: {"warp": 4, "lane": 0, "warpgroup": 0}[v.name] for v in leaves(made.facts)}
    assert not evaluate(made.facts, values)
    assert evaluate(made.facts, {v: 3 if v.name == "warp" else 0 for v in values})


# Operands


def test_place_and_address() -> None:
    i = tp.symbol("i", 0, 7)
    array = memory((64, 4))[tx + i : tx + i + 1, :]
    made = call(array, scope="thread", block=64)
    operand = made.operand(0, "memory", ("global",), (4,), 32)
    address = operand.address((const(2),))
    assert (address.name, address.space, address.lane) == ("A", "global", None)
    assert address.base is array.tensor.storage.base
    at = {v: {"i": 3, "warp": 1, "lane": 2}.get(v.name, 0) for v in leaves(address.offset)}
    assert evaluate(address.offset, at) == 4 * (4 * (34 + 3) + 2)
    assert evaluate(address.value, {**at, address.base.args[0]: 1024}) == 1024 + 600


def test_address_of_a_declared_tensor_counts_from_its_storage() -> None:
    raw = tp.tensor("RAW", (64,), "b32")
    made = call(raw.declare((4,), at=8, name="D"))
    address = made.operand(0, "memory", ("global",), (4,), 32).address((const(1),))
    assert (address.name, address.offset.value) == ("RAW", 36)


def test_address_knows_the_lane_that_uses_it() -> None:
    made = call(memory((4,)))
    operand = made.operand(0, "memory", ("global",), (4,), 32, lane=lambda at: at[0] * 8)
    lane = operand.address((const(3),)).lane
    assert lane is not None
    assert lane.value == 24


def test_owner_has_every_replica() -> None:
    made = call(registers((32, 4), (1 @ laneid, 1), R[(2, 3) : (1 @ warpid, 8)]), scope="warp")
    operand = made.operand(0, "registers", ("registers",), (4,), 32)
    owner = operand.owner((const(0),))
    replica = leaf(Leaf("replica0", "replica", 0, 1))
    assert {a.name: str(v) for a, v in owner.items()} == {"laneid": "lane", "warpid": str(replica)}


EXPECTED = [
    # scope, launch, axes that the layout names, axes that decide and are not named
    ("warp", {}, (laneid,), []),
    ("warp", {}, (tx,), []),
    ("warp", {}, (tid_in_wg,), []),
    ("warp", {}, (), ["laneid"]),
    ("warp", {}, (warpid,), ["laneid"]),
    ("warp", {"block": (16, 2)}, (tx,), ["ty"]),
    ("warp", {"block": (16, 2)}, (tx, ty), []),
    ("warp", {"block": (4, 4, 2)}, (tx, ty), ["tz"]),
    ("warp", {"block": (4, 4, 2)}, (tx,), ["ty", "tz"]),
    ("warpgroup", {}, (laneid, wid_in_wg), []),
    ("warpgroup", {}, (laneid, warpid), []),
    ("warpgroup", {}, (tid_in_wg,), []),
    ("warpgroup", {}, (tx,), []),
    ("warpgroup", {}, (laneid,), ["wid_in_wg"]),
    ("warpgroup", {}, (laneid, wgid), ["wid_in_wg"]),
    ("warpgroup", {}, (), ["laneid", "wid_in_wg"]),
    ("cta", {}, (laneid, warpid), []),
    ("cta", {}, (tx,), []),
    ("cta", {}, (laneid, wid_in_wg, wgid), []),
    ("cta", {}, (tid_in_wg, wgid), []),
    ("cta", {}, (laneid,), ["warpid"]),
    ("cta", {}, (laneid, wid_in_wg), ["wgid"]),
    ("cta", {}, (laneid, wgid), ["wid_in_wg"]),
    ("cta", {}, (tid_in_wg,), ["wgid"]),
    ("cta", {}, (), ["laneid", "warpid"]),
    ("cta", {"block": (32, 4)}, (tx,), ["ty"]),
    ("cta", {"cluster": 2}, (tx,), []),
    ("cluster", {"cluster": 2}, (tx, cbx), []),
    ("cluster", {"cluster": 2}, (tx,), ["cbx"]),
    ("cluster", {"cluster": (2, 2)}, (tx, cbx), ["cby"]),
    ("cluster", {"cluster": (2, 2)}, (laneid, cby), ["warpid", "cbx"]),
]  # fmt: skip


@pytest.mark.parametrize(("scope", "launch", "named", "missing"), EXPECTED)
def test_what_decides_an_owner(scope: str, launch: Any, named: Any, missing: list[str]) -> None:
    """Each named axis is compared with the thread's number, and what decides but is not named is zero."""
    made = call(scope=scope, **launch)
    operand = Operand(made, registers((4,)).as_view(), 0, "registers")
    found = {a: leaf(Leaf(f"found_{a.name}", "group", 0, 7)) for a in named}
    thread = Thread(const(5), const(9), (const(1), const(0), const(0)))
    demands = list(operand.expected(thread, found))
    assert [a.name for a, _, _ in demands[: len(named)]] == [a.name for a in named]
    assert all(place is found[a] for a, place, _ in demands[: len(named)])
    assert sorted(a.name for a, _, _ in demands[len(named) :]) == sorted(missing)
    assert all(place.value == 0 for _, place, _ in demands[len(named) :])
    assert all(wanted is made.launch.value_on(a.name, thread) for a, _, wanted in demands)


@pytest.mark.parametrize("block", [(32,), (64,), (16, 8), (8, 4, 4), (48,)])
def test_owners_are_unique(block: tuple[int, ...]) -> None:
    """Whatever axes a layout names, no two threads of a block satisfy all demands for one element."""
    made = call(scope="cta", block=block)
    operand = Operand(made, registers((4,)).as_view(), 0, "registers")
    threads = [Thread(const(n // 32), const(n % 32)) for n in range(made.launch.threads)]
    for named in (
        (laneid, warpid),
        (tx,),
        (tx, ty),
        (tid_in_wg,),
        (laneid, wid_in_wg),
        (laneid, wgid),
        (tid_in_wg, wgid),
        (),
    ):
        claimed = set()
        for number, thread in enumerate(threads):
            own = {a: made.launch.value_on(a.name, thread) for a in named}
            if all(place.value == wanted.value for _, place, wanted in operand.expected(thread, own)):
                key = tuple(v.value for v in own.values())
                assert key not in claimed, f"thread {number} shares {key} on {named}"
                claimed.add(key)


def test_thread_axes_are_told_from_storage_axes() -> None:
    made = call(registers((32, 4), (1 @ laneid, 1)), scope="warp")
    operand = made.operand(0, "registers", ("registers",), (4,), 32)
    place = operand.place((const(3),))
    assert [a.name for a in place.axes] == ["laneid"]
    assert place.byte_offset.value == 12


# Parameters


def test_parameter() -> None:
    made = call(parameters={"pred": 0, "hint": None})
    assert parameter(made, "pred", True, "") == 0
    assert parameter(made, "missing", True, "") is None
    assert parameter(made, "missing", False, "why") is None
    assert parameter(made, "hint", False, "why") is None
    with pytest.raises(CallError, match=r"ld\.global\.v4\.b32: pred does not apply: no reason"):
        parameter(made, "pred", False, "no reason")


def test_groups_name_each_thread_once() -> None:
    """At every scope the group coordinates of a full block name its threads, each once in each unit."""
    for scope, shape, warps in (("warp", (32, 4), 4), ("warpgroup", (4, 32, 4), 8), ("cta", (8, 32, 4), 8)):
        made = of_shape(shape, scope=scope, block=32 * warps)
        units = {
            "warp": [{"warp": w} for w in range(4)],
            "warpgroup": [{"warpgroup": g} for g in range(2)],
            "cta": [{}],
        }
        named = [
            executes(made, group, **unit)
            for unit in units[scope]
            for group in product(*map(range, made.group_extents))
        ]
        assert sorted(named) == sorted(product(range(warps), range(32)))


@pytest.mark.parametrize(("least", "verdict"), [(1, tp.Verdict.PROVED), (0, tp.Verdict.REFUTED)])
def test_a_group_of_the_executing_warp(least: int, verdict: tp.Verdict) -> None:
    """Registers that each warp names by its own number, under a guard that leaves one warp or two."""
    layout = TileLayout(S[(2, 4, 8, 4) : (1 @ warpid, 1, 4 @ laneid, 1 @ laneid)])
    mine = tp.tensor("R", (2, 4, 8, 4), "uint32", "registers", layout=layout)[warpid : warpid + 1]
    rows = tp.tensor("SM", (2, 4, 8, 4), "uint32", "shared", align=16)[warpid : warpid + 1]
    report = tp.check(
        "stmatrix.sync.aligned.m8n8.x4.shared.b16", rows, mine, scope="cta", block=64, active=warpid >= least
    )
    assert report.verdict is verdict, str(report)
