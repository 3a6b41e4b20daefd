"""The backends of campaigns that execute or replay views."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from tileproof.emit.driver import Driver
from tileproof.errors import FuzzError, LaunchError
from tileproof.fuzz.backend import gpu, replay, simulate
from tileproof.fuzz.backend.brute_force import looked
from tileproof.fuzz.backends import ViewBackend, backend_of
from tileproof.fuzz.execute.devices import PART
from tileproof.fuzz.replay import Replayed
from tileproof.fuzz.rows import Chunk, Row, Tally


def test_the_simulator_executes_what_is_proved() -> None:
    chunk = Chunk("ld", 2, 0, 12)
    rows = [row for row in simulate.make(0)(chunk) if isinstance(row, Row)]
    assert {row.result for row in rows if row.executed} == {"agreed"}
    assert sum(bool(row.executed) for row in rows) > 4
    bare = {"milliseconds": {}, "executed": "", "result": "", "device": ""}
    assert [replace(r, **bare) for r in rows] == [replace(r, **bare) for r in looked(chunk)]  # type: ignore[arg-type]


def test_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(self: Driver) -> None:
        raise LaunchError("there is no NVIDIA driver on this machine")

    monkeypatch.setattr(Driver, "__init__", missing)
    with pytest.raises(
        FuzzError, match="backend gpu cannot be used here: no GPU here: there is no NVIDIA driver"
    ):
        backend_of("gpu")


def test_a_gpu_gets_its_chunk_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []

    class Runner:
        def __init__(self, processes: int, device: int) -> None:
            made.append(device)

        def run(self, parts: Iterable[Chunk]) -> object:
            parts = list(parts)
            made.extend(part.views for part in parts)
            return ((part, looked(replace(part, views=1)) * part.views) for part in reversed(parts))

        def close(self) -> None:
            made.append("closed")

    monkeypatch.setattr(Driver, "__init__", lambda self: None)
    monkeypatch.setattr(Driver, "count", lambda self: 2)
    monkeypatch.setattr(gpu, "DeviceRunner", Runner)
    function = gpu.OnDevice(3)
    rows = function(Chunk("ld", 1, 100, 2 * PART + 1))
    function.close()
    assert made == [1, PART, PART, 1, "closed"]
    assert [row.number for row in rows] == [100] * PART + [100 + PART] * PART + [100 + 2 * PART]


def test_replay_counts_views_and_keeps_disagreements(monkeypatch: pytest.MonkeyPatch) -> None:
    tally = Tally("ld", "ld.global.b32", "proved", (), 100, "map")
    rows = [Row("ld", 1, n, "ld.global.b32", "thread", "proved", faults=("unsound",)) for n in (0, 60)]
    monkeypatch.setattr(replay, "read", lambda path: None)
    monkeypatch.setattr(replay, "replay_chunk", lambda chunk, maps: Replayed((tally,), rows))
    found = replay.make(Path("maps"), 0)(Chunk("ld", 1, 50, 100))
    assert found == [tally, replace(rows[0], number=50), rows[1]]


def test_replay_needs_one_file_of_maps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        FuzzError, match="replay needs one file of hardware maps, --maps FILE; there is none in"
    ):
        backend_of("replay")
    folder = tmp_path / "tests" / "hardware"
    folder.mkdir(parents=True)
    for name in "ab":
        (folder / f"{name}.maps.json").touch()
    with pytest.raises(FuzzError, match=r"there is .*a\.maps\.json, .*b\.maps\.json"):
        backend_of("replay")
    with pytest.raises(FuzzError, match="the backend simulate reads no hardware maps: leave --maps out"):
        backend_of("simulate", tmp_path / "a.maps.json")
    assert isinstance(backend_of("simulate"), ViewBackend)
