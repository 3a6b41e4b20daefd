"""What there is to know of an instruction before it is used: operands, owners, obligations, targets."""

from __future__ import annotations

from collections.abc import Sequence

from tileproof.contracts.architectures import ARCHITECTURES
from tileproof.contracts.families import Family, load
from tileproof.contracts.grammar import Form, resolve, shapes, table
from tileproof.contracts.launch import SCOPES
from tileproof.contracts.syntax import Instruction
from tileproof.report.catalogue import (
    Entry,
    all_entries,
    entries,
    group_axes,
    natural_scope,
    unsupported_reason,
)
from tileproof.report.sections import Section


def explain(opcode: str) -> list[Section]:
    """All about one form, or, for a bare mnemonic, what its forms are made of.

    Raises :class:`OpcodeError` for a spelling that the instruction table does not know or allow.
    """
    for instruction in table():
        if instruction.mnemonic == opcode:
            return _instruction(instruction)
    form = resolve(opcode)
    return _form(form, next(i for i in table() if i.mnemonic == form.mnemonic))


def catalogue() -> list[Section]:
    """Every instruction, and every obligation by id."""
    rows = tuple(
        (
            i.mnemonic,
            "contract" if i.mnemonic in load() else "no contract",
            f"{i.summary} (PTX ISA {i.section})",
        )
        for i in table()
    )
    return [
        Section("Instructions", rows),
        *(
            _obligations(f"Obligations of {i.mnemonic}", all_entries(i.mnemonic))
            for i in table()
            if i.mnemonic in load()
        ),
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
        if instruction.mnemonic not in load():
            continue
        lines += [
            "",
            f"## `{instruction.mnemonic}`",
            f"{instruction.summary} (PTX ISA {instruction.section})",
            "",
        ]
        lines += ["| id | demand | from |", "| --- | --- | --- |"]
        for entry in all_entries(instruction.mnemonic):
            hazard = " (hazard)" if entry.hazard else ""
            cells = (f"`{entry.id}`{hazard}", entry.sentence, entry.section)
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _instruction(instruction: Instruction) -> list[Section]:
    slots = tuple(
        (s.says, "" if s.mandatory else "optional", " ".join(f".{token}" for token in s.tokens))
        for s in instruction.slots
    )
    sections = [
        Section(instruction.mnemonic, ((f"{instruction.summary} (PTX ISA {instruction.section})",),)),
        Section("Qualifiers, in this order", slots),
    ]
    reasons = tuple((reason,) for reason in dict.fromkeys(rule.because for rule in instruction.rules))
    sections += [Section("Rules", reasons)] if reasons else []
    family = load().get(instruction.mnemonic)
    if family is None:
        return sections
    return [
        *sections,
        _parameters(family),
        _obligations("Obligations", all_entries(instruction.mnemonic)),
    ]


def _form(form: Form, instruction: Instruction) -> list[Section]:
    head = [(f"{instruction.summary} (PTX ISA {form.section})",)]
    reason = unsupported_reason(form)
    if reason is not None:
        head.append((f"no contract: {reason}",))
    sections = [Section(form.spelling, tuple(head)), _availability(form)]
    family = load().get(form.mnemonic)
    if family is None or reason is not None:
        return [*sections, Section("Operands, in PTX order", tuple(_operands(form, None)))]
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
        if operand.kind == "registers":
            count = "1 register" if operand.registers == 1 else f"{operand.registers} registers"
            what = f"{count} of {operand.bits} bits per thread{', in braces' if operand.braced else ''}"
        else:
            what = "an address"
        suffix = ""
        if position < len(sample):
            view = sample[position].as_view()
            # The sample has one repeat axis and, at its narrowest scope, no group.
            suffix = f"suffix {view.extents[1:]} of {view.bits}-bit elements in {view.tensor.space}"
        rows.append((operand.name, operand.access, what, suffix))
    return rows


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
