"""From PTX text to a cubin: by nvJitLink in this process, or by the `ptxas` program. Neither needs a GPU.

    cubin = assemble(ptx, "sm_90a")
    cubin.image                      # the ELF image that a driver loads
    cubin.kernels[0].registers       # registers per thread that the kernel takes

The assembler checks spelling. It does not know a contract: PTX that assembles can still trap or return wrong
numbers.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tileproof.errors import AssemblerError

AssemblerName = Literal["nvjitlink", "ptxas"]

INSTALL_NVJITLINK = "pip install 'tileproof[gpu]' (cuda-python, nvidia-nvjitlink)"
INSTALL_PTXAS = "pip install 'tileproof[ptxas]' (nvidia-cuda-nvcc, nvidia-cuda-nvdisasm)"

ARCH = re.compile(r"sm_[1-9][0-9]+[af]?")
LOCATED = re.compile(r"\bline (\d+); (?:error|fatal|warning)\s*: *(.*)")
TARGET_DIRECTIVE = re.compile(r"^\s*\.target\b")
COMPILE_TIME = re.compile(r"Compile time\s*=")
KERNEL_USAGE = re.compile(
    r"Compiling entry function '(?P<name>[^']+)' for .*\n"
    r"(?:.*\n)*?.*Function properties for (?P=name)\n"
    r"\D*(?P<stack>\d+) bytes stack frame, "
    r"(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads\n"
    r".*Used (?P<registers>\d+) registers(?:.*?\b(?P<shared>\d+) bytes smem)?"
)


@dataclass(frozen=True)
class AssemblerInfo:
    """An assembler that works here; `path` is its program, or `None` for a library in this process."""

    name: AssemblerName
    version: str
    path: Path | None = None

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True)
class KernelUsage:
    """What one kernel takes, as the assembler reports it; shared bytes are per CTA, all else per thread."""

    name: str
    registers: int
    stack_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int
    static_shared_bytes: int


@dataclass(frozen=True)
class Cubin:
    """An assembled module for one architecture: the ELF image, who made it, and what each kernel takes.

    `log` is the assembler's own account (registers, spills, warnings), without the lines that vary from run
    to run.
    """

    arch: str
    image: bytes
    assembler: AssemblerInfo
    log: str
    kernels: tuple[KernelUsage, ...]


def assemble(
    ptx: str,
    arch: str,
    *,
    assembler: Literal["auto", "nvjitlink", "ptxas"] = "auto",
    optimization: Literal[0, 3] = 3,
) -> Cubin:
    """Assemble a PTX module for `arch`: `sm_80`, `sm_90a`, `sm_100a`, `sm_120a` or any other that it takes.

    `optimization` 0 assembles several times faster; both assemblers have these two levels.
    `auto` takes nvJitLink if it is usable and else ptxas. Raises `AssemblerError`, which quotes each refused
    line of the PTX, if the assembler refuses the text, if `arch` is unknown, or if no assembler is installed.
    """
    if not ARCH.fullmatch(arch):
        raise AssemblerError(
            f"arch {arch!r} is not an architecture; needed is sm_NN, sm_NNa or sm_NNf, such as 'sm_90a'"
        )
    if not ptx.strip() or "\0" in ptx:
        flaw = "holds a NUL character" if ptx.strip() else "is empty"
        raise AssemblerError(
            f"the PTX text for {arch} {flaw}; a module starts with .version, .target and .address_size"
        )
    info = _choose(assembler)
    if info.path is None:
        image, log = _nvjitlink(ptx, arch, info, optimization)
    else:
        image, log = _ptxas(ptx, arch, info, info.path, optimization)
    log = "\n".join(line for line in log.splitlines() if line.strip() and not COMPILE_TIME.search(line))
    return Cubin(arch, image, info, log, _usage(log))


def available_assemblers() -> tuple[AssemblerInfo, ...]:
    """The assemblers that work here, in the order in which `assemble` would take them."""
    return tuple(_working())


def disassemble(cubin: Cubin) -> str:
    """The machine instructions (SASS) of every kernel, as `nvdisasm` prints them.

    Raises `AssemblerError` if nvdisasm is not installed or cannot read the image.
    """
    program = find_tool("nvdisasm")
    if program is None:
        raise AssemblerError(f"no nvdisasm in the nvidia wheels, CUDA_HOME or PATH: {INSTALL_PTXAS}")
    with tempfile.TemporaryDirectory(prefix="tileproof-") as folder:
        image = Path(folder, "kernel.cubin")
        image.write_bytes(cubin.image)
        finished = _run([str(program), "--print-code", image.name], folder)
    if finished.returncode != 0:
        raise AssemblerError(
            f"nvdisasm {_ending(finished)} on the cubin for {cubin.arch}: {finished.stderr.strip()}"
        )
    return finished.stdout


def find_tool(name: str) -> Path | None:
    """A CUDA program: from the nvidia wheels of this Python, then CUDA_HOME or CUDA_PATH, then PATH."""
    wheels = importlib.util.find_spec("nvidia")
    roots = (wheels.submodule_search_locations if wheels else None) or ()
    folders = [str(folder) for root in roots for folder in sorted(Path(root).glob("*/bin"), reverse=True)]
    folders += [f"{os.environ[key]}/bin" for key in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(key)]
    found = shutil.which(name, path=os.pathsep.join([*folders, os.environ.get("PATH", os.defpath)]))
    return Path(found).absolute() if found else None


def _working() -> Iterator[AssemblerInfo]:
    for probe in PROBES.values():
        with suppress(AssemblerError):
            yield probe()


def _choose(assembler: str) -> AssemblerInfo:
    if assembler == "auto":
        first = next(_working(), None)
        if first is None:
            raise AssemblerError(f"no assembler is installed: either {INSTALL_NVJITLINK} or {INSTALL_PTXAS}")
        return first
    if assembler not in PROBES:
        raise AssemblerError(f"assembler {assembler!r} is unknown; needed is 'auto', 'nvjitlink' or 'ptxas'")
    return PROBES[assembler]()


def _nvjitlink_bindings() -> Any:
    return importlib.import_module("cuda.bindings.nvjitlink")


def _probe_nvjitlink() -> AssemblerInfo:
    try:
        major, minor = _nvjitlink_bindings().version()
    except (ImportError, RuntimeError) as error:
        # The bindings raise RuntimeError where the library itself is missing or lacks an entry point.
        raise AssemblerError(f"nvJitLink is not usable here ({error}): {INSTALL_NVJITLINK}") from error
    return AssemblerInfo("nvjitlink", f"{major}.{minor}")


@contextmanager
def _linker(bindings: Any, arch: str, info: AssemblerInfo, optimization: int) -> Iterator[int]:
    options = [f"-arch={arch}", "-verbose", f"-O{optimization}"]
    try:
        handle = bindings.create(len(options), options)
    except bindings.nvJitLinkError as error:
        # Of the options only the architecture is the caller's to choose freely, so it is what was refused.
        raise AssemblerError(f"{info} does not know the architecture {arch!r}: {error}") from error
    try:
        yield handle
    finally:
        bindings.destroy(handle)


def _nvjitlink(ptx: str, arch: str, info: AssemblerInfo, optimization: int) -> tuple[bytes, str]:
    bindings = _nvjitlink_bindings()
    text = ptx.encode(errors="backslashreplace")
    with _linker(bindings, arch, info, optimization) as handle:
        try:
            bindings.add_data(handle, bindings.InputType.PTX, text, len(text), "kernel.ptx")
            bindings.complete(handle)
            log = _text(bindings.get_info_log_size, bindings.get_info_log, handle)
            return _bytes(bindings.get_linked_cubin_size, bindings.get_linked_cubin, handle), log
        except bindings.nvJitLinkError as error:
            log = _text(bindings.get_error_log_size, bindings.get_error_log, handle)
            raise _refusal(info, arch, ptx, log or str(error)) from error


def _bytes(size: Any, read: Any, handle: int) -> bytes:
    buffer = bytearray(size(handle))
    if buffer:
        read(handle, buffer)
    return bytes(buffer)


def _text(size: Any, read: Any, handle: int) -> str:
    return _bytes(size, read, handle).decode(errors="replace").rstrip("\0 \n")


def _probe_ptxas() -> AssemblerInfo:
    program = find_tool("ptxas")
    if program is None:
        raise AssemblerError(f"no ptxas in the nvidia wheels, CUDA_HOME or PATH: {INSTALL_PTXAS}")
    finished = _run([str(program), "--version"], None)
    release = re.search(r"release [\d.]+, V([\d.]+)", finished.stdout)
    if finished.returncode != 0 or release is None:
        said = (finished.stdout + finished.stderr).strip()
        raise AssemblerError(
            f"{program} does not say its version ({_ending(finished)}): {said!r}: {INSTALL_PTXAS}"
        )
    return AssemblerInfo("ptxas", release[1], program)


def _ptxas(ptx: str, arch: str, info: AssemblerInfo, program: Path, optimization: int) -> tuple[bytes, str]:
    with tempfile.TemporaryDirectory(prefix="tileproof-") as folder:
        source, image = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_bytes(ptx.encode(errors="backslashreplace"))
        command = [
            str(program),
            "--verbose",
            f"-O{optimization}",
            f"--gpu-name={arch}",
            f"--output-file={image.name}",
            source.name,
        ]
        finished = _run(command, folder)
        log = finished.stdout + finished.stderr
        if finished.returncode != 0 or not image.is_file():
            raise _refusal(info, arch, ptx, log.strip() or f"ptxas {_ending(finished)} without a message")
        return image.read_bytes(), log


def _run(command: list[str], folder: str | None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise AssemblerError(f"{command[0]} cannot be run: {error.strerror}") from error


def _ending(finished: subprocess.CompletedProcess[str]) -> str:
    code = finished.returncode
    return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"


def _refusal(info: AssemblerInfo, arch: str, ptx: str, log: str) -> AssemblerError:
    """The assembler's message, with the PTX line that each complaint is about quoted below it."""
    source = ptx.split("\n")
    lines = [f"{info} refused the PTX for {arch}:"]
    quoted = None
    for said in filter(str.strip, log.splitlines()):
        located = LOCATED.search(said)
        number = int(located[1]) if located else _about_target(said, source)
        lines.append(f"  {f'line {located[1]}: {located[2]}' if located else said.strip()}")
        if number is not None and number != quoted and 0 < number <= len(source):
            lines.append(f"    {number:>5} | {source[number - 1].rstrip()}")
            quoted = number
    return AssemblerError("\n".join(lines))


def _about_target(said: str, source: list[str]) -> int | None:
    """The line of the module's `.target`, for a complaint that names the directive but no line."""
    if ".target" not in said:
        return None
    return next((number for number, line in enumerate(source, 1) if TARGET_DIRECTIVE.match(line)), None)


def _usage(log: str) -> tuple[KernelUsage, ...]:
    kernels = (
        KernelUsage(
            name=found["name"],
            registers=int(found["registers"]),
            stack_bytes=int(found["stack"]),
            spill_store_bytes=int(found["stores"]),
            spill_load_bytes=int(found["loads"]),
            static_shared_bytes=int(found["shared"] or 0),
        )
        for found in KERNEL_USAGE.finditer(log)
    )
    return tuple(sorted(kernels, key=lambda kernel: kernel.name))


PROBES = {"nvjitlink": _probe_nvjitlink, "ptxas": _probe_ptxas}
