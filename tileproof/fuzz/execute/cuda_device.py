"""A GPU as the worker of :mod:`~tileproof.fuzz.execute.device` uses it, through the CUDA driver API."""

from __future__ import annotations

from contextlib import ExitStack
from ctypes import addressof, c_void_p, create_string_buffer
from typing import Any

import numpy as np

from tileproof.emit.arguments import pointer
from tileproof.emit.driver import Driver
from tileproof.fuzz.execute.batch import Batch, Launch
from tileproof.fuzz.execute.entry import OCEAN, OCEAN_ALIGN, Bytes
from tileproof.fuzz.execute.expected import ocean
from tileproof.fuzz.execute.tags import POISON


class CudaDevice:
    """Keeps the context, the tagged memory and the buffers of one GPU."""

    def __init__(self, ordinal: int = 0) -> None:
        """Raises :class:`~tileproof.errors.LaunchError` if there is no such device."""
        self.driver = driver = Driver()
        gpu = driver.device(ordinal)
        self.name = driver.name(gpu)
        self._held = ExitStack()
        self._held.enter_context(driver.context(gpu))
        self._buffers: dict[str, tuple[int, int]] = {}
        self._back = np.empty(OCEAN, np.uint8)
        self._ocean = self._buffer("ocean", OCEAN)
        self._write(self._ocean, ocean(), "the tagged memory")

    def execute(self, batch: Batch, chosen: range) -> Bytes:
        driver, what = self.driver, f"{len(chosen)} kernels on {self.name}"
        size = batch.expected.size
        dump, table = self._buffer("dump", size), self._buffer("table", batch.table.size)
        if size:
            driver("cuMemsetD8", dump, POISON, size, doing=f"poisoning {size} bytes")
        self._write(table, batch.table, "the tables")
        module = driver("cuModuleLoadData", batch.image, doing=f"loading {what}")
        try:
            for position in chosen:
                self._launch(module, batch.launches[position], dump, table)
            driver("cuCtxSynchronize", doing=f"running {what}")
        finally:
            driver.api.cuModuleUnload(module)
        found = np.empty(size, np.uint8)
        self._read(found, dump, "the dumps")
        return found

    def tampered(self) -> bool:
        self._read(self._back, self._ocean, "the tagged memory")
        same = np.array_equal(self._back.view("u8"), ocean().view("u8"))
        if not same:
            self._write(self._ocean, ocean(), "the tagged memory")
        return not same

    def _launch(self, module: Any, launch: Launch, dump: int, table: int) -> None:
        driver = self.driver
        function = driver(
            "cuModuleGetFunction", module, launch.name.encode(), doing=f"looking up {launch.name}"
        )
        config = driver.api.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = launch.grid, 1, 1
        config.blockDimX, config.blockDimY, config.blockDimZ = launch.block
        addresses = (self._ocean, dump + launch.dump, table + launch.table)
        # The driver reads each parameter through its address: the buffers must outlive the call.
        buffers = [create_string_buffer(pointer(address), 8) for address in addresses]
        parameters = (c_void_p * 3)(*map(addressof, buffers))
        driver(
            "cuLaunchKernelEx", config, function, addressof(parameters), 0, doing=f"launching {launch.name}"
        )

    def _buffer(self, name: str, size: int) -> int:
        """The address, a multiple of ``OCEAN_ALIGN``, of a buffer that is kept, and replaced where it is too small."""
        address, capacity = self._buffers.get(name, (0, 0))
        if capacity < max(size, 1):
            if address:
                self.driver.api.cuMemFree(address)
                del self._buffers[name]
            capacity = max(size * 3 // 2, 1 << 20)
            # An allocation is only sure to be a multiple of 256.
            whole = capacity + OCEAN_ALIGN
            address = int(self.driver("cuMemAlloc", whole, doing=f"allocating {whole} bytes"))
            self._buffers[name] = address, capacity
        return -(-address // OCEAN_ALIGN) * OCEAN_ALIGN

    def _write(self, address: int, data: Bytes, what: str) -> None:
        if data.size:
            self.driver("cuMemcpyHtoD", address, data.ctypes.data, data.nbytes, doing=f"copying {what}")

    def _read(self, data: Bytes, address: int, what: str) -> None:
        if data.size:
            self.driver("cuMemcpyDtoH", data.ctypes.data, address, data.nbytes, doing=f"copying {what} back")
