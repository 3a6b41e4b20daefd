"""What GPUs did with every form: bytes go where the ISA says, and registers are what the simulator computes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileproof.fuzz.execute.register_table import register_forms
from tileproof.fuzz.execute.simulated import Simulated
from tileproof.fuzz.execute.table import table_forms
from tileproof.fuzz.map_differences import differences
from tileproof.fuzz.maps import HardwareMaps, dumped, read
from tileproof.fuzz.record import record_maps

RECORDINGS = sorted(Path(__file__).parent.glob("*.maps.json"))


@pytest.fixture(scope="module")
def simulated() -> HardwareMaps:
    return record_maps(Simulated(), driver="none", gaps=True)


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_a_recording_is_what_the_simulator_does(recording: Path, simulated: HardwareMaps) -> None:
    maps = read(recording)
    assert set(maps.movement) == {form.label for form in table_forms()}
    assert set(maps.registers) == {form.label for form in register_forms()}
    assert dumped(maps) == recording.read_text()
    assert differences(maps, simulated) == []
