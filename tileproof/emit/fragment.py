"""A proven call as PTX text: a block in braces to paste into a kernel, or the instructions of a whole one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tileproof.contracts.call import Call
from tileproof.contracts.family.ewise import MNEMONIC as EWISE
from tileproof.contracts.issue import Constant, Named, Predicate
from tileproof.contracts.literals import BIT_PATTERNS, type_bits
from tileproof.emit import names
from tileproof.emit.code import Code, TemporaryKind, comment, origin
from tileproof.emit.lower import Lowering, width_of
from tileproof.emit.plan import Address, Plan, Slots, Value, plan
from tileproof.emit.registers import (
    Register,
    address_bits,
    base_register,
    register_type,
    scalar_register,
    symbol_register,
)
from tileproof.emit.scalars import scalar_registers, write_ewise
from tileproof.errors import CallError
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.traverse import leaves
from tileproof.proofs.report import Report
from tileproof.scalars.expression import variable as typed_variable

FORMATS = ("ptx", "cuda")

NAMED = 8
"""Longer lists of registers are told by their first and last."""


def emit(report: Report, *, format: str = "ptx", name: str | None = None) -> str:
    """The instructions of a proven call with their address arithmetic, one instruction for each repeat in
    row-major order, spelled as the call was.

    ``ptx`` is a block in braces with own temporaries. The comment above it says what was proved and which
    registers the code around it provides. ``cuda`` is a CUDA C++ function around the same block, called
    ``name`` or after the opcode; see :mod:`tileproof.emit.cuda`.

    Raises :class:`EmissionError` unless the verdict is ``PROVED``; no option changes that.
    """
    if format not in FORMATS:
        raise CallError(f"unknown format {format!r}; the formats are {' and '.join(map(repr, FORMATS))}")
    planned = plan(report)
    if format == "cuda":
        from tileproof.emit.cuda import source

        return source([(planned, name)])
    if name is not None:
        raise CallError("name= is for format='cuda'; a block of PTX has no name")
    registers = inputs(planned)
    code = body(planned, registers)
    head = [comment(line) for line in (*summary(report), *_interface(planned, registers))]
    return "\n".join([*head, "{", *code.declarations(), *code.lines, "}"]) + "\n"


def body(planned: Plan, registers: Mapping[Leaf, Register]) -> Code:
    """The statements of a fragment, which read ``registers``. Raises :class:`EmissionError` for names that clash."""
    names.demand_distinct(
        [
            *((register.name, f"the {v.kind} {v.name}") for v, register in registers.items()),
            *((register.name, f"the scalar {n}") for n, (register, _) in typed_scalars(planned).items()),
        ],
        [
            (operand.storage.name, frozenset(numbers))
            for operand, numbers in zip(planned.issues[0], planned.slots, strict=True)
            if isinstance(operand, Slots)
        ],
    )
    code = Code()
    write(planned, Lowering(code, registers))
    return code


def write(planned: Plan, lowering: Lowering, name: str = "") -> None:
    """Write the address arithmetic and the instructions of a call, nothing else.

    With a ``name`` for the call, each instruction has a comment that tells its call and its repeat.
    """
    form = planned.report.call.form
    if form.mnemonic == EWISE:
        write_ewise(planned, lowering.code, name)
        return
    guard = ""
    if planned.predicate is not None:
        guard = f"@{lowering.predicate(planned.predicate, width_of(planned.predicate))} "
    bases: dict[tuple[int, int], str] = {}
    braces = [syntax.braced for syntax in form.operands]
    for issue, repeat in zip(planned.issues, planned.repeats, strict=True):
        operands = [
            _text(lowering, operand, braced, bases)
            for operand, braced in zip(issue, braces, strict=True)
            if operand is not None
        ]
        lowering.code.put(f"{guard}{form.spelling} {', '.join(operands)};{origin(name, repeat)}")


def slot_names(operand: Slots) -> list[str]:
    """The PTX registers of a register operand."""
    register = names.register(operand.storage.name)
    return [f"{register}_{number}" for number in operand.numbers]


def summary(report: Report) -> Iterator[str]:
    """What was proved, and under which conditions."""
    call, launch = report.call, report.call.launch
    operands = ", ".join(call.written)
    yield f"{call.form.spelling} ({operands}) at {call.scope} scope: {report.verdict.name}"
    yield "  " + ", ".join(dict.fromkeys(finding.obligation.id for finding in report.findings))
    if launch.active.value is not True:
        yield f"  where {launch.active!r}"
    for assumption in launch.assumptions:
        yield f"  given {assumption!r}"


def account(report: Report, number: int) -> Iterator[str]:
    """The proof of call ``number`` of a kernel: its conditions, and by which method each obligation holds."""
    call, launch = report.call, report.call.launch
    operands = ", ".join(call.written)
    yield f"call {number}: {call.form.spelling} ({operands}) at {call.scope} scope: {report.verdict.name}"
    methods: dict[str, dict[str, None]] = {}
    for finding in report.findings:
        methods.setdefault(finding.method, {})[finding.obligation.id] = None
    for method, obligations in methods.items():
        yield f"  by {method}: {', '.join(obligations)}"
    if launch.active.value is not True:
        yield f"  where {launch.active!r}"
    for assumption in launch.assumptions:
        yield f"  given {assumption!r}"


def _text(
    lowering: Lowering,
    operand: Slots | Address | Value | Constant | Named | Predicate,
    braced: bool,
    bases: dict[tuple[int, int], str],
) -> str:
    """An operand as text; ``bases`` keeps the registers of addresses that are computed."""
    if isinstance(operand, Slots):
        listed = ", ".join(slot_names(operand))
        return f"{{{listed}}}" if braced else listed
    if isinstance(operand, Address):
        storage = operand.storage
        key = storage.base.uid, operand.runtime.uid
        at = bases.get(key)
        if at is None:
            at = bases[key] = lowering.address(
                storage.base, operand.runtime, operand.bits, address_bits(storage)
            )
        return f"[{at}+{operand.displacement}]" if operand.displacement else f"[{at}]"
    if isinstance(operand, Named):
        return names.register(operand.name)
    if isinstance(operand, Constant):
        return literal(operand) or lowering.constant(operand.pattern, type_bits(operand.type))
    if isinstance(operand, Predicate):
        return lowering.predicate(operand.relation, width_of(operand.relation))
    held = lowering.number(operand.value, operand.bits)
    if operand.immediate or held.startswith("%"):
        return held
    kind: TemporaryKind = "b64" if operand.bits == 64 else "b32"
    return lowering.code.compute(f"mov.{kind}", kind, held)


def literal(constant: Constant) -> str | None:
    """A number as an immediate; nothing for a type of which the assembler takes none.

    Those are 16-bit floats and packed pairs (ptxas 13.5: "Arguments mismatch"), so a register has to hold them.
    """
    bits = type_bits(constant.type)
    match constant.type:
        case "f32":
            return f"0f{constant.pattern:08X}"
        case "f64":
            return f"0d{constant.pattern:016X}"
        case "f16" | "bf16":
            return None
        case packed if packed in BIT_PATTERNS:
            return (
                f"0x{constant.pattern:0{bits // 4}X}"
                if packed.startswith("b") and packed[1:].isdigit()
                else None
            )
        case integer:
            signed = integer.startswith("s") and constant.pattern >> (bits - 1)
            return str(constant.pattern - (1 << bits) if signed else constant.pattern)


def typed_scalars(planned: Plan) -> dict[str, tuple[Register, str]]:
    """The typed scalars that a call reads: by name the register that holds each, and its type."""
    named = (typed_variable(o.name, o.dtype) for o in planned.issues[0] if isinstance(o, Named))
    return {str(v.value): (scalar_register(v), v.dtype) for v in named} | scalar_registers(planned)


def inputs(planned: Plan) -> dict[Leaf, Register]:
    """The registers that the code around a fragment sets: base addresses, then symbols."""
    found = {}
    for operand in planned.issues[0]:
        if isinstance(operand, Address):
            found[operand.storage.base.args[0]] = base_register(operand.storage)
    for variable in leaves(*planned.expressions):
        if variable.kind == "symbol" and not variable.name.startswith("%"):
            found[variable] = symbol_register(variable)
    return found


def _interface(planned: Plan, registers: Mapping[Leaf, Register]) -> Iterator[str]:
    """The block that the fragment is for, and the registers that are declared, set and read around it."""
    call = planned.report.call
    yield launch_of(call)
    for variable, register in registers.items():
        yield f"in  {register.name} .b{register.bits}: {meaning(planned, variable)}"
    for name, (register, dtype) in typed_scalars(planned).items():
        yield f"in  {register.name} .b{register.bits}: the {dtype} {name}"
    for position, syntax in enumerate(call.form.operands):
        operand = planned.issues[0][position]
        if isinstance(operand, Slots):
            view = call.tensor(position)
            direction = "out" if syntax.access == "written" else "in "
            listed = _listed(names.register(operand.storage.name), planned.slots[position])
            yield f"{direction} {listed} .{register_type(view.bits, operand.exact)}: {view.name}"


def launch_of(call: Call) -> str:
    """The block, and the cluster, that a call is for."""
    return f"block {call.launch.block}" + (f", cluster {call.launch.cluster}" if call.launch.cluster else "")


def meaning(planned: Plan, variable: Leaf) -> str:
    """What a register holds that the code around a fragment sets."""
    spaces = {o.storage.name: o.storage.space for o in planned.issues[0] if isinstance(o, Address)}
    step = f", a multiple of {variable.multiple_of}" if variable.multiple_of > 1 else ""
    if variable.kind == "base":
        return f"the {spaces[variable.name]} address of {variable.name}{step}"
    return f"{_range(variable)}{step}"


def _range(variable: Leaf) -> str:
    low = "" if variable.lo is None else f"{variable.lo} <= "
    high = "" if variable.hi is None else f" <= {variable.hi}"
    return f"{low}{variable.name}{high}, one value for each {variable.uniform}"


def _listed(register: str, numbers: Sequence[int]) -> str:
    if len(numbers) <= NAMED:
        return ", ".join(f"{register}_{number}" for number in numbers)
    return f"{register}_{numbers[0]} ... {register}_{numbers[-1]} ({len(numbers)} registers)"
