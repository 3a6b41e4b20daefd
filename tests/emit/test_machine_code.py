"""Emitted kernels are the same machine code as kernels written by hand: nothing moved, spilled or computed twice."""

from __future__ import annotations

import re

import pytest

from tests.emit.handwritten import HAND
from tests.emit.test_examples import EXAMPLES
from tileproof.emit.assemble import Cubin, assemble, disassemble, find_tool

INSTRUCTION = re.compile(r"\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)")
TOOLS = pytest.mark.skipif(
    find_tool("nvdisasm") is None or find_tool("ptxas") is None,
    reason="compares what ptxas makes of both, as nvdisasm (the extra 'ptxas') shows it",
)


def assembled(ptx: str) -> Cubin:
    return assemble(ptx, "sm_90a", assembler="ptxas")


def instructions(cubin: Cubin) -> list[str]:
    """The machine instructions with their modifiers, in order, without operands."""
    return [found[1] for line in disassemble(cubin).splitlines() if (found := INSTRUCTION.match(line))]


def test_each_example_has_a_handwritten_counterpart() -> None:
    assert HAND.keys() == EXAMPLES.keys()


@TOOLS
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_machine_code_is_that_of_a_handwritten_kernel(name: str) -> None:
    emitted, by_hand = assembled(EXAMPLES[name].build().ptx("sm_90a")), assembled(HAND[name]())
    assert len(instructions(emitted)) > 30
    assert instructions(emitted) == instructions(by_hand)
    assert emitted.kernels == by_hand.kernels
    # Its 420 words do not fit in the 255 registers that a thread can have, whoever writes it.
    assert (emitted.kernels[0].spill_store_bytes > 0) is name.startswith("ld_rearranged")
