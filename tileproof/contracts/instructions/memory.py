"""ld and st (PTX ISA 9.7.9.8, 9.7.9.9, 9.7.9.11)."""

from __future__ import annotations

from tileproof.contracts.architectures import Targets
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

_BITS: dict[Value, int] = {
    "b8": 8, "b16": 16, "b32": 32, "b64": 64, "b128": 128,
    "u8": 8, "u16": 16, "u32": 32, "u64": 64,
    "s8": 8, "s16": 16, "s32": 32, "s64": 64,
    "f32": 32, "f64": 64,
}  # fmt: skip
_VECTOR: dict[Value, int] = {None: 1, "v2": 2, "v4": 4, "v8": 8}

_TYPES = tuple(str(token) for token in _BITS)
_WORDS = tuple(str(token) for token, bits in _BITS.items() if bits == 32)
_AT_MOST_64 = tuple(str(token) for token, bits in _BITS.items() if bits <= 64)

_SCOPES = ("cta", "cluster", "gpu", "sys")
_SHARED = ("shared", "shared::cta", "shared::cluster")
_L1 = ("L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate")
_L2 = ("L2::evict_normal", "L2::evict_first", "L2::evict_last")
_PREFETCH = ("L2::64B", "L2::128B", "L2::256B")

_LD_ORDERS = ("relaxed", "acquire")
_ST_ORDERS = ("relaxed", "release")
_LD_COP = ("ca", "cg", "cs", "lu", "cv")
_ST_COP = ("wb", "cg", "cs", "wt")

_IS_MMIO: Condition = {"mmio": ("mmio",)}
_IS_NC: Condition = {"nc": ("nc",)}
_IS_VOLATILE: Condition = {"sem": ("volatile",)}
_IS_VECTOR: Condition = {"vec": ("v2", "v4", "v8")}
_IS_SHARED: Condition = {"space": _SHARED}
_HAS_POLICY: Condition = {"cache_hint": ("L2::cache_hint",)}
# A generic address (no state space) may point to global memory, and so it takes what global memory takes.
_GLOBAL: Condition = {"space": (None, "global")}

_MMIO = Slot("mmio", ".mmio qualifier", ("mmio",))
_SCOPE = Slot("scope", "scope", _SCOPES)
_EVICT_L1 = Slot("l1", "L1 eviction priority", _L1)
_EVICT_L2 = Slot("l2", "L2 eviction priority", _L2)
_HINT = Slot("cache_hint", "cache hint", ("L2::cache_hint",))
_VEC = Slot("vec", "vector length", ("v2", "v4", "v8"))
# Values of every other format travel as bits ("Notes" of 9.7.9.8 and 9.7.9.11).
_AS_BITS = {
    "f16": "b16", "bf16": "b16", "f16x2": "b32", "bf16x2": "b32", "tf32": "b32", "f32x2": "b64",
    "e4m3": "b8", "e5m2": "b8", "e4m3x2": "b16", "e5m2x2": "b16",
}  # fmt: skip
_TYPE = Slot("type", "type", _TYPES, mandatory=True, instead=_AS_BITS)

_QUANTITIES = (
    Quantity("vector", "number of elements", {"vec": _VECTOR}),
    Quantity("element_bits", "element size in bits", {"type": _BITS}),
    Quantity("access_bits", "access size in bits", {"vec": _VECTOR, "type": _BITS}),
)

_POLICY = OperandSyntax("cache-policy", "registers", "read", when=_HAS_POLICY, constants=ANY)


def _rules(orders: tuple[str, ...], cop: tuple[str, ...]) -> tuple[Requires, ...]:
    """What ld and st share. `orders`: the two memory orders that synchronise; `cop`: the cache operators."""
    synchronises: Condition = {"sem": orders}
    synchronisable = (None, "global", *_SHARED)
    named = " or ".join(f".{order}" for order in orders)
    return (
        Requires(
            _IS_MMIO, {"sem": ("relaxed",), "scope": ("sys",)}, ".mmio goes with .relaxed at .sys scope"
        ),
        Requires(_IS_MMIO, _GLOBAL, ".mmio reaches global memory only"),
        Requires(_IS_MMIO, {"vec": (None,)}, ".mmio accesses are scalar"),
        Requires(
            _IS_MMIO, {"l1": (None,), "l2": (None,), "cache_hint": (None,)}, ".mmio takes no cache qualifier"
        ),
        Requires(synchronises, {"scope": _SCOPES}, f"{named} synchronises with the threads of a scope"),
        Requires({"sem": (None, "weak", "volatile")}, {"scope": (None,)}, f"a scope belongs to {named}"),
        Requires(synchronises, {"space": synchronisable}, f"{named} is for global and shared memory"),
        Requires(synchronises, {"cop": (None,)}, "cache operators are for weak accesses"),
        Requires(
            _IS_VOLATILE,
            {"space": (*synchronisable, "local")},
            ".volatile is for global, shared and local memory",
        ),
        Requires(_IS_VOLATILE, {"cop": (None,)}, "cache operators are for weak accesses"),
        Requires(
            _IS_VOLATILE,
            {"l1": (None,), "l2": (None,), "cache_hint": (None,)},
            ".volatile takes no eviction priority and no cache policy",
        ),
        Requires(
            {"cop": cop},
            {"l1": (None,), "l2": (None,)},
            "a cache operator and an eviction priority exclude each other",
        ),
        Requires({"l1": _L1}, _GLOBAL, "eviction priorities are for global memory"),
        Requires(_HAS_POLICY, _GLOBAL, "cache policies are for global memory"),
        Requires({"vec": ("v8",)}, {"type": _WORDS}, ".v8 is for 32-bit types"),
        Requires(_IS_VECTOR, {"type": _AT_MOST_64}, "vectors have elements of at most 64 bits"),
        Requires({"access_bits": (256,)}, _GLOBAL, "256-bit accesses are for global memory"),
        Requires(
            {"l2": _L2},
            {"access_bits": (256,)},
            "L2 eviction priorities go with .v8 of a 32-bit type or .v4 of a 64-bit type",
        ),
    )


