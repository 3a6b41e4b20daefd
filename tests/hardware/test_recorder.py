"""The recording script, with the simulator in the place of a GPU."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tileproof import Kernel
from tileproof.errors import LaunchError

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import record_examples

NAMES = ("ld_128bit", "silu_affine", "stmatrix_interleaved")
CHOSEN = {name: item for name, item in record_examples.examples().items() if name in NAMES}
HEAD = {"gpu": "NVIDIA Model 7", "compute_capability": "9.0", "driver": "1", "cuda": "13.0"}


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_examples, "examples", lambda: CHOSEN)
    monkeypatch.setattr(record_examples, "origin", lambda: HEAD)
    monkeypatch.setattr(Kernel, "launch", Kernel.simulate)


def record(folder: Path) -> int:
    status: int = record_examples.main(["--out", str(folder)])
    return status


def test_every_example_is_recorded(tmp_path: Path) -> None:
    assert record(tmp_path) == 0
    content = json.loads((tmp_path / "nvidia-model-7.examples.json").read_text())
    assert {key: content[key] for key in HEAD} == HEAD
    for name, item in CHOSEN.items():
        found = record_examples.arrays(content["kernels"].pop(name), item.expected())
        assert [a.tobytes() for a in found] == [e.tobytes() for e in item.expected()]
    assert content["kernels"] == {}


def test_an_older_gpu_leaves_out_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(record_examples, "origin", lambda: {**HEAD, "compute_capability": "8.9"})
    assert record(tmp_path) == 0
    assert "left out: needs sm_90, and NVIDIA Model 7 is 8.9" in capsys.readouterr().out
    content = json.loads((tmp_path / "nvidia-model-7.examples.json").read_text())
    assert set(content["kernels"]) == {"ld_128bit", "silu_affine"}


def nudged(steps: int) -> Any:
    """A launch whose floats come out ``steps`` units in the last place too large."""

    def launch(kernel: Kernel, *arguments: Any) -> None:
        kernel.simulate(*arguments)
        if arguments[-1].dtype == np.float32:
            arguments[-1].view(np.int32)[...] += steps

    return launch


def refuse(kernel: Kernel, *arguments: Any) -> None:
    raise LaunchError(f"no room for {kernel.name}")


def nothing(kernel: Kernel, *arguments: Any) -> None:
    pass


@pytest.mark.parametrize(
    ("launch", "said"),
    [
        (nothing, "3 of 3 are wrong: ld_128bit, silu_affine, stmatrix_interleaved"),
        (refuse, "3 of 3 are wrong"),
        (nudged(17), "1 of 3 are wrong: silu_affine"),
        (nudged(-17), "1 of 3 are wrong: silu_affine"),
    ],
    ids=["idle", "refusing", "too large", "too small"],
)
def test_a_wrong_number_is_not_recorded(
    launch: Any,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(Kernel, "launch", launch)
    assert record(tmp_path) == 1
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_stated_ulp_are_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kernel, "launch", nudged(16))
    assert record(tmp_path) == 0


def test_a_machine_without_a_gpu_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> None:
        raise LaunchError("there is no NVIDIA driver")

    monkeypatch.setattr(record_examples, "origin", missing)
    assert record(tmp_path) == 1
    assert capsys.readouterr().err == "nothing recorded: there is no NVIDIA driver\n"
    assert not list(tmp_path.iterdir())
