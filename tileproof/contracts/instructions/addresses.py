"""Addresses of other CTAs and of other state spaces (PTX ISA 9.7.9.19, .20, .23, .24)."""

from __future__ import annotations

from tileproof.contracts.architectures import Targets
from tileproof.contracts.parts import BITS, SHARED, TYPE_BITS, read, set_predicate, types, written
from tileproof.contracts.syntax import ALWAYS, Instruction, OperandSyntax, Quantity, Since, Slot

_SPACES = ("const", "global", "local", *SHARED, "param", "param::entry")
_SPACE = Slot("space", "state space", _SPACES, mandatory=True)
_CLUSTER = Slot("space", "state space", ("shared::cluster",))
_SIZE = types("u32", "u64", says="address size")
# The ISA also has .u32, for modules of 32-bit addresses, which assemblers no longer take.
_GENERIC_SIZE = Slot("type", "address size", ("u64",), mandatory=True, instead={"u32": "u64"})
_A = OperandSyntax("a", "name", "read", bits="bits")


def _spaces(param: Since) -> tuple[Since, ...]:
    return (
        Since(ALWAYS, (2, 0), Targets(20)),
        Since({"space": ("const",)}, (3, 1), what=".const"),
        param,
        Since({"space": ("shared::cta",)}, (7, 8), Targets(30), ".shared::cta"),
        Since({"space": ("shared::cluster",)}, (7, 8), Targets(90), ".shared::cluster"),
        Since({"space": ("param::entry",)}, (8, 3), what=".param::entry"),
    )


_PARAM = Since({"space": ("param", "param::entry")}, (7, 7), Targets(70), ".param")

CVTA = Instruction(
    mnemonic="cvta",
    section="9.7.9.20",
    summary="make a generic address of one in a state space",
    slots=(_SPACE, _GENERIC_SIZE),
    operands=(written("p"), _A),
    quantities=(TYPE_BITS,),
    availability=_spaces(_PARAM),
)

CVTA_TO = Instruction(
    mnemonic="cvta.to",
    section="9.7.9.20",
    summary="make an address in a state space of a generic one",
    slots=(_SPACE, _GENERIC_SIZE),
    operands=(written("p"), read("a", constants=())),
    quantities=(TYPE_BITS,),
    availability=_spaces(_PARAM),
)

ISSPACEP = Instruction(
    mnemonic="isspacep",
    section="9.7.9.19",
    summary="ask whether a generic address is in a state space",
    slots=(_SPACE,),
    operands=(set_predicate("p"), read("a", 64, constants=())),
    availability=_spaces(_PARAM),
)

MAPA = Instruction(
    mnemonic="mapa",
    section="9.7.9.23",
    summary="find the address of a shared variable in another CTA of the cluster",
    slots=(_CLUSTER, _SIZE),
    operands=(written("d"), _A, read("b", 32)),
    quantities=(Quantity("bits", "address size in bits", {"type": BITS}),),
    availability=(Since(ALWAYS, (7, 8), Targets(90)),),
)

GETCTARANK = Instruction(
    mnemonic="getctarank",
    section="9.7.9.24",
    summary="find the rank of the CTA that a shared address belongs to",
    slots=(_CLUSTER, _SIZE),
    operands=(written("d", 32), _A),
    quantities=(Quantity("bits", "address size in bits", {"type": BITS}),),
    availability=(Since(ALWAYS, (7, 8), Targets(90)),),
)

INSTRUCTIONS = (CVTA, CVTA_TO, ISSPACEP, MAPA, GETCTARANK)
