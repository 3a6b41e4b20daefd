"""Raw instructions of a kernel: read against the instruction table."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from tileproof.contracts.parts import BITS
from tileproof.contracts.special import ELEMENTS, REGISTERS
from tileproof.contracts.statement import parts, read
from tileproof.emit.statements import Raw
from tileproof.errors import CallError

CONTROL_FLOW = frozenset(("bra", "brx", "call", "exit", "ret", "trap"))

_DECLARATION = re.compile(r"\.reg\s+(?P<type>[.\w\s]+?)\s+(?P<names>[\w$%][^;]*);")
_TYPE = re.compile(r"(?:\.v(?P<length>[24])\s*)?\.(?P<type>\w+)")
_NAME = re.compile(r"(?P<name>%?[\w$]+)\s*(?:<\s*(?P<count>[0-9]{1,9})\s*>)?")


class _Declared(NamedTuple):
    """Registers of a declaration: their bits, and the names of their elements."""

    bits: int
    elements: tuple[str, ...]


class RawReader:
    """Reads raw text. It remembers the registers that this declares, as `.reg .b32 %r<4>, sum;` does.

    `bits_of` gives the bits of the other names of a kernel: 0 for a variable, None for what is not known.
    """

    def __init__(self, bits_of: Callable[[str], int | None]) -> None:
        self._bits_of = bits_of
        self._single: dict[str, _Declared] = {}
        self._numbered: dict[str, tuple[_Declared, int]] = {}

    def read(self, text: str) -> Raw:
        """One instruction or `.reg` declaration.

        Raises `CallError` for any other text, for control flow and for operands that do not fit, and
        `OpcodeError` for an instruction that the table does not know or allow.
        """
        written = text.strip() if isinstance(text, str) else ""
        found, declaration = parts(written), _DECLARATION.fullmatch(written)
        if "//" in written or "/*" in written or not (found or declaration):
            raise CallError(
                "raw takes one PTX instruction with its semicolon and no comment, as in 'bar.sync 0;'; "
                f"got {text!r}"
            )
        if declaration is not None:
            self._declare(declaration["type"], declaration["names"])
        if found is None:
            return Raw(written)
        if found.opcode.split(".")[0] in CONTROL_FLOW:
            raise CallError(
                f"raw takes no control flow, which no proof would see: use when or loop for {text!r}"
            )
        return Raw(written, read(written, self._bits))

    def _bits(self, name: str) -> int | None:
        base, dot, element = name.partition(".")
        declared = self._declared(base)
        if declared is None:
            return None if dot else self._bits_of(name)
        # The table knows no operand that is a vector under its own name.
        return declared.bits if element in declared.elements else None

    def _declared(self, name: str) -> _Declared | None:
        prefix = name.rstrip("0123456789")
        number = name.removeprefix(prefix)
        declared, count = self._numbered.get(prefix, (None, 0))
        if declared is not None and 0 < len(number) < 10 and int(number) < count:
            return declared
        return self._single.get(name)

    def _declare(self, type_: str, names: str) -> None:
        """Remember the registers of a type that the table knows."""
        found = _TYPE.fullmatch(type_)
        bits = BITS.get(found["type"]) if found else None
        for text in names.split(","):
            name = _NAME.fullmatch(text.strip())
            if name is None:
                continue
            special = next((one for one in REGISTERS if _covers(name["name"], name["count"], one)), None)
            if special is not None:
                raise CallError(f"{special} is a special register (PTX ISA 10): declare another name")
            if found is None or bits is None:
                continue
            declared = _Declared(bits, _elements(found["length"]))
            if name["count"] is None:
                self._single[name["name"]] = declared
            else:
                self._numbered[name["name"]] = declared, int(name["count"])


def _covers(name: str, count: str | None, wanted: str) -> bool:
    """Whether a declaration of a name, or of `count` numbered ones, declares the wanted name."""
    if count is None or not wanted.startswith(name):
        return count is None and wanted == name
    number = wanted.removeprefix(name)
    return number.isdecimal() and number == str(int(number)) and int(number) < int(count)


def _elements(length: str | None) -> tuple[str, ...]:
    """The names of the elements of a vector (PTX ISA 6.4.3); an empty one for what is no vector."""
    if length is None:
        return ("",)
    return (*ELEMENTS[: int(length)], *ELEMENTS[4 : 4 + int(length)])
