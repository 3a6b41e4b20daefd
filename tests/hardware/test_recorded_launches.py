"""What came of launching on GPUs, as `benchmarks/record_launches.py` wrote it down."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

RECORDINGS = sorted(Path(__file__).parent.glob("*.launches.json"))
WAYS = {
    "typed scalar", "dynamic shared memory", "mbarriers", "clusters", "read from JSON", "PyTorch", "PyTorch by DLPack",
    "PyTorch on a stream", "CuPy", "CuPy by DLPack",
}  # fmt: skip


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_every_way_of_launching_is_right_and_keeps_no_memory(recording: Path) -> None:
    content = json.loads(recording.read_text())
    assert content["launches"] == dict.fromkeys(WAYS, "right")
    assert content["refused_launches"] >= 800
    assert content["bytes_kept"] <= 0


def test_there_is_a_recording() -> None:
    assert RECORDINGS
