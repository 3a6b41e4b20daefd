"""Moves, packing, and conversions between addresses of state spaces (ISA 9.7.9.3, .4, .19, .20, .23, .24)."""

from __future__ import annotations

import numpy as np

from tileproof.simulate.issue import Issue
from tileproof.simulate.memory import RANK_SHIFT, WINDOW_BYTES, WINDOWS, classify
from tileproof.simulate.operands import Symbol, Tuple, spell
from tileproof.simulate.registry import Decoder, Execute, instruction
from tileproof.simulate.scalars import (
    B16,
    B32,
    B64,
    B128,
    F32,
    F64,
    PRED,
    S16,
    S32,
    S64,
    U16,
    U32,
    U64,
    Array,
    ScalarType,
    to_bits,
    untyped,
)

_OFFSET = (1 << RANK_SHIFT) - 1
_SPACES = ("global", "shared", "shared::cta", "shared::cluster", "local", "const", "param", "param::entry")


@instruction("mov")
def mov(code: Decoder) -> Execute:
    """Copies a register, a constant, a special register or the address of a variable; packs and unpacks."""
    kind = code.scalar(B16, B32, B64, B128, U16, U32, U64, S16, S32, S64, F32, F64, PRED)
    code.finish(operands=2)
    target, source = code.operands
    if isinstance(source, Tuple):
        part = _element(code, kind, source)
        return lambda issue: issue.write(
            0, kind, pack([issue.read(one, part) for one in source.elements], kind)
        )
    if isinstance(target, Tuple):
        part = _element(code, kind, target)

        def unpack(issue: Issue) -> None:
            whole = np.ascontiguousarray(
                to_bits(issue.read(1, kind), kind) if kind != B128 else issue.read(1, kind)
            )
            columns = whole.view(part.storage).reshape(issue.slots.size, -1)
            for place, one in enumerate(target.elements):
                issue.write(one, part, np.ascontiguousarray(columns[:, place]))

        return unpack
    return lambda issue: issue.write(0, kind, issue.read(1, kind))


def _element(code: Decoder, kind: ScalarType, vector: Tuple) -> ScalarType:
    count = len(vector.elements)
    if count not in (2, 4) or kind.bits // count not in (8, 16, 32, 64):
        code.fail(f"{spell(vector)} has {count} parts; {kind} splits into 2 or 4 parts of 8 to 64 bits")
    return untyped(kind.bits // count)


def pack(parts: list[Array], kind: ScalarType) -> Array:
    """Equal parts, the lowest first -> values of `kind`."""
    columns = np.ascontiguousarray(np.stack(parts, axis=-1))
    if kind == B128:
        return columns.view(np.uint64).reshape(-1, 2)
    return columns.view(kind.dtype).reshape(-1)


def window(space: str) -> str:
    """`shared` for `shared::cta` and so on."""
    return space.split("::", maxsplit=1)[0]


@instruction("cvta")
def cvta(code: Decoder) -> Execute:
    """An address of a state space -> its generic address; `.to` is the way back."""
    to = code.flag("to")
    space = code.need(*_SPACES)
    code.scalar(U64)
    code.finish(operands=2)
    source = code.operands[1]
    if isinstance(source, Symbol) and source.space != window(space):
        code.fail(f"{source.name!r} is a .{source.space} variable")
    return (lambda issue: _from_generic(issue, space)) if to else (lambda issue: _to_generic(issue, space))


def _to_generic(issue: Issue, space: str) -> None:
    addresses = issue.read(1, U64)
    name = window(space)
    if name != "global":
        beyond = addresses >= WINDOW_BYTES
        if beyond.any():
            position = int(beyond.argmax())
            issue.fail(
                f"{int(addresses[position]):#x} is not a {space} address, so it has no generic one", position
            )
        if name == "shared":
            addresses = name_block(issue, addresses)
        addresses = addresses + np.uint64(WINDOWS[name])
    issue.write(0, U64, addresses)


def name_block(issue: Issue, addresses: Array) -> Array:
    """Shared addresses (u64), those of the executing block made to name it, so that they hold in other blocks
    too.
    """
    own = (issue.machine.geometry.rank[issue.slots] + 1 << RANK_SHIFT).astype(np.uint64)
    return np.where(addresses >> np.uint64(RANK_SHIFT) == 0, addresses | own, addresses)


def _from_generic(issue: Issue, space: str) -> None:
    addresses = issue.read(1, U64)
    name = window(space)
    wrong = classify(addresses.astype(np.int64)) != name
    if wrong.any():
        position = int(wrong.argmax())
        issue.fail(
            f"generic address {int(addresses[position]):#x} does not point into {space} memory", position
        )
    if name != "global":
        addresses = addresses - np.uint64(WINDOWS[name])
    if name == "shared":
        rank = (addresses >> np.uint64(RANK_SHIFT)).astype(np.int64) - 1
        own = rank == issue.machine.geometry.rank[issue.slots]
        if space != "shared::cluster" and not own.all():
            position = int((~own).argmax())
            issue.fail(
                f"generic address {int(addresses[position]):#x} points into another block's shared memory",
                position,
            )
        addresses = np.where(own, addresses & np.uint64(_OFFSET), addresses)
    issue.write(0, U64, addresses)


@instruction("isspacep")
def isspacep(code: Decoder) -> Execute:
    """Whether a generic address points into a state space."""
    space = code.need(*_SPACES)
    code.finish(operands=2)

    def execute(issue: Issue) -> None:
        addresses = issue.read(1, U64).astype(np.int64)
        inside = classify(addresses) == window(space)
        if space in ("shared", "shared::cta"):
            rank = (addresses - WINDOWS["shared"] >> RANK_SHIFT) - 1
            inside &= (rank == -1) | (rank == issue.machine.geometry.rank[issue.slots])
        issue.write(0, PRED, inside)

    return execute


@instruction("mapa", "getctarank")
def cluster_address(code: Decoder) -> Execute:
    """`mapa` moves an address to the same offset in another block; `getctarank` tells the block that an
    address belongs to.
    """
    shared = code.flag("shared::cluster")
    kind = code.scalar(U32, U64)
    moves = code.name == "mapa"
    code.finish(operands=3 if moves else 2)
    start = np.uint64(0 if shared else WINDOWS["shared"])

    def execute(issue: Issue) -> None:
        named = name_block(issue, issue.read(1, kind).astype(np.uint64) - start)
        if not moves:
            issue.write(0, U32, (named >> np.uint64(RANK_SHIFT)) - np.uint64(1))
            return
        rank = issue.read(2, U32).astype(np.uint64)
        absent = rank >= issue.machine.memory.blocks
        if absent.any():
            position = int(absent.argmax())
            issue.fail(
                f"block rank {int(rank[position])} is not in a cluster of {issue.machine.memory.blocks}",
                position,
            )
        moved = named & np.uint64(_OFFSET) | rank + np.uint64(1) << np.uint64(RANK_SHIFT)
        issue.write(0, kind, moved + start)

    return execute
