"""What every refusal must tell, checked without the prover."""

from __future__ import annotations

import tileproof as tp
from tileproof.layouts.evaluate import evaluate
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.traverse import leaves
from tileproof.proofs.discharge import premise_of
from tileproof.proofs.report import Report
from tileproof.proofs.verdict import Counterexample, Finding


def value_of(variable: Leaf, example: Counterexample) -> int:
    """The reported value of a variable, or the one that reports leave out: the simplest."""
    if variable.label in example.values:
        return example.values[variable.label]
    lo, hi = variable.lo, variable.hi
    return lo if lo is not None and lo > 0 else hi if hi is not None and hi < 0 else 0


def replays(report: Report, finding: Finding) -> bool:
    """Whether the premises hold and the claim fails at the reported point, in plain integers."""
    example = finding.counterexample
    assert example is not None
    obligation = finding.obligation
    premise = premise_of(obligation, report.call.facts)
    values = {v: value_of(v, example) for v in leaves(premise, obligation.claim)}
    return bool(evaluate(premise, values)) and not evaluate(obligation.claim, values)


def assert_complete(report: Report) -> None:
    """Each failure names obligation, thread, repeat, needed and found; one about a place also where; and it
    replays.
    """
    failures = [f for f in report.failures if f.verdict is tp.Verdict.REFUTED]
    assert failures
    for finding in failures:
        example = finding.counterexample
        assert example is not None, finding.obligation.id
        assert example.needed
        assert example.found
        assert "shape" not in report.call._cache or len(example.repeat) == len(report.call.repeat_extents)
        if finding.obligation.address is not None:
            assert (example.byte_address is None) != (example.slot is None)
            assert example.storage is not None
        if finding.obligation.claim.value is None:
            assert example.lane is not None
            assert example.warp is not None
        if report.call._cache.get("shape"):
            assert replays(report, finding), finding.obligation.id
        text = str(report)
        assert finding.obligation.id in text
        assert example.needed in text
        assert example.found in text
