"""atom and red (PTX ISA 9.7.13.5, 9.7.13.6)."""

from __future__ import annotations

from dataclasses import replace

from tileproof.contracts.architectures import Targets
from tileproof.contracts.parts import (
    HAS_HINT,
    HINT,
    POLICY,
    REAL,
    SCOPES,
    SHARED,
    TYPE_BITS,
    VECTOR,
    address,
    flag,
    types,
)
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

_HALVES = ("f16", "bf16")
_PAIRS = ("f16x2", "bf16x2")
_SCALARS = ("b32", "b64", "u32", "u64", "s32", "s64", "f32", "f64")
_BITWISE = ("and", "or", "xor")
_WIDE = ("b64", "u64", "s64")

_GLOBAL: Condition = {"space": (None, "global")}
_IS_VECTOR: Condition = {"vec": ("v2", "v4", "v8")}
_IS_SCALAR: Condition = {"vec": (None,)}
_IS_HALF: Condition = {"type": (*_HALVES, *_PAIRS)}
_IS_CAS: Condition = {"op": ("cas",)}

_SCOPE = Slot("scope", "scope", SCOPES)
_SPACE = Slot("space", "state space", ("global", *SHARED))
_NOFTZ = flag("noftz", optional=True)
_VEC = Slot("vec", "vector length", ("v2", "v4", "v8"))

_A = address("a", narrow={"space": SHARED})
_QUANTITIES = (TYPE_BITS, Quantity("vector", "number of elements", {"vec": VECTOR}))


def _value(name: str, *others: str, when: Condition | None = None) -> tuple[OperandSyntax, ...]:
    """A source: reals of 16 bits have no constants (PTX ISA 4.5.2). `others`: types beside the usual ones."""
    vector = OperandSyntax(
        name, "registers", "read", "vector", "bits", braced=_IS_VECTOR, when={**(when or {}), **_IS_HALF}
    )
    plain = {**(when or {}), "type": (*others, *_SCALARS)}
    return (vector, replace(vector, when=plain, constants=ANY, real={"type": REAL}))


_RULES = (
    Requires({"op": _BITWISE}, {"type": ("b32", "b64")}, "bit operations are for .b32 and .b64"),
    Requires({"op": ("inc", "dec")}, {"type": ("u32",)}, "these are for .u32"),
    Requires(
        {"op": ("add",)},
        {"type": ("u32", "s32", "u64", "f32", "f64", *_HALVES, *_PAIRS)},
        "these are the types that can be added",
    ),
    Requires(
        {"op": ("min", "max"), **_IS_SCALAR},
        {"type": ("u32", "s32", "u64", "s64")},
        "scalars with a least and a greatest are integers",
    ),
    Requires(
        _IS_VECTOR, {"op": ("add", "min", "max")}, "vectors are added, or their least or greatest taken"
    ),
    Requires(
        {"op": ("min", "max"), **_IS_VECTOR},
        _IS_HALF,
        "vectors with a least and a greatest are of 16-bit reals",
    ),
    Requires(
        {"op": ("add",), **_IS_VECTOR}, {"type": ("f32", *_HALVES, *_PAIRS)}, "vectors are of these types"
    ),
    Requires({"vec": ("v8",)}, {"type": _HALVES}, ".v8 is for .f16 and .bf16"),
    Requires(_IS_VECTOR, _GLOBAL, "vectors are for global memory"),
    Requires(_IS_HALF, {"noftz": ("noftz",)}, "16-bit reals keep subnormal numbers"),
    Requires({"noftz": ("noftz",)}, _IS_HALF, ".noftz is for 16-bit reals"),
    Requires(HAS_HINT, _GLOBAL, "cache policies are for global memory"),
)

