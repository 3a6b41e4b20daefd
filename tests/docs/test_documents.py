"""What the documents show is what happens: their Python blocks and the example scripts run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(script: Path, folder: Path) -> None:
    finished = subprocess.run(
        [sys.executable, "-W", "error", str(script)], cwd=folder, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, f"{script.name}:\n{finished.stdout}\n{finished.stderr}"


PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
EXAMPLES = sorted(ROOT.glob("examples/*.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_python_blocks_of_a_page_run_in_order(page: Path, tmp_path: Path) -> None:
    blocks = PYTHON_BLOCK.findall(page.read_text(encoding="utf-8"))
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    run(script, tmp_path)


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.name)
def test_an_example_runs(script: Path, tmp_path: Path) -> None:
    run(script, tmp_path)
