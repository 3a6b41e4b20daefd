"""Barriers of a CTA, of a warp and of a cluster, and what else holds a thread up.

PTX ISA 9.7.13.1 to .3, 9.7.13.13, 9.7.19.2, 9.7.19.5.
"""

from __future__ import annotations

from tileproof.contracts.architectures import Targets
from tileproof.contracts.parts import (
    MEMBERMASK,
    constant,
    flag,
    predicate,
    read,
    set_predicate,
    types,
    written,
)
from tileproof.contracts.syntax import ALWAYS, Condition, Instruction, OperandSyntax, Requires, Since, Slot

_WARPS = range(0, 1 << 31, 32)
_REDUCES: Condition = {"action": ("red",)}
_COUNTS: Condition = {"op": ("popc",)}
_DECIDES: Condition = {"op": ("and", "or")}

_CTA = flag("cta", optional=True)
_ACTION = Slot("action", "action", ("sync", "arrive", "red"), mandatory=True)
_OP = Slot("op", "reduction", ("popc", "and", "or"))
_TYPE = Slot("type", "type", ("u32", "pred"))

_OPERANDS: tuple[OperandSyntax, ...] = (
    written("d", 32, when=_COUNTS),
    set_predicate("p", when=_DECIDES),
    read("a", 32, constants=range(16)),
    read("b", 32, when={"action": ("sync", "red")}, constants=_WARPS, optional=True),
    read("b", 32, when={"action": ("arrive",)}, constants=_WARPS[1:]),
    predicate("c", when=_REDUCES, negatable=True),
)
_RULES = (
    Requires({"action": ("sync", "arrive")}, {"op": (None,), "type": (None,)}, "only .red reduces"),
    Requires(_REDUCES, {"op": _OP.tokens}, ".red reduces by an operation"),
    Requires(_COUNTS, {"type": ("u32",)}, ".popc counts predicates"),
    Requires(_DECIDES, {"type": ("pred",)}, ".and and .or give a predicate"),
)
_HAS_CTA = Since({"cta": ("cta",)}, (7, 8), what=".cta")

BAR = Instruction(
    mnemonic="bar",
    section="9.7.13.1",
    summary="wait at a barrier of the CTA, or arrive there; every thread of a warp together",
    slots=(_CTA, _ACTION, _OP, _TYPE),
    operands=_OPERANDS,
    rules=_RULES,
    availability=(
        Since(ALWAYS, (1, 0)),
        Since({"action": ("arrive", "red")}, (2, 0), Targets(20), ".arrive and .red"),
        _HAS_CTA,
    ),
)

BARRIER = Instruction(
    mnemonic="barrier",
    section="9.7.13.1",
    summary="wait at a barrier of the CTA, or arrive there",
    slots=(_CTA, _ACTION, _OP, flag("aligned", optional=True), _TYPE),
    operands=_OPERANDS,
    rules=_RULES,
    availability=(Since(ALWAYS, (6, 0), Targets(30)), _HAS_CTA),
)

WARP_SYNC = Instruction(
    mnemonic="bar.warp.sync",
    section="9.7.13.2",
    summary="wait for other threads of the warp",
    slots=(),
    operands=(MEMBERMASK,),
    availability=(Since(ALWAYS, (6, 0), Targets(30)),),
)


def _cluster(action: str, orders: tuple[str, ...], summary: str) -> Instruction:
    return Instruction(
        mnemonic=f"barrier.cluster.{action}",
        section="9.7.13.3",
        summary=summary,
        slots=(Slot("sem", "memory order", orders), flag("aligned", optional=True)),
        operands=(),
        availability=(
            Since(ALWAYS, (7, 8), Targets(90)),
            Since({"sem": orders}, (8, 0), what="memory orders"),
        ),
    )


GRIDDEPCONTROL = Instruction(
    mnemonic="griddepcontrol",
    section="9.7.13.13",
    summary="let dependent grids start, or wait for the grids that this one depends on",
    slots=(Slot("action", "action", ("launch_dependents", "wait"), mandatory=True),),
    operands=(),
    availability=(Since(ALWAYS, (7, 8), Targets(90)),),
)

NANOSLEEP = Instruction(
    mnemonic="nanosleep",
    section="9.7.19.2",
    summary="suspend the thread for about so many nanoseconds",
    slots=(types("u32"),),
    operands=(read("t", 32),),
    availability=(Since(ALWAYS, (6, 3), Targets(70)),),
)

SETMAXNREG = Instruction(
    mnemonic="setmaxnreg",
    section="9.7.19.5",
    summary="change the number of registers that a warp owns",
    slots=(
        Slot("action", "action", ("inc", "dec"), mandatory=True),
        flag("sync"),
        flag("aligned"),
        types("u32"),
    ),
    operands=(constant("imm-reg-count", *range(24, 257, 8)),),
    availability=(Since(ALWAYS, (8, 0), Targets(families=(100, 110, 120), exact=("sm_90a",))),),
)

INSTRUCTIONS = (
    BAR,
    BARRIER,
    WARP_SYNC,
    _cluster("arrive", ("release", "relaxed"), "arrive at the barrier of the cluster"),
    _cluster("wait", ("acquire",), "wait at the barrier of the cluster"),
    GRIDDEPCONTROL,
    NANOSLEEP,
    SETMAXNREG,
)
