"""Campaigns: what is planned, and that neither processes nor interruptions change what is found."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz import chunks
from tests.fuzz.chunks import DEADLY, plain
from tileproof.errors import FuzzError
from tileproof.fuzz.attempts import Attempts
from tileproof.fuzz.backends import Make, backend_of, names
from tileproof.fuzz.campaign import Plan, Setting, families_of, generator, run, seconds_of
from tileproof.fuzz.families import mnemonics
from tileproof.fuzz.pool import PoolRunner
from tileproof.fuzz.rows import Chunk, Row
from tileproof.fuzz.store import Identity, Store, StoreError

ROOT = Path(__file__).parents[2]
SETTING = Setting("here", {})
PLAN = Plan(("ld", "st", "ldmatrix"), 3, 100, 8)


class Here:
    """A runner without processes, which is stopped after so many chunks."""

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self.closed = False

    def run(self, given_chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, list[Row]]]:
        for n, chunk in enumerate(given_chunks):
            if n == self.most:
                raise KeyboardInterrupt
            yield chunk, plain(chunk)

    def close(self) -> None:
        self.closed = True


def store(path: Path) -> Store:
    return Store.create(path, Identity(3, "brute-force", generator()))


def expected(plan: Plan = PLAN) -> list[Row]:
    return [r for f in sorted(plan.families) for r in plain(Chunk(f, 3, 0, plan.quota(f) or 0))]


# Plans.


def test_views_are_shared_evenly() -> None:
    assert [PLAN.quota(f) for f in PLAN.families] == [34, 33, 33]
    assert list(PLAN.chunks({}))[:5] == [
        Chunk("ld", 3, 0, 8), Chunk("st", 3, 0, 8), Chunk("ldmatrix", 3, 0, 8), Chunk("ld", 3, 8, 8), Chunk("st", 3, 8, 8),
    ]  # fmt: skip


@given(
    st.integers(1, 60),
    st.integers(1, 9),
    st.lists(st.tuples(st.integers(0, 30), st.integers(1, 5), st.integers(1, 9))),
)
def test_a_plan_has_every_view_that_is_missing_once(
    views: int, chunk: int, gaps: list[tuple[int, int, int]]
) -> None:
    plan, done, position = Plan(("ld", "st"), 1, views, chunk), [], 0
    for _, gap, length in gaps:
        done.append(range(position + gap, position + gap + length))
        position = done[-1].stop
    planned = list(plan.chunks({"ld": done}))
    assert all(0 < c.views <= chunk for c in planned)
    for family, before in (("ld", done), ("st", [])):
        numbers = [n for c in planned if c.family == family for n in c.numbers]
        assert numbers == [n for n in range(plan.quota(family) or 0) if not any(n in r for r in before)]
    assert plan.left({"ld": done}) == sum(c.views for c in planned)


def test_a_plan_without_an_end_goes_on_after_what_is_done() -> None:
    plan = Plan(("ld",), 1, None, 10)
    found = plan.chunks({"ld": [range(15)]})
    assert [next(found).first for _ in range(3)] == [15, 25, 35]
    assert plan.left({}) is None


def test_names_of_families() -> None:
    assert families_of(()) == families_of(("all",)) == mnemonics()
    assert families_of(("st", "ld", "st")) == tuple(n for n in mnemonics() if n in ("ld", "st"))
    with pytest.raises(FuzzError, match=r"no family 'lds'; there are .*ld.*, and all"):
        families_of(("ld", "lds"))


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("1.5s", 1.5), ("10m", 600), ("2h", 7200), ("0", 0)]
)
def test_times(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "-1", "1d", "nan", "inf", "1e99", "1 0"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(FuzzError, match="a time is a number of seconds, or such as 90s, 10m or 2h"):
        seconds_of(text)


def test_backends() -> None:
    assert "brute-force" in names()
    with pytest.raises(FuzzError, match=r"no backend 'cpu'; there are .*brute-force"):
        backend_of("cpu")


# Runs.


def test_a_campaign_that_is_interrupted_and_resumed_has_the_same_content(tmp_path: Path) -> None:
    with store(tmp_path / "whole.sqlite") as whole:
        assert run(whole, PLAN, Here(), SETTING) == 100
        assert list(whole.rows()) == expected()
    with store(tmp_path / "parts.sqlite") as parts:
        for most in (0, 1, 4, None):
            runner = Here(most)
            try:
                run(parts, PLAN, runner, SETTING)
            except KeyboardInterrupt:
                assert most is not None
            assert runner.closed
        assert list(parts.rows()) == expected()
        assert run(parts, PLAN, Here(), SETTING) == 0
        # It may also go further than it was meant to at first.
        longer = replace(PLAN, views=131)
        assert run(parts, longer, Here(), SETTING) == 31
        assert list(parts.rows()) == expected(longer)


def test_a_campaign_stops_in_time(tmp_path: Path) -> None:
    plan = Plan(("ld",), 3, None, 8)
    with store(tmp_path / "a.sqlite") as one:
        assert run(one, plan, Here(), SETTING, seconds=0) == 0
        found = run(one, plan, Here(), SETTING, seconds=0.2)
        assert found > 0
        assert one.done() == {"ld": [range(found)]}


def test_a_store_that_fails_ends_the_campaign_and_its_runner(tmp_path: Path) -> None:
    with store(tmp_path / "a.sqlite") as one:
        run(one, Plan(("ld",), 3, 8, 8), Here(), SETTING)
        (pages,) = one.query("PRAGMA page_count")[0]
        one.query(f"PRAGMA max_page_count = {pages}")
        runner = Here()
        with pytest.raises(StoreError, match="the disk is full"):
            run(one, Plan(("ld",), 3, 100_000, 5000), runner, SETTING)
        assert runner.closed
        one.query("PRAGMA max_page_count = 1000000")
        run(one, Plan(("ld",), 3, 20_000, 5000), Here(), SETTING)
        assert one.done() == {"ld": [range(20_000)]}


# Processes.


def pooled(make: Make, path: Path, processes: int) -> list[Row]:
    with store(path) as one:
        run(one, PLAN, PoolRunner(make, processes), SETTING)
        return list(one.rows())


@pytest.mark.parametrize("processes", [1, 2])
def test_results_do_not_depend_on_processes(tmp_path: Path, processes: int) -> None:
    assert pooled(chunks.make_plain, tmp_path / "a.sqlite", processes) == expected()


def test_a_process_that_dies_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(chunks.MARK, str(tmp_path / "mark"))
    assert pooled(chunks.make_killed_once, tmp_path / "a.sqlite", 2) == expected()
    assert (tmp_path / "mark").exists()


def test_a_chunk_function_gives_back_what_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(chunks.MARK, str(tmp_path / "mark"))
    assert pooled(chunks.make_holding, tmp_path / "a.sqlite", 1) == expected()
    assert (tmp_path / "mark").exists()


def test_a_process_may_have_processes_of_its_own(tmp_path: Path) -> None:
    with store(tmp_path / "a.sqlite") as one:
        run(one, replace(PLAN, chunk=40), PoolRunner(chunks.make_with_processes, 1), SETTING)
        assert list(one.rows()) == expected()


def test_a_process_that_gives_up_is_told_and_replaced_by_the_others(tmp_path: Path) -> None:
    runner = PoolRunner(chunks.make_first_gives_up, 2)
    with store(tmp_path / "a.sqlite") as one:
        run(one, PLAN, runner, SETTING)
        assert list(one.rows()) == expected()
    assert runner.notes == ["worker 0 has given up: no GPU here: cuInit says 100"]


def assert_one_view_is_lost(rows: Sequence[Row], reason: str) -> None:
    """Only the view that nobody survives is in disorder."""
    differing = [(a, b) for a, b in zip(rows, expected(), strict=True) if a != b]
    ((lost, _),) = differing
    assert (lost.family, lost.number, lost.verdict) == ("ld", DEADLY, "died")
    assert lost.faults == (f"died: {reason}",)
    assert lost.opcode.startswith("ld.")


def test_a_view_that_nobody_survives_is_found(tmp_path: Path) -> None:
    rows = pooled(chunks.make_deadly, tmp_path / "a.sqlite", 2)
    assert_one_view_is_lost(rows, "every process that looked at it ended: killed by SIGKILL")


def test_a_chunk_function_that_raises_is_treated_alike(tmp_path: Path) -> None:
    assert_one_view_is_lost(
        pooled(chunks.make_raising, tmp_path / "a.sqlite", 1), "ZeroDivisionError: by zero"
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (chunks.make_without_device, "no GPU here: cuInit says 100"),
        (chunks.make_unusable, "no GPU here: the driver is not installed"),
        (chunks.make_nothing, "no process of the campaign gets ready: exit code 3"),
    ],
)
def test_a_campaign_that_nobody_can_run_ends_with_the_reason(
    tmp_path: Path, make: Make, message: str
) -> None:
    with pytest.raises(FuzzError, match=message):
        pooled(make, tmp_path / "a.sqlite", 2)
    with store(tmp_path / "a.sqlite") as one:
        assert one.done() == {}


def test_three_attempts_and_then_halves() -> None:
    attempts, tried = Attempts([Chunk("ld", 1, 0, 4)]), []
    while (attempt := attempts.next()) is not None:
        tried.append((attempt.chunk.first, attempt.chunk.views))
        if 2 in attempt.chunk.numbers and (row := attempts.failed(attempt, "why")):
            assert (row[0], row[1][0].faults) == (Chunk("ld", 1, 2, 1), ("died: why",))
    assert tried == [(0, 4)] * 3 + [(0, 2), (2, 2), (2, 1), (3, 1)]


# A campaign as a process of its own.


def campaign(path: Path) -> subprocess.Popen[str]:
    options = ["--family", "ldmatrix", "--family", "st", "--views", "250", "--seed", "3", "--processes", "2"]
    return subprocess.Popen(
        [sys.executable, "-m", "tileproof", "fuzz", *options, "--store", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def views_of(path: Path) -> int:
    try:
        with Store.open(path) as one:
            return sum(len(r) for ranges in one.done().values() for r in ranges)
    except StoreError:
        return 0


def until_some_are_reported(path: Path, started: subprocess.Popen[str]) -> None:
    while views_of(path) == 0:
        assert started.poll() is None
        time.sleep(0.02)


def content(path: Path) -> list[Row]:
    with Store.open(path) as one:
        return [replace(r, milliseconds={}) for r in one.rows()]


def test_a_campaign_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    parts, whole = tmp_path / "parts.sqlite", tmp_path / "whole.sqlite"
    with campaign(parts) as started:
        until_some_are_reported(parts, started)
        started.kill()
    kept = views_of(parts)
    assert 0 < kept < 250
    with campaign(parts) as resumed:
        out, complaint = resumed.communicate()
    assert (resumed.returncode, complaint) == (0, "")
    assert "in 2 runs" in out
    with campaign(whole) as uninterrupted:
        uninterrupted.communicate()
    assert content(parts) == content(whole)
    assert len(content(whole)) == 250


def test_an_interruption_says_how_to_go_on(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with campaign(path) as started:
        until_some_are_reported(path, started)
        started.send_signal(signal.SIGINT)
        _, complaint = started.communicate()
    assert started.returncode == 130
    assert complaint == (
        f"tileproof: all that was reported is in {path}; the same command goes on from there\ntileproof: interrupted\n"
    )
    assert views_of(path) > 0
