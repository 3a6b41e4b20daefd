"""How the author's names become PTX names (PTX ISA 4.4 identifiers, 10 special registers).

A symbol ``n`` lives in ``%n``, the address of a tensor ``A`` in ``%A`` and slot 6 of the registers ``R`` in
``%R_6``. A name that PTX or a temporary has already gets an underscore: the symbol ``tid`` is ``%tid_``.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from functools import lru_cache
from typing import NoReturn

from tileproof.contracts.special import find
from tileproof.errors import EmissionError

NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")

IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_$]*|_[A-Za-z0-9_$]+")

TEMPORARY = re.compile(r"(r|rs|rd|p)\d+")


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
    plain = f"%{identifier(name)}"
    taken = TEMPORARY.fullmatch(name) is not None or find(plain) is not None
    return f"{plain}_" if taken else plain


def slot(name: str, number: int) -> str:
    """Slot ``number`` of the registers ``name``."""
    return f"{register(name)}_{number}"


def demand_distinct(
    names: Iterable[tuple[str, str]], registers: Iterable[tuple[str, Container[int]]] = ()
) -> None:
    """Raise :class:`EmissionError` if two names become one in PTX, as the symbol ``R_6`` and slot 6 of ``R`` do.

    ``names`` are pairs of a PTX name and what has it, ``registers`` pairs of the author's name of registers and
    their slots in use.
    """
    owners: dict[str, str] = {}
    used: dict[str, list[tuple[str, Container[int]]]] = {}
    for title, numbers in registers:
        slots = used.setdefault(register(title), [])
        if slots and slots[0][0] != title:
            _fail(f"slots of {slots[0][0]}", f"those of {title}", f"{register(title)}_0 and so on")
        slots.append((title, numbers))
    for name, owner in names:
        other = owners.setdefault(name, owner)
        if other != owner:
            _fail(other, owner, name)
        prefix, _, number = name.rpartition("_")
        for title, numbers in used.get(prefix, ()):
            if NUMBER.fullmatch(number) and int(number) in numbers:
                _fail(owner, f"slot {number} of {title}", name)


def _fail(one: str, other: str, name: str) -> NoReturn:
    raise EmissionError(f"{one} and {other} would both be {name} in PTX; rename one of them")
