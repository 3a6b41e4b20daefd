"""A proven call as PTX text: a block in braces to paste into a kernel, or the instructions of a whole one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product

from tileproof.emit import names
from tileproof.emit.code import Code, comment
from tileproof.emit.lower import Lowering, width_of
from tileproof.emit.plan import Address, Plan, Planned, Slots, plan
from tileproof.emit.registers import REGISTER_TYPES, Register, address_bits, base_register, symbol_register
from tileproof.errors import CallError
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.traverse import leaves
from tileproof.proofs.report import Report

NAMED = 8
"""Longer lists of registers are told by their first and last."""


def emit(report: Report, *, format: str = "ptx") -> str:
    """The instructions of a proven call with their address arithmetic, in braces and with own temporaries.

    The comment above them says what was proved and which registers the code around them provides. There is
    one instruction for each repeat, in row-major order, spelled as the call was.

    Raises :class:`EmissionError` unless the verdict is ``PROVED``; no option changes that.
    """
    if format != "ptx":
        raise CallError(f"unknown format {format!r}; the only one is 'ptx'")
    planned = plan(report)
    registers = _inputs(planned)
    used = [name for position in range(len(planned.issues[0])) for name in _slots_used(planned, position)]
    names.demand_distinct(
        [
            *((register.name, f"the {v.kind} {v.name}") for v, register in registers.items()),
            *((name, f"slot {name[1:]}") for name in used),
        ]
    )
    code = Code()
    write(planned, Lowering(code, registers))
    head = [comment(line) for line in (*summary(report), *_interface(planned, registers))]
    return "\n".join([*head, "{", *code.declarations(), *code.lines, "}"]) + "\n"


def write(planned: Plan, lowering: Lowering, name: str = "") -> None:
    """Write the address arithmetic and the instructions of a call, nothing else.

    With a ``name`` for the call, each instruction has a comment that tells its call and its repeat.
    """
    form = planned.report.call.form
    guard = ""
    if planned.predicate is not None:
        guard = f"@{lowering.predicate(planned.predicate, width_of(planned.predicate))} "
    extents = planned.report.call.repeat_extents
    repeats = product(*map(range, extents))
    bases: dict[tuple[int, int], str] = {}
    braces = [syntax.braced for syntax in form.operands]
    for issue, repeat in zip(planned.issues, repeats, strict=True):
        operands = [
            _text(lowering, operand, braced, bases) for operand, braced in zip(issue, braces, strict=True)
        ]
        turn = f", repeat {', '.join(map(str, repeat))}" if repeat else ""
        told = f"  // {name}{turn}" if name else ""
        lowering.code.put(f"{guard}{form.spelling} {', '.join(operands)};{told}")


def slot_names(operand: Slots) -> list[str]:
    """The PTX registers of a register operand."""
    register = names.register(operand.storage.name)
    return [f"{register}_{number}" for number in operand.numbers]


def _slots_used(planned: Plan, position: int) -> list[str]:
    """The PTX registers of one register operand over all repeats, each once; of another operand none."""
    first = planned.issues[0][position]
    if not isinstance(first, Slots):
        return []
    operands = [issue[position] for issue in planned.issues]
    numbers = dict.fromkeys(n for operand in operands if isinstance(operand, Slots) for n in operand.numbers)
    register = names.register(first.storage.name)
    return [f"{register}_{number}" for number in numbers]


def summary(report: Report) -> Iterator[str]:
    """What was proved, and under which conditions."""
    call, launch = report.call, report.call.launch
    operands = ", ".join(view.name for view in call.operands)
    yield f"{call.form.spelling} ({operands}) at {call.scope} scope: {report.verdict.name}"
    yield "  " + ", ".join(dict.fromkeys(finding.obligation.id for finding in report.findings))
    if launch.active.value is not True:
        yield f"  where {launch.active!r}"
    for assumption in launch.assumptions:
        yield f"  given {assumption!r}"


def account(report: Report, number: int) -> Iterator[str]:
    """The proof of call ``number`` of a kernel: its conditions, and by which method each obligation holds."""
    call, launch = report.call, report.call.launch
    operands = ", ".join(view.name for view in call.operands)
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


def _text(lowering: Lowering, operand: Planned, braced: bool, bases: dict[tuple[int, int], str]) -> str:
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
    held = lowering.operand(operand.value, operand.bits)
    return held if held.startswith("%") else lowering.code.compute("mov.b64", "b64", held)


def _inputs(planned: Plan) -> dict[Leaf, Register]:
    """The registers that the code around a fragment sets."""
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
    yield f"block {call.launch.block}" + (f", cluster {call.launch.cluster}" if call.launch.cluster else "")
    spaces = {o.storage.name: o.storage.space for o in planned.issues[0] if isinstance(o, Address)}
    for variable, register in registers.items():
        is_base = variable.kind == "base"
        meaning = f"the {spaces[variable.name]} address of {variable.name}" if is_base else _range(variable)
        step = f", a multiple of {variable.multiple_of}" if variable.multiple_of > 1 else ""
        yield f"in  {register.name} .b{register.bits}: {meaning}{step}"
    for position, syntax in enumerate(call.form.operands):
        listed = _slots_used(planned, position)
        if listed:
            view = call.operands[position]
            direction = "out" if syntax.access == "written" else "in "
            yield f"{direction} {_listed(listed)} .{REGISTER_TYPES[view.bits]}: {view.name}"


def _range(variable: Leaf) -> str:
    low = "" if variable.lo is None else f"{variable.lo} <= "
    high = "" if variable.hi is None else f" <= {variable.hi}"
    return f"{low}{variable.name}{high}, one value for each {variable.uniform}"


def _listed(registers: Iterable[str]) -> str:
    every = list(registers)
    if len(every) <= NAMED:
        return ", ".join(every)
    return f"{every[0]} ... {every[-1]} ({len(every)} registers)"
