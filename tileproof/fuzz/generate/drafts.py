"""Calls while they are being made up: easy to change, and turned into descriptions at the end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from tileproof.fuzz.generate.choices import Choices
from tileproof.fuzz.oracle.description import Access, Backing, Call, Factor, Operand, Region, Swizzle, Symbol
from tileproof.fuzz.oracle.terms import Term, names

MOST_VALUES = 64
"""Combinations of symbol values in one call."""


@dataclass
class Dim:
    """A dimension of a tensor. ``extent`` counts elements of the view, ``factors`` and ``size`` those of the
    tensor.

    A ``hidden`` dimension is indexed, so the view does not have it.
    """

    role: str
    extent: int
    factors: list[Factor]
    size: Term
    start: Term = 0
    hidden: bool = False
    step: int = 1

    @property
    def whole(self) -> bool:
        return not self.hidden and self.start == 0 and self.step == 1 and isinstance(self.size, int)

    @property
    def on_storage(self) -> bool:
        return all(f.axis == "m" for f in self.factors)


@dataclass
class OperandDraft:
    """``dims`` stand in the order of the view; ``placed`` is the order in which the tensor has them."""

    name: str
    space: str
    bits: int
    dims: list[Dim]
    offsets: list[tuple[Term, str]] = field(default_factory=list)
    replicas: list[Factor] = field(default_factory=list)
    swizzle: Swizzle | None = None
    align: int = 16
    backing: Backing | None = None
    view_bits: int | None = None
    placed: list[int] | None = None
    merged: bool = False
    dtype: str | None = None

    def copied(self) -> OperandDraft:
        """A draft of its own, whose changes change no other."""
        return replace(
            self,
            dims=[replace(d, factors=list(d.factors)) for d in self.dims],
            offsets=list(self.offsets),
            replicas=list(self.replicas),
            placed=None if self.placed is None else list(self.placed),
        )

    def finished(self) -> Operand:
        """The description; dimensions that stay whole are merged with their neighbours if ``merged``."""
        view_bits = self.view_bits or self.bits
        placed = self.placed or list(range(len(self.dims)))
        tensor = [self.dims[p] for p in placed]
        last = max((n for n, d in enumerate(tensor) if not d.hidden), default=0)
        if last != len(tensor) - 1:
            tensor.append(tensor.pop(last))
            placed = [*placed[:last], *placed[last + 1 :], placed[last]]
        shape: list[Term] = []
        region: list[Region] = []
        factors: list[Factor] = []
        mergeable = False
        for position, dim in enumerate(tensor):
            extent = dim.extent
            if position == len(tensor) - 1:
                extent = extent * view_bits // self.bits
            whole = dim.whole and extent == dim.size
            before = shape[-1] if shape else None
            if self.merged and whole and mergeable and isinstance(before, int) and isinstance(dim.size, int):
                shape[-1] = before * dim.size
                region[-1] = Region(0, before * dim.size)
            else:
                shape.append(dim.size)
                region.append(Region(dim.start, None if dim.hidden else extent, dim.step))
            mergeable = whole
            factors += dim.factors
        shown = [p for p in placed if not self.dims[p].hidden]
        split = tuple(self.dims[p].extent for p in shown)
        visible = [p for p in range(len(self.dims)) if not self.dims[p].hidden]
        order = tuple(shown.index(p) for p in visible)
        made = Operand(
            self.name, self.space, self.bits, tuple(shape), tuple(factors), tuple(self.offsets), tuple(self.replicas),
            self.swizzle, self.align, self.backing, tuple(region), None if view_bits == self.bits else view_bits,
            None, None if order == tuple(range(len(order))) else order, self.dtype,
        )  # fmt: skip
        if made.cut_shape == split:
            return made
        return Operand(**{**made.__dict__, "reshape": split})


@dataclass
class CallDraft:
    """A call in the making, with the source of its choices."""

    choices: Choices
    family: str
    space: str
    bits: int
    count: int
    scope: str
    block: tuple[int, ...]
    trans: bool = False
    symbols: list[Symbol] = field(default_factory=list)
    guard: Term | None = None
    assume: Term | None = None
    pred: Term | None = None
    index_bits: int | None = None
    registers: OperandDraft = field(init=False)
    memory: OperandDraft = field(init=False)

    @property
    def collective(self) -> bool:
        return self.family in ("ldmatrix", "stmatrix")

    @property
    def load(self) -> bool:
        return self.family in ("ld", "ldmatrix")

    @property
    def threads(self) -> int:
        return prod(self.block)

    @property
    def warps(self) -> int:
        return -(-self.threads // 32)

    def symbol(self, lo: int, hi: int, multiple_of: int = 1, uniform: str = "grid") -> Term:
        """A fresh symbol, or its lower bound where another one would make too many combinations."""
        made = Symbol("ijnpqrstuvwxyz"[len(self.symbols)], lo, hi, multiple_of, uniform)
        if len(made.values) * prod(len(s.values) for s in self.symbols) > MOST_VALUES or not made.values:
            return lo if lo % multiple_of == 0 else 0
        self.symbols.append(made)
        return made.name

    def within(self, room: int, step: int = 1, *, threads: bool = False) -> Term:
        """A term that takes multiples of ``step`` from 0 to ``room``."""
        c, most = self.choices, room // step
        kind = c.below(8)
        if kind == 0 or most == 0:
            return 0
        if kind == 1:
            return c.between(0, most) * step
        if kind == 2:
            return self.symbol(0, most * step, step)
        if kind == 3 and threads:
            name = c.among("lane", "warp", "tx", "wid_in_wg")
            return ("*", ("%", name, most + 1), step)
        if kind == 4 and threads:
            return ("*", ("%", ("+", "lane", self.symbol(0, 3)), most + 1), step)
        if kind == 5:
            half = most // 2
            return ("+", ("*", self.symbol(0, half), step), self.symbol(0, (most - half) * step, step))
        if kind == 6:
            width = (most + 1).bit_length() - 1
            return ("*", ("^", self.symbol(0, (1 << width) - 1), c.below(1 << width)), step)
        if kind == 7 and threads and c.chance(40):
            return self.symbol(0, most * step, step, uniform=c.among("thread", "warp"))
        return ("*", self.symbol(0, most), step)

    @property
    def launch(self) -> dict[str, Any]:
        """What every description ends with."""
        return {
            "symbols": tuple(self.symbols), "guard": self.guard, "assume": self.assume, "pred": self.pred,
            "index_bits": self.index_bits,
        }  # fmt: skip

    def described(self) -> Call:
        """The description, with symbols that it may not need."""
        return Access(
            self.family, self.scope, self.block, self.space, self.bits, self.count,
            self.registers.finished(), self.memory.finished(), self.trans, **self.launch,
        )  # fmt: skip

    def finished(self) -> Call:
        varying = {s.name for s in self.symbols if s.uniform != "grid"}
        if self.scope != "thread" and self.guard is not None and varying & set(names(self.guard)):
            # Who takes part would depend on one value in each thread, which brute force does not enumerate.
            self.guard = None
        made = self.described()
        used = set(made.mentions())
        return replace(made, symbols=tuple(s for s in self.symbols if s.name in used))
