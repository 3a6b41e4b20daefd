"""In which width offset arithmetic is emitted, and where in it a value must not wrap around.

Additions, multiplications, bitwise operations and remainders by powers of two keep their meaning modulo
``2**n``, so an intermediate wrap there is harmless. Divisions, other remainders, comparisons and the final
offset read their operands as numbers: those must fit.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.contracts.call import Call, Operand
from tileproof.errors import CallError
from tileproof.layouts.bounds import bounds
from tileproof.layouts.index import Index
from tileproof.layouts.normal import simplify
from tileproof.layouts.traverse import postorder, remembered, substitute


def fits(node: Index, bits: int) -> bool:
    """Whether the bounds alone put the value inside a signed integer of ``bits`` bits."""
    lo, hi = bounds(node)
    return lo is not None and hi is not None and lo >= -(1 << (bits - 1)) and hi < 1 << (bits - 1)


@remembered(Index)
def exact_points(offset: Index) -> tuple[Index, ...]:
    """The subexpressions, without the offset itself, whose value is read as a number."""
    found: list[Index] = []
    for node in postorder(offset):
        if node.op in ("div", "mod", "min", "max", "eq", "lt"):
            power = (
                node.op == "mod"
                and node.args[1].op == "const"
                and node.args[1].args[0] & (node.args[1].args[0] - 1) == 0
            )
            if not power:
                found += [a for a in node.args if a.op != "const"]
    return tuple(found)


def index_bits(call: Call, offset: Index) -> int:
    """The width of the offset arithmetic: the caller's choice, or the narrowest that bounds and guards allow.

    Shared and local addresses are 32 bits wide whatever the width of the arithmetic; a wider offset is
    narrowed last, where being in bounds keeps its value.
    """
    chosen = call.parameters.get("index_bits")
    if chosen is not None:
        if chosen not in (32, 64):
            raise CallError(f"index_bits is 32 or 64, got {chosen!r}")
        return int(chosen)
    return 32 if _all_fit(offset) or _all_fit(substitute(offset, call.narrowed)) else 64


def _all_fit(offset: Index) -> bool:
    return fits(offset, 32) and all(fits(p, 32) for p in exact_points(offset))


def wrap_points(call: Call, operand: Operand, atom: tuple[Index, ...]) -> Iterator[tuple[int, Index]]:
    """``(bits, value)`` for each value of the emitted offset arithmetic that has to be proved to fit.

    In 64 bits the final offset needs no proof of its own: it is inside an allocation by the in-bounds
    obligations, and no allocation is that large. A variable is a machine integer of at most 64 bits to begin
    with.
    """
    offset = simplify(operand.address(atom).offset)
    bits = index_bits(call, offset)
    points = [p for p in exact_points(offset) if bits == 32 or p.op != "leaf"]
    if bits == 32:
        points.append(offset)
    for point in points:
        if not fits(point, bits):
            yield bits, point
