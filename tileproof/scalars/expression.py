"""Scalars with a type: constants and variables."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scalar:
    """A typed scalar: an operator over ``args``; ``value`` is a constant's number or a variable's name."""

    op: str
    dtype: str
    args: tuple[Scalar, ...] = ()
    value: int | float | str | None = None


def constant(value: int | float, dtype: str) -> Scalar:
    """A number of a type."""
    return Scalar("constant", dtype, (), value)


def variable(name: str, dtype: str) -> Scalar:
    """A variable of a type."""
    return Scalar("variable", dtype, (), name)
