"""Entries run the same on the simulator and through the driver's calls, here a stand-in whose GPU is the simulator."""

from __future__ import annotations

import ctypes
import sys
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tileproof.emit import driver as driver_module
from tileproof.errors import SimulationError
from tileproof.fuzz.execute import in_process
from tileproof.fuzz.execute.entry import OCEAN, OCEAN_ALIGN, Entry, Trapped
from tileproof.fuzz.execute.in_process import InProcessDevice
from tileproof.fuzz.execute.simulated import Simulated
from tileproof.fuzz.execute.table import accesses, table_form
from tileproof.fuzz.execute.tags import POISON, region
from tileproof.simulate import simulate


class Result(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_MISALIGNED_ADDRESS = 716


class Driver:
    """As much of ``cuda.bindings.driver`` as running entries takes; its modules are PTX text."""

    CUresult = Result
    CUdevice_attribute = SimpleNamespace(
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR=75, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR=76
    )

    def __init__(self) -> None:
        self.memory: dict[int, Any] = {}
        self.modules = 0
        self.faulted = False

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cu"):
            raise AttributeError(name)
        return lambda *_: (Result.CUDA_SUCCESS, 1)

    def cuDeviceGetName(self, length: int, device: int) -> Any:
        return Result.CUDA_SUCCESS, b"Stand-in GPU\0"

    def cuDeviceGetAttribute(self, attribute: int, device: int) -> Any:
        return Result.CUDA_SUCCESS, {75: 9, 76: 0}[attribute]

    def cuGetErrorName(self, status: Result) -> Any:
        return Result.CUDA_SUCCESS, status.name.encode()

    def cuGetErrorString(self, status: Result) -> Any:
        return Result.CUDA_SUCCESS, b"text"

    def cuModuleLoadData(self, image: bytes) -> Any:
        self.modules += 1
        return Result.CUDA_SUCCESS, image.decode()

    def cuModuleUnload(self, module: str) -> Any:
        self.modules -= 1
        return (Result.CUDA_SUCCESS,)

    def cuModuleGetFunction(self, module: str, name: bytes) -> Any:
        return Result.CUDA_SUCCESS, (module, name.decode())

    def cuMemAlloc(self, size: int) -> Any:
        held = np.zeros(size + 512, np.uint8)
        address = -(-held.ctypes.data // 256) * 256
        self.memory[address] = held
        return Result.CUDA_SUCCESS, address

    def cuMemFree(self, address: int) -> Any:
        del self.memory[address]
        return (Result.CUDA_SUCCESS,)

    def cuMemsetD8(self, address: int, value: int, size: int) -> Any:
        ctypes.memset(address, value, size)
        return (Result.CUDA_SUCCESS,)

    def cuMemcpyHtoD(self, target: int, source: int, size: int) -> Any:
        ctypes.memmove(target, source, size)
        return (Result.CUDA_SUCCESS,)

    def cuMemcpyDtoH(self, target: int, source: int, size: int) -> Any:
        return self.cuMemcpyHtoD(target, source, size)

    def CUlaunchConfig(self) -> Any:
        return SimpleNamespace()

    def cuLaunchKernelEx(self, config: Any, function: Any, parameters: int, extra: int) -> Any:
        assert extra == 0
        at = [
            ctypes.c_uint64.from_address(ctypes.c_uint64.from_address(parameters + 8 * n).value).value
            for n in range(3)
        ]
        assert not any(address % OCEAN_ALIGN for address in at)
        arrays = []
        for address in at:
            own = max(base for base in self.memory if base <= address)
            size = own + self.memory[own].nbytes - 512 - address
            arrays.append(np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address)))
        block = config.blockDimX, config.blockDimY, config.blockDimZ
        try:
            simulate(
                function[0],
                arrays,
                kernel=function[1],
                grid=(config.gridDimX, config.gridDimY, config.gridDimZ),
                block=block,
            )
        except SimulationError:
            self.faulted = True
        return (Result.CUDA_SUCCESS,)

    def cuCtxSynchronize(self) -> Any:
        return (Result.CUDA_ERROR_MISALIGNED_ADDRESS if self.faulted else Result.CUDA_SUCCESS,)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    made = Driver()
    monkeypatch.setattr(driver_module, "RETAINED", {})
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", made)  # type: ignore[arg-type]
    monkeypatch.setattr(in_process, "assemble", lambda text, arch: SimpleNamespace(image=text.encode()))
    return made


