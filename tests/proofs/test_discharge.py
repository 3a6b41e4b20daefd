"""How obligations are discharged: right, in any order, within a budget, and the same on every run."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

import tileproof as tp
from tileproof import Swizzle
from tileproof.contracts.obligation import Obligation, distinct
from tileproof.errors import AssumptionError
from tileproof.layouts.evaluate import evaluate
from tileproof.layouts.index import Index, Relation, conjunction, const, leaf, truth
from tileproof.layouts.leaf import Leaf
from tileproof.proofs.discharge import (
    BUDGET,
    Answer,
    _remembered,
    ask,
    discharge,
    injective,
    premise_of,
    query,
)
from tileproof.proofs.premises import require_possible
from tileproof.proofs.smt import Reading
from tileproof.proofs.verdict import Verdict


@pytest.fixture(autouse=True)
def _nothing_remembered() -> None:
    """These tests are about the solver's own answers."""
    _remembered.clear()


ROOT = Path(__file__).parents[2]
PROVED, REFUTED, UNDECIDED = Verdict.PROVED, Verdict.REFUTED, Verdict.UNDECIDED
I, J, U = tp.symbol("i", 0, 63), tp.symbol("j", 0, 63), tp.symbol("u")
N, M, K = tp.symbol("n", 1), tp.symbol("m", 1), tp.symbol("k", 1)
ALWAYS = truth(True)


def demand(claim: Relation, given: Relation = ALWAYS, **more: Any) -> Obligation:
    return Obligation("test.demand", "a sentence", "a section", claim, given, **more)


def settled(
    *obligations: Obligation, context: Relation = ALWAYS, budget: int = BUDGET
) -> list[tuple[Verdict, str]]:
    return [(a.verdict, a.method) for a in discharge(obligations, context, budget)]


HARD = (N * M * K + 1) * (N + M) != (N * N + M * M + K * K + 7) * 1000003
"""A statement that no solver decides with a small budget."""


@pytest.mark.parametrize(
    ("obligation", "context", "verdict", "method"),
    [
        (demand(I * 4 % 4 == 0), ALWAYS, PROVED, "normal form"),
        (demand(I < 64), ALWAYS, PROVED, "normal form"),
        (demand(U < 64), (U < 64) & (U % 2 == 1), PROVED, "normal form"),
        (demand(U % 8 == 0, given=U % 16 == 0), ALWAYS, PROVED, "normal form"),
        (demand(U < 5), I > 63, PROVED, "no such case"),
        (demand(I + 1 < J), (I < J) & (J < I), PROVED, "z3, linear integers"),
        (demand(U < J), U < I, REFUTED, "z3, linear integers"),
        (demand(I < J + 1), I < J, PROVED, "z3, linear integers"),
        (demand(2 * (I ^ J) >= I - J), ALWAYS, PROVED, "z3, 10-bit vectors"),
        (demand(I * I < 4000), ALWAYS, PROVED, "normal form"),
        (demand(N * N >= N), ALWAYS, PROVED, "z3, integers"),
        (demand(I < 63), ALWAYS, REFUTED, "evaluation"),
        (demand(U < 63), ALWAYS, REFUTED, "z3, linear integers"),
        (demand(truth(False)), ALWAYS, REFUTED, "evaluation"),
        (demand(truth(False)), I < 3, REFUTED, "evaluation"),
        (demand(truth(False), given=U > 3), ALWAYS, REFUTED, "evaluation"),
        (demand(truth(False), given=U > I), ALWAYS, REFUTED, "z3, linear integers"),
    ],
    ids=repr,
)
def test_methods(obligation: Obligation, context: Relation, verdict: Verdict, method: str) -> None:
    assert settled(obligation, context=context) == [(verdict, method)]


def test_context_is_for_obligations_in_it() -> None:
    claim = U < 64
    assert settled(demand(claim), context=U < 64)[0][0] is PROVED
    assert settled(demand(claim, in_context=False), context=U < 64)[0][0] is REFUTED
    assert settled(demand(claim, given=U < 60, in_context=False))[0][0] is PROVED
    assert premise_of(demand(claim, given=I < 3), U < 5) is conjunction((U < 5, I < 3))
    assert premise_of(demand(claim, given=I < 3, in_context=False), U < 5) is (I < 3)


