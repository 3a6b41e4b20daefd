"""The doctor finds what is there and says how to get what is not."""

from __future__ import annotations

import pytest

from tileproof.emit.assemble import available_assemblers
from tileproof.report import doctor as module
from tileproof.report.doctor import doctor


def rows(title: str) -> dict[str, str]:
    sections, _ = doctor()
    (section,) = [s for s in sections if s.title == title]
    return {row[0]: row[1] for row in section.rows}


def test_what_is_required_is_here() -> None:
    sections, healthy = doctor()
    assert healthy
    assert [s.title for s in sections] == ["Required", "Solvers for audits", "Assemblers", "GPUs"]
    assert rows("Required")["z3-solver"][0].isdigit()


def test_a_required_package_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(module.REQUIRED, "no-such-package", "no_such_module")
    assert doctor()[1] is False
    assert rows("Required")["no-such-package"] == (
        "MISSING: No module named 'no_such_module'; pip install no-such-package"
    )


def test_an_auditor_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(module.AUDITORS, "no-such-solver", "no_such_module")
    assert rows("Solvers for audits")["no-such-solver"] == "not installed: pip install 'tileproof[audit]'"
    assert doctor()[1] is True


def test_assemblers_are_those_that_work(monkeypatch: pytest.MonkeyPatch) -> None:
    working = {info.name for info in available_assemblers()}
    shown = rows("Assemblers")
    assert {name for name in ("nvjitlink", "ptxas") if not shown[name].startswith("not installed")} == working
    monkeypatch.setattr(module, "available_assemblers", lambda: ())
    assert rows("Assemblers")["ptxas"].startswith("not installed: pip install 'tileproof[ptxas]'")
