"""cp.async (PTX ISA 9.7.9.25.3)."""

from __future__ import annotations

from tileproof.contracts.architectures import Targets
from tileproof.contracts.syntax import ALWAYS, Condition, Instruction, OperandSyntax, Since, Slot

_PREFETCH = ("L2::64B", "L2::128B", "L2::256B")
_HAS_POLICY: Condition = {"cache_hint": ("L2::cache_hint",)}

CP_ASYNC = Instruction(
    mnemonic="cp.async",
    section="9.7.9.25.3",
    summary="copy from global to shared memory asynchronously",
    slots=(
        Slot("cop", "cache operator", ("ca", "cg"), mandatory=True),
        Slot("space", "destination state space", ("shared", "shared::cta"), mandatory=True),
        Slot("source", "source state space", ("global",), mandatory=True),
        Slot("cache_hint", "cache hint", ("L2::cache_hint",)),
        Slot("prefetch", "L2 prefetch size", _PREFETCH),
    ),
    operands=(
        OperandSyntax("dst", "address", "written"),
        OperandSyntax("src", "address", "read"),
        OperandSyntax("cp-size", "immediate", "read", bits=32, values=(4, 8, 16), when={"cop": ("ca",)}),
        OperandSyntax("cp-size", "immediate", "read", bits=32, values=(16,), when={"cop": ("cg",)}),
        OperandSyntax("src-size", "number", "read", bits=32, optional=True),
        OperandSyntax("ignore-src", "predicate", "read", bits=1, optional=True, excludes="src-size"),
        OperandSyntax("cache-policy", "registers", "read", when=_HAS_POLICY),
    ),
    availability=(
        Since(ALWAYS, (7, 0), Targets(80), "cp.async"),
        Since({"prefetch": _PREFETCH}, (7, 4), what="prefetch sizes"),
        Since(_HAS_POLICY, (7, 4), what="cache policies"),
        Since({"space": ("shared::cta",)}, (7, 8), what=".shared::cta"),
    ),
)

INSTRUCTIONS = (CP_ASYNC,)
