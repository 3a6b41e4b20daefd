"""SMT-LIB text says what expressions mean: Z3 reads it back, and cvc5 too."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings

import tileproof as tp
from tests.strategies import I, J, K, N, U, points, relations
from tileproof.layouts.evaluate import evaluate
from tileproof.layouts.index import Relation, conjunction, const, equal, leaf
from tileproof.layouts.leaf import Leaf
from tileproof.proofs.audit import CHECK
from tileproof.proofs.smtlib import Script, TextTerms, scripts
from tileproof.proofs.solvers import asker


def pinned(script: Script) -> str:
    return script.text.removesuffix(CHECK) + script.witness + "\n" + CHECK


@pytest.mark.parametrize("solver", ["z3", "cvc5"])
@given(relation=relations(max_leaves=3))
@settings(max_examples=40)
def test_each_theory_means_what_evaluation_means(solver: str, relation: Relation) -> None:
    """At a point, stated or pinned, the relation can hold exactly where it does."""
    ask = asker(solver)
    for values in points(relation, count=2):
        right = "sat" if evaluate(relation, values) else "unsat"
        here = [equal(leaf(v), const(n)) for v, n in values.items()]
        assert {ask(script.text).answer for script in scripts([relation, *here])} <= {right}
        if right == "sat":
            assert {ask(pinned(script)).answer for script in scripts([relation], values)} <= {"sat"}


def test_shared_terms_are_written_once() -> None:
    x = (I + 1) * 4
    integers, vectors = scripts([x % 8 == 0, x < 20])
    assert integers.text.count("(+ |i:symbol:0| 1)") == 1
    assert vectors.text.count("(bvadd |i:symbol:0|") == 1


def test_equal_terms_are_one_however_they_came_to_be() -> None:
    terms = TextTerms()
    one = terms.apply("+", terms.number(1, None), terms.number(-2, None))
    again = terms.apply("+", terms.number(1, None), terms.number(-2, None))
    assert one == again == ("t0", "Int")
    assert terms.lines == ["(define-fun t0 () Int (+ 1 (- 2)))"]


def test_a_conjunction_is_asserted_part_by_part() -> None:
    a, b, c = I < 3, J > 0, equal(K, N)
    integers, _ = scripts([conjunction((a, conjunction((b, c)))), a])
    asserted = re.findall(r"^\(assert (t\d+)\)$", integers.text, re.MULTILINE)
    terms = dict(re.findall(r"^\(define-fun (t\d+) \(\) Bool (\(.*\))\)$", integers.text, re.MULTILINE))
    assert [terms[name] for name in asserted[-3:]] == [
        "(< |i:symbol:0| 3)",
        "(< 0 |j:symbol:1|)",
        "(= t9 |n:symbol:3|)",
    ]
    assert len(asserted) == len(set(asserted)) == 3 + 2 * 4


def test_names_of_variables() -> None:
    other = leaf(Leaf("i", "symbol", 0, 31, copy=1))
    integers, _ = scripts([I < other, tp.laneid.as_index() < I])
    declared = re.findall(r"\(declare-const \|(.*?)\| Int\)", integers.text)
    assert declared == ["i:symbol:0", "i':symbol:1", "laneid:thread:2"]


def test_the_bits_of_two_unbounded_numbers() -> None:
    assert scripts([(U ^ tp.symbol("w")) == 3]) == []
    (only,) = scripts([(U ^ tp.symbol("w")) % 4 == 3])
    assert only.text.startswith("(set-logic QF_BV)")
    assert asker("bitwuzla")(only.text).answer == "sat"
