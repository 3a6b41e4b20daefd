"""Special registers: predefined, and read by mov and by cvt between integers alone (PTX ISA 10).

register = find("%tid.x")
register.bits, register.vector          # 32, True
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tileproof.contracts.architectures import PtxVersion, Targets
from tileproof.contracts.syntax import ALWAYS, EVERYWHERE, Since

ELEMENTS = ("x", "y", "z", "w", "r", "g", "b", "a")
"""What names the elements of a vector, as coordinates and as colours (PTX ISA 6.4.3)."""


@dataclass(frozen=True, slots=True)
class SpecialRegister:
    """One special register, or all elements of a vector of them.

    `bits` is 1 for a predicate. `older` are the widths that a plain read may have too, as registers were once
    narrower.
    """

    name: str
    bits: int
    ptx: PtxVersion
    targets: Targets = EVERYWHERE
    vector: bool = False
    older: tuple[int, ...] = ()

    @property
    def need(self) -> Since:
        """What a statement that reads the register needs."""
        return Since(ALWAYS, self.ptx, self.targets, self.name)


def _registers() -> Iterator[SpecialRegister]:
    fermi, hopper = Targets(20), Targets(90)
    for name in ("tid", "ntid", "ctaid", "nctaid"):
        yield SpecialRegister(name, 32, (1, 0), vector=True, older=(16,))
    for name in ("laneid", "warpid", "smid"):
        yield SpecialRegister(name, 32, (1, 3))
    for name in ("nwarpid", "nsmid"):
        yield SpecialRegister(name, 32, (2, 0), fermi)
    yield SpecialRegister("gridid", 64, (1, 0), older=(16, 32))
    yield SpecialRegister("is_explicit_cluster", 1, (7, 8), hopper)
    for name in ("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid"):
        yield SpecialRegister(name, 32, (7, 8), hopper, vector=True)
    for name in ("cluster_ctarank", "cluster_nctarank"):
        yield SpecialRegister(name, 32, (7, 8), hopper)
    for order in ("eq", "le", "lt", "ge", "gt"):
        yield SpecialRegister(f"lanemask_{order}", 32, (2, 0), fermi)
    yield SpecialRegister("clock", 32, (1, 0))
    yield SpecialRegister("clock_hi", 32, (5, 0), fermi)
    yield SpecialRegister("clock64", 64, (2, 0), fermi)
    for number in range(8):
        first = number < 4
        yield SpecialRegister(f"pm{number}", 32, (1, 3) if first else (3, 0), EVERYWHERE if first else fermi)
        yield SpecialRegister(f"pm{number}_64", 64, (4, 0), Targets(50))
    for number in range(32):
        yield SpecialRegister(f"envreg{number}", 32, (2, 1))
    yield SpecialRegister("globaltimer", 64, (3, 1), Targets(30))
    for half in ("lo", "hi"):
        yield SpecialRegister(f"globaltimer_{half}", 32, (3, 1), Targets(30))
    for what in ("begin", "end", "cap", "0", "1"):
        yield SpecialRegister(f"reserved_smem_offset_{what}", 32, (7, 6), Targets(80))
    yield SpecialRegister("total_smem_size", 32, (4, 1), fermi)
    yield SpecialRegister("aggr_smem_size", 32, (8, 1), hopper)
    yield SpecialRegister("dynamic_smem_size", 32, (4, 1), fermi)
    yield SpecialRegister("current_graph_exec", 64, (8, 0), Targets(50))


REGISTERS: Mapping[str, SpecialRegister] = MappingProxyType({f"%{one.name}": one for one in _registers()})
"""All of them by name, as in `%tid`."""


def find(name: str) -> SpecialRegister | None:
    """The special register of a name, or the vector of which it names an element, existing or not."""
    return REGISTERS.get(name.partition(".")[0])
