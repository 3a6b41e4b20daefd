"""Python programs as input: their reports, and every way in which they may fail."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tileproof.proofs.verdict import Verdict
from tileproof.spec.errors import SpecError
from tileproof.spec.files import check_file
from tileproof.spec.script import check_script

VIEWS = """
import tileproof as tp
a = tp.tensor("A", (64,), "float32")
r = tp.tensor("R", (4,), "float32", "registers")
"""


def program(folder: Path, text: str) -> Path:
    path = folder / "program.py"
    path.write_text(VIEWS + text, encoding="utf-8")
    return path


def verdicts(path: Path) -> list[str]:
    return [checked.report.verdict.name for checked in check_script(path)]


def test_a_report_and_a_list_of_reports(tmp_path):
    path = program(
        tmp_path,
        """
report = tp.check("ld.global.v4.b32", r, a[0:4])
reports = [report, tp.check("ld.global.v4.b32", r, a[2:6]), "no report"]
other = tp.check("ld.global.v4.b32", r, a[4:8])
""",
    )
    assert verdicts(path) == ["PROVED", "REFUTED"]


def test_reports_by_name(tmp_path):
    path = program(tmp_path, "reports = {'one': tp.check('ld.global.v4.b32', r, a[1:5])}")
    assert verdicts(path) == ["REFUTED"]


def test_what_a_program_fails_to_prove_is_its_report(tmp_path):
    path = program(
        tmp_path, "report = tp.check('ld.global.v4.b32', r, a[0:4])\ntp.prove('ld.global.v4.b32', r, a[1:5])"
    )
    assert verdicts(path) == ["REFUTED"]


def test_a_program_is_imported_and_not_main(tmp_path):
    (tmp_path / "beside.py").write_text("start = 4\n", encoding="utf-8")
    path = program(
        tmp_path,
        """
from beside import start
report = tp.check("ld.global.v4.b32", r, a[start : start + 4])
if __name__ == "__main__":
    raise SystemExit("this must not run")
""",
    )
    before = list(sys.path)
    assert verdicts(path) == ["PROVED"]
    assert sys.path == before


def test_what_a_program_prints_is_kept_out_of_the_answer(tmp_path, capsys):
    path = program(tmp_path, "print('aside')\nreport = tp.check('ld.global.v4.b32', r, a[0:4])")
    check_script(path)
    assert capsys.readouterr() == ("", "aside\n")


FAILURES = [
    ("", "program.py: no reports: assign what tp.check returns"),
    ("report = 3", "program.py: no reports"),
    ("1 / 0", "program.py:5: ZeroDivisionError: division by zero"),
    ("def f():\n    return g()\n\n\nf()", "program.py:6: NameError: name 'g' is not defined"),
    ("import nosuchmodule", "program.py:5: ModuleNotFoundError: No module named 'nosuchmodule'"),
    ("x = (", "program.py:5: SyntaxError: '(' was never closed"),
    ("x = '\x00'", "null bytes"),
    ("import sys\nsys.exit(0)", "program.py: ended itself by SystemExit(0) before its reports could be read"),
    ("def f(): return f()\nf()", "RecursionError: maximum recursion depth exceeded"),
    ("raise GeneratorExit", "program.py:5: GeneratorExit"),
    ("a[0:4].permute(1)", "program.py:5: A: permute needs each of the dimensions 0..0 once"),
    ("tp.check('ld.nosuch', r, a)", "program.py:5: 'ld.nosuch': '.nosuch' (qualifier 1)"),
    ("tp.check('ld.global.b32', r)", "program.py:5: ld.global.b32 takes 2 operands"),
]


@pytest.mark.parametrize(("text", "message"), FAILURES)
def test_a_program_that_fails(tmp_path, text, message):
    path = program(tmp_path, text)
    with pytest.raises(SpecError) as caught:
        check_script(path)
    assert message in str(caught.value)
    assert "Traceback" not in str(caught.value)


def test_a_program_that_is_stopped_is_stopped(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        check_script(program(tmp_path, "raise KeyboardInterrupt"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.py", "cannot be read: no such file"),
        ("folder.py", "cannot be read: is a directory"),
        ("spec.yaml", "neither a spec (.toml, .json) nor a Python program (.py)"),
        ("", "neither a spec (.toml, .json) nor a Python program (.py)"),
    ],
)
def test_what_is_no_program(tmp_path, name, message):
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(SpecError) as caught:
        check_file(tmp_path / name)
    assert message in str(caught.value)


STORE = "report = tp.check('st.global.b32', a[0:1], r[0:1], block=64)"


@pytest.mark.parametrize(
    ("hazards", "verdict", "count"),
    [
        (None, Verdict.PROVED, 1),
        ("warn", Verdict.PROVED, 1),
        ("ignore", Verdict.PROVED, 0),
        ("error", Verdict.REFUTED, 0),
    ],
)
def test_a_policy_for_hazards_applies_to_finished_reports(tmp_path, hazards, verdict, count):
    (checked,) = check_file(program(tmp_path, STORE), hazards)
    assert checked.report.verdict is verdict
    assert len(checked.report.hazards) == count