def entry(opcode: str, base: int = 0) -> Entry:
    form = table_form(opcode)
    offsets = np.random.default_rng(1).permutation(2 * 32).reshape(2, 1, 32) * form.access
    return accesses(form, offsets.astype(np.int64), base=base, memory_bytes=4096)


ENTRIES = (
    "ld.global.v2.b32",
    "st.global.b16",
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16",
    "ld.global.v2.b32",
)


def test_both_backends_return_the_same(driver: Driver) -> None:
    device = InProcessDevice()
    assert (device.name, device.arch) == ("Stand-in GPU", "sm_90a")
    made = [entry(opcode) for opcode in ENTRIES]
    results = device.run(made)
    for one, dump, simulated in zip(made, results, Simulated().run(made), strict=True):
        assert isinstance(dump, np.ndarray)
        assert isinstance(simulated, np.ndarray)
        assert dump.shape == (one.grid, one.dump_bytes)
        assert (dump == simulated).all()
    assert not driver.memory
    assert driver.modules == 0


def test_nothing_is_run_after_a_trap(driver: Driver) -> None:
    first, second, third = InProcessDevice().run(
        [entry("ld.global.b32"), entry("ld.global.b64", 4), entry("ld.global.b8")]
    )
    assert isinstance(first, np.ndarray)
    assert isinstance(second, Trapped)
    assert second.reason.startswith(
        "CUDA_ERROR_MISALIGNED_ADDRESS (text) while running entry table_ld_global_b64"
    )
    assert isinstance(third, Trapped)
    assert third.reason.startswith("not run, because an entry before it trapped")
    assert not driver.memory


def test_the_simulator_says_why_an_entry_trapped() -> None:
    (trapped,) = Simulated().run([entry("ld.global.b64", 4)])
    assert isinstance(trapped, Trapped)
    assert "misaligned" in trapped.reason or "aligned" in trapped.reason


def test_global_memory_is_tagged_and_a_dump_is_poison() -> None:
    form = table_form("ld.global.b32")
    offsets = np.arange(64, dtype=np.int64).reshape(2, 1, 32) * 4
    active = np.ones(offsets.shape, bool)
    active[1, 0, 3] = False
    (dump,) = Simulated().run([accesses(form, offsets, active=active, base=OCEAN - 256)])
    assert isinstance(dump, np.ndarray)
    wanted = region(OCEAN)[-256:].reshape(2, 128).copy()
    wanted[1, 12:16] = POISON
    assert (dump[:, :128] == wanted).all()
    assert (dump[:, 128:] == POISON).all()


@pytest.mark.parametrize(
    ("opcode", "change", "message"),
    [
        ("ld.global.b32", {"base": OCEAN - 128}, "of memory that has 16777216"),
        ("st.shared.b32", {"base": -4}, "bytes -4 to 252 of memory that has 40960"),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16", {"active": np.arange(64).reshape(2, 1, 32) != 3}, "only a part of one"),
        ("ld.local.b32", {"memory_bytes": 4098}, "4098 bytes of memory; needed a multiple of 4 up to 4096"),
    ],
)  # fmt: skip
def test_tables_that_cannot_be(opcode: str, change: dict[str, Any], message: str) -> None:
    offsets = np.arange(64, dtype=np.int64).reshape(2, 1, 32) * 4
    with pytest.raises(ValueError, match=message):
        accesses(table_form(opcode), offsets, **change)
