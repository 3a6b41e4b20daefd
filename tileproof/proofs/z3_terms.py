"""Terms through Z3's interface."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3

_OPERATORS: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b, "*": lambda a, b: a * b, "div": lambda a, b: a / b, "mod": lambda a, b: a % b,
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, "=": lambda a, b: a == b, "ite": z3.If,
    "and": z3.And, "or": z3.Or, "not": z3.Not, "xor": z3.Xor,
    "bvadd": lambda a, b: a + b, "bvsub": lambda a, b: a - b, "bvmul": lambda a, b: a * b,
    "bvashr": lambda a, b: a >> b, "bvand": lambda a, b: a & b, "bvor": lambda a, b: a | b, "bvxor": lambda a, b: a ^ b,
    "bvudiv": z3.UDiv, "bvurem": z3.URem, "bvsrem": z3.SRem, "bvsmod": lambda a, b: a % b, "bvsdiv": lambda a, b: a / b,
    "bvslt": lambda a, b: a < b, "bvsle": lambda a, b: a <= b,
}  # fmt: skip


class Z3Terms:
    """See :class:`tileproof.proofs.smt.Terms`.

    Each has a context of its own. Contexts are not safe between threads, and what a query costs depends on what
    its context was asked before: with a budget that would make verdicts depend on history.
    """

    def __init__(self) -> None:
        self.context = z3.Context()

    def number(self, value: int, width: int | None) -> Any:
        return z3.IntVal(value, self.context) if width is None else z3.BitVecVal(value, width, self.context)

    def truth(self, value: bool) -> Any:
        return z3.BoolVal(value, self.context)

    def variable(self, name: str, width: int | None) -> Any:
        return z3.Int(name, self.context) if width is None else z3.BitVec(name, width, self.context)

    def boolean(self, name: str) -> Any:
        return z3.Bool(name, self.context)

    def apply(self, operator: str, *arguments: Any) -> Any:
        return _OPERATORS[operator](*arguments)


def value_of(model: z3.ModelRef, term: Any) -> int:
    """The value of an integer or (signed) bit-vector term in a model."""
    found = model.eval(term, model_completion=True)
    return int(found.as_signed_long() if z3.is_bv(found) else found.as_long())
