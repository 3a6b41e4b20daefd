"""Instruction families register here; a new family is a new module, never an edit to a switch.

    @instruction("shl")
    def shift_left(code: Decoder) -> Execute:
        kind = code.scalar(B16, B32, B64)      # reads the opcode's words, once, when the kernel is loaded
        code.finish(operands=3)

        def execute(issue: Issue) -> None:     # runs for all active threads at once
            issue.write(0, kind, shift(issue.read(1, kind), issue.read(2, U32)))

        return execute

A name may have dots; the longest registered prefix of an opcode wins, so that `bar.warp.sync` is not taken
for `bar`. Words that nobody consumed are an error: a modifier is never ignored by accident.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from tileproof.errors import InternalError, SimulationError
from tileproof.simulate.operands import Location, Operand, spell
from tileproof.simulate.scalars import TYPES, ScalarType

if TYPE_CHECKING:
    from tileproof.simulate.issue import Issue

Execute = Callable[["Issue"], None]
Decode = Callable[["Decoder"], Execute]


def no_effect(_: Issue) -> None:
    """What an instruction executes that only changes timing, caches or an order that is kept anyway."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One registered name. `members`: the last operand is a membermask; all its threads must arrive first."""

    name: str
    decode: Decode
    members: bool


_TABLE: dict[str, Entry] = {}


def instruction(*names: str, members: bool = False) -> Callable[[Decode], Decode]:
    """Registers the decoder of the opcodes that begin with one of these dotted names."""

    def register(decode: Decode) -> Decode:
        for name in names:
            if name in _TABLE:
                raise InternalError(f"instruction {name!r} is registered twice")
            _TABLE[name] = Entry(name, decode, members)
        return decode

    return register


def find(opcode: str) -> Entry | None:
    """The entry of the longest registered prefix of an opcode."""
    words = opcode.split(".")
    for length in range(len(words), 0, -1):
        entry = _TABLE.get(".".join(words[:length]))
        if entry is not None:
            return entry
    return None


class Decoder:
    """The dotted words of one opcode after its name, and the operands; each reading method consumes what it
    recognises.
    """

    def __init__(self, opcode: str, name: str, operands: tuple[Operand, ...], target: str) -> None:
        self.opcode = opcode
        self.name = name
        self.operands = operands
        self.target = target
        self._words = opcode[len(name) + 1 :].split(".") if len(opcode) > len(name) else []

    @property
    def compute_capability(self) -> int:
        """80 for sm_80, 90 for sm_90a."""
        return int(re.sub(r"\D", "", self.target))

    def fail(self, message: str) -> NoReturn:
        raise SimulationError(message)

    def take(self, *words: str) -> str | None:
        """The first word that is one of these, removed; None if there is none."""
        for word in self._words:
            if word in words:
                self._words.remove(word)
                return word
        return None

    def has(self, *words: str) -> bool:
        """Whether one of these words is still there."""
        return any(word in words for word in self._words)

    def flag(self, word: str) -> bool:
        return self.take(word) is not None

    def need(self, *words: str) -> str:
        found = self.take(*words)
        if found is None:
            self.fail(f"{self.opcode} needs one of {', '.join('.' + word for word in words)}")
        return found

    def ignore(self, words: Iterable[str] = (), prefixes: tuple[str, ...] = ()) -> None:
        """Drops words that change timing or ordering only, which a machine that runs in order can ignore."""
        known = frozenset(words)
        self._words = [
            word for word in self._words if word not in known and not (prefixes and word.startswith(prefixes))
        ]

    def scalar(self, *allowed: ScalarType) -> ScalarType:
        """The first type word that is left; the destination type of an opcode with two comes first."""
        for word in self._words:
            if word in TYPES:
                self._words.remove(word)
                if allowed and TYPES[word] not in allowed:
                    self.fail(f"{self.opcode}: type .{word} is not one of {', '.join(map(str, allowed))}")
                return TYPES[word]
        raise SimulationError(f"{self.opcode} has no type that the simulator knows")

    def need_address(self, place: int) -> None:
        """Demands that an operand, if it is there at all, has brackets around it."""
        if place < len(self.operands) and not isinstance(self.operands[place], Location):
            text = spell(self.operands[place])
            self.fail(f"{self.opcode}: operand {text} is not an address; write [{text}]")

    def finish(self, operands: int | tuple[int, ...] | None = None) -> None:
        """Ends decoding: no word may be left over, and the number of operands must be one of `operands`."""
        if self._words:
            self.fail(
                f"{self.opcode}: the simulator does not know {self.name} with "
                f"{', '.join('.' + word for word in self._words)}"
            )
        counts = (operands,) if isinstance(operands, int) else operands
        if counts is not None and len(self.operands) not in counts:
            self.fail(
                f"{self.opcode} has {len(self.operands)} operands; it takes {' or '.join(map(str, counts))}"
            )
