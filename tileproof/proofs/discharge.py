"""How obligations are discharged: simplify, then one negated query, then one query for each that is left.

Everything a solver is asked is quantifier free: the variables of an obligation are its free variables, and a
model of the premises with the claim denied is a counterexample. The budget is Z3's resource count, so a
verdict does not depend on the machine; every query has a solver and a context of its own, so it does not
depend on what was asked before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tileproof.contracts.obligation import Obligation
from tileproof.layouts.bounds import bounds
from tileproof.layouts.index import Index, Relation, conjunction, disjunction, leaf, negate
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.normal import decide, normal, told_apart_by
from tileproof.layouts.sharpen import as_replacement, conjuncts, sharpen
from tileproof.layouts.traverse import leaves, substitute
from tileproof.proofs.verdict import Verdict

if TYPE_CHECKING:
    import z3

    from tileproof.proofs.smt import Reading

BUDGET = 4_000_000
"""Z3 resource units for one query; about two seconds."""


STOPPED = "the solver stopped"


@dataclass(frozen=True)
class Question:
    """An obligation made ready: premise and claim over narrowed variables, both simplified."""

    obligation: Obligation
    premise: Relation
    claim: Relation
    narrowed: Mapping[Leaf, Leaf]

    @property
    def key(self) -> tuple[int, ...]:
        """The same for the same question."""
        return self.premise.uid, self.claim.uid, self.obligation.given.uid, self.obligation.claim.uid

    @property
    def denial(self) -> Relation:
        """Holds exactly at the counterexamples."""
        return conjunction((self.premise, negate(self.claim)))


@dataclass(frozen=True)
class Answer:
    """What was found of a question; ``model`` gives values to the narrowed variables of a refutation."""

    question: Question
    verdict: Verdict
    method: str
    model: dict[Leaf, int] | None = None
    reason: str = ""
    resources: int = 0


def premise_of(obligation: Obligation, context: Relation) -> Relation:
    """All that may be used for an obligation, as it was stated."""
    return conjunction((context, obligation.given)) if obligation.in_context else obligation.given


def ask(obligation: Obligation, context: Relation) -> Question:
    """An obligation made ready to be decided."""
    premise = premise_of(obligation, context)
    if premise.value is True:
        return Question(obligation, premise, decide(obligation.claim), {})
    claim = decide(obligation.claim)
    if claim.value is True:
        return Question(obligation, premise, claim, {})
    narrowed = sharpen(premise)
    if narrowed:
        replacement = as_replacement(narrowed)
        claim = decide(substitute(claim, replacement))
        premise = decide(substitute(premise, replacement))
    else:
        premise = decide(premise)
    stated = set(conjuncts(premise))
    claim = conjunction(part for part in conjuncts(claim) if part not in stated)
    return Question(obligation, premise, claim, narrowed)


def injective(value: Index, variables: Sequence[Leaf]) -> bool:
    """Whether an affine value tells the variables apart: each stride jumps over all that smaller strides can
    add up to.

    This is the mixed-radix argument. Variables that are not listed are the same on both sides, so only their
    being affine matters.
    """
    form = normal(told_apart_by(value))
    strides: dict[Leaf, int] = {}
    wanted = set(variables)
    for atom, factor in form.terms.items():
        if atom.op == "leaf" and atom.args[0] in wanted:
            strides[atom.args[0]] = abs(factor)
        elif any(v in wanted for v in leaves(atom)):
            return False
    if len(strides) != len(wanted):
        return False
    reach = 0
    for variable, stride in sorted(strides.items(), key=lambda item: item[1]):
        if stride <= reach or variable.hi is None or variable.lo is None:
            return False
        reach += stride * (variable.hi - variable.lo)
    return True


def discharge(obligations: Sequence[Obligation], context: Relation, budget: int = BUDGET) -> list[Answer]:
    """An answer for each obligation, in order. ``context`` is what in-context obligations may use."""
    answers: dict[int, Answer] = {}
    questions = [ask(o, context) for o in obligations]
    left: list[int] = []
    for position, question in enumerate(questions):
        hint = question.obligation.injective
        if question.claim.value is True:
            answers[position] = Answer(question, Verdict.PROVED, "normal form")
        elif question.premise.value is False:
            answers[position] = Answer(question, Verdict.PROVED, "no such case")
        elif hint is not None and injective(*hint):
            answers[position] = Answer(question, Verdict.PROVED, "mixed radix")
        else:
            left.append(position)
    if left:
        answers.update(zip(left, _solved([questions[p] for p in left], budget), strict=True))
    return [answers[p] for p in range(len(questions))]


_remembered: dict[tuple[int, ...], list[Answer]] = {}
"""Clear it to make the solver answer again."""

_REMEMBERED_LIMIT = 10_000


def _solved(questions: list[Question], budget: int) -> list[Answer]:
    """Answers by a solver. The same questions with the same budget are answered from memory.

    Questions are equal when their premises and claims are, as stated (they order the variables of a counterexample)
    and as simplified: nodes are shared, and their numbers are never used twice. An answer that was cut short from
    outside is not remembered.
    """
    key = (budget, *(uid for q in questions for uid in q.key))
    known = _remembered.get(key)
    if known is not None:
        return [replace(answer, question=question) for answer, question in zip(known, questions, strict=True)]
    answers = _all_proved_at_once(questions, budget) or [settle(q, budget) for q in questions]
    if not any(a.reason.startswith(STOPPED) for a in answers):
        if len(_remembered) >= _REMEMBERED_LIMIT:
            _remembered.clear()
        _remembered[key] = answers
    return answers


def _all_proved_at_once(questions: list[Question], budget: int) -> list[Answer] | None:
    """One query for all of them; their answers if it proved them."""
    if len(questions) == 1 or any(q.claim.value is False for q in questions):
        return None
    result, reading, solver = query([disjunction(q.denial for q in questions)], budget)
    if result != "unsat" or reading is None:
        return None
    used = _resources(solver)
    return [Answer(q, Verdict.PROVED, f"z3, {reading.theory}", resources=used) for q in questions]


def _resources(solver: Any) -> int:
    """What a solver has used, in its own units."""
    statistics = solver.statistics()
    return int(statistics.get_key_value("rlimit count")) if "rlimit count" in statistics.keys() else 0  # noqa: SIM118 - Z3's statistics are no mapping


def solver_for(logic: str, context: z3.Context) -> z3.Solver:
    """A solver whose steps follow from the question alone.

    Z3's strategy for nonlinear integers takes other steps when the process uses more memory, so what a budget
    suffices for would depend on what was asked before. Its plain core takes the same steps every time.
    """
    import z3

    return z3.SimpleSolver(ctx=context) if logic == "QF_NIA" else z3.SolverFor(logic, ctx=context)


def query(relations: Sequence[Relation], budget: int) -> tuple[str, Reading | None, z3.Solver | str]:
    """Ask for a point where all relations hold: ``("sat" | "unsat" | "unknown", reading, solver or reason)``."""
    import z3

    from tileproof.proofs.smt import Reading, UnencodableError, theory_for
    from tileproof.proofs.z3_terms import Z3Terms

    make = Z3Terms()
    reading = Reading(theory_for(relations), make)
    try:
        terms = [reading.term(r) for r in relations]
        solver = solver_for(reading.logic, make.context)
        solver.set("rlimit", budget)
        solver.add(*reading.side, *terms)
        result = solver.check()
    except UnencodableError as error:
        return "unknown", None, str(error)
    except (z3.Z3Exception, MemoryError, KeyboardInterrupt) as error:
        return "unknown", None, f"{STOPPED}: {error!r}"
    if result == z3.unknown:
        reason = solver.reason_unknown()
        spent = reason == "canceled" or "resource" in reason
        return "unknown", reading, f"the budget of {budget} Z3 resource units is spent" if spent else reason
    return ("sat" if result == z3.sat else "unsat"), reading, solver


def settle(question: Question, budget: int) -> Answer:
    """Decide one question by a solver; a refutation comes with its least counterexample."""
    from tileproof.proofs.counterexample import cheap_counterexample, least

    found = cheap_counterexample(question)
    if found is not None:
        return Answer(question, Verdict.REFUTED, "evaluation", found)
    result, reading, solver = query([question.denial], budget)
    if result == "unsat" and reading is not None:
        return Answer(question, Verdict.PROVED, f"z3, {reading.theory}", resources=_resources(solver))
    if result == "sat" and reading is not None and not isinstance(solver, str):
        model, reason = least(question, reading, solver)
        return Answer(question, Verdict.REFUTED, f"z3, {reading.theory}", model, reason, _resources(solver))
    reason = solver if isinstance(solver, str) else "no answer"
    return Answer(question, Verdict.UNDECIDED, "z3", reason=reason or "the budget is spent")


def simplest(variable: Leaf) -> int:
    """The value of a variable that reports prefer: zero, or the allowed value nearest to it."""
    lo, hi = variable.lo, variable.hi
    if lo is not None and lo > 0:
        return lo
    return hi if hi is not None and hi < 0 else 0


def restore(question: Question, model: dict[Leaf, int]) -> dict[Leaf, int]:
    """A model of the narrowed question as values of the variables that the obligation and its premise have."""
    back: dict[Leaf, int] = dict(model)
    for wide, narrow in question.narrowed.items():
        if narrow in model:
            back[wide] = model[narrow]
        else:
            back[wide] = simplest(narrow)
    return back


def untouched(question: Question, every: Sequence[Any], values: dict[Leaf, int]) -> dict[Leaf, int]:
    """Values for all variables of the expressions, those that no question depends on at their simplest."""
    complete = dict(values)
    for expression in every:
        for variable in leaves(expression):
            if variable not in complete:
                complete[variable] = simplest(question.narrowed.get(variable, variable))
    return complete


__all__ = [
    "BUDGET",
    "Answer",
    "Question",
    "ask",
    "bounds",
    "discharge",
    "leaf",
    "premise_of",
    "query",
    "settle",
]
