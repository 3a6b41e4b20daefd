"""What a kernel is made of, as data: its declarations and the statements of its body."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tileproof.contracts.architectures import PtxVersion
from tileproof.contracts.launch import Launch
from tileproof.contracts.statement import Statement as TableStatement
from tileproof.emit.plan import Plan
from tileproof.layouts.index import Index, Relation
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.tensor import Tensor


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


@dataclass(frozen=True, eq=False)
class Apply:
    """A proven call."""

    plan: Plan


@dataclass(frozen=True, eq=False)
class When:
    """Statements for the threads for which the relation holds."""

    condition: Relation
    body: Body


@dataclass(frozen=True, eq=False)
class Loop:
    """Statements that a thread repeats while ``goes_on`` holds.

    ``counter`` counts the turns from 0 to its upper bound. The condition is about ``turn``, the same count
    before it is known that there is another turn, which may be one higher.
    """

    counter: Leaf
    turn: Leaf
    goes_on: Relation
    body: Body


Statement = Fill | Raw | Apply | When | Loop
Body = tuple[Statement, ...]


@dataclass(frozen=True, eq=False)
class Definition:
    """A whole kernel.

    ``parameters`` are tensors in global memory and integer symbols, in order; ``variables`` are static shared
    and local tensors. ``vouched`` is what the author assumes of parameters alone. ``grid_limits`` is the
    greatest grid in x, y, z that the block indices allow.
    """

    name: str
    launch: Launch
    parameters: tuple[Tensor | Index, ...]
    variables: tuple[Tensor, ...]
    registers: tuple[RegisterFile, ...]
    body: Body
    vouched: tuple[Relation, ...]
    grid_limits: tuple[int | None, int | None, int | None]
    ptx_version: PtxVersion


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


def loops(body: Body) -> Iterator[Loop]:
    """The loops in the order of the text, outer before inner."""
    for statement in body:
        if isinstance(statement, Loop):
            yield statement
        if isinstance(statement, When | Loop):
            yield from loops(statement.body)
