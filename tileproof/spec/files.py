"""Any file with calls: what it holds is told by its name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tileproof.proofs.check import Hazards
from tileproof.proofs.report import Report
from tileproof.proofs.verdict import Verdict
from tileproof.spec.build import Checked, check_spec
from tileproof.spec.errors import SpecError
from tileproof.spec.script import check_script


def check_file(path: Path, hazards: Hazards | None = None) -> list[Checked]:
    """Check the calls of a spec (``.toml``), or run a Python program (``.py``) and collect its reports.

    ``hazards``, if given, overrides what the calls say. Raises :class:`SpecError` for a file that cannot be
    used.
    """
    if path.suffix == ".toml":
        return check_spec(path, hazards)
    if path.suffix == ".py":
        return [replace(c, report=under(c.report, hazards)) for c in check_script(path)]
    raise SpecError(f"{path}: neither a spec (.toml) nor a Python program (.py)")


def under(report: Report, hazards: Hazards | None) -> Report:
    """A finished report under another policy for its hazards."""
    if hazards == "ignore":
        return replace(report, hazards=())
    if hazards != "error" or not report.hazards:
        return report
    findings = (*report.findings, *report.hazards)
    failed = report.verdict is Verdict.REFUTED or any(h.verdict is Verdict.REFUTED for h in report.hazards)
    return replace(
        report, verdict=Verdict.REFUTED if failed else Verdict.UNDECIDED, findings=findings, hazards=()
    )
