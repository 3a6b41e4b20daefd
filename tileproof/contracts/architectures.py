"""GPU targets of PTX: which exist, which share a family, and the oldest `.version` each may be named with.

Code for `sm_100` runs on every later GPU. `sm_100f` adds the features of its family and runs on that family's
GPUs only; `sm_100a` adds those of one GPU and runs on that one only (PTX ISA 11.1.2, `.target`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType

from tileproof.errors import CallError

PtxVersion = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Architecture:
    """One target, for example `sm_103f`: number 103, suffix "f", family 100, first named in PTX ISA 8.8."""

    name: str
    number: int
    suffix: str
    family: int
    ptx_version: PtxVersion


# number: (family, {suffix: the first PTX ISA version that names the target})
_KNOWN: Mapping[int, tuple[int, Mapping[str, PtxVersion]]] = {
    70: (70, {"": (6, 0)}),
    72: (70, {"": (6, 1)}),
    75: (75, {"": (6, 3)}),
    80: (80, {"": (7, 0)}),
    86: (80, {"": (7, 1)}),
    87: (80, {"": (7, 4)}),
    88: (80, {"": (9, 0)}),
    89: (80, {"": (7, 8)}),
    90: (90, {"": (7, 8), "a": (8, 0)}),
    100: (100, {"": (8, 6), "a": (8, 6), "f": (8, 8)}),
    103: (100, {"": (8, 8), "a": (8, 8), "f": (8, 8)}),
    107: (100, {"": (9, 4), "a": (9, 4), "f": (9, 4)}),
    110: (110, {"": (9, 0), "a": (9, 0), "f": (9, 0)}),
    120: (120, {"": (8, 7), "a": (8, 7), "f": (8, 8)}),
    121: (120, {"": (8, 8), "a": (8, 8), "f": (8, 8)}),
}

ARCHITECTURES: Mapping[str, Architecture] = MappingProxyType(
    {
        f"sm_{number}{suffix}": Architecture(f"sm_{number}{suffix}", number, suffix, family, version)
        for number, (family, suffixes) in _KNOWN.items()
        for suffix, version in suffixes.items()
    }
)


def architecture(name: str) -> Architecture:
    """The target called `name`, for example "sm_90a". Raises `CallError` for a name that is not a target."""
    found = ARCHITECTURES.get(name) if isinstance(name, str) else None
    if found is None:
        near = get_close_matches(name, ARCHITECTURES, 1) if isinstance(name, str) else []
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise CallError(f"{name!r} is not a GPU target{hint} Known targets: {', '.join(ARCHITECTURES)}.")
    return found


@dataclass(frozen=True, slots=True)
class Targets:
    """A set of targets, as the ISA's "Target ISA Notes" state it: the union of the three parts.

    minimum: every target of this number or a later one. families: `a` and `f` targets of the family of `sm_N`
    that are not older than `sm_N`. exact: targets by name.
    """

    minimum: int | None = None
    families: tuple[int, ...] = ()
    exact: tuple[str, ...] = ()

    def include(self, arch: Architecture) -> bool:
        return (
            (self.minimum is not None and arch.number >= self.minimum)
            or any(_in_family(arch, number) for number in self.families)
            or arch.name in self.exact
        )

    def __str__(self) -> str:
        parts = list(self.exact)
        if self.minimum is not None:
            parts.append(f"sm_{self.minimum} or later")
        if self.families:
            heads = ", ".join(f"sm_{number}" for number in self.families)
            parts.append(f"an 'a' or 'f' target of the family of {heads}")
        return " or ".join(parts)


def _in_family(arch: Architecture, number: int) -> bool:
    return bool(arch.suffix) and arch.family == _KNOWN[number][0] and arch.number >= number
