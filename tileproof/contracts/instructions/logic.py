"""Bits: logic, shifts and permutation of bytes (PTX ISA 9.7.8, 9.7.9.7)."""

from __future__ import annotations

from tileproof.contracts.architectures import Targets
from tileproof.contracts.parts import TYPE_BITS, constant, predicate, read, set_predicate, types, written
from tileproof.contracts.syntax import ALWAYS, Condition, Instruction, OperandSyntax, Since, Slot

_BITS = ("b16", "b32", "b64")
_ARE_BITS: Condition = {"type": _BITS}
_ARE_PREDICATES: Condition = {"type": ("pred",)}
_FROM_THE_START = (Since(ALWAYS, (1, 0)),)
_COMBINES: Condition = {"op": ("or", "and")}


def _logic(mnemonic: str, section: str, summary: str, *sources: str) -> Instruction:
    return Instruction(
        mnemonic=mnemonic,
        section=section,
        summary=summary,
        slots=(types("pred", *_BITS),),
        operands=(
            set_predicate("d", when=_ARE_PREDICATES),
            *(predicate(name, when=_ARE_PREDICATES) for name in sources),
            written(when=_ARE_BITS),
            *(read(name, when=_ARE_BITS) for name in sources),
        ),
        quantities=(TYPE_BITS,),
        availability=_FROM_THE_START,
    )


def _shift(mnemonic: str, section: str, summary: str, *tokens: str) -> Instruction:
    return Instruction(
        mnemonic=mnemonic,
        section=section,
        summary=summary,
        slots=(types(*tokens),),
        operands=(written(), read("a"), read("b", 32)),
        quantities=(TYPE_BITS,),
        availability=_FROM_THE_START,
    )


def _word(name: str) -> OperandSyntax:
    return read(name, 32)


CNOT = Instruction(
    mnemonic="cnot",
    section="9.7.8.5",
    summary="1 for zero, 0 for all else",
    slots=(types(*_BITS),),
    operands=(written(), read("a")),
    quantities=(TYPE_BITS,),
    availability=_FROM_THE_START,
)

LOP3 = Instruction(
    mnemonic="lop3",
    section="9.7.8.6",
    summary="any logic operation of three words",
    slots=(Slot("op", "operation on the predicates", ("or", "and")), types("b32")),
    operands=(
        written(bits=32, when={"op": (None,)}),
        written(bits=32, when=_COMBINES, sink=True, second="required"),
        _word("a"),
        _word("b"),
        _word("c"),
        constant("immLut", *range(256)),
        predicate("q", when=_COMBINES),
    ),
    availability=(
        Since(ALWAYS, (4, 3), Targets(50)),
        Since(_COMBINES, (8, 2), Targets(70), "operations on predicates"),
    ),
)

SHF = Instruction(
    mnemonic="shf",
    section="9.7.8.7",
    summary="shift two words as one",
    slots=(
        Slot("direction", "direction", ("l", "r"), mandatory=True),
        Slot("mode", "mode", ("clamp", "wrap"), mandatory=True),
        types("b32"),
    ),
    operands=(written(bits=32), _word("a"), _word("b"), _word("c")),
    availability=(Since(ALWAYS, (3, 1), Targets(32)),),
)

PRMT = Instruction(
    mnemonic="prmt",
    section="9.7.9.7",
    summary="choose four of eight bytes",
    slots=(types("b32"), Slot("mode", "mode", ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"))),
    operands=(written(bits=32), _word("a"), _word("b"), _word("c")),
    availability=(Since(ALWAYS, (2, 0), Targets(20)),),
)

INSTRUCTIONS = (
    _logic("and", "9.7.8.1", "bitwise and", "a", "b"),
    _logic("or", "9.7.8.2", "bitwise or", "a", "b"),
    _logic("xor", "9.7.8.3", "bitwise exclusive or", "a", "b"),
    _logic("not", "9.7.8.4", "bitwise negation", "a"),
    CNOT,
    LOP3,
    SHF,
    _shift("shl", "9.7.8.8", "shift left", *_BITS),
    _shift(
        "shr",
        "9.7.8.9",
        "shift right, with zeros or with the sign",
        *_BITS,
        "u16",
        "u32",
        "u64",
        "s16",
        "s32",
        "s64",
    ),
    PRMT,
)
