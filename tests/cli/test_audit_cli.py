"""``tileproof check --certificate`` and ``tileproof audit`` as a user meets them."""

from __future__ import annotations

import json
import re
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_cli import EXAMPLES, UNSUPPORTED, process, run
from tests.proofs.certified import content, guarded, obligation, sealed, text_of
from tileproof.proofs import solvers

PROVED, REFUTED = EXAMPLES / "ld_128bit.toml", EXAMPLES / "misaligned.toml"
VERSION = metadata.version("z3-solver")


@pytest.fixture
def proved(tmp_path: Path) -> Path:
    path = tmp_path / "proved.json"
    path.write_text(text_of(guarded()), encoding="utf-8")
    return path


@pytest.fixture
def contradicted(tmp_path: Path) -> Path:
    """A proof whose alignment is not what it says, with a digest that fits."""
    changed = content(guarded())
    script = obligation(changed, "ld.aligned")["scripts"][0]
    script["smtlib"] = script["smtlib"].replace(" 16))", " 32))")
    path = tmp_path / "contradicted.json"
    path.write_text(sealed(changed), encoding="utf-8")
    return path


# Writing


def test_check_writes_a_certificate_of_each_call(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "certificates"
    result = run("check", PROVED, REFUTED, "--certificate", folder)
    assert result.exit_code == 1
    assert result.stdout == run("check", PROVED, REFUTED).stdout
    assert result.stderr == f"tileproof: 2 certificates written to {folder}\n"
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["ld_128bit.toml-1.json", "misaligned.toml-1.json"]
    written = {name: (folder / name).read_bytes() for name in names}
    assert run("check", "--json", PROVED, REFUTED, "--certificate", folder).exit_code == 1
    assert {name: (folder / name).read_bytes() for name in names} == written


def test_files_of_one_name_do_not_overwrite_each_other(tmp_path: Path) -> None:
    other = tmp_path / "misaligned.toml"
    other.write_text(REFUTED.read_text(encoding="utf-8").replace("4*i", "8*i"), encoding="utf-8")
    run("check", REFUTED, other, "--certificate", tmp_path / "c")
    found = [json.loads((tmp_path / "c" / f"misaligned.toml-{n}.json").read_bytes()) for n in (1, 2)]
    assert [c["verdict"] for c in found] == ["refuted", "proved"]


def test_what_claims_nothing_has_no_certificate(tmp_path: Path) -> None:
    spec = tmp_path / "unsupported.toml"
    spec.write_text(UNSUPPORTED, encoding="utf-8")
    result = run("check", spec, "--certificate", tmp_path / "c")
    assert result.exit_code == 3
    assert result.stderr == f"tileproof: 0 certificates written to {tmp_path / 'c'}\n"


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    result = run("check", PROVED, "--certificate", tmp_path / "file")
    assert result.exit_code == 2
    assert "File exists" in result.stderr


# Asking again


@pytest.mark.parametrize("solver", ["z3", "cvc5"])
def test_a_certificate_is_confirmed(proved: Path, solver: str) -> None:
    result = run("audit", proved, "--solver", solver)
    assert result.exit_code == 0
    assert result.stderr == ""
    called = f"{solver} {solvers.version(solver)}"
    assert result.stdout.splitlines()[:3] == [
        str(proved),
        f"ld.global.v4.b32 (R, A) at thread scope: proved; {called}: confirmed",
        "  confirmed       premises possible: some thread can reach the call",
    ]
    assert result.stdout.endswith("1 certificate: 1 confirmed; questions: 7 confirmed\n")


def test_cvc5_is_asked_unless_told_otherwise(proved: Path) -> None:
    assert "; cvc5 " in run("audit", proved).stdout


def test_a_refutation_is_confirmed_as_one(tmp_path: Path) -> None:
    run("check", REFUTED, "--certificate", tmp_path)
    result = run("audit", tmp_path, "--solver", "z3")
    assert result.exit_code == 0
    assert f"at thread scope: refuted; z3 {VERSION}: confirmed\n" in result.stdout
    assert "  confirmed       ld.aligned fails: an access starts at a multiple of its" in result.stdout


def test_a_contradiction_stands_out(contradicted: Path) -> None:
    result = run("audit", contradicted, "--solver", "z3")
    assert result.exit_code == 1
    assert f"proved; z3 {VERSION}: CONTRADICTED\n" in result.stdout
    assert (
        "  CONTRADICTED    ld.aligned proved: an access starts at a multiple of its whole size: "
        "recorded unsat, answered sat\n"
    ) in result.stdout


def test_a_verdict_that_does_not_follow(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text(sealed({**content(guarded()), "verdict": "refuted"}), encoding="utf-8")
    result = run("audit", path, "--solver", "z3")
    assert result.exit_code == 1
    assert "  CONTRADICTED    verdict: recorded refuted, the answers come to proved\n" in result.stdout
    path.write_text(sealed({**content(guarded()), "premises": None}), encoding="utf-8")
    result = run("audit", path, "--solver", "z3")
    assert result.exit_code == 3
    assert "  UNKNOWN         verdict: recorded proved, the answers come to undecided\n" in result.stdout
    path.write_text(sealed({**content(guarded()), "verdict": "undecided"}), encoding="utf-8")
    result = run("audit", path, "--solver", "z3")
    assert result.exit_code == 3
    assert "  NOT CLAIMED     verdict: undecided claims nothing\n" in result.stdout


def test_what_a_solver_has_no_words_for_is_counted_apart(proved: Path) -> None:
    result = run("audit", proved, "--solver", "bitwuzla")
    assert result.exit_code == 3
    assert "  NOT EXPRESSIBLE ld.aligned proved: " in result.stdout
    assert ": not a bit-vector question\n" in result.stdout
    assert result.stdout.endswith("1 certificate: 1 not expressible; questions: 7 not expressible\n")


def test_a_spent_budget_does_not_confirm(proved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solvers, "Z3_UNITS", 1)
    result = run("audit", proved, "--solver", "z3")
    assert result.exit_code == 3
    assert "  UNKNOWN         " in result.stdout


def test_the_worst_of_several_decides(tmp_path: Path, proved: Path, contradicted: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text(proved.read_text(encoding="utf-8")[:-100], encoding="utf-8")
    unknown = tmp_path / "undecided.json"
    unknown.write_text(sealed({**content(guarded()), "verdict": "undecided"}), encoding="utf-8")
    for files, code in (
        ([proved, proved], 0),
        ([proved, unknown], 3),
        ([unknown, contradicted, proved], 1),
        ([contradicted, broken, proved], 2),
        ([tmp_path], 2),
    ):
        assert run("audit", "--solver", "z3", *files).exit_code == code
    result = run("audit", "--solver", "z3", tmp_path)
    assert result.stderr.startswith(f"tileproof: {broken}: not a certificate: no JSON: ")
    assert result.stdout.splitlines()[-1].startswith(
        "4 certificates: 1 confirmed, 1 contradicted, 1 not claimed, 1 refused; questions: "
    )


def test_json_is_the_only_output(proved: Path, tmp_path: Path) -> None:
    result = run("audit", "--json", "--solver", "z3", proved, tmp_path / "missing.json")
    assert result.exit_code == 2
    data = json.loads(result.stdout)
    assert (data["schema"], data["exit_code"]) == (1, 2)
    good, missing = data["certificates"]
    assert (good["recorded"], good["found"], good["status"]) == ("proved", "proved", "confirmed")
    assert good["questions"][0] == {
        "id": "premises",
        "expected": "sat",
        "answers": ["sat"],
        "reason": None,
        "status": "confirmed",
    }
    assert missing["error"] == f"{tmp_path / 'missing.json'}: cannot be read: No such file or directory"


def test_the_documented_keys_are_those_that_are_written(proved: Path, tmp_path: Path) -> None:
    (tmp_path / "page").mkdir()
    text = run("audit", "--json", "--solver", "z3", proved, tmp_path / "missing.json").stdout
    page = (EXAMPLES.parent / "docs/certificates.md").read_text(encoding="utf-8")

    def keys(value: Any) -> set[str]:
        inside: list[Any] = list(value.values()) if isinstance(value, dict) else []
        inside += value if isinstance(value, list) else []
        return {*(value if isinstance(value, dict) else ()), *(key for x in inside for key in keys(x))}

    def documented(title: str) -> set[str]:
        section = page.partition(f"## {title}\n")[2].partition("\n## ")[0]
        rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
        return {word for row in rows for word in re.findall(r"`([a-z_0-9]+)(?:\[\])?`", row)}

    assert documented("JSON of an audit") == keys(json.loads(text))
    own = content(guarded())
    own["call"] = {}
    for entry in own["obligations"]:
        for script in entry["scripts"]:
            script["ranges"] = {}
    assert documented("What is in a certificate") == keys(own)


def test_a_missing_solver_is_named_with_its_extra(proved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(solvers.metadata, "version", missing)
    result = run("audit", proved)
    assert result.exit_code == 2
    assert result.stderr == "tileproof: cvc5 is not installed; pip install 'tileproof[audit]'\n"


BAD: dict[str, bytes] = {
    "empty": b"",
    "binary": bytes(range(256)),
    "list": b"[]",
    "deep": b"[" * 100_000,
    "other": b'{"format": 1}',
    "escape": b'"\\u001b[2J"',
    "numbers": b"9" * 10_000,
}


def test_nothing_that_is_no_certificate_ends_in_a_traceback(tmp_path: Path) -> None:
    for name, data in BAD.items():
        path = tmp_path / f"{name}.json"
        path.write_bytes(data)
        result = run("audit", "--solver", "z3", path)
        assert result.exit_code == 2, name
        assert result.stderr.startswith(f"tileproof: {path}: not a certificate: "), name
        assert result.stdout == "1 certificate: 1 refused\n", name


def test_a_folder_without_certificates(tmp_path: Path) -> None:
    result = run("audit", tmp_path)
    assert result.exit_code == 2
    assert result.stderr == f"tileproof: {tmp_path}: the folder has no certificates (*.json)\n"


@pytest.mark.parametrize("arguments", [["audit"], ["audit", "--solver", "yices", "x.json"]])
def test_wrong_usage(arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Usage: tileproof" in result.output


def test_a_terminal_gets_a_coloured_table(contradicted: Path) -> None:
    with process(
        "audit", "--solver", "z3", contradicted, FORCE_COLOR="1", NO_COLOR="", TERM="xterm"
    ) as started:
        out, _ = started.communicate()
    assert started.returncode == 1
    assert re.search(r"\x1b\[1;31mCONTRADICTED", out)
    assert re.search(r"\x1b\[32mconfirmed", out)
