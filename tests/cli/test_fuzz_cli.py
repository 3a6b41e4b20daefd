"""``tileproof fuzz`` as a user meets it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner, Result

from tests.fuzz.chunks import plain
from tileproof.cli import app
from tileproof.fuzz.agreement import written
from tileproof.fuzz.backend.brute_force import look
from tileproof.fuzz.campaign import generator
from tileproof.fuzz.families import generate
from tileproof.fuzz.rows import Chunk, choices_of
from tileproof.fuzz.store import Identity, Store

ROOT = Path(__file__).parents[2]


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["fuzz", *map(str, arguments)], prog_name="tileproof")


def finished(path: Path, *, faulty: int | None = None) -> Path:
    """A store with all of a small campaign over ld and st, in which one view may be a disagreement."""
    with Store.create(path, Identity(2, "brute-force", generator())) as store:
        number = store.begin_run("2026-01-01T00:00:00+00:00", ["ld", "st"], 60, "here", {"numpy": "2.0"})
        for family in ("ld", "st"):
            chunk = Chunk(family, 2, 0, 30)
            rows = [replace(row, faults=()) for row in plain(chunk)]
            if faulty is not None and family == "st":
                rows[faulty] = replace(
                    rows[faulty], faults=("unsound: proved, but it is made up at {'i': 3}",)
                )
            store.write(number, chunk, rows, 2.0)
    return path


def test_a_report_of_a_store(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    result = run("report", finished(tmp_path / "a.sqlite"))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == snapshot


def test_a_disagreement_is_told_and_written(tmp_path: Path) -> None:
    path = finished(tmp_path / "a.sqlite", faulty=4)
    result = run("report", path)
    assert result.exit_code == 1
    assert "DISAGREEMENTS" in result.stdout
    assert "unsound: proved, but it is made up  tileproof fuzz show st 2 4" in result.stdout
    # Nothing is left to be run; what is wrong is written all the same.
    result = run("run", "--family", "ld", "--family", "st", "--views", 60, "--seed", 2, "--store", path)
    assert result.exit_code == 1
    (written,) = (tmp_path / "a.sqlite.failures").glob("st-2-4.*")
    assert result.stderr == f"tileproof: a disagreement is written to {written}\n"
    assert "made up" in written.read_text(encoding="utf-8")
    assert any(p.is_file() for p in (tmp_path / "a.sqlite.failures" / "examples").rglob("*"))


def test_a_report_as_json(tmp_path: Path) -> None:
    found = json.loads(run("report", finished(tmp_path / "a.sqlite", faulty=4), "--json").stdout)
    assert (found["format"], found["seed"], found["views"], found["disagreeing"]) == (1, 2, 60, 1)
    assert sum(found["families"]["st"]["verdicts"].values()) == found["families"]["st"]["views"] == 30
    assert sum(found["families"]["st"]["forms"].values()) == 30
    assert found["families"]["ld"]["refuted"]["no-overflow"] == 0
    (disagreement,) = found["disagreements"]
    assert (disagreement["family"], disagreement["number"], disagreement["views"]) == ("st", 4, 1)
    assert found["runs"][0]["versions"] == {"numpy": "2.0"}
    assert found["per_second"] == 30


@pytest.mark.parametrize("command", [[], ["run"]])
def test_a_campaign(tmp_path: Path, command: list[str]) -> None:
    path = tmp_path / "a.sqlite"
    options = ["--family", "stmatrix", "--views", 40, "--seed", 2, "--store", path]
    result = run(*command, *options, "--processes", 1)  # type: ignore[arg-type]
    assert (result.exit_code, result.stderr) == (0, "")
    assert "stmatrix: 40 views" in result.stdout
    with Store.open(path) as store:
        assert store.done() == {"stmatrix": [range(40)]}
        assert [replace(r, milliseconds={}) for r in store.rows()] == [
            replace(look("stmatrix", choices_of(2, n), 2, n), milliseconds={}) for n in range(40)
        ]
    again = run(*command, *options)  # type: ignore[arg-type]
    assert again.stdout == result.stdout


def test_a_view_in_full() -> None:
    result = run("show", "ldmatrix", 1, 0)
    assert (result.exit_code, result.stderr) == (0, "")
    compile(result.stdout, "view", "exec")
    assert f"call = {written(generate('ldmatrix', choices_of(1, 0)))}\n" in result.stdout
    assert f"\n# library: {look('ldmatrix', choices_of(1, 0)).verdict}, refuted" in result.stdout
    assert "\n# brute force: Outcome(" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--family", "lds"], "tileproof: no family 'lds'; there are "),
        (["--views", "-3"], "Invalid value for '--views'"),
        (["--views", "0"], "Invalid value for '--views'"),
        (["--seed", "-1"], "Invalid value for '--seed'"),
        (["--processes", "0"], "Invalid value for '--processes'"),
        (["--time", "soon"], "tileproof: --time 'soon': a time is a number of seconds, or such as 90s"),
        (["--backend", "cpu"], "tileproof: no backend 'cpu'; there are brute-force"),
        (["--dask", "nowhere"], "tileproof: no Dask scheduler at 'nowhere'"),
        (["--database", "http://here"], "tileproof: --database http://here: neither a folder nor redis://"),
        (["--store", "/dev/null/a.sqlite"], "tileproof: /dev/null/a.sqlite: "),
        (["--store", "none/a.sqlite"], "tileproof: none/a.sqlite: cannot be opened; does its folder exist"),
        (["--store", str(ROOT / "README.md")], "README.md: not the store of a campaign; name another file"),
        (["--store", str(ROOT)], ": a folder; name a file"),
        (["--seed", "3", "report", "a.sqlite"], "write --seed after report, not before it"),
        (["report", "none.sqlite"], "tileproof: none.sqlite: no such store"),
        (["report", str(ROOT / "README.md")], "README.md: not the store of a campaign"),
        (["show", "lds", "1", "0"], "tileproof: no family 'lds'"),
        (["show", "all", "1", "0"], "tileproof: no family 'all'"),
        (["show", "ld", "1", "-1"], "No such option: -1|Invalid value"),
        (["paint"], "No such command 'paint'"),
    ],
)
def test_what_cannot_be_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tileproof.fuzz.distributed.CONNECT_S", "1s")
    result = run(*arguments)
    assert result.exit_code == 2
    text = " ".join(result.stderr.replace("│", " ").split())
    assert any(part in text for part in message.split("|"))
    assert result.exception is None or isinstance(result.exception, SystemExit)


def test_a_store_of_another_campaign(tmp_path: Path) -> None:
    result = run("--store", finished(tmp_path / "a.sqlite"), "--views", 60, "--seed", 3)
    assert result.exit_code == 2
    assert "holds a campaign of seed 2, asked was seed 3; leave the option out to resume it" in result.stderr


def test_the_command_line_stays_quick() -> None:
    """Help, and every other command, loads neither a solver nor what campaigns need."""
    heavy = {"z3", "numpy", "sympy", "hypothesis", "distributed", "rich.progress", "sqlite3"}
    program = "import sys, tileproof.cli; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert not heavy & set(loaded.stdout.split())


def test_maps_of_what_is_no_machine_are_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["fuzz", "record", "--backend", "paper", "--output", str(tmp_path)])
    assert result.exit_code == 2
    assert result.stderr == "tileproof: no maps are recorded of 'paper'; there are gpu and simulate\n"
    assert not list(tmp_path.iterdir())


def test_maps_of_a_gpu_need_one(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["fuzz", "record", "--output", str(tmp_path / "maps")])
    assert result.exit_code == 2
    assert "there is no NVIDIA driver on this machine" in result.stderr
    assert not (tmp_path / "maps").exists()
