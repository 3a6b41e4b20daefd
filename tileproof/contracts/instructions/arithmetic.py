"""add, sub, mul, fma, div, min, max, abs and neg on registers (PTX ISA 9.7.1, 9.7.3, 9.7.4 and 9.7.5).

A packed type is two numbers in one register: `.f16x2`, `.bf16x2`, `.u16x2` and `.s16x2` in 32 bits, `.f32x2`
in 64. What the ISA text leaves open here (combinations of rounding, `.sat` and types) follows ptxas 13.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tileproof.contracts.architectures import Targets
from tileproof.contracts.parts import REAL
from tileproof.contracts.syntax import (
    ALWAYS,
    ANY,
    Condition,
    Instruction,
    OperandSyntax,
    Quantity,
    Requires,
    Shape,
    Since,
    Slot,
    Value,
)

BITS: dict[Value, int] = {
    "u16": 16, "s16": 16, "u32": 32, "s32": 32, "u64": 64, "s64": 64, "u16x2": 32, "s16x2": 32,
    "f16": 16, "bf16": 16, "f32": 32, "f64": 64, "f16x2": 32, "bf16x2": 32, "f32x2": 64,
}  # fmt: skip
INTEGERS = ("u16", "u32", "u64", "s16", "s32", "s64")
SIGNED = ("s16", "s32", "s64")
INTEGER_PAIRS = ("u16x2", "s16x2")
F16 = ("f16", "f16x2")
BF16 = ("bf16", "bf16x2")
HALVES = (*F16, *BF16)
FLOATS = ("f16", "f16x2", "f32", "f32x2", "f64", *BF16)
WITHOUT_F32X2 = ("f16", "f16x2", "f32", "f64", *BF16)
DIRECTIONS = ("rn", "rz", "rm", "rp")

RND = Slot("rnd", "rounding", DIRECTIONS)
MUST_ROUND = Slot("rnd", "rounding", DIRECTIONS, mandatory=True)
FTZ = Slot("ftz", ".ftz qualifier", ("ftz",))
SAT = Slot("sat", ".sat qualifier", ("sat",))
RELU = Slot("relu", ".relu qualifier", ("relu",))
_SOURCE = Slot("source", "narrow source type", ("f16", "bf16"))

_ROUNDS: Condition = {"rnd": DIRECTIONS}
_FLUSHES: Condition = {"ftz": ("ftz",)}
_SATURATES: Condition = {"sat": ("sat",)}
_MIXED: Condition = {"source": ("f16", "bf16")}

MADE_FOR_F16 = Since({"type": F16}, (4, 2), Targets(53), "half precision")
FOR_PAIRS_OF_INTEGERS = Since({"type": INTEGER_PAIRS}, (8, 0), Targets(90), "pairs of 16-bit integers")
_FOR_F32X2 = Since({"type": ("f32x2",)}, (8, 6), Targets(100), "pairs of .f32")
_FOR_MIXED = Since(_MIXED, (8, 6), Targets(100), "mixed precision")


# Rounding to nearest is all that there is of 16-bit types; ptxas also takes .rz, .rm and .rp of fma.bf16.
_NEAREST = Requires({"type": HALVES}, {"rnd": (None, "rn")}, "16-bit floats are rounded to nearest", "9.7.4")


def sections(types: Iterable[str]) -> tuple[tuple[Condition, str], ...]:
    """Where the ISA describes integers and 16-bit floats; all others are in 9.7.3."""
    named = (((*INTEGERS, *INTEGER_PAIRS), "9.7.1"), (HALVES, "9.7.4"))
    of_types = ((tuple(one for one in types if one in group), section) for group, section in named)
    return tuple(({"type": found}, section) for found, section in of_types if found)


def type_slot(types: Iterable[str]) -> Slot:
    """The type, which every spelling has."""
    return Slot("type", "type", tuple(types), mandatory=True)


def width(types: Iterable[str]) -> Quantity:
    """The bits of one register of a type."""
    return Quantity("bits", "element size in bits", {"type": {one: BITS[one] for one in types}})


def source(name: str, types: Iterable[str], when: Condition = ALWAYS) -> Iterator[OperandSyntax]:
    """A register of the width of the type; a constant may stand for one that is not packed and not of 16-bit floats."""
    scalar = tuple(one for one in types if one in (*INTEGERS, *REAL))
    other = tuple(one for one in types if one not in scalar)
    if scalar:
        yield OperandSyntax(
            name,
            "registers",
            "read",
            bits="bits",
            when={"type": scalar, **when},
            real={"type": tuple(one for one in scalar if one in REAL)},
            constants=ANY,
        )
    if other:
        yield OperandSyntax(name, "registers", "read", bits="bits", when={"type": other, **when})


def operands(types: Iterable[str], names: str) -> tuple[OperandSyntax, ...]:
    """`d` and the sources of these names, all of the width of the type."""
    sources = (operand for name in names for operand in source(name, types))
    return (OperandSyntax("d", "registers", "written", bits="bits"), *sources)


def ftz_only(types: tuple[str, ...]) -> Requires:
    """Subnormal numbers are flushed for these types alone."""
    return Requires(_FLUSHES, {"type": types}, ".ftz is for " + ", ".join(f".{one}" for one in types))


def _sum(mnemonic: str, summary: str, integers: tuple[str, ...]) -> Instruction:
    """add and sub; the narrow source type of mixed precision is that of `a`."""
    types = (*integers, *FLOATS)
    wide: Condition = {"source": (None,)}
    return Instruction(
        mnemonic=mnemonic,
        section="9.7.3",
        summary=summary,
        slots=(RND, FTZ, SAT, type_slot(types), _SOURCE),
        operands=(
            OperandSyntax("d", "registers", "written", bits="bits"),
            *source("a", types, wide),
            OperandSyntax("a", "registers", "read", bits=16, when=_MIXED),
            *source("b", types),
        ),
        quantities=(width(types),),
        rules=(
            Requires(_ROUNDS, {"type": FLOATS}, "integers are not rounded", "9.7.1"),
            _NEAREST,
            ftz_only((*F16, "f32", "f32x2")),
            Requires(_SATURATES, {"type": (*F16, "f32", "s32")}, ".sat is for .s32, .f16, .f16x2 and .f32"),
            Requires(_MIXED, {"type": ("f32",)}, "mixed precision adds to .f32", "9.7.5"),
            Requires(_MIXED, {"ftz": (None,)}, "mixed precision has no .ftz", "9.7.5"),
        ),
        availability=(
            Since(ALWAYS, (1, 0)),
            MADE_FOR_F16,
            Since({"type": BF16}, (7, 8), Targets(90), f"{mnemonic} of .bf16"),
            *((FOR_PAIRS_OF_INTEGERS,) if INTEGER_PAIRS[0] in integers else ()),
            _FOR_F32X2,
            _FOR_MIXED,
        ),
        subsections=((_MIXED, "9.7.5"), *sections(types)),
    )


ADD = _sum("add", "add two values", (*INTEGERS, *INTEGER_PAIRS))
SUB = _sum("sub", "subtract one value from another", INTEGERS)

_MODE: dict[Value, int] = {None: 1, "lo": 1, "hi": 1, "wide": 2}
_PRODUCTS = (*INTEGERS, *FLOATS)

MUL = Instruction(
    mnemonic="mul",
    section="9.7.3",
    summary="multiply two values",
    slots=(
        RND,
        Slot("mode", "part of the product", ("lo", "hi", "wide")),
        FTZ,
        SAT,
        type_slot(_PRODUCTS),
    ),
    operands=(
        OperandSyntax("d", "registers", "written", bits="result_bits"),
        *source("a", _PRODUCTS),
        *source("b", _PRODUCTS),
    ),
    quantities=(
        width(_PRODUCTS),
        Quantity(
            "result_bits",
            "result size in bits",
            {"type": {one: BITS[one] for one in _PRODUCTS}, "mode": _MODE},
        ),
    ),
    rules=(
        Requires(
            {"type": INTEGERS},
            {"mode": ("lo", "hi", "wide")},
            "a product of integers has two halves: write .lo, .hi or .wide",
            "9.7.1",
        ),
        Requires({"type": FLOATS}, {"mode": (None,)}, ".lo, .hi and .wide are for integers"),
        Requires({"mode": ("wide",)}, {"result_bits": (32, 64)}, "the widest product has 64 bits", "9.7.1"),
        Requires(_ROUNDS, {"type": FLOATS}, "integers are not rounded", "9.7.1"),
        _NEAREST,
        ftz_only((*F16, "f32", "f32x2")),
        Requires(_SATURATES, {"type": (*F16, "f32")}, ".sat is for .f16, .f16x2 and .f32"),
    ),
    availability=(
        Since(ALWAYS, (1, 0)),
        MADE_FOR_F16,
        Since({"type": BF16}, (7, 8), Targets(90), "mul of .bf16"),
        _FOR_F32X2,
    ),
    subsections=sections(_PRODUCTS),
)

FMA = Instruction(
    mnemonic="fma",
    section="9.7.3",
    summary="multiply two values and add a third, rounded once",
    slots=(
        MUST_ROUND,
        FTZ,
        Slot("oob", ".oob qualifier", ("oob",)),
        SAT,
        RELU,
        type_slot(FLOATS),
        _SOURCE,
    ),
    operands=(
        OperandSyntax("d", "registers", "written", bits="bits"),
        *source("a", FLOATS, {"source": (None,)}),
        *source("b", FLOATS, {"source": (None,)}),
        OperandSyntax("a", "registers", "read", bits=16, when=_MIXED),
        OperandSyntax("b", "registers", "read", bits=16, when=_MIXED),
        *source("c", FLOATS),
    ),
    quantities=(width(FLOATS),),
    rules=(
        _NEAREST,
        ftz_only((*F16, "f32", "f32x2")),
        Requires(_SATURATES, {"type": (*F16, "f32")}, ".sat is for .f16, .f16x2 and .f32"),
        Requires({"relu": ("relu",)}, {"type": HALVES}, ".relu is for 16-bit floats", "9.7.4"),
        Requires({"relu": ("relu",)}, {"sat": (None,)}, ".sat and .relu exclude each other", "9.7.4"),
        Requires({"oob": ("oob",)}, {"type": HALVES}, ".oob is for 16-bit floats", "9.7.4"),
        Requires({"oob": ("oob",)}, {"ftz": (None,), "sat": (None,)}, ".oob goes with .relu only", "9.7.4"),
        Requires(_MIXED, {"type": ("f32",)}, "mixed precision adds to .f32", "9.7.5"),
        Requires(_MIXED, {"ftz": (None,)}, "mixed precision has no .ftz", "9.7.5"),
    ),
    availability=(
        Since(ALWAYS, (2, 0), Targets(20)),
        MADE_FOR_F16,
        Since({"type": BF16}, (7, 0), Targets(80), "fma of .bf16"),
        Since({"relu": ("relu",)}, (7, 0), Targets(80), ".relu"),
        Since({"oob": ("oob",)}, (8, 1), Targets(90), ".oob"),
        _FOR_F32X2,
        _FOR_MIXED,
    ),
    subsections=((_MIXED, "9.7.5"), *sections(FLOATS)),
)

_QUOTIENTS = (*INTEGERS, "f32", "f64")

DIV = Instruction(
    mnemonic="div",
    section="9.7.3",
    summary="divide one value by another",
    slots=(
        Slot("accuracy", "accuracy", ("approx", "full", *DIRECTIONS)),
        FTZ,
        type_slot(_QUOTIENTS),
    ),
    operands=operands(_QUOTIENTS, "ab"),
    quantities=(width(_QUOTIENTS),),
    rules=(
        Requires({"type": INTEGERS}, {"accuracy": (None,)}, "integers are divided exactly", "9.7.1"),
        Requires(
            {"type": ("f32",)},
            {"accuracy": ("approx", "full", *DIRECTIONS)},
            "a division of .f32 says how accurate it is",
        ),
        Requires({"type": ("f64",)}, {"accuracy": DIRECTIONS}, "a division of .f64 says how it rounds"),
        ftz_only(("f32",)),
    ),
    availability=(
        Since(ALWAYS, (1, 0)),
        Since({"accuracy": ("approx", "full", *DIRECTIONS)}, (1, 4), what="the accuracy of a division"),
    ),
    subsections=sections(_QUOTIENTS),
)

_COMPARED = (*INTEGERS, *INTEGER_PAIRS, *WITHOUT_F32X2)


def _extreme(mnemonic: str, summary: str) -> Instruction:
    """min and max; `.abs` without `.xorsign` is of the form with three inputs."""
    three: Condition = {"abs": ("abs",), "xorsign": (None,)}
    third = Since(ALWAYS, (8, 8), Targets(100), f"{mnemonic} of three values")
    return Instruction(
        mnemonic=mnemonic,
        section="9.7.3",
        summary=summary,
        slots=(
            FTZ,
            Slot("nan", ".NaN qualifier", ("NaN",)),
            Slot("xorsign", ".xorsign qualifier", ("xorsign",)),
            Slot("abs", ".abs qualifier", ("abs",)),
            RELU,
            type_slot(_COMPARED),
        ),
        operands=(*operands(_COMPARED, "ab"), *source("c", ("f32",), three)),
        quantities=(width(_COMPARED),),
        rules=(
            ftz_only((*F16, "f32")),
            Requires({"nan": ("NaN",)}, {"type": (*HALVES, "f32")}, ".NaN is for 16-bit floats and .f32"),
            Requires({"xorsign": ("xorsign",)}, {"abs": ("abs",)}, ".xorsign.abs is one qualifier"),
            Requires(
                {"xorsign": ("xorsign",)},
                {"type": (*HALVES, "f32")},
                ".xorsign.abs is for 16-bit floats and .f32",
            ),
            Requires(three, {"type": ("f32",)}, ".abs alone is for three .f32 values"),
            Requires(
                {"relu": ("relu",)}, {"type": ("s32", "s16x2")}, ".relu is for .s32 and .s16x2", "9.7.1"
            ),
        ),
        availability=(
            Since(ALWAYS, (1, 0)),
            Since({"type": HALVES}, (7, 0), Targets(80), f"{mnemonic} of 16-bit floats"),
            Since({"nan": ("NaN",)}, (7, 0), Targets(80), ".NaN"),
            Since({"xorsign": ("xorsign",)}, (7, 2), Targets(86), ".xorsign.abs"),
            FOR_PAIRS_OF_INTEGERS,
            Since({"relu": ("relu",)}, (8, 0), Targets(90), ".relu"),
            Since(three, (8, 8), Targets(100), f"{mnemonic} of three values"),
        ),
        subsections=sections(_COMPARED),
        shapes=(Shape(operands(("f32",), "abc"), {"type": ("f32",), "abs": (None,)}, (third,)),),
    )


MIN = _extreme("min", "the lesser of two or three values")
MAX = _extreme("max", "the greater of two or three values")


def _sign(mnemonic: str, summary: str, half: tuple[int, int]) -> Instruction:
    types = (*SIGNED, *WITHOUT_F32X2)
    return Instruction(
        mnemonic=mnemonic,
        section="9.7.3",
        summary=summary,
        slots=(FTZ, type_slot(types)),
        operands=operands(types, "a"),
        quantities=(width(types),),
        rules=(ftz_only((*F16, "f32")),),
        availability=(
            Since(ALWAYS, (1, 0)),
            Since({"type": F16}, half, Targets(53), f"{mnemonic} of .f16"),
            Since({"type": BF16}, (7, 0), Targets(80), f"{mnemonic} of .bf16"),
        ),
        subsections=sections(types),
    )


ABS = _sign("abs", "the absolute value", (6, 5))
NEG = _sign("neg", "the negated value", (6, 0))

INSTRUCTIONS = (ADD, SUB, MUL, FMA, DIV, MIN, MAX, ABS, NEG)
