"""How every command speaks and ends: answers to standard output, complaints to standard error, no traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from tileproof.errors import InternalError, TileproofError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tileproof.report.sections import Section

UNUSABLE, UNDECIDED, INTERRUPTED, BROKEN_PIPE = 2, 3, 130, 141


@contextmanager
def ended_well() -> Iterator[None]:
    """Turns what may go wrong into a sentence and an exit code."""
    try:
        yield
        sys.stdout.flush()
    except KeyboardInterrupt:
        complain("interrupted")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        # Whoever read the output has seen enough; Python must not complain when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(BROKEN_PIPE) from None
    except InternalError as error:
        complain(f"internal error, please report it: {error}")
        raise typer.Exit(UNDECIDED) from None
    except TileproofError as error:
        complain(str(error))
        raise typer.Exit(UNUSABLE) from None
    except (OSError, MemoryError, RecursionError) as error:
        complain(f"{type(error).__name__}: {error}")
        raise typer.Exit(UNUSABLE) from None


def complain(message: str) -> None:
    """To standard error, with control characters shown and not obeyed."""
    shown = "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in message)
    typer.echo(f"tileproof: {shown}", err=True)


def show_sections(sections: Sequence[Section]) -> None:
    """Tables, in colour on a terminal."""
    from tileproof.report.sections import sections_text, sections_view

    show(lambda: sections_view(sections), lambda: sections_text(sections))


def show(view: Callable[[], RenderableType], text: Callable[[], str]) -> None:
    """Colour on a terminal, plain text elsewhere."""
    from rich.console import Console

    console = Console(highlight=False, emoji=False)
    if console.is_terminal:
        console.print(view())
    else:
        typer.echo(text())
