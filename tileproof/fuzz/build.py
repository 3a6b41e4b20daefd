"""The same call in the library's own objects."""

from __future__ import annotations

from typing import Any

import tileproof as tp
from tileproof.fuzz.oracle.description import Call, Operand, Region
from tileproof.fuzz.oracle.terms import Term
from tileproof.layouts.axes import axis
from tileproof.layouts.index import as_relation, conjunction, disjunction
from tileproof.layouts.layout import R, S, TileLayout
from tileproof.layouts.view import ViewOperations

_AXES = {"lane": "laneid", "warp": "warpid"}
_OPERATORS: dict[str, Any] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "^": lambda a, b: a ^ b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "min": tp.minimum,
    "max": tp.maximum,
    "not": lambda a: ~as_relation(a),
    "all": lambda *items: conjunction(map(as_relation, items)),
    "any": lambda *items: disjunction(map(as_relation, items)),
}


def built(term: Term, symbols: dict[str, Any]) -> Any:
    """The term as an index expression or a relation."""
    if isinstance(term, int):
        return term
    if isinstance(term, str):
        return symbols[term] if term in symbols else axis(_AXES.get(term, term))
    return _OPERATORS[term[0]](*(built(argument, symbols) for argument in term[1:]))


def view(operand: Operand, symbols: dict[str, Any]) -> ViewOperations:
    """The tensor and the view of it. Raises ``LayoutError`` where the library refuses them."""

    def strided(amount: Term, name: str) -> Any:
        return built(amount, symbols) if name == "m" else built(amount, symbols) @ axis(name)

    factors = operand.factors
    spec = S[
        tuple(built(f.extent, symbols) for f in factors) : tuple(strided(f.stride, f.axis) for f in factors)
    ]
    for replica in operand.replicas:
        spec = spec + R[(built(replica.extent, symbols),) : (strided(replica.stride, replica.axis),)]
    for amount, name in operand.offsets:
        spec = spec + strided(amount, name)
    swizzle = operand.swizzle
    layout = TileLayout(
        spec, None if swizzle is None else tp.Swizzle(swizzle.bits, swizzle.base, swizzle.shift)
    )
    shape = tuple(built(n, symbols) for n in operand.shape)
    dtype, space, backing = f"uint{operand.bits}", operand.space, operand.backing
    if backing is None:
        made: Any = tp.tensor(operand.name, shape, dtype, space, layout=layout, align=operand.align)  # type: ignore[arg-type]
    else:
        storage = tp.tensor(operand.name + "_storage", (backing.elements,), dtype, space, align=operand.align)  # type: ignore[arg-type]
        made = storage.declare(shape, layout=layout, at=built(backing.at, symbols), name=operand.name)
    items: list[Any] = []
    for region, size in zip(operand.region, shape, strict=True):
        start = built(region.start, symbols)
        if region.extent is None:
            items.append(start)
        elif region == Region(0, size):
            items.append(slice(None))
        else:
            items.append(slice(start, start + region.span, None if region.step == 1 else region.step))
    made = made[tuple(items)]
    if operand.read_as is not None:
        made = made.view(f"uint{operand.read_as}")
    if operand.reshape is not None:
        made = made.view(*operand.reshape)
    return made if operand.order is None else made.permute(*operand.order)  # type: ignore[no-any-return]


def checked(call: Call, **keywords: Any) -> tp.Report:
    """What ``tileproof.check`` says of the call."""
    symbols = {
        s.name: tp.symbol(s.name, s.lo, s.hi, multiple_of=s.multiple_of, uniform=s.uniform)  # type: ignore[arg-type]
        for s in call.symbols
    }
    operands = [view(o, symbols) for o in call.operands]
    keywords |= {name: built(term, symbols) for name, term in call.parameters.items()}
    return tp.check(
        call.opcode,
        *operands,
        scope=call.scope,
        block=call.block,
        active=None if call.guard is None else built(call.guard, symbols),
        assume=() if call.assume is None else built(call.assume, symbols),
        **keywords,
    )
