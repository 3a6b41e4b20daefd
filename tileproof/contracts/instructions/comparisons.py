"""Comparison and selection (PTX ISA 9.7.3.1, 9.7.3.2, 9.7.6, 9.7.7.2)."""

from __future__ import annotations

from tileproof.contracts.architectures import Targets
from tileproof.contracts.parts import (
    BITS,
    REAL,
    TYPE_BITS,
    flag,
    predicate,
    read,
    set_predicate,
    types,
    written,
)
from tileproof.contracts.syntax import (
    ALWAYS,
    Condition,
    Instruction,
    Quantity,
    Requires,
    Since,
    Slot,
)

_BIT_TYPES = ("b16", "b32", "b64")
_UNSIGNED = ("u16", "u32", "u64")
_SIGNED = ("s16", "s32", "s64")
_TYPES = (*_BIT_TYPES, *_UNSIGNED, *_SIGNED, *REAL)
_HALVES = ("f16", "bf16")
_PAIRS = ("f16x2", "bf16x2")
_FTZ_TYPES = ("f32", "f16", "f16x2")

_SAME = ("eq", "ne")
_ORDER = ("lt", "le", "gt", "ge")
_UNSIGNED_ORDER = ("lo", "ls", "hi", "hs")
_WITH_NAN = ("equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")

_CMP = Slot("cmp", "comparison", (*_SAME, *_ORDER, *_UNSIGNED_ORDER, *_WITH_NAN), mandatory=True)
_BOOL = Slot("bool", "operation on the predicates", ("and", "or", "xor"))
_COMBINES: Condition = {"bool": _BOOL.tokens}
_FTZ = flag("ftz", optional=True)
_C = predicate("c", negatable=True, when=_COMBINES)


def _comparable(slot: str, *reals: str) -> tuple[Requires, ...]:
    """Which comparisons a type has (PTX ISA 9.3.1); the type is in `slot`."""
    return (
        Requires({"cmp": _ORDER}, {slot: (*_UNSIGNED, *_SIGNED, *reals)}, "bits have no order", "9.3.1.1"),
        Requires({"cmp": _UNSIGNED_ORDER}, {slot: _UNSIGNED}, "these compare unsigned integers", "9.3.1.1"),
        Requires({"cmp": _WITH_NAN}, {slot: reals}, "only reals can be NaN", "9.3.1.2"),
    )


SETP = Instruction(
    mnemonic="setp",
    section="9.7.6.2",
    summary="compare, and combine the answer with a predicate",
    slots=(_CMP, _BOOL, _FTZ, types(*_TYPES, *_HALVES, *_PAIRS)),
    operands=(
        set_predicate("p", when={"type": _TYPES}, sink=True, second="optional"),
        set_predicate("p", when={"type": _HALVES}),
        set_predicate("p", when={"type": _PAIRS}, second="required"),
        *(read(name, when={"type": _TYPES}, real={"type": REAL}) for name in ("a", "b")),
        *(read(name, when={"type": (*_HALVES, *_PAIRS)}, constants=()) for name in ("a", "b")),
        _C,
    ),
    quantities=(TYPE_BITS,),
    rules=(
        *_comparable("type", *REAL, *_HALVES, *_PAIRS),
        Requires({"ftz": ("ftz",)}, {"type": _FTZ_TYPES}, ".ftz is for .f32, .f16 and .f16x2"),
    ),
    availability=(
        Since(ALWAYS, (1, 0)),
        Since({"type": ("f64",)}, (1, 0), Targets(13), ".f64"),
        Since({"type": ("f16", "f16x2")}, (4, 2), Targets(53), ".f16 and .f16x2"),
        Since({"type": ("bf16", "bf16x2")}, (7, 8), Targets(90), ".bf16 and .bf16x2"),
    ),
    subsections=(({"type": (*_HALVES, *_PAIRS)}, "9.7.7.2"),),
)

SET = Instruction(
    mnemonic="set",
    section="9.7.6.1",
    summary="compare, combine the answer with a predicate, and give it as a number",
    slots=(
        _CMP,
        _BOOL,
        _FTZ,
        types("u32", "s32", "f32", name="dtype", says="type of the result"),
        types(*_TYPES, name="stype", says="type of the sources"),
    ),
    operands=(
        written(bits=32),
        *(read(name, "bits", real={"stype": REAL}) for name in ("a", "b")),
        _C,
    ),
    quantities=(Quantity("bits", "register size in bits", {"stype": BITS}),),
    rules=(
        *_comparable("stype", *REAL),
        Requires({"ftz": ("ftz",)}, {"stype": ("f32",)}, ".ftz is for .f32"),
    ),
    availability=(Since(ALWAYS, (1, 0)), Since({"stype": ("f64",)}, (1, 0), Targets(13), ".f64")),
)

SELP = Instruction(
    mnemonic="selp",
    section="9.7.6.3",
    summary="choose by a predicate",
    slots=(types(*_TYPES),),
    operands=(
        written(),
        read("a", real={"type": REAL}),
        read("b", real={"type": REAL}),
        predicate("c"),
    ),
    quantities=(TYPE_BITS,),
    availability=(Since(ALWAYS, (1, 0)), Since({"type": ("f64",)}, (1, 0), Targets(13), ".f64")),
)

SLCT = Instruction(
    mnemonic="slct",
    section="9.7.6.4",
    summary="choose by a sign",
    slots=(
        _FTZ,
        types(*_TYPES),
        types("s32", "f32", name="ctype", says="type of the condition"),
    ),
    operands=(
        written(),
        read("a", real={"type": REAL}),
        read("b", real={"type": REAL}),
        read("c", 32, real={"ctype": ("f32",)}),
    ),
    quantities=(TYPE_BITS,),
    rules=(Requires({"ftz": ("ftz",)}, {"ctype": ("f32",)}, ".ftz is for conditions of .f32"),),
    availability=(Since(ALWAYS, (1, 0)), Since({"type": ("f64",)}, (1, 0), Targets(13), ".f64")),
)

TESTP = Instruction(
    mnemonic="testp",
    section="9.7.3.1",
    summary="ask what kind of number a real is",
    slots=(
        Slot(
            "op",
            "property",
            ("finite", "infinite", "number", "notanumber", "normal", "subnormal"),
            mandatory=True,
        ),
        types(*REAL),
    ),
    operands=(set_predicate("p"), read("a", real=ALWAYS)),
    quantities=(TYPE_BITS,),
    availability=(Since(ALWAYS, (2, 0), Targets(20)),),
)

COPYSIGN = Instruction(
    mnemonic="copysign",
    section="9.7.3.2",
    summary="give a real the sign of another one",
    slots=(types(*REAL),),
    operands=(written(), read("a", real=ALWAYS), read("b", real=ALWAYS)),
    quantities=(TYPE_BITS,),
    availability=(Since(ALWAYS, (2, 0), Targets(20)),),
)

INSTRUCTIONS = (SETP, SET, SELP, SLCT, TESTP, COPYSIGN)
