"""A kernel as a PTX module: directives and declarations, parameters, statements (PTX ISA 4.3, 5, 11)."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tileproof.contracts.architectures import PtxVersion, architecture
from tileproof.contracts.grammar import Form
from tileproof.contracts.statement import Statement
from tileproof.emit import names
from tileproof.emit.code import INDENT, Code
from tileproof.emit.fragment import summary, write
from tileproof.emit.lower import Lowering, width_of
from tileproof.emit.plan import Slots
from tileproof.emit.registers import REGISTER_TYPES, Register, base_register, register_type, symbol_register
from tileproof.emit.statements import (
    Apply,
    Body,
    Definition,
    Fill,
    Loop,
    Raw,
    When,
    calls,
    loops,
    raw_statements,
)
from tileproof.errors import EmissionError
from tileproof.layouts.index import Index, Relation, negate
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.tensor import Storage, Tensor

CLUSTERS = ((7, 8), 90)
"""The PTX ISA version and the architecture that clusters need (PTX ISA 11.7.1, ``.reqnctapercluster``)."""

WIDE_REGISTERS = (8, 3)
"""The PTX ISA version that 128-bit registers need (PTX ISA 5.2.1 and 13.8, ``.b128``)."""


def module_text(kernel: Definition, arch: str) -> str:
    """The module for one architecture. Raises :class:`EmissionError` for what the architecture lacks."""
    reason = lacking(kernel, arch)
    if reason is not None:
        raise EmissionError(f"kernel {kernel.name}: {reason}")
    version = _version(kernel, arch)
    registers = _registers(kernel)
    _demand_distinct(kernel, registers)
    code = Code()
    _load_parameters(kernel, code)
    exact = _exact(kernel)
    _Writer(code, exact).write(kernel.body, Lowering(code, registers))
    code.put("ret;")
    cluster = kernel.launch.cluster
    return "\n".join(
        [
            f".version {version[0]}.{version[1]}",
            f".target {arch}",
            ".address_size 64",
            "",
            f".visible .entry {kernel.name}(",
            ",\n".join(f"{INDENT}{_parameter(item)}" for item in kernel.parameters),
            ")",
            f".reqntid {_extents(kernel.launch.block)}",
            *([f".reqnctapercluster {_extents(cluster)}"] if cluster else []),
            "{",
            *_declarations(kernel, registers, exact),
            *code.declarations(),
            "",
            *code.lines,
            "}",
            "",
        ]
    )


def _extents(extents: tuple[int, int, int]) -> str:
    return ", ".join(map(str, extents))


def lacking(kernel: Definition, arch: str) -> str | None:
    """Why the architecture cannot run the kernel, or ``None``."""
    forms = [planned.report.call.form for planned in calls(kernel.body)]
    instructions: list[Form | Statement] = [*forms, *raw_statements(kernel.body)]
    for instruction in instructions:
        reason = instruction.unsupported_reason(arch)
        if reason is not None:
            return reason
    if kernel.launch.cluster and architecture(arch).number < CLUSTERS[1]:
        return f"clusters need sm_{CLUSTERS[1]} or later, and the target is {arch}"
    return None


def _version(kernel: Definition, arch: str) -> PtxVersion:
    """The oldest ``.version`` that has all that the kernel uses."""
    versions = [planned.report.call.form.ptx_version_on(arch) for planned in calls(kernel.body)]
    versions += [statement.ptx_version_on(arch) for statement in raw_statements(kernel.body)]
    versions += [CLUSTERS[0]] if kernel.launch.cluster else []
    versions += [WIDE_REGISTERS] if any(file.bits == 128 for file in kernel.registers) else []
    return max(architecture(arch).ptx_version, kernel.ptx_version, *versions)


def _registers(kernel: Definition) -> dict[Leaf, Register]:
    """Where symbols, base addresses and loop counters are."""
    found: dict[Leaf, Register] = {}
    for item in (*kernel.parameters, *kernel.variables):
        if isinstance(item, Tensor):
            found[item.storage.base.args[0]] = base_register(item.storage)
        else:
            found[item.args[0]] = symbol_register(item.args[0])
    for loop in loops(kernel.body):
        found[loop.counter] = found[loop.turn] = symbol_register(loop.turn)
    return found


def _demand_distinct(kernel: Definition, registers: dict[Leaf, Register]) -> None:
    """Two names of the author's may become one in PTX, as the symbol ``R_6`` and slot 6 of ``R`` do."""
    names.demand_distinct(
        [
            *((register.name, f"the {v.kind} {v.name}") for v, register in registers.items()),
            *(
                (names.slot(file.tensor.name, number), f"slot {number} of {file.tensor.name}")
                for file in kernel.registers
                for number in range(file.slots)
            ),
        ]
    )


