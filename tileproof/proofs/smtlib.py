"""Terms as SMT-LIB 2 text: what a certificate records and any solver reads.

Every compound term is a ``define-fun`` of its own, so shared subterms are written once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from tileproof.layouts.index import Relation
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.sharpen import conjuncts
from tileproof.proofs.domains import bounded
from tileproof.proofs.smt import Reading, UnencodableError, bit_width, theory_for

_BOOLEAN = {"<", "<=", "=", "and", "or", "not", "xor", "bvslt", "bvsle"}

Term = tuple[str, str]
"""A term's text and its sort."""


@dataclass(frozen=True)
class Script:
    """A question in one theory. ``text`` asks for a point where all relations hold and ends in
    ``(check-sat)``.

    ``witness`` are assertions that pin variables to a known point, in the same terms. ``ranges`` are the
    variables that the text asks for fewer values than they have (see :mod:`tileproof.proofs.domains`).
    """

    text: str
    witness: str
    ranges: tuple[Leaf, ...]


class TextTerms:
    """See :class:`tileproof.proofs.smt.Terms`. Equal terms are one, however they came to be."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._known: dict[tuple[str, tuple[Term, ...]], Term] = {}

    def number(self, value: int, width: int | None) -> Term:
        if width is None:
            return (str(value) if value >= 0 else f"(- {-value})"), "Int"
        return f"(_ bv{value % (1 << width)} {width})", f"(_ BitVec {width})"

    def truth(self, value: bool) -> Term:
        return ("true" if value else "false"), "Bool"

    def variable(self, name: str, width: int | None) -> Term:
        return self._declare(name, "Int" if width is None else f"(_ BitVec {width})")

    def boolean(self, name: str) -> Term:
        return self._declare(name, "Bool")

    def _declare(self, name: str, sort: str) -> Term:
        self.lines.append(f"(declare-const |{name}| {sort})")
        return f"|{name}|", sort

    def apply(self, operator: str, *arguments: Term) -> Term:
        if operator in ("and", "or"):
            arguments = tuple(dict.fromkeys(arguments))
            if len(arguments) == 1:
                return arguments[0]
        key = (operator, arguments)
        if key not in self._known:
            sort = "Bool" if operator in _BOOLEAN else arguments[-1][1]
            name = f"t{len(self.lines)}"
            text = " ".join(argument for argument, _ in arguments)
            self.lines.append(f"(define-fun {name} () {sort} ({operator} {text}))")
            self._known[key] = name, sort
        return self._known[key]


def scripts(relations: Iterable[Relation], point: Mapping[Leaf, int] | None = None) -> list[Script]:
    """The question whether all relations hold somewhere, in each theory that is good for it; ``point`` is
    where, if that is known.

    Affine questions are asked in integers, and again in bit-vectors where everything has bounds. Where bits
    are mixed or variables multiplied, bit-vectors alone are asked if there are bounds, integers if not. No
    theory has words for the bits of two numbers without bounds: then the list is empty.
    """
    stated = [part for relation in relations for part in conjuncts(relation)]
    narrowed, became = bounded(stated)
    found = []
    if theory_for(narrowed) is None:
        with suppress(UnencodableError):
            found.append(_script(stated, None, {}, point or {}))
    width = bit_width(narrowed)
    if width is not None:
        found.append(_script(narrowed, width, became, point or {}))
    return found


def _script(
    stated: list[Relation], width: int | None, became: Mapping[Leaf, Leaf], point: Mapping[Leaf, int]
) -> Script:
    """One theory's text; each part of a conjunction is an assertion of its own."""
    terms = TextTerms()
    reading = Reading(width, terms)
    asserted: list[Term] = [reading.term(r) for r in stated]
    lines = [f"(set-logic {reading.logic})", *terms.lines, *_asserted([*reading.side, *asserted])]
    known = {became.get(variable, variable): value for variable, value in point.items()}
    pinned = [
        (f"(= {term[0]} {reading.number(known[variable])[0]})", "Bool")
        for variable, term in reading.variables.items()
        if variable in known and _has(variable, known[variable])
    ]
    return Script(
        "\n".join([*lines, "(check-sat)", ""]), "\n".join(_asserted(pinned)), tuple(became.values())
    )


def _asserted(terms: list[Term]) -> list[str]:
    return [f"(assert {text})" for text, _ in dict.fromkeys(terms)]


def _has(variable: Leaf, value: int) -> bool:
    """Whether a variable that was narrowed still has the value; if not, another of the same remainder has."""
    return (variable.lo is None or variable.lo <= value) and (variable.hi is None or value <= variable.hi)
