"""What the documents show is what happens.

Their Python blocks and the example scripts run. A ``toml`` block that starts with a comment such as
``# name.toml`` is that file, and a ``console`` block shows commands after ``$`` with all that they print.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.emit.test_examples import EXAMPLES as EXAMPLE_KERNELS

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TOML_FILE = re.compile(r"^```toml\n# (\S+\.toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CONSOLE_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(script: Path, folder: Path) -> None:
    finished = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, f"{script.name}:\n{finished.stdout}\n{finished.stderr}"


PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
EXAMPLES = sorted(ROOT.glob("examples/[!_]*.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_python_blocks_of_a_page_run_in_order(page: Path, tmp_path: Path) -> None:
    blocks = PYTHON_BLOCK.findall(page.read_text(encoding="utf-8"))
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    run(script, tmp_path)


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.name)
def test_an_example_runs(script: Path, tmp_path: Path) -> None:
    run(script, tmp_path)


ROW = re.compile(r"^\| `(\w+)` \| (sm_\d+) \| (exact|\d+ ulp) \|", re.MULTILINE)


def test_the_page_of_examples_lists_each_with_its_needs() -> None:
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    found = {name: (lowest, error) for name, lowest, error in ROW.findall(page)}
    wanted = {}
    for name, item in EXAMPLE_KERNELS.items():
        module = name.removesuffix("_compact").removesuffix("_spread")
        wanted[module] = (item.lowest, f"{item.ulp} ulp" if item.ulp else "exact")
    assert found == wanted
    choices = page.split("## What each needs", maxsplit=1)[0]
    assert {name for name in wanted if f"`{name}`" in choices} == wanted.keys()


def replay(block: str, folder: Path) -> str:
    """A console block with what its commands print now."""
    lines = []
    for command in (line[2:] for line in block.splitlines() if line.startswith("$ ")):
        program = f'tileproof() {{ {shlex.quote(sys.executable)} -m tileproof "$@"; }}; {command}'
        finished = subprocess.run(
            ["/bin/bash", "-c", program],
            cwd=folder,
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        lines += [f"$ {command}\n", finished.stdout]
    return "".join(lines)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_console_blocks_of_a_page_print_what_they_show(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for name, content in TOML_FILE.findall(text):
        # The line of the name is a line of the file, so that places in it count as on the page.
        (tmp_path / name).write_text(f"# {name}\n{content}", encoding="utf-8")
    for block in CONSOLE_BLOCK.findall(text):
        assert block == replay(block, tmp_path)
