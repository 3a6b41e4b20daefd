"""PTX that moves 16 bytes at a time between the tagged memory, arrays, registers and the dump.

Loops rather than straight code, because what is longer takes longer to assemble.
"""

from __future__ import annotations

from collections.abc import Sequence

from tileproof.fuzz.execute.moves import Mask
from tileproof.fuzz.execute.tags import POISON

_WORDS = "{$a0, $a1, $a2, $a3}"
_SAME = "{$a0, $a0, $a0, $a0}"

_OWN = {"$ocean": "$own", "$dump": "$left"}
"""Registers with a base plus what is other threads'; mostly several parts have one size, and share that."""

UNROLLED = 3
"""Turns of a loop up to which it is written out."""

_POISON = int.from_bytes(bytes([POISON]) * 4, "little")


class Copies:
    """Appends statements to ``lines``, for a block of ``threads``."""

    def __init__(self, lines: list[str], threads: int) -> None:
        self.lines, self.threads = lines, threads
        self._labels = 0
        self._own, self._first = "", 0
        self._sizes: dict[str, int] = {}
        self._body: list[str] = []

    def own(self, base: str, first: int, size: int) -> None:
        """From now on the thread's own are its ``size`` bytes of those that start ``first`` bytes after ``base``."""
        self._own, self._first = _OWN[base], first
        if self._sizes.get(base) != size:
            self.lines.append(f"mad.wide.u32 {self._own}, $t, {size}, {base};")
            self._sizes[base] = size

    # Registers, from and to the thread's own bytes.

    def into_registers(self, registers: Sequence[str], width: int) -> None:
        for first, group, kind in _groups(registers, width):
            self.lines.append(f"ld.global{kind} {group}, [{self._own}+{self._first + first}];")

    def from_registers(self, registers: Sequence[str], width: int) -> None:
        for first, group, kind in _groups(registers, width):
            self.lines.append(f"st.global{kind} [{self._own}+{self._first + first}], {group};")

    def mask_registers(self, registers: Sequence[str], width: int, mask: Mask) -> None:
        kind = f"b{max(16, width * 8)}"
        for register in registers:
            self.lines.append(f"and.{kind} {register}, {register}, {mask.keep:#x};")
            if mask.put:
                self.lines.append(f"or.{kind} {register}, {register}, {mask.put:#x};")

    # The shared memory of the CTA.

    def fill_shared(self, array: str, size: int, ocean: int | None) -> None:
        """With the tagged memory from ``ocean`` on, or with poison."""
        self._fill("shared", None if ocean is None else ("$ocean", ocean))
        self._shared(array, size, "$ocean")

    def dump_shared(self, array: str, size: int, dump: int) -> None:
        self._body = [f"ld.shared.v4.b32 {_WORDS}, [$j];", f"st.global.v4.b32 [$q+{dump}], {_WORDS};"]
        self._shared(array, size, "$dump")

    def _shared(self, array: str, size: int, base: str) -> None:
        """Every thread goes around as often, so that warps stay whole; the last time only some may do anything."""
        self.lines += [
            f"mov.u32 $s, {array};",
            "mad.lo.u32 $j, $t, 16, $s;",
            *([f"mad.wide.u32 $q, $t, 16, {base};"] if self._is_global else []),
            f"add.u32 $s, $s, {size};",
        ]
        self._loop(size, 16 * self.threads)

    # The local memory of the thread, from and to its own bytes.

    def fill_local(self, array: str, size: int, *, tagged: bool) -> None:
        self._fill("local", (self._own, self._first) if tagged else None)
        self._local(array, size)

    def dump_local(self, array: str, size: int) -> None:
        self._body = [f"ld.local.v4.b32 {_WORDS}, [$j];", f"st.global.v4.b32 [$q+{self._first}], {_WORDS};"]
        self._local(array, size)

    def _local(self, array: str, size: int) -> None:
        self.lines += [f"mov.u32 $j, {array};", *([f"mov.b64 $q, {self._own};"] if self._is_global else [])]
        self._loop(size, 16)

    def _fill(self, space: str, source: tuple[str, int] | None) -> None:
        if source is None:
            self.lines.append(f"mov.u32 $a0, {_POISON:#x};")
            self._body = [f"st.{space}.v4.b32 [$j], {_SAME};"]
        else:
            self._body = [
                f"ld.global.v4.b32 {_WORDS}, [$q+{source[1]}];",
                f"st.{space}.v4.b32 [$j], {_WORDS};",
            ]

    @property
    def _is_global(self) -> bool:
        return any("$q" in statement for statement in self._body)

    def _loop(self, size: int, step: int) -> None:
        """The body until ``size`` bytes are done, ``step`` in each turn.

        ``$j`` and ``$q`` go through arrays and global memory; ``$s`` is where an array that is shared ends.
        """
        times, ragged = -(-size // step), size % step != 0
        onwards = [f"add.u32 $j, $j, {step};", *([f"add.s64 $q, $q, {step};"] if self._is_global else [])]
        last = ["setp.lt.u32 $p, $j, $s;", *(f"@$p {statement}" for statement in self._body)]
        if times <= UNROLLED:
            for turn in range(times):
                self.lines += last if ragged and turn == times - 1 else self._body
                self.lines += onwards if turn < times - 1 else []
            return
        label = f"$L{self._labels}"
        self._labels += 1
        self.lines += [
            f"mov.u32 $n, {times};", f"{label}:", *(last if ragged else self._body), *onwards, "sub.u32 $n, $n, 1;",
            "setp.ne.u32 $p, $n, 0;", f"@$p bra {label};",
        ]  # fmt: skip


def _groups(registers: Sequence[str], width: int) -> list[tuple[int, str, str]]:
    """Vectors of up to four registers and 16 bytes: where each starts, the operand, and the opcode's suffixes."""
    most = min(4, 16 // width)
    groups, first = [], 0
    while first < len(registers):
        count = most
        while count > len(registers) - first:
            count //= 2
        taken = ", ".join(registers[first : first + count])
        vector = "" if count == 1 else f".v{count}"
        groups.append((first * width, taken if count == 1 else f"{{{taken}}}", f"{vector}.b{width * 8}"))
        first += count
    return groups
