"""mov: copies a register, packs several into one and unpacks one into several (PTX ISA 9.7.9.3, 9.7.9.4).

Which of the three it is the operands say, not the spelling. Addresses of variables, labels and special
registers are not values of a tensor, and so they are no operands here.
"""

from __future__ import annotations

from tileproof.contracts.architectures import Targets
from tileproof.contracts.syntax import ALWAYS, Instruction, OperandSyntax, Quantity, Shape, Since, Slot, Value

_BITS: dict[Value, int] = {
    "b16": 16, "b32": 32, "b64": 64, "b128": 128, "u16": 16, "u32": 32, "u64": 64, "s16": 16, "s32": 32,
    "s64": 64, "f32": 32, "f64": 64, "pred": 1,
}  # fmt: skip
_AS_BITS = {
    "f16": "b16", "bf16": "b16", "f16x2": "b32", "bf16x2": "b32", "f32x2": "b64", "u16x2": "b32", "s16x2": "b32",
}  # fmt: skip

_PARTS = (("b16", 2), ("b32", 2), ("b32", 4), ("b64", 2), ("b64", 4), ("b128", 2), ("b128", 4))
"""A type and into how many parts it splits."""


def _split(type_: str, parts: int, packs: bool) -> Shape:
    bits, name = _BITS[type_], ("a" if packs else "d")
    whole = OperandSyntax("d" if packs else "a", "registers", "written" if packs else "read", bits=bits)
    several = OperandSyntax(
        name, "registers", "read" if packs else "written", parts, bits // parts, braced=ALWAYS
    )
    return Shape((whole, several) if packs else (several, whole), {"type": (type_,)})


MOV = Instruction(
    mnemonic="mov",
    section="9.7.9.3",
    summary="copy a register; pack several registers into one, or unpack one into several",
    slots=(Slot("type", "type", tuple(map(str, _BITS)), mandatory=True, instead=_AS_BITS),),
    operands=(
        OperandSyntax("d", "registers", "written", bits="bits"),
        OperandSyntax("a", "registers", "read", bits="bits"),
    ),
    quantities=(Quantity("bits", "element size in bits", {"type": _BITS}),),
    availability=(
        Since(ALWAYS, (1, 0)),
        Since({"type": ("b128",)}, (8, 3), Targets(70), "128-bit types"),
    ),
    shapes=tuple(_split(type_, parts, packs) for type_, parts in _PARTS for packs in (True, False)),
)

INSTRUCTIONS = (MOV,)
