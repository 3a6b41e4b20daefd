"""Fragments: what is written for proven calls, and that nothing is written for others."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

import tileproof as tp
from tileproof import (
    Report,
    S,
    Swizzle,
    TileLayout,
    Verdict,
    cbx,
    laneid,
    tx,
    ty,
    tz,
    warpid,
    wid_in_wg,
)
from tileproof.emit import plan as plan_module
from tileproof.emit.assemble import assemble
from tileproof.emit.fragment import emit
from tileproof.emit.plan import plan
from tileproof.errors import CallError, EmissionError
from tileproof.layouts.normal import normal
from tileproof.layouts.tensor import Tensor
from tileproof.layouts.traverse import substitute

LDMATRIX = "ldmatrix.sync.aligned.m8n8.x2.shared.b16"
V4 = "ld.global.v4.b32"

WORDS = tp.tensor("R", (4,), "uint32", "registers")
ROWS = tp.tensor("A", (64, 4), "uint32")
I = tp.symbol("i", 0, 63)


def registers(shape: tuple[int, ...], strides: tuple[Any, ...], dtype: str = "uint32") -> Tensor:
    return tp.tensor("R", shape, dtype, "registers", layout=TileLayout(S[shape:strides]))


def interleaved() -> Report:
    shared = tp.tensor("SM", (16, 4, 2), "uint32", "shared", layout="(16,4,2):(8,1,128)", align=16)
    mine = registers((2, 2, 8, 4), (8, 2, 4 @ laneid, 1 @ laneid))
    return tp.check(LDMATRIX, mine, shared.rearrange("(r m) w k -> k m r w", r=8, m=2), scope="warp")


def swizzled() -> Report:
    shared = tp.tensor(
        "SW",
        (8, 64),
        "uint16",
        "shared",
        layout=TileLayout(S[(8, 64) : (64, 1)], Swizzle(3, 3, 3)),
        align=1024,
    )
    mine = registers((4, 2, 8, 4), (2, 1, 4 @ laneid, 1 @ laneid))
    view = shared.rearrange("r (k m w) -> k m r w", k=4, m=2).view("uint32")
    return tp.check(LDMATRIX, mine, view, scope="warp")


def guarded() -> Report:
    mine = tp.tensor(
        "R", (16, 4), "uint32", "registers", layout=TileLayout(S[(16, 4) : (2 @ laneid, 1)] + 1 @ laneid)
    )
    return tp.check(V4, mine, ROWS[:16], scope="warp", active=laneid % 2 == 1)


def warpgroup() -> Report:
    mine = registers((4, 32, 4), (1 @ wid_in_wg, 1 @ laneid, 1))
    return tp.check(V4, mine, tp.tensor("A", (4, 32, 4), "uint32"), scope="warpgroup", block=256)


def cluster() -> Report:
    mine = registers((2, 4, 32, 4), (1 @ cbx, 1 @ warpid, 1 @ laneid, 1))
    source = tp.tensor("A", (2, 4, 32, 4), "uint32")
    return tp.check(V4, mine, source, scope="cluster", block=(16, 4, 2), cluster=2)


def three_dimensional() -> Report:
    return tp.check(V4, WORDS, tp.tensor("A", (16, 4, 2, 4), "uint32")[tx, ty, tz], block=(16, 4, 2))


def predicated() -> Report:
    return tp.check(V4, WORDS, ROWS[tx], pred=tx < I, preserve_dst=True)


def hinted() -> Report:
    policy = tp.symbol("policy")
    return tp.check("st.global.L2::cache_hint.v4.b32", ROWS[I], WORDS, cache_policy=policy, hazards="ignore")


def far_apart() -> Report:
    """Repeats whose displacements pass the 32 bits of an instruction."""
    wide = tp.tensor("B", (3, 2**29, 1), "uint32")
    return tp.check("ld.global.b32", registers((3, 1), (1, 1)), wide[:, 5])


def backwards() -> Report:
    """What repeats share is negative, so that it may not stand in a register by itself."""
    shared = tp.tensor("SM", (64, 4), "uint32", "shared", align=16)
    down = tp.symbol("down", 0, 62)
    return tp.check("ld.shared.v4.b32", registers((2, 4), (4, 1)), shared[62 - down : 64 - down])


def narrowed() -> Report:
    """A 64-bit offset into shared memory, of a ring buffer that is no power of two."""
    shared = tp.tensor("SM", (63, 4), "uint32", "shared", align=16)
    turn = tp.symbol("turn", 0)
    return tp.check("ld.shared.v4.b32", registers((2, 4), (4, 1)), shared[turn % 62 : turn % 62 + 2])


def widened() -> Report:
    """32-bit arithmetic that an assumption and not a bound allows."""
    far = tp.symbol("far", 0)
    return tp.check(V4, WORDS, ROWS[far], assume=far < 60, index_bits=32)


CALLS = [
    interleaved, swizzled, guarded, warpgroup, cluster, three_dimensional, predicated, hinted, far_apart,
    backwards, narrowed, widened,
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=lambda f: f.__name__)
def test_the_text_of_a_fragment(call: Any, snapshot: SnapshotAssertion) -> None:
    assert tp.emit(call()) == snapshot


def surrounded(fragment: str) -> str:
    """The fragment in a kernel that declares what the fragment's comment asks for."""
    lines = [".version 8.8", ".target sm_90a", ".address_size 64", ".visible .entry f()", "{"]
    for names, kind in re.findall(r"^// (?:in |out) (%[^:]*) \.(b\d+): ", fragment, re.MULTILINE):
        lines.append(f".reg .{kind} {names};")
    return "\n".join([*lines, fragment, "ret;", "}", ""])


