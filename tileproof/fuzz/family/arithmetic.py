"""Instructions on registers: calls made up at random, brute force over them, and the replay of counterexamples.

Sources: PTX ISA 9.7.1, 9.7.3 to 9.7.5, 9.7.9.3, 9.7.9.21; contract reference, "Memory and register
instructions".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from tileproof.fuzz.families import FuzzFamily, fuzzed
from tileproof.fuzz.generate.choices import Choices
from tileproof.fuzz.generate.registers import RegistersDraft, Wanted, spoil
from tileproof.fuzz.generate.spellings import MNEMONICS, Spelling, Typed, bits_of, spellings
from tileproof.fuzz.generate.tensors import BLOCKS
from tileproof.fuzz.oracle.counterexamples import Told
from tileproof.fuzz.oracle.description import Call, Scalar
from tileproof.fuzz.oracle.registers import RegisterCall, RegisterJudgement, RegisterReplay, shape_misfits
from tileproof.fuzz.oracle.terms import Term, value

T = TypeVar("T")

FAR = (1 << 63) - 1
"""Brute force computes in signed 64 bits."""

RANGES = {
    "u32": (0, (1 << 32) - 1), "s32": (-(1 << 31), (1 << 31) - 1), "u64": (0, FAR), "s64": (-FAR, FAR),
}  # fmt: skip
"""The types of which an index may be a value, with their ends as far as brute force can tell (PTX ISA 5.2.1)."""


@dataclass(frozen=True)
class Instruction(RegisterCall):
    """An instruction on registers. ``lists`` are the operands that the spelling may be used with; the one that
    fits the tensors is meant.
    """

    spelling: str
    lists: tuple[tuple[Typed, ...], ...]
    preserve: bool = False

    @property
    def opcode(self) -> str:
        return self.spelling

    @property
    def parameters(self) -> dict[str, Term]:
        return super().parameters | ({"preserve_dst": True} if self.preserve else {})

    @cached_property
    def meant(self) -> tuple[Typed, ...]:
        """The list of operands that fits, or else the first."""
        return next((one for one in self.lists if not list_misfits(self, one)), self.lists[0])

    @property
    def _tensors(self) -> list[Typed]:
        return [o for o, given in zip(self.meant, self.given, strict=True) if given.kind == "tensor"]

    def indices(self) -> Iterator[tuple[str, Term]]:
        """The type and the value of each index that is read."""
        for (_, type_, _), given in zip(self.meant, self.given, strict=True):
            if isinstance(given, Scalar) and given.kind == "index":
                yield type_, given.value

    @property
    def suffix(self) -> tuple[int, ...]:
        return tuple(count for _, _, count in self._tensors)

    @property
    def element_names(self) -> tuple[str, ...]:
        return tuple(name for name, _, _ in self._tensors)

    def element_of(self, position: int, element: Sequence[T]) -> list[T]:
        return [element[position]]


@dataclass
class InstructionDraft(RegistersDraft):
    """``spelling`` with the ``chosen`` one of its lists of operands."""

    spelling: Spelling | None = None
    chosen: tuple[Typed, ...] = ()
    preserve: bool = False

    def described(self) -> Call:
        spelling, given = self.spelling, self.operands()
        if spelling is None:
            raise TypeError("a draft is finished when it has its spelling")
        lists = tuple(one for one in spelling.lists if len(one) == len(given))
        return Instruction(
            self.family, self.scope, self.block, given, spelling.opcode, lists, self.preserve, **self.launch
        )

    def scalar(self, position: int) -> Scalar | None:
        """Sometimes what is read is one value for all repeats."""
        c, (_, type_, count) = self.choices, self.chosen[position]
        if count > 1 or bits_of(type_) > 64 or not c.chance(20):
            return None
        if type_ in RANGES and c.chance(50):
            return Scalar("index", self._index(type_))
        dtype = _scalar_type(type_)
        number = c.among(2.5, 1.0, -0.5, 0.0) if "float" in dtype else c.among(1, 0, 7, 100)
        kind = "number" if dtype.endswith("int8") else c.among("number", "variable", "constant")
        return Scalar(
            kind,
            "v" + "xyzw"[position] if kind == "variable" else number,
            None if kind == "number" else dtype,
        )

    def _index(self, type_: str) -> Term:
        c = self.choices
        low, high = RANGES[type_]
        some = self.symbol(0, c.among(3, 7))
        terms: list[Term] = [some, ("*", some, 4), ("+", ("*", some, 2), 1)]
        terms += [("+", some, high - 7)] if high < FAR else []
        terms += [("+", some, low)] if low > -FAR else [("-", some, 5)]
        if self.scope in ("thread", "warp"):
            terms.append(("+", "lane", some))
        return c.among(*terms)


def _indexed(operand: Typed) -> bool:
    """Whether an index may stand for an operand."""
    return operand[1] in RANGES and operand[2] == 1


def _elsewhere(draft: RegistersDraft) -> None:
    """An index that may leave its type: by as little as one, at either end."""
    if not isinstance(draft, InstructionDraft):
        return
    c, chosen = draft.choices, draft.chosen
    position = c.among(*(n for n, operand in enumerate(chosen) if n and _indexed(operand)))
    low, high = RANGES[chosen[position][1]]
    some = draft.symbol(0, 3)
    if isinstance(some, int):
        return
    ends: list[Term] = [("-", some, 1)]
    ends += [("+", some, high - 2), ("+", some, high - 3)] if high < FAR else []
    ends += [("+", some, low), ("+", some, low - 1)] if low > -FAR else []
    draft.given[position] = Scalar("index", c.among(*ends))


def _scalar_type(type_: str) -> str:
    """The element type of a scalar for a PTX type; for bits, unsigned integers."""
    bits = bits_of(type_)
    exact = {f"{kind}{bits}": f"{name}{bits}" for kind, name in (("u", "uint"), ("s", "int"), ("f", "float"))}
    return {**exact, "bf16": "bfloat16"}.get(type_, f"uint{bits}")


def _spelled(mnemonic: str, c: Choices) -> tuple[Spelling, tuple[Typed, ...]]:
    """A spelling and one of its lists of operands; now and then one that only the most recent GPUs have, and one
    that takes an index, of which there may be few.
    """
    kind = c.below(10)
    some = spellings(mnemonic, recent=kind == 9) or spellings(mnemonic)
    if kind in (7, 8):
        some = tuple(s for s in some if any(_indexed(o) for o in s.lists[0][1:])) or some
    spelling = c.among(*some)
    return spelling, c.among(*spelling.lists)


def generate(family: str, c: Choices) -> Call:
    """The plainest choices give a plain legal call."""
    for _ in range(MNEMONICS.index(family)):
        c.below(1)  # so that one seed does not give all instructions the same views
    scope = c.among("thread", "warp", "cta", "warpgroup")
    spelling, chosen = _spelled(family, c)
    draft = InstructionDraft(c, family, "registers", 0, 1, scope, (c.among(*BLOCKS[scope]),))
    draft.spelling, draft.chosen = spelling, chosen
    wanted = [Wanted(name.upper()[:1], bits_of(type_), (count,)) for name, type_, count in chosen]
    draft.fill(wanted, draft.scalar)
    if c.chance(12):
        draft.pred = c.among(
            ("<", "lane", 7), ("==", ("%", draft.symbol(0, 5), 2), 0), ("<", "tx", draft.symbol(1, 9)),
            ("<", draft.symbol(0, 3, uniform="thread"), 2),
        )  # fmt: skip
        draft.preserve = c.chance(40)
    spoil(draft, *[_elsewhere] * 6 if any(_indexed(o) for o in chosen[1:]) else [])
    return draft.finished()


def list_misfits(call: Instruction, operands: tuple[Typed, ...]) -> list[str]:
    """Demands on space, width and shape that fail when these operands are meant."""
    wanted = [o for o, given in zip(operands, call.given, strict=True) if given.kind == "tensor"]
    found = shape_misfits(call, [(count,) for _, _, count in wanted])
    widths = [o.view_bits == bits_of(type_) for o, (_, type_, _) in zip(call.operands, wanted, strict=True)]
    parts = any(g.kind != "tensor" and o[2] > 1 for o, g in zip(operands, call.given, strict=True))
    return [*found, *([] if all(widths) else ["width"]), *(["shape"] if parts else [])]


def misfits(call: Instruction) -> list[str]:
    """Nothing where some list of operands fits, else what fails for any of them."""
    every = [list_misfits(call, one) for one in call.lists]
    return [] if [] in every else [name for one in every for name in one]


class InstructionJudgement(RegisterJudgement):
    """The demands of an instruction over all points."""

    call: Instruction

    def _demands(self) -> None:
        super()._demands()
        widths: dict[str, int] = {}
        for operand in self.call.operands:
            if widths.setdefault(operand.storage, operand.view_bits) != operand.view_bits:
                # "A register is read and written as a whole."
                self._fail("whole-register", np.ones([1] * self.ndim, bool), self.executing)
        for type_, term in self.call.indices():
            self._fail("fits", np.asarray(_misses(value(term, self.known), type_)), self.executing)


def _misses(number: Any, type_: str) -> Any:
    """Whether a number, or each of several, is no value of the type."""
    low, high = RANGES[type_]
    return (number < low) | (number > high)


class InstructionReplay(RegisterReplay):
    """Counterexamples of instructions on registers."""

    call: Instruction

    def _fits(self, told: Told) -> str | None:
        point = self._point(told)
        problem = self._executes(point)
        if problem:
            return problem
        for type_, term in self.call.indices():
            if _misses(value(term, point.known), type_):
                return None
        return "each index has a value of its type"


fuzzed(FuzzFamily(MNEMONICS, generate, misfits, InstructionJudgement, InstructionReplay))
