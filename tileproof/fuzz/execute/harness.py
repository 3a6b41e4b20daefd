"""The kernel around the emitted code of a proven view: it lays out memory and registers, and dumps what is left.

The names of the harness begin with ``$``, which no name of a fragment does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tileproof.emit import names
from tileproof.emit.fragment import body, inputs, typed_scalars
from tileproof.emit.plan import Plan, Slots, plan
from tileproof.emit.registers import register_type
from tileproof.fuzz.execute.copies import Copies
from tileproof.fuzz.execute.entry import Entry
from tileproof.fuzz.execute.frame import Frame, Part, framed
from tileproof.fuzz.execute.moves import REGISTERS, executed_family
from tileproof.fuzz.execute.tags import region
from tileproof.fuzz.oracle.description import Call

if TYPE_CHECKING:
    from tileproof.emit.registers import Register
    from tileproof.layouts.leaf import Leaf
    from tileproof.proofs.report import Report


@dataclass(frozen=True, eq=False)
class Fragment:
    """The emitted code of a proven call: its text, the registers that it reads, and the slots that it names.

    ``scalars`` are the registers of typed scalars and their bits, by the names of the scalars; ``exact`` are the
    storages whose registers must not be wider than their elements.
    """

    text: str
    inputs: dict[Leaf, Register]
    slots: dict[str, dict[int, None]]
    scalars: dict[str, tuple[str, int]]
    exact: frozenset[str]

    @classmethod
    def of(cls, report: Report) -> Fragment:
        """The block that ``tileproof.emit(report)`` ends with. Raises :class:`tileproof.EmissionError`."""
        planned = plan(report)
        registers = inputs(planned)
        code = body(planned, registers)
        text = "\n".join(["{", *code.declarations(), *code.lines, "}"])
        return cls(
            text,
            registers,
            _slots(planned),
            {n: (r.name, r.bits) for n, (r, _) in typed_scalars(planned).items()},
            frozenset(o.storage.name for o in planned.issues[0] if isinstance(o, Slots) and o.exact),
        )


def _slots(planned: Plan) -> dict[str, dict[int, None]]:
    found: dict[str, dict[int, None]] = {}
    for operand, numbers in zip(planned.issues[0], planned.slots, strict=True):
        if isinstance(operand, Slots):
            found.setdefault(operand.storage.name, {}).update(dict.fromkeys(numbers))
    return found


def entry(name: str, fragment: Fragment, call: Call) -> tuple[Entry, Frame]:
    """The fragment as a kernel called ``name``, and the frame that says what has to come out.

    Raises :class:`~tileproof.fuzz.execute.points.UnexecutedError` for a view that is too large.
    """
    frame = framed(call, fragment.slots)
    harness = _Harness(name, fragment, frame)
    x, y, z = (*call.block, 1, 1)[:3]
    made = Entry(
        name, harness.text(), (x, y, z), frame.points.grid, frame.dump_bytes,
        frame.table.view("u1").reshape(-1), harness.variables,
    )  # fmt: skip
    return made, frame


class _Harness:
    """Writes one kernel."""

    def __init__(self, name: str, fragment: Fragment, frame: Frame) -> None:
        self.name, self.fragment, self.frame = name, fragment, frame
        self.call = frame.call
        self.variables = ""
        self.lines: list[str] = []
        self.copies = Copies(self.lines, frame.call.threads)
        self.spaces = {p.space for p in frame.parts}

    def text(self) -> str:
        for part in self.frame.parts:
            self._prepare(part)
        if "shared" in self.spaces:
            self.lines.append("bar.sync 0;")
        self._inputs()
        guarded = self.call.guard is not None
        if guarded:
            self.lines += [
                f"ld.global.b32 $i, [$table+{self._row(self.frame.table.shape[1] - 1)}];",
                "setp.eq.u32 $p, $i, 0;",
                "@$p bra $after;",
            ]
        self.lines.append(self.fragment.text)
        if guarded:
            self.lines.append("$after:")
        self.lines += executed_family(self.call).after
        if "shared" in self.spaces and any(p.space == "shared" and p.written for p in self.frame.parts):
            self.lines.append("bar.sync 0;")
        for part in self.frame.parts:
            if part.written:
                self._dump(part)
        x, y, z = (*self.call.block, 1, 1)[:3]
        parameters = ", ".join(f".param .u64 {self.name}_{p}" for p in ("ocean", "dump", "table"))
        return "\n".join(
            [
                f".visible .entry {self.name}({parameters}) .reqntid {x}, {y}, {z}",
                "{",
                *self._declarations(),
                *self._thread(),
                *self.lines,
                "ret;",
                "}",
            ]
        )

    def _declarations(self) -> list[str]:
        lines = [
            ".reg .b32 $t, $c, $i, $j, $n, $s, $a<4>;",
            ".reg .b64 $ocean, $dump, $table, $own, $left, $q;",
            ".reg .pred $p;",
        ]
        lines += [f".reg .b{register.bits} {register.name};" for register in self.fragment.inputs.values()]
        lines += [
            f".reg .{register_type(bits, exact=False)} {name};"
            for name, bits in self.fragment.scalars.values()
        ]
        for part in self.frame.parts:
            if part.space == REGISTERS:
                if part.numbers:
                    kind = register_type(part.width * 8, self._exact(part))
                    lines.append(f".reg .{kind} {', '.join(_registers(part))};")
            elif part.space in ("shared", "local"):
                lines.append(f".{part.space} .align {_alignment(part)} .b8 {self._array(part)}[{part.size}];")
        return lines

    def _thread(self) -> list[str]:
        """The number of the thread, and the parts of dump and table that are this CTA's, where they are used."""
        x, y, _ = (*self.call.block, 1, 1)[:3]
        used = "\n".join(self.lines)
        lines = ["mov.u32 $t, %tid.x;"]
        for axis, weight in (("y", x), ("z", x * y)):
            if len(self.call.block) > "xyz".index(axis):
                lines += [f"mov.u32 $i, %tid.{axis};", f"mad.lo.u32 $t, $i, {weight}, $t;"]
        for base in ("ocean", "dump", "table"):
            if f"${base}" in used:
                lines.append(f"ld.param.u64 ${base}, [{self.name}_{base}];")
        if self.frame.points.grid > 1:
            lines.append("mov.u32 $c, %ctaid.x;")
            lines.append(f"mad.wide.u32 $dump, $c, {self.frame.dump_bytes}, $dump;")
        if "$table" in used:
            if self.frame.points.grid > 1:
                rows = self.frame.table.shape[1]
                lines.append(f"mad.wide.u32 $table, $c, {rows * self.call.threads * 8}, $table;")
            lines.append("mad.wide.u32 $table, $t, 8, $table;")
        return lines

    def _row(self, number: int) -> int:
        return number * self.call.threads * 8

    def _inputs(self) -> None:
        """Set the registers that the fragment reads."""
        parts = {p.storage: p for p in self.frame.parts}
        for variable, register in self.fragment.inputs.items():
            if variable.kind == "base":
                self._base(parts[variable.name], register)
            else:
                row = self._row(self.frame.row(variable.name))
                self.lines.append(f"ld.global.b{register.bits} {register.name}, [$table+{row}];")

        patterns = executed_family(self.call).scalars(self.call) if self.fragment.scalars else {}
        for name, (held, bits) in self.fragment.scalars.items():
            self.lines.append(f"mov.b{max(bits, 16)} {held}, {patterns[name]:#x};")

    def _base(self, part: Part, register: Register) -> None:
        if part.space == "global":
            whole = f"$dump, {part.dump + part.at}" if part.written else f"$ocean, {part.ocean + part.at}"
            self.lines.append(f"add.s64 {register.name}, {whole};")
        else:
            kind = "u64" if register.bits == 64 else "u32"
            self.lines += [
                f"mov.{kind} {register.name}, {self._array(part)};",
                f"add.{kind} {register.name}, {register.name}, {part.at};",
            ]

    def _exact(self, part: Part) -> bool:
        return part.storage in self.fragment.exact

    def _array(self, part: Part) -> str:
        return f"{self.name}_{part.storage}"

    def _prepare(self, part: Part) -> None:
        """Fill what the fragment reads with tags, and what it only writes with poison."""
        if part.space == REGISTERS:
            if part.read:
                self.copies.own("$ocean", part.ocean, part.size)
                self.copies.into_registers(_registers(part), part.width)
                if part.mask is not None:
                    self.copies.mask_registers(_registers(part), part.width, part.mask)
            else:
                # Poison, which is what the dump holds so far.
                self.copies.own("$dump", part.dump, part.size)
                self.copies.into_registers(_registers(part), part.width)
        elif part.space == "const":
            words = ",".join(map(str, region(part.size).view("u4").tolist()))
            of = f"{self._array(part)}[{part.size // 4}]"
            self.variables += f".const .align {_alignment(part)} .b32 {of} = {{{words}}};\n"
        elif part.space == "shared":
            self.copies.fill_shared(self._array(part), part.size, part.ocean if part.read else None)
        elif part.space == "local":
            if part.read:
                self.copies.own("$ocean", part.ocean, part.size)
            self.copies.fill_local(self._array(part), part.size, tagged=part.read)

    def _dump(self, part: Part) -> None:
        if part.space == "shared":
            self.copies.dump_shared(self._array(part), part.size, part.dump)
        elif part.per_thread:
            self.copies.own("$dump", part.dump, part.size)
            if part.space == REGISTERS:
                self.copies.from_registers(_registers(part), part.width)
            else:
                self.copies.dump_local(self._array(part), part.size)


def _registers(part: Part) -> list[str]:
    return [names.slot(part.storage, number) for number in part.numbers]


def _alignment(part: Part) -> int:
    """Such that the base, which stands ``at`` bytes in, is a multiple of what is known and of no more."""
    return max(16, 2 * part.at)
