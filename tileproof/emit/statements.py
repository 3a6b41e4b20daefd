"""What a kernel is made of, as data: its declarations and the statements of its body."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tileproof.contracts.architectures import PtxVersion
from tileproof.contracts.launch import Launch
from tileproof.contracts.statement import Statement as TableStatement
from tileproof.emit.plan import Plan
from tileproof.layouts.index import Index, Relation
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.tensor import Tensor
from tileproof.scalars.expression import Scalar

Parameter = Tensor | Index | Scalar
"""A tensor in global memory, an integer symbol, or the variable of a typed scalar."""


def parameter_name(item: Parameter) -> str:
    """The name of a parameter."""
    if isinstance(item, Tensor):
        return item.name
    return str(item.args[0].name) if isinstance(item, Index) else str(item.value)


@dataclass(frozen=True, eq=False)
class RegisterFile:
    """Registers of one thread: ``slots`` of ``bits`` each, which ``tensor`` was declared over first."""

    tensor: Tensor
    slots: int
    bits: int


@dataclass(frozen=True, eq=False)
class Fill:
    """Set every register to one bit pattern."""

    file: RegisterFile
    pattern: int


@dataclass(frozen=True)
class Raw:
    """An instruction or a ``.reg`` declaration as its author wrote it.

    ``statement`` is how the instruction table reads it, if it is an instruction that the table knows.
    """

    text: str
    statement: TableStatement | None = None


@dataclass(frozen=True)
class Note:
    """A comment of one line, such as which turn of an unrolled loop begins."""

    text: str


@dataclass(frozen=True, eq=False)
class Assume:
    """The author vouches for a relation, from here to the end of the block."""

    relation: Relation


@dataclass(frozen=True, eq=False)
class Apply:
    """A proven call, what its author assumed for it alone, and how it was to be proved (hazards, budget)."""

    plan: Plan
    assumed: tuple[Relation, ...] = ()
    policy: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Barrier:
    """An ``mbarrier`` operation on element ``index`` of ``tensor``.

    ``operand`` is the arrival count, the transaction count in bytes or the parity, where there is one.
    ``written`` is how the author put both, before they became those of the executing thread.
    """

    operation: str
    tensor: Tensor
    index: Index
    operand: Index | None
    written: tuple[Index, Index | None]


@dataclass(frozen=True, eq=False)
class When:
    """Statements for the threads for which the relation holds; ``written`` is how its author put it."""

    condition: Relation
    body: Body
    written: Relation


@dataclass(frozen=True, eq=False)
class Loop:
    """Statements that a thread repeats while ``goes_on`` holds.

    ``counter`` counts the turns from 0 to its upper bound. The condition is about ``turn``, the same count
    before it is known that there is another turn, which may be one higher. ``span`` is start, stop and step.
    """

    counter: Leaf
    turn: Leaf
    goes_on: Relation
    body: Body
    span: tuple[Index, Index, Index]


Statement = Fill | Raw | Note | Assume | Apply | Barrier | When | Loop
Body = tuple[Statement, ...]


@dataclass(frozen=True, eq=False)
class Definition:
    """A whole kernel.

    ``parameters`` are tensors in global memory and scalars, in order; ``variables`` are static shared and local
    tensors, ``dynamic`` those in dynamic shared memory. ``vouched`` is what the author assumes of parameters
    alone. ``grid_limits`` is the greatest grid in x, y, z that the block indices allow.
    """

    name: str
    launch: Launch
    parameters: tuple[Parameter, ...]
    variables: tuple[Tensor, ...]
    registers: tuple[RegisterFile, ...]
    body: Body
    vouched: tuple[Relation, ...]
    grid_limits: tuple[int | None, int | None, int | None]
    ptx_version: PtxVersion
    dynamic: tuple[Tensor, ...] = field(default=())

    @property
    def static_shared(self) -> list[Tensor]:
        """The tensors in static shared memory."""
        return [tensor for tensor in self.variables if tensor.space == "shared"]


def calls(body: Body) -> Iterator[Plan]:
    """The proven calls in the order of the text."""
    for statement in body:
        if isinstance(statement, Apply):
            yield statement.plan
        elif isinstance(statement, When | Loop):
            yield from calls(statement.body)


def raw_statements(body: Body) -> Iterator[TableStatement]:
    """The raw instructions that the instruction table knows, in the order of the text."""
    for statement in body:
        if isinstance(statement, Raw) and statement.statement is not None:
            yield statement.statement
        elif isinstance(statement, When | Loop):
            yield from raw_statements(statement.body)


def barriers(body: Body) -> Iterator[Barrier]:
    """The ``mbarrier`` operations in the order of the text."""
    for statement in body:
        if isinstance(statement, Barrier):
            yield statement
        elif isinstance(statement, When | Loop):
            yield from barriers(statement.body)


def loops(body: Body) -> Iterator[Loop]:
    """The loops in the order of the text, outer before inner."""
    for statement in body:
        if isinstance(statement, Loop):
            yield statement
        if isinstance(statement, When | Loop):
            yield from loops(statement.body)
