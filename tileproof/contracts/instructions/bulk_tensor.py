"""Bulk copies through a tensor map (PTX ISA 9.7.9.27.1), and changes to a tensor map (9.7.9.28)."""

from __future__ import annotations

from itertools import product

from tileproof.contracts.architectures import Targets
from tileproof.contracts.instructions.bulk import (
    BARRIER,
    BULK_GROUP,
    CACHE_HINT,
    FROM_GLOBAL,
    HAS_MBARRIER,
    HOPPER,
    LEVEL,
    MBARRIER,
    POLICY,
    REDUCTIONS,
)
from tileproof.contracts.instructions.tcgen05 import CTA_GROUP, DATACENTER_BLACKWELL
from tileproof.contracts.syntax import (
    ALWAYS,
    ANY,
    Access,
    Condition,
    Instruction,
    OperandSyntax,
    Quantity,
    Requires,
    Since,
    Slot,
    Value,
)

_RANKS: dict[Value, int] = {f"{rank}d": rank for rank in range(1, 6)}
_DIM = Slot("dim", "number of dimensions", tuple(str(token) for token in _RANKS), mandatory=True)

_HALO = ("im2col::w", "im2col::w::128")
_IM2COL = ("im2col", *_HALO)
_FOUR_ROWS = ("tile::gather4", "tile::scatter4")
_LOADS = ("tile", "tile::gather4", *_IM2COL)
_STORES = ("tile", "tile::scatter4", "im2col_no_offs")

_TO_SHARED: Condition = {"dst": ("shared::cta", "shared::cluster")}
_TO_GLOBAL: Condition = {"dst": ("global",)}
_MULTICAST: Condition = {"multicast": ("multicast::cluster",)}
_CTA_GROUP = Slot("cta_group", "CTA group", CTA_GROUP.tokens)
_HAS_CTA_GROUP: Condition = {"cta_group": CTA_GROUP.tokens}


def _mode(tokens: tuple[str, ...]) -> Slot:
    return Slot("mode", "load mode", tokens)


def _quantities(modes: tuple[str, ...]) -> tuple[Quantity, ...]:
    """Of the four rows of a gather or scatter, one column and four rows are given."""
    coordinates: dict[tuple[Value, ...], int] = {}
    offsets: dict[tuple[Value, ...], int] = {}
    for (dim, rank), mode in product(_RANKS.items(), (None, *modes)):
        coordinates[dim, mode] = 5 if mode in _FOUR_ROWS else rank
        offsets[dim, mode] = 2 if mode in _HALO else max(rank - 2, 0)
    return (
        Quantity("rank", "number of dimensions", {"dim": _RANKS}),
        Quantity("coordinates", "number of coordinates", {}, {("dim", "mode"): coordinates}),
        Quantity("offsets", "number of im2col offsets", {}, {("dim", "mode"): offsets}),
    )


def _tensor(access: Access, when: Condition = ALWAYS) -> OperandSyntax:
    """`[tensorMap, tensorCoords]`: a generic address and coordinates, the innermost dimension first."""
    return OperandSyntax("tensor", "tensor", access, "coordinates", 32, when=when)


_OFFSETS = OperandSyntax(
    "im2colInfo",
    "registers",
    "read",
    "offsets",
    16,
    braced=ALWAYS,
    when={"mode": _IM2COL},
    constants=ANY,
)


def _mode_rules(modes: tuple[str, ...]) -> tuple[Requires, ...]:
    rules = []
    if four := tuple(mode for mode in modes if mode in _FOUR_ROWS):
        rules.append(
            Requires({"mode": four}, {"dim": ("2d",)}, "rows are gathered and scattered in 2 dimensions")
        )
    unrolled = tuple(mode for mode in modes if mode.startswith("im2col"))
    rules.append(
        Requires({"mode": unrolled}, {"dim": ("3d", "4d", "5d")}, "im2col has at least 3 dimensions")
    )
    return tuple(rules)


