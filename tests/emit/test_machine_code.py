"""Emitted kernels are the same machine code as kernels written by hand: nothing moved, spilled or computed twice."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.emit import handwritten
from tests.emit.test_examples import case, example
from tileproof.emit.assemble import assemble, disassemble, find_tool

INSTRUCTION = re.compile(r"\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)")
TOOLS = pytest.mark.skipif(
    find_tool("nvdisasm") is None or find_tool("ptxas") is None,
    reason="compares what ptxas makes of both, as nvdisasm (the extra 'ptxas') shows it",
)


def instructions(ptx: str) -> list[str]:
    """The machine instructions with their modifiers, in order, without operands."""
    text = disassemble(assemble(ptx, "sm_90a", assembler="ptxas"))
    return [found[1] for line in text.splitlines() if (found := INSTRUCTION.match(line))]


def rearranged(variant: str) -> Callable[[], str]:
    def make() -> str:
        module = example("ld_rearranged")
        strides = module.VARIANTS[variant]
        return handwritten.ld_rearranged(module.SLOTS[strides], strides)

    return make


HAND: dict[str, Callable[[], str]] = {
    "ld_128bit": handwritten.ld_128bit,
    "st_128bit": handwritten.st_128bit,
    "ldmatrix_interleaved": handwritten.ldmatrix_interleaved,
    "stmatrix_interleaved": handwritten.stmatrix_interleaved,
    "ld_rearranged_compact": rearranged("compact"),
    "ld_rearranged_spread": rearranged("spread"),
}


@TOOLS
@pytest.mark.parametrize("name", HAND)
def test_the_machine_code_is_that_of_a_handwritten_kernel(name: str) -> None:
    emitted = instructions(case(name)[0]().ptx("sm_90a"))
    assert len(emitted) > 30
    assert emitted == instructions(HAND[name]())
