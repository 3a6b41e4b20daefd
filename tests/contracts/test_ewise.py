"""``ewise``: each demand with a legal call and its nearest illegal one, the alias hazard against plain execution."""

from __future__ import annotations

import json
import pickle
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

import tileproof as tp
from tests.contracts.calls import PROVED, REFUTED
from tests.proofs.replay import assert_complete
from tileproof import R, S, TileLayout, cbx, check_ewise, laneid, scalar_function, tx, warpid
from tileproof.contracts.family.ewise import EwiseForm, ewise_form
from tileproof.errors import CallError, TileproofError
from tileproof.layouts.tensor import Tensor
from tileproof.proofs.report import Report


@scalar_function
def scaled(x: tp.float32, scale: tp.float32) -> tp.float32:
    return x * scale


@scalar_function
def total(x: tp.float32, y: tp.float32) -> tp.float32:
    return x + y


@scalar_function
def rounded(x: tp.float32) -> tp.bfloat16:
    return tp.bfloat16(x)


def registers(
    shape: Any, strides: Any = None, extra: Any = None, dtype: str = "float32", name: str = "R"
) -> Tensor:
    spec = S[shape] if strides is None else S[shape:strides]
    layout = TileLayout(spec if extra is None else spec + extra)
    return tp.tensor(name, shape, dtype, "registers", layout=layout)


def in_place(made: Any, **keywords: Any) -> Report:
    return check_ewise(scaled, made, made, 2, **keywords)


def failures(report: Report) -> set[str]:
    return {f.obligation.id for f in report.failures}


def dangers(report: Report) -> set[str]:
    return {f.obligation.id for f in report.hazards}


CTA = ((2, 32, 3), (1 @ warpid, 1 @ laneid, 2))

LEGAL: dict[str, tuple[Any, dict[str, Any]]] = {
    "thread": (registers((4,)), {}),
    "thread, strides": (registers((3, 2), (1, 5)), {}),
    "warp": (registers((32, 2), (1 @ laneid, 1)), {"scope": "warp"}),
    "warpgroup": (registers((4, 32, 2), (1 @ warpid, 1 @ laneid, 1)), {"scope": "warpgroup", "block": 128}),
    "cta": (registers(*CTA), {"scope": "cta", "block": 64}),
    "a guarded cta": (registers(*CTA), {"scope": "cta", "block": 128, "active": tx < 64}),
    "cluster": (
        registers((2, 2, 32, 1), (1 @ cbx, 1 @ warpid, 1 @ laneid, 1)),
        {"scope": "cluster", "block": 64, "cluster": 2},
    ),
}


@pytest.mark.parametrize("name", LEGAL)
def test_a_legal_call_is_proved_in_place(name: str) -> None:
    made, keywords = LEGAL[name]
    report = in_place(made, hazards="error", **keywords)
    assert report.verdict is PROVED, str(report)
    assert report.hazards == ()
    assert report.call.form.spelling == "ewise scaled"


I = tp.symbol("i", 0, 3)
HALVES = registers((9,), dtype="float16", name="H")
LONG = registers((8,), name="L")

ILLEGAL: dict[str, tuple[Report, str]] = {
    "a thread short": (in_place(registers(*CTA), scope="cta", block=63), "ewise.converged"),
    "a guard past the group": (
        in_place(registers(*CTA), scope="cta", block=128, active=tx < 96), "ewise.covered",
    ),
    "a warp past the group": (in_place(registers(*CTA), scope="cta", block=96), "ewise.covered"),
    "lanes two apart": (
        in_place(registers((2, 32, 3), (1 @ warpid, 2 @ laneid, 2)), scope="cta", block=64), "ewise.owned",
    ),
    "another owner of an input": (
        check_ewise(
            total, registers((32,), (1 @ laneid,)), registers((32,), (1 @ laneid,), name="A"),
            registers((32,), (1 @ laneid,), 1 @ laneid, name="B"), scope="warp",
        ),
        "ewise.owned",
    ),
    "thread axes at thread scope": (in_place(registers((32,), (1 @ laneid,))), "ewise.owned"),
    "half a register": (
        check_ewise(scaled, HALVES.declare((4,), "float32", at=1, name="D"), registers((4,), name="A"), 2),
        "ewise.whole-register",
    ),
    "two results in one register": (
        check_ewise(scaled, registers((4,), (0,)), registers((4,), name="A"), 2), "ewise.distinct",
    ),
    "a slice past its tensor": (
        check_ewise(scaled, registers((2,)), registers((4,), name="A")[I : I + 2], 2), "ewise.in-bounds",
    ),
    "registers that are not there": (
        check_ewise(scaled, registers((4,)), LONG.declare((4,), at=5, name="A"), 2), "ewise.in-storage",
    ),
    "another type": (check_ewise(scaled, registers((4,)), registers((4,), dtype="int32", name="A"), 2), "ewise.dtype"),
    "another type of the result": (
        check_ewise(rounded, registers((4,), dtype="float16"), registers((4,), name="A")), "ewise.dtype",
    ),
    "another shape": (check_ewise(scaled, registers((4,)), registers((5,), name="A"), 2), "ewise.shape"),
    "an implicit broadcast": (
        check_ewise(scaled, registers((3, 4)), registers((4,), name="A"), 2), "ewise.shape",
    ),
    "no group axis": (
        in_place(registers((3,)), scope="cta", block=64), "ewise.shape",
    ),
    "memory": (check_ewise(scaled, registers((4,)), tp.tensor("A", (4,), "float32"), 2), "ewise.space"),
}  # fmt: skip


