"""The report of a check: verdict, findings, hazards, and a text that a person can act on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tileproof.contracts.call import Call
from tileproof.errors import TileproofError
from tileproof.layouts.index import Relation
from tileproof.proofs.verdict import Counterexample, Finding, Verdict


class ContractError(TileproofError):
    """A call whose contract is not proved. The text is the report, which is in ``report``."""

    def __init__(self, report: Report) -> None:
        super().__init__(str(report))
        self.report = report


@dataclass(frozen=True, eq=False)
class Report:
    """What a check found. ``findings`` decide the verdict; ``hazards`` stand beside it. ``context`` is what the
    executing thread knows, once it is known that a thread can reach the call.
    """

    call: Call
    verdict: Verdict
    findings: tuple[Finding, ...]
    hazards: tuple[Finding, ...] = ()
    reason: str = ""
    context: Relation | None = None

    @cached_property
    def failures(self) -> tuple[Finding, ...]:
        """The findings that are not proved, the root one first."""
        return tuple(f for f in self.findings if f.verdict is not Verdict.PROVED)

    @property
    def counterexample(self) -> Counterexample | None:
        """The first counterexample, if any."""
        return next((f.counterexample for f in self.failures if f.counterexample is not None), None)

    def reproduction(self) -> str:
        """The call as the text of a spec file, to paste and run ``tileproof check`` on."""
        from tileproof.report.reproduce import reproduction

        return reproduction(self.call)

    def certificate(self) -> dict[str, Any]:
        """All that a second solver needs to check the verdict, ready for JSON."""
        from tileproof.proofs.certificate import certificate

        return certificate(self)

    def __str__(self) -> str:
        from tileproof.report.plain import report_text

        return report_text(self)
