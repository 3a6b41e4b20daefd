"""Single views made up at random, of no call."""

from __future__ import annotations

from tileproof.fuzz.generate import mutate
from tileproof.fuzz.generate.choices import Choices
from tileproof.fuzz.generate.drafts import CallDraft
from tileproof.fuzz.generate.tensors import BLOCKS, launch_of, memory_of, outer_of, registers_of
from tileproof.fuzz.oracle.description import Operand, Symbol, operand_names

SPACES = ("global", "shared", "local", "const", "registers")
WIDTHS = (32, 16, 8, 64, 128)


def random_view(space: str, bits: int, c: Choices) -> tuple[Operand, tuple[Symbol, ...]]:
    """A view in elements of so many bits, with the symbols that it mentions."""
    scope = c.among("thread", "warp", "cta")
    count = c.among(*(n for n in (1, 2, 4, 8) if n * bits <= 256))
    draft = CallDraft(c, "ld", space, bits, count, scope, (c.among(*BLOCKS[scope]),))
    slabs = launch_of(draft)
    outer, inner = outer_of(draft, slabs), [("word", count)]
    made = (
        registers_of(draft, slabs, outer, inner) if space == "registers" else memory_of(draft, outer, inner)
    )
    draft.registers = draft.memory = made
    if c.chance(40):
        c.among(*mutate.OF_LAYOUT)(draft)
    operand = made.finished()
    used = set(operand_names(operand))
    return operand, tuple(s for s in draft.symbols if s.name in used)
