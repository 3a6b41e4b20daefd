"""The least counterexample, replayed with plain integers before anybody sees it.

The order: variables are taken in turn, first the caller's symbols in the order in which the demand mentions
them and those that only guards and assumptions mention by name, then base addresses, warp and lane, group,
repeat, replica, element. Each takes the simplest value that still fails: the smallest that is not negative,
else the one nearest to zero.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from tileproof.contracts.call import Call
from tileproof.errors import InternalError
from tileproof.layouts.bounds import bounds
from tileproof.layouts.evaluate import evaluate, evaluate_array
from tileproof.layouts.index import Index
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.traverse import leaves, postorder
from tileproof.proofs.discharge import Answer, Question, premise_of, restore, untouched
from tileproof.proofs.verdict import Counterexample

if TYPE_CHECKING:
    import z3

    from tileproof.proofs.smt import Reading

ORDER = ("symbol", "base", "thread", "group", "repeat", "replica", "element")
ENUMERABLE = 1 << 12


def ordered(question: Question) -> list[Leaf]:
    """The variables of the denial in the documented order."""
    obligation = question.obligation
    stated = {(v.name, v.copy): n for n, v in enumerate(leaves(obligation.given, obligation.claim))}
    # What only the context mentions goes by name: in which order simplifying leaves it depends on what was
    # built before.
    return sorted(
        leaves(question.premise, question.claim),
        key=lambda v: (ORDER.index(v.kind), v.copy, stated.get((v.name, v.copy), len(stated)), v.name),
    )


def cheap_counterexample(question: Question) -> dict[Leaf, int] | None:
    """The least counterexample of a small bounded question by evaluating all of it; ``None`` says nothing.

    This only ever finds a failure earlier than the solver would; what it does not find is not proved.
    """
    variables = ordered(question)
    if not variables:
        return {} if question.claim.value is False and question.premise.value is True else None
    import numpy as np

    sizes, starts = [], []
    for v in variables:
        if v.lo is None or v.hi is None or v.lo < 0:
            return None
        sizes.append((v.hi - v.lo) // v.multiple_of + 1)
        starts.append(v.lo)
    if prod(sizes) > ENUMERABLE or not _small(question):
        return None
    steps = [v.multiple_of for v in variables]
    grid = np.ix_(
        *[np.arange(n, dtype=np.int64) * k + lo for n, k, lo in zip(sizes, steps, starts, strict=True)]
    )
    fails = np.broadcast_to(evaluate_array(question.denial, dict(zip(variables, grid, strict=True))), sizes)
    first = int(np.argmax(fails))
    if not fails.flat[first]:
        return None
    point = np.unravel_index(first, sizes)
    return {v: int(p) * k + lo for v, p, k, lo in zip(variables, point, steps, starts, strict=True)}


def _small(question: Question) -> bool:
    """Whether 64-bit arithmetic is exact for all of the question."""
    for node in postorder(question.denial):
        if isinstance(node, Index):
            lo, hi = bounds(node)
            if lo is None or hi is None or lo < -(1 << 62) or hi > 1 << 62:
                return False
    return True


def least(question: Question, reading: Reading, solver: z3.Solver) -> tuple[dict[Leaf, int] | None, str]:
    """Minimise a satisfiable denial variable by variable. A budget that runs out leaves a counterexample that
    is not least.
    """
    import z3

    from tileproof.proofs.z3_terms import value_of

    values: dict[Leaf, int] = {}
    model = solver.model()
    reason = ""

    def possible(*conditions: Any) -> bool:
        nonlocal model, reason
        try:
            result = solver.check(*conditions)
        except z3.Z3Exception as error:
            # What was found so far stays a counterexample; it is only not shown to be the least.
            reason = f"the solver stopped before the least counterexample was found: {error}"
            return False
        if result == z3.sat:
            model = solver.model()
        elif result == z3.unknown:
            reason = "the budget ran out before the least counterexample was found"
        return bool(result == z3.sat)

    for variable in ordered(question):
        if variable not in reading.variables:
            continue
        term = reading.variables[variable]
        best = value_of(model, term)
        if best < 0 and (variable.hi is None or variable.hi >= 0) and possible(term >= reading.number(0)):
            best = value_of(model, term)
        sign = 1 if best >= 0 else -1
        floor = (
            max(0, variable.lo or 0)
            if sign > 0
            else (1 if variable.hi is None or variable.hi >= 0 else -variable.hi)
        )
        low, high = floor, sign * best
        first = True
        while low < high:
            # Most variables are at their simplest in the least counterexample, so that is tried before
            # halving.
            middle = low if first else (low + high) // 2
            first = False
            if possible(_between(reading, term, sign, low, middle)):
                high = sign * value_of(model, term)
            else:
                low = middle + 1
        best = sign * high
        # The last model has this value, so it stays a model.
        values[variable] = best
        solver.add(term == reading.number(best))
    return values, reason


def _between(reading: Reading, term: Any, sign: int, low: int, high: int) -> Any:
    import z3

    if sign > 0:
        return z3.And(term >= reading.number(low), term <= reading.number(high))
    return z3.And(term <= reading.number(-low), term >= reading.number(-high))


def tell(call: Call, answer: Answer, context: Any) -> Counterexample:
    """Replay a model with plain integers and put it in the report's words.

    Raises :class:`InternalError` when the model does not replay: such a model is never reported.
    """
    obligation, question = answer.question.obligation, answer.question
    if not call.shaped:
        # The first operand fits nothing, so there are no groups and repeats yet to name one of.
        return Counterexample(
            {}, {}, obligation.needed[0], obligation.found[0], None, None, (), {}, None, None, None, None
        )
    premise = premise_of(obligation, context)
    told = [*obligation.needed[1], *obligation.found[1]]
    address = obligation.address
    if address is not None:
        told += [address.base, address.offset]
    user = address.lane if address is not None and address.lane is not None else call.thread.lane
    warp, lane = obligation.subject or (call.thread.warp, user)
    values = untouched(
        question, [premise, obligation.claim, *told, warp, lane], restore(question, answer.model or {})
    )
    if not evaluate(premise, values) or evaluate(obligation.claim, values):
        shown = {v.label: n for v, n in values.items()}
        raise InternalError(f"{obligation.id}: the counterexample {shown} does not replay")
    numbers = {e.uid: evaluate(e, values) for e in told}

    def text(template: tuple[str, tuple[Index, ...]]) -> str:
        return template[0].format(*(numbers[e.uid] for e in template[1]))

    own = [v.args[0] for v in (*call.repeat, *call.group)]
    relevant = dict.fromkeys([*leaves(obligation.claim, obligation.given, *told), *own])
    relevant.update(dict.fromkeys(v for v in leaves(premise) if v.kind == "symbol"))
    relevant.update(dict.fromkeys(v for v in leaves(lane) if v.kind == "element"))
    for variable in own:
        values.setdefault(variable, 0)
    labels = _labels([v for v in values if v in relevant])
    in_registers = address is not None and address.space == "registers"
    offset = numbers[address.offset.uid] if address is not None else None
    width = max(
        (v.bits // 8 for v in call.operands if address is not None and v.tensor.storage.name == address.name),
        default=1,
    )
    return Counterexample(
        values={name: values[v] for v, name in labels.items()},
        kinds={name: v.kind for v, name in labels.items()},
        needed=text(obligation.needed),
        found=text(obligation.found),
        lane=evaluate(lane, values),
        warp=evaluate(warp, values),
        repeat=tuple(values[v.args[0]] for v in call.repeat),
        element={name: values[v] for v, name in labels.items() if v.kind == "element"},
        storage=address.name if address is not None else None,
        base=None if in_registers or address is None else numbers[address.base.uid],
        byte_address=None if in_registers else offset,
        slot=offset // max(width, 1) if in_registers and offset is not None else None,
        point=values,
    )


def _labels(variables: list[Leaf]) -> dict[Leaf, str]:
    """A name for each variable. The caller's symbols keep theirs; another variable of that name says what it
    is.
    """
    taken: set[str] = set()
    labels: dict[Leaf, str] = {}
    for variable in sorted(variables, key=lambda v: ORDER.index(v.kind)):
        label = variable.label if variable.label not in taken else f"{variable.label} ({variable.kind})"
        taken.add(label)
        labels[variable] = label
    return labels
