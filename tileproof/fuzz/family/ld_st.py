"""``ld`` and ``st``: calls made up at random. Brute force over them is what :mod:`~tileproof.fuzz.oracle` has for any
access to memory.
"""

from __future__ import annotations

from tileproof.fuzz.families import FuzzFamily, fuzzed
from tileproof.fuzz.generate.choices import Choices
from tileproof.fuzz.generate.drafts import CallDraft
from tileproof.fuzz.generate.tensors import BLOCKS, between_memory_and_registers
from tileproof.fuzz.oracle.access import AccessJudgement
from tileproof.fuzz.oracle.access_counterexamples import AccessReplay
from tileproof.fuzz.oracle.description import Call
from tileproof.fuzz.oracle.views import access_misfits

_ACCESSES = (
    (32, 4), (32, 2), (32, 1), (16, 4), (16, 2), (16, 1), (8, 4), (8, 2), (8, 1), (64, 2), (64, 1),
    (128, 1), (32, 8), (64, 4),
)  # fmt: skip
"""Bits of a word, words of an access."""


def generate(family: str, c: Choices) -> Call:
    """A plain legal access for the plainest choices."""
    scope = c.among("thread", "warp", "cta", "warpgroup")
    bits, count = c.among(*_ACCESSES)
    spaces = ["global", "shared", "global", "local", "shared::cta", *(["const"] if family == "ld" else [])]
    space = "global" if bits * count == 256 else c.among(*spaces)
    block: tuple[int, ...] = (c.among(*BLOCKS[scope]),)
    if block[0] in (32, 64, 128) and c.chance(10):
        block = c.among((block[0] // 4, 4), (block[0] // 8, 2, 4), (block[0] // 2, 2))
    draft = CallDraft(c, family, space, bits, count, scope, block)
    return between_memory_and_registers(draft, [("word", count)])


fuzzed(FuzzFamily(("ld", "st"), generate, access_misfits, AccessJudgement, AccessReplay))
