"""Disagreements become small files that show them again, and examples of Hypothesis tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.database import DirectoryBasedExampleDatabase, InMemoryExampleDatabase

import tileproof as tp
from tileproof.errors import FuzzError
from tileproof.fuzz.agreement import compare
from tileproof.fuzz.backend.brute_force import look
from tileproof.fuzz.build import checked
from tileproof.fuzz.example import Example
from tileproof.fuzz.failures import (
    Failure,
    database_at,
    failures,
    key_of,
    kind_of,
    known_failures,
    program,
    save,
    saved,
    write_failures,
)
from tileproof.fuzz.families import generate, mnemonics
from tileproof.fuzz.generate.choices import Choices
from tileproof.fuzz.oracle.description import Call
from tileproof.fuzz.rows import Chunk, Row, choices_of
from tileproof.fuzz.store import Identity, Store
from tileproof.fuzz.strategies import calls
from tileproof.spec.files import check_file

ROOT = Path(__file__).parents[2]
SEED = 3
VIEWS = 60


def swizzled(family: str, choices: Choices, seed: int = 0, number: int = 0) -> Row:
    """Finds fault with each call that has a swizzle."""
    call = generate(family, choices)
    faults = ("unsound: 5 words at {}",) if call.memory.swizzle else ()
    return Row(family, seed, number, call.opcode, call.scope, "proved", faults=faults)


def store_of_swizzles(path: Path) -> Store:
    store = Store.create(path, Identity(SEED, "brute-force", ""))
    run = store.begin_run("", ["ld"], VIEWS, "", {})
    rows = [swizzled("ld", choices_of(SEED, n), SEED, n) for n in range(VIEWS)]
    store.write(run, Chunk("ld", SEED, 0, VIEWS), rows, 1.0)
    return store


def test_a_failure_of_each_kind_is_made_small(tmp_path: Path) -> None:
    with store_of_swizzles(tmp_path / "a.sqlite") as store:
        first = next(row for row in store.rows() if row.faults)
        (found,) = failures(store, swizzled, 5)
        (as_it_was,) = failures(store, None, 5)
        assert failures(store, swizzled, 0) == []
    assert (found.family, found.number, found.kind) == ("ld", first.number, "unsound:  words")
    assert found.call.memory.swizzle is not None
    assert as_it_was.call == generate("ld", choices_of(SEED, first.number))
    assert len(found.choices) < len(as_it_was.choices)
    # Nothing is left of the call but what the fault needs.
    assert not found.call.symbols
    assert found.call.guard is None


def test_a_view_that_died_is_not_looked_at_again(tmp_path: Path) -> None:
    with Store.create(tmp_path / "a.sqlite", Identity(SEED, "brute-force", "")) as store:
        run = store.begin_run("", ["ld"], 1, "", {})
        row = Row("ld", SEED, 0, "", "", "died", faults=("died: killed by SIGKILL",))
        store.write(run, Chunk("ld", SEED, 0, 1), [row], 1.0)

        def never(family: str, choices: Choices) -> Row:
            raise AssertionError

        (found,) = failures(store, never, 5)
    assert found.call == generate("ld", choices_of(SEED, 0))


def test_faults_of_a_kind_differ_in_numbers_and_places() -> None:
    assert kind_of("unsound: aligned fails at {'i': 3}, but") == kind_of("unsound: aligned fails at {'i': 4}")
    assert kind_of("unsound: aligned fails") != kind_of("unsound: contiguous fails")


def failure(family: str, number: int) -> Failure:
    choices = choices_of(SEED, number)
    generate(family, choices)
    return Failure(family, SEED, number, "kind", ("a fault\nof two lines",), tuple(choices.drawn))


def test_every_view_can_be_written_and_read_back(tmp_path: Path) -> None:
    specs = 0
    for family in mnemonics():
        for number in range(25):
            kept = failure(family, number)
            call = generate(family, choices_of(SEED, number))
            assert kept.call == call
            (path,) = write_failures([kept], tmp_path / "failures")
            text = path.read_text(encoding="utf-8")
            head = [line for line in text.splitlines() if line.startswith("#")]
            assert head[:2] == ["# DISAGREEMENT a fault", "# of two lines"]
            if path.suffix == ".toml":
                (again,) = check_file(path)
                assert again.report.verdict is checked(call).verdict
                specs += 1
            else:
                namespace: dict[str, object] = {}
                exec(compile(text, str(path), "exec"), namespace)  # noqa: S102 - the file was just written
                assert namespace["call"] == call
    assert specs > 20 * len(mnemonics())


def test_a_program_shows_both_opinions(tmp_path: Path) -> None:
    script = tmp_path / "call.py"
    script.write_text(program(generate("cp.async", choices_of(SEED, 1))), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    finished = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=True, env=environment
    )
    assert "\nlibrary: " in finished.stdout
    assert "\nbrute force: Outcome(" in finished.stdout


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FuzzError, match="cannot be made"):
        write_failures([failure("ld", 0)], tmp_path / "file" / "failures")


# Example databases.


def test_choices_are_kept_in_an_example_database(tmp_path: Path) -> None:
    found = [failure("ld", 1), failure("ld", 2), failure("st", 1)]
    save(found, database_at(str(tmp_path / "examples")))
    database = DirectoryBasedExampleDatabase(tmp_path / "examples")
    assert {json.loads(v) == list(f.choices) for v in database.fetch(key_of("st")) for f in found[2:]} == {
        True
    }
    expected = {f.call for f in found[:2]}
    assert set(saved("ld", database)) == expected
    assert saved("ldmatrix", database) == []


def test_known_failures_are_the_first_examples_of_a_test() -> None:
    database = InMemoryExampleDatabase()
    kept = [failure("ld", n) for n in (1, 2)]
    save(kept, database)
    seen: list[Example] = []

    @known_failures("ld", database)
    @settings(phases=[Phase.explicit], suppress_health_check=list(HealthCheck))
    @given(calls("ld"))
    def test(call: Example) -> None:
        seen.append(call)

    test()
    assert {example.description for example in seen} == {f.call for f in kept}


def test_a_known_failure_fails_its_test() -> None:
    database = InMemoryExampleDatabase()
    save([failure("ld", 1)], database)

    @known_failures("ld", database)
    @settings(phases=[Phase.explicit])
    @given(calls("ld"))
    def test(call: Example) -> None:
        assert compare(call.description).verdict == "no such verdict"

    with pytest.raises(AssertionError):
        test()


def test_databases_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FuzzError, match=r"neither a folder nor redis://host:port"):
        database_at("http://localhost")
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(FuzzError, match=r"needs Redis's client: pip install 'tileproof\[redis\]'"):
        database_at("redis://localhost:1")
    monkeypatch.setitem(sys.modules, "hypothesis.database", None)
    with pytest.raises(FuzzError, match=r"pip install 'tileproof\[fuzz\]'"):
        database_at("examples")


# Brute force as a backend.


def test_brute_force_tells_what_both_say() -> None:
    row = look("ld", choices_of(SEED, 4), SEED, 4)
    call = generate("ld", choices_of(SEED, 4))
    comparison = compare(call)
    assert (row.verdict, set(row.refuted), row.faults) == (comparison.verdict, comparison.refuted, ())
    assert (row.opcode, row.scope) == (call.opcode, call.scope)


def test_an_undocumented_exception_is_a_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(call: Call) -> tp.Report:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("tileproof.fuzz.agreement.checked", broken)
    row = look("ld", Choices.replayed(()))
    assert replace(row, milliseconds={}) == Row(
        "ld", 0, 0, row.opcode, row.scope, "raised", faults=("raised ZeroDivisionError: by zero",)
    )
