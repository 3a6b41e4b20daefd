"""What GPUs returned for the example kernels is what NumPy says, and what the simulator returns."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import record_examples
from _run import differences

EXAMPLES = record_examples.examples()
RECORDINGS = sorted(Path(__file__).parent.glob("*.examples.json"))
CONTENTS = {path.stem: json.loads(path.read_text()) for path in RECORDINGS}
RECORDED = [(recording, name) for recording, content in CONTENTS.items() for name in content["kernels"]]


@pytest.mark.parametrize(("recording", "name"), RECORDED)
def test_recorded_numbers(recording: str, name: str) -> None:
    example = EXAMPLES[name]
    expected, simulated = example.expected(), example.inputs()
    returned = record_examples.arrays(CONTENTS[recording]["kernels"][name], expected)
    assert differences(returned, expected, example.ulp) == 0
    example.build().simulate(*simulated)
    assert differences(returned, simulated, example.ulp) == 0


@pytest.mark.parametrize("recording", CONTENTS)
def test_a_recording_says_where_it_is_from(recording: str) -> None:
    assert all(CONTENTS[recording][key] for key in ("gpu", "compute_capability", "driver", "cuda"))


@pytest.mark.parametrize("recording", CONTENTS)
def test_every_example_that_the_gpu_has_is_recorded(recording: str) -> None:
    capability = CONTENTS[recording]["compute_capability"]
    fitting = {name for name, item in EXAMPLES.items() if record_examples.runs_on(capability, item)}
    assert CONTENTS[recording]["kernels"].keys() == fitting


def test_there_is_a_recording() -> None:
    assert RECORDINGS
