"""What a caller hands to an instruction: views, and in read positions also numbers, indices and typed scalars.

A scalar operand is the same for every repeat. Which list of operands a spelling is used with, for example
packing or unpacking ``mov``, follows from their number and from the registers of the views.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tileproof.contracts.grammar import Form, Operand, shapes
from tileproof.contracts.literals import number_text
from tileproof.errors import CallError
from tileproof.layouts.index import Index, as_index
from tileproof.layouts.index import Operand as Arithmetic
from tileproof.layouts.view import View, ViewOperations
from tileproof.scalars.expression import Scalar

ScalarOperand = int | float | Index | Scalar
Given = ViewOperations | ScalarOperand | Arithmetic


def split(
    form: Form, operands: Sequence[Given], scalars: bool
) -> tuple[tuple[View, ...], dict[int, ScalarOperand]]:
    """The views, and the scalars by position in PTX order. Raises :class:`CallError` for anything else.

    ``scalars`` says whether the instruction's contract takes any.
    """
    views: list[View] = []
    others: dict[int, ScalarOperand] = {}
    for position, operand in enumerate(operands):
        if isinstance(operand, ViewOperations):
            views.append(operand.as_view())
        elif scalars and isinstance(operand, Arithmetic):
            others[position] = as_index(operand)
        elif scalars and isinstance(operand, ScalarOperand) and not isinstance(operand, bool):
            others[position] = operand
        else:
            wanted = (
                "a tensor, a view, a number, an index or a typed scalar" if scalars else "a tensor or a view"
            )
            raise CallError(f"{form.spelling}: operand {position} must be {wanted}, got {operand!r}")
    return tuple(views), others


def select(form: Form, views: Sequence[View], scalars: Mapping[int, ScalarOperand]) -> Form:
    """The form with the list of operands that is meant: of those with as many, the first that is most like them.

    Raises :class:`CallError` when no list of the spelling has as many, and for a scalar that is to be written.
    """
    count = len(views) + len(scalars)
    every = shapes(form.spelling)
    candidates = [f for f in every if len(f.operands) == count]
    if not candidates:
        needed = " or ".join(dict.fromkeys(str(len(f.operands)) for f in every))
        raise CallError(f"{form.spelling} takes {needed} operands in PTX order, got {count}")
    remaining = iter(views)
    given: list[View | None] = [None if position in scalars else next(remaining) for position in range(count)]
    chosen = max(candidates, key=lambda f: sum(map(_likeness, f.operands, given)))
    for position, value in scalars.items():
        operand = chosen.operands[position]
        if operand.access == "written":
            raise CallError(
                f"{form.spelling}: operand {position} ({operand.name}) is written, so it must be a tensor or a view, "
                f"got {scalar_text(value)}"
            )
    return chosen


def _likeness(operand: Operand, view: View | None) -> int:
    """How much of an operand a view or a scalar is: its width, and its number of registers."""
    if view is None:
        return 2 * (operand.registers == 1 and operand.access == "read")
    return (view.bits == operand.bits) + (bool(view.shape) and view.shape[-1].value == operand.registers)


def scalar_text(value: ScalarOperand) -> str:
    """A scalar operand as reports name it."""
    if isinstance(value, Scalar):
        return number_text(value.value) if isinstance(value.value, int | float) else str(value.value)
    return number_text(value) if isinstance(value, int | float) else repr(value)
