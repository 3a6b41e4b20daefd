"""tcgen05 but for its products: tensor memory is allocated, loaded, stored, copied to, waited for
(PTX ISA 9.7.16.7 to 9.7.16.9, 9.7.16.11, 9.7.16.12).
"""

from __future__ import annotations

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

DATACENTER_BLACKWELL = Targets(families=(100, 110))
"""What "sm_100f, sm_110f or higher in the same family" of the target notes comes to."""

CTA_GROUP = Slot("cta_group", "CTA group", ("cta_group::1", "cta_group::2"), mandatory=True)
CTAS: dict[Value, int] = {"cta_group::1": 1, "cta_group::2": 2}
TENSOR_MEMORY = OperandSyntax("taddr", "tensor address", "read", bits=32)
TCGEN05 = Since(ALWAYS, (8, 6), DATACENTER_BLACKWELL, "tcgen05")

_SYNC = Slot("sync", ".sync qualifier", ("sync",), mandatory=True)
_ALIGNED = Slot("aligned", ".aligned qualifier", ("aligned",), mandatory=True)
_CTAS = Quantity("ctas", "CTAs of the group", {"cta_group": CTAS})
_B32 = Slot("type", "type", ("b32",), mandatory=True)
_COLUMNS = OperandSyntax("nCols", "registers", "read", bits=32, constants=(32, 64, 128, 256, 512))

_ALLOC = Instruction(
    mnemonic="tcgen05.alloc",
    section="9.7.16.7.1",
    summary="allocate columns of tensor memory and write their address to shared memory",
    slots=(CTA_GROUP, _SYNC, _ALIGNED, Slot("space", "state space", ("shared::cta",)), _B32),
    operands=(OperandSyntax("dst", "address", "written", narrow={"space": ("shared::cta",)}), _COLUMNS),
    quantities=(_CTAS,),
    availability=(TCGEN05,),
)
_DEALLOC = Instruction(
    mnemonic="tcgen05.dealloc",
    section="9.7.16.7.1",
    summary="free columns of tensor memory",
    slots=(CTA_GROUP, _SYNC, _ALIGNED, _B32),
    # Here the address stands without brackets.
    operands=(OperandSyntax("taddr", "registers", "read", bits=32), _COLUMNS),
    quantities=(_CTAS,),
    availability=(TCGEN05,),
)
_RELINQUISH = Instruction(
    mnemonic="tcgen05.relinquish_alloc_permit",
    section="9.7.16.7.1",
    summary="give up the right of the CTA to allocate tensor memory",
    slots=(CTA_GROUP, _SYNC, _ALIGNED),
    operands=(),
    quantities=(_CTAS,),
    availability=(TCGEN05,),
)

# Lanes of tensor memory that one access touches, 32-bit columns of its unit, and registers for the unit. The
# shape .16x32bx2 is two accesses of 16 lanes.
_LANES: dict[Value, int] = {"16x64b": 16, "16x128b": 16, "16x256b": 16, "32x32b": 32, "16x32bx2": 16}
_UNIT_COLUMNS: dict[Value, int] = {"16x64b": 2, "16x128b": 4, "16x256b": 8, "32x32b": 1, "16x32bx2": 1}
_UNIT_REGISTERS: dict[Value, int] = {"16x64b": 1, "16x128b": 2, "16x256b": 4, "32x32b": 1, "16x32bx2": 1}
_REPEATS: dict[Value, int] = {f"x{2**power}": 2**power for power in range(8)}
_HAS_TWO_HALVES: Condition = {"shape": ("16x32bx2",)}
_IS_TOO_LONG = "an access takes at most 128 registers"


def _access_slots(packing: Slot) -> tuple[Slot, ...]:
    return (
        _SYNC,
        _ALIGNED,
        Slot("shape", "data movement shape", tuple(str(shape) for shape in _LANES), mandatory=True),
        Slot("num", "repeat factor", tuple(str(token) for token in _REPEATS), mandatory=True),
        packing,
        _B32,
    )


