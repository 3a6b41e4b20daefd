"""What GPUs returned for the example kernels is what the reference says, and what the simulator returns."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
RECORDINGS = sorted(Path(__file__).parent.glob("*.examples.json"))


@pytest.fixture(scope="module")
def recorder() -> Any:
    """The recording script, which knows the examples and their variants."""
    sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "examples")]
    import record_examples

    yield record_examples
    del sys.path[:2]


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_recorded_numbers(recording: Path, recorder: Any) -> None:
    import importlib

    content = json.loads(recording.read_text())
    assert content["gpu"]
    assert content["driver"]
    seen = set()
    for name in recorder.EXAMPLES:
        for variant, (build, inputs, expected) in recorder.builds(importlib.import_module(name)).items():
            label = name + (f".{variant}" if variant else "")
            seen.add(label)
            returned = content["kernels"][label]
            assert returned == [recorder.words(a) for a in expected()], label
            arguments = inputs()
            build().simulate(*arguments)
            assert returned == [recorder.words(np.asarray(a)) for a in arguments], label
    assert seen == set(content["kernels"])


def test_there_is_a_recording() -> None:
    assert RECORDINGS
