"""Bulk copies without a tensor map, and how bulk operations are waited for
(PTX ISA 9.7.9.25.4, 9.7.9.26, 9.7.9.27, 9.7.9.27.2).
"""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.contracts.architectures import Targets
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

HOPPER = Targets(90)
MBARRIER, BULK_GROUP = "mbarrier::complete_tx::bytes", "bulk_group"
CACHE_HINT = Slot("cache_hint", "cache hint", ("L2::cache_hint",))
POLICY = OperandSyntax("cache-policy", "registers", "read", when={"cache_hint": ("L2::cache_hint",)})
HAS_MBARRIER: Condition = {"completion": (MBARRIER,)}
BARRIER = OperandSyntax("mbar", "address", "updated", when=HAS_MBARRIER, narrow=ALWAYS)
LEVEL = Slot("level", "cache level", ("L2",), mandatory=True)
FROM_GLOBAL = Slot("src", "source space", ("global",), mandatory=True)

_FROM_SHARED = Slot("src", "source space", ("shared::cta",), mandatory=True)
_TO_GLOBAL = Slot("dst", "destination space", ("global",), mandatory=True)
_BY_GROUP = Slot("completion", "completion mechanism", (BULK_GROUP,), mandatory=True)
_DESTINATION = OperandSyntax(
    "dstMem", "address", "written", narrow={"dst": ("shared::cta", "shared::cluster")}
)
_SOURCE = OperandSyntax("srcMem", "address", "read", narrow={"src": ("shared::cta",)})
# In bytes; ptxas has a greatest constant too.
_SIZE = OperandSyntax("size", "registers", "read", bits=32, constants=range(0, 1 << 20, 16))
_CP_MASK = Slot("cp_mask", ".cp_mask qualifier", ("cp_mask",))
_HAS_MASK: Condition = {"cp_mask": ("cp_mask",)}
_BYTE_MASK = OperandSyntax("byteMask", "registers", "read", bits=16, when=_HAS_MASK)
_MULTICAST: Condition = {"multicast": ("multicast::cluster",)}

_CP = Instruction(
    mnemonic="cp.async.bulk",
    section="9.7.9.25.4.1",
    summary="copy bytes asynchronously between global and shared memory",
    slots=(
        Slot("dst", "destination space", ("shared::cta", "shared::cluster", "global"), mandatory=True),
        Slot("src", "source space", ("global", "shared::cta"), mandatory=True),
        Slot("completion", "completion mechanism", (MBARRIER, BULK_GROUP), mandatory=True),
        Slot("multicast", "multicast", ("multicast::cluster",)),
        CACHE_HINT,
        _CP_MASK,
    ),
    operands=(
        _DESTINATION,
        _SOURCE,
        _SIZE,
        BARRIER,
        OperandSyntax("ctaMask", "registers", "read", bits=16, when=_MULTICAST, instead=("immediate",)),
        POLICY,
        _BYTE_MASK,
    ),
    rules=(
        Requires({"dst": ("global",)}, {"src": ("shared::cta",)}, "global memory is written from shared"),
        Requires(
            {"dst": ("shared::cta",)}, {"src": ("global",)}, ".shared::cta is written from global memory"
        ),
        Requires({"dst": ("global",)}, {"completion": (BULK_GROUP,)}, "stores complete by bulk async-group"),
        Requires(
            {"dst": ("shared::cta", "shared::cluster")},
            HAS_MBARRIER,
            "shared memory is written with an mbarrier",
        ),
        Requires(
            _MULTICAST,
            {"dst": ("shared::cluster",), "src": ("global",)},
            "multicast is from global to .shared::cluster",
        ),
        Requires(
            {"dst": ("shared::cluster",), "src": ("shared::cta",)},
            {"cache_hint": (None,)},
            "cache policies are for global memory",
        ),
        Requires(_HAS_MASK, {"dst": ("global",)}, "bytes are masked on the way to global memory"),
    ),
    availability=(
        Since(ALWAYS, (8, 0), HOPPER, "cp.async.bulk"),
        Since({"dst": ("shared::cta",)}, (8, 6), what=".shared::cta as the destination"),
        Since(_HAS_MASK, (8, 6), Targets(100), ".cp_mask"),
    ),
)
_MULTIMEM_CP = Instruction(
    mnemonic="multimem.cp.async.bulk",
    section="9.7.9.26",
    summary="copy bytes asynchronously from shared memory to a multimem address",
    slots=(_TO_GLOBAL, _FROM_SHARED, _BY_GROUP, _CP_MASK),
    operands=(OperandSyntax("dstMem", "address", "written"), _SOURCE, _SIZE, _BYTE_MASK),
    availability=(
        Since(ALWAYS, (9, 1), HOPPER, "multimem.cp.async.bulk"),
        Since(_HAS_MASK, (9, 1), Targets(100), ".cp_mask"),
    ),
)
_PREFETCH = Instruction(
    mnemonic="cp.async.bulk.prefetch",
    section="9.7.9.25.4.3",
    summary="prefetch bytes of global memory asynchronously",
    slots=(LEVEL, FROM_GLOBAL, CACHE_HINT),
    operands=(OperandSyntax("srcMem", "address", "read"), _SIZE, POLICY),
    availability=(Since(ALWAYS, (8, 0), HOPPER, "cp.async.bulk.prefetch"),),
)

