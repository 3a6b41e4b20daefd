"""Asynchronous stores and reductions (PTX ISA 9.7.9.12, 9.7.9.13, 9.7.13.7)."""

from __future__ import annotations

from tileproof.contracts.architectures import Targets
from tileproof.contracts.parts import REAL, TYPE_BITS, VECTOR, address, constant, flag, read, types
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
)

_SHORT = ("b8", "u8", "s8", "b16", "u16", "s16")
_WORDS = ("b32", "u32", "s32", "f32")
_LONG = ("b64", "u64", "s64", "f64")

_BYTES = Slot("completion", "completion mechanism", ("mbarrier::complete_tx::bytes",))
_COUNTED: Condition = {"completion": _BYTES.tokens}
_IS_MMIO: Condition = {"mmio": ("mmio",)}
_RELEASES: Condition = {"sem": ("release",)}
_IS_VECTOR: Condition = {"vec": ("v2", "v4")}
_REMOTE: Condition = {"space": ("shared::cluster",)}

_SPACE = Slot("space", "state space", ("shared::cluster", "global"))
_SCOPE = Slot("scope", "scope", ("cluster", "gpu", "sys"))

_A = OperandSyntax("a", "address", "written", narrow=_REMOTE)
_MBAR = address("mbar", when=_COUNTED, narrow=_REMOTE)

_RULES = (
    Requires(_RELEASES, {"space": (None, "global")}, ".release is for global memory"),
    Requires(_RELEASES, {"scope": ("gpu", "sys")}, ".release is at gpu or sys scope"),
    Requires(_RELEASES, {"completion": (None,)}, "no mbarrier counts what goes to global memory"),
    Requires(_IS_MMIO, {**_RELEASES, "scope": ("sys",)}, ".mmio goes with .release at .sys scope"),
)
_GLOBAL_SINCE = (
    Since(_RELEASES, (8, 7), Targets(100), "global memory"),
    Since(_IS_MMIO, (8, 7), Targets(100), ".mmio"),
)

ST_ASYNC = Instruction(
    mnemonic="st.async",
    section="9.7.9.12",
    summary="store to another CTA's shared memory, counted by an mbarrier, or to global memory, asynchronously",
    slots=(
        flag("mmio", optional=True),
        Slot("sem", "memory order", ("weak", "release")),
        _SCOPE,
        _SPACE,
        _BYTES,
        Slot("vec", "vector length", ("v2", "v4")),
        types(*_SHORT, *_WORDS, *_LONG, "b128"),
    ),
    operands=(
        _A,
        OperandSyntax(
            "b",
            "registers",
            "read",
            "vector",
            "bits",
            braced=_IS_VECTOR,
            constants=ANY,
            real={"type": REAL},
        ),
        _MBAR,
    ),
    quantities=(
        TYPE_BITS,
        Quantity("vector", "number of elements", {"vec": VECTOR}),
    ),
    rules=(
        *_RULES,
        Requires({"sem": (None, "weak")}, _COUNTED, "an mbarrier counts the bytes that arrive"),
        Requires({"sem": ("weak",)}, {"scope": (None,)}, "a scope belongs to a strong store"),
        Requires({"sem": (None,)}, {"scope": (None, "cluster")}, "an mbarrier belongs to a cluster"),
        Requires(
            _COUNTED, {"space": (None, "shared::cluster")}, "an mbarrier counts what goes to shared memory"
        ),
        Requires(_COUNTED, {"type": (*_WORDS, *_LONG, "b128")}, "an mbarrier counts words and longer types"),
        Requires(_RELEASES, {"vec": (None,)}, "stores to global memory are scalar"),
        Requires(
            _RELEASES, {"type": (*_SHORT, *_WORDS, *_LONG)}, "stores to global memory have 64 bits at most"
        ),
        Requires({"vec": ("v4",)}, {"type": _WORDS}, "a store has 128 bits at most"),
        Requires({"vec": ("v2",)}, {"type": (*_WORDS, *_LONG)}, "a store has 128 bits at most"),
    ),
    availability=(
        Since(ALWAYS, (8, 1), Targets(90)),
        Since({"scope": ("cluster",)}, (8, 7), Targets(100), "the cluster scope"),
        *_GLOBAL_SINCE,
        Since({"type": ("b128",)}, (9, 2), what=".b128"),
    ),
)

RED_ASYNC = Instruction(
    mnemonic="red.async",
    section="9.7.13.7",
    summary="reduce into another CTA's shared memory, counted by an mbarrier, or global memory, asynchronously",
    slots=(
        flag("mmio", optional=True),
        Slot("sem", "memory order", ("relaxed", "release"), mandatory=True),
        Slot("scope", "scope", _SCOPE.tokens, mandatory=True),
        _SPACE,
        _BYTES,
        Slot("op", "operation", ("inc", "dec", "min", "max", "and", "or", "xor", "add"), mandatory=True),
        types("u32", "s32", "u64", "s64", "b32"),
    ),
    operands=(_A, read("b"), _MBAR),
    quantities=(TYPE_BITS,),
    rules=(
        *_RULES,
        Requires({"sem": ("relaxed",)}, {"scope": ("cluster",)}, ".relaxed is at cluster scope"),
        Requires(
            {"sem": ("relaxed",)},
            {"space": (None, "shared::cluster"), **_COUNTED},
            "an mbarrier counts what goes to shared memory",
        ),
        Requires(_RELEASES, {"op": ("add",)}, "reductions into global memory add"),
        Requires({"op": ("inc", "dec")}, {"type": ("u32",)}, "these are for .u32"),
        Requires({"op": ("min", "max")}, {"type": ("u32", "s32")}, "these are for 32-bit integers"),
        Requires({"op": ("and", "or", "xor")}, {"type": ("b32",)}, "bit operations are for .b32"),
        Requires({"op": ("add",)}, {"type": ("u32", "s32", "u64", "s64")}, "integers are added"),
        Requires(
            {"sem": ("relaxed",), "op": ("add",)},
            {"type": ("u32", "s32", "u64")},
            ".s64 is for global memory",
        ),
    ),
    availability=(Since(ALWAYS, (8, 1), Targets(90)), *_GLOBAL_SINCE),
)

ST_BULK = Instruction(
    mnemonic="st.bulk",
    section="9.7.9.13",
    summary="fill shared memory with zeros",
    slots=(flag("weak", optional=True), flag("shared::cta", optional=True)),
    operands=(
        OperandSyntax("a", "address", "written", narrow={"shared::cta": ("shared::cta",)}),
        read("size", 64, constants=range(0, 1 << 31, 8)),
        constant("initval", 0),
    ),
    availability=(Since(ALWAYS, (8, 6), Targets(100)),),
)

INSTRUCTIONS = (ST_ASYNC, RED_ASYNC, ST_BULK)
