"""Whether the premises of a call can be true at all: everything follows from those that cannot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tileproof.contracts.launch import Launch, thread_axes
from tileproof.contracts.obligation import Obligation
from tileproof.errors import AssumptionError, LayoutError
from tileproof.layouts.evaluate import evaluate
from tileproof.layouts.index import Relation, conjunction, const, disjunction, negate, truth
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.normal import decide
from tileproof.layouts.sharpen import as_replacement, conjuncts, sharpen
from tileproof.layouts.traverse import leaves, substitute
from tileproof.proofs.discharge import discharge, query, restore, simplest, untouched
from tileproof.proofs.verdict import Verdict

ROUNDS = 64
"""Threads that are looked at before it counts as undecided whether an assumption can be true of all."""


def require_possible(context: Relation, budget: int) -> str | None:
    """Raise :class:`AssumptionError` when no values satisfy the context: everything would follow from it.

    Returns the reason when that could not be decided, ``None`` when all is well.
    """
    if context.value is True:
        return None
    narrowed = sharpen(context)
    simple = decide(substitute(context, as_replacement(narrowed)))
    if simple.value is True:
        return None
    if simple.value is not False:
        if any(_holds(simple, values) for values in _likely(leaves(simple))):
            return None
        result, _, solver = query([simple], budget)
        if result == "sat":
            return None
        if result == "unknown":
            return (
                "it could not be decided whether the assumptions and guards can hold together "
                f"({solver}): {context!r}"
            )
    raise AssumptionError(
        f"the assumptions and guards contradict each other, so everything would follow from them: {context!r}; "
        "no thread can reach this call"
    )


def _likely(variables: Sequence[Leaf]) -> Iterator[dict[Leaf, int]]:
    """Values at which a guard or an assumption holds more often than not: small ones, but for a large bound."""
    near = {v: simplest(v) for v in variables}
    yield near
    far = {v: near[v] if v.hi is None else v.hi for v in variables}
    for variable in variables:
        yield {**near, variable: far[variable]}
    yield far


def _holds(relation: Relation, values: dict[Leaf, int]) -> bool:
    try:
        return bool(evaluate(relation, values))
    except (LayoutError, ZeroDivisionError):
        return False


def require_true_of_threads(launch: Launch, budget: int) -> str | None:
    """Raise :class:`AssumptionError` when an assumption about thread coordinates is false for a thread that
    reaches the call, whatever the values of the symbols in it.

    A value of the symbols is proposed that suits the threads looked at so far; then a thread is sought for which
    it does not. Values that differ between the threads of a CTA are left to who vouches for them. Returns the
    reason when it could not be decided, ``None`` when all is well.
    """
    every = [part for assumption in launch.assumptions for part in conjuncts(assumption)]
    stated = conjunction(part for part in every if thread_axes(part))
    if stated.value is True or any(_varies(v, launch) for v in leaves(stated, launch.active)):
        return None
    anyone = launch.thread()
    there = conjunction((launch.exists(anyone), launch.seen_by(anyone, launch.active)))
    here = launch.seen_by(anyone, stated)
    demands = [part for part in every if not thread_axes(part)]
    last: dict[Leaf, int] = {}
    for _ in range(ROUNDS):
        values, reason = _model(conjunction(demands), budget)
        if reason is not None:
            return f"it could not be decided whether the assumption {stated!r} can be true of all threads ({reason})"
        if values is None:
            warp, lane = (evaluate(x, {**last}) for x in (anyone.warp, anyone.lane))
            raise AssumptionError(
                f"the assumption {stated!r} is false for warp {warp}, lane {lane}, which reaches the call, so "
                "everything would follow from it; to say which threads reach the call, give it as active="
            )
        chosen = {v: const(values.get(v, simplest(v))) for v in leaves(here, there) if v.kind == "symbol"}
        claim, given = substitute(here, chosen), substitute(there, chosen)
        (answer,) = discharge(
            [Obligation("assumption", "", "", claim, given, in_context=False)], truth(True), budget
        )
        if answer.verdict is Verdict.PROVED:
            return None
        if answer.verdict is not Verdict.REFUTED:
            return f"it could not be decided whether the assumption {stated!r} is true of all threads ({answer.reason})"
        threads = [v for v in leaves(here, there, anyone.warp, anyone.lane) if v.kind == "thread"]
        found = untouched(answer.question, [here, there], restore(answer.question, answer.model or {}))
        last = {v: found.get(v, simplest(v)) for v in threads}
        at = {v: const(n) for v, n in last.items()}
        demands.append(disjunction((negate(substitute(there, at)), substitute(here, at))))
    return f"it could not be decided whether the assumption {stated!r} can be true of all threads"


def _varies(variable: Leaf, launch: Launch) -> bool:
    """Whether threads of one launch unit may have different values of a symbol."""
    same = ("grid", "cluster") if launch.cluster else ("grid", "cluster", "cta")
    return variable.kind == "symbol" and variable.uniform not in same


def _model(relation: Relation, budget: int) -> tuple[dict[Leaf, int] | None, str | None]:
    """Values at which a relation holds, or ``None`` if there are none; or the reason why that is not known."""
    simple = decide(relation)
    if simple.value is not None:
        return ({}, None) if simple.value else (None, None)
    for values in _likely(leaves(simple)):
        if _holds(simple, values):
            return values, None
    result, reading, solver = query([simple], budget)
    if result == "unsat":
        return None, None
    if result != "sat" or reading is None or isinstance(solver, str):
        return None, str(solver)
    from tileproof.proofs.z3_terms import value_of

    model = solver.model()
    return {v: value_of(model, term) for v, term in reading.variables.items()}, None
