"""Exchange between the lanes of a warp (ISA 9.7.9.6, 9.7.13.9 to .12, .14)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tileproof.simulate.geometry import WARP
from tileproof.simulate.issue import Issue
from tileproof.simulate.registry import Decoder, Execute, instruction
from tileproof.simulate.scalars import B32, B64, PRED, S32, U32, Array


def groups(issue: Issue) -> Iterator[Array]:
    """Positions of the threads of one warp that name the same membermask, the last operand; they all are
    here.
    """
    masks = issue.read(len(issue.operands) - 1, B32)
    for positions in issue.warps():
        for mask in np.unique(masks[positions]):
            yield positions[masks[positions] == mask]


@instruction("shfl.sync", members=True)
def shfl(code: Decoder) -> Execute:
    """Reads another lane's value; the result of reading a lane that takes no part is undefined."""
    mode = code.need("up", "down", "bfly", "idx")
    code.scalar(B32)
    code.finish(operands=5)

    def execute(issue: Issue) -> None:
        value = issue.read(1, B32)
        b = issue.read(2, B32).astype(np.int64) & 31
        c = issue.read(3, B32).astype(np.int64)
        bound, segment = c & 31, c >> 8 & 31
        lane = issue.lanes
        lowest = lane & segment
        highest = lowest | (bound & ~segment)
        match mode:
            case "up":
                source, inside = lane - b, lane - b >= highest
            case "down":
                source, inside = lane + b, lane + b <= highest
            case "bfly":
                source, inside = lane ^ b, lane ^ b <= highest
            case _:
                source = lowest | (b & ~segment)
                inside = source <= highest
        source = np.where(inside, source, lane)
        found, known = np.zeros_like(value), np.zeros(value.size, bool)
        for group in groups(issue):
            held = np.full(WARP, -1)
            held[lane[group]] = group
            giver = held[source[group]]
            known[group] = giver >= 0
            found[group] = value[giver]
        issue.write(0, B32, found, known=known)
        second = issue.second(0)
        if second is not None:
            issue.write(second, PRED, inside)

    return execute


@instruction("vote.sync", members=True)
def vote(code: Decoder) -> Execute:
    """`all`, `any`, `uni` and `ballot` over the threads of the membermask."""
    mode = code.need("all", "any", "uni", "ballot")
    ballots = mode == "ballot"
    code.scalar(B32 if ballots else PRED)
    code.finish(operands=3)

    def execute(issue: Issue) -> None:
        votes = issue.read(1, PRED)
        result = np.zeros(votes.size, np.uint32 if ballots else bool)
        for group in groups(issue):
            cast = votes[group]
            if ballots:
                result[group] = (cast.astype(np.uint32) << issue.lanes[group].astype(np.uint32)).sum(
                    dtype=np.uint32
                )
            else:
                result[group] = {"all": cast.all(), "any": cast.any(), "uni": cast.all() or not cast.any()}[
                    mode
                ]
        issue.write(0, B32 if ballots else PRED, result)

    return execute


@instruction("elect.sync", members=True)
def elect(code: Decoder) -> Execute:
    """Elects the lowest lane of the membermask; the ISA leaves the choice open but demands that it is always
    the same.
    """
    code.finish(operands=2)

    def execute(issue: Issue) -> None:
        leader = np.zeros(issue.slots.size, np.uint32)
        for group in groups(issue):
            leader[group] = issue.lanes[group[0]]
        issue.write(0, B32, leader)
        second = issue.second(0)
        if second is not None:
            issue.write(second, PRED, issue.lanes == leader)

    return execute


@instruction("activemask")
def activemask(code: Decoder) -> Execute:
    """The threads of the warp that happen to execute this together."""
    code.scalar(B32)
    code.finish(operands=1)

    def execute(issue: Issue) -> None:
        result = np.zeros(issue.slots.size, np.uint32)
        for group in issue.warps():
            result[group] = (np.uint32(1) << issue.lanes[group].astype(np.uint32)).sum(dtype=np.uint32)
        issue.write(0, B32, result)

    return execute


@instruction("match.any.sync", "match.all.sync", members=True)
def match_(code: Decoder) -> Execute:
    """Masks of the lanes that hold the same value; `all` gives the whole membermask or nothing, and says
    which.
    """
    anyone = ".any." in code.name
    kind = code.scalar(B32, B64)
    code.finish(operands=3)

    def execute(issue: Issue) -> None:
        values = issue.read(1, kind)
        result = np.zeros(values.size, np.uint32)
        for group in groups(issue):
            bits = np.uint32(1) << issue.lanes[group].astype(np.uint32)
            same = values[group][:, None] == values[group][None, :]
            masks = (same * bits).sum(axis=1, dtype=np.uint32)
            result[group] = masks if anyone or same.all() else 0
        issue.write(0, B32, result)
        second = issue.second(0)
        if second is not None:
            issue.write(second, PRED, result != 0)

    return execute


_REDUCTIONS: dict[str, Callable[[Array], object]] = {
    "add": lambda values: values.sum(dtype=values.dtype),
    "min": np.min,
    "max": np.max,
    "and": np.bitwise_and.reduce,
    "or": np.bitwise_or.reduce,
    "xor": np.bitwise_xor.reduce,
}


@instruction("redux.sync", members=True)
def redux(code: Decoder) -> Execute:
    """A reduction over the values of the membermask's threads."""
    name = code.need(*_REDUCTIONS)
    kind = code.scalar(*((B32,) if name in ("and", "or", "xor") else (U32, S32)))
    code.finish(operands=3)

    def execute(issue: Issue) -> None:
        values = issue.read(1, kind)
        result = np.zeros_like(values)
        for group in groups(issue):
            result[group] = _REDUCTIONS[name](values[group])
        issue.write(0, kind, result)

    return execute
