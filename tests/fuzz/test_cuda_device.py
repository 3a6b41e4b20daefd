"""What the worker of a GPU asks of the CUDA driver, with a stand-in for ``cuda.bindings.driver``."""

from __future__ import annotations

import ctypes
import sys
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tileproof.emit import driver as driver_module
from tileproof.errors import LaunchError
from tileproof.fuzz.execute.batch import Batch, Launch
from tileproof.fuzz.execute.cuda_device import CudaDevice
from tileproof.fuzz.execute.entry import OCEAN_ALIGN
from tileproof.fuzz.execute.expected import ocean
from tileproof.fuzz.execute.tags import POISON


class Result(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_MISALIGNED_ADDRESS = 716


OK = Result.CUDA_SUCCESS


class Api:
    """Memory is the host's; a kernel copies the first word of its table, plus one, to each CTA's dump."""

    CUresult = Result

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.buffers: dict[int, Any] = {}
        self.modules: list[Any] = []
        self.fails = ""
        self.stray = False

    def _status(self, name: str) -> Result:
        self.calls.append(name)
        return Result.CUDA_ERROR_MISALIGNED_ADDRESS if name == self.fails else OK

    def cuInit(self, flags: int) -> Any:
        return (OK,)

    def cuGetErrorName(self, status: Result) -> Any:
        return OK, status.name.encode()

    def cuGetErrorString(self, status: Result) -> Any:
        return OK, b"misaligned address"

    def cuDeviceGetCount(self) -> Any:
        return OK, 2

    def cuDeviceGet(self, ordinal: int) -> Any:
        return OK, ordinal

    def cuDeviceGetName(self, length: int, device: int) -> Any:
        return OK, f"Stand-in {device}\0".encode()

    def cuDevicePrimaryCtxRetain(self, device: int) -> Any:
        return OK, "context"

    def cuCtxPushCurrent(self, context: str) -> Any:
        return (self._status("cuCtxPushCurrent"),)

    def cuCtxPopCurrent(self) -> Any:
        return OK, "context"

    def cuMemAlloc(self, size: int) -> Any:
        buffer = ctypes.create_string_buffer(size)
        address = ctypes.addressof(buffer)
        self.buffers[address] = buffer
        return self._status("cuMemAlloc"), address

    def cuMemFree(self, address: int) -> Any:
        del self.buffers[address]
        return (OK,)

    def cuMemsetD8(self, address: int, value: int, size: int) -> Any:
        ctypes.memset(address, value, size)
        return (self._status("cuMemsetD8"),)

    def cuMemcpyHtoD(self, target: int, source: int, size: int) -> Any:
        ctypes.memmove(target, source, size)
        return (self._status("cuMemcpyHtoD"),)

    def cuMemcpyDtoH(self, target: int, source: int, size: int) -> Any:
        ctypes.memmove(target, source, size)
        return (self._status("cuMemcpyDtoH"),)

    def cuModuleLoadData(self, image: bytes) -> Any:
        self.modules.append(image)
        return self._status("cuModuleLoadData"), image

    def cuModuleUnload(self, module: bytes) -> Any:
        self.modules.remove(module)
        return (OK,)

    def cuModuleGetFunction(self, module: bytes, name: bytes) -> Any:
        return self._status("cuModuleGetFunction"), (module, name)

    def CUlaunchConfig(self) -> Any:
        return SimpleNamespace()

    def cuLaunchKernelEx(self, config: Any, function: Any, parameters: int, extra: int) -> Any:
        places = (ctypes.c_void_p * 3).from_address(parameters)
        tagged, dump, table = (ctypes.c_uint64.from_address(p).value for p in places if p)
        assert function == (b"ELF", b"v%d" % (config.gridDimX - 1))
        assert (config.gridDimY, config.gridDimZ, config.blockDimX, config.blockDimY, config.blockDimZ) == (
            1,
            1,
            8,
            4,
            1,
        )
        assert all(address % OCEAN_ALIGN == 0 for address in (tagged, table))
        word = ctypes.c_uint32.from_address(table).value
        for cta in range(config.gridDimX):
            ctypes.c_uint32.from_address(dump + cta * 64).value = word + 1
        if self.stray:
            ctypes.c_uint32.from_address(tagged + 4096).value = 0
        return (self._status("cuLaunchKernelEx"),)

    def cuCtxSynchronize(self) -> Any:
        return (self._status("cuCtxSynchronize"),)


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    made = Api()
    monkeypatch.setitem(sys.modules, "cuda", SimpleNamespace(bindings=SimpleNamespace(driver=made)))
    monkeypatch.setitem(sys.modules, "cuda.bindings", SimpleNamespace(driver=made))
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", made)
    monkeypatch.setattr(driver_module, "RETAINED", {})
    return made


def two_launches() -> Batch:
    """One CTA of entry ``v0``, two of ``v1``, 64 bytes each."""
    table = np.zeros(1024, np.uint8)
    table.view("u4")[[0, 128]] = 6, 7
    expected = np.full(3 * 64, POISON, np.uint8)
    expected.view("u4")[[0, 16, 32]] = 7, 8, 8
    launches = (Launch("v0", 1, (8, 4, 1), 0, 64, 0), Launch("v1", 2, (8, 4, 1), 64, 64, 512))
    return Batch(b"ELF", launches, table, expected, np.zeros(0, np.int64), (0, 1))


def test_a_batch_leaves_what_is_expected(api: Api) -> None:
    device, batch = CudaDevice(1), two_launches()
    assert device.name == "Stand-in 1"
    for _ in range(2):
        assert batch.findings(device.execute(batch, range(2)), range(2)) == ["", ""]
        assert not device.tampered()
    assert not api.modules
    assert len(api.buffers) == 3
    assert api.calls.count("cuCtxSynchronize") == 2


def test_only_what_is_chosen_runs_over_poison(api: Api) -> None:
    device, batch = CudaDevice(), two_launches()
    device.execute(batch, range(2))
    dump = device.execute(batch, range(1, 2))
    assert (dump[:64] == POISON).all()
    assert batch.findings(dump, range(1, 2)) == [""]


def test_a_larger_batch_gets_a_larger_buffer(api: Api) -> None:
    device, batch = CudaDevice(), two_launches()
    device.execute(batch, range(2))
    larger = Batch(batch.image, (), batch.table, np.zeros(3 << 20, np.uint8), batch.open, ())
    assert (device.execute(larger, range(0)) == POISON).all()
    assert len(api.buffers) == 3


def test_a_stray_write_is_seen_and_mended(api: Api) -> None:
    device, batch = CudaDevice(), two_launches()
    api.stray = True
    device.execute(batch, range(2))
    assert device.tampered()
    assert not device.tampered()
    tagged = max(api.buffers.values(), key=len)
    assert ocean().tobytes() in tagged.raw


@pytest.mark.parametrize(
    "call", ["cuModuleLoadData", "cuModuleGetFunction", "cuLaunchKernelEx", "cuCtxSynchronize"]
)
def test_errors_of_the_driver_are_told(api: Api, call: str) -> None:
    device = CudaDevice()
    api.fails = call
    with pytest.raises(LaunchError, match=r"CUDA_ERROR_MISALIGNED_ADDRESS \(misaligned address\) while"):
        device.execute(two_launches(), range(2))
    assert not api.modules or call == "cuModuleLoadData"


def test_a_device_that_is_not_there_is_a_message(api: Api) -> None:
    with pytest.raises(LaunchError, match="device 2 does not exist"):
        CudaDevice(2)
