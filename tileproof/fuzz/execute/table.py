"""Raw memory instructions over tables of addresses: what hardware does, whoever made up the addresses.

    form = table_form("ldmatrix.sync.aligned.m8n8.x4.shared.b16")
    entry = accesses(form, offsets)              # offsets (cta, repeat, thread), in bytes

The kernel of a form is plain PTX that knows nothing of views: each thread takes an address, and whether it executes
the instruction at all, from the table. So it is assembled once, and all entries of a form have one name and one text;
a module holds it once. Neither contracts nor the emitter have a part in it.

Memory holds tags (:mod:`~tileproof.fuzz.execute.tags`), poison where the instruction writes. Word ``n`` of global
memory, and of shared and constant memory of each CTA, is number ``n``; a thread's local memory has the numbers from
``thread * memory_bytes/4`` on. Registers of a store hold number ``((cta*repeats + repeat)*threads + thread)*words``
and those after it; registers of a load are poison until it writes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from tileproof.fuzz.execute.entry import OCEAN, OCEAN_ALIGN, Bytes, Entry
from tileproof.fuzz.execute.tags import FACTOR, POISON, words

Amount = Literal["", "size", "ignore"]

SHARED_BYTES = 40960
LOCAL_BYTES = 4096
CONST_BYTES = 4096
LOCAL_ALIGN = 16
ALIGN = 512
"""What memory other than local starts at a multiple of, in bytes; no access asks a thread's stack for more than 16."""

_SPACES = {
    "ld": ("global", "shared", "shared::cta", "shared::cluster", "local", "const"),
    "st": ("global", "shared", "shared::cta", "shared::cluster", "local"),
}
_SHARED = ("shared", "shared::cta")
_ACCESSES = (
    *((bits, count) for bits in (8, 16, 32) for count in (1, 2, 4)), (64, 1), (64, 2), (128, 1),
)  # fmt: skip
"""Bits of a register, registers of an access; sm_90a has no access of 256 bits (PTX ISA 9.7.9.8)."""

_HEADER = 8
"""Words of a table before its rows: repeats, base, base of the source, words of memory, bytes of a CTA's dump."""
_ROWS = 4
"""For each repeat and thread: offset, offset in the source, size, active."""