@pytest.mark.parametrize("name", ILLEGAL)
def test_the_nearest_illegal_call_is_refuted_by_one_obligation(name: str) -> None:
    report, obligation = ILLEGAL[name]
    assert report.verdict is REFUTED, str(report)
    assert failures(report) == {obligation}
    assert_complete(report)


NEIGHBOURS = {
    "half a register": check_ewise(
        scaled, HALVES.declare((4,), "float32", at=0, name="D"), registers((4,), name="A"), 2
    ),
    "a slice": check_ewise(
        scaled, registers((2,)), registers((4,), name="A")[I : I + 2], 2, assume=(I <= 2,)
    ),
    "the last registers": check_ewise(scaled, registers((4,)), LONG.declare((4,), at=4, name="A"), 2),
    "zero strides of an input": check_ewise(scaled, registers((3, 4)), registers((4,), name="A").broadcast(3, 4), 2),
    "a scalar": check_ewise(total, registers((3, 4)), registers((3, 4), name="A"), tp.variable("b", "float32")),
}  # fmt: skip


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_their_legal_neighbours_are_proved(name: str) -> None:
    assert NEIGHBOURS[name].verdict is PROVED, str(NEIGHBOURS[name])


@pytest.mark.parametrize("name", ["another type", "an implicit broadcast", "a slice past its tensor"])
def test_the_report_of_a_refusal(name: str, snapshot: SnapshotAssertion) -> None:
    assert str(ILLEGAL[name][0]) == snapshot


# Results over inputs.


def test_a_move_by_one_register_is_a_hazard_in_one_direction() -> None:
    line = registers((5,))
    forward = check_ewise(scaled, line[1:5], line[0:4], 2)
    assert forward.verdict is PROVED
    assert dangers(forward) == {"ewise.alias"}
    assert dangers(check_ewise(scaled, line[0:4], line[1:5], 2)) == set()
    assert dangers(check_ewise(scaled, line, line, 2)) == set()
    refused = check_ewise(scaled, line[1:5], line[0:4], 2, hazards="error")
    assert refused.verdict is REFUTED
    assert failures(refused) == {"ewise.alias"}
    assert check_ewise(scaled, line[1:5], line[0:4], 2, hazards="ignore").hazards == ()


def test_half_of_a_later_input_is_a_hazard_too() -> None:
    halves = registers((4,), dtype="bfloat16", name="H")
    words = halves.declare((2,), "float32", name="W")
    for start, stride, found in ((0, 1, set()), (1, 2, set()), (0, 2, set()), (2, 1, {"ewise.alias"})):
        target = halves.declare((2,), layout=TileLayout(S[(2,) : (stride,)]), at=start, name="D")
        report = check_ewise(rounded, target, words)
        assert report.verdict is PROVED
        assert dangers(report) == found


def test_a_replica_of_the_destination_goes_stale() -> None:
    twice = registers((4,), (1,), R[2:4], name="D")
    assert dangers(check_ewise(scaled, twice, registers((4,), name="A"), 2)) == {"ewise.replica"}


def offsets(shape: tuple[int, int], strides: tuple[int, int], start: int) -> list[int]:
    return [start + a * strides[0] + b * strides[1] for a, b in product(*map(range, shape))]


