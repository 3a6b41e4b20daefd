"""``ewise``: scalar functions of registers made up at random, brute force over them, and the replay of
counterexamples.

Source: contract reference, "Scalar compositions".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from tileproof.fuzz.families import FuzzFamily, fuzzed
from tileproof.fuzz.generate.choices import Choices
from tileproof.fuzz.generate.registers import RegistersDraft, Wanted, other_type, spoil
from tileproof.fuzz.generate.tensors import BLOCKS
from tileproof.fuzz.oracle.counterexamples import Told
from tileproof.fuzz.oracle.description import Call, Function, Scalar
from tileproof.fuzz.oracle.registers import RegisterCall, RegisterJudgement, RegisterReplay, shape_misfits
from tileproof.fuzz.oracle.terms import Term

T = TypeVar("T")

FLOATS = ("float32", "float16", "bfloat16", "float64")
TYPES = (*FLOATS, "int32", "uint32", "int16", "uint16", "int64", "uint64")


NOTHING = Function("nothing", (), "", 0)
"""The function of a draft that has none yet."""


@dataclass(frozen=True)
class Elementwise(RegisterCall):
    """``function`` at each register coordinate; its inputs follow the destination."""

    checker: ClassVar[str] = "check_ewise"
    overwritten: ClassVar[str] = "alias"

    function: Function

    @property
    def opcode(self) -> Function:
        return self.function

    @property
    def form(self) -> str:
        types = ", ".join(dtype for _, dtype in self.function.parameters)
        return f"{self.family} {self.function.result} of ({types})"

    def element_of(self, _position: int, _element: Sequence[T]) -> list[T]:
        return []


@dataclass
class ElementwiseDraft(RegistersDraft):
    """``function`` and, for each of its parameters, what is given."""

    function: Function = NOTHING

    def described(self) -> Call:
        return Elementwise(self.family, self.scope, self.block, self.operands(), self.function, **self.launch)

    def scalar(self, position: int) -> Scalar | None:
        c, (name, dtype) = self.choices, self.function.parameters[position - 1]
        if not c.chance(20):
            return None
        kind = c.among("number", "variable", "constant")
        if kind == "variable":
            return Scalar(kind, "v" + name, dtype)
        number = c.among(2.0, 0.5, -1.0, 0.0) if "float" in dtype else c.among(1, 0, 7)
        return Scalar(kind, number, None if kind == "number" else dtype)


def _function(c: Choices) -> Function:
    """One to three inputs, all of one type or converted to it first."""
    result = c.among(*TYPES)
    signed = not result.startswith("u")
    names = ("x", "y", "z")[: c.among(2, 1, 3)]
    types = [result] * len(names)
    terms: list[Term] = list(names)
    if c.chance(30):
        which = c.below(len(names))
        # Conversions between floats and between integers of one kind need nothing said of rounding.
        types[which] = c.among(*(FLOATS[:2] if "float" in result else TYPES[4:6]))
        if types[which] != result:
            terms[which] = ("cast", names[which], result)
    x, *more = terms
    if not more:
        forms: list[Term] = [("neg", x), ("abs", x)] if signed else []
        body = c.among(*forms, ("+", x, x), ("max", x, 1))
    elif len(more) == 1:
        body = c.among(*[(name, x, more[0]) for name in ("+", "*", "-", "min", "max")])
    else:
        forms = [("+", ("*", x, more[0]), more[1]), ("-", ("min", x, more[0]), more[1])]
        body = c.among(*forms, *([("fma", x, *more)] if "float" in result else []))
    return Function("f", tuple(zip(names, types, strict=True)), result, body)


def generate(family: str, c: Choices) -> Call:
    """The plainest choices give a plain legal call."""
    scope = c.among("thread", "warp", "cta", "warpgroup")
    draft = ElementwiseDraft(c, family, "registers", 0, 1, scope, (c.among(*BLOCKS[scope]),))
    draft.function = _function(c)
    types = [draft.function.result, *(dtype for _, dtype in draft.function.parameters)]
    wanted = [Wanted(name, int(dtype[-2:]), (), dtype) for name, dtype in zip("RXYZ", types, strict=False)]
    draft.fill(wanted, draft.scalar)
    spoil(draft, other_type, other_type)
    return draft.finished()


def misfits(call: Elementwise) -> list[str]:
    """Demands on element types, state space and shape."""
    function = call.function
    types = [function.result, *(dtype for _, dtype in function.parameters)]
    found = shape_misfits(call, [()] * len(call.operands))
    for given, dtype in zip(call.given, types, strict=True):
        if given.kind == "tensor" and (given.dtype or f"uint{given.view_bits}") != dtype:  # type: ignore[union-attr]
            found.append("dtype")
    return found


class ElementwiseReplay(RegisterReplay):
    """Counterexamples of scalar functions."""

    def _alias(self, told: Told) -> str | None:
        return self._overwritten(told)


fuzzed(FuzzFamily(("ewise",), generate, misfits, RegisterJudgement, ElementwiseReplay))
