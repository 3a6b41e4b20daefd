"""Audits: the sample is confirmed by two solvers, and whatever is changed is refused or contradicted."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests.proofs.certified import (
    SOLVERS,
    Content,
    content,
    described,
    examples,
    guarded,
    misaligned,
    obligation,
    sealed,
    swizzled,
    text_of,
)
from tileproof.proofs import solvers
from tileproof.proofs.audit import Audit, AuditError, Status, audit, read
from tileproof.proofs.report import Report
from tileproof.proofs.solvers import SolverError, asker, version

SAMPLE: dict[str, Callable[[], Report]] = {
    **described(step=4),
    **{name: lambda report=report: report for name, report in examples().items()},
}


def audited(text: str, solver: str) -> Audit:
    return audit(read(text), solver)


@pytest.mark.parametrize("name", SAMPLE)
def test_two_solvers_confirm_a_certificate(name: str) -> None:
    report = SAMPLE[name]()
    text = text_of(report)
    for solver in SOLVERS:
        found = audited(text, solver)
        assert found.verdict == report.verdict.value
        assert found.status is Status.CONFIRMED
        assert {c.status for c in found.confirmations} == {Status.CONFIRMED}


def test_bitwuzla_answers_bit_vector_questions_and_says_so_of_others() -> None:
    """Where nothing but another symbol bounds ``i``, only integers will do."""
    assert audited(text_of(swizzled()), "bitwuzla").status is Status.CONFIRMED
    found = audited(text_of(guarded()), "bitwuzla")
    assert (found.status, found.verdict) == (Status.INEXPRESSIBLE, "undecided")
    assert {(c.status, c.reason) for c in found.confirmations} == {
        (Status.INEXPRESSIBLE, "not a bit-vector question")
    }


def test_affine_questions_are_asked_in_both_theories() -> None:
    found = audited(text_of(examples()["misaligned.toml 0"]), "cvc5")
    assert {tuple(r.answer for r in c.replies) for c in found.confirmations} == {
        ("sat", "sat"), ("unsat", "unsat"),
    }  # fmt: skip


# Changes that come with a digest that fits: the answers tell them.


def _flip(id: str) -> Callable[[Content], None]:
    def change(changed: Content) -> None:
        entry = obligation(changed, id)
        entry["expect"] = {"sat": "unsat", "unsat": "sat"}[entry["expect"]]

    return change


def _replace(id: str, old: str, new: str, theory: int = 0) -> Callable[[Content], None]:
    def change(changed: Content) -> None:
        script = obligation(changed, id)["scripts"][theory]
        assert script["smtlib"].count(old) == 1
        script["smtlib"] = script["smtlib"].replace(old, new)

    return change


def _drop_the_premise(changed: Content) -> None:
    script = obligation(changed, "ld.in-bounds")["scripts"][0]
    lines = script["smtlib"].splitlines()
    (negative,) = [line.split()[1] for line in lines if "(< |i:symbol:0| 0)" in line]
    (premise,) = [line.split()[1] for line in lines if line.endswith(f"Bool (not {negative}))")]
    lines.remove(f"(assert {premise})")
    script["smtlib"] = "\n".join([*lines, ""])


def _forbid_the_premises(changed: Content) -> None:
    for script in changed["premises"]["scripts"]:
        script["smtlib"] = script["smtlib"].replace("(check-sat)", "(assert false)\n(check-sat)")


def _move_the_witness(changed: Content) -> None:
    (script,) = obligation(changed, "ld.aligned")["scripts"]
    moved = re.sub(r"(\|i:symbol:\d+\| \(_) bv1 ", r"\1 bv0 ", script["witness"])
    assert moved != script["witness"]
    script["witness"] = moved


def _verdict(verdict: str) -> Callable[[Content], None]:
    return lambda changed: changed.__setitem__("verdict", verdict)


CONTRADICTED: dict[str, tuple[Callable[[], Report], Callable[[Content], None]]] = {
    "a proof passed off as a refutation": (guarded, _flip("ld.contiguous")),
    "a refutation passed off as a proof": (swizzled, _flip("ld.aligned")),
    "a premise left out": (guarded, _drop_the_premise),
    "a larger modulus": (guarded, _replace("ld.aligned", " 16))", " 32))")),
    "another stride": (
        guarded,
        _replace("ld.contiguous", "(* |word:element:4| 4))", "(* |word:element:4| 8))"),
    ),
    "a larger modulus in integers": (misaligned, _replace("ld.whole-register", "(mod t17 4)", "(mod t17 8)")),
    "a larger modulus in bits": (
        misaligned,
        _replace("ld.whole-register", "(bvand t17 (_ bv3 8))", "(bvand t17 (_ bv7 8))", 1),
    ),
    "premises that cannot hold": (guarded, _forbid_the_premises),
    "a witness that is none": (swizzled, _move_the_witness),
    "a verdict that does not follow": (guarded, _verdict("refuted")),
    "a better verdict": (swizzled, _verdict("proved")),
}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", CONTRADICTED)
def test_a_change_is_contradicted(name: str, solver: str) -> None:
    make, change = CONTRADICTED[name]
    changed = content(make())
    assert audited(sealed(changed), solver).status is Status.CONFIRMED
    change(changed)
    assert audited(sealed(changed), solver).status is Status.CONTRADICTED


def test_every_answer_is_compared() -> None:
    """Each recorded answer alone, turned over, is found."""
    original = content(guarded())
    for n in range(len(original["obligations"])):
        changed = json.loads(json.dumps(original))
        changed["obligations"][n]["expect"] = "sat"
        found = audited(sealed(changed), "z3")
        assert [c.status for c in found.confirmations].index(Status.CONTRADICTED) == n + 1


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (lambda c: c.update(premises=None), Status.UNKNOWN),
        (lambda c: c.update(obligations=[]), Status.UNKNOWN),
        (lambda c: c["obligations"][0].update(scripts=[]), Status.INEXPRESSIBLE),
        (lambda c: c["obligations"][0].update(expect=None), Status.CONFIRMED),
        (lambda c: c.update(verdict="undecided"), Status.UNCLAIMED),
        (lambda c: c.update(verdict="unsupported"), Status.UNCLAIMED),
    ],
)
def test_what_does_not_prove_the_verdict_does_not_confirm_it(change: Any, status: Status) -> None:
    changed = content(guarded())
    change(changed)
    assert audited(sealed(changed), "z3").status is status


@pytest.mark.parametrize("name", CONTRADICTED)
def test_a_change_without_a_new_digest_is_refused(name: str) -> None:
    make, change = CONTRADICTED[name]
    changed = content(make())
    change(changed)
    with pytest.raises(AuditError, match="was changed: its content has SHA-256"):
        read(json.dumps(changed))


def test_no_character_can_be_changed_unseen() -> None:
    text = text_of(guarded())
    original = json.loads(text)
    refused = 0
    for position in range(0, len(text), 7):
        changed = text[:position] + ("0" if text[position] != "0" else "1") + text[position + 1 :]
        try:
            read(changed)
        except AuditError:
            refused += 1
        else:
            assert json.loads(changed) == original
    assert refused > 1000


def test_no_part_is_a_certificate() -> None:
    text = text_of(guarded()).rstrip()
    for end in range(0, len(text), 97):
        with pytest.raises(AuditError, match="not a certificate: no JSON"):
            read(text[:end])


NONE = {
    "": "no JSON",
    "[": "no JSON",
    "[" * 100_000: "no JSON",
    "[]": "no 'format' and 'sha256'",
    "3": "no 'format' and 'sha256'",
    "{}": "no 'format' and 'sha256'",
    '{"format": 1}': "no 'format' and 'sha256'",
    '{"format": 2, "sha256": ""}': "format 2: this version reads certificates of format 1",
    '{"format": 1, "sha256": 3}': "was changed",
}


@pytest.mark.parametrize("text", NONE, ids=lambda text: text[:40] or "nothing")
def test_what_is_no_certificate(text: str) -> None:
    with pytest.raises(AuditError, match=NONE[text]):
        read(text)
    with pytest.raises(AuditError, match="no JSON"):
        read(b"\xff" + text.encode())


def _put(*path: Any, value: Any) -> Callable[[Content], None]:
    def change(changed: Any) -> None:
        *above, last = path
        for key in above:
            changed = changed[key]
        if value is None:
            del changed[last]
        else:
            changed[last] = value

    return change


FIRST = ("obligations", 0, "scripts", 0)


def _script(text: str) -> Callable[[Content], None]:
    return _put(*FIRST, "smtlib", value=text)


HEAD, END = "(set-logic QF_LIA)\n(declare-const x Int)\n", "(check-sat)\n"

DAMAGED: list[tuple[Callable[[Content], None], str]] = [
    (_put("verdict", value=None), "the certificate: the key 'verdict' is missing"),
    (_put("verdict", value="certain"), "unknown verdict 'certain'"),
    (_put("verdict", value=1), "'verdict' must be str, not int"),
    (_put("call", value=[]), "'call' must be dict, not list"),
    (_put("call", "operands", value=[3]), "an operand must be dict, not int"),
    (_put("call", "opcode", value="ld\x1b[2J"), "call: 'opcode' must be printable"),
    (_put("premises", value="x"), "'premises' must be dict or null, not str"),
    (_put("premises", "expect", value="yes"), "premises: 'expect' is sat, unsat or null, not 'yes'"),
    (_put("obligations", value=None), "the key 'obligations' is missing"),
    (_put("obligations", 1, value=7), "obligation 2 must be dict, not int"),
    (_put("obligations", 0, "id", value=None), "obligation 1: the key 'id' is missing"),
    (_put("obligations", 0, "id", value="\n"), "obligation 1: 'id' must be printable"),
    (_put("obligations", 0, "decides", value=1), "obligation 1: 'decides' must be bool, not int"),
    (_put("obligations", 0, "scripts", value={}), "obligation 1: 'scripts' must be list, not dict"),
    (_put(*FIRST, value=""), "obligation 1, script 1 must be dict, not str"),
    (_put(*FIRST, "witness", value=[]), "obligation 1, script 1: 'witness' must be str, not list"),
    (_put(*FIRST, "witness", value="(exit)"), "has the command 'exit'"),
    (_put(*FIRST, "witness", value=")"), r"has '\)' outside of a command"),
    (_script(""), "does not end in"),
    (_script(HEAD), "does not end in"),
    (_script(END), "must begin with one of the logics QF_BV, QF_LIA, QF_NIA"),
    (_script("(set-logic ALL)\n" + END), "must begin with one of the logics"),
    (_script(HEAD + '(echo "unsat")\n' + END), "cannot be read at"),
    (_script(HEAD + "(echo unsat)\n" + END), "has the command 'echo'"),
    (_script(HEAD + END + END), "has the command 'check-sat'"),
    (_script(HEAD + "(push 1)\n" + END), "has the command 'push'"),
    (_script(HEAD + "(set-option :rlimit 1)\n" + END), "has the command 'set-option'"),
    (_script(HEAD + "(set-logic QF_BV)\n" + END), "has the command 'set-logic'"),
    (_script(HEAD + "()\n" + END), "has the command ''"),
    (_script(HEAD + "; unsat\n" + END), "cannot be read at '; unsat"),
    (_script(HEAD + "(assert (= x |3)\n" + END), "cannot be read at"),
    (_script(HEAD + "(assert\n" + END), "ends inside a command"),
    (_script(HEAD + "unsat\n" + END), "has 'unsat' outside of a command"),
]


@pytest.mark.parametrize(("change", "message"), DAMAGED, ids=[m for _, m in DAMAGED])
def test_a_damaged_certificate_is_refused(change: Callable[[Content], None], message: str) -> None:
    changed = content(guarded())
    change(changed)
    with pytest.raises(AuditError, match=message):
        read(sealed(changed))


@pytest.mark.parametrize("solver", ["z3", "cvc5", "bitwuzla"])
@pytest.mark.parametrize("text", ["(assert (= y x))", "(assert x)", "(assert (bvadd x 1))"])
def test_a_question_that_a_solver_cannot_read(solver: str, text: str) -> None:
    logic = "QF_BV" if solver == "bitwuzla" else "QF_LIA"
    sort = "(_ BitVec 4)" if solver == "bitwuzla" else "Int"
    changed = content(guarded())
    _script(f"(set-logic {logic})\n(declare-const x {sort})\n{text}\n(check-sat)\n")(changed)
    first = changed["obligations"][0]["id"]
    with pytest.raises(SolverError, match=f"^{first}: {solver} cannot read the question: "):
        audited(sealed(changed), solver)


# Solvers


SAT = "(set-logic QF_BV)\n(declare-const x (_ BitVec 8))\n(assert (= (bvmul x x) (_ bv1 8)))\n(check-sat)\n"


@pytest.mark.parametrize("solver", solvers.SOLVERS)
def test_a_solver_answers(solver: str) -> None:
    assert asker(solver)(SAT).answer == "sat"
    assert asker(solver)(SAT.replace("bv1", "bv2")).answer == "unsat"
    assert version(solver)[0].isdigit()


@pytest.mark.parametrize(
    ("solver", "limit", "few"),
    [
        ("z3", "Z3_UNITS", 50),
        ("cvc5", "CVC5_UNITS", 1),
        ("cvc5", "LONGEST_MS", 1),
        ("bitwuzla", "LONGEST_MS", 1),
    ],
)
def test_a_spent_budget_is_no_answer(
    monkeypatch: pytest.MonkeyPatch, solver: str, limit: str, few: int
) -> None:
    """Factors of a product of primes: nobody is quick at that."""
    sort = "(_ BitVec 80)"
    hard = (
        f"(set-logic QF_BV)\n(declare-const x {sort})\n(declare-const y {sort})\n"
        f"(assert (= (bvmul x y) (_ bv{1_000_000_007 * 998_244_353} 80)))\n"
        "(assert (bvult (_ bv1 80) x))\n(assert (bvult x y))\n(assert (bvult y (_ bv1099511627776 80)))\n"
        "(check-sat)\n"
    )
    monkeypatch.setattr(solvers, limit, few)
    reply = asker(solver)(hard)
    assert reply.answer == "unknown"
    assert reply.reason


@pytest.mark.parametrize("solver", solvers.SOLVERS)
def test_a_solver_that_is_missing(monkeypatch: pytest.MonkeyPatch, solver: str) -> None:
    message = rf"{solver} is not installed; pip install 'tileproof\[audit\]'"
    monkeypatch.setitem(sys.modules, solver, None)
    with pytest.raises(SolverError, match=message):
        asker(solver)(SAT)

    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(SolverError, match=message):
        version(solver)


def test_an_unknown_solver() -> None:
    with pytest.raises(SolverError, match="unknown solver 'yices'; the solvers are z3, cvc5, bitwuzla"):
        asker("yices")(SAT)


def test_ctrl_c_stops_an_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Z3 takes the signal itself and calls it its reason for not knowing."""
    import z3

    monkeypatch.setattr(z3.Solver, "check", lambda self: z3.unknown)
    monkeypatch.setattr(z3.Solver, "reason_unknown", lambda self: "interrupted from keyboard")
    with pytest.raises(KeyboardInterrupt):
        asker("z3")(SAT)


@pytest.mark.parametrize("solver", solvers.SOLVERS)
def test_an_audit_loads_no_layouts_contracts_or_simplifier(tmp_path: Path, solver: str) -> None:
    path = tmp_path / "certificate.json"
    path.write_text(text_of(swizzled()), encoding="utf-8")
    program = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from tileproof.cli import app\n"
        "result = CliRunner().invoke(app, ['audit', '--solver', *sys.argv[1:]])\n"
        "print(result.exit_code, *(m for m in sys.modules if m.startswith('tileproof')))\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program, solver, str(path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    code, *loaded = finished.stdout.split()
    assert code == "0"
    assert set(loaded) == {
        "tileproof",
        "tileproof.cli",
        "tileproof.console",
        "tileproof.errors",
        "tileproof.fuzz",
        "tileproof.fuzz.commands",
        "tileproof.proofs",
        "tileproof.proofs.audit",
        "tileproof.proofs.solvers",
        "tileproof.report",
        "tileproof.report.audited",
        "tileproof.report.version",
    }
