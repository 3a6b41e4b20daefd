"""ldmatrix, stmatrix and movmatrix (PTX ISA 9.7.14.5.15 to 9.7.14.5.17)."""

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

_COUNT: dict[Value, int] = {"x1": 1, "x2": 2, "x4": 4}
# A 16x16 matrix of bytes takes two registers of each lane, every other matrix one.
_PER_MATRIX: dict[Value, int] = {"m8n8": 1, "m8n16": 1, "m16n8": 1, "m16n16": 2}
_PACKED = ("b6x16_p32", "b4x16_p64")

_BLACKWELL = (100, 110, 120)
_WITH_BYTES = Targets(families=_BLACKWELL)
# As ptxas 13.5 has it; the ISA up to 9.1 does not know the form.
_WITH_S4 = Targets(families=_BLACKWELL, exact=("sm_90a",))

_SYNC = Slot("sync", ".sync qualifier", ("sync",), mandatory=True)
_ALIGNED = Slot("aligned", ".aligned qualifier", ("aligned",), mandatory=True)
_NUM = Slot("num", "number of matrices", ("x1", "x2", "x4"), mandatory=True)
_TRANS = Slot("trans", ".trans qualifier", ("trans",))
# Only the executing CTA's own shared memory is reached, so there is no .shared::cluster.
_SPACE = Slot("space", "state space", ("shared", "shared::cta"))
_IS_SHARED: Condition = {"space": _SPACE.tokens}

_QUANTITIES = (
    Quantity("matrices", "number of matrices", {"num": _COUNT}),
    Quantity("registers", "number of registers per lane", {"num": _COUNT, "shape": _PER_MATRIX}),
)

LDMATRIX = Instruction(
    mnemonic="ldmatrix",
    section="9.7.14.5.15",
    summary="load matrices from shared memory into the registers of a warp",
    slots=(
        _SYNC,
        _ALIGNED,
        Slot("shape", "matrix shape", ("m8n8", "m16n16", "m8n16"), mandatory=True),
        _NUM,
        _TRANS,
        _SPACE,
        Slot("type", "element type", ("b16", "b8", "b8x16", "s8"), mandatory=True),
        Slot("source", "format in shared memory", (*_PACKED, "s4")),
    ),
    operands=(
        OperandSyntax("r", "registers", "written", "registers", 32, braced=ALWAYS),
        OperandSyntax("p", "address", "read", narrow=_IS_SHARED),
    ),
    quantities=_QUANTITIES,
    rules=(
        Requires({"shape": ("m8n8",)}, {"type": ("b16",)}, "8x8 matrices have 16-bit elements"),
        Requires({"shape": ("m16n16",)}, {"type": ("b8", "b8x16")}, "16x16 matrices have 8-bit elements"),
        Requires({"shape": ("m8n16",)}, {"type": ("b8x16", "s8")}, "8x16 matrices are unpacked to bytes"),
        Requires({"shape": ("m16n16",)}, {"trans": ("trans",)}, "16x16 matrices are only loaded transposed"),
        Requires({"shape": ("m8n16",)}, {"trans": (None,)}, "8x16 matrices are never transposed"),
        Requires({"shape": ("m16n16",)}, {"num": ("x1", "x2")}, "a warp addresses at most 32 rows"),
        Requires({"type": ("b8x16",)}, {"source": _PACKED}, ".b8x16 unpacks 4-bit or 6-bit elements"),
        Requires({"type": ("s8",)}, {"source": ("s4",)}, ".s8 extends .s4"),
        Requires({"type": ("b16", "b8")}, {"source": (None,)}, ".b16 and .b8 elements are loaded unchanged"),
    ),
    availability=(
        Since(ALWAYS, (6, 5), Targets(75), "ldmatrix"),
        Since({"space": ("shared::cta",)}, (7, 8), what=".shared::cta"),
        Since({"type": ("b8", "b8x16")}, (8, 6), _WITH_BYTES, "matrices of 8-bit elements"),
        Since({"type": ("s8",)}, (9, 4), _WITH_S4, "extending .s4 to .s8"),
    ),
)

STMATRIX = Instruction(
    mnemonic="stmatrix",
    section="9.7.14.5.16",
    summary="store matrices from the registers of a warp to shared memory",
    slots=(
        _SYNC,
        _ALIGNED,
        Slot("shape", "matrix shape", ("m8n8", "m16n8"), mandatory=True),
        _NUM,
        _TRANS,
        _SPACE,
        Slot("type", "element type", ("b16", "b8"), mandatory=True),
    ),
    operands=(
        OperandSyntax("p", "address", "written", narrow=_IS_SHARED),
        OperandSyntax("r", "registers", "read", "registers", 32, braced=ALWAYS),
    ),
    quantities=_QUANTITIES,
    rules=(
        Requires({"shape": ("m8n8",)}, {"type": ("b16",)}, "8x8 matrices have 16-bit elements"),
        Requires({"shape": ("m16n8",)}, {"type": ("b8",)}, "16x8 matrices have 8-bit elements"),
        Requires({"shape": ("m16n8",)}, {"trans": ("trans",)}, "16x8 matrices are only stored transposed"),
    ),
    availability=(
        Since(ALWAYS, (7, 8), Targets(90), "stmatrix"),
        Since({"space": ("shared::cta",)}, (7, 8), what=".shared::cta"),
        Since({"type": ("b8",)}, (8, 6), _WITH_BYTES, "matrices of 8-bit elements"),
    ),
)

MOVMATRIX = Instruction(
    mnemonic="movmatrix",
    section="9.7.14.5.17",
    summary="transpose a matrix in the registers of a warp",
    slots=(
        _SYNC,
        _ALIGNED,
        Slot("shape", "matrix shape", ("m8n8",), mandatory=True),
        Slot("trans", ".trans qualifier", ("trans",), mandatory=True),
        Slot("type", "element type", ("b16",), mandatory=True),
    ),
    operands=(
        OperandSyntax("d", "registers", "written", bits=32),
        OperandSyntax("a", "registers", "read", bits=32),
    ),
    availability=(Since(ALWAYS, (7, 8), Targets(75), "movmatrix"),),
)

INSTRUCTIONS = (LDMATRIX, STMATRIX, MOVMATRIX)
