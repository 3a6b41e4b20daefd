"""Certificates: they record the plain question, all that was said of the call, and the same bytes on every run."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tileproof as tp
from tests.proofs.certified import (
    Content,
    content,
    described,
    guarded,
    obligation,
    swizzled,
    text_of,
)
from tileproof import laneid
from tileproof.errors import InternalError
from tileproof.proofs import certificate as certificates
from tileproof.proofs import discharge
from tileproof.proofs.audit import digest, read
from tileproof.proofs.certificate import certificate, certificate_text
from tileproof.proofs.solvers import Reply, asker
from tileproof.report.version import tileproof_version

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "tileproof"


def test_what_a_certificate_says() -> None:
    found = content(guarded())
    assert list(found) == [
        "format", "tileproof", "solver", "verdict", "reason", "call", "premises", "obligations", "sha256",
    ]  # fmt: skip
    assert (found["format"], found["tileproof"], found["verdict"]) == (1, tileproof_version(), "proved")
    assert re.fullmatch(r"z3 \d+(\.\d+)+", found["solver"])
    assert found["sha256"] == digest(found)
    assert found["call"] == {
        "opcode": "ld.global.v4.b32",
        "scope": "thread",
        "block": [32, 1, 1],
        "cluster": None,
        "active": "i >= 0 and 4*i + 4 <= n",
        "assume": [],
        "parameters": {},
        "symbols": [
            {"name": "i", "lo": None, "hi": None, "multiple_of": 1, "uniform": "grid"},
            {"name": "n", "lo": 1, "hi": 1000, "multiple_of": 1, "uniform": "grid"},
        ],
        "operands": [
            {
                "name": "R",
                "storage": {"name": "R", "space": "registers", "align": 1, "bytes": "16"},
                "tensor": {"offset": "0", "dtype": "uint32", "shape": ["4"], "layout": "(4):(1)"},
                "view": {"dtype": "uint32", "shape": ["4"], "coordinates": ["x0"], "regions": []},
            },
            {
                "name": "A",
                "storage": {"name": "A", "space": "global", "align": 256, "bytes": "4*n"},
                "tensor": {"offset": "0", "dtype": "uint32", "shape": ["n"], "layout": "(n):(1)"},
                "view": {
                    "dtype": "uint32",
                    "shape": ["4"],
                    "coordinates": ["x0 + 4*i"],
                    "regions": [{"dimension": 0, "start": "4*i", "extent": 4, "size": "n"}],
                },
            },
        ],
    }
    assert {key for entry in found["obligations"] for key in entry} == {
        "id", "sentence", "section", "hazard", "decides", "verdict", "method", "reason", "counterexample",
        "expect", "scripts",
    }  # fmt: skip
    for entry in found["obligations"]:
        assert (entry["verdict"], entry["expect"], entry["decides"], entry["counterexample"]) == (
            "proved", "unsat", True, None,
        )  # fmt: skip
        for script in entry["scripts"]:
            assert list(script) == ["smtlib", "witness", "ranges", "resources"]
            assert script["resources"] > 0


def test_a_question_is_the_premises_with_the_claim_denied() -> None:
    """One question in full: what a reader has to believe."""
    registers = tp.tensor("R", (2,), "b32", "registers")
    i = tp.symbol("i", 0, 7)
    report = tp.check("ld.global.v2.b32", registers, tp.tensor("A", (16,), "b32")[i : i + 2], active=i != 1)
    integers, vectors = obligation(content(report), "ld.in-bounds")["scripts"]
    assert vectors["smtlib"].startswith("(set-logic QF_BV)\n(declare-const |i:symbol:0| (_ BitVec ")
    assert integers["smtlib"] == (
        "(set-logic QF_LIA)\n"
        "(declare-const |i:symbol:0| Int)\n"
        "(define-fun t1 () Bool (<= 0 |i:symbol:0|))\n"
        "(define-fun t2 () Bool (<= |i:symbol:0| 7))\n"
        "(define-fun t3 () Bool (= |i:symbol:0| 1))\n"
        "(define-fun t4 () Bool (not t3))\n"
        "(declare-const |lane:thread:1| Int)\n"
        "(define-fun t6 () Bool (<= 0 |lane:thread:1|))\n"
        "(define-fun t7 () Bool (<= |lane:thread:1| 31))\n"
        "(define-fun t8 () Bool (< |lane:thread:1| 0))\n"
        "(define-fun t9 () Bool (not t8))\n"
        "(define-fun t10 () Bool (< |lane:thread:1| 32))\n"
        "(declare-const |warp:thread:2| Int)\n"
        "(define-fun t12 () Bool (<= 0 |warp:thread:2|))\n"
        "(define-fun t13 () Bool (<= |warp:thread:2| 0))\n"
        "(define-fun t14 () Bool (< |warp:thread:2| 0))\n"
        "(define-fun t15 () Bool (not t14))\n"
        "(define-fun t16 () Int (* |warp:thread:2| 32))\n"
        "(define-fun t17 () Int (+ t16 |lane:thread:1|))\n"
        "(define-fun t18 () Bool (< t17 32))\n"
        "(define-fun t19 () Bool (< |i:symbol:0| 0))\n"
        "(define-fun t20 () Bool (not t19))\n"
        "(define-fun t21 () Int (+ |i:symbol:0| 2))\n"
        "(define-fun t22 () Bool (< 16 t21))\n"
        "(define-fun t23 () Bool (not t22))\n"
        "(define-fun t24 () Bool (and t20 t23))\n"
        "(define-fun t25 () Bool (not t24))\n"
        "(assert t1)\n(assert t2)\n(assert t6)\n(assert t7)\n(assert t12)\n(assert t13)\n(assert t4)\n"
        "(assert t9)\n(assert t10)\n(assert t15)\n(assert t18)\n(assert t25)\n(check-sat)\n"
    )


def test_a_refutation_carries_its_counterexample() -> None:
    found = content(swizzled())
    entry = obligation(found, "ld.aligned")
    assert (found["verdict"], entry["verdict"], entry["expect"]) == ("refuted", "refuted", "sat")
    assert entry["counterexample"]["i"] == 1
    (script,) = entry["scripts"]
    assert re.search(r"^\(assert \(= \|i:symbol:\d+\| \(_ bv1 \d+\)\)\)$", script["witness"], re.MULTILINE)
    proved = [o for o in found["obligations"] if o["expect"] == "unsat"]
    assert not any(script["witness"] for o in proved for script in o["scripts"])


def test_hazards_stand_beside_the_verdict() -> None:
    memory, registers = tp.tensor("A", (4,), "b32"), tp.tensor("R", (4,), "b32", "registers")
    found = content(tp.check("st.global.v4.b32", memory, registers))
    entry = obligation(found, "st.write-conflict")
    assert (found["verdict"], entry["verdict"], entry["expect"]) == ("proved", "refuted", "sat")
    assert (entry["hazard"], entry["decides"]) == (True, False)
    strict = content(tp.check("st.global.v4.b32", memory, registers, hazards="error"))
    assert (strict["verdict"], obligation(strict, "st.write-conflict")["decides"]) == ("refuted", True)
    silent = content(tp.check("st.global.v4.b32", memory, registers, hazards="ignore"))
    assert "st.write-conflict" not in {o["id"] for o in silent["obligations"]}


def test_an_operand_that_does_not_fit_is_refuted_whatever_the_premises() -> None:
    """Its shape decides, so that nobody has asked whether a thread can reach the call."""
    found = content(tp.check("ld.global.v4.b32", *[tp.tensor("A", (4,), "b32")] * 2, active=laneid > 40))
    assert (found["verdict"], found["premises"]) == ("refuted", None)
    (entry,) = found["obligations"]
    assert (entry["id"], entry["expect"]) == ("ld.space", "sat")


def test_no_verdict_claims_nothing() -> None:
    unsupported = content(tp.check("ld.v4.f32", *[tp.tensor("A", (4,), "float32")] * 2))
    assert (unsupported["verdict"], unsupported["premises"], unsupported["obligations"]) == (
        "unsupported", None, [],
    )  # fmt: skip
    assert unsupported["reason"]
    x = tp.symbol("x", 0, 1000)
    memory, registers = tp.tensor("A", (2_100_000,), "b32"), tp.tensor("R", (4,), "b32", "registers")
    start = x * (x + 1) * 2
    undecided = content(tp.check("ld.global.v4.b32", registers, memory[start : start + 4], budget=1))
    assert undecided["verdict"] == "undecided"
    (entry,) = [o for o in undecided["obligations"] if o["verdict"] == "undecided"]
    assert (entry["id"], entry["expect"]) == ("ld.aligned", None)
    assert "budget" in entry["reason"]
    assert entry["scripts"], "whoever has more patience may ask"


# Plain


PLAIN = described(step=9, first=2)


@pytest.mark.parametrize("name", PLAIN)
def test_the_text_does_not_depend_on_the_simplifier(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without simplifying, everything goes to Z3, and the certificate asks the same."""
    simplified = content(PLAIN[name]())
    monkeypatch.setattr(discharge, "decide", lambda relation: relation)
    monkeypatch.setattr(discharge, "injective", lambda *hint: False)
    plain = content(PLAIN[name]())
    assert plain["verdict"] == simplified["verdict"]
    assert plain["premises"] == simplified["premises"]
    for one, other in zip(plain["obligations"], simplified["obligations"], strict=True):
        assert (one["id"], one["scripts"]) == (other["id"], other["scripts"])


