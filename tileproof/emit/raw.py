"""Raw instructions of a kernel: read against the instruction table, as far as it goes."""

from __future__ import annotations

import re
from collections.abc import Callable

from tileproof.contracts.grammar import knows, mnemonic_of
from tileproof.contracts.parts import BITS
from tileproof.contracts.statement import parts, read
from tileproof.emit.statements import Raw
from tileproof.errors import CallError

CONTROL_FLOW = frozenset(("bra", "brx", "call", "exit", "ret", "trap"))

PENDING = frozenset(
    (
        *("abs", "add", "cos", "cvt", "div", "ex2", "fma", "lg2", "max", "min", "mov", "mul", "neg"),
        *("rcp", "rsqrt", "sin", "sqrt", "sub", "tanh"),
    )
)
"""Mnemonics whose records say nothing yet of constants and special registers: their instructions pass unread."""

_DECLARATION = re.compile(r"\.reg\s+(?P<type>[.\w\s]+?)\s+(?P<names>[\w$%][^;]*);")
_PLAIN_TYPE = re.compile(r"\.(\w+)")
_DECLARED = re.compile(r"(?P<name>%?[\w$]+)\s*(?:<\s*(?P<count>[0-9]{1,9})\s*>)?")


class RawReader:
    """Reads raw text. It remembers the registers that this declares, as `.reg .b32 %r<4>, sum;` does.

    `bits_of` gives the bits of the other registers of a kernel, None for what is none or not known.
    """

    def __init__(self, bits_of: Callable[[str], int | None]) -> None:
        self._bits_of = bits_of
        self._single: dict[str, int] = {}
        self._numbered: dict[str, tuple[int, int]] = {}

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
        if _is_pending(found.opcode):
            return Raw(written)
        return Raw(written, read(written, self._bits))

    def _bits(self, name: str) -> int | None:
        if name in self._single:
            return self._single[name]
        prefix = name.rstrip("0123456789")
        number = name.removeprefix(prefix)
        bits, count = self._numbered.get(prefix, (None, 0))
        if bits is not None and 0 < len(number) < 10 and int(number) < count:
            return bits
        return self._bits_of(name)

    def _declare(self, type_: str, names: str) -> None:
        """Types with more than one part, such as vectors, are left to the assembler."""
        plain = _PLAIN_TYPE.fullmatch(type_)
        bits = BITS.get(plain[1]) if plain else None
        for text in names.split(","):
            found = _DECLARED.fullmatch(text.strip())
            if found is None or bits is None:
                continue
            if found["count"] is None:
                self._single[found["name"]] = bits
            else:
                self._numbered[found["name"]] = bits, int(found["count"])


def _is_pending(opcode: str) -> bool:
    beginning = mnemonic_of(opcode, PENDING)
    longer = [] if beginning is None else _from(opcode, beginning)[1:]
    return beginning is not None and not any(knows(opcode) for opcode in longer)


def _from(opcode: str, beginning: str) -> list[str]:
    """The beginnings of an opcode that are no shorter than one of them."""
    rest = opcode.removeprefix(beginning).split(".")[1:]
    return [".".join((beginning, *rest[:length])) for length in range(len(rest) + 1)]
