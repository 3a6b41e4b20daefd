"""Campaigns over Dask: the same content whatever the workers, and whatever becomes of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fuzz import chunks
from tests.fuzz.test_campaign import PLAN, SETTING, assert_one_view_is_lost, expected, store
from tileproof.errors import FuzzError
from tileproof.fuzz.backends import Make
from tileproof.fuzz.campaign import run
from tileproof.fuzz.distributed import DaskRunner, worker_number
from tileproof.fuzz.rows import Row


def looked(make: Make, path: Path, address: str, processes: int) -> list[Row]:
    with store(path) as one:
        run(one, PLAN, DaskRunner(make, address, processes), SETTING)
        return list(one.rows())


@pytest.mark.parametrize("processes", [1, 2])
def test_results_do_not_depend_on_workers(tmp_path: Path, processes: int) -> None:
    assert looked(chunks.make_plain, tmp_path / "a.sqlite", "local", processes) == expected()


def test_a_worker_that_dies_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(chunks.MARK, str(tmp_path / "mark"))
    assert looked(chunks.make_killed_once, tmp_path / "a.sqlite", "local", 2) == expected()
    assert (tmp_path / "mark").exists()


def test_a_worker_may_have_processes_of_its_own(tmp_path: Path) -> None:
    plan = replace(PLAN, chunk=40)
    with store(tmp_path / "a.sqlite") as one:
        run(one, plan, DaskRunner(chunks.make_with_processes, "local", 1), SETTING)
        assert list(one.rows()) == expected()


def test_a_chunk_function_that_raises(tmp_path: Path) -> None:
    rows = looked(chunks.make_raising, tmp_path / "a.sqlite", "local", 1)
    assert_one_view_is_lost(rows, "ZeroDivisionError: by zero")


def test_a_worker_without_a_device_ends_the_campaign_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(FuzzError, match="no GPU here: cuInit says 100"):
        looked(chunks.make_without_device, tmp_path / "a.sqlite", "local", 1)


@contextmanager
def scheduler() -> Iterator[str]:
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        yield cluster.scheduler_address


def test_a_scheduler_of_somebody_else_is_used_and_left_running(tmp_path: Path) -> None:
    with scheduler() as address:
        assert looked(chunks.make_plain, tmp_path / "a.sqlite", address, 1) == expected()
        assert looked(chunks.make_plain, tmp_path / "b.sqlite", address, 1) == expected()


@pytest.mark.parametrize("address", ["nonsense", "tcp://127.0.0.1:1", "tcp://:", "gopher://here:1"])
def test_no_scheduler(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tileproof.fuzz.distributed.CONNECT_S", "1s")
    with pytest.raises(FuzzError, match=r"no Dask scheduler at '.*'; it looks like tcp://host:8786"):
        DaskRunner(chunks.make_plain, address, 1)


def test_dask_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(FuzzError, match=r"--dask needs Dask: pip install 'tileproof\[distributed\]'"):
        DaskRunner(chunks.make_plain, "local", 1)


@pytest.mark.parametrize(("name", "number"), [(3, 3), ("gpu-1", 1), ("tcp://10.0.0.1:4123", 4123), ("x", 0)])
def test_numbers_of_workers(name: object, number: int) -> None:
    assert worker_number(name) == number