def test_a_question_is_over_narrowed_variables() -> None:
    question = ask(demand(U * I < 64), (U >= 0) & (U < 8))
    (narrow,) = question.narrowed.values()
    assert (narrow.lo, narrow.hi) == (0, 7)
    assert question.premise.value is True
    values = {narrow: 7, I.args[0]: 10}
    assert evaluate(question.denial, values)
    assert not evaluate(question.denial, {**values, I.args[0]: 9})


# Several at once


GOOD = [
    demand(I < J + 1, given=I < J),
    demand((I ^ J) < 64),
    demand((I ^ 5) != I),
    demand(U < 8, given=(U < I) & (I < 8)),
]
BAD = demand((I ^ J) < 63)


@pytest.mark.parametrize("position", range(len(GOOD) + 1))
def test_one_bad_among_good_ones(position: int) -> None:
    batch = [*GOOD[:position], BAD, *GOOD[position:]]
    answers = discharge(batch, ALWAYS)
    assert [a.question.obligation for a in answers] == batch
    assert [a.verdict for a in answers] == [REFUTED if o is BAD else PROVED for o in batch]
    (bad,) = [a for a in answers if a.verdict is REFUTED]
    assert bad.model == {I.args[0]: 0, J.args[0]: 63}


def test_good_ones_are_proved_in_one_query(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counting(relations: Any, budget: int) -> Any:
        asked.append(len(relations))
        return query(relations, budget)

    monkeypatch.setattr("tileproof.proofs.discharge.query", counting)
    assert all(a.verdict is PROVED for a in discharge(GOOD, ALWAYS))
    assert len(asked) == 1


def test_an_undecided_one_does_not_hide_the_others() -> None:
    answers = discharge([*GOOD, demand(HARD), BAD], ALWAYS, 60_000)
    assert [a.verdict for a in answers] == [PROVED] * len(GOOD) + [UNDECIDED, REFUTED]
    assert answers[-2].reason


def test_nothing_to_do() -> None:
    assert discharge([], ALWAYS) == []


# Budget


@pytest.mark.parametrize("budget", [1, 10, 100])
def test_a_spent_budget_is_never_a_proof(budget: int) -> None:
    hard = [o for o in GOOD if settled(o)[0][1].startswith("z3")]
    assert hard
    for answers in (discharge(hard, ALWAYS, budget), *(discharge([o], ALWAYS, budget) for o in hard)):
        assert {a.verdict for a in answers} == {UNDECIDED}
        assert all(a.reason and a.model is None for a in answers)


def test_the_reason_says_that_the_budget_is_spent() -> None:
    (answer,) = discharge([demand(HARD)], ALWAYS, 60_000)
    assert (answer.verdict, answer.method) == (UNDECIDED, "z3")
    assert answer.reason == "the budget of 60000 Z3 resource units is spent"


def test_what_no_theory_expresses_is_undecided() -> None:
    (answer,) = discharge([demand((U ^ tp.symbol("w")) < 5)], ALWAYS)
    assert answer.verdict is UNDECIDED
    assert "mixes the bits of two numbers without bounds" in answer.reason


@pytest.mark.parametrize("error", [z3.Z3Exception("out of memory"), MemoryError(), KeyboardInterrupt()])
def test_a_solver_that_stops_is_no_answer(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def stop(*_: Any) -> None:
        raise error

    monkeypatch.setattr(z3.Solver, "check", stop)
    (answer,) = discharge([GOOD[0]], ALWAYS)
    assert answer.verdict is UNDECIDED
    assert answer.reason.startswith("the solver stopped")
    assert require_possible(I + J == 5, BUDGET) is not None


def test_memory_in_use_changes_no_step() -> None:
    relations = [(N * M * 8 + 4 <= 1 << 40), N >= 1, M >= 1, 4 * N * M + 4 > 1 << 40]

    def asked() -> tuple[str, int]:
        result, _, solver = query(relations, 3000)
        assert not isinstance(solver, str)
        return result, solver.statistics().get_key_value("rlimit count")

    alone = asked()
    kept = [z3.Context() for _ in range(8)]
    assert asked() == alone
    assert len(kept) == 8


def test_resources_are_counted() -> None:
    plain, solved, refuted = discharge([demand(I < 64), GOOD[0], demand(U < J, given=U < I)], ALWAYS)
    assert plain.resources == 0
    assert solved.resources > 0
    assert refuted.resources > 0


# Vacuity


@pytest.mark.parametrize(
    "context",
    [
        truth(False),
        I > 63,
        (U > 5) & (U < 5),
        (U > 5) & (U < 6),
        (U % 4 == 0) & (U % 4 == 1),
        (U % 6 == 0) & (U > 6) & (U < 12),
        (I < J) & (J < I),
        (I ^ J) > 63,
        (2 * U == 7) & (I > 3),
        (U == I) & (U == J) & (I != J),
    ],
    ids=repr,
)
def test_contradictory_assumptions(context: Relation) -> None:
    with pytest.raises(
        AssumptionError, match="contradict each other, so everything would follow from them"
    ) as caught:
        require_possible(context, BUDGET)
    assert repr(context) in str(caught.value)


@pytest.mark.parametrize(
    "context",
    [
        ALWAYS,
        I > 62,
        (U > 5) & (U < 7),
        (U % 4 == 0) & (U % 6 == 0) & (U > 0),
        (I < J) & (J < I + 2),
        (I ^ J) > 62,
        (U < -5) & (U % 7 == 0),
    ],
    ids=repr,
)
def test_possible_assumptions(context: Relation) -> None:
    assert require_possible(context, BUDGET) is None


def test_undecidable_assumptions() -> None:
    reason = require_possible(~HARD, 60_000)
    assert reason is not None
    assert reason.startswith("it could not be decided whether the assumptions and guards can hold together")


# Injectivity


def axes(extents: list[int], kind: Any = "repeat") -> tuple[Index, ...]:
    return tuple(leaf(Leaf(f"{kind}{d}", kind, 0, n - 1)) for d, n in enumerate(extents))


def images(extents: list[int], strides: list[int]) -> list[int]:
    return [
        sum(x * s for x, s in zip(point, strides, strict=True)) for point in product(*map(range, extents))
    ]


SWIZZLES = [
    None,
    Swizzle(1, 0, 1),
    Swizzle(2, 0, 2),
    Swizzle(2, 1, 3),
    Swizzle(1, 2, -1),
    Swizzle(2, 0, -3),
    Swizzle(3, 0, 3),
]


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(-12, 12)), min_size=1, max_size=3),
    st.sampled_from(SWIZZLES),
    st.sampled_from([1, -1, 4]),
)
@settings(max_examples=60)
def test_distinct_agrees_with_brute_force(
    factors: list[tuple[int, int]], swizzle: Swizzle | None, scale: int
) -> None:
    """Whatever permutes the values, adds to them or scales them."""
    extents, strides = [e for e, _ in factors], [s for _, s in factors]
    variables = axes(extents)
    value = sum((v * s for v, s in zip(variables, strides, strict=True)), const(40))
    value = (value if swizzle is None else swizzle.apply(value)) * scale + U
    right = len(set(images(extents, strides))) == len(images(extents, strides))
    live = [v.args[0] for v in variables if v.args[0].hi]
    if injective(value, live):
        assert right
    obligation = distinct(
        "test.distinct", value, [v.args[0] for v in variables], "slot", "a sentence", "a section"
    )
    (answer,) = discharge([obligation], ALWAYS)
    assert answer.verdict is (PROVED if right else REFUTED)
    if right and live:
        # The rule and the solver agree on what the rule accepts.
        result, _, _ = query([obligation.given, ~obligation.claim], BUDGET)
        assert result == "unsat"


