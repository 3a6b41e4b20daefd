"""cvt and cvt.pack on registers (PTX ISA 9.7.9.21, 9.7.9.22): between numbers, and into and out of packed ones.

The general form converts integers and floats of 8 to 64 bits; the others round `.f32` or pairs of 16-bit
floats into narrow formats, two or four values to a register, and widen pairs. Which combinations of rounding,
`.sat` and types there are follows ptxas 13.5 where the ISA gives only a rule. Not here: the fixed point of
`.s2f6x2`, and what only sm_107a has.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.contracts.architectures import Targets
from tileproof.contracts.parts import REAL, flag, read, types, written
from tileproof.contracts.syntax import (
    ALWAYS,
    ANY,
    Condition,
    Instruction,
    OperandSyntax,
    Quantity,
    Requires,
    Since,
    Slot,
    Value,
)

_INTEGERS: dict[str, tuple[int, int]] = {
    **{f"u{bits}": (0, (1 << bits) - 1) for bits in (8, 16, 32, 64)},
    **{f"s{bits}": (-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16, 32, 64)},
}
"""The least and the greatest value of each integer type."""

_FLOATS = ("f16", "bf16", "f32", "f64")
_NUMBERS = (*_INTEGERS, *_FLOATS)
_HALF_PAIRS = ("f16x2", "bf16x2")
_FP8 = ("e4m3x2", "e5m2x2")
_FP6 = ("e2m3x2", "e3m2x2")
_FP4 = ("e2m1x2",)
_FP864 = (*_FP8, *_FP6, *_FP4)
_SCALE = ("ue8m0x2",)
_QUADS = ("e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4", "e2m1x4")
_NARROW = (*_FP864, *_SCALE)

_BITS: dict[Value, int] = {
    **{name: int(name[1:]) for name in _INTEGERS},
    "f16": 16, "bf16": 16, "f32": 32, "f64": 64, "tf32": 32, "f16x2": 32, "bf16x2": 32,
    **dict.fromkeys((*_FP8, *_FP6, *_SCALE), 16), "e2m1x2": 8, **dict.fromkeys(_QUADS, 32), "e2m1x4": 16,
}  # fmt: skip
_TO_INTEGER = ("rni", "rzi", "rmi", "rpi")
_DIRECTIONS = ("rn", "rz", "rm", "rp")

_TARGETS = (*_NUMBERS, "tf32", *_HALF_PAIRS, *_NARROW, *_QUADS)
_SOURCES = (*_NUMBERS, *_HALF_PAIRS, *_NARROW)

_BLACKWELL = Targets(families=(100, 110, 120))
_STOCHASTIC = Targets(exact=("sm_100a", "sm_103a", "sm_107a"))

_FROM_F32: Condition = {"from": ("f32",)}
_RANDOM: Condition = {"rnd": ("rs",)}


def _may_not_fit(target: str) -> tuple[str, ...]:
    """The integer types with values that the target has not."""
    low, high = _INTEGERS[target]
    return tuple(name for name, (lo, hi) in _INTEGERS.items() if lo < low or hi > high)


def _precise(name: str) -> int:
    return {"bf16": 8, "f16": 11, "f32": 24, "f64": 53}[name]


def _rounding(target: str, source: str) -> tuple[Value, ...]:
    """The rounding of a general conversion (ISA 9.7.9.21, "Rounding modifier is mandatory in ...")."""
    if target in _INTEGERS and source in _INTEGERS:
        return (None,)
    if target in _INTEGERS:
        return _TO_INTEGER
    if source in _INTEGERS:
        return _DIRECTIONS
    if target == source:
        return (None, *_TO_INTEGER)
    if {target, source} == {"f16", "bf16"} or source == "bf16":
        return (None, *_DIRECTIONS)
    return _DIRECTIONS if _precise(target) < _precise(source) else (None,)


def _general() -> Iterator[Requires]:
    """What the two types of a general conversion decide."""
    for target in _NUMBERS:
        by_rounding: dict[tuple[Value, ...], list[str]] = {}
        for source in _NUMBERS:
            by_rounding.setdefault(_rounding(target, source), []).append(source)
        for allowed, sources in by_rounding.items():
            told = " or ".join("no rounding" if one is None else f".{one}" for one in allowed)
            yield Requires(
                {"to": (target,), "from": tuple(sources), "relu": (None,), "satfinite": (None,)},
                {"rnd": allowed},
                f"from .{' .'.join(sources)} to .{target} goes with {told}",
            )
    for target in _INTEGERS:
        yield Requires(
            {"to": (target,), "sat": ("sat",)},
            {"from": (*_may_not_fit(target), "f16", "f32", "f64")},
            f".sat to .{target} is for values that it may not hold",
        )


_RULES = (
    # Which types go together.
    Requires({"to": _NUMBERS}, {"from": _NUMBERS}, "numbers are converted to numbers"),
    Requires({"to": ("u8", "s8")}, {"from": (*_INTEGERS, "f16", "f32", "f64")}, "no .bf16 to 8-bit integers"),
    Requires(
        {"to": ("bf16",)}, {"from": (*tuple(_INTEGERS)[1:4], *tuple(_INTEGERS)[5:], *_FLOATS)},
        "no 8-bit integers to .bf16",
    ),
    Requires({"to": ("tf32", *_QUADS)}, _FROM_F32, "these formats are made of .f32"),
    Requires({"to": ("f16x2",)}, {"from": ("f32", *_FP864)}, ".f16x2 is made of two .f32 or a narrow pair"),
    Requires(
        {"to": ("bf16x2",)}, {"from": ("f32", *_NARROW)}, ".bf16x2 is made of two .f32 or a narrow pair",
    ),
    Requires(
        {"to": _FP864}, {"from": ("f32", *_HALF_PAIRS)},
        "narrow pairs are made of two .f32 or a pair of halves",
    ),
    Requires({"to": _SCALE}, {"from": ("f32", "bf16x2")}, ".ue8m0x2 is made of two .f32 or .bf16x2"),
    # Rounding.
    *_general(),
    Requires(
        {"to": ("f16", "bf16"), "relu": ("relu",)}, {"from": ("f32",), "rnd": ("rn", "rz")},
        ".relu is for .f32 rounded by .rn or .rz",
    ),
    Requires(
        {"to": ("f16", "bf16"), "satfinite": ("satfinite",)}, {"from": ("f32",), "rnd": ("rn", "rz")},
        ".satfinite is for .f32 rounded by .rn or .rz",
    ),
    Requires(
        {"to": _HALF_PAIRS, "from": ("f32",)}, {"rnd": ("rn", "rz", "rs")},
        "pairs of halves are rounded by .rn, .rz or .rs",
    ),
    Requires({"to": _HALF_PAIRS, "from": _NARROW}, {"rnd": ("rn",)}, "widening a pair is written with .rn"),
    Requires({"to": ("tf32",)}, {"rnd": ("rna", "rn", "rz")}, ".tf32 is rounded by .rna, .rn or .rz"),
    Requires({"to": _FP864}, {"rnd": ("rn",)}, "narrow pairs are rounded by .rn"),
    Requires({"to": _SCALE}, {"rnd": ("rz", "rp")}, ".ue8m0x2 is rounded by .rz or .rp"),
    Requires({"to": _QUADS}, {"rnd": ("rs",)}, "four values at once are rounded by .rs"),
    # The other qualifiers.
    Requires(
        {"ftz": ("ftz",)}, {"to": _NUMBERS, "relu": (None,), "satfinite": (None,)},
        ".ftz is for plain conversions",
    ),
    Requires({"ftz": ("ftz",), "to": ("f16", "bf16", "f64", *_INTEGERS)}, _FROM_F32, ".ftz is for .f32"),
    Requires({"ftz": ("ftz",), "to": ("f64",)}, {"rnd": (None,)}, "nothing is rounded from .f32 to .f64"),
    Requires(
        {"sat": ("sat",)},
        {"to": (*_INTEGERS, "f16", "f32", "f64"), "relu": (None,), "satfinite": (None,)},
        ".sat is for plain conversions, not to .bf16",
    ),
    Requires({"sat": ("sat",)}, {"from": (*_INTEGERS, "f16", "f32", "f64")}, ".sat is not for .bf16"),
    Requires(
        {"relu": ("relu",)}, {"to": ("f16", "bf16", *_HALF_PAIRS, *_QUADS)},
        ".relu stands here for halves and their pairs",
    ),
    Requires({"relu": ("relu",)}, {"from": ("f32", *_FP864)}, ".ue8m0 is never negative"),
    Requires(
        {"satfinite": ("satfinite",)},
        {"to": ("f16", "bf16", "tf32", *_HALF_PAIRS, *_NARROW, *_QUADS), "from": ("f32", *_HALF_PAIRS)},
        ".satfinite is for what may overflow",
    ),
    Requires(
        {"to": (*_FP864, *_QUADS)}, {"satfinite": ("satfinite",)}, "these formats have .satfinite always",
    ),
    Requires({"relu_last": ("relu",)}, {"to": ("tf32", *_FP864)}, ".relu stands before .satfinite here"),
    Requires({"relu_last": ("relu",)}, {"rnd": ("rn", "rz")}, ".rna has no .relu"),
)  # fmt: skip

_TWO: Condition = {"from": ("f32",), "to": (*_HALF_PAIRS, *_NARROW)}
_FOUR: Condition = {"to": _QUADS}
# ptxas also takes wider registers of .f16x2, which PTX ISA 9.4.1 has not, and with .ftz in part.
_WIDENING = (*_INTEGERS, "f16", "f32", "f64")
_GENERAL: Condition = {"to": _WIDENING, "from": _WIDENING, "ftz": (None,)}
_OF_INTEGERS: Condition = {"to": tuple(_INTEGERS), "from": tuple(_INTEGERS)}
_CONSTANTS: Condition = {"to": (*_NUMBERS, *_HALF_PAIRS, *_NARROW), "from": (*_INTEGERS, *REAL)}

CVT = Instruction(
    mnemonic="cvt",
    section="9.7.9.21",
    summary="convert a value to another type, or several into one register",
    slots=(
        Slot("rnd", "rounding", (*_TO_INTEGER, *_DIRECTIONS, "rna", "rs")),
        Slot("ftz", ".ftz qualifier", ("ftz",)),
        Slot("sat", ".sat qualifier", ("sat",)),
        Slot("relu", ".relu qualifier", ("relu",)),
        Slot("satfinite", ".satfinite qualifier", ("satfinite",)),
        Slot("relu_last", ".relu qualifier", ("relu",)),
        Slot("to", "destination type", _TARGETS, mandatory=True),
        Slot("from", "source type", _SOURCES, mandatory=True),
    ),
    operands=(
        OperandSyntax("d", "registers", "written", bits="to_bits", wider=_GENERAL),
        OperandSyntax("a", "registers", "read", 4, 32, braced=ALWAYS, when=_FOUR),
        OperandSyntax("a", "registers", "read", bits="from_bits", when={"to": ("tf32",)}),
        OperandSyntax(
            "a", "registers", "read", bits="from_bits",
            when={"from": ("f16", "bf16", *_HALF_PAIRS, *_NARROW)}, wider=_GENERAL,
        ),
        OperandSyntax(
            "a", "registers", "read", bits="from_bits", when=_CONSTANTS, wider=_GENERAL,
            constants=ANY, real={"from": REAL}, special=_OF_INTEGERS,
        ),
        OperandSyntax("b", "registers", "read", bits=32, when=_TWO, constants=ANY, real=ALWAYS),
        OperandSyntax("rbits", "registers", "read", bits=32, when=_RANDOM),
    ),
    quantities=(
        Quantity("to_bits", "destination size in bits", {"to": {name: _BITS[name] for name in _TARGETS}}),
        Quantity("from_bits", "source size in bits", {"from": {name: _BITS[name] for name in _SOURCES}}),
    ),
    rules=_RULES,
    availability=(
        Since(ALWAYS, (1, 0)),
        Since({"to": ("f16",), "relu": ("relu",)}, (7, 0), Targets(80), ".relu"),
        Since(
            {"to": ("bf16", *_HALF_PAIRS), "from": ("f32",)}, (7, 0), Targets(80),
            "rounding to .bf16 or to pairs",
        ),
        Since({"from": ("bf16",)}, (7, 1), Targets(80), "widening .bf16"),
        Since(
            {"to": ("bf16",), "from": (*_INTEGERS, "f16", "bf16", "f64")}, (7, 8), Targets(90),
            "conversions of .bf16",
        ),
        Since(
            {"to": (*_INTEGERS, "f16", "f64"), "from": ("bf16",)}, (7, 8), Targets(90),
            "conversions of .bf16",
        ),
        Since({"from": ("bf16",), "ftz": ("ftz",)}, (7, 8), Targets(90), "flushing .bf16"),
        Since(
            {"to": ("f16", "bf16", "tf32", *_HALF_PAIRS), "satfinite": ("satfinite",)}, (8, 1),
            what=".satfinite",
        ),
        Since({"to": ("tf32",)}, (7, 0), Targets(80), ".tf32"),
        Since({"to": ("tf32",), "rnd": ("rn", "rz")}, (7, 8), Targets(90), "rounding to .tf32 by .rn or .rz"),
        Since(
            {"to": ("tf32",), "rnd": ("rn", "rz"), "satfinite": ("satfinite",)}, (8, 6), Targets(100),
            "clamping to .tf32",
        ),
        Since({"to": _FP8}, (8, 1), Targets(89), "8-bit floats"),
        Since({"from": _FP8}, (8, 1), Targets(89), "8-bit floats"),
        Since({"to": (*_FP6, *_FP4, *_SCALE)}, (8, 6), _BLACKWELL, "floats of 4, 6 and 8 bits"),
        Since({"from": (*_FP6, *_FP4, *_SCALE)}, (8, 6), _BLACKWELL, "floats of 4, 6 and 8 bits"),
        Since(_RANDOM, (8, 7), _STOCHASTIC, "stochastic rounding"),
        Since({"to": (*_FP6, *_FP4), "from": _HALF_PAIRS}, (9, 1), _BLACKWELL, "narrowing pairs of halves"),
        Since({"to": _FP8, "from": ("bf16x2",)}, (9, 1), _BLACKWELL, "narrowing pairs of halves"),
        Since({"to": ("bf16x2",), "from": _FP864}, (9, 2), _BLACKWELL, "widening to .bf16x2"),
    ),
)  # fmt: skip

_PAIR_OF_HALVES: Condition = {"to": ("u16", "s16")}
_PAIR_OF_PARTS: Condition = {"to": ("u2", "s2", "u4", "s4", "u8", "s8")}

CVT_PACK = Instruction(
    mnemonic="cvt.pack",
    section="9.7.9.22",
    summary="clamp two integers to a narrow type and pack them",
    slots=(
        flag("sat"),
        types("u16", "s16", "u2", "s2", "u4", "s4", "u8", "s8", name="to", says="type of the results"),
        types("s32", name="from", says="type of a and b"),
        Slot("rest", "type of c", ("b32",)),
    ),
    operands=(written(bits=32), read("a", 32), read("b", 32), read("c", 32, when=_PAIR_OF_PARTS)),
    rules=(
        Requires(_PAIR_OF_HALVES, {"rest": (None,)}, "two halves fill the result"),
        Requires(_PAIR_OF_PARTS, {"rest": ("b32",)}, "the rest of the result comes from c"),
    ),
    availability=(
        Since(ALWAYS, (6, 5), Targets(72)),
        Since({"to": ("u2", "s2", "u4", "s4")}, (6, 5), Targets(75), "types of less than a byte"),
    ),
)

INSTRUCTIONS = (CVT, CVT_PACK)