_CP = Instruction(
    mnemonic="cp.async.bulk.tensor",
    section="9.7.9.27.1.2",
    summary="copy a box of a tensor asynchronously between global and shared memory",
    slots=(
        _DIM,
        Slot("dst", "destination space", ("shared::cta", "shared::cluster", "global"), mandatory=True),
        Slot("src", "source space", ("global", "shared::cta"), mandatory=True),
        _mode(tuple(dict.fromkeys((*_LOADS, *_STORES)))),
        Slot("completion", "completion mechanism", (MBARRIER, BULK_GROUP), mandatory=True),
        Slot("multicast", "multicast", ("multicast::cluster",)),
        _CTA_GROUP,
        CACHE_HINT,
    ),
    operands=(
        OperandSyntax("dstMem", "address", "written", when=_TO_SHARED, narrow=ALWAYS),
        _tensor("read", _TO_SHARED),
        _tensor("written", _TO_GLOBAL),
        OperandSyntax("srcMem", "address", "read", when=_TO_GLOBAL, narrow=ALWAYS),
        BARRIER,
        _OFFSETS,
        OperandSyntax("ctaMask", "registers", "read", bits=16, when=_MULTICAST),
        POLICY,
    ),
    quantities=_quantities((*_LOADS, *_STORES)),
    rules=(
        Requires(_TO_GLOBAL, {"src": ("shared::cta",)}, "global memory is written from shared memory"),
        Requires(_TO_SHARED, {"src": ("global",)}, "shared memory is written from global memory"),
        Requires(_TO_SHARED, {"mode": (None, *_LOADS)}, "loads have these modes"),
        Requires(_TO_GLOBAL, {"mode": (None, *_STORES)}, "stores have these modes"),
        *_mode_rules((*_LOADS, *_STORES)),
        Requires(_TO_GLOBAL, {"completion": (BULK_GROUP,)}, "stores complete by bulk async-group"),
        Requires(_TO_SHARED, HAS_MBARRIER, "loads complete by mbarrier"),
        Requires(_MULTICAST, {"dst": ("shared::cluster",)}, "multicast is to .shared::cluster"),
        Requires(_HAS_CTA_GROUP, HAS_MBARRIER, "a CTA group says where the mbarrier is"),
    ),
    availability=(
        Since(ALWAYS, (8, 0), HOPPER, "cp.async.bulk.tensor"),
        Since({"dst": ("shared::cta",)}, (8, 6), what=".shared::cta as the destination"),
        Since(
            {"mode": ("tile::gather4", "im2col::w")}, (8, 6), Targets(100), ".tile::gather4 and .im2col::w"
        ),
        Since(
            {"mode": ("tile::gather4", "im2col::w"), "dst": ("shared::cluster",)},
            (8, 6),
            DATACENTER_BLACKWELL,
            ".tile::gather4 and .im2col::w to .shared::cluster",
        ),
        Since({"mode": ("im2col::w::128",)}, (8, 6), DATACENTER_BLACKWELL, ".im2col::w::128"),
        Since({"mode": ("tile::scatter4",)}, (8, 6), DATACENTER_BLACKWELL, ".tile::scatter4"),
        Since(_HAS_CTA_GROUP, (8, 6), DATACENTER_BLACKWELL, ".cta_group"),
    ),
)
_REDUCE_MODES = ("tile", "im2col_no_offs")
_REDUCE = Instruction(
    mnemonic="cp.reduce.async.bulk.tensor",
    section="9.7.9.27.1.3",
    summary="reduce shared memory asynchronously into a box of a tensor in global memory",
    slots=(
        _DIM,
        Slot("dst", "destination space", ("global",), mandatory=True),
        Slot("src", "source space", ("shared::cta",), mandatory=True),
        Slot("op", "reduction", REDUCTIONS, mandatory=True),
        _mode(_REDUCE_MODES),
        Slot("completion", "completion mechanism", (BULK_GROUP,), mandatory=True),
        CACHE_HINT,
    ),
    operands=(_tensor("updated"), OperandSyntax("srcMem", "address", "read", narrow=ALWAYS), POLICY),
    quantities=_quantities(_REDUCE_MODES),
    rules=_mode_rules(_REDUCE_MODES),
    availability=(Since(ALWAYS, (8, 0), HOPPER, "cp.reduce.async.bulk.tensor"),),
)
_PREFETCH = Instruction(
    mnemonic="cp.async.bulk.prefetch.tensor",
    section="9.7.9.27.1.4",
    summary="prefetch a box of a tensor in global memory asynchronously",
    slots=(_DIM, LEVEL, FROM_GLOBAL, _mode(_LOADS), CACHE_HINT),
    operands=(_tensor("read"), _OFFSETS, POLICY),
    quantities=_quantities(_LOADS),
    rules=_mode_rules(_LOADS),
    availability=(
        Since(ALWAYS, (8, 0), HOPPER, "cp.async.bulk.prefetch.tensor"),
        Since({"mode": ("tile::gather4",)}, (8, 6), DATACENTER_BLACKWELL, "prefetching with .tile::gather4"),
        Since({"mode": _HALO}, (8, 6), DATACENTER_BLACKWELL, "prefetching with .im2col::w"),
    ),
)