def _access_quantities(packing: str) -> tuple[Quantity, ...]:
    """With packing, a register holds the 16-bit elements of two columns (9.7.16.8.2)."""
    packs: dict[Value, int] = {None: 1, f"{packing}::16b": 2}
    return (
        Quantity("repeats", "repeat factor", {"num": _REPEATS}),
        Quantity("lanes", "lanes of an access", {"shape": _LANES}),
        Quantity("columns", "columns", {"shape": _UNIT_COLUMNS, "num": _REPEATS, packing: packs}),
        Quantity("registers", "number of registers", {"shape": _UNIT_REGISTERS, "num": _REPEATS}),
    )


_ACCESS_RULES = (
    Requires({"shape": ("16x128b",)}, {"num": tuple(f"x{2**p}" for p in range(7))}, _IS_TOO_LONG),
    Requires({"shape": ("16x256b",)}, {"num": tuple(f"x{2**p}" for p in range(6))}, _IS_TOO_LONG),
)
_SPLIT = OperandSyntax("immHalfSplitoff", "immediate", "read", when=_HAS_TWO_HALVES)

_LD = Instruction(
    mnemonic="tcgen05.ld",
    section="9.7.16.8.3",
    summary="load from tensor memory into the registers of a warp",
    slots=_access_slots(Slot("pack", "packing", ("pack::16b",))),
    operands=(
        OperandSyntax("r", "registers", "written", "registers", 32, braced=ALWAYS),
        TENSOR_MEMORY,
        _SPLIT,
    ),
    quantities=_access_quantities("pack"),
    rules=_ACCESS_RULES,
    availability=(TCGEN05,),
)
_LD_RED = Instruction(
    mnemonic="tcgen05.ld.red",
    section="9.7.16.8.3",
    summary="load from tensor memory into the registers of a warp and reduce each lane",
    slots=(
        _SYNC,
        _ALIGNED,
        Slot("shape", "data movement shape", ("32x32b", "16x32bx2"), mandatory=True),
        # "When .red is specified, .num must be at least .x2."
        Slot(
            "num", "repeat factor", tuple(str(token) for token in _REPEATS if token != "x1"), mandatory=True
        ),
        Slot("op", "reduction", ("min", "max"), mandatory=True),
        Slot("abs", ".abs qualifier", ("abs",)),
        Slot("nan", ".NaN qualifier", ("NaN",)),
        Slot("type", "type", ("f32", "u32", "s32"), mandatory=True),
    ),
    operands=(
        OperandSyntax("r", "registers", "written", "registers", 32, braced=ALWAYS),
        OperandSyntax("redval", "registers", "written", bits=32),
        TENSOR_MEMORY,
        _SPLIT,
    ),
    quantities=(
        Quantity("repeats", "repeat factor", {"num": _REPEATS}),
        Quantity("lanes", "lanes of an access", {"shape": _LANES}),
        Quantity("columns", "columns", {"num": _REPEATS}),
        Quantity("registers", "number of registers", {"num": _REPEATS}),
    ),
    rules=(
        Requires({"abs": ("abs",)}, {"type": ("f32",)}, ".abs is for .f32"),
        Requires({"nan": ("NaN",)}, {"type": ("f32",)}, ".NaN is for .f32"),
    ),
    availability=(TCGEN05, Since(ALWAYS, (8, 8), Targets(families=(103, 110)), "tcgen05.ld.red")),
)
_ST = Instruction(
    mnemonic="tcgen05.st",
    section="9.7.16.8.4",
    summary="store the registers of a warp to tensor memory",
    slots=_access_slots(Slot("unpack", "unpacking", ("unpack::16b",))),
    operands=(
        OperandSyntax("taddr", "tensor address", "written", bits=32),
        _SPLIT,
        OperandSyntax("r", "registers", "read", "registers", 32, braced=ALWAYS),
    ),
    quantities=_access_quantities("unpack"),
    rules=_ACCESS_RULES,
    availability=(TCGEN05,),
)

