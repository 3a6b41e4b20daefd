"""What there is to know of an instruction before it is used: operands, owners, obligations, targets."""

from __future__ import annotations

from collections.abc import Sequence

from tileproof.contracts.architectures import ARCHITECTURES
from tileproof.contracts.families import Family, load
from tileproof.contracts.family import ewise
from tileproof.contracts.grammar import Form, Operand, resolve, shapes, table
from tileproof.contracts.launch import SCOPES
from tileproof.contracts.notation import in_words, syntax_line
from tileproof.contracts.syntax import Instruction
from tileproof.report.catalogue import (
    Entry,
    all_entries,
    entries,
    group_axes,
    natural_scope,
    unsupported_reason,
)
from tileproof.report.instruction_page import availability, instruction_list
from tileproof.report.sections import Section
from tileproof.scalars.operations import OPERATIONS

EWISE_SUMMARY = "compute a typed scalar function of registers, coordinate by coordinate"

RAW_ONLY = "no contract; it may be written raw in a kernel"


def explain(opcode: str) -> list[Section]:
    """All about one form, or, for a bare mnemonic, what its forms are made of.

    Raises :class:`OpcodeError` for a spelling that the instruction table does not know or allow.
    """
    if opcode == ewise.MNEMONIC:
        return _ewise()
    for instruction in table():
        if instruction.mnemonic == opcode:
            return _instruction(instruction)
    form = resolve(opcode)
    return _form(form, next(i for i in table() if i.mnemonic == form.mnemonic))


def catalogue() -> list[Section]:
    """Every instruction, and every obligation by id."""
    return [
        *instruction_list(),
        *(
            _obligations(f"Obligations of {i.mnemonic}", all_entries(i.mnemonic))
            for i in table()
            if i.mnemonic in load()
        ),
        _obligations(f"Obligations of {ewise.MNEMONIC}", all_entries(ewise.MNEMONIC)),
    ]


def catalogue_markdown() -> str:
    """The catalogue as a page of the documentation."""
    lines = [
        "# Obligations",
        "",
        "Each demand that a contract can make, by its stable id. A hazard stands beside the verdict: no",
        "instruction forbids it, but it destroys data. `tileproof explain --markdown` writes this page.",
    ]
    for instruction in table():
        if instruction.mnemonic in load():
            summary = f"{instruction.summary} (PTX ISA {instruction.section})"
            lines += _entry_lines(instruction.mnemonic, summary)
    lines += _entry_lines(ewise.MNEMONIC, f"{EWISE_SUMMARY} ({ewise.REFERENCE})")
    return "\n".join(lines) + "\n"


def _entry_lines(mnemonic: str, summary: str) -> list[str]:
    lines = ["", f"## `{mnemonic}`", summary, "", "| id | demand | from |", "| --- | --- | --- |"]
    for entry in all_entries(mnemonic):
        hazard = " (hazard)" if entry.hazard else ""
        cells = (f"`{entry.id}`{hazard}", entry.sentence, entry.section)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines


def _ewise() -> list[Section]:
    """Scalar functions: the operations that they are made of."""
    rows = []
    for operation in OPERATIONS.values():
        for instruction in dict.fromkeys(operation.forms.values()):
            of = [dtype for dtype, form in operation.forms.items() if form == instruction]
            target = f"sm_{instruction.target} or later" if instruction.target else ""
            notes = "; ".join(note for note in (target, instruction.error) if note)
            rows.append((operation.symbol, ", ".join(of), instruction.opcode, notes))
    return [
        Section(ewise.MNEMONIC, ((f"{EWISE_SUMMARY} ({ewise.REFERENCE})",),)),
        Section("Operations: Python, types, PTX, notes", tuple(rows)),
        _obligations("Obligations", all_entries(ewise.MNEMONIC)),
    ]


