"""What a thread is doing, and how messages tell it when threads did not come together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tileproof.simulate.geometry import WARP
from tileproof.simulate.scalars import Array

if TYPE_CHECKING:
    from tileproof.simulate.machine import Machine

ABSENT, RUNNABLE, BLOCKED, PARKED, EXITED = range(5)
"""No such thread in a partial warp; can go on; waits at a barrier; waits for its membermask; has ended."""


def ranges(numbers: Array) -> str:
    """`0-3, 7` for [0, 1, 2, 3, 7]."""
    runs = np.split(numbers, np.flatnonzero(np.diff(numbers) != 1) + 1)
    return ", ".join(str(run[0]) if run.size == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def whereabouts(machine: Machine, slots: Array, skipped: Array) -> str:
    """Where the missing threads of one warp are; `skipped` came along, but their predicate was false."""
    reasons: dict[str, list[int]] = {}
    for slot in slots.tolist():
        status = int(machine.status[slot])
        if status == ABSENT:
            reason = "do not exist in this block"
        elif status == EXITED:
            reason = "have exited"
        elif status != RUNNABLE:
            reason = f"wait at line {machine.program.code[int(machine.stopped_at[slot])].line}"
        elif slot in skipped:
            reason = "have a false predicate"
        elif machine.pc[slot] < len(machine.program.code):
            reason = f"are at line {machine.program.code[int(machine.pc[slot])].line}"
        else:
            reason = "are at the end of the kernel"
        reasons.setdefault(reason, []).append(slot % WARP)
    return "; ".join(f"lanes {ranges(np.asarray(lanes))} {reason}" for reason, lanes in reasons.items())


def deadlock(machine: Machine) -> tuple[int, str]:
    """The first thread that is stuck, and who waits where."""
    stuck = np.flatnonzero((machine.status == BLOCKED) | (machine.status == PARKED))
    places: dict[int, dict[int, list[int]]] = {}
    for slot in stuck.tolist():
        places.setdefault(int(machine.stopped_at[slot]), {}).setdefault(slot // WARP, []).append(slot % WARP)
    told = []
    for pc, warps in places.items():
        instruction = machine.program.code[pc]
        per_block = machine.geometry.block_warps
        who = ", ".join(
            f"warp {warp % per_block} lanes {ranges(np.asarray(lanes))}" for warp, lanes in warps.items()
        )
        told.append(f"line {instruction.line} `{instruction.text}`: {who}")
    exited = int((machine.status == EXITED).sum())
    return int(
        stuck[0]
    ), f"deadlock: no thread can go on. Waiting at {'; '.join(told)}; {exited} threads have exited"
