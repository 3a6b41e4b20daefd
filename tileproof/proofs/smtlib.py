"""Terms as SMT-LIB 2 text: what a certificate records and any solver reads.

Every compound term is a ``define-fun`` of its own, so shared subterms are written once.
"""

from __future__ import annotations

from typing import Any

from tileproof.layouts.index import Relation
from tileproof.proofs.smt import Reading, theory_for

_BOOLEAN = {"<", "<=", "=", "and", "or", "not", "xor", "bvslt", "bvsle"}


class TextTerms:
    """See :class:`tileproof.proofs.smt.Terms`; a term is its text with its sort."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def number(self, value: int, width: int | None) -> tuple[str, str]:
        if width is None:
            return (str(value) if value >= 0 else f"(- {-value})"), "Int"
        return f"(_ bv{value % (1 << width)} {width})", f"(_ BitVec {width})"

    def truth(self, value: bool) -> tuple[str, str]:
        return ("true" if value else "false"), "Bool"

    def variable(self, name: str, width: int | None) -> tuple[str, str]:
        return self._declare(name, "Int" if width is None else f"(_ BitVec {width})")

    def boolean(self, name: str) -> tuple[str, str]:
        return self._declare(name, "Bool")

    def _declare(self, name: str, sort: str) -> tuple[str, str]:
        self.lines.append(f"(declare-const |{name}| {sort})")
        return f"|{name}|", sort

    def apply(self, operator: str, *arguments: tuple[str, str]) -> tuple[str, str]:
        if operator in ("and", "or") and len(arguments) == 1:
            return arguments[0]
        sort = "Bool" if operator in _BOOLEAN else arguments[-1][1]
        name = f"t{len(self.lines)}"
        self.lines.append(f"(define-fun {name} () {sort} ({operator} {' '.join(a[0] for a in arguments)}))")
        return name, sort


def script(relations: list[Relation]) -> str:
    """An SMT-LIB 2 script that asks for a point where all relations hold.

    Raises :class:`tileproof.proofs.smt.UnencodableError`.
    """
    terms = TextTerms()
    reading = Reading(theory_for(relations), terms)
    asserted: list[Any] = [reading.term(r) for r in relations]
    lines = [f"(set-logic {reading.logic})", *terms.lines]
    lines += [f"(assert {text})" for text, _ in (*reading.side, *asserted)]
    return "\n".join([*lines, "(check-sat)", ""])
