"""The command line as a user meets it: output, exit codes, and no traceback for anything."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tileproof.cli import app
from tileproof.emit.assemble import available_assemblers

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PROVED = sorted(set(EXAMPLES.glob("*.toml")) - {EXAMPLES / "misaligned.toml"})
REFUTED = EXAMPLES / "misaligned.toml"

UNSUPPORTED = """
[tensors.A]
shape = [4]
dtype = "float32"
[[calls]]
opcode = "ld.v4.f32"
operands = ["A", "A"]
"""


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], prog_name="tileproof")


def process(*arguments: str | Path, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tileproof", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", **environment},
    )


@pytest.mark.parametrize("file", PROVED, ids=lambda file: file.name)
def test_an_example_is_proved(file: Path) -> None:
    result = run("check", file)
    assert result.exit_code == 0
    assert "PROVED" in result.stdout
    assert result.stderr == ""


def test_a_refuted_example_names_all_that_a_person_needs() -> None:
    result = run("check", REFUTED)
    assert result.exit_code == 1
    for words in (
        "REFUTED",
        "ld.aligned",
        "i = 1",
        "lane 0",
        "repeat ()",
        "byte 8 of B",
        "needed",
        "found",
        "PTX ISA",
    ):
        assert words in result.stdout
    assert "\x1b" not in result.stdout


def test_several_files_are_told_apart_and_counted(tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(UNSUPPORTED, encoding="utf-8")
    result = run("check", PROVED[0], REFUTED, other)
    assert result.exit_code == 1
    assert f"{REFUTED}:16\n" in result.stdout
    assert f"{other}:5\n" in result.stdout
    assert result.stdout.endswith(", 1 refuted, 1 unsupported\n")
    assert run("check", other).exit_code == 3


def test_a_file_that_is_unusable_does_not_hide_the_others(tmp_path: Path) -> None:
    result = run("check", tmp_path / "missing.toml", REFUTED)
    assert result.exit_code == 2
    assert "REFUTED" in result.stdout
    assert (
        result.stderr
        == f"tileproof: {tmp_path / 'missing.toml'}: cannot be read: No such file or directory\n"
    )


def test_json_is_the_only_output_and_says_all(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("print('noise')\nreport = 3\n", encoding="utf-8")
    result = run("check", "--json", REFUTED, program)
    assert result.exit_code == 2
    data = json.loads(result.stdout)
    assert (data["schema"], data["exit_code"]) == (1, 2)
    assert [file["file"] for file in data["files"]] == [str(REFUTED), str(program)]
    assert data["files"][0]["calls"][0]["findings"][0]["counterexample"]["symbols"] == {"i": 1}
    assert "no reports" in data["files"][1]["error"]
    assert "noise" in result.stderr


def test_sarif_is_the_only_output() -> None:
    result = run("check", "--sarif", REFUTED, PROVED[0])
    assert result.exit_code == 1
    (found,) = json.loads(result.stdout)["runs"][0]["results"]
    assert found["ruleId"] == "ld.aligned"
    assert found["locations"][0]["physicalLocation"]["region"] == {"startLine": 16}


@pytest.mark.parametrize(("policy", "code"), [("warn", 0), ("ignore", 0), ("error", 1)])
def test_a_policy_for_hazards(tmp_path: Path, policy: str, code: int) -> None:
    spec = tmp_path / "store.toml"
    spec.write_text(
        "[tensors.A]\nshape = [4]\ndtype = 'b32'\n"
        "[tensors.R]\nshape = [4]\ndtype = 'b32'\nspace = 'registers'\n"
        "[[calls]]\nopcode = 'st.global.v4.b32'\noperands = ['A', 'R']\n",
        encoding="utf-8",
    )
    result = run("check", "--hazards", policy, spec)
    assert result.exit_code == code
    assert ("st.write-conflict" in result.stdout) == (policy != "ignore")


USAGE = [
    [],
    ["check"],
    ["check", "--json", "--sarif", REFUTED],
    ["check", "--nosuch", REFUTED],
    ["check", "--hazards", "maybe", REFUTED],
    ["nosuch"],
    ["emit"],
    ["emit", REFUTED, REFUTED],
    ["explain", "ld", "st"],
    ["explain", "--markdown", "ld"],
    ["explain", "--instructions", "ld"],
    ["doctor", "now"],
]


@pytest.mark.parametrize("arguments", USAGE, ids=lambda a: " ".join(map(str, a)) or "nothing")
def test_wrong_usage(arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Usage: tileproof" in result.output


def bad_inputs(folder: Path) -> list[str]:
    files: dict[str, bytes] = {
        "binary.toml": bytes(range(256)),
        "binary.py": bytes(range(256)),
        "syntax.toml": b"[symbols.i",
        "syntax.py": b"def f(:",
        "escape.toml": b'["\\u001b[31m"]\nx = 1',
        "folder.toml": b"",
        "empty.toml": b"",
        "empty.py": b"",
        "deep.toml": b"a = " + b"[" * 5000,
        "exits.py": b"import os, sys\nsys.exit(0)",
        "raises.py": b"raise BaseExceptionGroup('many', [ValueError(1)])",
        "asserts.py": b"import tileproof as tp\nassert tp.symbol('i')",
        "no calls.toml": b"calls = []",
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (folder / "folder.py").mkdir()
    return [*files, "folder.py", "missing.toml", "missing.py", "README", ""]


@pytest.mark.parametrize("command", ["check", "emit"])
def test_nothing_that_is_unusable_ends_in_a_traceback(tmp_path: Path, command: str) -> None:
    for name in bad_inputs(tmp_path):
        result = run(command, tmp_path / name)
        assert result.exit_code == 2, (name, result.output)
        assert result.stderr.startswith("tileproof: "), name
        assert "Traceback" not in result.output, name
        assert "\x1b" not in result.output, name
        assert result.stdout == "", name


def test_a_name_that_no_terminal_can_show(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff\xfe.toml")
    with process("check", tmp_path / name, PYTHONIOENCODING="ascii") as started:
        out, err = started.communicate()
    assert started.returncode == 2
    assert out == ""
    assert err.endswith(": cannot be read: No such file or directory\n")


def test_the_version() -> None:
    result = run("--version")
    assert result.exit_code == 0
    assert re.fullmatch(r"tileproof \d+\.\d+\.\d+\S*\n", result.stdout)


def test_help_names_every_command() -> None:
    result = run("--help")
    assert result.exit_code == 0
    for command in ("check", "audit", "emit", "explain", "doctor", "fuzz"):
        assert f" {command} " in result.stdout


def test_explain() -> None:
    assert "laneid = 4*row + word" in run("explain", "ldmatrix.sync.aligned.m8n8.x1.shared.b16").stdout
    assert "ld.aligned" in run("explain").stdout
    assert run("explain", "--markdown").stdout.startswith("# Obligations\n")
    assert run("explain", "--instructions", "--markdown").stdout.startswith("# Instructions\n")
    assert run("explain", "--instructions").stdout.startswith("Instructions\n")
    result = run("explain", "ld.global.v3.b32")
    assert result.exit_code == 2
    assert result.stderr.startswith(
        "tileproof: 'ld.global.v3.b32': '.v3' (qualifier 2) is not a qualifier of ld"
    )


def test_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("doctor").exit_code == 0
    from tileproof.report import doctor

    monkeypatch.setitem(doctor.REQUIRED, "no-such-package", "no_such_module")
    result = run("doctor")
    assert result.exit_code == 2
    assert "MISSING" in result.stdout


@pytest.mark.parametrize("file", PROVED, ids=lambda file: file.name)
def test_an_example_is_emitted_and_assembled(tmp_path: Path, file: Path) -> None:
    output = tmp_path / "out.ptx"
    result = run("emit", file, "-o", output, "--arch", "sm_90a")
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    text = output.read_text(encoding="utf-8")
    assert "\n.target sm_90a\n" in text
    assert f".visible .entry {file.stem}(" in text
    assert (
        f"assembled by {available_assemblers()[0]}" if available_assemblers() else "not assembled"
    ) in result.stderr
    assert run("emit", file, "--arch", "sm_90a").stdout == text


def test_a_python_kernel_is_checked_and_emitted() -> None:
    file = EXAMPLES / "ldmatrix_interleaved.py"
    assert run("check", file).exit_code == 0
    result = run("emit", file)
    assert result.exit_code == 0, result.output
    assert result.stdout.count("\n    ldmatrix.sync.aligned.m8n8.x2.shared.b16 {") == 2


def test_what_is_not_proved_is_not_emitted(tmp_path: Path) -> None:
    output = tmp_path / "out.ptx"
    output.write_text("old\n", encoding="utf-8")
    result = run("emit", REFUTED, "-o", output)
    assert result.exit_code == 1
    assert "nothing is written, for a call is not proved:" in result.stderr
    assert "needed a multiple of 16 bytes" in result.stderr
    unsupported = tmp_path / "unsupported.toml"
    unsupported.write_text(UNSUPPORTED, encoding="utf-8")
    assert run("emit", unsupported, "-o", output).exit_code == 3
    assert output.read_text(encoding="utf-8") == "old\n"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out.ptx", "unsupported.toml"]


@pytest.mark.parametrize(
    ("file", "arguments", "message"),
    [
        ("ld_128bit.toml", ["--arch", "sm_9"], "'sm_9' is not a GPU target"),
        ("stmatrix_swizzled.toml", ["--arch", "sm_80"], "for stmatrix the target must be sm_90 or later"),
        ("ld_128bit.toml", ["--kernel", "other"], "no kernel is named 'other'; there are ld_128bit"),
        ("ld_128bit.toml", ["-o", "/missing/out.ptx"], "/missing/out.ptx: cannot be written: No such file"),
    ],
)
def test_what_cannot_be_emitted(file: str, arguments: list[str], message: str) -> None:
    result = run("emit", EXAMPLES / file, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_the_calls_of_a_file_as_cuda_functions(tmp_path: Path) -> None:
    output = tmp_path / "out.cuh"
    file = EXAMPLES / "cp_async_double_buffer.py"
    result = run("emit", file, "--format", "cuda", "-o", output)
    assert result.exit_code == 0, result.output
    names = [
        f"cp_async_double_buffer_{n}_{what}" for n, what in enumerate(("cp_async", "cp_async", "ld", "st"))
    ]
    assert f"4 CUDA functions: {', '.join(names)}" in result.stderr
    text = output.read_text(encoding="utf-8")
    assert re.findall(r"^__device__ __forceinline__ void (\w+)\(", text, re.MULTILINE) == names
    assert run("emit", file, "--format", "cuda", "--arch", "sm_80").stdout == text


def test_cuda_functions_that_cannot_be_emitted(tmp_path: Path) -> None:
    output = tmp_path / "out.cuh"
    output.write_text("old\n", encoding="utf-8")
    refused = run("emit", REFUTED, "--format", "cuda", "-o", output)
    assert refused.exit_code == 1
    assert "nothing is written, for a call is not proved:" in refused.stderr
    old = run("emit", EXAMPLES / "cp_async_tail.toml", "--format", "cuda", "--arch", "sm_75", "-o", output)
    assert old.exit_code == 2
    assert "for cp.async the target must be sm_80 or later, and it is sm_75" in old.stderr
    assert run("emit", PROVED[0], "--format", "c", "-o", output).exit_code == 2
    assert output.read_text(encoding="utf-8") == "old\n"


def test_without_an_assembler_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from tileproof.spec import kernel

    monkeypatch.setattr(kernel, "available_assemblers", lambda: ())
    result = run("emit", PROVED[0])
    assert result.exit_code == 0
    assert "not assembled, for no assembler is installed: pip install" in result.stderr


def test_a_terminal_gets_colour_unless_it_wants_none() -> None:
    coloured = re.compile(r"\x1b\[[0-9;]*3[0-7]m")
    with process("check", REFUTED, FORCE_COLOR="1", NO_COLOR="", TERM="xterm") as started:
        assert coloured.search(started.communicate()[0])
    with process("check", REFUTED, FORCE_COLOR="1", NO_COLOR="1", TERM="xterm") as started:
        out = started.communicate()[0]
    assert "REFUTED" in out
    assert not coloured.search(out)


def test_a_reader_that_leaves_early() -> None:
    with process("explain", "--markdown") as started:
        assert started.stdout is not None
        assert started.stderr is not None
        started.stdout.close()
        complaint = started.stderr.read()
    assert started.returncode == 141
    assert complaint == ""


def test_an_interruption(tmp_path: Path) -> None:
    program = tmp_path / "slow.py"
    program.write_text("import sys, time\nprint('ready', flush=True)\ntime.sleep(60)\n", encoding="utf-8")
    with process("check", program) as started:
        assert started.stderr is not None
        assert started.stderr.readline() == "ready\n"
        started.send_signal(signal.SIGINT)
        complaint = started.stderr.read()
    assert started.returncode == 130
    assert complaint == "tileproof: interrupted\n"


def test_an_interruption_of_a_deletion_comes_again(tmp_path: Path) -> None:
    program = tmp_path / "late.py"
    program.write_text(
        "import signal, sys, time\n"
        "from tileproof import cli\n"
        "class Late:\n"
        "    def __del__(self):\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "        time.sleep(0)\n"
        "def app(prog_name):\n"
        "    del Late.one\n"
        "    for _ in range(1000):\n"
        "        time.sleep(0.01)\n"
        "    print('forgotten')\n"
        "Late.one = Late()\n"
        "cli.app = app\n"
        "try:\n"
        "    cli.main()\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")
