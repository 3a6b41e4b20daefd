"""Instructions on registers over a table of operands: what hardware computes from chosen bit patterns.

Every thread loads the registers that the instruction reads from its row of the table, executes it, and dumps the
registers that it writes. A register has 16 bytes in either; above its own width a row is zero and a dump poison.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt

from tileproof.contracts.family.arithmetic import MNEMONICS
from tileproof.contracts.grammar import Form, enumerate_spellings, shapes
from tileproof.fuzz.execute.entry import OCEAN_ALIGN, Bytes, Entry
from tileproof.scalars.operations import OPERATIONS, SELECT, SHIFTS
from tileproof.scalars.types import TYPES

SLOT = 16
"""Bytes of a register in tables and dumps."""

_LETTERS = {8: "b", 16: "h", 32: "r", 64: "d", 128: "q"}


@dataclass(frozen=True)
class Register:
    """One register of an operand: its name in maps, its bits, and the type of the number in it."""

    name: str
    bits: int
    type: str


@dataclass(frozen=True)
class RegisterForm:
    """An instruction with one of its lists of operands; ``label`` is its text, as in ``mov.b32 d, {a0, a1}``."""

    spelling: str
    label: str
    written: tuple[Register, ...]
    read: tuple[Register, ...]

    @property
    def name(self) -> str:
        return "registers_" + "".join(c if c.isalnum() else "_" for c in self.label)


@cache
def register_forms(arch: str = "sm_90a") -> tuple[RegisterForm, ...]:
    """Every form of the register instructions that a target has, but ``mov.pred``, and whatever else the functions
    of ``ewise`` are built of.
    """
    spelled = (s for mnemonic in MNEMONICS for s in enumerate_spellings(mnemonic))
    forms = (form for spelling in spelled for form in shapes(spelling))
    found = {
        made.label: made
        for made in (register_form(f) for f in forms if f.supports(arch) and f.get("type") != "pred")
    }
    for made in _ewise_forms():
        found.setdefault(made.label, made)
    return tuple(found.values())


def _ewise_forms() -> Iterator[RegisterForm]:
    for operation in OPERATIONS.values():
        for dtype, instruction in operation.forms.items():
            kind = Register("", TYPES[dtype].bits, _ptx_type(instruction.opcode))
            names = "abc"[: operation.operands]
            read = [replace(kind, name=name) for name in names]
            if operation.name in SHIFTS:
                read[1] = Register("b", 32, "u32")
            written = Register("d", 8, "pred") if operation.result == "bool" else replace(kind, name="d")
            yield _plain(instruction.opcode, written, read)
    for dtype, instruction in SELECT.items():
        kind = Register("d", TYPES[dtype].bits, _ptx_type(instruction.opcode))
        yield _plain(
            instruction.opcode,
            kind,
            [replace(kind, name="a"), replace(kind, name="b"), Register("c", 8, "pred")],
        )


def _plain(spelling: str, written: Register, read: Sequence[Register]) -> RegisterForm:
    # Predicates are told by their type; a table has one byte for each.
    one_byte = [replace(r, bits=8) if r.type == "pred" else r for r in (written, *read)]
    label = f"{spelling} {', '.join(r.name for r in one_byte)}"
    return RegisterForm(spelling, label, (one_byte[0],), tuple(one_byte[1:]))


def _ptx_type(opcode: str) -> str:
    return opcode.rpartition(".")[2]


def register_form(form: Form) -> RegisterForm:
    """The registers of a form of the instruction table."""
    written: list[Register] = []
    read: list[Register] = []
    text: list[str] = []
    for operand in form.operands:
        type_ = form.get("to" if operand.access == "written" else "from") or form.get("type") or ""
        group = operand.registers > 1
        names = [f"{operand.name}{n}" if group else operand.name for n in range(operand.registers)]
        kind = f"b{operand.bits}" if form.mnemonic == "mov" or operand.bits != _width(type_) else type_
        here = written if operand.access == "written" else read
        here += [Register(name, operand.bits, kind) for name in names]
        text.append(f"{{{', '.join(names)}}}" if group else names[0])
    return RegisterForm(form.spelling, f"{form.spelling} {', '.join(text)}", tuple(written), tuple(read))


def _width(type_: str) -> int:
    """Bits of a register of a type, by its name."""
    scalar, _, pair = type_.partition("x")
    if scalar.startswith("e"):
        return 8 * int(pair or 1)
    if scalar == "tf32":
        return 32
    digits = "".join(c for c in scalar if c.isdigit())
    return int(digits) * int(pair or 1)


def evaluation(form: RegisterForm, operands: Sequence[npt.NDArray[np.uint64]]) -> Entry:
    """The entry that executes the form once in each thread; ``operands`` has, for each register that is read, the
    bits in each thread, shaped ``(thread,)``, of 128-bit registers ``(thread, 2)`` with the low half first.
    """
    threads = len(operands[0])
    rows = np.zeros((threads, len(form.read), SLOT // 8), np.uint64)
    for position, bits in enumerate(operands):
        rows[:, position, : bits.shape[1] if bits.ndim > 1 else 1] = bits.reshape(threads, -1)
    dump = -(-threads * len(form.written) * SLOT // OCEAN_ALIGN) * OCEAN_ALIGN
    return Entry(form.name, kernel(form), (threads, 1, 1), 1, dump, rows.reshape(-1).view(np.uint8))


def results(form: RegisterForm, dump: Bytes, threads: int) -> list[list[int]]:
    """For each thread the bits of each register that was written."""
    slots = dump[0, : threads * len(form.written) * SLOT].reshape(threads, len(form.written), SLOT)
    return [
        [
            int.from_bytes(slot[: register.bits // 8].tobytes(), "little")
            for register, slot in zip(form.written, row, strict=True)
        ]
        for row in slots
    ]


@cache
def kernel(form: RegisterForm) -> str:
    """The PTX of the kernel (without the module's header)."""
    name, move = form.name, form.spelling.startswith("mov")
    held = {r.name: _letter(r, exact=move) + r.name for r in (*form.read, *form.written)}
    types = {"p": "pred", "b": "b8", "h": "b16", "r": "b32", "d": "b64", "q": "b128"}
    body = [
        f".visible .entry {name}(.param .u64 {name}_ocean, .param .u64 {name}_dump, .param .u64 {name}_table)",
        "{",
        ".reg .b32 %thread, %word;",
        ".reg .b64 %dump, %table, %low, %high;",
        *(f".reg .{types[register[0]]} %{register};" for register in held.values()),
        f"ld.param.u64 %dump, [{name}_dump];",
        f"ld.param.u64 %table, [{name}_table];",
        "mov.u32 %thread, %tid.x;",
        f"mad.wide.u32 %table, %thread, {SLOT * len(form.read)}, %table;",
        f"mad.wide.u32 %dump, %thread, {SLOT * len(form.written)}, %dump;",
    ]
    for position, register in enumerate(form.read):
        body += _load(held[register.name], register, f"%table+{SLOT * position}")
    text = re.sub(r"\w+", lambda plain: "%" + held[plain[0]], form.label.removeprefix(form.spelling))
    body.append(f"{form.spelling}{text};")
    for position, register in enumerate(form.written):
        body += _store(held[register.name], register, f"%dump+{SLOT * position}")
    return "\n".join([*body, "ret;", "}"]) + "\n"


def _letter(register: Register, *, exact: bool) -> str:
    if register.type == "pred":
        return "p"
    # Conversions take bytes in wider registers too (PTX ISA 9.4.1); parts of a mov have the exact size.
    return _LETTERS[register.bits if exact else max(16, register.bits)]


def _load(held: str, register: Register, at: str) -> list[str]:
    if register.type == "pred":
        return [f"ld.global.u8 %word, [{at}];", f"setp.ne.u32 %{held}, %word, 0;"]
    if register.bits == 128:
        return [f"ld.global.v2.b64 {{%low, %high}}, [{at}];", f"mov.b128 %{held}, {{%low, %high}};"]
    return [f"ld.global.b{register.bits} %{held}, [{at}];"]


def _store(held: str, register: Register, at: str) -> list[str]:
    if register.type == "pred":
        return [f"selp.u32 %word, 1, 0, %{held};", f"st.global.u8 [{at}], %word;"]
    if register.bits == 128:
        return [f"mov.b128 {{%low, %high}}, %{held};", f"st.global.v2.b64 [{at}], {{%low, %high}};"]
    return [f"st.global.b{register.bits} [{at}], %{held};"]
