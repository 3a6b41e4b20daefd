"""Atomic read-modify-write operations; threads of one instruction take their turns in lane order (ISA
9.7.13.5, .6).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tileproof.simulate.instructions.loads import ORDERING, as_bytes, as_values, state_space
from tileproof.simulate.issue import Issue
from tileproof.simulate.registry import Decoder, Execute, instruction
from tileproof.simulate.scalars import B16, B32, B64, B128, F32, F64, S32, S64, U32, U64, Array, ScalarType

_BITWISE = (B32, B64)
_TYPES: dict[str, tuple[ScalarType, ...]] = {
    "and": _BITWISE,
    "or": _BITWISE,
    "xor": _BITWISE,
    "exch": (B32, B64, B128),
    "cas": (B16, B32, B64, B128),
    "add": (U32, S32, U64, F32, F64),
    "inc": (U32,),
    "dec": (U32,),
    "min": (U32, S32, U64, S64),
    "max": (U32, S32, U64, S64),
}

_UPDATES: dict[str, Callable[..., object]] = {
    "and": lambda old, b: old & b,
    "or": lambda old, b: old | b,
    "xor": lambda old, b: old ^ b,
    "exch": lambda _, b: b,
    "cas": lambda old, b, c: c if old == b else old,
    "inc": lambda old, b: 0 if old >= b else old + 1,
    "dec": lambda old, b: b if old == 0 or old > b else old - 1,
    "min": min,
    "max": max,
}


@instruction("atom", "red")
def atomic(code: Decoder) -> Execute:
    """`atom d, [a], b{, c}` returns what was there before; `red [a], b` returns nothing."""
    returns = code.name == "atom"
    space = state_space(code)
    has_policy = code.flag("L2::cache_hint")
    code.ignore(ORDERING)
    names = [name for name in _TYPES if returns or name not in ("cas", "exch")]
    name = code.need(*names)
    kind = code.scalar(*_TYPES[name])
    first = 1 if returns else 0
    sources = 2 if name == "cas" else 1
    code.finish(operands=first + 1 + sources + has_policy)
    code.need_address(first)
    update = _add(kind) if name == "add" else _UPDATES[name]

    def execute(issue: Issue) -> None:
        addresses = issue.addresses(first, space)
        data, known = issue.load(space, addresses, kind.bytes)
        if not known.all():
            issue.fail("reads memory that was never written", int((~known).argmax()))
        values = [_plain(issue.read(first + 1 + place, kind), kind) for place in range(sources)]
        held = _plain(as_values(data, kind), kind)
        now: dict[object, object] = {}
        before, after = [], []
        for key, old, *others in zip(_places(issue, space, addresses), held, *values, strict=True):
            before.append(now.get(key, old))
            now[key] = update(before[-1], *others)
        after = [now[key] for key in _places(issue, space, addresses)]
        issue.store(space, addresses, as_bytes(np.asarray(after, kind.dtype), kind))
        if returns:
            issue.write(0, kind, np.asarray(before, kind.dtype))

    return execute


def _add(kind: ScalarType) -> Callable[..., object]:
    if kind.kind == "f":
        return lambda old, b: float(kind.dtype.type(old) + kind.dtype.type(b))
    top = 1 << kind.bits - 1 if kind.kind == "s" else 0
    return lambda old, b: ((old + b + top) & (1 << kind.bits) - 1) - top


def _plain(values: Array, kind: ScalarType) -> list[object]:
    return [tuple(row) for row in values.tolist()] if kind == B128 else values.tolist()


def _places(issue: Issue, space: str, addresses: Array) -> list[object]:
    """What tells memory locations apart, whichever address space names them."""
    places: list[object] = [None] * addresses.size
    for part in issue.machine.memory.parts(
        space, addresses, issue.slots, issue.machine.geometry.rank[issue.slots]
    ):
        rows = zip(part.positions.tolist(), part.copies.tolist(), part.addresses.tolist(), strict=True)
        for position, copy, address in rows:
            places[position] = (part.space.name, copy, address)
    return places
