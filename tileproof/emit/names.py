"""How the author's names become PTX names (PTX ISA 4.4 identifiers, 10 special registers).

A symbol ``n`` lives in ``%n``, the address of a tensor ``A`` in ``%A`` and slot 6 of the registers ``R`` in
``%R_6``. A name that PTX or a temporary has already gets an underscore: the symbol ``tid`` is ``%tid_``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from tileproof.errors import EmissionError

IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_$]*|_[A-Za-z0-9_$]+")

TAKEN = re.compile(
    r"(r|rs|rd|p)\d+"  # temporaries
    r"|tid|ntid|laneid|warpid|nwarpid|ctaid|nctaid|smid|nsmid|gridid|is_explicit_cluster"
    r"|clusterid|nclusterid|cluster_(ctaid|nctaid|ctarank|nctarank)|lanemask_(eq|le|lt|ge|gt)"
    r"|clock|clock_hi|clock64|pm\d|pm\d_64|envreg\d+|globaltimer(_lo|_hi)?|current_graph_exec"
    r"|reserved_smem_offset\w*|(total|aggr|dynamic)_smem_size"
)


def identifier(name: str) -> str:
    """The name itself. Raises :class:`EmissionError` unless PTX can spell it."""
    if not IDENTIFIER.fullmatch(name):
        raise EmissionError(
            f"{name!r} is no PTX identifier (letters, digits and underscores of ASCII); choose another name"
        )
    return name


@lru_cache(maxsize=1024)
def register(name: str) -> str:
    """The register that holds a symbol, a loop counter or a base address."""
    return f"%{identifier(name)}{'_' if TAKEN.fullmatch(name) else ''}"


def slot(name: str, number: int) -> str:
    """Slot ``number`` of the registers ``name``."""
    return f"{register(name)}_{number}"


def demand_distinct(names: Iterable[tuple[str, str]]) -> None:
    """Raise :class:`EmissionError` if two of the ``(PTX name, what has it)`` pairs share a name."""
    owners: dict[str, str] = {}
    for name, owner in names:
        other = owners.setdefault(name, owner)
        if other != owner:
            raise EmissionError(f"{other} and {owner} would both be {name} in PTX; rename one of them")
