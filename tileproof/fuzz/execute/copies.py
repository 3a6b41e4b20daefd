"""PTX that moves 16 bytes at a time between the tagged memory, arrays, registers and the dump.

Loops rather than straight code, because what is longer takes longer to assemble.
"""

from __future__ import annotations

from collections.abc import Sequence

from tileproof.fuzz.execute.tags import POISON

_WORDS = "{$a0, $a1, $a2, $a3}"

_POISON = int.from_bytes(bytes([POISON]) * 4, "little")


class Copies:
    """Appends statements to ``lines``, for a block of ``threads``."""

    def __init__(self, lines: list[str], threads: int) -> None:
        self.lines, self.threads = lines, threads
        self._labels = 0

    def own(self, base: str, first: int, size: int) -> None:
        """Point ``$own`` to the thread's ``size`` bytes of those that start ``first`` bytes after ``base``."""
        self.lines.append(f"mad.wide.u32 $own, $t, {size}, {base};")
        if first:
            self.lines.append(f"add.s64 $own, $own, {first};")

    # Registers, from and to what `$own` points to.

    def into_registers(self, registers: Sequence[str], width: int) -> None:
        for first, group, kind in _groups(registers, width):
            self.lines.append(f"ld.global{kind} {group}, [$own+{first}];")

    def from_registers(self, registers: Sequence[str], width: int) -> None:
        for first, group, kind in _groups(registers, width):
            self.lines.append(f"st.global{kind} [$own+{first}], {group};")

    def poison_registers(self, registers: Sequence[str], width: int) -> None:
        pattern = int.from_bytes(bytes([POISON]) * min(width, 8), "little")
        bits = max(16, min(64, width * 8))
        if width == 16:
            self.lines.append(f"mov.b64 $q, {pattern:#x};")
        held = "{$q, $q}" if width == 16 else f"{pattern:#x}"
        for register in registers:
            self.lines.append(f"mov.b{128 if width == 16 else bits} {register}, {held};")

    # The shared memory of the CTA.

    def fill_shared(self, array: str, size: int, ocean: int | None) -> None:
        """With the tagged memory from ``ocean`` on, or with poison."""
        self.lines.append(f"mov.u32 $s, {array};")
        if ocean is None:
            self._poisoned()
            self._shared(size, [f"st.shared.v4.b32 [$j], {_WORDS};"])
        else:
            self._shared(
                size,
                [
                    *_at("$ocean"),
                    f"ld.global.v4.b32 {_WORDS}, [$q+{ocean}];",
                    f"st.shared.v4.b32 [$j], {_WORDS};",
                ],
            )

    def dump_shared(self, array: str, size: int, dump: int) -> None:
        self.lines.append(f"mov.u32 $s, {array};")
        self._shared(
            size,
            [f"ld.shared.v4.b32 {_WORDS}, [$j];", *_at("$dump"), f"st.global.v4.b32 [$q+{dump}], {_WORDS};"],
        )

    def _shared(self, size: int, body: list[str]) -> None:
        """For each 16 bytes of an array at ``$s``, whose address is in ``$j`` and number in ``$i``.

        Every thread goes around as often, so that warps stay whole; the last time only some may do anything.
        """
        step = 16 * self.threads
        body = ["add.u32 $j, $s, $i;", *body]
        if size % step:
            body = [f"setp.lt.u32 $p, $i, {size};", *(f"@$p {statement}" for statement in body)]
        self.lines.append("shl.b32 $i, $t, 4;")
        self._loop(-(-size // step), step, body)

    # The local memory of the thread, from and to what `$own` points to.

    def fill_local(self, array: str, size: int, *, tagged: bool) -> None:
        load = [*_at("$own"), f"ld.global.v4.b32 {_WORDS}, [$q];"] if tagged else []
        if not tagged:
            self._poisoned()
        self._local(array, size, [*load, f"st.local.v4.b32 [$j], {_WORDS};"])

    def dump_local(self, array: str, size: int) -> None:
        self._local(
            array,
            size,
            [f"ld.local.v4.b32 {_WORDS}, [$j];", *_at("$own"), f"st.global.v4.b32 [$q], {_WORDS};"],
        )

    def _local(self, array: str, size: int, body: list[str]) -> None:
        self.lines += [f"mov.u32 $s, {array};", "mov.u32 $i, 0;"]
        self._loop(size // 16, 16, ["add.u32 $j, $s, $i;", *body])

    def _poisoned(self) -> None:
        self.lines += [f"mov.u32 $a{n}, {_POISON:#x};" for n in range(4)]

    def _loop(self, times: int, step: int, body: list[str]) -> None:
        """``$i`` grows by ``step`` each time."""
        if times == 1:
            self.lines += body
            return
        label = f"$L{self._labels}"
        self._labels += 1
        self.lines += [
            f"mov.u32 $n, {times};", f"{label}:", *body, f"add.u32 $i, $i, {step};", "sub.u32 $n, $n, 1;",
            "setp.ne.u32 $p, $n, 0;", f"@$p bra {label};",
        ]  # fmt: skip


def _at(base: str) -> list[str]:
    return ["cvt.u64.u32 $q, $i;", f"add.s64 $q, $q, {base};"]


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
