"""Which PTX register holds what, and how wide it is."""

from __future__ import annotations

from dataclasses import dataclass

from tileproof.contracts.width import fits
from tileproof.emit import names
from tileproof.layouts.index import leaf
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.tensor import Storage
from tileproof.scalars.expression import Scalar

REGISTER_TYPES = {8: "b16", 16: "b16", 32: "b32", 64: "b64", 128: "b128"}
"""By the bits of an element. Bytes travel in 16-bit registers, as only ld, st and cvt take 8-bit types (PTX ISA
5.2.2, 9.4.1).
"""


def register_type(bits: int, exact: bool) -> str:
    """The PTX type of the register of an element; a byte has one of its own where nothing wider will do."""
    return "b8" if exact and bits == 8 else REGISTER_TYPES[bits]


@dataclass(frozen=True)
class Register:
    """A register of 32 or 64 bits that holds a variable as a signed number or an address, or one as wide as a
    typed scalar.
    """

    name: str
    bits: int


def symbol_register(variable: Leaf) -> Register:
    """The register of a symbol, 32 bits wide where its bounds allow."""
    return Register(names.register(variable.name), 32 if fits(leaf(variable), 32) else 64)


def scalar_register(scalar: Scalar) -> Register:
    """The register of a typed scalar, given as its variable: untyped, as wide as its type."""
    return Register(names.register(str(scalar.value)), scalar.type.bits)


def base_register(storage: Storage) -> Register:
    """The register that holds the address of a storage."""
    return Register(names.register(storage.name), address_bits(storage))


def address_bits(storage: Storage) -> int:
    """Addresses in the shared and local windows have 32 bits, all others 64."""
    return 32 if storage.space in ("shared", "local") else 64
