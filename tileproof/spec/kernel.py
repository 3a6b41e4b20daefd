"""Kernels of files: a spec is one kernel, a Python program may build some.

A file with a ``kernel`` table describes a kernel in full. The kernel of any other spec has its symbols and then
its global tensors as parameters, in the order of the file, and makes its calls one after the other, each under
its guards. It adds nothing: no barrier, no copy, no election.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from tileproof.emit.assemble import INSTALL_NVJITLINK, assemble, available_assemblers
from tileproof.emit.cuda import identifier, source
from tileproof.emit.kernel import Kernel
from tileproof.emit.statements import calls
from tileproof.errors import EmissionError
from tileproof.layouts.index import conjunction
from tileproof.spec.build import Builder
from tileproof.spec.errors import SpecError
from tileproof.spec.kernel_declare import OfKernel
from tileproof.spec.kernel_read import kernel_of_tables, kernel_tables
from tileproof.spec.read import SYNTAXES, describes_kernel, read_data, spec_tables
from tileproof.spec.script import kernels_of_script


def kernels_of_file(path: Path) -> list[Kernel]:
    """Every kernel of a file, each call of it proved.

    Raises :class:`ContractError` for a call that is not, and :class:`SpecError` for a file that cannot be
    used.
    """
    if path.suffix in SYNTAXES:
        return [kernel_of_spec(path)]
    if path.suffix == ".py":
        return kernels_of_script(path)
    raise SpecError(f"{path}: neither a spec (.toml, .json) nor a Python program (.py)")


def kernel_of_spec(path: Path) -> Kernel:
    """The kernel that a spec describes, named as the file or as it says. Raises as :func:`kernels_of_file`
    does.
    """
    data, lines = read_data(path)
    if describes_kernel(data):
        return kernel_of_tables(str(path), kernel_tables(str(path), data))
    tables, _ = spec_tables(path, data, lines)
    launches = {(call.block, call.cluster) for call in tables.calls}
    if len(launches) > 1:
        raise SpecError(
            f"{path}: its calls have {len(launches)} different launches; a kernel has one: split the file"
        )
    block, cluster = launches.pop()
    kernel = Kernel(re.sub(r"\W", "_", path.stem, flags=re.ASCII), block=block, cluster=cluster)
    builder = Builder(path, tables, OfKernel(kernel))
    for call in builder.calls(tables.calls):
        with builder.at(call.place), ExitStack() as guards:
            if call.active:
                guards.enter_context(kernel.when(conjunction(call.active)))
            hazards = call.table.hazards or "warn"
            kernel.apply(
                call.table.opcode,
                *call.operands,
                scope=call.table.scope,
                assume=call.assume,
                hazards=hazards,
                **call.parameters,
            )
    return kernel


def kernel_text(path: Path, name: str | None, arch: str | None) -> tuple[str, str]:
    """The PTX of the kernel of a file, and a line that tells what was written and what an assembler said.

    ``name`` picks one of several kernels; ``arch`` is the target, by default the kernel's own choice. Raises
    as :func:`kernels_of_file` does, :class:`CallError` or :class:`EmissionError` for a target that is unknown
    or lacks an instruction, and :class:`AssemblerError` for PTX that an assembler refuses.
    """
    kernel = _chosen(path, kernels_of_file(path), name)
    target = arch or kernel.architecture
    text = kernel.ptx(target)
    issued = Counter(
        planned.report.call.form.spelling for planned in calls(kernel.definition.body) for _ in planned.issues
    )
    what = ", ".join(f"{count} {opcode}" for opcode, count in issued.items())
    account = f"kernel {kernel.name} for {target}: {what}"
    if not available_assemblers():
        return text, f"{account}; not assembled, for no assembler is installed: {INSTALL_NVJITLINK}"
    cubin = assemble(text, target)
    usage = cubin.kernels[0]
    return text, f"{account}; assembled by {cubin.assembler}: {usage.registers} registers per thread"


def cuda_text(path: Path, name: str | None, arch: str | None) -> tuple[str, str]:
    """A CUDA C++ function for each call of the kernel of a file, and a line that tells what was written.

    ``name`` picks one of several kernels; ``arch``, if given, is a target that must have all instructions.
    Raises as :func:`kernel_text` does, but no assembler is asked.
    """
    kernel = _chosen(path, kernels_of_file(path), name)
    planned = list(calls(kernel.definition.body))
    forms = [call.report.call.form for call in planned]
    reasons = (
        [] if arch is None else [r for form in forms if (r := form.unsupported_reason(arch)) is not None]
    )
    if reasons:
        raise EmissionError(f"kernel {kernel.name}: {reasons[0]}")
    titles = [identifier(f"{kernel.name}_{n}_{form.mnemonic}") for n, form in enumerate(forms)]
    text = source(list(zip(planned, titles, strict=True)))
    return (
        text,
        f"kernel {kernel.name}: {len(titles)} CUDA function{'s' * (len(titles) != 1)}: {', '.join(titles)}",
    )


def _chosen(path: Path, kernels: list[Kernel], name: str | None) -> Kernel:
    named = [kernel for kernel in kernels if name in (None, kernel.name)]
    known = ", ".join(kernel.name for kernel in kernels)
    if not named:
        raise SpecError(f"{path}: no kernel is named {name!r}; there are {known}")
    if len(named) > 1:
        raise SpecError(f"{path}: {len(named)} kernels, {known}; name one by --kernel")
    return named[0]
