"""Addition and subtraction with a carry (PTX ISA 9.7.2)."""

from __future__ import annotations

from tileproof.contracts.parts import TYPE_BITS, flag, read, types, written
from tileproof.contracts.syntax import ALWAYS, Instruction, Since

_TYPE = types("u32", "s32", "u64", "s64")
_AVAILABILITY = (Since(ALWAYS, (1, 2)), Since({"type": ("u64", "s64")}, (4, 3), what="64-bit carries"))


def _carry(mnemonic: str, section: str, summary: str) -> Instruction:
    carries_out = () if mnemonic.endswith(".cc") else (flag("cc", optional=True),)
    return Instruction(
        mnemonic=mnemonic,
        section=section,
        summary=summary,
        slots=(*carries_out, _TYPE),
        operands=(written(), read("a"), read("b")),
        quantities=(TYPE_BITS,),
        availability=_AVAILABILITY,
    )


INSTRUCTIONS = (
    _carry("add.cc", "9.7.2.1", "add and keep the carry"),
    _carry("addc", "9.7.2.2", "add with the carry"),
    _carry("sub.cc", "9.7.2.3", "subtract and keep the borrow"),
    _carry("subc", "9.7.2.4", "subtract with the borrow"),
)
