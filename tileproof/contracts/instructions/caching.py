"""Hints to the caches (PTX ISA 9.7.9.15 to .18)."""

from __future__ import annotations

from tileproof.contracts.architectures import Targets
from tileproof.contracts.parts import address, constant, flag, read, types, written
from tileproof.contracts.syntax import ALWAYS, Instruction, Requires, Since, Slot

_LEVELS = ("L1", "L2")
_PRIORITIES = ("L2::evict_last", "L2::evict_normal")
_GLOBAL = flag("global", optional=True)
_A = address("a")
# The unit of a discard and of a priority is a line of the L2 cache.
_LINE = constant("size", 128)
_LINES = (Since(ALWAYS, (7, 4), Targets(80)),)

PREFETCH = Instruction(
    mnemonic="prefetch",
    section="9.7.9.15",
    summary="bring a line of memory, or a tensor map, into a cache",
    slots=(
        Slot("space", "state space", ("global", "local", "const", "param")),
        Slot("level", "cache", (*_LEVELS, *_PRIORITIES, "tensormap"), mandatory=True),
    ),
    operands=(_A,),
    rules=(
        Requires(
            {"level": _LEVELS}, {"space": (None, "global", "local")}, "data is in global or local memory"
        ),
        Requires({"level": _PRIORITIES}, {"space": ("global",)}, "eviction priorities are for global memory"),
        Requires(
            {"level": ("tensormap",)},
            {"space": (None, "const", "param")},
            "a tensor map has a generic address, or one in constant or parameter memory",
        ),
    ),
    availability=(
        Since(ALWAYS, (2, 0), Targets(20)),
        Since({"level": _PRIORITIES}, (7, 4), Targets(80), "eviction priorities"),
        Since({"level": ("tensormap",)}, (8, 0), Targets(90), ".tensormap"),
    ),
)

PREFETCHU = Instruction(
    mnemonic="prefetchu",
    section="9.7.9.15",
    summary="bring a line of memory into the uniform cache",
    slots=(Slot("level", "cache", ("L1",), mandatory=True),),
    operands=(_A,),
    availability=(Since(ALWAYS, (2, 0), Targets(20)),),
)

APPLYPRIORITY = Instruction(
    mnemonic="applypriority",
    section="9.7.9.16",
    summary="give a line of memory an eviction priority",
    slots=(_GLOBAL, Slot("level", "eviction priority", ("L2::evict_normal",), mandatory=True)),
    operands=(_A, _LINE),
    availability=_LINES,
)

DISCARD = Instruction(
    mnemonic="discard",
    section="9.7.9.17",
    summary="destroy a line of memory without writing it back",
    slots=(_GLOBAL, Slot("level", "cache", ("L2",), mandatory=True)),
    operands=(_A, _LINE),
    availability=_LINES,
)

_PRIMARY = Slot(
    "primary",
    "primary priority",
    ("L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged"),
    mandatory=True,
)
_SECONDARY = Slot("secondary", "secondary priority", ("L2::evict_first", "L2::evict_unchanged"))
_MADE = written("cache-policy", 64)

FRACTIONAL = Instruction(
    mnemonic="createpolicy.fractional",
    section="9.7.9.18",
    summary="make a cache policy that gives a fraction of the accesses the primary priority",
    slots=(_PRIMARY, _SECONDARY, types("b64")),
    operands=(_MADE, read("fraction", 32, real=ALWAYS, optional=True)),
    availability=_LINES,
)

RANGE = Instruction(
    mnemonic="createpolicy.range",
    section="9.7.9.18",
    summary="make a cache policy that gives accesses to a range of addresses the primary priority",
    slots=(_GLOBAL, _PRIMARY, _SECONDARY, types("b64")),
    operands=(_MADE, _A, read("primary-size", 32), read("total-size", 32)),
    availability=_LINES,
)

CONVERTED = Instruction(
    mnemonic="createpolicy.cvt",
    section="9.7.9.18",
    summary="make a cache policy of an access property of the CUDA API",
    slots=(Slot("level", "cache", ("L2",), mandatory=True), types("b64")),
    operands=(_MADE, read("access-property", 64, constants=())),
    availability=_LINES,
)

INSTRUCTIONS = (PREFETCH, PREFETCHU, APPLYPRIORITY, DISCARD, FRACTIONAL, RANGE, CONVERTED)
