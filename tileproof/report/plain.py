"""A report as plain text: what ``str(report)`` gives. The terminal shows the same words in colour.

ld.global.v4.b32 (R, B) at thread scope: REFUTED
  FAILS     ld.aligned: an access starts at a multiple of its whole size
            at     i = 1, warp 0, lane 0, repeat ()
            in     byte 8 of B
            needed a multiple of 16 bytes
            found  byte address 8, which is 8 modulo 16
            see    PTX ISA 6.4.1, 9.7.9.8
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tileproof.contracts.call import Call
from tileproof.proofs.report import Report
from tileproof.proofs.verdict import Counterexample, Finding, Verdict

MARKS = {
    Verdict.PROVED: "proved",
    Verdict.REFUTED: "FAILS",
    Verdict.UNDECIDED: "UNDECIDED",
    Verdict.UNSUPPORTED: "UNSUPPORTED",
}


def report_text(report: Report) -> str:
    """All of a report, one line for each obligation and the lines of :func:`details` below one that fails."""
    lines = [headline(report)]
    if report.reason:
        lines.append(f"  {report.reason}")
    for finding in without_repetition(report.findings):
        lines += finding_lines(finding)
    if report.hazards:
        lines.append("  hazards:")
        for hazard in without_repetition(report.hazards):
            lines += finding_lines(hazard, hazard_mark(hazard))
    closing = conclusion(report)
    if closing is not None:
        lines.append(f"  {closing}")
    return "\n".join(lines)


def headline(report: Report) -> str:
    """The call in a few words, and its verdict."""
    return f"{call_text(report)}: {report.verdict.name}"


def call_text(report: Report) -> str:
    """The call in a few words."""
    call = report.call
    names = ", ".join(call.written)
    return f"{call.form.spelling} ({names}) at {call.scope} scope"


def conclusion(report: Report) -> str | None:
    """What a proved call stands for; nothing otherwise."""
    count = instructions(report.call)
    if report.verdict is not Verdict.PROVED or count is None:
        return None
    if report.call.form.mnemonic == "ewise":
        return "1 register coordinate" if count == 1 else f"{count} register coordinates, one after another"
    return "1 instruction" if count == 1 else f"{count} instructions, one for each repeat"


def instructions(call: Call) -> int | None:
    """How many instructions the call stands for: one for each repeat; ``None`` for a call without repeats."""
    return prod(call.repeat_extents) if "shape" in call._cache else None


def without_repetition(findings: Sequence[Finding]) -> list[Finding]:
    """The findings, where those that were proved alike of several axes or dimensions are told once."""
    told: dict[object, Finding] = {}
    for finding in findings:
        words = (finding.obligation.id, finding.obligation.sentence, finding.method)
        told.setdefault(words if finding.verdict is Verdict.PROVED else finding, finding)
    return list(told.values())


def hazard_mark(finding: Finding) -> str:
    """The mark of a hazard that stands beside the verdict."""
    return "HAZARD" if finding.verdict is Verdict.REFUTED else MARKS[finding.verdict]


def finding_lines(finding: Finding, mark: str | None = None) -> list[str]:
    """One line for an obligation that is proved, and :func:`details` below one that is not."""
    obligation = finding.obligation
    line = f"  {mark or MARKS[finding.verdict]:9} {obligation.id}: {obligation.sentence}"
    if finding.verdict is Verdict.PROVED:
        return [f"{line}  [{finding.method}]"]
    return [line, *(f"            {label:6} {text}" for label, text in details(finding))]


def details(finding: Finding) -> list[tuple[str, str]]:
    """Where and how an obligation fails, or why nobody can tell, as labelled lines."""
    lines = []
    example = finding.counterexample
    if example is not None:
        spot = place(example)
        lines.append(("at", where(example)))
        lines += [("in", spot)] if spot is not None else []
        lines += [("needed", example.needed), ("found", example.found)]
        lines += [("nearby", finding.nearby)] if finding.nearby else []
    if finding.reason:
        lines.append(("reason", finding.reason))
    return [*lines, ("see", finding.obligation.section)]


def where(example: Counterexample) -> str:
    """The point of a failure: symbols, thread, repeat, element, and the second of two coordinates."""
    parts = [f"{name} = {value}" for name, value in example.symbols.items()]
    parts += [f"warp {example.warp}"] if example.warp is not None else []
    parts += [f"lane {example.lane}"] if example.lane is not None else []
    parts.append(f"repeat {example.repeat}")
    parts += [f"{name} {value}" for name, value in example.element.items()]
    parts += [f"{name} = {value}" for name, value in others(example).items()]
    return ", ".join(parts)


def others(example: Counterexample) -> dict[str, int]:
    """The rest of the point: a second thread or coordinate, which has primes, and replicas."""
    return {
        name: value
        for name, value in example.values.items()
        if (name.endswith("'") or example.kinds[name] == "replica")
        and name not in example.symbols
        and name not in example.element
    }


def place(example: Counterexample) -> str | None:
    """The byte or the register that a failure is at, if it is at one."""
    if example.slot is not None:
        return f"register slot {example.slot} of {example.storage}"
    if example.byte_address is None:
        return None
    start = f" (its start at byte {example.base})" if example.base else ""
    return f"byte {example.byte_address} of {example.storage}{start}"
