"""mov: copies a register, packs several into one and unpacks one into several (PTX ISA 9.7.9.3, 9.7.9.4).

Which of the three it is the operands say, not the spelling. What is copied may also be a constant, a special
register or the address of a variable. ptxas also packs constants, and unpacks special registers; the ISA packs
and unpacks registers.
"""

from __future__ import annotations

from tileproof.contracts.architectures import Targets
from tileproof.contracts.syntax import (
    ALWAYS,
    ANY,
    Condition,
    Instruction,
    OperandSyntax,
    Quantity,
    Shape,
    Since,
    Slot,
    Value,
)

_BITS: dict[Value, int] = {
    "b16": 16, "b32": 32, "b64": 64, "b128": 128, "u16": 16, "u32": 32, "u64": 64, "s16": 16, "s32": 32,
    "s64": 64, "f32": 32, "f64": 64, "pred": 1,
}  # fmt: skip
_AS_BITS = {
    "f16": "b16", "bf16": "b16", "f16x2": "b32", "bf16x2": "b32", "f32x2": "b64", "u16x2": "b32", "s16x2": "b32",
}  # fmt: skip
_PREDICATES: Condition = {"type": ("pred",)}
_WORDS: Condition = {"type": ("b32", "b64", "u32", "u64", "s32", "s64")}
"""The types that an address may have."""
_HALVES: Condition = {"type": ("b16", "u16", "s16")}
_REALS: Condition = {"type": ("f32", "f64")}
_LONG: Condition = {"type": ("b128",)}
_NUMBERS: Condition = {"type": tuple(type_ for type_ in _BITS if type_ != "pred")}

_PARTS = (("b16", 2), ("b32", 2), ("b32", 4), ("b64", 2), ("b64", 4), ("b128", 2), ("b128", 4))
"""A type and into how many parts it splits."""


def _split(type_: str, parts: int, packs: bool) -> Shape:
    bits, name = _BITS[type_], ("a" if packs else "d")
    whole = OperandSyntax("d" if packs else "a", "registers", "written" if packs else "read", bits=bits)
    several = OperandSyntax(
        name,
        "registers",
        "read" if packs else "written",
        parts,
        bits // parts,
        braced=ALWAYS,
        gaps=None if packs else ALWAYS,
    )
    return Shape((whole, several) if packs else (several, whole), {"type": (type_,)})


MOV = Instruction(
    mnemonic="mov",
    section="9.7.9.3",
    summary="copy a register; pack several registers into one, or unpack one into several",
    slots=(Slot("type", "type", tuple(map(str, _BITS)), mandatory=True, instead=_AS_BITS),),
    operands=(
        OperandSyntax("d", "predicate", "written", bits=1, when=_PREDICATES),
        OperandSyntax(
            "a", "predicate", "read", bits=1, when=_PREDICATES, special=ALWAYS, instead=("immediate",)
        ),
        OperandSyntax("d", "registers", "written", bits="bits", when=_NUMBERS),
        OperandSyntax(
            "a",
            "name",
            "read",
            bits="bits",
            when=_WORDS,
            special=ALWAYS,
            constants=ANY,
            also_real={"type": ("b32", "b64")},
        ),
        OperandSyntax("a", "registers", "read", bits="bits", when=_HALVES, special=ALWAYS, constants=ANY),
        OperandSyntax("a", "registers", "read", bits="bits", when=_REALS, real=ALWAYS, constants=ANY),
        OperandSyntax("a", "registers", "read", bits="bits", when=_LONG),
    ),
    quantities=(Quantity("bits", "element size in bits", {"type": _BITS}),),
    availability=(
        Since(ALWAYS, (1, 0)),
        Since({"type": ("b128",)}, (8, 3), Targets(70), "128-bit types"),
    ),
    shapes=tuple(_split(type_, parts, packs) for type_, parts in _PARTS for packs in (True, False)),
)

INSTRUCTIONS = (MOV,)