def _instruction(instruction: Instruction) -> list[Section]:
    slots = tuple(
        (s.says, "" if s.mandatory else "optional", " ".join(f".{token}" for token in s.tokens))
        for s in instruction.slots
    )
    family = load().get(instruction.mnemonic)
    head = [f"{instruction.summary} (PTX ISA {instruction.section})", syntax_line(instruction)]
    head += [] if family else [RAW_ONLY]
    sections = [Section(instruction.mnemonic, tuple((line,) for line in head))]
    sections += [Section("Qualifiers, in this order", slots)] if slots else []
    rules = (*instruction.rules, *instruction.usage)
    reasons = tuple((reason,) for reason in dict.fromkeys(rule.because for rule in rules))
    sections += [Section("Rules", reasons)] if reasons else []
    sections.append(availability(instruction))
    if family is None:
        return sections
    return [
        *sections,
        _parameters(family),
        _obligations("Obligations", all_entries(instruction.mnemonic)),
    ]


def _form(form: Form, instruction: Instruction) -> list[Section]:
    head = [(f"{instruction.summary} (PTX ISA {form.section})",)]
    family = load().get(form.mnemonic)
    reason = unsupported_reason(form)
    if reason is not None:
        head.append((f"no contract: {reason}" if family else RAW_ONLY,))
    sections = [Section(form.spelling, tuple(head)), _availability(form)]
    if family is None or reason is not None:
        rows = tuple(_operands(form, None))
        return [*sections, *([Section("Operands, in PTX order", rows)] if rows else [])]
    every = entries(form)
    owners = tuple(dict.fromkeys((_formula(e), e.sentence) for e in every if e.owner and e.needed))
    return [
        *sections,
        Section("Operands, in PTX order, each (*group, *repeat, *suffix)", tuple(_operands(form, family))),
        *(
            Section("Or these operands", tuple(_operands(other, family)))
            for other in shapes(form.spelling)[1:]
            if unsupported_reason(other) is None
        ),
        Section("Group axes by scope", tuple(_groups(form, family))),
        *([Section("Owner of a register element", owners)] if owners else []),
        _obligations("Obligations", every),
        _parameters(family),
    ]


def _availability(form: Form) -> Section:
    rows = [("PTX ISA", f"{form.ptx_version[0]}.{form.ptx_version[1]} or later")]
    rows += [
        ("target", f"{need.targets} for {need.what or form.mnemonic}")
        for need in form.needs
        if not all(need.targets.include(target) for target in ARCHITECTURES.values())
    ]
    rows.append(("targets", " ".join(name for name in ARCHITECTURES if form.supports(name)) or "none"))
    return Section("Availability", tuple(rows))


def _operands(form: Form, family: Family | None) -> Sequence[tuple[str, ...]]:
    sample = () if family is None else family.sample(form)
    rows = []
    for position, operand in enumerate(form.operands):
        what = _held(operand) if position < len(sample) else in_words(operand)
        if operand.optional:
            what += "; may be left out"
        suffix = ""
        if position < len(sample):
            view = sample[position].as_view()
            # The sample has one repeat axis and, at its narrowest scope, no group.
            suffix = f"suffix {view.extents[1:]} of {view.bits}-bit elements in {view.tensor.space}"
        rows.append((operand.name, operand.access, what, suffix))
    return rows


def _held(operand: Operand) -> str:
    """What a proven operand is in each thread."""
    match operand.kind:
        case "registers":
            count = "1 register" if operand.registers == 1 else f"{operand.registers} registers"
            return f"{count} of {operand.bits} bits per thread{', in braces' if operand.braced else ''}"
        case "address":
            return "an address"
        case _:
            return in_words(operand)


def _groups(form: Form, family: Family) -> Sequence[tuple[str, ...]]:
    rows = []
    for scope in SCOPES[SCOPES.index(natural_scope(family)) :]:
        axes = ", ".join(group_axes(form, scope))
        rows.append((scope, f"({axes})" if axes else "none"))
    return rows


def _formula(entry: Entry) -> str:
    axis, _, value = entry.needed.partition(" ")
    return f"{axis} = {value}"


def _obligations(title: str, found: Sequence[Entry]) -> Section:
    told = dict.fromkeys((e.id + " (hazard)" * e.hazard, f"{e.sentence}  [{e.section}]") for e in found)
    return Section(title, tuple(told))


def _parameters(family: Family) -> Section:
    return Section("Parameters", tuple(family.parameters.items()))