@pytest.mark.parametrize("call", CALLS, ids=lambda f: f.__name__)
def test_a_fragment_assembles_beside_the_registers_that_it_names(call: Any) -> None:
    assert assemble(surrounded(emit(call())), "sm_90a").image


def instructions(fragment: str, opcode: str) -> list[str]:
    return [
        line.strip() for line in fragment.splitlines() if opcode + " " in line and not line.startswith("//")
    ]


def test_one_instruction_for_each_repeat_in_row_major_order() -> None:
    source = tp.tensor("A", (2, 3, 4), "uint32")
    written = instructions(emit(tp.check(V4, registers((2, 3, 4), (4, 8, 1)), source)), V4)
    assert [re.findall(r"%R_(\d+)", line)[0] for line in written] == ["0", "8", "16", "4", "12", "20"]
    assert [line.rpartition(", ")[2] for line in written] == [
        "[%A];", "[%A+16];", "[%A+32];", "[%A+48];", "[%A+64];", "[%A+80];",
    ]  # fmt: skip


def test_a_vector_is_braced_and_a_scalar_is_not() -> None:
    one = tp.tensor("A", (1,), "uint32")
    assert instructions(emit(tp.check("ld.global.b32", registers((1,), (1,)), one)), "ld.global.b32") == [
        "ld.global.b32 %R_0, [%A];"
    ]
    shared = tp.tensor("SM", (1, 8, 4), "uint32", "shared", align=16)
    x1 = "ldmatrix.sync.aligned.m8n8.x1.shared.b16"
    mine = registers((1, 8, 4), (1, 4 @ laneid, 1 @ laneid))
    (line,) = instructions(emit(tp.check(x1, mine, shared, scope="warp")), x1)
    assert line.startswith(f"{x1} {{%R_0}}, [")


@pytest.mark.parametrize(
    ("pred", "guard"), [(None, ""), (True, ""), (tx < 64, ""), (False, "@%p0 "), (I < 3, "@%p0 ")], ids=repr
)
def test_a_predicate_that_always_holds_is_not_written(pred: Any, guard: str) -> None:
    extra = {} if pred is None else {"pred": pred}
    text = emit(tp.check(V4, WORDS, ROWS[I], **extra))
    assert [line.strip().partition(V4)[0] for line in text.splitlines() if "[" in line] == [guard]


def test_a_constant_cache_policy_is_moved_to_a_register() -> None:
    text = emit(tp.check("ld.global.L2::cache_hint.v4.b32", WORDS, ROWS[I], cache_policy=7))
    assert "mov.b64 %rd1, 7;" in text
    assert text.splitlines()[-2].endswith("[%rd0], %rd1;")


REFUSED: list[tuple[Report, Verdict, list[str]]] = [
    (
        tp.check(V4, WORDS, ROWS.view(256)[I : I + 4]),
        Verdict.REFUTED,
        ["ld.aligned", "i = 1", "byte 4 of A", "a multiple of 16 bytes"],
    ),
    (tp.check("ld.v4.b32", WORDS, ROWS[I]), Verdict.UNSUPPORTED, ["ld.v4.b32", "write the state space"]),
    (
        tp.check("ld.global.v2.b32", registers((3, 2), (2, 3)), tp.tensor("A", (3, 2), "uint32"), budget=1),
        Verdict.UNDECIDED,
        ["UNDECIDED", "ld.distinct"],
    ),
]


