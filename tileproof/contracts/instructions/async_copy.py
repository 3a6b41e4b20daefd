"""cp.async in all its forms but the bulk ones (PTX ISA 9.7.9.25.3, 9.7.13.15.15)."""

from __future__ import annotations

from tileproof.contracts.architectures import Targets
from tileproof.contracts.parts import HAS_HINT, HINT, OWN_SHARED, POLICY, constant, flag, types
from tileproof.contracts.syntax import ALWAYS, Instruction, OperandSyntax, Requires, Since, Slot

_PREFETCH = ("L2::64B", "L2::128B", "L2::256B")
_SPACE = Slot("space", "state space", OWN_SHARED)
_GROUPS = (Since(ALWAYS, (7, 0), Targets(80)),)

CP_ASYNC = Instruction(
    mnemonic="cp.async",
    section="9.7.9.25.3.1",
    summary="copy 4, 8 or 16 bytes from global to shared memory, asynchronously",
    slots=(
        Slot("cop", "cache operator", ("ca", "cg"), mandatory=True),
        Slot("space", "destination's state space", OWN_SHARED, mandatory=True),
        Slot("source", "source's state space", ("global",), mandatory=True),
        HINT,
        Slot("prefetch", "L2 prefetch size", _PREFETCH),
    ),
    operands=(
        OperandSyntax("dst", "address", "written", narrow=ALWAYS),
        OperandSyntax("src", "address", "read"),
        constant("cp-size", 4, 8, 16, when={"cop": ("ca",)}),
        constant("cp-size", 16, when={"cop": ("cg",)}),
        OperandSyntax(
            "src-size",
            "registers",
            "read",
            bits=32,
            constants=range(17),
            at_most="cp-size",
            optional=True,
        ),
        OperandSyntax("ignore-src", "predicate", "read", bits=1, negatable=True, optional=True),
        POLICY,
    ),
    availability=(
        Since(ALWAYS, (7, 0), Targets(80)),
        Since(HAS_HINT, (7, 4), what="cache policies"),
        Since({"prefetch": _PREFETCH}, (7, 4), what="prefetch sizes"),
        Since({"space": ("shared::cta",)}, (7, 8), what=".shared::cta"),
    ),
    usage=(
        Requires(
            {"src-size": ("register", "constant")},
            {"ignore-src": (None,)},
            "src-size and ignore-src exclude each other",
        ),
    ),
    usage_availability=(Since({"ignore-src": ("predicate",)}, (7, 5), what="ignore-src"),),
)

COMMIT_GROUP = Instruction(
    mnemonic="cp.async.commit_group",
    section="9.7.9.25.3.2",
    summary="make a group of the asynchronous copies since the last one",
    slots=(),
    operands=(),
    availability=_GROUPS,
)

WAIT_GROUP = Instruction(
    mnemonic="cp.async.wait_group",
    section="9.7.9.25.3.3",
    summary="wait until at most N groups of asynchronous copies are under way",
    slots=(),
    operands=(OperandSyntax("N", "immediate", "read", constants=range(1 << 31)),),
    availability=_GROUPS,
)

WAIT_ALL = Instruction(
    mnemonic="cp.async.wait_all",
    section="9.7.9.25.3.3",
    summary="wait for all asynchronous copies of the thread",
    slots=(),
    operands=(),
    availability=_GROUPS,
)

MBARRIER_ARRIVE = Instruction(
    mnemonic="cp.async.mbarrier.arrive",
    section="9.7.13.15.15",
    summary="arrive on an mbarrier once the asynchronous copies of the thread are done",
    slots=(flag("noinc", optional=True), _SPACE, types("b64")),
    operands=(OperandSyntax("addr", "address", "read", narrow={"space": OWN_SHARED}),),
    availability=(
        Since(ALWAYS, (7, 0), Targets(80)),
        Since({"space": ("shared::cta",)}, (7, 8), what=".shared::cta"),
    ),
)

INSTRUCTIONS = (CP_ASYNC, COMMIT_GROUP, WAIT_GROUP, WAIT_ALL, MBARRIER_ARRIVE)