# Of 64 bits: "64-bit atom.{and,or,xor,min,max}", and the same for red.
_AVAILABILITY = (
    Since({"space": (None,)}, (2, 0), Targets(20), "generic addressing"),
    Since({"op": (*_BITWISE, "min", "max"), "type": _WIDE}, (3, 1), Targets(32), "64-bit operations"),
    Since({"type": ("f64",)}, (5, 0), Targets(60), ".f64"),
    Since({"scope": SCOPES}, (5, 0), Targets(60), "scopes"),
    Since({"type": _PAIRS}, (6, 2), Targets(60), ".f16x2"),
    Since({"type": _HALVES}, (6, 3), Targets(70), ".f16"),
    Since(HAS_HINT, (7, 4), Targets(80), "cache policies"),
    Since({"type": ("bf16", "bf16x2")}, (7, 8), Targets(90), ".bf16 and .bf16x2"),
    Since({"scope": ("cluster",)}, (7, 8), Targets(90), "the cluster scope"),
    Since({"space": ("shared::cta",)}, (7, 8), Targets(30), ".shared::cta"),
    Since({"space": ("shared::cluster",)}, (7, 8), Targets(90), ".shared::cluster"),
    Since(_IS_VECTOR, (8, 1), Targets(90), "vectors"),
)


def _orders(*orders: str) -> tuple[Slot, Since]:
    sem = Slot("sem", "memory order", orders)
    return sem, Since({"sem": orders}, (6, 0), Targets(70), "memory orders")


_ATOM_SEM, _ATOM_SINCE = _orders("relaxed", "acquire", "release", "acq_rel")
_RED_SEM, _RED_SINCE = _orders("relaxed", "release")

ATOM = Instruction(
    mnemonic="atom",
    section="9.7.13.5",
    summary="read, change and write memory as one, and give the old value",
    slots=(
        _ATOM_SEM,
        _SCOPE,
        _SPACE,
        Slot(
            "op",
            "operation",
            (*_BITWISE, "cas", "exch", "add", "inc", "dec", "min", "max"),
            mandatory=True,
        ),
        _NOFTZ,
        HINT,
        _VEC,
        types("b16", "b128", *_SCALARS, *_HALVES, *_PAIRS),
    ),
    operands=(
        OperandSyntax(
            "d", "registers", "written", "vector", "bits", braced=_IS_VECTOR, sink=True, gaps=_IS_VECTOR
        ),
        _A,
        *_value("b", "b16", "b128"),
        *_value("c", "b16", "b128", when=_IS_CAS),
        POLICY,
    ),
    quantities=_QUANTITIES,
    rules=(
        *_RULES,
        Requires(_IS_CAS, {"type": ("b16", "b32", "b64", "b128")}, "bits are compared"),
        Requires({"op": ("exch",)}, {"type": ("b32", "b64", "b128")}, "bits are exchanged"),
        Requires(_IS_CAS, {"cache_hint": (None,)}, ".cas takes no cache policy"),
    ),
    availability=(
        Since(ALWAYS, (1, 1), Targets(11)),
        Since({"space": SHARED}, (1, 2), Targets(12), ".shared"),
        Since({"type": ("f32",)}, (2, 0), Targets(20), ".f32"),
        Since({"type": ("b16",)}, (6, 3), Targets(70), ".b16"),
        Since({"type": ("b128",)}, (8, 3), Targets(90), ".b128"),
        Since({"type": ("b128",), "scope": ("sys",)}, (8, 4), what=".b128 at .sys scope"),
        _ATOM_SINCE,
        *_AVAILABILITY,
    ),
)

RED = Instruction(
    mnemonic="red",
    section="9.7.13.6",
    summary="read, change and write memory as one",
    slots=(
        _RED_SEM,
        _SCOPE,
        _SPACE,
        Slot("op", "operation", (*_BITWISE, "add", "inc", "dec", "min", "max"), mandatory=True),
        _NOFTZ,
        HINT,
        _VEC,
        types(*_SCALARS, *_HALVES, *_PAIRS),
    ),
    operands=(
        OperandSyntax("a", "address", "written", narrow={"space": SHARED}),
        *_value("b"),
        POLICY,
    ),
    quantities=_QUANTITIES,
    rules=_RULES,
    availability=(
        Since(ALWAYS, (1, 2), Targets(12)),
        Since({"type": ("f32",)}, (2, 0), Targets(20), ".f32"),
        _RED_SINCE,
        *_AVAILABILITY,
    ),
)

INSTRUCTIONS = (ATOM, RED)
