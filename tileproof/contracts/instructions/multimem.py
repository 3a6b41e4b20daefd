"""Accesses to the same place of several GPUs at once (PTX ISA 9.7.9.14)."""

from __future__ import annotations

from tileproof.contracts.architectures import Targets
from tileproof.contracts.parts import BITS, REAL, SCOPES, VECTOR, flag, types
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

_SECTION = "9.7.9.14"
_HALVES = ("f16", "bf16")
_PAIRS = ("f16x2", "bf16x2")
_BYTES = ("e5m2x2", "e4m3x2")
_QUADS = ("e5m2x4", "e4m3x4")
_SMALL = (*_BYTES, *_QUADS)
_INTEGERS = ("u32", "s32", "u64", "s64")
_BIT_TYPES = ("b32", "b64")

_OP = Slot("op", "operation", ("min", "max", "add", "and", "or", "xor"), mandatory=True)
_GLOBAL = flag("global", optional=True)
_SCOPE = Slot("scope", "scope", SCOPES)
_VEC = Slot("vec", "vector length", ("v2", "v4", "v8"))
_ACC = Slot("acc", "precision of the sum", ("acc::f32", "acc::f16"))

_IS_VECTOR: Condition = {"vec": _VEC.tokens}
_REGISTERS: dict[Value, int] = {**BITS, **dict.fromkeys(_BYTES, 16), **dict.fromkeys(_QUADS, 32)}
_QUANTITIES = (
    Quantity("bits", "register size in bits", {"type": _REGISTERS}),
    Quantity("vector", "number of elements", {"vec": VECTOR}),
)


def _shapes(*small: str) -> tuple[Requires, ...]:
    """Values shorter than a word come in vectors, and a vector has 128 bits at most."""
    short = (*_HALVES, *(t for t in small if t in _BYTES))
    return (
        Requires({"type": short}, _IS_VECTOR, "values that are shorter than a word come in vectors"),
        Requires({"vec": ("v8",)}, {"type": short}, "a vector has 128 bits at most"),
        Requires(_IS_VECTOR, {"type": ("f32", *_HALVES, *_PAIRS, *small)}, "vectors are of short reals"),
    )


def _reductions(*small: str) -> tuple[Requires, ...]:
    return (
        Requires({"op": ("and", "or", "xor")}, {"type": _BIT_TYPES}, "bit operations are for .b32 and .b64"),
        Requires(
            {"op": ("add",)},
            {"type": ("u32", "s32", "u64", *REAL, *_HALVES, *_PAIRS, *small)},
            "these are the types that can be added",
        ),
    )


def _orders(*orders: str) -> tuple[Slot, tuple[Requires, ...]]:
    strong = tuple(order for order in orders if order != "weak")
    weak = (None, *(order for order in orders if order == "weak"))
    return Slot("sem", "memory order", orders), (
        Requires({"sem": strong}, {"scope": SCOPES}, "a strong access is ordered for the threads of a scope"),
        Requires({"sem": weak}, {"scope": (None,)}, "a scope belongs to a strong access"),
    )


_SINCE = Since(ALWAYS, (8, 1), Targets(90))
_WITH_SMALL = Targets(families=(100, 110), exact=("sm_120a", "sm_121a"))
_SMALL_SINCE = Since({"type": _SMALL}, (8, 6), _WITH_SMALL, "8-bit types")

_LD_SEM, _LD_ORDERS = _orders("weak", "relaxed", "acquire")
_ST_SEM, _ST_ORDERS = _orders("weak", "relaxed", "release")
_RED_SEM, _RED_ORDERS = _orders("relaxed", "release")

_SOURCE = OperandSyntax("b", "registers", "read", "vector", "bits", braced=_IS_VECTOR)
_A = OperandSyntax("a", "address", "written")

LD_REDUCE = Instruction(
    mnemonic="multimem.ld_reduce",
    section=_SECTION,
    summary="load from the same place of several GPUs and reduce",
    slots=(
        _LD_SEM,
        _SCOPE,
        _GLOBAL,
        _OP,
        _ACC,
        _VEC,
        types(*_BIT_TYPES, *_INTEGERS, *REAL, *_HALVES, *_PAIRS, *_SMALL),
    ),
    operands=(
        OperandSyntax("d", "registers", "written", "vector", "bits", braced=_IS_VECTOR),
        OperandSyntax("a", "address", "read"),
    ),
    quantities=_QUANTITIES,
    rules=(
        *_LD_ORDERS,
        *_shapes(*_SMALL),
        *_reductions(*_SMALL),
        Requires(
            {"op": ("min", "max")},
            {"type": (*_INTEGERS, *_HALVES, *_PAIRS, *_SMALL)},
            "these are the types with a least and a greatest",
        ),
        Requires({"acc": _ACC.tokens}, {"op": ("add",)}, "only sums have a precision"),
        Requires({"acc": ("acc::f32",)}, {"type": (*_HALVES, *_PAIRS)}, ".acc::f32 adds 16-bit reals"),
        Requires({"acc": ("acc::f16",)}, {"type": _SMALL}, ".acc::f16 adds 8-bit reals"),
    ),
    availability=(
        _SINCE,
        Since({"acc": ("acc::f32",)}, (8, 2), what=".acc::f32"),
        Since({"acc": ("acc::f16",)}, (8, 6), _WITH_SMALL, ".acc::f16"),
        _SMALL_SINCE,
    ),
)

ST = Instruction(
    mnemonic="multimem.st",
    section=_SECTION,
    summary="store to the same place of several GPUs",
    slots=(
        _ST_SEM,
        _SCOPE,
        _GLOBAL,
        _VEC,
        types(*_BIT_TYPES, *_INTEGERS, *REAL, *_HALVES, *_PAIRS, *_SMALL),
    ),
    operands=(_A, _SOURCE),
    quantities=_QUANTITIES,
    rules=(*_ST_ORDERS, *_shapes(*_SMALL)),
    availability=(_SINCE, _SMALL_SINCE),
)

RED = Instruction(
    mnemonic="multimem.red",
    section=_SECTION,
    summary="reduce into the same place of several GPUs",
    slots=(
        _RED_SEM,
        _SCOPE,
        _GLOBAL,
        _OP,
        _VEC,
        types(*_BIT_TYPES, *_INTEGERS, *REAL, *_HALVES, *_PAIRS),
    ),
    operands=(_A, _SOURCE),
    quantities=(
        Quantity("bits", "register size in bits", {"type": BITS}),
        Quantity("vector", "number of elements", {"vec": VECTOR}),
    ),
    rules=(
        *_RED_ORDERS,
        *_shapes(),
        *_reductions(),
        Requires({"op": ("min", "max")}, {"type": _INTEGERS}, "only integers have a least and a greatest"),
    ),
    availability=(_SINCE,),
)

INSTRUCTIONS = (LD_REDUCE, ST, RED)
