"""``check`` and ``prove``: from an instruction and its views to a report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from tileproof.contracts.call import Call, UnfitError
from tileproof.contracts.demands import whole_elements
from tileproof.contracts.families import Family, UnsupportedError, load
from tileproof.contracts.grammar import Form, resolve
from tileproof.contracts.launch import SCOPES, Launch
from tileproof.contracts.obligation import Obligation
from tileproof.contracts.operands import Given, select, split
from tileproof.errors import CallError
from tileproof.layouts.index import Expression, Relation, truth
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.tensor import Storage
from tileproof.layouts.traverse import leaves
from tileproof.proofs.discharge import BUDGET, Answer, discharge, premise_of
from tileproof.proofs.premises import require_possible, require_true_of_threads
from tileproof.proofs.report import ContractError, Report
from tileproof.proofs.verdict import Finding, Verdict

Hazards = Literal["warn", "error", "ignore"]


def check(
    opcode: str,
    *operands: Given,
    scope: str = "thread",
    block: int | Iterable[int] = 32,
    cluster: int | Iterable[int] | None = None,
    active: Relation | Iterable[Relation] | None = None,
    assume: Relation | Iterable[Relation] = (),
    hazards: Hazards = "warn",
    budget: int = BUDGET,
    **parameters: Any,
) -> Report:
    """Prove or refute that the views meet the contract of the instruction, for every thread, repeat and
    symbol value.

    ``operands`` are tensors and views in PTX order; instructions on registers also read numbers, indices and
    typed scalars. ``scope`` fixes the group axes; ``block`` and ``cluster``
    are the launch; ``active`` relates thread coordinates and symbols for the threads that reach the call;
    ``assume`` is what the caller vouches for. ``hazards="error"`` refuses what would destroy data although
    each instruction is legal. ``budget`` is in Z3 resource units for one query. Other keywords are the
    instruction's own (``tileproof explain``).

    A bad view is an answer, not an exception. A malformed call raises :class:`OpcodeError` or
    :class:`CallError`, and contradictory assumptions raise :class:`AssumptionError`.
    """
    form = resolve(opcode)
    family = load().get(form.mnemonic)
    launch = Launch.of(block, cluster, active, assume)
    demand_options(scope, hazards, budget)
    views, scalars = split(form, operands, family is not None and family.operands is None)
    if family is not None and family.operands is None:
        form = select(form, views, scalars)
    elif family is not None and len(views) != family.operands:
        raise CallError(f"{form.spelling} takes {family.operands} operands in PTX order, got {len(views)}")
    if family is None:
        call = Call(form, views, scope, launch, parameters, family=form.mnemonic)
        return Report(
            call, Verdict.UNSUPPORTED, (), reason=f"{form.mnemonic} is a known instruction without a contract"
        )
    _known_parameters(form, family, parameters)
    if family.collective and scope == "thread":
        raise CallError(
            f"{form.spelling} is executed by a whole warp: its scope is warp or wider, not thread"
        )
    if scope == "cluster" and launch.cluster is None:
        raise CallError(f"{form.spelling}: cluster scope needs cluster=(...) at the launch")
    call = Call(form, views, scope, launch, parameters, family.collective, form.mnemonic, scalars)
    _one_meaning(call)
    return _report(call, family, hazards, budget)


def prove(opcode: str, *operands: Given, **keywords: Any) -> Report:
    """As :func:`check`, but raises :class:`ContractError` unless the verdict is ``PROVED``."""
    report = check(opcode, *operands, **keywords)
    if report.verdict is not Verdict.PROVED:
        raise ContractError(report)
    return report


def demand_options(scope: str, hazards: str, budget: int) -> None:
    """Raise :class:`CallError` for keywords that every check has and that are none."""
    if scope not in SCOPES:
        raise CallError(f"unknown scope {scope!r}; the scopes are {', '.join(SCOPES)}")
    if hazards not in ("warn", "error", "ignore"):
        raise CallError(f"hazards is 'warn', 'error' or 'ignore', got {hazards!r}")
    if not isinstance(budget, int) or budget < 1:
        raise CallError(f"budget is a positive number of Z3 resource units, got {budget!r}")


def _known_parameters(form: Form, family: Family, parameters: dict[str, Any]) -> None:
    unknown = [name for name in parameters if name not in family.parameters]
    if unknown:
        raise CallError(
            f"{form.spelling} has no parameter {', '.join(unknown)}; "
            f"its parameters are {', '.join(sorted(family.parameters))}"
        )


def _one_meaning(call: Call) -> None:
    """Raise unless each name stands for one symbol in all of the call."""
    meaning: dict[str, Leaf] = {}
    everything: list[Any] = [call.launch.active, *call.launch.assumptions]
    everything += [
        v for v in (*call.parameters.values(), *call.scalars.values()) if isinstance(v, Expression)
    ]
    for view in call.operands:
        tensor, spec = view.tensor, view.tensor.layout.spec
        everything += [*view.coordinates, *tensor.shape, *(r.start for r in view.regions), tensor.offset]
        everything += [x for f in (*spec.factors, *spec.replicas) for x in (f.extent, f.stride)]
        everything += [o.stride for o in spec.offsets]
    for variable in leaves(*everything):
        if variable.kind == "symbol" and meaning.setdefault(variable.name, variable) != variable:
            raise CallError(
                f"{call.form.spelling}: the symbol {variable.name} is declared twice, as {meaning[variable.name]} and "
                f"as {variable}; declare it once and use that object"
            )
    storages: dict[str, Storage] = {}
    for view in call.operands:
        storage = view.tensor.storage
        if storages.setdefault(storage.name, storage) is not storage:
            raise CallError(
                f"{call.form.spelling}: two different storages are named {storage.name}; give each its own name"
            )


def _report(call: Call, family: Family, hazards: Hazards, budget: int) -> Report:
    try:
        demands = list(family.states(call))
        # What the views themselves need comes first; groups and repeats are known only by now.
        stated = [*whole_elements(call), *demands]
    except UnsupportedError as error:
        return Report(call, Verdict.UNSUPPORTED, (), reason=str(error))
    except UnfitError as error:
        answers = discharge([error.obligation], truth(True), budget)
        return Report(call, Verdict.REFUTED, tuple(_finding(call, a, truth(True)) for a in answers))
    undecided = require_possible(call.reachable, budget) or require_true_of_threads(call.launch, budget)
    if undecided is not None:
        return Report(call, Verdict.UNDECIDED, (), reason=undecided)
    context = call.facts
    if hazards == "ignore":
        stated = [o for o in stated if not o.hazard]
    answers = discharge(stated, context, budget)
    findings = [_finding(call, a, context) for a in answers]
    dangers = tuple(f for f in findings if f.obligation.hazard and f.verdict is not Verdict.PROVED)
    decisive = tuple(f for f in findings if not f.obligation.hazard)
    if hazards == "error":
        decisive, dangers = (*decisive, *dangers), ()
    return Report(call, _verdict(decisive), decisive, dangers, context=context)


def _verdict(findings: tuple[Finding, ...]) -> Verdict:
    verdicts = {f.verdict for f in findings}
    if Verdict.REFUTED in verdicts:
        return Verdict.REFUTED
    return Verdict.PROVED if verdicts <= {Verdict.PROVED} else Verdict.UNDECIDED


def _finding(call: Call, answer: Answer, context: Relation) -> Finding:
    obligation: Obligation = answer.question.obligation
    example = None
    if answer.verdict is Verdict.REFUTED:
        from tileproof.proofs.counterexample import tell

        example = tell(call, answer, context)
    premise = premise_of(obligation, context)
    return Finding(
        obligation, answer.verdict, answer.method, example, answer.reason, answer.resources, premise
    )