@pytest.mark.parametrize(
    ("report", "verdict", "words"), REFUSED, ids=lambda v: str(v) if isinstance(v, Verdict) else ""
)
def test_nothing_is_written_without_a_proof(report: Report, verdict: Verdict, words: list[str]) -> None:
    assert report.verdict is verdict
    with pytest.raises(EmissionError) as refusal:
        tp.emit(report)
    assert all(word in str(refusal.value) for word in [*words, "PTX is written for proven calls only"])


def test_other_formats_are_refused() -> None:
    with pytest.raises(CallError, match="'ptx'"):
        tp.emit(interleaved(), format="sass")


def test_a_register_slot_that_varies_is_refused_and_its_symbol_named() -> None:
    j = tp.symbol("j", 0, 3)
    mine = registers((16,), (1,))
    report = tp.check(V4, mine[4 * j : 4 * j + 4], ROWS[I])
    assert report.verdict is Verdict.PROVED
    with pytest.raises(EmissionError, match=r"register slot of R depends on j .* unroll the loop"):
        emit(report)
    assert "%R_12, %R_13, %R_14, %R_15" in emit(tp.check(V4, mine[12:16], ROWS[I]))


def test_arithmetic_that_neither_bounds_nor_a_proof_show_to_fit_is_refused() -> None:
    far = tp.symbol("far", 0)
    row = (far * 2 + 1) // 3
    report = tp.check(V4, WORDS, ROWS[row], assume=far < 60, index_bits=64)
    assert "div.u64" in emit(report)
    without = tuple(f for f in report.findings if f.obligation.id != "ld.no-overflow")
    assert len(without) < len(report.findings)
    with pytest.raises(EmissionError, match=r"it is not sure that the offset .* can be computed in 64 bits"):
        emit(replace(report, findings=without))


def test_a_predicate_that_64_bits_may_not_hold_is_refused() -> None:
    u, v = tp.symbol("u"), tp.symbol("v")
    with pytest.raises(EmissionError, match="declare narrower bounds"):
        emit(tp.check(V4, WORDS, ROWS[I], pred=u * v < 3))
    assert "setp.lt.s64" in emit(tp.check(V4, WORDS, ROWS[I], pred=u < v))


def test_names_that_ptx_has_already_get_an_underscore() -> None:
    tid, r0 = tp.symbol("tid", 0, 7), tp.symbol("r0", 0, 7)
    text = emit(tp.check(V4, WORDS, ROWS[tid + r0]))
    assert "%tid_" in text
    assert "%r0_" in text
    assert assemble(surrounded(text), "sm_90a").image


def test_two_names_that_are_one_in_ptx_are_refused() -> None:
    slot = tp.symbol("R_2", 0, 7)
    with pytest.raises(EmissionError, match=r"the symbol R_2 and slot 2 of R would both be %R_2"):
        emit(tp.check(V4, WORDS, ROWS[slot]))
    for name in ("R_4", "R_02", "R_", "R_x"):
        assert emit(tp.check(V4, WORDS, ROWS[tp.symbol(name, 0, 7)]))
    # PTX has a %tid, so both tensors would be in %tid__0.
    one, other = (tp.tensor(name, (1, 1), "float32", "registers") for name in ("tid", "tid_"))
    with pytest.raises(EmissionError, match=r"slots of tid and those of tid_ would both be %tid__0"):
        emit(tp.check("neg.f32", one, other))


def test_a_name_that_ptx_cannot_spell_is_refused() -> None:
    with pytest.raises(EmissionError, match="no PTX identifier"):
        emit(tp.check(V4, WORDS, ROWS[tp.symbol("größe", 0, 7)]))


def test_the_bits_of_a_register_operand_follow_the_element() -> None:
    wide = tp.tensor("A", (2,), "float64")
    text = emit(tp.check("ld.global.v2.f64", registers((2,), (1,), "float64"), wide))
    assert "out %R_0, %R_1 .b64: R" in text
    narrow = tp.tensor("A", (4,), "uint8")
    assert ".b16: R" in emit(tp.check("ld.global.v4.b8", registers((4,), (1,), "uint8"), narrow))


