"""Recording of hardware maps: tagged runs of every form on a backend, and the maps that follow from them."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Literal

import numpy as np

from tileproof.emit.launch import driver_version
from tileproof.errors import TileproofError
from tileproof.fuzz.execute.entry import Backend, Bytes, Entry, Trapped
from tileproof.fuzz.execute.in_process import InProcessDevice
from tileproof.fuzz.execute.register_table import RegisterForm, evaluation, register_forms, results
from tileproof.fuzz.execute.simulated import Simulated
from tileproof.fuzz.execute.table import TableForm, table_forms
from tileproof.fuzz.maps import HardwareMaps, Registers, write
from tileproof.fuzz.patterns import PATTERNS, feeds, trials, tuples
from tileproof.fuzz.reconstruct import Movement, reconstruct, tagged_runs

AT_ONCE = 160
"""Forms of one batch."""


def record_maps(
    backend: Backend,
    *,
    driver: str,
    seed: int = 1,
    movement: Sequence[TableForm] | None = None,
    registers: Sequence[RegisterForm] | None = None,
    gaps: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> HardwareMaps:
    """The maps of all forms (or of the given ones) on ``backend``; ``driver`` is the version of its driver.

    With ``gaps`` forms that the backend cannot execute are left out (the simulator does not know all that a GPU
    does). Raises :class:`TileproofError` when a kernel traps, and when runs do not make one map.
    """
    moved: dict[str, Movement] = {}
    forms = table_forms() if movement is None else movement
    for start in range(0, len(forms), AT_ONCE):
        tagged = {form.label: tagged_runs(form, seed) for form in forms[start : start + AT_ONCE]}
        dumps = iter(_dumps(backend, [run.entry for runs in tagged.values() for run in runs], gaps))
        for label, runs in tagged.items():
            here = [dump for dump in (next(dumps) for _ in runs) if dump is not None]
            if len(here) == len(runs):
                moved[label] = reconstruct(runs, here)
        progress(f"{len(moved)} of {len(forms)} forms that move memory")
    computed: dict[str, Registers] = {}
    others = register_forms() if registers is None else registers
    for start in range(0, len(others), AT_ONCE):
        batch = others[start : start + AT_ONCE]
        dumps = iter(_dumps(backend, [_evaluation(form) for form in batch], gaps))
        for form, dump in zip(batch, dumps, strict=True):
            if dump is not None:
                computed[form.label] = _registers(form, dump)
        progress(f"{len(computed)} of {len(others)} forms on registers")
    return HardwareMaps(backend.name, driver, seed, own_version(), moved, computed)


def record(
    folder: Path,
    backend: Backend,
    *,
    driver: str,
    seed: int = 1,
    gaps: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Path:
    """Record all maps of ``backend`` into ``<device>.maps.json`` of a folder, which is made if need be.

    The file is complete or as it was before. Raises :class:`TileproofError` as :func:`record_maps` does.
    """
    maps = record_maps(backend, driver=driver, seed=seed, gaps=gaps, progress=progress)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{maps.slug}.maps.json"
    write(maps, target)
    return target


def record_here(folder: Path, backend: Literal["gpu", "simulate"], *, seed: int = 1, device: int = 0) -> Path:
    """:func:`record` of a GPU of this machine, or of the simulator.

    Raises :class:`LaunchError` without a GPU, :class:`AssemblerError` without an assembler.
    """
    if backend == "simulate":
        return record(folder, Simulated(), driver="none", seed=seed, gaps=True)
    return record(folder, InProcessDevice(device), driver=nvidia_driver(), seed=seed)


def own_version() -> str:
    """The version of tileproof, installed or in its source tree."""
    project = Path(__file__).parents[2] / "pyproject.toml"
    if project.is_file():
        return str(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"])
    return metadata.version("tileproof")


def nvidia_driver() -> str:
    """The version of the driver as ``nvidia-smi`` tells it, or the newest CUDA that the driver knows."""
    program = shutil.which("nvidia-smi")
    if program is not None:
        command = [program, "--query-gpu=driver_version", "--format=csv,noheader"]
        told = subprocess.run(command, capture_output=True, text=True, check=False)
        if told.returncode == 0 and told.stdout.split():
            return told.stdout.split()[0]
    return f"CUDA {driver_version()}"


def _dumps(backend: Backend, entries: Sequence[Entry], gaps: bool) -> list[Bytes | None]:
    """The dumps; with ``gaps`` nothing for what did not run to its end."""
    found: list[Bytes | None] = []
    for entry, dump in zip(entries, backend.run(entries), strict=True):
        if isinstance(dump, Trapped) and not gaps:
            raise TileproofError(
                f"{entry.name} on {backend.name} trapped, so there is nothing to record: {dump.reason}"
            )
        found.append(None if isinstance(dump, Trapped) else dump)
    return found


def _evaluation(form: RegisterForm) -> Entry:
    rows = [*tuples(form), *trials(form)]
    columns = []
    for position, register in enumerate(form.read):
        bits = [row[position] for row in rows]
        if register.bits == 128:
            columns.append(np.array([[b & (1 << 64) - 1, b >> 64] for b in bits], np.uint64))
        else:
            columns.append(np.array(bits, np.uint64))
    return evaluation(form, columns)


def _registers(form: RegisterForm, dump: Bytes) -> Registers:
    rows = results(form, dump, PATTERNS + len(trials(form)))
    columns = zip(*rows[:PATTERNS], strict=True)
    written = {r.name: tuple(column) for r, column in zip(form.written, columns, strict=True)}
    return Registers({r.name: r.bits for r in form.written}, written, feeds(form, rows[PATTERNS:]))
