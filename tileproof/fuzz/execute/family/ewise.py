"""``ewise``: each operation of the function is the instruction that the contract names, computed on the elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zlib import crc32

from tileproof.fuzz.execute.masks import kind_of, mask
from tileproof.fuzz.execute.moves import Executed, Given, Mask, Move, Units, executed, in_order
from tileproof.fuzz.execute.points import Points, access_points
from tileproof.fuzz.execute.scalars import bits_given, encoded, held, unsigned
from tileproof.fuzz.execute.values import computation, result
from tileproof.fuzz.family.ewise import Elementwise
from tileproof.fuzz.generate.spellings import bits_of
from tileproof.fuzz.oracle.description import Operand
from tileproof.fuzz.oracle.terms import Term

_NAMES = {"float": "f", "int": "s", "uint": "u"}
_OPCODES = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "min": "min",
    "max": "max",
    "neg": "neg",
    "abs": "abs",
    "fma": "fma",
}
_ROUNDED = ("+", "-", "*", "fma")
_SIGNIFICANT = {"bf16": 8, "f16": 11, "f32": 24, "f64": 53}


def ptx(dtype: str) -> str:
    """The PTX type of an element type."""
    kind = dtype.rstrip("0123456789")
    return "bf16" if kind == "bfloat" else f"{_NAMES[kind]}{dtype.removeprefix(kind)}"


def points(call: Elementwise, ctas: int) -> Points:
    """A point is an element."""
    return access_points(call, 1, ctas)


def moves(call: Elementwise, points: Points) -> tuple[Move, ...]:
    """Contract reference, "Scalar compositions"."""
    result_type, types = ptx(call.function.result), _types(call)
    sources: list[Units | Given] = []
    for type_, given in zip(types.values(), call.given[1:], strict=True):
        if isinstance(given, Operand):
            sources.append(_units(given, points, type_))
        else:
            bits = bits_given(given, type_, points, scalars(call))
            sources.append(Given(unsigned(bits, bits_of(type_) // 8)))

    def compute(*read: Any) -> Any:
        return _computed(call.function.body, result_type, dict(zip(types, read, strict=True)), types)

    target = call.operands[0]
    move = Move(
        _units(target, points, result_type),
        tuple(sources),
        points.executing,
        compute,
        result=result("", result_type),
    )
    return in_order(move, points)


def _units(operand: Operand, points: Points, type_: str) -> Units:
    return Units(operand, points.offset(operand, []), bits_of(type_) // 8)


def _types(call: Elementwise) -> dict[str, str]:
    """The PTX type of each parameter."""
    return {name: ptx(dtype) for name, dtype in call.function.parameters}


def _computed(term: Term, type_: str, read: Mapping[str, Any], types: Mapping[str, str]) -> Any:
    """The bits of a term of a type at each point."""
    if isinstance(term, str):
        return read[term]
    if not isinstance(term, tuple):
        some = next(iter(read.values()))
        number = encoded(term, type_) if "f" in type_ else term
        return unsigned(some, bits_of(type_) // 8) * 0 + number
    operation, *arguments = term
    if operation == "cast":
        (source, _) = arguments
        return computation(_conversion(type_, types[source]), (type_, types[source]))(read[source])
    rounding = ".rn" if "f" in type_ and operation in _ROUNDED else ""
    low = ".lo" if operation == "*" and "f" not in type_ else ""
    spelling = f"{_OPCODES[operation]}{rounding}{low}.{type_}"
    operands = [_computed(argument, type_, read, types) for argument in arguments]
    return computation(spelling, (type_,) * (len(operands) + 1))(*operands)


def _conversion(to: str, of: str) -> str:
    """Where it is not exact, to nearest."""
    precise = _SIGNIFICANT.get(to, 64) >= _SIGNIFICANT.get(of, 0) and (to, of) != ("bf16", "f16")
    return f"cvt{'' if precise else '.rn'}.{to}.{of}"


def scalars(call: Elementwise) -> Mapping[str, int]:
    """Tags."""
    return held(zip(_types(call).values(), call.given[1:], strict=True))


def masks(call: Elementwise) -> Mapping[str, Mask]:
    """Any floats."""
    found: dict[str, Mask] = {}
    hashed = crc32(repr(call).encode())
    for position, (type_, given) in enumerate(zip(_types(call).values(), call.given[1:], strict=True)):
        if isinstance(given, Operand):
            made = mask(type_, kind_of(hashed >> 8 * position))
            if made is not None:
                found[given.storage] = made
    return found


executed(Executed(("ewise",), points, moves, scalars=scalars, masks=masks))
