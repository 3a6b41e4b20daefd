"""What is installed here and what is not: solvers, assemblers, GPUs."""

from __future__ import annotations

import importlib
import platform
import sys
from importlib import metadata

from tileproof.emit.assemble import INSTALL_NVJITLINK, INSTALL_PTXAS, available_assemblers, find_tool
from tileproof.emit.driver import Driver
from tileproof.emit.launch import compute_capability, device_name, driver_version
from tileproof.errors import LaunchError
from tileproof.report.sections import Section

REQUIRED = {"z3-solver": "z3", "sympy": "sympy", "numpy": "numpy", "lark": "lark", "pydantic": "pydantic"}
"""Distribution and module of each package that tileproof cannot do without."""

AUDITORS = {"cvc5": "cvc5", "bitwuzla": "bitwuzla"}


def doctor() -> tuple[list[Section], bool]:
    """What was found, and whether all that is required is there."""
    required = [(name, *_package(name, module)) for name, module in REQUIRED.items()]
    healthy = all(found for _, found, _ in required)
    python = (f"Python {platform.python_version()}", sys.executable)
    rows = [python, *((name, text if found else f"MISSING: {text}") for name, found, text in required)]
    sections = [
        Section("Required", tuple(rows)),
        Section(
            "Solvers for audits", tuple((name, _optional(name, module)) for name, module in AUDITORS.items())
        ),
        Section("Assemblers", tuple(_assemblers())),
        Section("GPUs", tuple(_gpus())),
    ]
    return sections, healthy


def _package(distribution: str, module: str) -> tuple[bool, str]:
    """Whether a package can be imported, and its version or what is wrong."""
    try:
        importlib.import_module(module)
        return True, metadata.version(distribution)
    except (ImportError, OSError) as error:  # OSError: a shared library of the package is missing or broken
        return False, f"{error}; pip install {distribution}"


def _optional(distribution: str, module: str) -> str:
    found, text = _package(distribution, module)
    return text if found else "not installed: pip install 'tileproof[audit]'"


def _assemblers() -> list[tuple[str, str]]:
    working = {info.name: info for info in available_assemblers()}
    rows = []
    for name, install in (("nvjitlink", INSTALL_NVJITLINK), ("ptxas", INSTALL_PTXAS)):
        info = working.get(name)  # type: ignore[call-overload]
        place = f" ({info.path})" if info is not None and info.path is not None else ""
        rows.append((name, f"not installed: {install}" if info is None else f"{info.version}{place}"))
    tool = find_tool("nvdisasm")
    rows.append(("nvdisasm", f"not installed: {INSTALL_PTXAS}" if tool is None else str(tool)))
    return rows


def _gpus() -> list[tuple[str, str]]:
    try:
        rows = [("driver", f"CUDA {driver_version()}")]
        for device in range(Driver().count()):
            major, minor = compute_capability(device)
            rows.append((f"device {device}", f"{device_name(device)}, sm_{major}{minor}"))
    except LaunchError as error:
        return [("none", str(error))]
    return rows
