"""Batches and the worker process of a device, with a stand-in for the GPU."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from tests.fuzz.fake_device import FAULT, FakeDevice, absent
from tileproof.errors import LaunchError
from tileproof.fuzz.execute.batch import MOST_CONST, Batch, Launch, batches
from tileproof.fuzz.execute.device import TAMPERED, DeviceWorker
from tileproof.fuzz.execute.entry import OCEAN_ALIGN, Bytes
from tileproof.fuzz.execute.look import View, look_at
from tileproof.fuzz.execute.runner import DeviceRunner, prepare
from tileproof.fuzz.rows import Chunk, Row

ENTRIES = 8
SIZE = 64


def made_up() -> Batch:
    """Entries ``v0`` to ``v7`` of two CTAs each, the first byte of each second one left open."""
    expected = np.arange(ENTRIES * 2 * SIZE, dtype=np.uint32).astype(np.uint8)
    launches = tuple(Launch(f"v{n}", 2, (32, 1, 1), n * 2 * SIZE, SIZE, 0) for n in range(ENTRIES))
    opened = np.arange(0, ENTRIES * 2 * SIZE, 4 * SIZE)
    return Batch(b"ELF", launches, np.zeros(8, np.uint8), expected, opened, tuple(range(ENTRIES)))


BATCH = pickle.dumps(made_up())
DIED = "trapped: the worker process ended with code 11"
HUNG = "trapped: it did not end within 3 seconds"
WRONG = "byte 3 of CTA 0 is 0x82 instead of 0x83, one of 1 wrong bytes"


@pytest.fixture
def worker(request: pytest.FixtureRequest) -> Iterator[DeviceWorker]:
    made = DeviceWorker(partial(FakeDevice, request.param), seconds=3)
    yield made
    made.close()


CASES: dict[str, tuple[dict[str, str], dict[int, str], int]] = {
    # What entries do, what their results are, and how many workers that costs.
    "all agree": ({}, {}, 0),
    "one differs": ({"v1": "wrong"}, {1: WRONG}, 0),
    "one traps": ({"v2": "trap"}, {2: f"trapped: {FAULT}"}, 2),
    "the first and the last trap": (
        {"v0": "trap", "v7": "trap"}, {0: f"trapped: {FAULT}", 7: f"trapped: {FAULT}"}, 4,
    ),
    "one hangs": ({"v3": "hang"}, {3: HUNG}, 2),
    "one kills the worker": ({"v5": "die"}, {5: DIED}, 2),
    "one writes where nobody may": ({"v4": "tamper"}, {4: f"trapped: {TAMPERED}"}, 2),
    "all sorts": (
        {"v1": "wrong", "v2": "trap", "v5": "die"}, {1: WRONG, 2: f"trapped: {FAULT}", 5: DIED}, 4,
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("worker", "results", "restarts"), list(CASES.values()), ids=list(CASES), indirect=["worker"]
)
def test_a_fault_is_of_one_entry_only(worker: DeviceWorker, results: dict[int, str], restarts: int) -> None:
    wanted = [results.get(n, "") for n in range(ENTRIES)]
    assert worker.run(BATCH, ENTRIES) == wanted
    assert worker.restarts == restarts
    assert worker.name == "Fake"


@pytest.mark.parametrize("worker", [{}], indirect=True)
def test_a_worker_that_is_killed_is_replaced(worker: DeviceWorker) -> None:
    assert worker.run(BATCH, ENTRIES) == [""] * ENTRIES
    worker._process.kill()
    worker._process.join()
    assert worker.run(BATCH, ENTRIES) == [""] * ENTRIES
    assert worker.restarts == 1


def test_no_device_is_a_message() -> None:
    with pytest.raises(LaunchError, match="there is no NVIDIA driver"):
        DeviceWorker(absent)


def test_a_device_that_dies_at_once_is_a_message() -> None:
    with pytest.raises(LaunchError, match="did not start: the worker process ended with code 7"):
        DeviceWorker(partial(exit_with, 7))


def exit_with(code: int) -> FakeDevice:
    import os

    os._exit(code)


# Batches.


@pytest.fixture(scope="module")
def views() -> list[View]:
    return list(look_at(Chunk("ld", 3, 0, 60), "sm_90a"))


def numbered(views: list[View]) -> list[tuple[int, object, object]]:
    return [(n, v.entry, v.expected) for n, v in enumerate(views) if v.entry is not None]


def test_a_batch_has_the_parts_of_every_entry(views: list[View]) -> None:
    entries = numbered(views)
    made, refused = batches(entries, "sm_90a")  # type: ignore[arg-type]
    assert not refused
    assert [n for batch in made for n in batch.numbers] == [n for n, _, _ in entries]
    for batch in made:
        assert batch.image.startswith(b"\x7fELF")
        for launch, number in zip(batch.launches, batch.numbers, strict=True):
            entry, wanted = views[number].entry, views[number].expected
            assert entry is not None
            assert wanted is not None
            assert (launch.dump % OCEAN_ALIGN, launch.table % OCEAN_ALIGN) == (0, 0)
            assert (launch.name, launch.grid, launch.block) == (entry.name, entry.grid, entry.block)
            part = batch.expected[launch.dump :][: launch.grid * launch.dump_bytes]
            assert (part == wanted.dump.reshape(-1)).all()
            assert (batch.table[launch.table :][: entry.table.size] == entry.table).all()


def test_findings_are_of_the_chosen_entries(views: list[View]) -> None:
    (batch, *_), _ = batches(numbered(views)[:6], "sm_90a")  # type: ignore[arg-type]
    dump: Bytes = batch.expected.copy()
    dump[batch.launches[4].dump + 1] ^= 1
    assert batch.findings(dump, range(4)) == [""] * 4
    first, second = batch.findings(dump, range(4, 6))
    assert first.startswith("byte 1 of CTA 0 is ")
    assert second == ""


def test_a_text_that_does_not_assemble_is_found(views: list[View]) -> None:
    entries = numbered(views)[:5]
    number, entry, wanted = entries[3]
    entries[3] = number, replace(entry, text=entry.text.replace("ret;", "rat;")), wanted  # type: ignore[type-var,attr-defined]
    made, refused = batches(entries, "sm_90a")  # type: ignore[arg-type]
    assert set(refused) == {number}
    assert "rat" in refused[number]
    assert sorted(n for batch in made for n in batch.numbers) == sorted(
        n for n, _, _ in entries if n != number
    )


def test_constants_of_a_batch_fit_in_a_bank(views: list[View]) -> None:
    _, entry, wanted = next(item for item in numbered(views) if item[1].variables)  # type: ignore[attr-defined]
    bytes_each = 4 * entry.variables.count(",") + OCEAN_ALIGN  # type: ignore[attr-defined]
    count = 2 * MOST_CONST // bytes_each + 1
    many = [
        (n, replace(entry, name=f"x{n}", text=entry.text.replace(entry.name, f"x{n}"),  # type: ignore[type-var,attr-defined]
                    variables=entry.variables.replace(entry.name, f"x{n}")), wanted)  # type: ignore[attr-defined]
        for n in range(count)
    ]  # fmt: skip
    made, refused = batches(many, "sm_90a")  # type: ignore[arg-type]
    assert not refused
    assert len(made) == 3


# The runner.


def without_times(rows: list[Row]) -> list[Row]:
    return [replace(row, milliseconds={}) for row in rows]


CHUNKS = [Chunk("ld", 1, 0, 12), Chunk("cp.async", 1, 100, 12), Chunk("stmatrix", 1, 7, 12)]


def test_rows_do_not_depend_on_the_number_of_processes() -> None:
    found = []
    for processes in (1, 2):
        runner = DeviceRunner(processes, opened=FakeDevice)
        try:
            found.append([(chunk, without_times(rows)) for chunk, rows in runner.run(CHUNKS)])
        finally:
            runner.close()
    assert found[0] == found[1]
    assert [chunk for chunk, _ in found[0]] == CHUNKS
    rows = [row for _, rows in found[0] for row in rows]
    assert [row.number for _, rows in found[0] for row in rows] == [n for c in CHUNKS for n in c.numbers]
    executed = [row for row in rows if row.executed]
    assert len(executed) > 12
    # The device agrees with everything, also with what was refused.
    emitted = [row for row in executed if row.executed == "emitted"]
    assert all(row.result == "agreed" and row.device == "Fake" and not row.faults for row in emitted)


def test_a_process_that_was_killed_is_replaced_whenever_it_is_noticed() -> None:
    runner = DeviceRunner(1, opened=FakeDevice)
    try:
        # The pool knows of the death before the first chunk is given to it.
        runner._pool.submit(abs, 1).result()
        for process in list(runner._pool._processes.values()):
            process.kill()
            process.join()
        with suppress(BrokenProcessPool):
            while True:
                runner._pool.submit(abs, 1).result()
        assert [chunk for chunk, _ in runner.run(CHUNKS)] == CHUNKS
    finally:
        runner.close()


def test_disagreements_and_traps_are_in_the_rows() -> None:
    prepared = prepare(CHUNKS[0])
    (_, places), *_ = prepared.batches
    numbers = [prepared.rows[place].number for place in places]
    runner = DeviceRunner(opened=partial(FakeDevice, {f"v{numbers[0]}": "trap", f"v{numbers[1]}": "wrong"}))
    try:
        ((_, rows),) = runner.run(CHUNKS[:1])
    finally:
        runner.close()
    by_number = {row.number: row for row in rows}
    assert by_number[numbers[0]].result == f"trapped: {FAULT}"
    assert by_number[numbers[0]].faults == (f"executed: trapped: {FAULT}",)
    assert by_number[numbers[1]].result == "differs"
    assert by_number[numbers[1]].faults[0].startswith("executed: byte 3 of CTA 0")
    assert all(by_number[n].result == "agreed" for n in numbers[2:])


def test_a_preparing_process_that_is_killed_loses_nothing() -> None:
    runner = DeviceRunner(1, opened=FakeDevice)
    try:
        found = runner.run(CHUNKS)
        first = next(found)
        for process in list(runner._pool._processes.values()):  # type: ignore[attr-defined]
            process.kill()
        chunks = [first[0], *(chunk for chunk, _ in found)]
    finally:
        runner.close()
    assert chunks == CHUNKS
