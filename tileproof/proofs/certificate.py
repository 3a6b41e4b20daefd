"""Certificates: all that somebody else's solver needs to check a verdict again.

A certificate is JSON. For each obligation it holds the plain, unsimplified question as SMT-LIB 2 text, in one
theory or two: the premises with the claim denied. ``unsat`` means proved, ``sat`` refuted, and then the
counterexample is pinned in the same terms. One more question asks that the premises can hold at all.
``docs/certificates.md`` says what each key means; :mod:`tileproof.proofs.audit` reads them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tileproof.contracts.operands import scalar_text
from tileproof.errors import InternalError
from tileproof.layouts.index import Expression, negate
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.traverse import leaves
from tileproof.proofs.audit import CHECK, FORMAT, digest
from tileproof.proofs.smtlib import Script, scripts
from tileproof.proofs.solvers import Asker, asker, version
from tileproof.proofs.verdict import Finding, Verdict
from tileproof.report.version import tileproof_version

if TYPE_CHECKING:
    from tileproof.contracts.call import Call
    from tileproof.layouts.index import Relation
    from tileproof.layouts.view import View
    from tileproof.proofs.report import Report

ANSWERS = {Verdict.PROVED: "unsat", Verdict.REFUTED: "sat"}


def certificate(report: Report) -> dict[str, Any]:
    """The certificate of a report, ready for ``json.dump``. The same call gives the same certificate, byte
    for byte.

    Z3 answers each recorded text once more while it is written. Raises :class:`InternalError` when it
    contradicts the report.
    """
    ask = asker("z3")
    possible = (
        None if report.context is None else _question(ask, [report.call.reachable], "sat", {}, "premises")
    )
    content: dict[str, Any] = {
        "format": FORMAT,
        "tileproof": tileproof_version(),
        "solver": f"z3 {version('z3')}",
        "verdict": report.verdict.value,
        "reason": report.reason,
        "call": _call(report.call),
        "premises": possible,
        "obligations": [
            *(_obligation(ask, f, decides=True) for f in report.findings),
            *(_obligation(ask, f, decides=False) for f in report.hazards),
        ],
    }
    content["sha256"] = digest(content)
    return content


def certificate_text(report: Report) -> str:
    """The certificate as the text of a file."""
    return json.dumps(certificate(report), indent=1) + "\n"


def _obligation(ask: Asker, finding: Finding, *, decides: bool) -> dict[str, Any]:
    obligation, example = finding.obligation, finding.counterexample
    point = {} if example is None else example.point
    denial = [finding.premise, negate(obligation.claim)]
    return {
        "id": obligation.id,
        "sentence": obligation.sentence,
        "section": obligation.section,
        "hazard": obligation.hazard,
        "decides": decides,
        "verdict": finding.verdict.value,
        "method": finding.method,
        "reason": finding.reason,
        "counterexample": None if example is None else dict(example.values),
        **_question(ask, denial, ANSWERS.get(finding.verdict), point, obligation.id),
    }


def _question(
    ask: Asker, relations: list[Relation], expected: str | None, point: Mapping[Leaf, int], name: str
) -> dict[str, Any]:
    """The question whether the relations hold together somewhere; ``point`` is where, if that is known."""
    asked = scripts(relations, point)
    return {"expect": expected, "scripts": [_answered(ask, script, expected, name) for script in asked]}


def _answered(ask: Asker, script: Script, expected: str | None, name: str) -> dict[str, Any]:
    """A script and what it cost Z3 to answer it."""
    reply = ask(script.text.removesuffix(CHECK) + script.witness + CHECK)
    if reply.answer in ("sat", "unsat") and expected not in (None, reply.answer):
        raise InternalError(f"{name}: the verdict needs the answer {expected}, and Z3 says {reply.answer}")
    return {
        "smtlib": script.text,
        "witness": script.witness,
        "ranges": {f"{v.label}:{v.kind}": [v.lo, v.hi, v.multiple_of] for v in script.ranges},
        "resources": None if reply.answer == "unknown" else reply.resources,
    }


def _call(call: Call) -> dict[str, Any]:
    launch = call.launch
    return {
        "opcode": call.form.spelling,
        "scope": call.scope,
        "block": list(launch.block),
        "cluster": None if launch.cluster is None else list(launch.cluster),
        "active": repr(launch.active),
        "assume": [repr(a) for a in launch.assumptions],
        "parameters": {name: repr(value) for name, value in sorted(call.parameters.items())},
        "symbols": [
            {
                "name": v.name,
                "lo": v.lo,
                "hi": v.hi,
                "multiple_of": v.multiple_of,
                "uniform": v.uniform,
            }
            for v in sorted(_symbols(call), key=lambda v: v.name)
        ],
        "operands": [_operand(view) for view in call.operands],
        **(
            {"scalars": {str(place): scalar_text(v) for place, v in call.scalars.items()}}
            if call.scalars
            else {}
        ),
    }


def _symbols(call: Call) -> list[Leaf]:
    everything: list[Expression] = [call.launch.active, *call.launch.assumptions]
    everything += [
        v for v in (*call.parameters.values(), *call.scalars.values()) if isinstance(v, Expression)
    ]
    for view in call.operands:
        tensor, spec = view.tensor, view.tensor.layout.spec
        everything += [*view.coordinates, *tensor.shape, *(r.start for r in view.regions), tensor.offset]
        everything += [x for f in (*spec.factors, *spec.replicas) for x in (f.extent, f.stride)]
        everything += [o.stride for o in spec.offsets]
    return [v for v in leaves(*everything) if v.kind == "symbol"]


def _operand(view: View) -> dict[str, Any]:
    tensor, storage = view.tensor, view.tensor.storage
    return {
        "name": view.name,
        "storage": {
            "name": storage.name,
            "space": storage.space,
            "align": storage.align,
            "bytes": None if storage.size is None else repr(storage.size),
        },
        "tensor": {
            "offset": repr(tensor.offset),
            "dtype": tensor.dtype,
            "shape": [repr(n) for n in tensor.shape],
            "layout": repr(tensor.layout),
        },
        "view": {
            "dtype": view.dtype,
            "shape": [repr(n) for n in view.shape],
            "coordinates": [repr(c) for c in view.coordinates],
            "regions": [
                {
                    "dimension": r.dimension,
                    "start": repr(r.start),
                    "extent": r.extent,
                    "size": repr(r.size),
                }
                for r in view.regions
            ],
        },
    }
