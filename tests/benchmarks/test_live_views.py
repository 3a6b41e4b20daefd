"""The script of live views, where no GPU is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tileproof.emit.launch import gpu_available
from tileproof.fuzz.execute.moves import executable

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "live_views.py"


def run(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *options], capture_output=True, text=True, check=False
    )


def test_views_of_all_families_on_the_simulator(tmp_path: Path) -> None:
    finished = run("--backend", "simulate", "--views", "25", "--chunk", "3", "--out", str(tmp_path))
    assert finished.returncode == 0, finished.stdout + finished.stderr
    summary = json.loads((tmp_path / "live_views.json").read_text())
    assert set(summary["verdicts"]) == set(executable())
    assert summary["views"] == len(executable()) * -(-25 // len(executable()))
    assert summary["executed"] > 5
    assert summary["disagreements"] == 0
    assert "executed_per_second" in finished.stdout


@pytest.mark.skipif(gpu_available(), reason="there is a GPU here")
def test_no_gpu_is_a_message() -> None:
    finished = run("--views", "10")
    assert finished.returncode == 2
    assert "no NVIDIA driver" in finished.stderr or "cuda-python" in finished.stderr
    assert "Traceback" not in finished.stderr
