"""sqrt, rcp, rsqrt, sin, cos, ex2, lg2 and tanh on registers (PTX ISA 9.7.3 and 9.7.4)."""

from __future__ import annotations

from tileproof.contracts.architectures import Targets
from tileproof.contracts.instructions.arithmetic import (
    BF16,
    DIRECTIONS,
    F16,
    FTZ,
    HALVES,
    ftz_only,
    operands,
    sections,
    type_slot,
    width,
)
from tileproof.contracts.syntax import ALWAYS, Instruction, Requires, Since, Slot

_APPROX = Slot("accuracy", "accuracy", ("approx",), mandatory=True)
_ACCURACY = Slot("accuracy", "accuracy", ("approx", *DIRECTIONS), mandatory=True)


def _function(
    mnemonic: str,
    summary: str,
    slots: tuple[Slot, ...],
    types: tuple[str, ...],
    rules: tuple[Requires, ...] = (),
    availability: tuple[Since, ...] = (),
) -> Instruction:
    return Instruction(
        mnemonic=mnemonic,
        section="9.7.3",
        summary=summary,
        slots=(*slots, type_slot(types)),
        operands=operands(types, "a"),
        quantities=(width(types),),
        rules=rules,
        availability=availability,
        subsections=sections(types),
    )


# The oldest of these were written without their accuracy, up to PTX ISA 1.3.
_OLD = (Since(ALWAYS, (1, 4)),)

SQRT = _function(
    "sqrt",
    "square root",
    (_ACCURACY, FTZ),
    ("f32", "f64"),
    (
        Requires({"type": ("f64",)}, {"accuracy": DIRECTIONS}, "a square root of .f64 is rounded"),
        ftz_only(("f32",)),
    ),
    _OLD,
)

# ptxas also takes .ftz of the rounded .f64 reciprocal, where it means nothing.
RCP = _function(
    "rcp",
    "reciprocal",
    (_ACCURACY, FTZ),
    ("f32", "f64"),
    (
        Requires(
            {"type": ("f64",), "accuracy": ("approx",)},
            {"ftz": ("ftz",)},
            "the approximate reciprocal of .f64 is rcp.approx.ftz.f64",
        ),
        Requires(
            {"type": ("f64",), "accuracy": DIRECTIONS},
            {"ftz": (None,)},
            "a rounded reciprocal of .f64 flushes nothing",
        ),
    ),
    (
        *_OLD,
        Since({"type": ("f64",), "accuracy": ("approx",)}, (2, 1), Targets(20), "the approximate reciprocal"),
    ),
)

RSQRT = _function("rsqrt", "reciprocal of the square root", (_APPROX, FTZ), ("f32", "f64"), (), _OLD)

SIN = _function("sin", "sine of an angle in radians", (_APPROX, FTZ), ("f32",), (), _OLD)
COS = _function("cos", "cosine of an angle in radians", (_APPROX, FTZ), ("f32",), (), _OLD)

EX2 = _function(
    "ex2",
    "2 to the power of a value",
    (_APPROX, FTZ),
    ("f32", *HALVES),
    (
        ftz_only(("f32", *BF16)),
        Requires({"type": BF16}, {"ftz": ("ftz",)}, "ex2 of .bf16 flushes subnormal numbers", "9.7.4"),
    ),
    (
        *_OLD,
        Since({"type": F16}, (7, 0), Targets(75), "ex2 of .f16"),
        Since({"type": BF16}, (7, 8), Targets(90), "ex2 of .bf16"),
    ),
)

LG2 = _function("lg2", "logarithm to base 2", (_APPROX, FTZ), ("f32",), (), _OLD)

TANH = _function(
    "tanh",
    "hyperbolic tangent",
    (_APPROX,),
    ("f32", *HALVES),
    (),
    (
        Since(ALWAYS, (7, 0), Targets(75)),
        Since({"type": BF16}, (7, 8), Targets(90), "tanh of .bf16"),
    ),
)

INSTRUCTIONS = (SQRT, RCP, RSQRT, SIN, COS, EX2, LG2, TANH)
