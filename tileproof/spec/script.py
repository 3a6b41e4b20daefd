"""Python programs as input: run as ``python FILE`` runs them, and asked for reports and kernels.

Reports are the module variable ``report``, those in ``reports``, and those of every kernel. Kernels are
module variables, or what a function ``build()`` returns. Code under ``if __name__ == "__main__":`` does not
run. What the program prints goes to standard error.
"""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tileproof.errors import TileproofError
from tileproof.proofs.report import ContractError, Report
from tileproof.spec.build import Checked
from tileproof.spec.errors import SpecError

if TYPE_CHECKING:
    from tileproof.emit.kernel import Kernel


def check_script(path: Path) -> list[Checked]:
    """Run a Python program and collect its reports; a call that it failed to prove is the only one.

    Raises :class:`SpecError` for a program that cannot be read, that fails, or that leaves no report.
    """
    try:
        variables, kernels = _run(path)
    except ContractError as error:
        return [Checked(error.report)]
    listed = [variables.get("report"), *_entries(variables.get("reports"))]
    listed += [report for kernel in kernels for report in kernel.reports]
    found = dict.fromkeys(report for report in listed if isinstance(report, Report))
    if not found:
        raise SpecError(
            f"{path}: no reports: assign what tp.check returns to a module variable `report`, a list of them "
            "to `reports`, or a tp.Kernel to any"
        )
    return [Checked(report) for report in found]


def kernels_of_script(path: Path) -> list[Kernel]:
    """Run a Python program and collect its kernels.

    Raises :class:`ContractError` as the program did, and :class:`SpecError` for every other failure.
    """
    _, kernels = _run(path)
    if not kernels:
        raise SpecError(
            f"{path}: no kernel: assign a tp.Kernel to a module variable, or return it from a function "
            "`build()`"
        )
    return kernels


def _run(path: Path) -> tuple[dict[str, Any], list[Kernel]]:
    """The module variables of a program, and its kernels."""
    from tileproof.emit.kernel import Kernel

    if not path.is_file():
        reason = "is a directory" if path.is_dir() else "no such file"
        raise SpecError(f"{path}: cannot be read: {reason}")
    with _failures_told(path), _own_folder(path), redirect_stdout(sys.stderr):
        variables = runpy.run_path(str(path), run_name=path.stem)
        found = [value for value in variables.values() if isinstance(value, Kernel)]
        build = variables.get("build")
        if not found and callable(build):
            made = build()
            found = [made] if isinstance(made, Kernel) else []
    return variables, list(dict.fromkeys(found))


@contextmanager
def _failures_told(path: Path) -> Iterator[None]:
    """Turns what ends a program into a :class:`SpecError` with its place, except a contract that fails."""
    try:
        yield
    except (ContractError, KeyboardInterrupt):
        raise
    except SystemExit as error:
        code = error.code
        raise SpecError(
            f"{path}: ended itself by SystemExit({code!r}) before its reports could be read"
        ) from error
    except SyntaxError as error:
        place = f"{error.filename}:{error.lineno}" if error.filename else str(path)
        raise SpecError(f"{place}: SyntaxError: {error.msg}") from error
    except BaseException as error:
        # The program is the user's and may fail in any way.
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


def _place(path: Path, error: BaseException) -> str:
    """The last line of the program itself that was running."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return f"{path}:{lines[-1]}" if lines else str(path)


def _told(error: BaseException) -> str:
    if isinstance(error, TileproofError):
        return str(error)
    return "".join(traceback.format_exception_only(error)).strip()


def _entries(value: object) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, (list, tuple)) else []
