"""How soon a campaign tells changed contracts from the right one.

A view can only tell if it refutes the demand that was changed: each such view is looked at again with every mutant
of the demand that is still at large.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tileproof.fuzz.agreement import Comparison, compare
from tileproof.fuzz.execute.entry import Trapped
from tileproof.fuzz.execute.expected import difference
from tileproof.fuzz.execute.look import prepared
from tileproof.fuzz.execute.moves import executable
from tileproof.fuzz.execute.simulated import Simulated
from tileproof.fuzz.families import generate, judge
from tileproof.fuzz.mutants import CHANGES, Mutant, UnaskedError, applied
from tileproof.fuzz.oracle.description import Call
from tileproof.fuzz.rows import Row, choices_of
from tileproof.proofs.verdict import Verdict
from tileproof.report.catalogue import all_entries

EXECUTIONS = 6
"""Views whose code is executed for one mutant, as long as none of them betrays it."""


@dataclass
class Hunted:
    """A mutant in a campaign.

    ``refuting`` counts the views that refute the demand, ``altered`` says whether the change changed one of them.
    ``view`` is the first view whose answer disagrees with brute force, and ``fault`` how. ``executed`` maps what
    came of executing code that only the changed contract proves, ``traps``, ``differs`` or ``agrees``, to the first
    such view.
    """

    mutant: Mutant
    refuting: int = 0
    altered: bool = False
    view: int | None = None
    fault: str = ""
    executed: dict[str, int] = field(default_factory=dict)
    executions: int = 0

    @property
    def betrayed(self) -> bool:
        """Whether execution tells, too."""
        return bool(self.executed.keys() & {"traps", "differs"})

    @property
    def wanted(self) -> bool:
        """Whether there is more to find out."""
        executes = self.mutant.mnemonic in executable()
        return self.view is None or (executes and not self.betrayed and self.executions < EXECUTIONS)


@dataclass
class Hunt:
    """``views`` of an instruction's campaign with all its mutants. ``faults`` are those of the right contract, on
    views that are not legal.
    """

    mnemonic: str
    views: int
    hunted: list[Hunted]
    faults: list[str] = field(default_factory=list)

    @property
    def mutants(self) -> Iterator[Hunted]:
        """Those that are mutants: a demand that no view refutes has one, the others those that changed something."""
        for one in self.hunted:
            if one.altered or (not one.refuting and one.mutant.change == "removed"):
                yield one


def hunt(mnemonic: str, seed: int, views: int, demands: frozenset[str] | None = None) -> Hunt:
    """Look for every mutant of an instruction's contract, or of some of its ``demands``."""
    ids = [entry.id.removeprefix(f"{mnemonic}.") for entry in all_entries(mnemonic)]
    known = {name: [Hunted(Mutant(mnemonic, name, c)) for c in CHANGES] for name in ids}
    if demands is not None:
        known = {name: mutants for name, mutants in known.items() if name in demands}
    found = Hunt(mnemonic, 0, [one for mutants in known.values() for one in mutants])
    for number in range(views):
        if not any(one.wanted for one in found.hunted):
            break
        found.views = number + 1
        call = generate(mnemonic, choices_of(seed, number))
        outcome = judge(call)
        if not outcome.failing and not outcome.hazards:
            continue  # Nobody refutes a legal view.
        right = compare(call, outcome)
        found.faults += [f"{mnemonic} {number}: {fault}" for fault in right.faults]
        for name in right.refuted | right.hazards:
            for one in known.get(name, ()):
                _look_again(one, call, right, seed, number)
    return found


def _look_again(one: Hunted, call: Call, right: Comparison, seed: int, number: int) -> None:
    one.refuting += 1
    if not one.wanted or (one.view is not None and right.refuted != {one.mutant.demand}):
        return
    with applied(one.mutant) as altered:
        try:
            comparison = compare(call, right.outcome)
        except UnaskedError as error:
            comparison = Comparison("unasked", right.outcome, faults=(str(error),))
        except Exception as error:  # noqa: BLE001 - whatever a changed contract runs into gives it away
            comparison = Comparison("raised", right.outcome, faults=(f"{type(error).__name__}: {error}",))
        one.altered = one.altered or bool(altered)
        if comparison.faults and one.view is None:
            one.view, one.fault = number, comparison.faults[0]
        newly = comparison.verdict == Verdict.PROVED.value != right.verdict
        if newly and one.mutant.mnemonic in executable() and one.executions < EXECUTIONS:
            one.executions += 1
            one.executed.setdefault(_execute(call, comparison, seed, number), number)


def _execute(call: Call, comparison: Comparison, seed: int, number: int) -> str:
    """What the simulator makes of code that the right contract would not have let through."""
    row = Row(call.family, seed, number, call.form, call.scope, comparison.verdict)
    try:
        if comparison.report is None:
            return "not executed"
        view = prepared(row, call, comparison.report)
        if view.entry is None or view.expected is None or view.undefined:
            return "not executed"
        (dump,) = Simulated().run([view.entry])
    except Exception:  # noqa: BLE001 - whatever illegal code runs into on the way
        return "not executed"
    if isinstance(dump, Trapped):
        return "traps"
    return "differs" if difference(dump, view.expected) else "agrees"
