"""Counterexamples are the least ones, replay, and are told in words that cannot be mixed up."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

import tileproof as tp
from tests.contracts.calls import PROVED, REFUTED, memory, registers
from tileproof import laneid, tx
from tileproof.contracts.obligation import Obligation
from tileproof.errors import InternalError
from tileproof.layouts.evaluate import evaluate
from tileproof.layouts.index import Leaf, Relation, leaf, truth
from tileproof.layouts.traverse import leaves
from tileproof.proofs import counterexample
from tileproof.proofs.counterexample import ORDER, cheap_counterexample, least, ordered
from tileproof.proofs.discharge import BUDGET, Question, ask, query, restore, settle, untouched
from tileproof.proofs.verdict import Counterexample

KINDS = ("symbol", "base", "thread", "group", "repeat", "replica", "element")


def simplicity(value: int) -> tuple[bool, int]:
    """Naturals from zero up, then negative numbers from minus one down."""
    return value < 0, abs(value)


def domain(variable: Leaf) -> list[int]:
    assert variable.lo is not None
    assert variable.hi is not None
    return [n for n in range(variable.lo, variable.hi + 1) if n % variable.multiple_of == 0]


def least_by_visiting(claim: Relation, given: Relation) -> dict[str, int] | None:
    """The least failure under the documented order: by kind, then copy, then as the demand mentions them."""
    variables = leaves(given, claim)
    variables = sorted(variables, key=lambda v: (KINDS.index(v.kind), v.copy))  # stable, so as mentioned
    failures = [
        point
        for point in product(*map(domain, variables))
        if evaluate(given, (at := dict(zip(variables, point, strict=True)))) and not evaluate(claim, at)
    ]
    if not failures:
        return None
    best = min(failures, key=lambda p: [simplicity(n) for n in p])
    return {v.label: n for v, n in zip(variables, best, strict=True)}


def found(claim: Relation, given: Relation) -> dict[str, int] | None:
    question = ask(Obligation("t.t", "s", "s", claim, given), truth(True))
    if question.claim.value is True or question.premise.value is False:
        return None
    answer = settle(question, BUDGET)
    if answer.verdict is PROVED:
        return None
    assert answer.verdict is REFUTED, answer.reason
    values = untouched(question, [given, claim], restore(question, answer.model or {}))
    return {v.label: values[v] for v in leaves(given, claim)}


def variable(name: str, kind: Any, lo: int, hi: int, step: int = 1, copy: int = 0) -> Any:
    return leaf(Leaf(name, kind, lo, hi, step, copy=copy))


POOL = (
    variable("word", "element", 0, 3),
    variable("rep", "repeat", 0, 2),
    variable("rep", "repeat", 0, 2, copy=1),
    variable("lane", "thread", 0, 5),
    variable("base", "base", 0, 8, 4),
    variable("s", "symbol", 0, 6),
    variable("t", "symbol", -4, 3),
    variable("t", "symbol", -4, 3, copy=1),
    variable("n", "symbol", -9, -2),
    variable("k", "symbol", -6, 6, 3),
)


@st.composite
def claims(draw: st.DrawFn) -> tuple[Relation, Relation]:
    chosen = draw(st.lists(st.sampled_from(POOL), min_size=1, max_size=3, unique_by=lambda v: v.uid))

    def term() -> Any:
        a, b = draw(st.sampled_from(chosen)), draw(st.sampled_from(chosen))
        make: list[Any] = [
            lambda: a, lambda: a * draw(st.integers(-3, 4)) + b, lambda: a % draw(st.integers(2, 5)),
            lambda: a * b, lambda: a // 2 - b, lambda: a ^ 3,
        ]  # fmt: skip
        return draw(st.sampled_from(make))()

    def relation() -> Relation:
        compare: list[Any] = [
            lambda a, b: a < b,
            lambda a, b: a == b,
            lambda a, b: a != b,
            lambda a, b: a <= b,
        ]
        made: Relation = draw(st.sampled_from(compare))(
            term(), term() if draw(st.booleans()) else draw(st.integers(-5, 8))
        )
        return made

    return relation(), relation() if draw(st.booleans()) else truth(True)


@given(claims())
@settings(max_examples=120)
def test_least(pair: tuple[Relation, Relation]) -> None:
    """By evaluation where the question is small and has no negative numbers, else by the solver."""
    claim, given_ = pair
    assert found(claim, given_) == least_by_visiting(claim, given_)


@given(claims())
@settings(max_examples=60)
def test_least_by_the_solver_alone(pair: tuple[Relation, Relation]) -> None:
    claim, given_ = pair
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counterexample, "ENUMERABLE", 0)
        assert found(claim, given_) == least_by_visiting(claim, given_)


@pytest.mark.parametrize(
    ("claim", "given_", "point"),
    [
        (lambda s, t, n, u: s < 5, None, {"s": 5}),
        (lambda s, t, n, u: t < 2, None, {"t": 2}),
        (lambda s, t, n, u: t >= -2, None, {"t": -3}),
        (lambda s, t, n, u: (t >= -2) & (t < 3), None, {"t": 3}),
        (lambda s, t, n, u: n > -4, None, {"n": -4}),
        (lambda s, t, n, u: n > -8, None, {"n": -8}),
        (lambda s, t, n, u: s + t < 4, None, {"s": 1, "t": 3}),
        (lambda s, t, n, u: t + s < 4, None, {"t": 0, "s": 4}),
        (lambda s, t, n, u: s * t > -8, None, {"s": 2, "t": -4}),
        (lambda s, t, n, u: u < 10**12, None, {"u": 10**12}),
        (lambda s, t, n, u: u > -(10**12), None, {"u": -(10**12)}),
        (lambda s, t, n, u: u < s, lambda s, t, n, u: u > 40, {"u": 41, "s": 0}),
        (lambda s, t, n, u: u != 4, lambda s, t, n, u: (u % 4 == 0) & (u > 3), {"u": 4}),
    ],
)  # fmt: skip
def test_simplest_values(claim: Any, given_: Any, point: dict[str, int]) -> None:
    variables = (tp.symbol("s", 0, 6), tp.symbol("t", -4, 3), tp.symbol("n", -9, -2), tp.symbol("u"))
    assert found(claim(*variables), given_(*variables) if given_ else truth(True)) == point


def test_the_documented_order() -> None:
    assert ORDER == KINDS
    claim = variable("e", "element", 0, 1) + variable("r", "repeat", 0, 1) < variable("g", "group", 0, 1)
    context = (variable("b", "symbol", 0, 9) < variable("a", "symbol", 0, 9)) & (
        variable("w", "thread", 0, 1) > -variable("m", "base", 0, 8)
    )
    given_ = variable("z", "symbol", 0, 3) + variable("w", "thread", 0, 1, copy=1) < variable(
        "y", "symbol", 0, 3
    )
    question = ask(Obligation("t.t", "s", "s", claim, given_), context)
    # Symbols as the demand mentions them, then those of the context alone by name.
    assert [v.label for v in ordered(question)] == ["z", "y", "a", "b", "m", "w", "w'", "g", "r", "e"]


def test_evaluation_is_for_small_questions() -> None:
    def cheap(claim: Relation) -> dict[str, int] | None:
        found_ = cheap_counterexample(ask(Obligation("t.t", "s", "s", claim), truth(True)))
        return None if found_ is None else {v.name: n for v, n in found_.items()}

    assert cheap(tp.symbol("s", 0, 4095) < 4000) == {"s": 4000}
    assert cheap(tp.symbol("s", 0, 4096) < 4000) is None, "too many points"
    assert cheap(tp.symbol("s", 0, 63) * 64 + tp.symbol("t", 0, 63) < 4000) == {"s": 62, "t": 32}
    assert cheap(tp.symbol("s", 0, 4095 * 8, multiple_of=8) < 4000) == {"s": 4000}
    assert cheap(tp.symbol("s", 5, 9) < 8) == {"s": 8}
    assert cheap(tp.symbol("s", -1, 9) < 8) is None, "negative numbers come last"
    assert cheap(tp.symbol("s", 0) < 8) is None
    assert cheap((tp.symbol("s", 0, 7) ^ 8) >= 8) is None, "nothing fails"
    assert cheap(tp.symbol("s", 0, 7) * 2**61 < 2**63) is None, "64 bits are not enough"
    assert cheap(tp.symbol("s", 0, 7) * 2**59 < 2**61) == {"s": 4}
    assert cheap(truth(False)) == {}
    nowhere = Question(Obligation("t.t", "s", "s", truth(False)), truth(False), truth(False), {})
    assert cheap_counterexample(nowhere) is None


def test_a_budget_that_runs_out_leaves_a_true_counterexample() -> None:
    claim = tp.symbol("s", 0) * 3 + tp.symbol("t", 0) < 10**6
    question = ask(Obligation("t.t", "s", "s", claim), truth(True))
    result, reading, solver = query([question.denial], BUDGET)
    assert result == "sat"
    assert reading is not None
    assert not isinstance(solver, str)

    class Tired:
        """Knows one model and finds no other."""

        def model(self) -> Any:
            return solver.model()

        def check(self, *_: Any) -> Any:
            return z3.unknown

        def add(self, *conditions: Any) -> None:
            solver.add(*conditions)

    values, reason = least(question, reading, Tired())  # type: ignore[arg-type]
    assert reason == "the budget ran out before the least counterexample was found"
    assert values is not None
    assert not evaluate(claim, values)


# Replay


def test_a_model_that_does_not_replay_is_never_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    i = tp.symbol("i", 0, 7)
    view = memory((64,))[2 * i : 2 * i + 4]
    monkeypatch.setattr(counterexample, "cheap_counterexample", lambda q: dict.fromkeys(ordered(q), 2))
    with pytest.raises(InternalError, match=r"ld\.aligned: the counterexample .*'i': 2.* does not replay"):
        tp.check("ld.global.v4.b32", registers((4,)), view)
    monkeypatch.setattr(counterexample, "cheap_counterexample", lambda q: dict.fromkeys(ordered(q), 1))
    with pytest.raises(InternalError, match="does not replay"):
        tp.check("ld.global.v4.b32", registers((4,)), view, active=i > 2)


def test_a_solver_that_lies_is_never_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    u = tp.symbol("u")

    def lie(question: Any, *_: Any) -> Any:
        return dict.fromkeys(ordered(question), 0), ""

    monkeypatch.setattr(counterexample, "least", lie)
    with pytest.raises(InternalError, match="does not replay"):
        tp.check(
            "ld.global.v4.b32",
            registers((4,)),
            memory((1 << 20,))[2 * u : 2 * u + 4],
            active=(u >= 0) & (u < 100_000),
        )


# Telling


def refusal(*operands: Any, opcode: str = "ld.global.v4.b32", **keywords: Any) -> Counterexample:
    report = tp.check(opcode, *operands, **keywords)
    assert report.verdict is REFUTED, str(report)
    assert report.counterexample is not None
    return report.counterexample


def test_symbols_keep_their_names() -> None:
    """A symbol may be called like a variable of the proof; then that one says what it is."""
    lane, word, repeat, row = (tp.symbol(name, 1, 3) for name in ("lane", "word", "repeat0", "row"))
    regs = registers((32, 2, 4), (1 @ laneid, 4, 1))
    start = 4 * lane + 4 * word + 4 * repeat + 4 * row
    rows = memory((4096,), align=4)[start : start + 256].view(32, 2, 4)
    example = refusal(regs, rows, scope="warp")
    assert example.symbols == {"lane": 1, "word": 1, "repeat0": 1, "row": 1}
    assert example.values["lane (group)"] == 0
    assert example.values["repeat0 (repeat)"] == 0
    assert example.kinds["lane (group)"] == "group"
    assert (example.lane, example.repeat, example.base) == (0, (0,), 4)
    gap = memory((4096,), (2,))[16 * word : 16 * word + 4]
    told = refusal(registers((4,)), gap)
    assert told.element == {"word (element)": 1}
    assert told.symbols == {"word": 1}


def test_storage_and_symbol_of_one_name() -> None:
    i = tp.symbol("A", 0, 7)
    example = refusal(registers((4,)), memory((64,), align=8)[4 * i : 4 * i + 4])
    assert example.symbols == {"A": 0}
    assert example.values["A (base)"] == 8
    assert (example.base, example.storage) == (8, "A")


def test_two_threads_have_primes() -> None:
    x = tp.symbol("x", 0, 3, uniform="thread")
    example = refusal(
        registers((32, 4), (1 @ laneid, 1)), memory((32, 4)), scope="warp", active=x < 2
    )  # fmt: skip
    assert example.symbols == {"x": 2, "x'": 0}
    assert example.values["lane'"] == 0
    assert example.lane == 1


def test_what_the_demand_does_not_mention_is_at_its_simplest() -> None:
    i, j, k = tp.symbol("i", 0, 7), tp.symbol("j", 3, 7), tp.symbol("k", -9, -2)
    example = refusal(
        registers((2, 4)), memory((64,))[2 * i : 2 * i + 8].view(2, 4), active=(j > 4) & (k < -3)
    )
    assert example.symbols == {"i": 1, "j": 5, "k": -4}
    assert (example.warp, example.lane, example.repeat) == (0, 0, (0,))


def test_the_thread_that_fails_is_told() -> None:
    example = refusal(registers((4,)), memory((4096,))[4 * tx + tx // 70 : 4 * tx + tx // 70 + 4], block=96)
    assert (example.warp, example.lane, example.byte_address) == (2, 6, 4 * (4 * 70 + 1))
    last = laneid // 31 * 2
    example = refusal(registers((4,)), memory((4096,))[last : last + 4])
    assert (example.lane, example.byte_address) == (31, 8)


def test_slots_are_counted_in_elements() -> None:
    wide = refusal(registers((2, 2), (1, 1), bits=64), memory((2, 2), bits=64), opcode="ld.global.v2.b64")
    assert (wide.slot, wide.byte_address, wide.base, wide.storage) == (1, None, None, "R")
    narrow = refusal(registers((2, 2), (1, 1), bits=16), memory((2, 2), bits=16), opcode="ld.global.v2.b16")
    assert narrow.slot == 1
    raw = tp.tensor("RAW", (16,), "b32", "registers").declare((2, 4), at=3, name="D", layout="(2,4):(3,1)")
    declared = refusal(raw, memory((2, 4)))
    assert (declared.slot, declared.storage) == (6, "RAW")


def test_byte_addresses_count_from_the_storage() -> None:
    raw = tp.tensor("RAW", (64,), "b32", align=64)
    example = refusal(registers((4,)), raw.declare((2, 4), at=9, name="D")[1, :])
    assert (example.storage, example.base, example.byte_address) == ("RAW", 0, 4 * (9 + 4))
    assert example.found == "byte address 52, which is 4 modulo 16"


def test_the_first_operand_fits_nothing() -> None:
    """Then there are no groups or repeats to tell of."""
    example = refusal(memory((4,), name="X"), memory((4,)))
    assert (example.lane, example.warp, example.repeat, example.values) == (None, None, (), {})
    assert (example.storage, example.byte_address, example.slot) == (None, None, None)


def test_a_solver_that_breaks_while_minimising_leaves_its_counterexample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    far = tp.symbol("far", 0, 10**9)
    view = tp.tensor("A", (1 << 32,), "uint32")[far : far + 4]
    words = tp.tensor("W", (4,), "uint32", "registers")
    check, calls = z3.Solver.check, []

    def breaking(solver: z3.Solver, *conditions: Any) -> Any:
        calls.append(conditions)
        if conditions:
            raise z3.Z3Exception("out of memory")
        return check(solver, *conditions)

    monkeypatch.setattr(z3.Solver, "check", breaking)
    monkeypatch.setattr("tileproof.proofs.discharge._remembered", {})
    report = tp.check("ld.global.v4.b32", words, view, active=far % 7 == 3)
    failure = report.failures[0]
    assert failure.verdict is REFUTED
    assert failure.counterexample is not None
    assert failure.counterexample.symbols["far"] % 4 != 0
    assert any(calls)
    assert "before the least counterexample was found" in failure.reason