def _availability(orders: tuple[str, ...], cop: tuple[str, ...]) -> tuple[Since, ...]:
    """The "PTX ISA Notes" and "Target ISA Notes" that ld and st share."""
    return (
        Since(ALWAYS, (1, 0)),
        Since(_IS_VOLATILE, (1, 1), what=".volatile"),
        Since({"space": (None,)}, (2, 0), Targets(20), "generic addressing"),
        Since({"cop": cop}, (2, 0), Targets(20), "cache operators"),
        Since({"sem": ("weak", *orders)}, (6, 0), Targets(70), "memory orders"),
        Since({"l1": _L1}, (7, 4), Targets(70), "L1 eviction priorities"),
        Since(_HAS_POLICY, (7, 4), Targets(80), "cache policies"),
        Since({"scope": ("cluster",)}, (7, 8), Targets(90), "the cluster scope"),
        Since({"space": ("shared::cta",)}, (7, 8), Targets(30), ".shared::cta"),
        Since({"space": ("shared::cluster",)}, (7, 8), Targets(90), ".shared::cluster"),
        Since(_IS_MMIO, (8, 2), Targets(70), ".mmio"),
        Since({"type": ("b128",)}, (8, 3), Targets(70), "128-bit types"),
        Since({"type": ("b128",), "scope": ("sys",)}, (8, 4), Targets(70), "128-bit types at .sys scope"),
        Since({"access_bits": (256,)}, (8, 8), Targets(100), "256-bit accesses"),
        Since({"sem": ("volatile",), "space": ("local",)}, (9, 1), what=".volatile with .local"),
    )


LD = Instruction(
    mnemonic="ld",
    section="9.7.9.8",
    summary="load from memory into registers",
    slots=(
        _MMIO,
        Slot("sem", "memory order", ("weak", "volatile", *_LD_ORDERS)),
        _SCOPE,
        Slot(
            "space",
            "state space",
            ("global", *_SHARED, "local", "const", "param", "param::entry", "param::func"),
        ),
        Slot("cop", "cache operator", _LD_COP),
        Slot("nc", ".nc qualifier", ("nc",)),
        _EVICT_L1,
        _EVICT_L2,
        _HINT,
        Slot("prefetch", "L2 prefetch size", _PREFETCH),
        _VEC,
        _TYPE,
    ),
    operands=(
        OperandSyntax(
            "d",
            "registers",
            "written",
            "vector",
            "element_bits",
            braced=_IS_VECTOR,
            wider=ALWAYS,
            gaps={"access_bits": (256,)},
        ),
        OperandSyntax("a", "address", "read", narrow=_IS_SHARED),
        _POLICY,
    ),
    quantities=_QUANTITIES,
    rules=(
        *_rules(_LD_ORDERS, _LD_COP),
        Requires(_IS_MMIO, {"prefetch": (None,)}, ".mmio takes no cache qualifier"),
        Requires({"prefetch": _PREFETCH}, _GLOBAL, "prefetching is for global memory"),
        Requires(_IS_NC, {"space": ("global",)}, "the non-coherent cache holds global memory", "9.7.9.9"),
        Requires(_IS_NC, {"sem": (None,)}, "non-coherent loads have no memory order", "9.7.9.9"),
        Requires(
            _IS_NC,
            {"cop": (None, "ca", "cg", "cs")},
            "non-coherent loads have these cache operators",
            "9.7.9.9",
        ),
    ),
    availability=(
        *_availability(_LD_ORDERS, _LD_COP),
        Since({"space": ("param::entry", "param::func")}, (8, 3), what="sub-qualifiers of .param"),
        Since(_IS_NC, (3, 1), Targets(32), ".nc"),
        Since({"prefetch": ("L2::64B", "L2::128B")}, (7, 4), Targets(75), "prefetch sizes"),
        Since({"prefetch": ("L2::256B",)}, (7, 4), Targets(80), "the prefetch size of 256 bytes"),
    ),
    subsections=((_IS_NC, "9.7.9.9"),),
)

ST = Instruction(
    mnemonic="st",
    section="9.7.9.11",
    summary="store registers to memory",
    slots=(
        _MMIO,
        Slot("sem", "memory order", ("weak", "volatile", *_ST_ORDERS)),
        _SCOPE,
        Slot("space", "state space", ("global", *_SHARED, "local", "param", "param::func")),
        Slot("cop", "cache operator", _ST_COP),
        _EVICT_L1,
        _EVICT_L2,
        _HINT,
        _VEC,
        _TYPE,
    ),
    operands=(
        OperandSyntax("a", "address", "written", narrow=_IS_SHARED),
        OperandSyntax(
            "b",
            "registers",
            "read",
            "vector",
            "element_bits",
            braced=_IS_VECTOR,
            wider=ALWAYS,
            gaps={"access_bits": (256,)},
            constants=ANY,
            real={"type": ("f32", "f64")},
        ),
        _POLICY,
    ),
    quantities=_QUANTITIES,
    rules=_rules(_ST_ORDERS, _ST_COP),
    availability=(
        *_availability(_ST_ORDERS, _ST_COP),
        Since({"space": ("param::func",)}, (8, 3), what="sub-qualifiers of .param"),
    ),
)

INSTRUCTIONS = (LD, ST)
