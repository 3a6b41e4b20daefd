"""A report as plain text."""

from __future__ import annotations

from tileproof.contracts.call import Call
from tileproof.proofs.report import Report
from tileproof.proofs.verdict import Counterexample, Finding, Verdict


def instructions(call: Call) -> int:
    """How many instructions the call stands for: one for each repeat."""
    total = 1
    for n in call.repeat_extents if "shape" in call._cache else ():
        total *= n
    return total


def headline(report: Report) -> str:
    call = report.call
    names = ", ".join(v.name for v in call.operands)
    return f"{call.form.spelling} ({names}) at {call.scope} scope: {report.verdict.name}"


def where(example: Counterexample) -> str:
    """The point of a failure: thread, repeat, element, symbols."""
    parts = [f"{name} = {value}" for name, value in example.symbols.items()]
    if example.warp is not None:
        parts.append(f"warp {example.warp}")
    if example.lane is not None:
        parts.append(f"lane {example.lane}")
    parts.append(f"repeat {example.repeat}")
    parts += [f"{name} {value}" for name, value in example.element.items()]
    others = {
        name: value
        for name, value in example.values.items()
        if name.endswith("'") or example.kinds[name] == "replica"
    }
    parts += [f"{name} = {value}" for name, value in others.items() if name not in example.symbols]
    return ", ".join(parts)


def place(example: Counterexample) -> str | None:
    if example.slot is not None:
        return f"register slot {example.slot} of {example.storage}"
    if example.byte_address is not None:
        start = f" (its start at byte {example.base})" if example.base else ""
        return f"byte {example.byte_address} of {example.storage}{start}"
    return None


def finding_lines(finding: Finding) -> list[str]:
    obligation = finding.obligation
    mark = {Verdict.PROVED: "proved", Verdict.REFUTED: "FAILS", Verdict.UNDECIDED: "UNDECIDED"}.get(finding.verdict, "?")
    lines = [f"  {mark:9} {obligation.id}: {obligation.sentence}"]
    if finding.verdict is Verdict.PROVED:
        lines[0] += f"  [{finding.method}]"
        return lines
    example = finding.counterexample
    if example is not None:
        lines.append(f"            at     {where(example)}")
        spot = place(example)
        if spot is not None:
            lines.append(f"            in     {spot}")
        lines.append(f"            needed {example.needed}")
        lines.append(f"            found  {example.found}")
    if finding.reason:
        lines.append(f"            reason {finding.reason}")
    lines.append(f"            see    {obligation.section}")
    return lines


def report_text(report: Report) -> str:
    lines = [headline(report)]
    if report.reason:
        lines.append(f"  {report.reason}")
    for finding in report.findings:
        lines += finding_lines(finding)
    if report.hazards:
        lines.append("  hazards:")
        for hazard in report.hazards:
            lines += finding_lines(hazard)
    if report.verdict is Verdict.PROVED:
        count = instructions(report.call)
        lines.append(f"  {count} instruction{'s' if count != 1 else ''}, one for each repeat")
    return "\n".join(lines)
