"""A random call in the form of ``tests/data/described-views.json``, which is what the peer is asked about.

The peer's language says less than a description can: regions with a step, reads as another type, shapes and layouts
with symbols in them, symbols that vary by thread, and local or constant memory have no counterpart.
"""

from __future__ import annotations

from typing import Any

from tileproof.fuzz.oracle.description import Call, Factor, Operand
from tileproof.fuzz.oracle.terms import THREAD_NAMES, Term

_WIDTHS = (8, 16, 32, 64)
_SPACES = {"global": "global", "shared": "shared", "registers": "local"}
_NAMES = {
    "lane": "lane",
    "warp": "warp",
    "tx": "tid",
    "ty": 'T.cuda.thread_idx("y")',
    "tz": 'T.cuda.thread_idx("z")',
    "wid_in_wg": "(warp % 4)",
    "wgid": "(warp // 4)",
}
_FUNCTIONS = {"min": "T.min", "max": "T.max", "all": "T.And", "any": "T.Or", "not": "T.Not"}
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class _InexpressibleError(Exception):
    """The peer has no way to say it."""


def described(call: Call) -> dict[str, Any] | None:
    """The call as an entry for :func:`~tileproof.fuzz.peer.script.script`; ``None`` if the peer cannot say it."""
    try:
        return _entry(call)
    except _InexpressibleError:
        return None


def _entry(call: Call) -> dict[str, Any]:
    context = []
    for symbol in call.symbols:
        if symbol.uniform != "grid":
            raise _InexpressibleError
        first, last = symbol.values[0], symbol.values[-1]
        step = f", step={symbol.multiple_of}" if symbol.multiple_of != 1 else ""
        context.append(f"for {symbol.name} in T.serial({first}, {last + 1}{step})")
    if call.assume is not None:
        context.append(f"T.evaluate(T.assume({_text(call.assume)}))")
    if call.guard is not None:
        context.append(f"if {_text(call.guard)}")
    entry: dict[str, Any] = {
        "opcode": call.opcode,
        "scope": call.scope,
        "block": list(call.block),
        "operands": [_operand(operand) for operand in call.operands],
        "context": context,
    }
    if call.parameters:
        entry["parameters"] = {name: _text(term) for name, term in call.parameters.items()}
    return entry


def _text(term: Term) -> str:
    if isinstance(term, int):
        return str(term)
    if isinstance(term, str):
        if term in THREAD_NAMES and term not in _NAMES:
            raise _InexpressibleError
        return _NAMES.get(term, term)
    operator, *arguments = term
    written = [_text(argument) for argument in arguments]
    if operator in ("all", "any") and len(written) != 2:
        nested = written[-1]
        for other in reversed(written[:-1]):
            nested = f"{_FUNCTIONS[operator]}({other}, {nested})"
        return nested
    if operator in _FUNCTIONS:
        return f"{_FUNCTIONS[operator]}({', '.join(written)})"
    return f"({written[0]} {operator} {written[1]})"


def _fixed(term: Term) -> int:
    if not isinstance(term, int):
        raise _InexpressibleError
    return term


def _operand(operand: Operand) -> dict[str, Any]:
    if operand.bits not in _WIDTHS or operand.space not in _SPACES or operand.read_as is not None:
        raise _InexpressibleError
    made: dict[str, Any] = {
        "name": operand.name,
        "space": _SPACES[operand.space],
        "dtype": f"uint{operand.bits}",
        "shape": [_fixed(n) for n in operand.shape],
        "iters": [_factor(f) for f in operand.factors],
    }
    if operand.space != "registers":
        made["align"] = operand.align
    if operand.replicas:
        made["replica"] = [_factor(f) for f in operand.replicas]
    for amount, axis in operand.offsets:
        offsets = made.setdefault("offset", {})
        offsets[axis] = offsets.get(axis, 0) + _fixed(amount)
    if operand.swizzle is not None:
        if operand.swizzle.shift <= 0:
            raise _InexpressibleError
        made["swizzle"] = [operand.swizzle.base, operand.swizzle.bits, operand.swizzle.shift]
    if operand.backing is not None:
        made["backing"] = [operand.backing.elements, _fixed(operand.backing.at)]
    return made | _view(operand, made["shape"])


def _factor(factor: Factor) -> list[Any]:
    return [_fixed(factor.extent), _fixed(factor.stride), factor.axis]


def _view(operand: Operand, shape: list[int]) -> dict[str, Any]:
    """The steps of the view. The peer rearranges first and slices then, which is the same unless a sliced dimension
    is split.
    """
    if any(r.extent is None or r.step != 1 for r in operand.region):
        raise _InexpressibleError
    starts = [_text(r.start) for r in operand.region]
    extents = [r.extent for r in operand.region]
    whole = extents == shape and all(r.start == 0 for r in operand.region)
    found: dict[str, Any] = {}
    groups = [[n] for n in shape] if operand.reshape is None else _split(shape, operand.reshape)
    if operand.reshape is not None and not whole:
        raise _InexpressibleError
    pieces = [n for group in groups for n in group]
    order = operand.order or tuple(range(len(pieces)))
    if len(pieces) > len(_LETTERS):
        raise _InexpressibleError
    if operand.reshape is not None or operand.order is not None:
        letters = iter(_LETTERS)
        named = [[next(letters) for _ in group] for group in groups]
        left = " ".join(f"({' '.join(group)})" if len(group) > 1 else group[0] for group in named)
        flat = [name for group in named for name in group]
        found["rearrange"] = f"{left} -> {' '.join(flat[d] for d in order)}"
        found["sizes"] = {
            name: n
            for group, sizes in zip(named, groups, strict=True)
            if len(group) > 1
            for name, n in zip(group, sizes, strict=True)
        }
    if not whole:
        found["start"], found["extent"] = [starts[d] for d in order], [extents[d] for d in order]
    return found


def _split(shape: list[int], reshape: tuple[int, ...]) -> list[list[int]]:
    """The new extents that each dimension is split into."""
    left, groups = list(reshape), []
    for extent in shape:
        group: list[int] = []
        size = 1
        while left and (not group or size < extent):
            group.append(left.pop(0))
            size *= group[-1]
        if size != extent:
            raise _InexpressibleError
        groups.append(group)
    if left and groups and all(n == 1 for n in left):
        groups[-1] += left
        left = []
    if left:
        raise _InexpressibleError
    return groups
