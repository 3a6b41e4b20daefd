"""Titled tables of text: what ``explain`` and ``doctor`` print, plain or in colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True)
class Section:
    """A title over rows of cells. All rows of a section have the same number of cells."""

    title: str
    rows: tuple[tuple[str, ...], ...]


def sections_text(sections: Sequence[Section]) -> str:
    """Aligned columns; the last one runs as far as it needs to."""
    blocks = []
    for section in sections:
        widths = [max(map(len, column)) for column in zip(*section.rows, strict=True)][:-1]
        lines = [section.title]
        for *cells, last in section.rows:
            line = "  ".join([*(cell.ljust(w) for cell, w in zip(cells, widths, strict=True)), last])
            lines.append(f"  {line}".rstrip())
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def sections_view(sections: Sequence[Section]) -> RenderableType:
    """The same for a rich console, where the last column wraps."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    parts: list[RenderableType] = []
    for number, section in enumerate(sections):
        table = Table.grid(padding=(0, 2, 0, 0))
        for column in range(len(section.rows[0])):
            table.add_column(no_wrap=column < len(section.rows[0]) - 1, style="cyan" if column == 0 else "")
        for row in section.rows:
            table.add_row(*map(Text, row))
        parts += [Text("\n" * (number > 0) + section.title, "bold"), Padding(table, (0, 0, 0, 2))]
    return Group(*parts)
