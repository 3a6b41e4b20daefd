"""The launcher against a stand-in for the driver, which keeps account of what is held and can fail at any
call.
"""

from __future__ import annotations

import ctypes
import sys
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tileproof.emit import driver as driver_module
from tileproof.emit.assemble import AssemblerInfo, Cubin
from tileproof.emit.launch import compute_capability, device_name, driver_version, gpu_available, launch
from tileproof.errors import LaunchError

CUBIN = Cubin("sm_90a", b"\x7fELF", AssemblerInfo("ptxas", "13.0"), "", ())


class Result(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_MISALIGNED_ADDRESS = 716


class Driver:
    """`cuda.bindings.driver` for one GPU and one kernel, `copy(src, dst, n)`: `dst[i] = src[i]` for the first
    n words.

    `fail` is the number of the call that fails, counted from 1; `held` is what was acquired and not given
    back.
    """

    CUresult = Result
    CUdevice_attribute = SimpleNamespace(
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR=75,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR=76,
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN=97,
    )
    CUfunction_attribute = SimpleNamespace(
        CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES=1,
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8,
        CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED=14,
    )
    CUpointer_attribute = SimpleNamespace(
        CU_POINTER_ATTRIBUTE_IS_MANAGED=8, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL=9
    )
    CUlaunchAttributeID = SimpleNamespace(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION=4)

    def __init__(self, fail: int | None = None, error: Result = Result.CUDA_ERROR_INVALID_VALUE) -> None:
        self.fail, self.error = fail, error
        self.calls: list[str] = []
        self.held: set[Any] = set()
        self.memory: dict[int, Any] = {}
        self.set: dict[int, int] = {}
        self.config: Any = None
        self.pointers: dict[int, Any] = {8: False, 9: 0}
        self.count = {"cuMemAlloc": 0, "cuMemFree": 0}

    def result(self, name: str, *values: Any) -> tuple[Any, ...]:
        self.calls.append(name)
        if len(self.calls) == self.fail:
            return (self.error, *(None for _ in values))
        return (Result.CUDA_SUCCESS, *values)

    def acquire(self, name: str, thing: Any) -> tuple[Any, ...]:
        answer = self.result(name, thing)
        if answer[0] == Result.CUDA_SUCCESS:
            self.held.add(thing)
        return answer

    def cuInit(self, flags: int) -> Any:
        return self.result("cuInit")

    def cuDriverGetVersion(self) -> Any:
        return self.result("cuDriverGetVersion", 13010)

    def cuDeviceGetCount(self) -> Any:
        return self.result("cuDeviceGetCount", 1)

    def cuDeviceGet(self, ordinal: int) -> Any:
        return self.result("cuDeviceGet", ordinal)

    def cuDeviceGetName(self, length: int, device: int) -> Any:
        return self.result("cuDeviceGetName", b"Stand-in GPU\0\0\0")

    def cuDeviceGetAttribute(self, attribute: int, device: int) -> Any:
        return self.result("cuDeviceGetAttribute", {75: 9, 76: 0, 97: 232448}[attribute])

    def cuGetErrorName(self, status: Result) -> Any:
        return Result.CUDA_SUCCESS, status.name.encode()

    def cuGetErrorString(self, status: Result) -> Any:
        return Result.CUDA_SUCCESS, f"text of {int(status)}".encode()

    def cuDevicePrimaryCtxRetain(self, device: int) -> Any:
        return self.result("cuDevicePrimaryCtxRetain", "primary context")

    def cuCtxPushCurrent(self, context: str) -> Any:
        return self.acquire("cuCtxPushCurrent", context)

    def cuCtxPopCurrent(self) -> Any:
        self.held.remove("primary context")
        return Result.CUDA_SUCCESS, None

    def cuModuleLoadData(self, image: bytes) -> Any:
        return self.acquire("cuModuleLoadData", image)

    def cuModuleUnload(self, module: bytes) -> Any:
        self.held.remove(module)
        return (Result.CUDA_SUCCESS,)

    def cuModuleGetFunction(self, module: bytes, name: bytes) -> Any:
        return self.result("cuModuleGetFunction", name)

    def cuFuncGetParamInfo(self, function: bytes, number: int) -> Any:
        if number == 3:
            return Result.CUDA_ERROR_INVALID_VALUE, None, None
        return self.result("cuFuncGetParamInfo", 8 * number, (8, 8, 4)[number])

    def cuFuncGetAttribute(self, attribute: int, function: bytes) -> Any:
        return self.result("cuFuncGetAttribute", 1024)

    def cuFuncSetAttribute(self, function: bytes, attribute: int, value: int) -> Any:
        self.set[attribute] = value
        return self.result("cuFuncSetAttribute")

    def cuMemAlloc(self, size: int) -> Any:
        buffer = ctypes.create_string_buffer(size)
        answer = self.acquire("cuMemAlloc", ctypes.addressof(buffer))
        self.count["cuMemAlloc"] += answer[0] == Result.CUDA_SUCCESS
        self.memory[ctypes.addressof(buffer)] = buffer
        return answer

    def cuMemFree(self, address: int) -> Any:
        self.held.remove(address)
        self.count["cuMemFree"] += 1
        return (Result.CUDA_SUCCESS,)

    def cuPointerGetAttribute(self, attribute: int, address: int) -> Any:
        return self.result("cuPointerGetAttribute", self.pointers[attribute])

    def cuMemcpyHtoD(self, target: int, source: int, size: int) -> Any:
        ctypes.memmove(target, source, size)
        return self.result("cuMemcpyHtoD")

    def cuMemcpyDtoH(self, target: int, source: int, size: int) -> Any:
        answer = self.result("cuMemcpyDtoH")
        if answer[0] == Result.CUDA_SUCCESS:
            ctypes.memmove(target, source, size)
        return answer

    def cuCtxSynchronize(self) -> Any:
        return self.result("cuCtxSynchronize")

    def cuStreamSynchronize(self, stream: int) -> Any:
        assert stream == self.config.hStream
        return self.result("cuStreamSynchronize")

    def CUlaunchConfig(self) -> Any:
        return SimpleNamespace(sharedMemBytes=0, numAttrs=0, attrs=[])

    def CUlaunchAttribute(self) -> Any:
        return SimpleNamespace(value=SimpleNamespace(clusterDim=SimpleNamespace()))

    def cuLaunchKernelEx(self, config: Any, function: bytes, parameters: int, extra: int) -> Any:
        self.config = config
        src, dst, n = (ctypes.c_void_p * 3).from_address(parameters)
        count = ctypes.c_int32.from_address(n).value
        source, target = (ctypes.c_uint64.from_address(address).value for address in (src, dst))
        ctypes.memmove(target, source, 4 * count)
        return self.result("cuLaunchKernelEx")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_module, "RETAINED", {})


