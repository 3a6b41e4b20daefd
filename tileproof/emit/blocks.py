"""The blocks that are open while a kernel is written: which threads are in them, what is assumed there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tileproof.emit.statements import Body, Statement
from tileproof.layouts.index import Relation, conjunction, implies, truth
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.traverse import leaves


@dataclass
class _Block:
    guard: Relation
    counter: Leaf | None = None
    assumed: list[Relation] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)

    @property
    def body(self) -> Body:
        return tuple(self.statements)


class Blocks:
    """A stack of blocks. ``vouched`` keeps what was assumed in any block about parameters alone."""

    def __init__(self) -> None:
        self._open = [_Block(truth(True))]
        self.vouched: list[Relation] = []

    @contextmanager
    def nested(self, guard: Relation, counter: Leaf | None = None) -> Iterator[_Block]:
        """A block for the threads for which ``guard`` holds; ``counter`` is that of a loop."""
        block = _Block(guard, counter)
        self._open.append(block)
        try:
            yield block
        finally:
            self._open.pop()

    def add(self, statement: Statement) -> None:
        self._open[-1].statements.append(statement)

    @property
    def last(self) -> Statement | None:
        """The statement right before, in the innermost block."""
        statements = self._open[-1].statements
        return statements[-1] if statements else None

    @property
    def depth(self) -> int:
        """How many blocks are open inside the kernel's own."""
        return len(self._open) - 1

    @property
    def bodies(self) -> Iterator[Body]:
        """The statements so far of each open block, the kernel's own first."""
        return (block.body for block in self._open)

    @property
    def guard(self) -> Relation:
        """What holds for every thread that is here."""
        return conjunction(block.guard for block in self._open)

    @property
    def counters(self) -> list[Leaf]:
        """The counters of the loops around here."""
        return [block.counter for block in self._open if block.counter is not None]

    @property
    def assumed(self) -> list[Relation]:
        return [relation for block in self._open for relation in block.assumed]

    def assumed_by_all(self, here: Sequence[Relation]) -> list[Relation]:
        """What was assumed, and what is ``here``, as relations that hold for CTAs that are not here too: under the
        guards around them.
        """
        guard, found = truth(True), []
        for block in self._open:
            guard = conjunction((guard, block.guard))
            for relation in (*block.assumed, *(here if block is self._open[-1] else ())):
                varies = any(v.kind == "symbol" and v.uniform != "grid" for v in leaves(relation))
                found.append(implies(guard, relation) if varies else relation)
        return found

    def assume(self, relation: Relation) -> None:
        """Up to the end of the innermost block."""
        self._open[-1].assumed.append(relation)

    def vouch(self, relations: Sequence[Relation], scalars: Sequence[Leaf]) -> None:
        """Keep what is about ``scalars`` alone, under those guards that are so too."""
        known = set(scalars)
        guards = [block.guard for block in self._open if set(leaves(block.guard)) <= known]
        for relation in relations:
            if set(leaves(relation)) <= known:
                self.vouched.append(implies(conjunction(guards), relation))
