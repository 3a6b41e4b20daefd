"""Barriers in shared memory (PTX ISA 9.7.13.15)."""

from __future__ import annotations

from tileproof.contracts.architectures import Targets
from tileproof.contracts.parts import (
    OWN_SHARED,
    SHARED,
    address,
    flag,
    read,
    register,
    set_predicate,
    together,
    types,
    written,
)
from tileproof.contracts.syntax import (
    ALWAYS,
    Condition,
    Instruction,
    OperandSyntax,
    Requires,
    Since,
    Slot,
)

# "Contents of the mbarrier object", 9.7.13.15.2.
_COUNTS = range(1, 1 << 20)
_TX_COUNTS = range(1 << 20)

_OWN = Slot("space", "state space", OWN_SHARED)
_ANY_CTA = Slot("space", "state space", SHARED)
_SCOPE = Slot("scope", "scope", ("cta", "cluster"))
_ARRIVING = Slot("sem", "memory order", ("release", "relaxed"))
_WAITING = Slot("sem", "memory order", ("acquire", "relaxed"))
_COUNTING = Slot("sem", "memory order", ("relaxed",))
_MODE = Slot("mode", "arrival", ("expect_tx", "noComplete"))
_TYPE = types("b64")

_TOGETHER = "a memory order and a scope go together"
_REMOTE: Condition = {"space": ("shared::cluster",)}
_ADDR = address("addr", narrow={"space": SHARED})
_OWN_ADDR = address("addr", narrow={"space": OWN_SHARED})
_TX_COUNT = read("txCount", 32, constants=_TX_COUNTS)

_SUB_QUALIFIER = Since({"space": ("shared::cta",)}, (7, 8), what=".shared::cta")
_CLUSTER = (
    Since(_REMOTE, (8, 0), Targets(90), ".shared::cluster"),
    Since({"scope": ("cluster",)}, (8, 0), Targets(90), "the cluster scope"),
)
_RELAXED = Since({"sem": ("relaxed",)}, (8, 6), Targets(90), ".relaxed")


def _arrive(name: str, section: str, summary: str) -> Instruction:
    return Instruction(
        mnemonic=f"mbarrier.{name}",
        section=section,
        summary=summary,
        slots=(_MODE, _ARRIVING, _SCOPE, _ANY_CTA, _TYPE),
        operands=(
            written("state", 64, when={"space": (None, *OWN_SHARED)}, sink=True),
            OperandSyntax("state", "sink", "written", when=_REMOTE),
            _ADDR,
            read("count", 32, when={"mode": (None,)}, constants=_COUNTS, optional=True),
            read("count", 32, when={"mode": ("noComplete",)}, constants=_COUNTS),
            read("txCount", 32, when={"mode": ("expect_tx",)}, constants=_TX_COUNTS),
        ),
        rules=(
            *together(_ARRIVING, _SCOPE, _TOGETHER),
            Requires(
                {"mode": ("noComplete",)},
                {"sem": (None, "release"), "scope": (None, "cta"), "space": (None, *OWN_SHARED)},
                ".noComplete is for the own CTA",
            ),
        ),
        availability=(
            Since(ALWAYS, (7, 0), Targets(80)),
            _SUB_QUALIFIER,
            *_CLUSTER,
            Since({"sem": ("release",)}, (8, 0), what=".release"),
            _RELAXED,
            Since({"mode": ("expect_tx",)}, (8, 0), Targets(90), ".expect_tx"),
        ),
        usage_availability=(
            Since({"state": ("_",)}, (7, 1), what="the sink _"),
            Since(
                {"mode": (None,), "count": ("register", "constant")},
                (7, 8),
                Targets(90),
                "a count without .noComplete",
            ),
        ),
    )


def _count(name: str, section: str, summary: str) -> Instruction:
    return Instruction(
        mnemonic=f"mbarrier.{name}",
        section=section,
        summary=summary,
        slots=(_COUNTING, _SCOPE, _ANY_CTA, _TYPE),
        operands=(_ADDR, _TX_COUNT),
        rules=together(_COUNTING, _SCOPE, _TOGETHER),
        availability=(Since(ALWAYS, (8, 0), Targets(90)),),
    )


def _wait(name: str, summary: str, since: Since, hint: tuple[OperandSyntax, ...]) -> Instruction:
    return Instruction(
        mnemonic=f"mbarrier.{name}",
        section="9.7.13.15.16",
        summary=summary,
        slots=(flag("parity", optional=True), _WAITING, _SCOPE, _OWN, _TYPE),
        operands=(
            set_predicate("waitComplete"),
            _OWN_ADDR,
            register("state", 64, when={"parity": (None,)}),
            read("phaseParity", 32, when={"parity": ("parity",)}, constants=(0, 1)),
            *hint,
        ),
        rules=together(_WAITING, _SCOPE, _TOGETHER),
        availability=(
            since,
            Since({"parity": ("parity",)}, (7, 1), what=".parity"),
            _SUB_QUALIFIER,
            _CLUSTER[1],
            Since({"sem": ("acquire",)}, (8, 0), what=".acquire"),
            _RELAXED,
        ),
    )


INIT = Instruction(
    mnemonic="mbarrier.init",
    section="9.7.13.15.9",
    summary="initialise a barrier in shared memory with its expected number of arrivals",
    slots=(_OWN, _TYPE),
    operands=(_OWN_ADDR, read("count", 32, constants=_COUNTS)),
    availability=(Since(ALWAYS, (7, 0), Targets(80)), _SUB_QUALIFIER),
)

INVAL = Instruction(
    mnemonic="mbarrier.inval",
    section="9.7.13.15.10",
    summary="end the life of a barrier in shared memory",
    slots=(_OWN, _TYPE),
    operands=(_OWN_ADDR,),
    availability=(Since(ALWAYS, (7, 0), Targets(80)), _SUB_QUALIFIER),
)

PENDING_COUNT = Instruction(
    mnemonic="mbarrier.pending_count",
    section="9.7.13.15.17",
    summary="read the number of pending arrivals out of an opaque state",
    slots=(_TYPE,),
    operands=(written("count", 32), register("state", 64)),
    availability=(Since(ALWAYS, (7, 0), Targets(80)),),
)

INSTRUCTIONS = (
    INIT,
    INVAL,
    _count("expect_tx", "9.7.13.15.11", "expect more bytes in the phase of a barrier"),
    _count("complete_tx", "9.7.13.15.12", "count bytes of the phase of a barrier as done"),
    _arrive("arrive", "9.7.13.15.13", "arrive on a barrier"),
    _arrive("arrive_drop", "9.7.13.15.14", "arrive on a barrier and expect one arrival less from then on"),
    _wait(
        "test_wait", "ask whether a phase of a barrier is complete", Since(ALWAYS, (7, 0), Targets(80)), ()
    ),
    _wait(
        "try_wait",
        "wait for some time for a phase of a barrier to be complete",
        Since(ALWAYS, (7, 8), Targets(90)),
        (read("timeHint", 32, optional=True),),
    ),
    PENDING_COUNT,
)
