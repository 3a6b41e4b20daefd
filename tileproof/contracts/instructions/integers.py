"""Integer arithmetic beyond the operators that every type has, and mad (PTX ISA 9.7.1, 9.7.2, 9.7.3.7)."""

from __future__ import annotations

from tileproof.contracts.architectures import PtxVersion, Targets
from tileproof.contracts.parts import BITS, REAL, TYPE_BITS, flag, read, types, written
from tileproof.contracts.syntax import (
    ALWAYS,
    Condition,
    Instruction,
    OperandSyntax,
    Quantity,
    Requires,
    Since,
    Slot,
    Value,
)

_INTEGERS = ("u16", "u32", "u64", "s16", "s32", "s64")
_WORDS = ("u32", "s32")
_BIT_FIELDS = ("u32", "u64", "s32", "s64")
_CARRYING = ("u32", "s32", "u64", "s64")
_MODES = ("hi", "lo", "wide")
_ROUNDINGS = ("rn", "rz", "rm", "rp")
_LONGEST: dict[Value, int] = {**dict.fromkeys((*_MODES, *_ROUNDINGS), 1), "wide": 2}
_WIDENED = Quantity("result_bits", "result size in bits", {"mode": _LONGEST, "type": BITS})

_SAT = flag("sat", optional=True)
_SATURATES: Condition = {"sat": ("sat",)}
_CARRIES: Condition = {"cc": ("cc",)}
_IS_REAL: Condition = {"type": REAL}
_PARTS = Slot("mode", "part of the product", ("hi", "lo"), mandatory=True)
_SINCE_2 = (Since(ALWAYS, (2, 0), Targets(20)),)


def _simple(
    mnemonic: str,
    section: str,
    summary: str,
    slots: tuple[Slot, ...],
    operands: tuple[OperandSyntax, ...],
    *,
    since: PtxVersion = (1, 0),
    targets: Targets | None = None,
) -> Instruction:
    available = Since(ALWAYS, since, targets) if targets else Since(ALWAYS, since)
    typed = any(slot.name == "type" for slot in slots)
    return Instruction(
        mnemonic, section, summary, slots, operands, (TYPE_BITS,) if typed else (), availability=(available,)
    )


def _position(name: str) -> OperandSyntax:
    """A position or length in bits, of which the lowest eight bits count."""
    return read(name, 32, constants=range(256))


MAD = Instruction(
    mnemonic="mad",
    section="9.7.1.4",
    summary="multiply and add",
    slots=(
        Slot("mode", "part of the product or rounding", (*_MODES, *_ROUNDINGS), mandatory=True),
        flag("cc", optional=True),
        flag("ftz", optional=True),
        _SAT,
        types(*_INTEGERS, *REAL),
    ),
    operands=(
        written(bits="result_bits"),
        read("a", real=_IS_REAL),
        read("b", real=_IS_REAL),
        read("c", "result_bits", real=_IS_REAL),
    ),
    quantities=(TYPE_BITS, _WIDENED),
    rules=(
        Requires(_IS_REAL, {"mode": _ROUNDINGS}, "reals are rounded", "9.7.3.7"),
        Requires({"mode": _ROUNDINGS}, _IS_REAL, "only reals are rounded", "9.7.3.7"),
        Requires(
            {"mode": ("wide",)}, {"type": ("u16", "u32", "s16", "s32")}, "a product has 64 bits at most"
        ),
        Requires(_CARRIES, {"mode": ("hi", "lo"), "type": _CARRYING}, ".cc is for words", "9.7.2.5"),
        Requires(_CARRIES, {"sat": (None,)}, "a carry is no saturation", "9.7.2.5"),
        Requires({"ftz": ("ftz",)}, {"type": ("f32",)}, ".ftz is for .f32", "9.7.3.7"),
        Requires(_SATURATES, {"type": ("s32", "f32")}, ".sat is for .s32 and .f32"),
        Requires({"sat": ("sat",), "type": ("s32",)}, {"mode": ("hi",)}, ".sat is for .hi"),
    ),
    availability=(
        Since(ALWAYS, (1, 0)),
        Since(_IS_REAL, (2, 0), Targets(20), "rounding"),
        Since(_CARRIES, (3, 0), Targets(20), ".cc"),
        Since({"cc": ("cc",), "type": ("u64", "s64")}, (4, 3), what="64-bit carries"),
    ),
    subsections=((_IS_REAL, "9.7.3.7"), (_CARRIES, "9.7.2.5")),
)

