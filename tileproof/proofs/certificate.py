"""Certificates: all that somebody else's solver needs to check a verdict again.

A certificate is JSON. For each obligation it holds the plain, unsimplified question as SMT-LIB 2 text: the
premises with the claim denied. ``unsat`` means proved, ``sat`` refuted. One more question asks that the
premises can hold at all. The SHA-256 is over the content without itself, in canonical JSON.
"""

from __future__ import annotations

import hashlib
import json
from importlib import metadata
from typing import TYPE_CHECKING, Any

from tileproof.layouts.index import negate
from tileproof.proofs.discharge import premise_of
from tileproof.proofs.smt import UnencodableError
from tileproof.proofs.smtlib import script
from tileproof.proofs.verdict import Counterexample, Finding, Verdict

if TYPE_CHECKING:
    from tileproof.layouts.index import Relation
    from tileproof.proofs.report import Report

FORMAT = 1
ANSWERS = {Verdict.PROVED: "unsat", Verdict.REFUTED: "sat"}


def digest(content: dict[str, Any]) -> str:
    """The SHA-256 of a certificate's content, its own ``sha256`` left out."""
    bare = {key: value for key, value in content.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(bare, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def certificate(report: Report) -> dict[str, Any]:
    """The certificate of a report, ready for ``json.dump``."""
    call = report.call
    context = call.facts if "shape" in call._cache else None
    content: dict[str, Any] = {
        "format": FORMAT,
        "tileproof": metadata.version("tileproof"),
        "verdict": report.verdict.value,
        "reason": report.reason,
        "solver": f"z3 {metadata.version('z3-solver')}",
        "call": _call(report),
        "premises": {"smtlib": _text([call.reachable]), "expect": "sat"},
        "obligations": [_obligation(f, context) for f in (*report.findings, *report.hazards)],
    }
    content["sha256"] = digest(content)
    return content


def _text(relations: list[Relation]) -> str | None:
    try:
        return script(relations)
    except UnencodableError:
        return None


def _obligation(finding: Finding, context: Relation | None) -> dict[str, Any]:
    obligation = finding.obligation
    premise = obligation.given if context is None else premise_of(obligation, context)
    return {
        "id": obligation.id,
        "sentence": obligation.sentence,
        "section": obligation.section,
        "hazard": obligation.hazard,
        "verdict": finding.verdict.value,
        "method": finding.method,
        "resources": finding.resources,
        "counterexample": None if finding.counterexample is None else _point(finding.counterexample),
        "smtlib": _text([premise, negate(obligation.claim)]),
        "expect": ANSWERS.get(finding.verdict),
    }


def _point(example: Counterexample) -> dict[str, int]:
    return dict(example.values)


def _call(report: Report) -> dict[str, Any]:
    call = report.call
    launch = call.launch
    return {
        "opcode": call.form.spelling,
        "scope": call.scope,
        "block": list(launch.block),
        "cluster": None if launch.cluster is None else list(launch.cluster),
        "active": repr(launch.active),
        "assume": [repr(a) for a in launch.assumptions],
        "parameters": {name: repr(value) for name, value in sorted(call.parameters.items())},
        "operands": [
            {
                "name": view.name,
                "space": view.tensor.space,
                "align": view.tensor.storage.align,
                "dtype": view.tensor.dtype,
                "shape": [repr(n) for n in view.tensor.shape],
                "layout": repr(view.tensor.layout),
                "view": {
                    "dtype": view.dtype,
                    "shape": [repr(n) for n in view.shape],
                    "coordinates": [repr(c) for c in view.coordinates],
                },
            }
            for view in call.operands
        ],
    }
