"""fence and membar (PTX ISA 9.7.13.4)."""

from __future__ import annotations

from tileproof.contracts.architectures import Targets
from tileproof.contracts.parts import SCOPES, address, constant, flag
from tileproof.contracts.syntax import ALWAYS, Condition, Instruction, Requires, Since, Slot

_SECTION = "9.7.13.4"
_FROM_CLUSTER, _TO_CTA = "sync_restrict::shared::cluster", "sync_restrict::shared::cta"
_RESTRICT = Slot("restrict", "restriction", (_FROM_CLUSTER, _TO_CTA))
_RESTRICTED: Condition = {"restrict": _RESTRICT.tokens}
_SCOPE = Slot("scope", "scope", SCOPES)
_IS_CLUSTER: Condition = {"scope": ("cluster",)}

_RESTRICTIONS = (
    Requires(
        {"restrict": (_FROM_CLUSTER,)}, {"sem": ("acquire",)}, "shared memory of the cluster is acquired"
    ),
    Requires({"restrict": (_TO_CTA,)}, {"sem": ("release",)}, "shared memory of the CTA is released"),
    Requires(_RESTRICTED, _IS_CLUSTER, "a restricted fence orders threads of the cluster"),
)

FENCE = Instruction(
    mnemonic="fence",
    section=_SECTION,
    summary="order the memory accesses of the thread",
    slots=(
        Slot("sem", "memory order", ("sc", "acq_rel", "acquire", "release")),
        _RESTRICT,
        Slot("scope", "scope", SCOPES, mandatory=True),
    ),
    operands=(),
    rules=_RESTRICTIONS,
    availability=(
        Since(ALWAYS, (6, 0), Targets(70)),
        Since(_IS_CLUSTER, (7, 8), Targets(90), "the cluster scope"),
        Since({"sem": ("acquire", "release")}, (8, 6), Targets(90), ".acquire and .release"),
    ),
)

MBARRIER_INIT = Instruction(
    mnemonic="fence.mbarrier_init",
    section=_SECTION,
    summary="let the cluster see the mbarriers that the thread has initialised",
    slots=(flag("release"), flag("cluster")),
    operands=(),
    availability=(Since(ALWAYS, (8, 0), Targets(90)),),
)

_ONE_WAY = ("tensormap::generic", "async::generic")
_ACQUIRES_MAP: Condition = {"proxy": ("tensormap::generic",), "sem": ("acquire",)}

PROXY = Instruction(
    mnemonic="fence.proxy",
    section=_SECTION,
    summary="order the memory accesses of the thread across proxies",
    slots=(
        Slot("proxy", "proxy", ("alias", "async", *_ONE_WAY), mandatory=True),
        Slot("space", "state space", ("global", "shared::cta", "shared::cluster")),
        Slot("sem", "memory order", ("acquire", "release")),
        _RESTRICT,
        _SCOPE,
    ),
    operands=(address("addr", when=_ACQUIRES_MAP), constant("size", 128, when=_ACQUIRES_MAP)),
    rules=(
        Requires(
            {"proxy": ("alias", *_ONE_WAY)}, {"space": (None,)}, "only the async proxy is limited to a space"
        ),
        Requires(
            {"proxy": ("alias", "async")},
            {"sem": (None,), "restrict": (None,), "scope": (None,)},
            "this fence orders both ways and for all",
        ),
        Requires(
            {"proxy": _ONE_WAY},
            {"sem": ("acquire", "release"), "scope": SCOPES},
            "a fence from one proxy to another acquires or releases in a scope",
        ),
        Requires(
            {"proxy": ("tensormap::generic",)}, {"restrict": (None,)}, "tensor maps are in global memory"
        ),
        Requires(
            {"proxy": ("async::generic",)},
            {"restrict": _RESTRICT.tokens},
            "the fence from the generic to the async proxy is for shared memory",
        ),
        *_RESTRICTIONS,
    ),
    availability=(
        Since(ALWAYS, (7, 5), Targets(70)),
        Since({"proxy": ("async",)}, (8, 0), Targets(90), "the async proxy"),
        Since({"proxy": ("tensormap::generic",)}, (8, 3), Targets(90), "the tensormap proxy"),
        Since({"proxy": ("async::generic",)}, (8, 6), Targets(90), "restricted fences"),
    ),
)

MEMBAR = Instruction(
    mnemonic="membar",
    section=_SECTION,
    summary="wait until the memory accesses of the thread are performed, as fence.sc",
    slots=(Slot("level", "level", ("cta", "gl", "sys"), mandatory=True),),
    operands=(),
    availability=(
        Since(ALWAYS, (1, 4)),
        Since({"level": ("sys",)}, (2, 0), Targets(20), ".sys"),
    ),
)

MEMBAR_PROXY = Instruction(
    mnemonic="membar.proxy",
    section=_SECTION,
    summary="order the memory accesses of the thread across proxies, as fence.proxy",
    slots=(Slot("proxy", "proxy", ("alias", "async"), mandatory=True),),
    operands=(),
    availability=(
        Since(ALWAYS, (7, 5), Targets(60)),
        Since({"proxy": ("async",)}, (8, 0), Targets(90), "the async proxy"),
    ),
)

INSTRUCTIONS = (FENCE, MBARRIER_INIT, PROXY, MEMBAR, MEMBAR_PROXY)