_CP_ROWS: dict[Value, int] = {"128x256b": 128, "4x256b": 4, "128x128b": 128, "64x128b": 64, "32x128b": 32}
_CP_BITS: dict[Value, int] = {"128x256b": 256, "4x256b": 256, "128x128b": 128, "64x128b": 128, "32x128b": 128}
_CP = Instruction(
    mnemonic="tcgen05.cp",
    section="9.7.16.9.2",
    summary="copy from shared memory to tensor memory",
    slots=(
        CTA_GROUP,
        Slot("shape", "data movement shape", tuple(str(shape) for shape in _CP_ROWS), mandatory=True),
        Slot("multicast", "multicast", ("warpx2::02_13", "warpx2::01_23", "warpx4")),
        Slot("dst_fmt", "destination format", ("b8x16",)),
        Slot("src_fmt", "source format", ("b6x16_p32", "b4x16_p64")),
    ),
    operands=(
        OperandSyntax("taddr", "tensor address", "written", bits=32),
        OperandSyntax("s-desc", "descriptor", "read"),
    ),
    quantities=(
        _CTAS,
        Quantity("rows", "rows", {"shape": _CP_ROWS}),
        Quantity("row_bits", "bits of a row", {"shape": _CP_BITS}),
    ),
    rules=(
        Requires(
            {"shape": ("64x128b",)},
            {"multicast": ("warpx2::02_13", "warpx2::01_23")},
            "two pairs of warps receive a half each",
        ),
        Requires({"shape": ("32x128b",)}, {"multicast": ("warpx4",)}, "all four warps receive the data"),
        Requires(
            {"shape": ("128x256b", "4x256b", "128x128b")},
            {"multicast": (None,)},
            "this shape has no multicast",
        ),
        Requires(
            {"dst_fmt": ("b8x16",)}, {"src_fmt": ("b6x16_p32", "b4x16_p64")}, "both formats go together"
        ),
        Requires({"dst_fmt": (None,)}, {"src_fmt": (None,)}, "both formats go together"),
    ),
    availability=(TCGEN05,),
)
_SHIFT = Instruction(
    mnemonic="tcgen05.shift",
    section="9.7.16.9.3",
    summary="move the rows of a matrix in tensor memory down by one",
    slots=(CTA_GROUP, Slot("direction", "direction", ("down",), mandatory=True)),
    operands=(OperandSyntax("taddr", "tensor address", "updated", bits=32),),
    quantities=(_CTAS,),
    availability=(
        TCGEN05,
        # The ISA up to 9.1 does not know sm_107a; ptxas 13.5 has the instruction there.
        Since(ALWAYS, (8, 6), Targets(exact=("sm_100a", "sm_103a", "sm_107a", "sm_110a")), "tcgen05.shift"),
    ),
)
_COMMIT = Instruction(
    mnemonic="tcgen05.commit",
    section="9.7.16.12.1",
    summary="make an mbarrier track the asynchronous tcgen05 operations issued before",
    slots=(
        CTA_GROUP,
        Slot("completion", "completion mechanism", ("mbarrier::arrive::one",), mandatory=True),
        Slot("space", "state space", ("shared::cluster",)),
        Slot("multicast", "multicast", ("multicast::cluster",)),
        Slot("type", "type", ("b64",), mandatory=True),
    ),
    operands=(
        OperandSyntax("mbar", "address", "updated", narrow={"space": ("shared::cluster",)}),
        OperandSyntax("ctaMask", "registers", "read", bits=16, when={"multicast": ("multicast::cluster",)}),
    ),
    quantities=(_CTAS,),
    availability=(TCGEN05,),
)


def _without_operands(name: str, section: str, summary: str, slots: tuple[Slot, ...] = ()) -> Instruction:
    return Instruction(f"tcgen05.{name}", section, summary, slots, (), availability=(TCGEN05,))


INSTRUCTIONS = (
    _ALLOC,
    _DEALLOC,
    _RELINQUISH,
    _LD,
    _LD_RED,
    _ST,
    _without_operands("wait::ld", "9.7.16.8.5", "wait for the tcgen05.ld of the thread", (_SYNC, _ALIGNED)),
    _without_operands("wait::st", "9.7.16.8.5", "wait for the tcgen05.st of the thread", (_SYNC, _ALIGNED)),
    _CP,
    _SHIFT,
    _without_operands(
        "fence::before_thread_sync",
        "9.7.16.11.1",
        "order the tcgen05 operations before it with execution ordering after it",
    ),
    _without_operands(
        "fence::after_thread_sync",
        "9.7.16.11.1",
        "order the tcgen05 operations after it with execution ordering before it",
    ),
    _COMMIT,
)
