"""A typed scalar as an expression: a constant or a variable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Scalar:
    """One node: ``op`` is ``constant`` or ``variable``, ``dtype`` an element type such as ``float32``.

    ``value`` is the number of a constant and the name of a variable.
    """

    op: str
    dtype: str
    args: tuple[Scalar, ...] = ()
    value: Any = None


def constant(value: int | float, dtype: str) -> Scalar:
    """A number of that type."""
    return Scalar("constant", dtype, (), value)


def variable(name: str, dtype: str) -> Scalar:
    """A value that has a name and is known at run time only."""
    return Scalar("variable", dtype, (), name)