@dataclass(frozen=True)
class TableForm:
    """An instruction as the kernel has it: ``opcode``, and the ``chunk`` bytes and ``amount`` of a ``cp.async``.

    ``registers`` of ``bits`` bits each, none for a copy. ``access`` is what a thread's address stands for, in bytes.
    """

    opcode: str
    kind: Literal["load", "store", "copy"]
    space: str
    registers: int
    bits: int
    access: int
    collective: bool = False
    chunk: int = 0
    amount: Amount = ""

    @property
    def label(self) -> str:
        """The opcode, and after it what operands say of a copy."""
        written = {"": "", "size": ", src-size", "ignore": ", ignore-src"}[self.amount]
        return f"{self.opcode} {self.chunk}{written}" if self.kind == "copy" else self.opcode

    @property
    def name(self) -> str:
        return "table_" + "".join(c if c.isalnum() else "_" for c in self.label)

    @property
    def words(self) -> int:
        """32-bit words in which a thread's registers are dumped, or taken from."""
        return self.registers * max(1, self.bits // 32)

    @property
    def memory_limit(self) -> int:
        """Bytes that its memory can have; global memory that is written is the dump and has no limit here."""
        if self.space == "global":
            return OCEAN
        return {"local": LOCAL_BYTES, "const": CONST_BYTES}.get(self.space, SHARED_BYTES)


@cache
def table_forms() -> tuple[TableForm, ...]:
    """Every form of ``ld``, ``st``, ``ldmatrix``, ``stmatrix`` and ``cp.async`` that moves bits its own way on sm_90a.

    Cache operators, orders and the letter of a type change nothing of what goes where.
    """
    found: list[TableForm] = []
    for mnemonic, kind in (("ld", "load"), ("st", "store")):
        for space in _SPACES[mnemonic]:
            for bits, count in _ACCESSES:
                vector = "" if count == 1 else f".v{count}"
                opcode = f"{mnemonic}.{space}{vector}.b{bits}"
                found.append(TableForm(opcode, kind, space, count, bits, bits * count // 8))  # type: ignore[arg-type]
    for mnemonic, kind in (("ldmatrix", "load"), ("stmatrix", "store")):
        for count in (1, 2, 4):
            for trans in ("", ".trans"):
                for space in _SHARED:
                    opcode = f"{mnemonic}.sync.aligned.m8n8.x{count}{trans}.{space}.b16"
                    found.append(TableForm(opcode, kind, space, count, 32, 16, collective=True))  # type: ignore[arg-type]
    for space in _SHARED:
        for operator, chunk in (("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)):
            for amount in ("", "size", "ignore"):
                opcode = f"cp.async.{operator}.{space}.global"
                found.append(TableForm(opcode, "copy", space, 0, 8 * chunk, chunk, False, chunk, amount))
    return tuple(found)


@cache
def table_form(opcode: str, chunk: int = 0, amount: Amount = "") -> TableForm:
    """The form of an opcode. Raises ``KeyError`` for what :func:`table_forms` has not."""
    for form in table_forms():
        if (form.opcode, form.chunk, form.amount) == (opcode, chunk, amount):
            return form
    raise KeyError(f"no form {opcode} {chunk or ''} {amount}")


def accesses(
    form: TableForm,
    offsets: npt.NDArray[np.int64],
    *,
    active: npt.NDArray[np.bool_] | None = None,
    sources: npt.NDArray[np.int64] | None = None,
    sizes: npt.NDArray[np.int64] | None = None,
    base: int = 0,
    source_base: int = 0,
    memory_bytes: int | None = None,
) -> Entry:
    """The entry in which each thread accesses ``base + offsets``, in bytes, one repeat after another.

    All arrays are shaped ``(cta, repeat, thread)``. ``sources`` are offsets in global memory, and ``sizes`` how many
    bytes are read (or, with ignore-src, whether nothing is), of a copy. ``memory_bytes`` is the size of the memory,
    a multiple of 4. The dump of a load is ``(repeat, thread, word)`` in 32-bit words; that of a store or a copy is
    the memory, of local memory one after another for each thread. It ends at the next multiple of ``OCEAN_ALIGN``.

    Raises ``ValueError`` for an address outside the memory, and for a part of a warp that executes a collective.
    """
    grid, repeats, threads = offsets.shape
    active = np.ones(offsets.shape, bool) if active is None else active
    sources = np.zeros(offsets.shape, np.int64) if sources is None else sources
    sizes = np.zeros(offsets.shape, np.int64) if sizes is None else sizes
    size = memory_bytes or form.memory_limit
    if size % 4 or not 0 < size <= form.memory_limit:
        raise ValueError(
            f"{form.label}: {size} bytes of memory; needed a multiple of 4 up to {form.memory_limit}"
        )
    _demand_inside(form, base + offsets[active], size)
    if form.kind == "copy":
        _demand_inside(form, source_base + sources[active], OCEAN)
    if form.collective:
        warps = active.reshape(grid, repeats, -1, 32) if threads % 32 == 0 else active[..., None]
        if threads % 32 or (warps.any(axis=-1) != warps.all(axis=-1)).any():
            raise ValueError(f"{form.label}: whole warps execute it, and only a part of one is active")
    dump = size * threads if form.space == "local" else size
    dump = repeats * threads * form.words * 4 if form.kind == "load" else dump
    dump = -(-dump // OCEAN_ALIGN) * OCEAN_ALIGN
    header = np.zeros(_HEADER, np.int64)
    header[:5] = repeats, base, source_base, size // 4, dump
    rows = np.stack([offsets, sources, sizes, active], axis=2).astype(np.int64)
    table = np.concatenate([header, rows.reshape(-1)]).view(np.uint8)
    return Entry(form.name, kernel(form), (threads, 1, 1), grid, dump, table, variables(form))


def _demand_inside(form: TableForm, addresses: npt.NDArray[np.int64], size: int) -> None:
    if addresses.size and (addresses.min() < 0 or addresses.max() + form.access > size):
        raise ValueError(
            f"{form.label}: bytes {addresses.min()} to {addresses.max() + form.access} of memory that has {size}"
        )


def poison(size: int) -> Bytes:
    """Memory that nobody has written."""
    return np.full(size, POISON, np.uint8)


def variables(form: TableForm) -> str:
    """Module-scope declarations of the kernel."""
    if form.space != "const":
        return ""
    tagged = ", ".join(str(int(w)) for w in words(np.arange(CONST_BYTES // 4)))
    return f".const .align {ALIGN} .u32 {form.name}_memory[{CONST_BYTES // 4}] = {{{tagged}}};\n"


@cache
def kernel(form: TableForm) -> str:
    """The PTX of the kernel (without the module's header)."""
    name, shared = form.name, form.space.startswith("shared")
    body = [
        f".visible .entry {name}(.param .u64 {name}_ocean, .param .u64 {name}_dump, .param .u64 {name}_table)",
        "{",
        ".reg .pred %more, %active, %ignored;",
        ".reg .b32 %thread, %threads, %cta, %repeat, %repeats, %word, %words, %index, %near, %size;",
        ".reg .b64 %ocean, %dump, %table, %base, %source, %bytes, %row, %step, %at, %from, %memory, %there, %long;",
        ".reg .b32 %w<8>;",
        ".reg .b64 %v<2>;",
    ]
    if form.bits == 128:
        body.append(".reg .b128 %q0;")
    if shared:
        body.append(f".shared .align {ALIGN} .b8 {name}_memory[{SHARED_BYTES}];")
    elif form.space == "local":
        body.append(f".local .align {LOCAL_ALIGN} .b8 {name}_memory[{LOCAL_BYTES}];")
    body += [
        f"ld.param.u64 %ocean, [{name}_ocean];",
        f"ld.param.u64 %dump, [{name}_dump];",
        f"ld.param.u64 %table, [{name}_table];",
        "mov.u32 %thread, %tid.x;",
        "mov.u32 %threads, %ntid.x;",
        "mov.u32 %cta, %ctaid.x;",
        "ld.global.u32 %repeats, [%table];",
        "ld.global.u64 %base, [%table+8];",
        "ld.global.u64 %source, [%table+16];",
        "ld.global.u32 %words, [%table+24];",
        "ld.global.u64 %bytes, [%table+32];",
        # This CTA's part of the dump, and this thread's first row of the table.
        "cvt.u64.u32 %long, %cta;",
        "mad.lo.u64 %dump, %long, %bytes, %dump;",
        "mul.lo.u32 %index, %cta, %repeats;",
        f"mul.lo.u32 %index, %index, {_ROWS};",
        "mad.lo.u32 %index, %index, %threads, %thread;",
        "mad.wide.u32 %row, %index, 8, %table;",
        f"add.u64 %row, %row, {8 * _HEADER};",
        "mul.wide.u32 %step, %threads, 8;",
        *_memory(form),
        "add.u64 %base, %base, %memory;",
        "add.u64 %source, %source, %ocean;",
        "mov.u32 %repeat, 0;",
        "REPEAT:",
        "setp.ge.u32 %more, %repeat, %repeats;",
        "@%more bra DONE;",
        *_access(form),
        f"mad.lo.u64 %row, %step, {_ROWS}, %row;",
        "add.u32 %repeat, %repeat, 1;",
        "bra REPEAT;",
        "DONE:",
        *(["cp.async.wait_all;"] if form.kind == "copy" else []),
        *(["bar.sync 0;"] if shared else []),
        *(_memory_out(form) if form.kind != "load" and form.space != "global" else []),
        "ret;",
        "}",
    ]
    return "\n".join(body) + "\n"


def _memory(form: TableForm) -> list[str]:
    """Puts the address of the memory into ``%memory`` and fills it."""
    if form.space == "global":
        return [f"mov.u64 %memory, {'%ocean' if form.kind == 'load' else '%dump'};"]
    address = [f"mov.u64 %memory, {form.name}_memory;"]
    if form.space == "const":
        return address
    content = [f"mov.u32 %w0, {POISON * 0x01010101};"]
    if form.kind == "load":
        number = "add.u32 %w0, %word, 1;"
        if form.space == "local":
            number = "mad.lo.u32 %w0, %thread, %words, %word;\nadd.u32 %w0, %w0, 1;"
        content = [number, f"mul.lo.u32 %w0, %w0, {FACTOR};"]
    return [*address, *_every_word(form, "FILL", [*content, *_put(form)])]


def _every_word(form: TableForm, label: str, body: list[str]) -> list[str]:
    """A loop over the words of the memory, ``%there`` being the address of word ``%word``."""
    own = form.space == "local"
    return [
        f"mov.u32 %word, {'0' if own else '%thread'};",
        f"{label}:",
        "setp.ge.u32 %more, %word, %words;",
        f"@%more bra {label}_DONE;",
        "mad.wide.u32 %there, %word, 4, %memory;",
        *body,
        f"add.u32 %word, %word, {'1' if own else '%threads'};",
        f"bra {label};",
        f"{label}_DONE:",
        *([] if own else ["bar.sync 0;"]),
    ]


def _put(form: TableForm) -> list[str]:
    if form.space == "local":
        return ["st.local.u32 [%there], %w0;"]
    return ["cvt.u32.u64 %near, %there;", "st.shared.u32 [%near], %w0;"]


def _memory_out(form: TableForm) -> list[str]:
    """Copies the memory to the dump; each thread's own stands after the one of the thread before."""
    if form.space == "local":
        get = ["mad.lo.u32 %index, %thread, %words, %word;", "ld.local.u32 %w0, [%there];"]
    else:
        get = ["mov.u32 %index, %word;", "cvt.u32.u64 %near, %there;", "ld.shared.u32 %w0, [%near];"]
    return _every_word(
        form, "OUT", [*get, "mad.wide.u32 %at, %index, 4, %dump;", "st.global.u32 [%at], %w0;"]
    )


def _access(form: TableForm) -> list[str]:
    """One repeat: the row of the table, the instruction, and the dump of what it loaded."""
    body = [
        "mov.u64 %at, %row;",
        "ld.global.u64 %there, [%at];",
        "add.u64 %at, %at, %step;",
        "ld.global.u64 %from, [%at];",
        "add.u64 %at, %at, %step;",
        "ld.global.u32 %size, [%at];",
        "add.u64 %at, %at, %step;",
        "ld.global.u32 %index, [%at];",
        "setp.ne.u32 %active, %index, 0;",
        "add.u64 %there, %there, %base;",
        "add.u64 %from, %from, %source;",
        "cvt.u32.u64 %near, %there;",
    ]
    address = "[%near]" if form.space.startswith("shared") else "[%there]"
    if form.kind == "copy":
        amount = {"": "", "size": ", %size", "ignore": ", %ignored"}[form.amount]
        return [
            *body,
            "setp.ne.u32 %ignored, %size, 0;",
            f"@%active {form.opcode} {address}, [%from], {form.chunk}{amount};",
        ]
    # The thread's first word among all that are dumped, or that registers are taken from.
    number = ["mad.lo.u32 %index, %repeat, %threads, %thread;"]
    if form.kind == "store":
        number = [
            "mad.lo.u32 %index, %cta, %repeats, %repeat;",
            "mad.lo.u32 %index, %index, %threads, %thread;",
        ]
    body += [*number, f"mul.lo.u32 %index, %index, {form.words};"]
    operands = [_registers(form), address]
    if form.kind == "store":
        for word in range(form.words):
            body += [f"add.u32 %w{word}, %index, {word + 1};", f"mul.lo.u32 %w{word}, %w{word}, {FACTOR};"]
        return [*body, *_gather(form), f"@%active {form.opcode} {operands[1]}, {operands[0]};"]
    body += [f"mov.u32 %w{word}, {POISON * 0x01010101};" for word in range(form.words)]
    body += [*_gather(form), f"@%active {form.opcode} {operands[0]}, {operands[1]};", *_scatter(form)]
    body.append("mad.wide.u32 %at, %index, 4, %dump;")
    return [*body, *(f"st.global.u32 [%at+{4 * word}], %w{word};" for word in range(form.words))]


def _registers(form: TableForm) -> str:
    """The register operand; elements of 8 and 16 bits are in registers of 32 (PTX ISA 9.4.1)."""
    letter = {64: "v", 128: "q"}.get(form.bits, "w")
    names = ", ".join(f"%{letter}{n}" for n in range(form.registers))
    return f"{{{names}}}" if form.registers > 1 or form.collective else names


def _gather(form: TableForm) -> list[str]:
    """From 32-bit words to the instruction's registers."""
    if form.bits < 64:
        return []
    pairs = [f"mov.b64 %v{n}, {{%w{2 * n}, %w{2 * n + 1}}};" for n in range(form.words // 2)]
    return [*pairs, *(["mov.b128 %q0, {%v0, %v1};"] if form.bits == 128 else [])]


def _scatter(form: TableForm) -> list[str]:
    """From the instruction's registers to 32-bit words."""
    if form.bits < 64:
        return []
    pairs = [f"mov.b64 {{%w{2 * n}, %w{2 * n + 1}}}, %v{n};" for n in range(form.words // 2)]
    return [*(["mov.b128 {%v0, %v1}, %q0;"] if form.bits == 128 else []), *pairs]