MADC = Instruction(
    mnemonic="madc",
    section="9.7.2.6",
    summary="multiply and add with the carry",
    slots=(_PARTS, flag("cc", optional=True), types(*_CARRYING)),
    operands=(written(), read("a"), read("b"), read("c")),
    quantities=(TYPE_BITS,),
    availability=(
        Since(ALWAYS, (3, 0), Targets(20)),
        Since({"type": ("u64", "s64")}, (4, 3), what="64-bit carries"),
    ),
)

MAD24 = Instruction(
    mnemonic="mad24",
    section="9.7.1.6",
    summary="multiply 24-bit integers and add",
    slots=(_PARTS, _SAT, types(*_WORDS)),
    operands=(written(), read("a"), read("b"), read("c")),
    quantities=(TYPE_BITS,),
    rules=(Requires(_SATURATES, {"mode": ("hi",), "type": ("s32",)}, ".sat is for .hi and .s32"),),
    availability=(Since(ALWAYS, (1, 0)),),
)

_SAME = (written(), read("a"), read("b"))
_COUNTED = (written(bits=32), read("a"))

INSTRUCTIONS = (
    MAD,
    _simple("mul24", "9.7.1.5", "multiply 24-bit integers", (_PARTS, types(*_WORDS)), _SAME),
    MAD24,
    MADC,
    _simple(
        "sad",
        "9.7.1.7",
        "add the absolute difference of two integers",
        (types(*_INTEGERS),),
        (*_SAME, read("c")),
    ),
    _simple("rem", "9.7.1.9", "the remainder of an integer division", (types(*_INTEGERS),), _SAME),
    _simple(
        "popc",
        "9.7.1.14",
        "count the ones",
        (types("b32", "b64"),),
        _COUNTED,
        since=(2, 0),
        targets=Targets(20),
    ),
    _simple(
        "clz",
        "9.7.1.15",
        "count the leading zeros",
        (types("b32", "b64"),),
        _COUNTED,
        since=(2, 0),
        targets=Targets(20),
    ),
    _simple(
        "bfind",
        "9.7.1.16",
        "find the most significant bit that is no sign",
        (flag("shiftamt", optional=True), types(*_BIT_FIELDS)),
        _COUNTED,
        since=(2, 0),
        targets=Targets(20),
    ),
    _simple(
        "fns",
        "9.7.1.17",
        "find the n-th one from a base",
        (types("b32"),),
        (written(), read("mask"), read("base"), read("offset")),
        since=(6, 0),
        targets=Targets(30),
    ),
    _simple(
        "brev",
        "9.7.1.18",
        "reverse the bits",
        (types("b32", "b64"),),
        (written(), read("a")),
        since=(2, 0),
        targets=Targets(20),
    ),
    _simple(
        "bfe",
        "9.7.1.19",
        "extract a bit field",
        (types(*_BIT_FIELDS),),
        (written(), read("a"), _position("b"), _position("c")),
        since=(2, 0),
        targets=Targets(20),
    ),
    _simple(
        "bfi",
        "9.7.1.20",
        "insert a bit field",
        (types("b32", "b64"),),
        (written("f"), read("a"), read("b"), _position("c"), _position("d")),
        since=(2, 0),
        targets=Targets(20),
    ),
    _simple(
        "szext",
        "9.7.1.21",
        "extend a bit field to a word",
        (Slot("mode", "mode", ("clamp", "wrap"), mandatory=True), types(*_WORDS)),
        _SAME,
        since=(7, 6),
        targets=Targets(70),
    ),
    _simple(
        "bmsk",
        "9.7.1.22",
        "make a mask of a bit field",
        (Slot("mode", "mode", ("clamp", "wrap"), mandatory=True), types("b32")),
        _SAME,
        since=(7, 6),
        targets=Targets(70),
    ),
    _simple(
        "dp4a",
        "9.7.1.23",
        "add the dot product of four bytes",
        (types(*_WORDS, name="atype", says="type of a"), types(*_WORDS, name="btype", says="type of b")),
        (written(bits=32), read("a", 32), read("b", 32), read("c", 32)),
        since=(5, 0),
        targets=Targets(61),
    ),
    _simple(
        "dp2a",
        "9.7.1.24",
        "add the dot product of two halves and two bytes",
        (
            Slot("mode", "half of b", ("lo", "hi"), mandatory=True),
            types(*_WORDS, name="atype", says="type of a"),
            types(*_WORDS, name="btype", says="type of b"),
        ),
        (written(bits=32), read("a", 32), read("b", 32), read("c", 32)),
        since=(5, 0),
        targets=Targets(61),
    ),
)
