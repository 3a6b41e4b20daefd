"""Threads by number, and which of them a group names.

A thread's linear number is ``tid.x + tid.y*ntid.x + tid.z*ntid.x*ntid.y``; 32 consecutive ones are a warp,
four consecutive warps a warpgroup (PTX ISA 2, 10). A group enumerates the active warps, and the active lanes,
of its unit (a warp, a warpgroup or the CTA) in increasing order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tileproof.fuzz.oracle.description import Call


def numbers(block: tuple[int, ...], warp: Any, lane: Any) -> dict[str, Any]:
    """Every number that the thread ``lane`` of ``warp`` has."""
    x, y, _ = (*block, 1, 1)[:3]
    linear = warp * 32 + lane
    return {
        "warp": warp,
        "lane": lane,
        "warpid": warp,
        "laneid": lane,
        "wgid": warp // 4,
        "wid_in_wg": warp % 4,
        "tid_in_wg": linear % 128,
        "tx": linear % x,
        "ty": linear // x % y,
        "tz": linear // (x * y),
    }


def warps(threads: int) -> int:
    """Warps of a block of so many threads; the last may be incomplete."""
    return -(-threads // 32)


@dataclass(frozen=True)
class Participation:
    """For each thread, in arrays ``(symbols..., warp, lane)``: what it executes, if anything.

    ``warp_rank`` and ``lane_rank`` are its group coordinates. ``unconverged`` marks threads of a unit in
    which an element of the group, or a lane of the instruction, is left without a thread; ``uncovered`` marks
    active threads without an element. ``scattered`` says that the active warps, or lanes, of some unit are
    not evenly spaced.
    """

    executing: Any
    warp_rank: Any
    lane_rank: Any
    unconverged: Any
    uncovered: Any
    scattered: bool = False


def participation(call: Call, active: Any, extents: tuple[int, ...]) -> Participation:
    """Who takes part when ``active`` threads reach the call and the group has ``extents``."""
    nowhere = np.zeros_like(active)
    if call.scope == "thread":
        return Participation(active, nowhere, nowhere, nowhere, nowhere)
    lead, total = active.shape[:-2], active.shape[-2]
    per_unit = {"warp": 1, "warpgroup": 4, "cta": total}[call.scope]
    units = -(-total // per_unit)
    padded = np.zeros((*lead, units * per_unit, 32), dtype=bool)
    padded[..., :total, :] = active
    unit: Any = padded.reshape(*lead, units, per_unit, 32)
    some_warp, some_lane = unit.any(axis=-1), unit.any(axis=-2)
    warp_rank = np.broadcast_to((np.cumsum(some_warp, axis=-1) - 1)[..., None], unit.shape)
    lane_rank = np.broadcast_to((np.cumsum(some_lane, axis=-1) - 1)[..., None, :], unit.shape)
    sizes = dict(zip(call.group_axes, extents, strict=True))
    wanted_warps = sizes.get("warp", per_unit)
    wanted_lanes = sizes.get("lane", 32)
    inside = (warp_rank < wanted_warps) & (lane_rank < wanted_lanes)
    uncovered = unit & ~inside
    if call.collective:
        gap = (some_warp & (warp_rank[..., 0] < wanted_warps) & ~unit.all(axis=-1)).any(axis=-1)
    else:
        needed = some_warp[..., None] & some_lane[..., None, :] & inside
        gap = (needed & ~unit).any(axis=(-1, -2)) | (wanted_lanes > some_lane.sum(axis=-1))
    if "warp" in sizes:
        gap = gap | (wanted_warps > some_warp.sum(axis=-1))
    if call.scope == "warpgroup":
        complete = (np.arange(units) + 1) * 128 <= call.threads
        gap = gap | ~complete
    unconverged = unit & gap[..., None, None]

    scattered = any(_uneven(some.reshape(-1, some.shape[-1])) for some in (some_warp, some_lane))

    def flat(array: Any) -> Any:
        return array.reshape(padded.shape)[..., :total, :]

    return Participation(
        flat(unit & inside), flat(warp_rank), flat(lane_rank), flat(unconverged), flat(uncovered), scattered
    )


def _uneven(rows: Any) -> bool:
    """Whether the true places of some row are not evenly spaced."""
    place, n = np.arange(rows.shape[1]), rows.shape[1]
    count, first = rows.sum(axis=1), rows.argmax(axis=1)
    last = n - 1 - rows[:, ::-1].argmax(axis=1)
    step = np.maximum((last - first) // np.maximum(count - 1, 1), 1)
    even = (
        (place >= first[:, None]) & (place <= last[:, None]) & ((place - first[:, None]) % step[:, None] == 0)
    )
    return bool(((even != rows).any(axis=1) & (count > 0)).any())


def owners(
    block: tuple[int, ...], found: dict[str, Any], thread: dict[str, Any], scope: str
) -> list[tuple[str, Any, Any]]:
    """``(axis, found, needed)`` for each demand that makes ``thread`` the owner of what stands at ``found``.

    A layout may name threads by lane and warp, by lane and numbers in the warpgroup, or by ``tx``. A
    coordinate that the scope distinguishes and that the named axes leave open is zero.
    """
    wanted = [(axis, at, thread[axis]) for axis, at in found.items() if axis != "m"]
    named = set(found) - {"m"}
    if "tx" in named:
        ntid = (*block, 1, 1)[:3]
        for axis, extent in (("ty", ntid[1]), ("tz", ntid[2])):
            if extent > 1 and axis not in named:
                wanted.append((axis, 0, thread[axis]))
        return wanted
    if not named & {"laneid", "tid_in_wg"}:
        wanted.append(("laneid", 0, thread["laneid"]))
    if scope in ("warpgroup", "cta") and not named & {"warpid", "wid_in_wg", "tid_in_wg"}:
        wanted.append(("wid_in_wg", 0, thread["wid_in_wg"]))
    if scope == "cta" and not named & {"warpid", "wgid"}:
        wanted.append(("wgid", 0, thread["wgid"]))
    return wanted
