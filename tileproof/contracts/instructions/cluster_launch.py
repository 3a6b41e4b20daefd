"""clusterlaunchcontrol: taking over the work of clusters not launched yet (PTX ISA 9.7.13.17, 9.7.13.18)."""

from __future__ import annotations

from tileproof.contracts.architectures import Targets
from tileproof.contracts.parts import address, flag, register, set_predicate, types, written
from tileproof.contracts.syntax import ALWAYS, Condition, Instruction, OperandSyntax, Requires, Since, Slot

_AVAILABILITY = (Since(ALWAYS, (8, 6), Targets(100)),)
_MULTICAST: Condition = {"multicast": ("multicast::cluster::all",)}
_OWN: Condition = {"space": ("shared::cta",)}

_CANCELED: Condition = {"query": ("is_canceled",)}
_DIMENSIONS = ("get_first_ctaid::x", "get_first_ctaid::y", "get_first_ctaid::z")
_ONE: Condition = {"query": _DIMENSIONS}
_ALL: Condition = {"query": ("get_first_ctaid",)}

TRY_CANCEL = Instruction(
    mnemonic="clusterlaunchcontrol.try_cancel",
    section="9.7.13.17",
    summary="ask to cancel the launch of a cluster, counted by an mbarrier",
    slots=(
        flag("async"),
        Slot("space", "state space", ("shared::cta",)),
        flag("mbarrier::complete_tx::bytes"),
        Slot("multicast", "multicast", ("multicast::cluster::all",)),
        types("b128"),
    ),
    operands=(OperandSyntax("addr", "address", "written", narrow=_OWN), address("mbar", narrow=_OWN)),
    availability=(
        *_AVAILABILITY,
        Since(_MULTICAST, (8, 6), Targets(families=(100, 110, 120)), ".multicast::cluster::all"),
    ),
)

QUERY_CANCEL = Instruction(
    mnemonic="clusterlaunchcontrol.query_cancel",
    section="9.7.13.18",
    summary="read the answer of clusterlaunchcontrol.try_cancel",
    slots=(
        Slot("query", "query", ("is_canceled", "get_first_ctaid", *_DIMENSIONS), mandatory=True),
        Slot("vec", "vector length", ("v4",)),
        types("pred", "b32", says="type of the answer"),
        types("b128", name="response", says="type of the response"),
    ),
    operands=(
        set_predicate("pred", when=_CANCELED),
        OperandSyntax("dims", "registers", "written", 4, 32, braced=ALWAYS, when=_ALL, gaps=ALWAYS),
        written("reg", 32, when=_ONE),
        register("try_cancel_response", 128),
    ),
    rules=(
        Requires(_CANCELED, {"type": ("pred",)}, "a launch is cancelled or not"),
        Requires({"query": ("get_first_ctaid", *_DIMENSIONS)}, {"type": ("b32",)}, "indices are words"),
        Requires(_ALL, {"vec": ("v4",)}, "the index of a CTA has three dimensions"),
        Requires({"query": ("is_canceled", *_DIMENSIONS)}, {"vec": (None,)}, "the answer is one value"),
    ),
    availability=_AVAILABILITY,
)

INSTRUCTIONS = (TRY_CANCEL, QUERY_CANCEL)
