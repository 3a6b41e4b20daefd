"""The page of all instructions of the table, written from the table."""

from __future__ import annotations

from collections.abc import Iterable

from tileproof.contracts.families import load
from tileproof.contracts.grammar import table
from tileproof.contracts.notation import syntax_line
from tileproof.contracts.syntax import Instruction, Since
from tileproof.report.sections import Section

_HEAD = """# Instructions

What the instruction table holds, as the PTX ISA 9.1 has it (a later one where a version says so).
`tileproof explain --instructions --markdown` writes this page, and `tileproof explain OPCODE` shows all of one
instruction or of one form of it.

Instructions with a contract can be proved and emitted by `tp.check`, `tp.emit` and `Kernel.apply`. All of them can
be written into a kernel as they are, by `Kernel.raw`. A raw instruction is read against the table: its qualifiers
and their order, the number and kind of its operands, and the widths of the registers that the kernel declares.
What it needs counts in the kernel's target and `.version`. No proof knows what it does:

```python
import tileproof as tp
from tileproof.errors import CallError

k = tp.Kernel("arrive", block=128)
k.raw("mbarrier.arrive.expect_tx.shared.b64 _, [barrier], 1024;")
assert k.architecture == "sm_90a"
try:
    k.raw("mbarrier.arrive.expect_tx.shared.b64 [barrier], 1024;")
except CallError as error:
    assert "takes 3 operands: state, [addr], txCount; it has 2 here" in str(error)
else:
    raise SystemExit("not refused")
```

In a syntax line, braces hold what may be left out, bars part alternatives, and a name in place of qualifiers, such
as `.type`, stands for one of more than fit there.
"""


def instructions_markdown() -> str:
    """The page as Markdown: what there is, and what needs more than its instruction does."""
    known = sorted(table(), key=lambda instruction: instruction.mnemonic)
    contracts = load()
    lines = [
        *_table(
            ("instruction", "does", "syntax", "PTX ISA", "targets", "section", "use"),
            (
                (
                    f"`{i.mnemonic}`",
                    i.summary,
                    f"`{syntax_line(i)}`",
                    *_oldest(i),
                    i.section,
                    "contract, raw" if i.mnemonic in contracts else "raw",
                )
                for i in known
            ),
        ),
        "",
        "## What needs more",
        "Forms and operands that came later than their instruction, or not to all of its targets.",
        "",
        *_table(
            ("instruction", "what", "PTX ISA", "targets"),
            (
                (f"`{i.mnemonic}`", need.what or i.mnemonic, _version(need), _targets(need, "the same"))
                for i in known
                for need in (*i.availability, *i.usage_availability)
                if need.when
            ),
        ),
    ]
    return _HEAD + "\n" + "\n".join(lines) + "\n"


def instruction_list() -> list[Section]:
    """The same in brief, for a terminal."""
    contracts = load()
    return [
        Section(
            "Instructions",
            tuple(
                (
                    i.mnemonic,
                    "contract" if i.mnemonic in contracts else "no contract",
                    f"{i.summary} (PTX ISA {i.section})",
                )
                for i in table()
            ),
        )
    ]


def availability(instruction: Instruction) -> Section:
    """What an instruction needs, and what parts of it need."""
    needs = (*instruction.availability, *instruction.usage_availability)
    return Section(
        "Availability",
        tuple(
            (
                need.what or instruction.mnemonic,
                f"PTX ISA {_version(need)}",
                _targets(need, "the same targets" if need.when else "all targets"),
            )
            for need in needs
        ),
    )


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = [head, ("---",) * len(head), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines]


def _oldest(instruction: Instruction) -> tuple[str, str]:
    """What every form needs."""
    needs = [need for need in instruction.availability if not need.when]
    return _version(max(needs, key=lambda need: need.ptx)), " and ".join(map(_targets, needs))


def _version(need: Since) -> str:
    return f"{need.ptx[0]}.{need.ptx[1]}"


def _targets(need: Since, every: str = "all") -> str:
    """The targets of a need; `every` stands for one that limits them no further."""
    return every if need.targets.minimum == 0 else str(need.targets)
