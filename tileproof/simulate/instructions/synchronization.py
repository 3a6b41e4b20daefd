"""Barriers of blocks and clusters, and fences (ISA 9.7.13.1 to .4)."""

from __future__ import annotations

import numpy as np

from tileproof.simulate.geometry import WARP
from tileproof.simulate.issue import Issue
from tileproof.simulate.memory import within
from tileproof.simulate.registry import Decoder, Execute, instruction, no_effect
from tileproof.simulate.scalars import U32, Array
from tileproof.simulate.status import ranges


@instruction("bar", "barrier")
def barrier(code: Decoder) -> Execute:
    """`sync a{, b}` arrives and waits, `arrive a, b` only arrives; b is a number of threads, a multiple of
    32.

    `bar` always is aligned: all threads of the warp that have not exited execute it together.
    """
    code.flag("cta")
    waits = code.need("sync", "arrive") == "sync"
    aligned = code.flag("aligned") or code.name == "bar"
    code.finish(operands=(1, 2) if waits else 2)
    counted = len(code.operands) == 2

    def execute(issue: Issue) -> None:
        if aligned:
            demand_left(issue)
        machine = issue.machine
        numbers = issue.read(0, U32).astype(np.int64)
        counts = issue.read(1, U32).astype(np.int64) if counted else np.full(numbers.size, -1)
        _check(issue, numbers, counts, counted)
        ranks = machine.geometry.rank[issue.slots]
        if waits:
            machine.block(issue.slots)
        for rank, number, count in np.unique(np.stack([ranks, numbers, counts]), axis=1).T.tolist():
            positions = np.flatnonzero((ranks == rank) & (numbers == number) & (counts == count))
            with within(positions):
                machine.barriers.arrive(
                    rank,
                    number,
                    issue.slots[positions],
                    expected=count if counted else None,
                    waits=waits,
                    whole_warps=aligned,
                )
        machine.release()

    return execute


def _check(issue: Issue, numbers: Array, counts: Array, counted: bool) -> None:
    if (numbers > 15).any():
        position = int((numbers > 15).argmax())
        issue.fail(f"barrier {numbers[position]} does not exist; a block has barriers 0 to 15", position)
    wrong = (counts % WARP != 0) | (counts == 0)
    if counted and wrong.any():
        position = int(wrong.argmax())
        issue.fail(f"barrier thread count {counts[position]} is not a positive multiple of {WARP}", position)


def demand_left(issue: Issue) -> None:
    """Aligned barriers: every thread of the warp that has not exited is here."""
    machine = issue.machine
    left = machine.left().reshape(-1, WARP)
    here = np.isin(np.arange(left.size), issue.slots).reshape(-1, WARP)
    partial = here.any(axis=1) & (here != left).any(axis=1)
    if partial.any():
        warp = int(partial.argmax())
        present, absent = np.flatnonzero(here[warp]), np.flatnonzero(left[warp] & ~here[warp])
        issue.fail(
            "an aligned barrier must be executed by all threads of the warp together, but only lanes "
            f"{ranges(present)} are here while lanes {ranges(absent)} are not",
            int((issue.slots // WARP == warp).argmax()),
        )


@instruction("bar.warp.sync", members=True)
def warp_barrier(code: Decoder) -> Execute:
    """The membermask has been waited for when this runs."""
    code.finish(operands=1)
    return no_effect


@instruction("barrier.cluster")
def cluster_barrier(code: Decoder) -> Execute:
    """`arrive`, and later `wait` until all threads of the cluster have arrived or exited."""
    waits = code.need("arrive", "wait") == "wait"
    aligned = code.flag("aligned")
    code.ignore(("acquire", "release", "relaxed"))
    code.finish(operands=0)

    def execute(issue: Issue) -> None:
        if aligned:
            demand_left(issue)
        machine = issue.machine
        if waits:
            machine.block(machine.cluster_barrier.wait(issue.slots))
        else:
            machine.cluster_barrier.arrive(issue.slots)
        machine.release()

    return execute


@instruction("membar", "fence")
def fence(code: Decoder) -> Execute:
    """Memory is sequentially consistent here and has one proxy, so there is nothing to order."""
    code.ignore(
        (
            "sc",
            "acq_rel",
            "acquire",
            "release",
            "cta",
            "cluster",
            "gpu",
            "sys",
            "gl",
            "async",
            "alias",
            "global",
            "proxy",
        ),
        prefixes=("proxy", "async", "sync_restrict", "op_restrict", "mbarrier_init", "tensormap", "shared::"),
    )
    code.finish(operands=(0, 1, 2))
    return no_effect
