"""Executing entries on a GPU in this process, whose first trap is the last thing it does here.

For recordings and tests, which expect no trap. A campaign gives each device a process of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from ctypes import addressof, c_void_p, create_string_buffer
from typing import Any

import numpy as np

from tileproof.emit.arguments import pointer
from tileproof.emit.assemble import assemble
from tileproof.emit.driver import Driver
from tileproof.errors import LaunchError
from tileproof.fuzz.execute.entry import OCEAN, OCEAN_ALIGN, Bytes, Entry, Trapped
from tileproof.fuzz.execute.expected import ocean
from tileproof.fuzz.execute.tags import POISON

HEADER = ".version 8.8\n.target {arch}\n.address_size 64\n"
"""The oldest PTX that has every form of sm_90a (CUDA 12.9)."""

MOST_ENTRIES = 160
"""Kernels of one module, so that what is held at a time stays small."""


class InProcessDevice:
    """Runs entries on a GPU of this process.

    After a trap CUDA refuses this process everything, so all entries after it are answered with the same reason.
    Raises :class:`LaunchError` where there is no GPU, :class:`AssemblerError` for text that does not assemble.
    """

    def __init__(self, device: int = 0) -> None:
        self._driver = Driver()
        self._device = self._driver.device(device)
        self.name = self._driver.name(self._device)
        major, minor = (
            self._driver.attribute(self._device, f"COMPUTE_CAPABILITY_{part}") for part in ("MAJOR", "MINOR")
        )
        self.arch = f"sm_{major}{minor}" + ("a" if major >= 9 else "")

    def run(self, entries: Sequence[Entry]) -> list[Bytes | Trapped]:
        """As :meth:`Backend.run <tileproof.fuzz.execute.entry.Backend.run>`."""
        results: list[Bytes | Trapped] = []
        with self._driver.context(self._device), self._allocated(OCEAN) as tagged:
            self._driver(
                "cuMemcpyHtoD", tagged, ocean().ctypes.data, OCEAN, doing="copying the tagged memory"
            )
            for part in _parts(entries):
                cubin = assemble(_module(part, self.arch), self.arch)
                module = self._driver("cuModuleLoadData", cubin.image, doing="loading a module of entries")
                for entry in part:
                    if results and isinstance(results[-1], Trapped):
                        results.append(
                            Trapped(f"not run, because an entry before it trapped: {results[-1].reason}")
                        )
                    else:
                        results.append(self._one(module, entry, tagged))
                self._driver.api.cuModuleUnload(module)
        return results

    def _one(self, module: Any, entry: Entry, tagged: int) -> Bytes | Trapped:
        driver, what = self._driver, f"entry {entry.name}"
        function = driver("cuModuleGetFunction", module, entry.name.encode(), doing=f"looking up {what}")
        dump: Bytes = np.empty((entry.grid, entry.dump_bytes), np.uint8)
        table = np.ascontiguousarray(entry.table)
        with ExitStack() as held:
            at = held.enter_context(self._allocated(dump.nbytes))
            rows = held.enter_context(self._allocated(table.nbytes))
            driver("cuMemsetD8", at, POISON, max(dump.nbytes, 1), doing=f"poisoning the dump of {what}")
            if table.nbytes:
                driver(
                    "cuMemcpyHtoD",
                    rows,
                    table.ctypes.data,
                    table.nbytes,
                    doing=f"copying the table of {what}",
                )
            config = driver.api.CUlaunchConfig()
            config.gridDimX, config.gridDimY, config.gridDimZ = entry.grid, 1, 1
            config.blockDimX, config.blockDimY, config.blockDimZ = entry.block
            # The driver reads each parameter through its address: the buffers must outlive the call.
            buffers = [create_string_buffer(value, len(value)) for value in map(pointer, (tagged, at, rows))]
            parameters = (c_void_p * len(buffers))(*map(addressof, buffers))
            try:
                driver(
                    "cuLaunchKernelEx", config, function, addressof(parameters), 0, doing=f"launching {what}"
                )
                driver("cuCtxSynchronize", doing=f"running {what}")
            except LaunchError as error:
                return Trapped(str(error))
            if dump.nbytes:
                driver("cuMemcpyDtoH", dump.ctypes.data, at, dump.nbytes, doing=f"copying the dump of {what}")
        return dump

    @contextmanager
    def _allocated(self, size: int) -> Iterator[int]:
        """Device memory, whose address is a multiple of ``OCEAN_ALIGN`` (an allocation is one of 256 or more)."""
        address = int(
            self._driver(
                "cuMemAlloc", max(size, 1) + OCEAN_ALIGN, doing=f"allocating {size} bytes on {self.name}"
            )
        )
        try:
            yield -(-address // OCEAN_ALIGN) * OCEAN_ALIGN
        finally:
            self._driver.api.cuMemFree(address)


def _parts(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Runs of entries whose kernels go into one module."""
    part: list[Entry] = []
    for entry in entries:
        part.append(entry)
        if len({e.name for e in part}) == MOST_ENTRIES:
            yield part
            part = []
    if part:
        yield part


def _module(entries: Sequence[Entry], arch: str) -> str:
    """One module with the kernel of each name once."""
    own = {entry.name: entry for entry in entries}
    for entry in entries:
        if own[entry.name].text != entry.text or own[entry.name].variables != entry.variables:
            raise ValueError(f"two entries of different text are named {entry.name}")
    return HEADER.format(arch=arch) + "".join(e.variables + e.text for e in own.values())