def test_a_plan_says_each_operand_without_text() -> None:
    planned = plan(interleaved())
    assert [[getattr(o, "numbers", None) for o in issue] for issue in planned.issues] == [
        [(0, 2), None],
        [(8, 10), None],
    ]
    assert [issue[1].displacement for issue in planned.issues] == [0, 512]  # type: ignore[union-attr]


def test_emit_is_a_function_and_a_package_whichever_comes_first() -> None:
    program = """
import {first}
import tileproof
import tileproof.emit.lower
words = tileproof.tensor("R", (4,), "uint32", "registers")
report = tileproof.check("ld.global.v4.b32", words, tileproof.tensor("A", (4,), "uint32"))
print(tileproof.emit(report).splitlines()[-2].strip())
"""
    for first in ("tileproof", "tileproof.emit.assemble"):
        done = subprocess.run(
            [sys.executable, "-c", program.format(first=first)],
            capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2],
        )  # fmt: skip
        assert done.stdout.strip() == "ld.global.v4.b32 {%R_0, %R_1, %R_2, %R_3}, [%A];"


@pytest.mark.parametrize("repeats", [64, 512])
def test_planning_takes_expressions_apart_once_for_all_repeats(
    repeats: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work on expressions does not grow with the repeats: two offsets of addresses and slots each."""
    counted: list[object] = []

    def count(expression: Any, replacement: Any) -> Any:
        counted.append(expression)
        return substitute(expression, replacement)

    a = tp.tensor("A", (64, repeats, 2), "uint32")
    words = tp.tensor("R", (repeats, 2), "uint32", "registers")
    report = tp.check("ld.global.v2.b32", words, a[tp.symbol("i", 0, 63)])
    monkeypatch.setattr(plan_module, "substitute", count)
    planned = plan_module.plan(report)
    assert len(planned.issues) == repeats
    assert len(counted) == 3


def test_terms_that_vary_alike_are_taken_apart_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A swizzled row repeats its eight chunks in each of 32 row groups."""
    layout = TileLayout(S[(256, 64) : (64, 1)], Swizzle(3, 3, 3))
    shared = tp.tensor("SM", (256, 64), "uint16", "shared", layout=layout, align=1024)
    words = tp.tensor("R", (32, 8, 4), "uint32", "registers")
    view = shared.view("uint32").rearrange("(g r) (c w) -> r g c w", r=8, w=4)[tp.laneid % 8]
    report = tp.check("ld.shared.v4.b32", words, view)
    taken: list[object] = []

    def count(node: Any) -> Any:
        taken.append(node)
        return normal(node)

    monkeypatch.setattr(plan_module, "normal", count)
    assert len(plan_module.plan(report).issues) == 256
    assert len(taken) <= 5 + 2 * 8


def test_registers_that_nobody_executes_have_to_be_there_all_the_same() -> None:
    raw = tp.tensor("R", (8,), "b32", "registers")
    memory = tp.tensor("A", (4,), "b32", align=16)
    never = {"active": tp.tx >= 16, "pred": tp.tx < 8, "block": 32}
    n = tp.symbol("n", 0, 0)
    fine = tp.check("ld.global.v4.b32", raw[n : n + 4], memory, **never)
    assert "{%R_0, %R_1, %R_2, %R_3}" in tp.emit(fine)
    early = tp.check("ld.global.v4.b32", raw[n - 1 : n + 3], memory, **never)
    assert early.verdict is Verdict.PROVED
    with pytest.raises(
        EmissionError, match="slot -1 of R lies before its first register; no thread executes the call"
    ):
        tp.emit(early)


def test_a_storage_is_registers_of_one_width_even_where_nobody_executes() -> None:
    storage = tp.tensor("F", (32,), "uint8", "registers")
    words = storage.declare((1, 1), "uint32", name="D")
    byte = storage.declare((1, 1), "uint8", at=4, name="A")
    assert tp.check("cvt.rn.f32.s8", words, byte).verdict is Verdict.REFUTED
    report = tp.check("cvt.rn.f32.s8", words, byte, active=tp.tx >= 16, pred=tp.tx < 8)
    assert report.verdict is Verdict.PROVED
    with pytest.raises(EmissionError, match="F is used as registers of 32 and of 8 bits"):
        tp.emit(report)
