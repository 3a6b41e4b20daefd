"""Both opinions on one call, side by side."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any

import tileproof as tp
from tileproof.errors import AssumptionError, LayoutError
from tileproof.fuzz.build import checked
from tileproof.fuzz.families import family_of, judge
from tileproof.fuzz.oracle.counterexamples import Told
from tileproof.fuzz.oracle.demands import Outcome
from tileproof.fuzz.oracle.description import Call
from tileproof.fuzz.oracle.views import begins_early, torn
from tileproof.proofs.verdict import Counterexample, Finding, Verdict

PARTICIPATION = {"converged", "covered", "owned"}
"""Under a guard, which of these a wrong group breaks depends on which threads one takes the group to name."""


@dataclass(frozen=True)
class Comparison:
    """``verdict`` is the library's word, or ``refused`` (no such view) or ``unreachable`` (no thread executes
    it).

    ``faults`` are the disagreements, ``undecided`` the demands without an answer. ``report`` is the library's, if it
    gave one.
    """

    verdict: str
    outcome: Outcome
    refuted: frozenset[str] = frozenset()
    proved: frozenset[str] = frozenset()
    hazards: frozenset[str] = frozenset()
    undecided: frozenset[str] = frozenset()
    faults: tuple[str, ...] = ()
    methods: tuple[tuple[str, str], ...] = field(default=())
    report: tp.Report | None = field(default=None, compare=False, repr=False)


def compare(call: Call, outcome: Outcome | None = None) -> Comparison:
    """What the library says, what brute force says, and where they differ; ``outcome`` is the latter if it is known."""
    outcome = judge(call) if outcome is None else outcome
    wide = any(torn(call, o).any() for o in call.operands) if outcome.unbuildable is None else False
    try:
        report = checked(call)
    except LayoutError as error:
        expected = outcome.unbuildable is not None or wide or any(map(begins_early, call.operands))
        return Comparison("refused", outcome, faults=() if expected else (f"refused: {error}",))
    except AssumptionError as error:
        expected = outcome.unreachable
        return Comparison("unreachable", outcome, faults=() if expected else (f"unreachable: {error}",))
    faults = []
    if outcome.unbuildable is not None:
        faults.append(f"accepted, although {outcome.unbuildable}")
    elif outcome.unreachable:
        # What is beyond the library is so whoever reaches it.
        if report.verdict is not Verdict.UNSUPPORTED:
            faults.append("answered, although no thread executes it")
    else:
        faults = _faults(call, outcome, report)
    by_id: dict[str, set[Verdict]] = {}
    for finding in report.findings:
        by_id.setdefault(_short(finding), set()).add(finding.verdict)
    return Comparison(
        report.verdict.value,
        outcome,
        refuted=frozenset(n for n, v in by_id.items() if Verdict.REFUTED in v),
        proved=frozenset(n for n, v in by_id.items() if v == {Verdict.PROVED}),
        hazards=frozenset(_short(f) for f in report.hazards if f.verdict is Verdict.REFUTED),
        undecided=frozenset(
            _short(f) for f in (*report.findings, *report.hazards) if f.verdict is Verdict.UNDECIDED
        ),
        faults=tuple(faults),
        methods=tuple((_short(f), f.method) for f in report.findings),
        report=report,
    )


def _short(finding: Finding) -> str:
    return finding.obligation.id.rpartition(".")[2]


def _faults(call: Call, outcome: Outcome, report: tp.Report) -> list[str]:
    faults = []
    fails, verdict = set(outcome.failing), report.verdict
    refuted = {_short(f) for f in report.findings if f.verdict is Verdict.REFUTED}
    if verdict is Verdict.PROVED and fails:
        faults.append(f"unsound: proved, but {sorted(fails)} fail, at {outcome.failing}")
    # A group of unevenly spaced threads is beyond the library, which then takes the registers at their word.
    beyond = (outcome.scattered or "owned" in outcome.implied) and refuted <= PARTICIPATION
    if verdict is Verdict.REFUTED and not fails and not beyond:
        faults.append("incomplete: refuted, but nothing fails")
    if verdict is Verdict.UNSUPPORTED:
        return [] if cannot_tell(outcome, report.reason) else [f"unsupported: {report.reason}"]
    undecided = {_short(f) for f in report.findings if f.verdict is Verdict.UNDECIDED}
    # Where shapes decide, the report stops at the first misfit.
    stopped = outcome.structural
    misled = call.guard is not None and bool(PARTICIPATION & (fails | refuted))
    if not misled:
        extra, missing = refuted - fails - outcome.implied, fails - refuted - undecided
        faults += [f"incomplete: {name} is refuted, but holds" for name in sorted(extra)]
        if not stopped:
            faults += [
                f"unsound: {name} fails at {outcome.failing[name]}, but is not refuted"
                for name in sorted(missing)
            ]
    if not stopped:
        faults += replays(call, misled, report)
        faults += _hazards(outcome, report, strict=not fails and not refuted)
    return faults


def cannot_tell(outcome: Outcome, reason: str) -> bool:
    """Whether the library says for one of its two reasons that it cannot tell, and the reason is a true one."""
    if "which are not evenly spaced" not in reason:
        return False
    return outcome.scattered if "the guard leaves" in reason else outcome.unsaid


def _hazards(outcome: Outcome, report: tp.Report, *, strict: bool) -> list[str]:
    told = {_short(f) for f in report.hazards if f.verdict is Verdict.REFUTED}
    open_ones = {_short(f) for f in report.hazards if f.verdict is Verdict.UNDECIDED}
    expected = set(outcome.hazards)
    faults = []
    if strict and told - expected:
        faults.append(f"hazard without danger: {sorted(told - expected)}")
    if strict and expected - told - open_ones:
        faults.append(f"hazard not told: {sorted(expected - told - open_ones)}")
    return faults


def replays(call: Call, misled: bool, report: tp.Report) -> list[str]:
    """Counterexamples of a report that are none; ``misled`` says that the group may name other threads."""
    replay = family_of(call).replay(call, participates=not misled)
    faults = []
    # Whom a mistaken group pairs up is nobody's business.
    hazards = () if misled else report.hazards
    for finding in (*report.findings, *hazards):
        example = finding.counterexample
        # A demand that the shape of the call decides names no point.
        pointed = finding.obligation.needed[1] or finding.obligation.found[1]
        if finding.verdict is Verdict.REFUTED and pointed:
            if example is None:
                faults.append(f"{finding.obligation.id} is refuted without a counterexample")
            else:
                problem = replay.fault(_short(finding), told(example))
                if problem:
                    faults.append(f"{finding.obligation.id} does not replay: {problem}; {example}")
    return faults


def told(example: Counterexample) -> Told:
    """The plain numbers of a counterexample."""

    def of(kind: str) -> dict[str, int]:
        # A name that two variables share is followed by what this one is, as in "lane (group)".
        return {n.partition(" ")[0]: v for n, v in example.values.items() if example.kinds[n] == kind}

    return Told(
        of("symbol"), of("thread"), of("group"), of("repeat"), of("element"), of("replica"),
        example.warp, example.lane, example.repeat, example.base, example.byte_address, example.slot,
    )  # fmt: skip


def describe(call: Call, comparison: Comparison) -> str:
    """A disagreement as text; the call as the expression that builds its description again."""
    return f"{written(call)}\n{opinions(comparison)}"


def opinions(comparison: Comparison) -> str:
    """What each says, and where they differ."""
    lines = [f"library: {comparison.verdict}, refuted {sorted(comparison.refuted)}"]
    lines.append(f"brute force: {written(comparison.outcome)}")
    lines += [f"DISAGREEMENT {fault}" for fault in comparison.faults]
    return "\n".join(lines)


def written(value: Any) -> str:
    """Python text of plain data without the fields that are at their defaults."""
    if isinstance(value, tuple):
        return f"({', '.join(map(written, value))}{',' if len(value) == 1 else ''})"
    if not is_dataclass(value):
        return repr(value)
    shown = []
    for f in fields(value):
        own = getattr(value, f.name)
        if own != f.default and not (f.default is MISSING and f.default_factory is not MISSING and not own):
            shown.append(f"{f.name}={written(own)}")
    line = ",\n    " if isinstance(value, Call) else ", "
    return f"{type(value).__name__}({line.join(shown)})"
