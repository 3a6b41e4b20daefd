"""Any file with calls: what it holds is told by its name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tileproof.proofs.check import Hazards
from tileproof.proofs.report import ContractError, Report
from tileproof.proofs.verdict import Verdict
from tileproof.spec.build import Checked, check_spec
from tileproof.spec.errors import SpecError
from tileproof.spec.read import SYNTAXES, describes_kernel, read_data
from tileproof.spec.script import check_script


def check_file(path: Path, hazards: Hazards | None = None) -> list[Checked]:
    """Check the calls of a spec (``.toml``, ``.json``), or run a Python program (``.py``) and collect its reports.

    ``hazards``, if given, overrides what the calls say. Raises :class:`SpecError` for a file that cannot be
    used.
    """
    if path.suffix in SYNTAXES:
        return _checked_spec(path, hazards)
    if path.suffix == ".py":
        return [replace(c, report=under(c.report, hazards)) for c in check_script(path)]
    raise SpecError(f"{path}: neither a spec (.toml, .json) nor a Python program (.py)")


def _checked_spec(path: Path, hazards: Hazards | None) -> list[Checked]:
    if not describes_kernel(read_data(path)[0]):
        return check_spec(path, hazards)
    from tileproof.spec.kernel import kernel_of_spec

    try:
        reports = kernel_of_spec(path).reports
    except ContractError as error:
        return [Checked(error.report)]
    if not reports:
        raise SpecError(f"{path}: the kernel makes no call")
    return [Checked(under(report, hazards)) for report in reports]


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
