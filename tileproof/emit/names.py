"""How the author's names become PTX names (PTX ISA 4.4 identifiers, 10 special registers).

A symbol ``n`` lives in ``%n``, the address of a tensor ``A`` in ``%A`` and slot 6 of the registers ``R`` in
``%R_6``. A name that PTX or a temporary has already gets an underscore: the symbol ``tid`` is ``%tid_``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tileproof.contracts.special import find
from tileproof.errors import EmissionError

IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_$]*|_[A-Za-z0-9_$]+")

TEMPORARY = re.compile(r"(r|rs|rd|p)\d+")


def identifier(name: str) -> str:
    """The name itself. Raises :class:`EmissionError` unless PTX can spell it."""
    if not IDENTIFIER.fullmatch(name):
        raise EmissionError(
            f"{name!r} is no PTX identifier (letters, digits and underscores of ASCII); choose another name"
        )
    return name


def register(name: str) -> str:
    """The register that holds a symbol, a loop counter or a base address."""
    plain = f"%{identifier(name)}"
    taken = TEMPORARY.fullmatch(name) is not None or find(plain) is not None
    return f"{plain}_" if taken else plain


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