_PER_DIMENSION = ("box_dim", "global_dim", "global_stride", "element_stride")
_CODES = {"elemtype": 16, "interleave_layout": 3, "swizzle_mode": 5, "swizzle_atomicity": 4, "fill_mode": 2}
"""How many codes a field has ("Tensormap new_val validity")."""
_WIDE = ("global_address", "global_stride")
_FIELDS = ("global_address", "rank", *_PER_DIMENSION, *_CODES)
_MAPS_CHANGE = (100, 110, 120)
# Two values of new_val need more than their spelling: .elemtype from 13 on, which sm_90a lacks, and
# .swizzle_mode 4, which of the targets of the ISA only sm_103a has.
_REPLACE = Instruction(
    mnemonic="tensormap.replace",
    section="9.7.9.28",
    summary="change a field of a tensor map",
    slots=(
        Slot("mode", "mode", ("tile",), mandatory=True),
        Slot("field", "field", _FIELDS, mandatory=True),
        Slot("space", "state space", ("global", "shared::cta")),
        Slot("size", "size of the tensor map", ("b1024",), mandatory=True),
        Slot("type", "type", ("b32", "b64"), mandatory=True),
    ),
    operands=(
        OperandSyntax("addr", "address", "updated", narrow={"space": ("shared::cta",)}),
        OperandSyntax("ord", "immediate", "read", when={"field": _PER_DIMENSION}, constants=range(5)),
        OperandSyntax(
            "new_val",
            "registers",
            "read",
            bits="value_bits",
            when={"field": tuple(field for field in _FIELDS if field not in _CODES)},
            constants=ANY,
        ),
        *(
            OperandSyntax(
                "new_val", "immediate", "read", bits=32, when={"field": (field,)}, constants=range(codes)
            )
            for field, codes in _CODES.items()
        ),
    ),
    quantities=(Quantity("value_bits", "bits of the value", {"type": {"b32": 32, "b64": 64}}),),
    rules=(
        Requires({"field": _WIDE}, {"type": ("b64",)}, "addresses and strides have 64 bits"),
        Requires(
            {"field": tuple(field for field in _FIELDS if field not in _WIDE)},
            {"type": ("b32",)},
            "all but addresses and strides have 32 bits",
        ),
    ),
    availability=(
        Since(ALWAYS, (8, 3), Targets(families=_MAPS_CHANGE, exact=("sm_90a",)), "tensormap.replace"),
        Since(
            {"field": ("swizzle_atomicity",)}, (8, 6), Targets(families=_MAPS_CHANGE), ".swizzle_atomicity"
        ),
    ),
)

INSTRUCTIONS = (_CP, _REDUCE, _PREFETCH, _REPLACE)