def test_contracts_state_what_they_demand_and_do_not_simplify_it() -> None:
    """Except that the width of arithmetic speaks of what is emitted, which is simplified, and that a call
    guesses which threads its registers name and its guard leaves, which it then has to prove.
    """
    using: dict[str, set[str]] = {}
    for path in (PACKAGE / "contracts").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "tileproof.layouts.normal":
                names = {alias.name for alias in node.names} & {"simplify", "decide"}
                using.setdefault(path.name, set()).update(names)
    assert {name: names for name, names in using.items() if names} == {
        "call.py": {"simplify", "decide"},
        "width.py": {"simplify"},
    }


def test_a_certificate_that_z3_contradicts_is_never_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "asker", lambda solver: lambda text: Reply("sat"))
    with pytest.raises(InternalError, match="the verdict needs the answer unsat, and Z3 says sat"):
        certificate(guarded())


def test_what_z3_does_not_answer_in_time_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "asker", lambda solver: lambda text: Reply("unknown", "it is spent"))
    found = certificate(guarded())
    assert {script["resources"] for o in found["obligations"] for script in o["scripts"]} == {None}
    assert {o["expect"] for o in found["obligations"]} == {"unsat"}


# The same bytes


def test_the_same_call_gives_the_same_bytes_whatever_came_before() -> None:
    calls = described(step=10, first=1)
    first = {name: certificate_text(call()) for name, call in calls.items()}
    again = {name: certificate_text(calls[name]()) for name in reversed(list(calls))}
    assert first == again