def _parameter(item: Tensor | Index) -> str:
    if isinstance(item, Tensor):
        return f".param .u64 .ptr .global .align {item.storage.align} {item.name}"
    variable: Leaf = item.args[0]
    return f".param .s{symbol_register(variable).bits} {variable.name}"


def _exact(kernel: Definition) -> set[Storage]:
    """The registers that some instruction takes in just the width of an element."""
    operands = (operand for planned in calls(kernel.body) for operand in planned.issues[0])
    return {operand.storage for operand in operands if isinstance(operand, Slots) and operand.exact}


def _declarations(
    kernel: Definition, registers: dict[Leaf, Register], exact: Collection[Storage]
) -> Iterator[str]:
    for tensor in kernel.variables:
        storage = tensor.storage
        yield f"{INDENT}.{storage.space} .align {storage.align} .b8 {tensor.name}[{storage.size!r}];"
    for file in kernel.registers:
        name = names.register(file.tensor.name)
        kind = register_type(file.bits, file.tensor.storage in exact)
        yield f"{INDENT}.reg .{kind} {name}_<{file.slots}>;"
    for register in dict.fromkeys(registers.values()):
        yield f"{INDENT}.reg .b{register.bits} {register.name};"


def _load_parameters(kernel: Definition, code: Code) -> None:
    for item in kernel.parameters:
        if isinstance(item, Tensor):
            held = base_register(item.storage)
            code.put(f"ld.param.u64 {held.name}, [{item.name}];")
            code.put(f"cvta.to.global.u64 {held.name}, {held.name};")
        else:
            held = symbol_register(item.args[0])
            code.put(f"ld.param.s{held.bits} {held.name}, [{item.args[0].name}];")
    for tensor in kernel.variables:
        held = base_register(tensor.storage)
        code.put(f"mov.u{held.bits} {held.name}, {tensor.name};")


class _Writer:
    """Writes statements; labels are numbered in the order of the text."""

    def __init__(self, code: Code, exact: Collection[Storage]) -> None:
        self.code = code
        self.exact = exact
        self.labels = 0

    def write(self, body: Body, lowering: Lowering) -> None:
        for statement in body:
            match statement:
                case Fill():
                    self._fill(statement)
                case Raw(text=text):
                    self.code.put(text)
                case Apply(plan=planned):
                    for line in summary(planned.report):
                        self.code.comment(line)
                    write(planned, lowering)
                case When():
                    self._when(statement, lowering)
                case Loop():
                    self._loop(statement, lowering)

    def _fill(self, fill: Fill) -> None:
        bits, pattern = fill.file.bits, fill.pattern
        for number in range(fill.file.slots):
            target = names.slot(fill.file.tensor.name, number)
            if bits == 128:
                low, high = (
                    self.code.compute("mov.b64", "b64", f"0x{word:016X}")
                    for word in (pattern % (1 << 64), pattern >> 64)
                )
                self.code.put(f"mov.b128 {target}, {{{low}, {high}}};")
            elif register_type(bits, fill.file.tensor.storage in self.exact) == "b8":
                self.code.put(f"cvt.u8.u16 {target}, {pattern};")  # mov takes no bytes (PTX ISA 9.7.9.3)
            else:
                self.code.put(f"mov.{REGISTER_TYPES[bits]} {target}, 0x{pattern:0{bits // 4}X};")

    def _when(self, when: When, lowering: Lowering) -> None:
        end = self._label("end")
        self._leave_unless(when.condition, lowering, end)
        self.write(when.body, lowering.nested())
        self.code.label(end)

    def _loop(self, loop: Loop, lowering: Lowering) -> None:
        again, end = self._label("loop"), self._label("end")
        held, inside = symbol_register(loop.turn), lowering.nested()
        self.code.put(f"mov.b{held.bits} {held.name}, 0;")
        self.code.label(again)
        self._leave_unless(loop.goes_on, inside, end)
        self.write(loop.body, inside)
        self.code.put(f"add.s{held.bits} {held.name}, {held.name}, 1;")
        self.code.put(f"bra {again};")
        self.code.label(end)

    def _leave_unless(self, condition: Relation, lowering: Lowering, label: str) -> None:
        relation = negate(condition)
        self.code.put(f"@{lowering.predicate(relation, width_of(relation))} bra {label};")

    def _label(self, word: str) -> str:
        self.labels += 1
        return f"${word}_{self.labels}"
