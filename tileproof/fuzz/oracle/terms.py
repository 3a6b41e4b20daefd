"""Integer and truth expressions as plain data: an integer, a name, or a tuple of an operator and its
arguments.

    ("+", ("*", 4, "i"), ("%", "lane", 2))        ("<", "tx", 40)        ("all", a, b)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

Term = int | str | tuple[Any, ...]

THREAD_NAMES = ("lane", "warp", "tx", "ty", "tz", "wid_in_wg", "wgid", "tid_in_wg")

_OPERATORS: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "^": lambda a, b: a ^ b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "min": np.minimum,
    "max": np.maximum,
    "not": lambda a: a ^ True,
    "all": lambda *items: _fold(lambda a, b: a & b, items),
    "any": lambda *items: _fold(lambda a, b: a | b, items),
}


def _fold(join: Callable[[Any, Any], Any], items: tuple[Any, ...]) -> Any:
    result = items[0]
    for item in items[1:]:
        result = join(result, item)
    return result


def value(term: Term, known: Mapping[str, Any]) -> Any:
    """The value of ``term``; the numbers in ``known`` may be Python integers or broadcastable NumPy arrays."""
    if isinstance(term, int):
        return term
    if isinstance(term, str):
        return known[term]
    return _OPERATORS[term[0]](*(value(argument, known) for argument in term[1:]))


def names(term: Term) -> Iterator[str]:
    """Every name in ``term``, as often as it stands there."""
    if isinstance(term, str):
        yield term
    elif isinstance(term, tuple):
        for argument in term[1:]:
            yield from names(argument)
