"""What every example does with its kernel: show the proofs and the PTX, assemble, simulate, run, compare."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from tileproof import Kernel
from tileproof.errors import AssemblerError, LaunchError

Array = npt.NDArray[np.generic]

SENTINEL = 0xFFFFFCF7
"""The bits of int32(-777): what a register holds that no instruction should have touched."""

Build = Callable[[], Kernel]
Inputs = Callable[[], list[Array]]
Expected = Callable[[], list[Array]]


def differences(found: Sequence[Array], expected: Sequence[Array], ulp: int = 0) -> int:
    """In how many bytes two lists of arrays differ; with ``ulp``, in how many floats by more than so many units in
    the last place.
    """
    pairs = zip(found, expected, strict=True)
    if ulp:
        return sum(int(np.count_nonzero(~(np.abs(a - b) <= ulp * np.spacing(np.abs(b))))) for a, b in pairs)
    return sum(int(np.count_nonzero(_bytes(a) != _bytes(b))) for a, b in pairs)


def _bytes(array: Array) -> Array:
    return np.frombuffer(array.tobytes(), np.uint8)


def run(build: Build, inputs: Inputs, expected: Expected, issued: dict[str, int], ulp: int = 0) -> bool:
    """Go through all steps; whether every number is right.

    ``inputs()`` are the kernel's arguments, ``expected()`` what they hold afterwards. ``issued`` says how
    often warps issue an opcode. ``ulp`` is how far off a GPU's floats may be where PTX only approximates.
    """
    kernel = build()
    for report in kernel.reports:
        print(report, end="\n\n")
    print(kernel.ptx())
    try:
        cubin = kernel.assemble()
        # Not every assembler tells what a kernel uses.
        used = "".join(f": {usage.registers} registers per thread" for usage in cubin.kernels)
        print(f"assembled for {cubin.arch} by {cubin.assembler}{used}")
    except AssemblerError as error:
        print(f"not assembled: {error}")

    arguments = inputs()
    result = kernel.simulate(*arguments)
    counted = {opcode: result.issued.get(opcode, 0) for opcode in issued}
    wrong = differences(arguments, expected())
    print(f"simulated: {wrong} wrong bytes; issued {counted}")
    good = wrong == 0 and counted == issued
    if "--gpu" in sys.argv[1:]:
        good &= run_on_gpu(kernel, inputs, expected, ulp)
    return good


def run_on_gpu(kernel: Kernel, inputs: Inputs, expected: Expected, ulp: int) -> bool:
    """Launch on the first GPU and compare."""
    from tileproof.emit.launch import device_name

    arguments = inputs()
    try:
        kernel.launch(*arguments)
    except LaunchError as error:
        print(f"not launched: {error}")
        return False
    wrong = differences(arguments, expected(), ulp)
    print(f"on {device_name()}: {wrong} wrong {f'numbers, to {ulp} ulp' if ulp else 'bytes'}")
    return wrong == 0