@given(
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.permutations([1, 3]),
    st.integers(0, 3),
    st.tuples(st.integers(0, 4), st.integers(0, 4)),
    st.integers(0, 3),
)
@settings(max_examples=150)
def test_the_alias_hazard_is_told_when_execution_in_order_goes_wrong(
    shape: tuple[int, int], strides: list[int], start: int, read: tuple[int, int], first: int
) -> None:
    """The oracle executes the coordinates one after another on a list and compares with doing all at once."""
    file = registers((32,), name="F")
    written = (strides[0], strides[1])
    target = file.declare(shape, layout=TileLayout(S[shape:written]), at=start, name="D")
    source = file.declare(shape, layout=TileLayout(S[shape:read]), at=first, name="A")
    report = check_ewise(scaled, target, source, 2)
    assert report.verdict is PROVED, str(report)
    values = [3**n for n in range(32)]
    wanted, found = list(values), list(values)
    pairs = list(zip(offsets(shape, written, start), offsets(shape, read, first), strict=True))
    for place, origin in pairs:
        wanted[place] = 2 * values[origin]
    for place, origin in pairs:
        found[place] = 2 * found[origin]
    assert (dangers(report) == {"ewise.alias"}) == (found != wanted)


# Malformed calls.

WORDS = registers((4,))

MALFORMED: dict[str, Any] = {
    "too few inputs": lambda: check_ewise(scaled, WORDS, WORDS),
    "too many inputs": lambda: check_ewise(scaled, WORDS, WORDS, 2, 3),
    "a number as the destination": lambda: check_ewise(scaled, 2, WORDS, 2),  # type: ignore[arg-type]
    "a number that is not exact": lambda: check_ewise(scaled, WORDS, WORDS, 0.1),
    "a scalar of another type": lambda: check_ewise(scaled, WORDS, WORDS, tp.float16(2)),
    "text": lambda: check_ewise(scaled, WORDS, WORDS, "2"),  # type: ignore[arg-type]
    "an index expression": lambda: check_ewise(scaled, WORDS, WORDS, I),  # type: ignore[arg-type]
    "one name of two types": lambda: check_ewise(
        scaled, WORDS, tp.variable("a", "float32"), tp.float32(tp.variable("a", "float16"))
    ),
    "no function": lambda: check_ewise("scaled", WORDS, WORDS, 2),  # type: ignore[arg-type]
    "an unknown scope": lambda: check_ewise(scaled, WORDS, WORDS, 2, scope="grid"),
    "a cluster without one": lambda: check_ewise(scaled, WORDS, WORDS, 2, scope="cluster"),
    "unknown hazards": lambda: check_ewise(scaled, WORDS, WORDS, 2, hazards="refuse"),  # type: ignore[arg-type]
    "no budget": lambda: check_ewise(scaled, WORDS, WORDS, 2, budget=0),
    "two storages of one name": lambda: check_ewise(scaled, WORDS, registers((4,)), 2),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_call_is_told(name: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(TileproofError) as error:
        MALFORMED[name]()
    assert type(error.value) is CallError
    assert str(error.value) == snapshot


# What else a report is used for.


def test_a_function_that_was_not_decorated_is_traced() -> None:
    def half(x: tp.float32) -> tp.float32:
        return x * 0.5

    assert check_ewise(half, WORDS, WORDS).verdict is PROVED


def test_forms_are_equal_when_their_functions_are() -> None:
    form = ewise_form(scaled, (1,))
    assert form == ewise_form(scaled, (1,)) != ewise_form(scaled)
    assert pickle.loads(pickle.dumps(form)) == form
    assert [o.name for o in form.operands] == ["destination", "x"]
    other: Any = ewise_form(total, (1,))
    assert form != other
    assert isinstance(form, EwiseForm)


def test_what_a_form_needs() -> None:
    @scalar_function
    def of_brain(x: tp.bfloat16) -> tp.bfloat16:
        return x + x

    form = ewise_form(of_brain)
    assert not form.supports("sm_80")
    assert form.supports("sm_90")
    assert form.unsupported_reason("sm_80") == (
        "ewise of_brain: for add.rn.bf16 the target must be sm_90 or later, and it is sm_80 (PTX ISA 9.7)"
    )
    assert form.ptx_version_on("sm_90a") == (8, 0)
    assert ewise_form(scaled).supports("sm_70")


def test_a_report_has_a_certificate_and_no_spec() -> None:
    report = check_ewise(scaled, WORDS, WORDS, tp.variable("alpha", "float32"))
    certificate = json.loads(json.dumps(report.certificate()))
    assert certificate["verdict"] == "proved"
    assert certificate["call"]["opcode"] == "ewise scaled"
    assert certificate["call"]["parameters"] == {"input 1": "alpha"}
    with pytest.raises(CallError, match="spec files have no scalar functions"):
        report.reproduction()
    assert pickle.loads(pickle.dumps(report.call)).form == report.call.form
