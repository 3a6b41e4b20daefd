"""Exchange between the threads of a warp (PTX ISA 9.7.9.6, 9.7.13.9 to .12, 9.7.13.14)."""

from __future__ import annotations

from tileproof.contracts.architectures import Targets
from tileproof.contracts.parts import (
    MEMBERMASK,
    TYPE_BITS,
    flag,
    predicate,
    read,
    set_predicate,
    types,
    written,
)
from tileproof.contracts.syntax import ALWAYS, Condition, Instruction, Requires, Since, Slot

_ALL: Condition = {"mode": ("all",)}
_ANY: Condition = {"mode": ("any",)}
_BALLOT: Condition = {"mode": ("ballot",)}
_DECISION: Condition = {"mode": ("all", "any", "uni")}

SHFL = Instruction(
    mnemonic="shfl.sync",
    section="9.7.9.6",
    summary="read a register of another thread of the warp",
    slots=(Slot("mode", "mode", ("up", "down", "bfly", "idx"), mandatory=True), types("b32")),
    operands=(
        written("d", 32, second="optional"),
        read("a", 32),
        read("b", 32),
        read("c", 32),
        MEMBERMASK,
    ),
    availability=(Since(ALWAYS, (6, 0), Targets(30)),),
)

VOTE = Instruction(
    mnemonic="vote.sync",
    section="9.7.13.9",
    summary="combine a predicate of the threads of the warp",
    slots=(
        Slot("mode", "mode", ("all", "any", "uni", "ballot"), mandatory=True),
        types("pred", "b32"),
    ),
    operands=(
        set_predicate("d", when=_DECISION),
        written("d", 32, when=_BALLOT),
        predicate("a", negatable=True),
        MEMBERMASK,
    ),
    rules=(
        Requires(_DECISION, {"type": ("pred",)}, "a vote gives a predicate"),
        Requires(_BALLOT, {"type": ("b32",)}, "a ballot has a bit for each thread"),
    ),
    availability=(Since(ALWAYS, (6, 0), Targets(30)),),
)

MATCH = Instruction(
    mnemonic="match",
    section="9.7.13.10",
    summary="find the threads of the warp that have the same value",
    slots=(Slot("mode", "mode", ("any", "all"), mandatory=True), flag("sync"), types("b32", "b64")),
    operands=(
        written("d", 32, when=_ANY),
        written("d", 32, when=_ALL, sink=True, second="optional"),
        read("a"),
        MEMBERMASK,
    ),
    quantities=(TYPE_BITS,),
    availability=(Since(ALWAYS, (6, 0), Targets(70)),),
)

ACTIVEMASK = Instruction(
    mnemonic="activemask",
    section="9.7.13.11",
    summary="find the active threads of the warp",
    slots=(types("b32"),),
    operands=(written("d", 32),),
    availability=(Since(ALWAYS, (6, 2), Targets(30)),),
)

REDUX = Instruction(
    mnemonic="redux.sync",
    section="9.7.13.12",
    summary="reduce a value over the threads of the warp",
    slots=(
        Slot("op", "operation", ("add", "min", "max", "and", "or", "xor"), mandatory=True),
        flag("abs", optional=True),
        flag("NaN", optional=True),
        types("u32", "s32", "b32", "f32"),
    ),
    operands=(written("dst", 32), read("src", 32, real={"type": ("f32",)}), MEMBERMASK),
    rules=(
        Requires({"op": ("add",)}, {"type": ("u32", "s32")}, "integers are added"),
        Requires({"op": ("min", "max")}, {"type": ("u32", "s32", "f32")}, "numbers are compared"),
        Requires({"op": ("and", "or", "xor")}, {"type": ("b32",)}, "bit operations are for .b32"),
        Requires({"abs": ("abs",)}, {"type": ("f32",)}, ".abs is for .f32"),
        Requires({"NaN": ("NaN",)}, {"type": ("f32",)}, ".NaN is for .f32"),
    ),
    availability=(
        Since(ALWAYS, (7, 0), Targets(80)),
        Since({"type": ("f32",)}, (8, 6), Targets(families=(100,)), ".f32"),
    ),
)

ELECT = Instruction(
    mnemonic="elect.sync",
    section="9.7.13.14",
    summary="elect one thread of the warp",
    slots=(),
    operands=(written("d", 32, sink=True, second="required"), MEMBERMASK),
    availability=(Since(ALWAYS, (8, 0), Targets(90)),),
)

INSTRUCTIONS = (SHFL, VOTE, MATCH, ACTIVEMASK, REDUX, ELECT)
