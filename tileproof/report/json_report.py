"""Reports as JSON, for programs. Keys keep their order and their meaning; new ones may be added.

The schema is documented in ``docs/cli.md``; ``SCHEMA`` counts up when a key changes its meaning or goes away.
"""

from __future__ import annotations

from typing import Any

from tileproof.proofs.report import Report
from tileproof.proofs.verdict import Counterexample, Finding
from tileproof.report.plain import instructions, others

SCHEMA = 1


def report_json(report: Report) -> dict[str, Any]:
    """One report. ``instructions`` counts repeats; addresses are in bytes, slots in elements of the view."""
    call = report.call
    return {
        "opcode": call.form.spelling,
        "operands": list(call.written),
        "scope": call.scope,
        "verdict": report.verdict.value,
        "reason": report.reason or None,
        "instructions": instructions(call),
        "findings": [finding_json(finding) for finding in report.findings],
        "hazards": [finding_json(finding) for finding in report.hazards],
    }


def finding_json(finding: Finding) -> dict[str, Any]:
    """What became of one obligation; ``counterexample`` is null unless it is refuted."""
    example = finding.counterexample
    return {
        "id": finding.obligation.id,
        "sentence": finding.obligation.sentence,
        "section": finding.obligation.section,
        "verdict": finding.verdict.value,
        "method": finding.method,
        "reason": finding.reason or None,
        "counterexample": None if example is None else counterexample_json(example, finding.nearby),
    }


def counterexample_json(example: Counterexample, nearby: str = "") -> dict[str, Any]:
    """The point of a failure. ``others`` has the second of two coordinates, with primes, and replicas."""
    return {
        "symbols": example.symbols,
        "warp": example.warp,
        "lane": example.lane,
        "repeat": list(example.repeat),
        "element": dict(example.element),
        "others": others(example),
        "storage": example.storage,
        "base": example.base,
        "byte_address": example.byte_address,
        "slot": example.slot,
        "needed": example.needed,
        "found": example.found,
        "nearby": nearby,
    }
