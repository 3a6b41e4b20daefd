"""Python programs as input: run as ``python FILE`` runs them, and asked for the reports that they leave.

Module variables named ``report`` and ``reports`` are looked at, and every kernel's reports. Code under
``if __name__ == "__main__":`` does not run. What the program prints goes to standard error.
"""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from tileproof.errors import TileproofError
from tileproof.proofs.report import ContractError, Report
from tileproof.spec.build import Checked
from tileproof.spec.errors import SpecError


def check_script(path: Path) -> list[Checked]:
    """Run a Python program and collect its reports; a call that it failed to prove is the only one.

    Raises :class:`SpecError` for a program that cannot be read, that fails, or that leaves no report.
    """
    try:
        variables = run_script(path)
    except ContractError as error:
        return [Checked(error.report)]
    found = list(_reports(variables))
    if not found:
        raise SpecError(
            f"{path}: no reports: assign what tp.check returns to a module variable `report`, or a list of "
            "them to `reports`"
        )
    return [Checked(report) for report in found]


def run_script(path: Path) -> dict[str, Any]:
    """Run a Python program and return its module variables.

    Raises :class:`ContractError` as the program did, and :class:`SpecError` for every other failure.
    """
    if not path.is_file():
        reason = "is a directory" if path.is_dir() else "no such file"
        raise SpecError(f"{path}: cannot be read: {reason}")
    try:
        with _own_folder(path), redirect_stdout(sys.stderr):
            return runpy.run_path(str(path), run_name=path.stem)
    except ContractError:
        raise
    except SystemExit as error:
        raise SpecError(
            f"{path}: ended itself by SystemExit({error.code!r}) before its reports could be read"
        ) from error
    except SyntaxError as error:
        place = f"{error.filename}:{error.lineno}" if error.filename else str(path)
        raise SpecError(f"{place}: SyntaxError: {error.msg}") from error
    except Exception as error:  # the program is the user's and may fail in any way
        raise SpecError(f"{_place(path, error)}: {_told(error)}") from error


@contextmanager
def _own_folder(path: Path) -> Iterator[None]:
    """Imports find the modules beside the program, as they do for ``python FILE``."""
    folder = str(path.parent.resolve())
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        if folder in sys.path:
            sys.path.remove(folder)


def _place(path: Path, error: Exception) -> str:
    """The last line of the program itself that was running."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return f"{path}:{lines[-1]}" if lines else str(path)


def _told(error: Exception) -> str:
    if isinstance(error, TileproofError):
        return str(error)
    return "".join(traceback.format_exception_only(error)).strip()


def _reports(variables: dict[str, Any]) -> Iterator[Report]:
    seen: set[int] = set()
    listed = [variables.get("report"), *_entries(variables.get("reports"))]
    for value in variables.values():
        listed += _entries(getattr(value, "reports", None)) if type(value).__name__ == "Kernel" else []
    for report in listed:
        if isinstance(report, Report) and id(report) not in seen:
            seen.add(id(report))
            yield report


def _entries(value: object) -> list[Any]:
    return (
        list(value.values())
        if isinstance(value, dict)
        else list(value)
        if isinstance(value, (list, tuple))
        else []
    )