@given(st.lists(st.tuples(st.integers(2, 5), st.integers(1, 4)), min_size=1, max_size=4), st.randoms())
@settings(max_examples=30)
def test_mixed_radix_is_accepted(factors: list[tuple[int, int]], shuffle: Any) -> None:
    """Strides that each jump over all smaller ones, in any order and with any sign."""
    step, pairs = 1, []
    for extent, gap in factors:
        stride = step * gap
        pairs.append((extent, stride * shuffle.choice([1, -1])))
        step = stride * (extent - 1) + step
    shuffle.shuffle(pairs)
    variables = axes([e for e, _ in pairs])
    value = sum((v * s for v, (_, s) in zip(variables, pairs, strict=True)), const(0))
    assert len(set(images([e for e, _ in pairs], [s for _, s in pairs]))) == len(
        images([e for e, _ in pairs], [0] * len(pairs))
    )
    assert injective(value, [v.args[0] for v in variables])


A, B = axes([4, 3])


@pytest.mark.parametrize(
    ("value", "listed", "accepted"),
    [
        (A + B * 4, (A, B), True),
        (A + B * 3, (A, B), False),  # 3 is as far as A reaches
        (A * 3 + B, (A, B), True),
        (A * 2 + B, (A, B), False),
        (A * 2 + B * 3, (A, B), False),  # 0*2 + 2*3 == 3*2 + 0*3
        (A - B * 4, (A, B), True),
        (A + B * 4 + U * 7, (A, B), True),
        (A + (B * 4 + U) // 5, (A, B), False),
        (A + B * B, (A, B), False),
        (A + (U ^ 3), (A,), True),
        (A * U, (A,), False),
        (A, (A, B), False),
        (A * 0 + B, (A, B), False),
        (const(3), (), True),
        (leaf(Leaf("n", "repeat", 0, None)) + 0, (leaf(Leaf("n", "repeat", 0, None)),), False),
        (leaf(Leaf("n", "repeat", None, 3)) + 0, (leaf(Leaf("n", "repeat", None, 3)),), False),
        (A + A * 3, (A,), True),
        (A - A, (A,), False),
        (Swizzle(1, 0, 1).apply(A + B * 4) * 4 + 12, (A, B), True),
        (Swizzle(1, 0, 1).apply(A + B * 3) * 4 + 12, (A, B), False),
        (Swizzle(1, 0, 1).apply(A + B * 4) + A, (A, B), False),
        (A + B * 4 ^ 1, (A, B), False),
    ],
    ids=repr,
)
def test_the_mixed_radix_rule(value: Index, listed: Any, accepted: bool) -> None:
    assert injective(value, [v.args[0] for v in listed]) == accepted


def test_swizzled_slots_are_told_apart() -> None:
    variables = axes([4, 8])
    value = Swizzle(2, 0, 3).apply(variables[0] * 8 + variables[1])
    (proved,) = discharge([distinct("d", value, [v.args[0] for v in variables], "slot", "s", "s")], ALWAYS)
    assert proved.verdict is PROVED
    clash = Swizzle(2, 0, 3).apply(variables[0] * 7 + variables[1])
    (refuted,) = discharge([distinct("d", clash, [v.args[0] for v in variables], "slot", "s", "s")], ALWAYS)
    assert refuted.verdict is REFUTED


def test_what_is_stated_needs_no_proof() -> None:
    """Guards that the simplifier cannot take apart, claimed of themselves."""
    guard, other = U * U < I, (U ^ I) < J
    assert settled(demand(guard & (I < 64), given=guard), context=other) == [(PROVED, "normal form")]
    (half,) = discharge([demand(guard & (U > 0), given=guard)], ALWAYS)
    assert half.verdict is REFUTED
    assert evaluate(guard, half.model or {})


def test_distinct_under_a_premise() -> None:
    """Of the coordinates that clash, (0, 2) and (3, 0), the premise is about the first."""

    def clash(given: Relation) -> Verdict:
        obligation = distinct("d", A * 2 + B * 3, [A.args[0], B.args[0]], "slot", "s", "s", given=given)
        return discharge([obligation], ALWAYS)[0].verdict

    assert clash(B >= 2) is REFUTED
    assert clash(B < 2) is PROVED


# Right, whatever the budget


@st.composite
def obligations(draw: st.DrawFn) -> Obligation:
    x, y = tp.symbol("x", 0, 7), tp.symbol("y", -3, 4)
    terms = [x, y, x + y, x * y, x ^ 3, (x ^ (y + 3)) - 2, x // 2 * 2, y % 3, x * 2 - y * 3]
    compare = [
        lambda a, b: a < b,
        lambda a, b: a == b,
        lambda a, b: a != b,
        lambda a, b: a % 4 != b % 4,
        lambda a, b: a <= b,
    ]

    def relation() -> Relation:
        made: Relation = draw(st.sampled_from(compare))(
            draw(st.sampled_from(terms)), draw(st.sampled_from([*terms, const(draw(st.integers(-4, 9)))]))
        )
        return made

    return demand(relation(), relation() if draw(st.booleans()) else ALWAYS)


@given(st.lists(obligations(), min_size=1, max_size=4), st.sampled_from([1, 50, 1000, 20_000, BUDGET]))
@settings(max_examples=40)
def test_answers_are_right_or_none(batch: list[Obligation], budget: int) -> None:
    x, y = tp.symbol("x", 0, 7).args[0], tp.symbol("y", -3, 4).args[0]
    answers: list[Answer] = discharge(batch, ALWAYS, budget)
    for obligation, answer in zip(batch, answers, strict=True):
        points = [{x: a, y: b} for a in range(8) for b in range(-3, 5)]
        holds = all(evaluate(obligation.claim, p) for p in points if evaluate(obligation.given, p))
        if answer.verdict is not UNDECIDED:
            assert answer.verdict is (PROVED if holds else REFUTED)
        assert budget < BUDGET or answer.verdict is not UNDECIDED


# The same on every run

SCRIPT = """
import sys
import tileproof as tp

names = sys.argv[1].split(",")
made = {name: tp.symbol(name, 0, 40) for name in names}
a, b, c, d = (made[name] for name in "abcd")
for noise in range(int(sys.argv[2])):
    tp.check("ld.global.b32", tp.tensor("R", (1,), "b32", "registers"), tp.tensor("A", (64,), "b32")[noise : noise + 1])
array = tp.tensor("A", (4096,), "b32")
registers = tp.tensor("R", (4,), "b32", "registers")
calls = [
    (array[2 * (a ^ b) : 2 * (a ^ b) + 4], a * b > c * d),
    (array[a * 4 : a * 4 + 4], (d * c + b * a > 70) & ((c ^ d) > 3)),
    (array[a + b + c : a + b + c + 4], (d ^ c) > 1),
]
for view, guard in calls:
    report = tp.check("ld.global.v4.b32", registers, view, active=guard)
    for finding in report.findings:
        print(finding.obligation.id, finding.verdict.name, finding.method, finding.counterexample)
"""


def test_the_same_counterexample_on_every_run() -> None:
    """Whatever order sets have, and whatever was declared or checked before."""
    outputs = []
    for seed, names, noise in (("0", "a,b,c,d", "0"), ("1", "d,c,b,a", "3"), ("12345", "b,d,a,c", "1")):
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT, names, noise],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        outputs.append(run.stdout)
    assert "REFUTED" in outputs[0]
    assert outputs[0] == outputs[1] == outputs[2]


def test_the_same_answer_when_asked_again() -> None:
    first = discharge([*GOOD, BAD], ALWAYS)
    for _ in range(3):
        again = discharge([*GOOD, BAD], ALWAYS)
        assert [(a.verdict, a.method, a.model) for a in again] == [
            (a.verdict, a.method, a.model) for a in first
        ]


def test_query_says_what_it_found() -> None:
    for relations, answer in (([I < 5, J > I], "sat"), ([I < 5, J < 0], "unsat")):
        result, reading, _ = query(relations, BUDGET)
        assert result == answer
        assert isinstance(reading, Reading)


def test_what_a_query_costs_does_not_depend_on_what_was_asked_before() -> None:
    def cost() -> list[int]:
        _remembered.clear()
        return [a.resources for a in discharge([GOOD[0], demand(U < J, given=U < I)], ALWAYS)]

    alone = cost()
    discharge([demand((I ^ J) < 64), demand(I * J <= 63 * 63), demand(U + 1 > U)], ALWAYS)
    assert cost() == alone
