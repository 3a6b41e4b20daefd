"""A kernel as a PTX module: directives and declarations, parameters, statements (PTX ISA 4.3, 5, 11)."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tileproof.contracts.architectures import PtxVersion, architecture
from tileproof.contracts.grammar import Form
from tileproof.contracts.statement import Statement
from tileproof.emit import mbarrier, names, shared
from tileproof.emit.code import INDENT, Code
from tileproof.emit.fragment import account, write
from tileproof.emit.lower import Lowering, width_of
from tileproof.emit.plan import Plan, Slots
from tileproof.emit.registers import (
    REGISTER_TYPES,
    Register,
    base_register,
    register_type,
    scalar_register,
    symbol_register,
)
from tileproof.emit.statements import (
    Apply,
    Assume,
    Barrier,
    Body,
    Definition,
    Fill,
    Loop,
    Note,
    Parameter,
    Raw,
    When,
    barriers,
    calls,
    loops,
    raw_statements,
)
from tileproof.errors import EmissionError
from tileproof.layouts.index import Index, Relation, negate
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.tensor import Storage, Tensor
from tileproof.scalars.expression import Scalar

CLUSTERS = ((7, 8), 90)
"""The PTX ISA version and the architecture that clusters need (PTX ISA 11.7.1, ``.reqnctapercluster``)."""

WIDE_REGISTERS = (8, 3)
"""The PTX ISA version that 128-bit registers need (PTX ISA 5.2.1 and 13.8, ``.b128``)."""


def module_text(kernel: Definition, arch: str, comments: bool = True) -> str:
    """The module for one architecture, with or without ``comments`` that name the proof of each instruction.

    Raises :class:`EmissionError` for what the architecture lacks.
    """
    reason = lacking(kernel, arch)
    if reason is not None:
        raise EmissionError(f"kernel {kernel.name}: {reason}")
    version = _version(kernel, arch)
    registers = _registers(kernel)
    _demand_distinct(kernel, registers)
    code = Code()
    _load_parameters(kernel, code)
    exact = _exact(kernel)
    _Writer(code, exact, comments).write(kernel.body, Lowering(code, registers))
    code.put("ret;")
    cluster = kernel.launch.cluster
    return "\n".join(
        [
            f".version {version[0]}.{version[1]}",
            f".target {arch}",
            ".address_size 64",
            "",
            *_dynamic_array(kernel),
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


def _instructions(kernel: Definition) -> Iterator[Form | Statement]:
    """All that the instruction table knows of what the kernel uses."""
    yield from (planned.report.call.form for planned in calls(kernel.body))
    yield from raw_statements(kernel.body)
    yield from map(mbarrier.statement, barriers(kernel.body))


def lacking(kernel: Definition, arch: str) -> str | None:
    """Why the architecture cannot run the kernel, or ``None``."""
    for instruction in _instructions(kernel):
        reason = instruction.unsupported_reason(arch)
        if reason is not None:
            return reason
    if kernel.launch.cluster and architecture(arch).number < CLUSTERS[1]:
        return f"clusters need sm_{CLUSTERS[1]} or later, and the target is {arch}"
    return shared.lacking(kernel.static_shared, kernel.dynamic, arch)


def _version(kernel: Definition, arch: str) -> PtxVersion:
    """The oldest ``.version`` that has all that the kernel uses."""
    versions = [instruction.ptx_version_on(arch) for instruction in _instructions(kernel)]
    versions += [CLUSTERS[0]] if kernel.launch.cluster else []
    versions += [WIDE_REGISTERS] if any(file.bits == 128 for file in kernel.registers) else []
    return max(architecture(arch).ptx_version, kernel.ptx_version, *versions)


def _registers(kernel: Definition) -> dict[Leaf, Register]:
    """Where symbols, base addresses and loop counters are."""
    found: dict[Leaf, Register] = {}
    for item in (*kernel.parameters, *kernel.variables, *kernel.dynamic):
        if isinstance(item, Tensor):
            found[item.storage.base.args[0]] = base_register(item.storage)
        elif isinstance(item, Index):
            found[item.args[0]] = symbol_register(item.args[0])
    for loop in loops(kernel.body):
        found[loop.counter] = found[loop.turn] = symbol_register(loop.turn)
    return found


def _typed_scalars(kernel: Definition) -> list[Scalar]:
    return [item for item in kernel.parameters if isinstance(item, Scalar)]


def _demand_distinct(kernel: Definition, registers: dict[Leaf, Register]) -> None:
    names.demand_distinct(
        [
            *((register.name, f"the {v.kind} {v.name}") for v, register in registers.items()),
            *((scalar_register(s).name, f"the scalar {s.value}") for s in _typed_scalars(kernel)),
        ],
        [(file.tensor.name, range(file.slots)) for file in kernel.registers],
    )


def _dynamic_name(kernel: Definition) -> str:
    """No other name has a dollar in it."""
    return f"{kernel.name}$dynamic"


def _dynamic_array(kernel: Definition) -> list[str]:
    """The array that all of dynamic shared memory is; its ``.align`` is that of its base (PTX ISA 5.4.5)."""
    if not kernel.dynamic:
        return []
    return [f".extern .shared .align {shared.alignment(kernel.dynamic)} .b8 {_dynamic_name(kernel)}[];", ""]


def _parameter(item: Parameter) -> str:
    if isinstance(item, Tensor):
        return f".param .u64 .ptr .global .align {item.storage.align} {item.name}"
    if isinstance(item, Scalar):
        return f".param .b{scalar_register(item).bits} {item.value}"
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
    typed = [scalar_register(item) for item in _typed_scalars(kernel)]
    for register in dict.fromkeys((*registers.values(), *typed)):
        yield f"{INDENT}.reg .b{register.bits} {register.name};"


def _load_parameters(kernel: Definition, code: Code) -> None:
    for item in kernel.parameters:
        if isinstance(item, Tensor):
            held = base_register(item.storage)
            code.put(f"ld.param.u64 {held.name}, [{item.name}];")
            code.put(f"cvta.to.global.u64 {held.name}, {held.name};")
        elif isinstance(item, Scalar):
            held = scalar_register(item)
            code.put(f"ld.param.b{held.bits} {held.name}, [{item.value}];")
        else:
            held = symbol_register(item.args[0])
            code.put(f"ld.param.s{held.bits} {held.name}, [{item.args[0].name}];")
    for tensor in kernel.variables:
        held = base_register(tensor.storage)
        code.put(f"mov.u{held.bits} {held.name}, {tensor.name};")
    for tensor, offset in shared.placed(kernel.dynamic):
        held = base_register(tensor.storage)
        code.put(f"mov.u{held.bits} {held.name}, {_dynamic_name(kernel)}{f'+{offset}' if offset else ''};")


class _Writer:
    """Writes statements; labels and calls are numbered in the order of the text."""

    def __init__(self, code: Code, exact: Collection[Storage], comments: bool) -> None:
        self.code = code
        self.exact = exact
        self.comments = comments
        self.labels = 0
        self.calls = 0

    def write(self, body: Body, lowering: Lowering) -> None:
        for statement in body:
            match statement:
                case Fill():
                    self._fill(statement)
                case Raw(text=text):
                    self.code.put(text)
                case Note(text=text):
                    if self.comments:
                        self.code.comment(text)
                case Assume():
                    pass
                case Apply(plan=planned):
                    self._call(planned, lowering)
                case Barrier():
                    mbarrier.write(statement, self.code, lowering, self._label)
                case When():
                    self._when(statement, lowering)
                case Loop():
                    self._loop(statement, lowering)

    def _call(self, planned: Plan, lowering: Lowering) -> None:
        number = self.calls
        self.calls += 1
        if not self.comments:
            write(planned, lowering)
            return
        for line in account(planned.report, number):
            self.code.comment(line)
        write(planned, lowering, f"call {number}")

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
