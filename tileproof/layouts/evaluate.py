"""The numeric reading: an expression as a Python integer, or as a NumPy array over many points at once."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cache, reduce
from typing import Any

from tileproof.errors import LayoutError
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.traverse import arguments_first

_PYTHON: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "mul": operator.mul,
    "div": operator.floordiv,
    "mod": operator.mod,
    "xor": operator.xor,
    "and": operator.and_,
    "or": operator.or_,
    "min": min,
    "max": max,
    "select": lambda condition, a, b: a if condition else b,
    "eq": operator.eq,
    "lt": operator.lt,
    "not": operator.not_,
    "all": lambda *items: all(items),
    "any": lambda *items: any(items),
}


def evaluate(expression: Any, values: Mapping[Leaf, int]) -> Any:
    """The exact value (``int`` or ``bool``) where each variable has the given value.

    Raises :class:`LayoutError` when a variable has no value.
    """
    return _walk(expression, values, _PYTHON)


def evaluate_array(expression: Any, values: Mapping[Leaf, Any]) -> Any:
    """The value at many points: ``values`` maps variables to broadcastable ``int64`` arrays.

    Arithmetic is that of ``int64``; callers keep magnitudes below ``2**63`` (bounds tell).
    """
    return _walk(expression, values, _arrays())


def evaluate_arrays(expressions: Sequence[Any], values: Mapping[Leaf, Any]) -> list[Any]:
    """As :func:`evaluate_array`, for several expressions, which compute once what they have in common."""
    done: dict[int, Any] = {}
    return [_walk(expression, values, _arrays(), done) for expression in expressions]


@cache
def _arrays() -> Mapping[str, Callable[..., Any]]:
    """What the operations mean over arrays."""
    import numpy as np

    def low_bits(a: Any, n: Any) -> Any:
        return a & (n - 1) if type(n) is int and n > 0 and n & (n - 1) == 0 else a % n

    def high_bits(a: Any, n: Any) -> Any:
        return a >> (n.bit_length() - 1) if type(n) is int and n > 0 and n & (n - 1) == 0 else a // n

    return {
        **_PYTHON,
        # Floor division and its remainder by a power of two, many times faster.
        "div": high_bits,
        "mod": low_bits,
        "min": np.minimum,
        "max": np.maximum,
        "select": np.where,
        "not": np.logical_not,
        "all": lambda *items: reduce(np.logical_and, items),
        "any": lambda *items: reduce(np.logical_or, items),
    }


def where(relation: Any, counts: Mapping[Leaf, int]) -> list[tuple[int, ...]]:
    """The points at which a relation holds, each variable counting from 0 up to, without, its number in ``counts``.

    Empty where that takes numbers that 64 bits do not hold.
    """
    import numpy as np

    grid = np.indices(tuple(counts.values()), dtype=np.int64, sparse=True)
    try:
        holds = evaluate_array(relation, dict(zip(counts, grid, strict=True)))
    except OverflowError:
        return []
    everywhere = np.broadcast_to(holds, tuple(counts.values()))
    return [tuple(point) for point in np.argwhere(everywhere).tolist()]


def _walk(
    expression: Any,
    values: Mapping[Leaf, Any],
    table: Mapping[str, Callable[..., Any]],
    known: dict[int, Any] | None = None,
) -> Any:
    done: dict[int, Any] = {} if known is None else known

    def visit(node: Any) -> Any:
        result = done.get(node.uid)
        if result is None:
            op = node.op
            if op == "leaf":
                try:
                    result = values[node.args[0]]
                except KeyError:
                    raise LayoutError(f"no value was given for {node.args[0].label}") from None
            elif op in ("const", "truth"):
                return node.args[0]
            else:
                result = table[op](*[visit(a) for a in node.args])
            done[node.uid] = result
        return result

    try:
        return visit(expression)
    except RecursionError:
        arguments_first(visit, expression)
        return visit(expression)
