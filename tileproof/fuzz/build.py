"""The same call in the library's own objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import tileproof as tp
from tileproof.fuzz.oracle.description import Call, Function, Operand, Region, Symbol
from tileproof.fuzz.oracle.terms import Term
from tileproof.layouts.axes import axis
from tileproof.layouts.index import as_relation, conjunction, disjunction
from tileproof.layouts.layout import R, S, TileLayout
from tileproof.layouts.view import ViewOperations
from tileproof.scalars.expression import cast
from tileproof.scalars.function import Parameter
from tileproof.scalars.functions import maximum, minimum

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


Make = Callable[..., Any]
"""Makes a tensor of a space, a name, a shape, an element type, a layout or none, and an alignment."""


def built(term: Term, symbols: dict[str, Any]) -> Any:
    """The term as an index expression or a relation."""
    if isinstance(term, int):
        return term
    if isinstance(term, str):
        return symbols[term] if term in symbols else axis(_AXES.get(term, term))
    return _OPERATORS[term[0]](*(built(argument, symbols) for argument in term[1:]))


def free(space: Any, name: str, shape: Any, dtype: str, layout: TileLayout | None, align: int) -> Any:
    """A tensor that no kernel declares."""
    return tp.tensor(name, shape, dtype, space, layout=layout, align=align)


def tensor(operand: Operand, symbols: dict[str, Any], storages: dict[str, Any], make: Make = free) -> Any:
    """The tensor of an operand. ``storages`` are those made so far, by name."""

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
    dtype, backing = operand.tensor_dtype, operand.backing
    if backing is None:
        return make(operand.space, operand.name, shape, dtype, layout, operand.align)
    if operand.storage not in storages:
        unit = f"uint{8 * operand.storage_unit}"
        storages[operand.storage] = make(
            operand.space, operand.storage, (backing.elements,), unit, None, operand.align
        )
    storage = storages[operand.storage]
    return storage.declare(shape, dtype, layout=layout, at=built(backing.at, symbols), name=operand.name)


def view(operand: Operand, symbols: dict[str, Any], made: Any = None) -> ViewOperations:
    """The view of an operand's tensor, which is made for it where it is not there yet.

    Raises ``LayoutError`` where the library refuses either.
    """
    if made is None:
        made = tensor(operand, symbols, {})
    shape = tuple(built(n, symbols) for n in operand.shape)
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
        made = made.view(operand.dtype or f"uint{operand.read_as}")
    if operand.reshape is not None:
        made = made.view(*operand.reshape)
    return made if operand.order is None else made.permute(*operand.order)  # type: ignore[no-any-return]


def arguments(call: Call, symbols: dict[str, Any], make: Make = free) -> list[Any]:
    """What is handed over in PTX order. Operands of one name are views of one tensor."""
    storages: dict[str, Any] = {}
    tensors: dict[str, Any] = {}

    def of_tensor(operand: Operand) -> Any:
        if operand.name not in tensors:
            tensors[operand.name] = tensor(operand, symbols, storages, make)
        return view(operand, symbols, tensors[operand.name])

    kinds: dict[str, Callable[[Any], Any]] = {
        "tensor": of_tensor,
        "number": lambda scalar: scalar.value,
        "index": lambda scalar: built(scalar.value, symbols),
        "constant": lambda scalar: tp.constant(scalar.value, scalar.dtype),
        "variable": lambda scalar: tp.variable(scalar.value, scalar.dtype),
    }
    return [kinds[argument.kind](argument) for argument in call.arguments]


def made_symbols(symbols: Iterable[Symbol]) -> dict[str, Any]:
    """The symbols by name."""
    return {
        s.name: tp.symbol(s.name, s.lo, s.hi, multiple_of=s.multiple_of, uniform=s.uniform)  # type: ignore[arg-type]
        for s in symbols
    }


@dataclass(frozen=True, eq=False)
class Built:
    """A call in the library's own objects: ``opcode`` is a spelling or a scalar function, ``keywords`` those of
    :func:`tileproof.check`.
    """

    check: Callable[..., tp.Report]
    opcode: str | tp.LambdaExpr
    operands: tuple[Any, ...]
    keywords: dict[str, Any]

    def report(self, **keywords: Any) -> tp.Report:
        return self.check(self.opcode, *self.operands, **{**self.keywords, **keywords})


def build(call: Call) -> Built:
    """The call. Raises ``LayoutError`` where the library refuses a tensor or the view of it."""
    symbols = made_symbols(call.symbols)
    launch = {
        "scope": call.scope,
        "block": call.block,
        "active": None if call.guard is None else built(call.guard, symbols),
        "assume": () if call.assume is None else built(call.assume, symbols),
    }
    parameters = {name: built(term, symbols) for name, term in call.parameters.items()}
    check, made = _CHECKERS[call.checker]
    return Built(check, made(call.opcode), tuple(arguments(call, symbols)), launch | parameters)


def checked(call: Call, **keywords: Any) -> tp.Report:
    """What the library says of the call."""
    return build(call).report(**keywords)


def function(described: Function) -> tp.LambdaExpr:
    """A described scalar function as the library has it."""
    parameters = tuple(Parameter(name, dtype) for name, dtype in described.parameters)
    known = {p.name: p.variable for p in parameters}
    return tp.LambdaExpr(described.name, parameters, described.result, _computed(described.body, known))


def _computed(term: Term, known: dict[str, Any]) -> Any:
    """The body of a scalar function; a cast names its type, a constant is a number."""
    if not isinstance(term, tuple):
        return known.get(term, term) if isinstance(term, str) else term
    if term[0] == "cast":
        return cast(_computed(term[1], known), term[2])
    return _FUNCTIONS[term[0]](*(_computed(argument, known) for argument in term[1:]))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "neg": lambda a: -a,
    "abs": abs,
    "min": minimum,
    "max": maximum,
    "fma": tp.fma,
}

_CHECKERS: dict[str, tuple[Callable[..., tp.Report], Callable[[Any], Any]]] = {
    "check": (tp.check, str),
    "check_ewise": (tp.check_ewise, function),
}
"""Each function that takes calls, and what makes its first argument of a described one."""