def use(monkeypatch: pytest.MonkeyPatch, driver: Driver) -> Driver:
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", driver)
    return driver


def words(count: int) -> Any:
    return np.arange(1, count + 1, dtype=np.int32)


def test_arrays_go_there_and_back(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = use(monkeypatch, Driver())
    source, target = words(8), np.zeros(8, np.int32)
    launch(CUBIN, "copy", (4, 2), 64, [source, target, (6, "s32")])
    assert target.tolist() == [1, 2, 3, 4, 5, 6, 0, 0]
    assert source.tolist() == words(8).tolist()
    config = driver.config
    assert (config.gridDimX, config.gridDimY, config.gridDimZ) == (4, 2, 1)
    assert (config.blockDimX, config.blockDimY, config.blockDimZ) == (64, 1, 1)
    assert (config.sharedMemBytes, config.numAttrs, driver.set) == (0, 0, {})
    assert driver.held == set()


def test_an_array_that_is_passed_twice_is_one_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = use(monkeypatch, Driver())
    array = words(8)
    launch(CUBIN, "copy", 1, 64, [array, array, (8, "s32")])
    assert driver.calls.count("cuMemAlloc") == 1
    assert array.tolist() == words(8).tolist()


def test_a_read_only_array_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = use(monkeypatch, Driver())
    target = np.zeros(8, np.int32)
    target.flags.writeable = False
    launch(CUBIN, "copy", 1, 64, [words(8), target, (8, "s32")])
    assert target.tolist() == [0] * 8
    assert driver.calls.count("cuMemcpyDtoH") == 1


def test_empty_arrays_have_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = use(monkeypatch, Driver())
    launch(CUBIN, "copy", 1, 64, [words(0), words(0), (0, "s32")])
    assert driver.calls.count("cuMemAlloc") in (1, 2)
    assert "cuMemcpyHtoD" not in driver.calls
    assert driver.held == set()


def test_device_arrays_are_passed_by_pointer(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = use(monkeypatch, Driver())
    source, target = words(4), np.zeros(4, np.int32)
    launch(CUBIN, "copy", 1, 64, [on_device(source), on_device(target), np.int32(3)])
    assert target.tolist() == [1, 2, 3, 0]
    assert "cuMemAlloc" not in driver.calls
    waits = [number for number, call in enumerate(driver.calls) if call == "cuCtxSynchronize"]
    assert len(waits) == 2
    assert waits[0] < driver.calls.index("cuLaunchKernelEx") < waits[1]


def test_clusters_and_dynamic_shared_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = use(monkeypatch, Driver())
    arguments = [words(4), words(4), (4, "s32")]
    launch(CUBIN, "copy", (16, 2), 64, arguments, cluster=(4, 2), dynamic_shared=231424)
    (attribute,) = driver.config.attrs
    extent = attribute.value.clusterDim
    assert (attribute.id, extent.x, extent.y, extent.z, driver.config.numAttrs) == (4, 4, 2, 1, 1)
    assert driver.config.sharedMemBytes == 231424
    assert driver.set == {8: 231424}
    launch(CUBIN, "copy", 16, 64, arguments, cluster=16)
    assert driver.set[14] == 1
    with pytest.raises(
        LaunchError, match=r"1024 bytes of static and 231425 bytes of dynamic.*232448 bytes per CTA"
    ):
        launch(CUBIN, "copy", 1, 64, arguments, dynamic_shared=231425)


def on_device(array: Any) -> Any:
    return SimpleNamespace(__cuda_array_interface__={"data": (array.ctypes.data, False)})


@pytest.mark.parametrize("stream", [None, 77])
@pytest.mark.parametrize("source_on_device", [False, True])
def test_whatever_call_fails_nothing_stays_behind(
    stream: int | None, source_on_device: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def attempt(driver: Driver) -> list[int]:
        monkeypatch.setattr(driver_module, "RETAINED", {})
        use(monkeypatch, driver)
        source, target = words(8), np.zeros(8, np.int32)
        arguments = [on_device(source) if source_on_device else source, target, (8, "s32")]
        launch(CUBIN, "copy", 4, 64, arguments, cluster=2, dynamic_shared=4096, stream=stream)
        return target.tolist()

    whole = Driver()
    assert attempt(whole) == words(8).tolist()
    assert len(whole.calls) > 15
    assert whole.count["cuMemAlloc"] == whole.count["cuMemFree"] == (1 if source_on_device else 2)
    for number, name in enumerate(whole.calls, 1):
        driver = Driver(fail=number)
        if name == "cuFuncGetParamInfo":
            driver.error = Result.CUDA_ERROR_NO_DEVICE  # an invalid value ends the list of parameters
        with pytest.raises(LaunchError, match=f"{driver.error.name} .text of"):
            attempt(driver)
        assert driver.held == set(), name
        assert driver.count["cuMemAlloc"] == driver.count["cuMemFree"], name
        assert len(driver.calls) == number, name


def test_a_launch_on_a_stream_waits_for_that_stream_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = use(monkeypatch, Driver())
    source, target = words(4), np.zeros(4, np.int32)
    launch(CUBIN, "copy", 1, 64, [on_device(source), on_device(target), (4, "s32")], stream=77)
    assert target.tolist() == [1, 2, 3, 4]
    assert driver.config.hStream == 77
    assert "cuCtxSynchronize" not in driver.calls
    assert driver.calls.index("cuLaunchKernelEx") < driver.calls.index("cuStreamSynchronize")


@pytest.mark.parametrize(("managed", "refused"), [(False, True), (True, False)])
def test_an_array_on_another_device_is_refused(
    managed: bool, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = use(monkeypatch, Driver())
    driver.pointers = {8: managed, 9: 1}
    arguments = [on_device(words(4)), on_device(words(4)), (4, "s32")]
    if refused:
        with pytest.raises(
            LaunchError, match=r"argument 0 .* is on device 1; needed is an array on device 0"
        ):
            launch(CUBIN, "copy", 1, 64, arguments)
    else:
        launch(CUBIN, "copy", 1, 64, arguments)
    assert ("cuLaunchKernelEx" in driver.calls) != refused
    assert driver.held == set()


def test_a_fault_is_reported_and_no_array_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = [words(8), np.zeros(8, np.int32), (8, "s32")]
    calls = use(monkeypatch, Driver()).calls
    launch(CUBIN, "copy", 1, 64, [words(8), np.zeros(8, np.int32), (8, "s32")])
    monkeypatch.setattr(driver_module, "RETAINED", {})
    wait = calls.index("cuCtxSynchronize") + 1
    driver = use(monkeypatch, Driver(wait, Result.CUDA_ERROR_MISALIGNED_ADDRESS))
    with pytest.raises(LaunchError) as fault:
        launch(CUBIN, "copy", 1, 64, arguments)
    assert str(fault.value).startswith(
        "CUDA_ERROR_MISALIGNED_ADDRESS (text of 716) while running kernel 'copy' (sm_90a), grid (1, 1, 1), "
        "block (64, 1, 1), on device 0 (Stand-in GPU). The kernel faulted, and with it this process's"
    )
    assert not arguments[1].any()
    assert driver.held == set()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], r"0 arguments were given for the 3 parameters of kernel 'copy', which are of \[8, 8, 4\] bytes"),
        ([words(4), words(4)], "2 arguments were given for the 3 parameters"),
        ([words(4), words(4), (4, "s32"), (4, "s32")], "4 arguments were given for the 3 parameters"),
        (
            [words(4), words(4), (4, "s64")],
            r"argument 2 \(s64 4\) is passed in 8 bytes; .* 'copy' has 4 bytes",
        ),
        (
            [(4, "s32"), words(4), (4, "s32")],
            r"argument 0 \(s32 4\) is passed in 4 bytes; .* 'copy' has 8 bytes",
        ),
    ],
)
def test_arguments_must_match_the_parameters(
    arguments: list[Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = use(monkeypatch, Driver())
    with pytest.raises(LaunchError, match=message):
        launch(CUBIN, "copy", 1, 64, arguments)
    assert "cuLaunchKernelEx" not in driver.calls
    assert driver.held == set()


@pytest.mark.parametrize(
    ("grid", "block", "options", "message"),
    [
        (0, 32, {}, "grid x is 0; needed is 1 to 2147483647"),
        ((1, 65536), 32, {}, "grid y is 65536; needed is 1 to 65535"),
        ((1, 1, 1, 1), 32, {}, r"grid is \(1, 1, 1, 1\); needed is x, \(x, y\) or \(x, y, z\)"),
        ((), 32, {}, r"grid is \(\); needed"),
        (1.5, 32, {}, "grid is 1.5; needed"),
        (1, (32, "2"), {}, "block is .*; needed"),
        (1, -1, {}, "block x is -1"),
        (1, (1, 1, 65), {}, "block z is 65; needed is 1 to 64"),
        (1, 1025, {}, "block x is 1025; needed is 1 to 1024"),
        (1, (32, 33), {}, r"block \(32, 33, 1\) has 1056 threads; a CTA has at most 1024"),
        (6, 32, {"cluster": 4}, "grid x is 6 CTAs, which is not a multiple of cluster x, 4"),
        ((4, 3), 32, {"cluster": (2, 2)}, "grid y is 3 CTAs"),
        (4, 32, {"cluster": 0}, "cluster x is 0"),
        (1, 32, {"dynamic_shared": -1}, "dynamic_shared is -1 bytes"),
        (1, 32, {"device": 1}, "device 1 does not exist; this process sees 1"),
        (1, 32, {"device": -1}, "device -1 does not exist"),
    ],
)
def test_launches_that_cannot_be(
    grid: Any, block: Any, options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = use(monkeypatch, Driver())
    with pytest.raises(LaunchError, match=message):
        launch(CUBIN, "copy", grid, block, [words(4), words(4), (4, "s32")], **options)
    assert "cuModuleLoadData" not in driver.calls


@pytest.mark.parametrize(
    ("grid", "block"), [(2**31 - 1, 1024), ((1, 65535, 65535), (4, 4, 64)), (np.int64(1), (1,))]
)
def test_the_largest_launches_are_allowed(grid: Any, block: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = use(monkeypatch, Driver())
    launch(CUBIN, "copy", grid, block, [words(4), words(4), (4, "s32")])
    assert "cuLaunchKernelEx" in driver.calls


def test_what_the_driver_says_of_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, Driver())
    assert gpu_available()
    assert device_name() == "Stand-in GPU"
    assert compute_capability() == (9, 0)
    assert driver_version() == "13.1"


def test_an_error_that_the_driver_cannot_name(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = use(monkeypatch, Driver(fail=1))
    monkeypatch.setattr(driver, "cuGetErrorString", lambda status: (Result.CUDA_ERROR_INVALID_VALUE, None))
    with pytest.raises(LaunchError, match=r"^CUDA error 1 while starting the CUDA driver"):
        device_name()


def no_library(flags: int) -> Any:
    raise RuntimeError("libcuda.so.1 was not found")


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("bindings", r"needs cuda-python, which is not installed: pip install 'tileproof\[gpu\]'"),
        ("driver", "no NVIDIA driver on this machine, and launching needs one: libcuda.so.1 was not found"),
        ("gpu", r"CUDA_ERROR_NO_DEVICE \(text of 100\) while starting the CUDA driver"),
    ],
)
def test_without_a_gpu_every_question_has_an_answer(
    missing: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = use(monkeypatch, Driver(fail=1, error=Result.CUDA_ERROR_NO_DEVICE))
    if missing == "bindings":
        monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    if missing == "driver":
        monkeypatch.setattr(driver, "cuInit", no_library)
    assert not gpu_available()
    questions = [device_name, compute_capability, driver_version, lambda: launch(CUBIN, "copy", 1, 32, [])]
    for question in questions:
        driver.calls.clear()
        with pytest.raises(LaunchError, match=message):
            question()