@pytest.mark.parametrize("seed", ["1", "4711"])
def test_the_same_bytes_in_every_process(seed: str) -> None:
    program = (
        "import hashlib\n"
        "from tests.proofs.certified import described, guarded, swizzled, text_of\n"
        "calls = [guarded, swizzled, *described(step=30).values()]\n"
        "print(hashlib.sha256(''.join(text_of(call()) for call in calls).encode()).hexdigest())\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    calls = [guarded, swizzled, *described(step=30).values()]
    assert (
        finished.stdout.strip() == hashlib.sha256("".join(text_of(c()) for c in calls).encode()).hexdigest()
    )


def test_variables_of_one_name_are_told_apart() -> None:
    """A symbol, a tensor and a lane may be called alike."""
    lane = tp.symbol("lane", 0, 3)
    memory = tp.tensor("lane", (64,), "b32")
    report = tp.check("ld.global.b32", tp.tensor("R", (1,), "b32", "registers"), memory[lane : lane + 1])
    text = obligation(content(report), "ld.aligned")["scripts"][0]["smtlib"]
    assert set(re.findall(r"declare-const \|([^|]*)\|", text)) >= {
        "lane:symbol:3", "lane:thread:0", "lane:base:2",
    }  # fmt: skip


def test_a_certificate_survives_json(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text(text_of(swizzled()), encoding="utf-8")
    loaded: Content = json.loads(path.read_bytes())
    assert loaded == swizzled().certificate()
    assert read(path.read_bytes()) == read(text_of(swizzled()))


def test_the_counterexamples_of_a_report_satisfy_their_question() -> None:
    """With its values pinned, each question of a refuted obligation still has a point, in Z3's words."""
    ask, pinned = asker("z3"), 0
    for call in described(step=5).values():
        refuted = [o for o in content(call())["obligations"] if o["expect"] == "sat"]
        for script in (s for o in refuted for s in o["scripts"]):
            text = script["smtlib"].replace("(check-sat)", f"{script['witness']}\n(check-sat)")
            assert ask(text).answer == "sat"
            pinned += script["witness"].count("(assert")
    assert pinned > 40
