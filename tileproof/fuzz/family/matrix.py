"""``ldmatrix`` and ``stmatrix``: calls made up at random. Brute force over them is what
:mod:`~tileproof.fuzz.oracle` has for any access to memory.
"""

from __future__ import annotations

from tileproof.fuzz.families import FuzzFamily, fuzzed
from tileproof.fuzz.generate.choices import Choices
from tileproof.fuzz.generate.drafts import CallDraft
from tileproof.fuzz.generate.tensors import between_memory_and_registers
from tileproof.fuzz.oracle.access import AccessJudgement
from tileproof.fuzz.oracle.access_counterexamples import AccessReplay
from tileproof.fuzz.oracle.description import Call
from tileproof.fuzz.oracle.views import access_misfits

_BLOCKS = {"warp": (32, 64, 128), "cta": (32, 64, 96, 256), "warpgroup": (128, 256)}


def generate(family: str, c: Choices) -> Call:
    """A plain legal access for the plainest choices."""
    scope = c.among("warp", "cta", "warpgroup")
    space = c.among("shared", "shared", "shared::cta")
    draft = CallDraft(
        c, family, space, 32, c.among(4, 2, 1), scope, (c.among(*_BLOCKS[scope]),), trans=c.chance(25)
    )
    return between_memory_and_registers(draft, [("matrix", draft.count), ("row", 8), ("word", 4)])


fuzzed(FuzzFamily(("ldmatrix", "stmatrix"), generate, access_misfits, AccessJudgement, AccessReplay))