_BITS: dict[Value, int] = {
    "f16": 16, "bf16": 16, "b32": 32, "u32": 32, "s32": 32, "b64": 64, "u64": 64, "s64": 64, "f32": 32,
    "f64": 64,
}  # fmt: skip
# The table of "Description" in 9.7.9.25.4.2 and 9.7.9.27: operations, types in global memory, and types in
# the shared memory of a cluster.
_REDUCTIONS = (
    (("and", "or", "xor"), ("b32", "b64"), ("b32",)),
    (("add",), ("u32", "s32", "u64", "f32", "f64", "f16", "bf16"), ("u32", "s32", "u64")),
    (("inc", "dec"), ("u32",), ("u32",)),
    (("min", "max"), ("u32", "s32", "u64", "s64", "f16", "bf16"), ("u32", "s32")),
)
REDUCTIONS = tuple(name for names, _, _ in _REDUCTIONS for name in names)
"""The operations of bulk reductions, with and without a tensor map."""

_REDUCTION_SLOTS = (
    Slot("op", "reduction", REDUCTIONS, mandatory=True),
    Slot("noftz", ".noftz qualifier", ("noftz",)),
    Slot("type", "type", tuple(str(token) for token in _BITS), mandatory=True),
)
_ELEMENT_BITS = Quantity("element_bits", "element size in bits", {"type": _BITS})
_NEEDS_NOFTZ = ".add of .f16 and .bf16 has .noftz, and nothing else has"


def _reduction_rules(cluster: bool) -> Iterator[Requires]:
    to_global: Condition = {"dst": ("global",)} if cluster else ALWAYS
    for names, in_global, in_cluster in _REDUCTIONS:
        listed = " and ".join(f".{name}" for name in names)
        yield Requires(
            {**to_global, "op": names}, {"type": in_global}, f"{listed} in global memory is for these types"
        )
        if cluster:
            yield Requires(
                {"dst": ("shared::cluster",), "op": names},
                {"type": in_cluster},
                f"{listed} in shared memory is for these types",
            )
    yield Requires({"noftz": ("noftz",)}, {"op": ("add",)}, _NEEDS_NOFTZ)
    yield Requires({"noftz": ("noftz",)}, {"type": ("f16", "bf16")}, _NEEDS_NOFTZ)
    yield Requires({"op": ("add",), "type": ("f16", "bf16")}, {"noftz": ("noftz",)}, _NEEDS_NOFTZ)


_REDUCE = Instruction(
    mnemonic="cp.reduce.async.bulk",
    section="9.7.9.25.4.2",
    summary="reduce shared memory asynchronously into global memory or that of another CTA",
    slots=(
        Slot("dst", "destination space", ("shared::cluster", "global"), mandatory=True),
        _FROM_SHARED,
        Slot("completion", "completion mechanism", (MBARRIER, BULK_GROUP), mandatory=True),
        CACHE_HINT,
        *_REDUCTION_SLOTS,
    ),
    operands=(
        OperandSyntax("dstMem", "address", "updated", narrow={"dst": ("shared::cluster",)}),
        _SOURCE,
        _SIZE,
        BARRIER,
        POLICY,
    ),
    quantities=(_ELEMENT_BITS,),
    rules=(
        Requires(
            {"dst": ("global",)},
            {"completion": (BULK_GROUP,)},
            "global reductions complete by bulk async-group",
        ),
        Requires(
            {"dst": ("shared::cluster",)}, HAS_MBARRIER, "shared memory is reduced into with an mbarrier"
        ),
        Requires(
            {"dst": ("shared::cluster",)}, {"cache_hint": (None,)}, "cache policies are for global memory"
        ),
        *_reduction_rules(cluster=True),
    ),
    availability=(Since(ALWAYS, (8, 0), HOPPER, "cp.reduce.async.bulk"),),
)
_MULTIMEM_REDUCE = Instruction(
    mnemonic="multimem.cp.reduce.async.bulk",
    section="9.7.9.27",
    summary="reduce shared memory asynchronously into a multimem address",
    slots=(_TO_GLOBAL, _FROM_SHARED, _BY_GROUP, *_REDUCTION_SLOTS),
    operands=(OperandSyntax("dstMem", "address", "updated"), _SOURCE, _SIZE),
    quantities=(_ELEMENT_BITS,),
    rules=tuple(_reduction_rules(cluster=False)),
    availability=(Since(ALWAYS, (9, 1), HOPPER, "multimem.cp.reduce.async.bulk"),),
)

_COMMIT = Instruction(
    mnemonic="cp.async.bulk.commit_group",
    section="9.7.9.27.2.1",
    summary="make a bulk async-group of the bulk operations issued before",
    slots=(),
    operands=(),
    availability=(Since(ALWAYS, (8, 0), HOPPER, "cp.async.bulk.commit_group"),),
)
_WAIT = Instruction(
    mnemonic="cp.async.bulk.wait_group",
    section="9.7.9.27.2.2",
    summary="wait until at most N bulk async-groups are pending",
    slots=(Slot("read", ".read qualifier", ("read",)),),
    operands=(OperandSyntax("N", "immediate", "read"),),
    availability=(Since(ALWAYS, (8, 0), HOPPER, "cp.async.bulk.wait_group"),),
)

INSTRUCTIONS = (_CP, _REDUCE, _PREFETCH, _COMMIT, _WAIT, _MULTIMEM_CP, _MULTIMEM_REDUCE)
