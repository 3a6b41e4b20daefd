"""PTX statements as they are written one after another, and the temporary registers that they use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

TemporaryKind = Literal["b16", "b32", "b64", "pred"]

_PREFIX: dict[TemporaryKind, str] = {"b16": "%rs", "b32": "%r", "b64": "%rd", "pred": "%p"}

INDENT = "    "


def comment(text: str) -> str:
    """A comment of one line, whatever is in the text: PTX is ASCII, and a line break would end the comment."""
    return f"// {''.join(c if ' ' <= c <= '~' else '?' for c in text)}"


def origin(call: str, repeat: Sequence[int] = ()) -> str:
    """What stands behind an instruction: the name of the call whose proof it has, if there is one, and its repeat."""
    if not call:
        return ""
    turn = f", repeat {', '.join(map(str, repeat))}" if repeat else ""
    return f"  // {call}{turn}"


class Code:
    """A list of PTX lines that grows. Every temporary is written once, so none is ever reused."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._taken: dict[TemporaryKind, int] = dict.fromkeys(_PREFIX, 0)

    def temporary(self, kind: TemporaryKind) -> str:
        """A register that nothing else uses."""
        number = self._taken[kind]
        self._taken[kind] = number + 1
        return f"{_PREFIX[kind]}{number}"

    def put(self, statement: str) -> None:
        self.lines.append(f"{INDENT}{statement}")

    def comment(self, text: str) -> None:
        self.lines.append(f"{INDENT}{comment(text)}")

    def remark(self, first: int, text: str) -> None:
        """End the lines from number ``first`` on with a text, such as :func:`origin` gives."""
        if text:
            self.lines[first:] = [f"{line}{text}" for line in self.lines[first:]]

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def compute(self, opcode: str, kind: TemporaryKind, *operands: str) -> str:
        """Write ``opcode d, operands`` for a fresh ``d`` and return it."""
        target = self.temporary(kind)
        self.put(f"{opcode} {target}, {', '.join(operands)};")
        return target

    def declarations(self) -> list[str]:
        """The ``.reg`` lines of the temporaries in use."""
        return [
            f"{INDENT}.reg .{kind} {_PREFIX[kind]}<{count}>;" for kind, count in self._taken.items() if count
        ]
