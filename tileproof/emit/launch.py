"""Run an assembled kernel on a GPU through the CUDA driver API (`cuda.bindings.driver`).

    launch(cubin, "copy", grid=1, block=64, arguments=[source, destination, (64, "s32")])

Arrays on the host are copied to the device before the kernel and back into the same arrays after it; arrays on
the device (CuPy, PyTorch, Numba) are passed by their pointer. A scalar names its PTX
type, because the driver checks neither type nor width and a kernel would read whatever bytes it finds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ctypes import addressof, c_void_p, create_string_buffer
from dataclasses import dataclass
from math import prod
from operator import index
from typing import Any

from tileproof.emit.arguments import Argument, Packed, pack, pointer
from tileproof.emit.assemble import Cubin
from tileproof.emit.driver import Driver
from tileproof.errors import LaunchError

# CUDA Programming Guide, "Technical Specifications per Compute Capability": equal for every supported
# architecture.
MOST_CTAS = (2**31 - 1, 65535, 65535)
MOST_THREADS = (1024, 1024, 64)
MOST_THREADS_PER_CTA = 1024
PORTABLE_CLUSTER_CTAS = 8

Extent = int | Sequence[int]
Shape = tuple[int, int, int]


def gpu_available() -> bool:
    """Whether a CUDA driver and at least one GPU can be used from this process."""
    try:
        return Driver().count() > 0
    except LaunchError:
        return False


def device_name(device: int = 0) -> str:
    """The GPU's name as the driver gives it, such as `NVIDIA H200`. Raises `LaunchError` if there is none."""
    driver = Driver()
    return driver.name(driver.device(device))


def compute_capability(device: int = 0) -> tuple[int, int]:
    """A GPU's (major, minor): (9, 0) runs sm_90 and sm_90a. Raises `LaunchError` if there is none."""
    driver = Driver()
    gpu = driver.device(device)
    return driver.attribute(gpu, "COMPUTE_CAPABILITY_MAJOR"), driver.attribute(
        gpu, "COMPUTE_CAPABILITY_MINOR"
    )


def driver_version() -> str:
    """The newest CUDA that the driver knows, such as `13.0`. Raises `LaunchError` if there is no driver."""
    version = int(Driver()("cuDriverGetVersion", doing="asking for the driver's version"))
    return f"{version // 1000}.{version % 1000 // 10}"


def launch(
    cubin: Cubin,
    kernel: str,
    grid: Extent,
    block: Extent,
    arguments: Sequence[Argument],
    *,
    cluster: Extent | None = None,
    dynamic_shared: int = 0,
    device: int = 0,
    stream: int | None = None,
) -> None:
    """Run `kernel` once and wait for it.

    `grid` counts CTAs, `block` threads per CTA, `cluster` CTAs per cluster, each as x or (x, y, z);
    `dynamic_shared` is in bytes per CTA. `arguments`, in the kernel's parameter order, are

    - a NumPy array: C-contiguous; copied in, and copied back unless it is read-only. An array that is passed
      twice is one buffer on the device, as it is on the host;
    - an object with `__cuda_array_interface__`: its pointer, without a copy;
    - an object with `__dlpack__`: as a NumPy array if it is on the host, else its pointer;
    - `(value, "s32")` or a NumPy scalar: one of s8 to s64, u8 to u64, b8 to b64, f16, f32, f64;
    - `bytes`: a structure passed by value, such as a 128-byte tensor map.

    Without a `stream` (a handle of this device) the launch waits for all work on the device first, because
    another stream may still be writing an array. With one, it comes after what that stream holds already.

    Raises `LaunchError`, before anything runs, for arguments that do not fit the kernel's parameters, and
    afterwards with the CUDA error for a kernel that faulted; no host array changes then. A fault (misaligned
    or illegal address, trap) is final for the process: CUDA answers every later call with the same error.
    """
    geometry = _geometry(grid, block, cluster, dynamic_shared)
    packed = pack(arguments, stream)

    driver = Driver()
    gpu = driver.device(device)
    what = f"kernel {kernel!r} ({cubin.arch}), {geometry}, on device {device} ({driver.name(gpu)})"
    with driver.context(gpu), driver.function(cubin.image, kernel, what) as function:
        _match(packed, driver.parameter_sizes(function, what), kernel)
        for item in packed:
            _demand_on(driver, item, device, what)
        config = _config(driver, gpu, function, geometry, what)
        if stream is not None:
            config.hStream = stream
        with driver.resident(packed, what) as addresses:
            if stream is None and any(item.on_device for item in packed):
                # Another stream of the array's owner may still be writing it.
                driver("cuCtxSynchronize", doing=f"waiting for the device arrays of {what}")
            values = [item.value if item.host is None else pointer(addresses[item.span]) for item in packed]
            # The driver reads each parameter through its address: the buffers must outlive the call.
            buffers = [create_string_buffer(value, len(value)) for value in values]
            parameters = (c_void_p * len(buffers))(*map(addressof, buffers))
            driver("cuLaunchKernelEx", config, function, addressof(parameters), 0, doing=f"launching {what}")
            _wait(driver, what, stream)
            for item in packed:
                if item.host is not None and item.host.flags.writeable and item.host.nbytes:
                    target, source = item.host.ctypes.data, addresses[item.span]
                    driver(
                        "cuMemcpyDtoH",
                        target,
                        source,
                        item.host.nbytes,
                        doing=f"copying {item} back from {what}",
                    )


@dataclass(frozen=True)
class _Geometry:
    """CTAs of the grid, threads of a CTA, CTAs of a cluster, and bytes of dynamic shared memory per CTA."""

    grid: Shape
    block: Shape
    cluster: Shape | None
    dynamic_shared: int

    def __str__(self) -> str:
        clustered = "" if self.cluster is None else f", cluster {self.cluster}"
        return f"grid {self.grid}, block {self.block}{clustered}"


def _geometry(grid: Extent, block: Extent, cluster: Extent | None, dynamic_shared: int) -> _Geometry:
    ctas, threads = _shape("grid", grid, MOST_CTAS), _shape("block", block, MOST_THREADS)
    if prod(threads) > MOST_THREADS_PER_CTA:
        raise LaunchError(
            f"block {threads} has {prod(threads)} threads; a CTA has at most {MOST_THREADS_PER_CTA}"
        )
    clustered = None if cluster is None else _shape("cluster", cluster, MOST_CTAS)
    for axis, count, length in zip("xyz", ctas, clustered or (1, 1, 1), strict=True):
        if count % length:
            raise LaunchError(
                f"grid {axis} is {count} CTAs, which is not a multiple of cluster {axis}, {length}"
            )
    if dynamic_shared < 0:
        raise LaunchError(f"dynamic_shared is {dynamic_shared} bytes; needed is 0 or more")
    return _Geometry(ctas, threads, clustered, dynamic_shared)


def _shape(name: str, extent: Extent, most: Shape) -> Shape:
    """(x, y, z) of an extent given as x, (x,), (x, y) or (x, y, z)."""
    try:
        given = tuple(map(index, extent)) if isinstance(extent, Iterable) else (index(extent),)
    except TypeError:
        given = ()
    if not 1 <= len(given) <= 3:
        raise LaunchError(f"{name} is {extent!r}; needed is x, (x, y) or (x, y, z) in integers")
    x, y, z = (*given, 1, 1)[:3]
    for axis, length, limit in zip("xyz", (x, y, z), most, strict=True):
        if not 1 <= length <= limit:
            raise LaunchError(f"{name} {axis} is {length}; needed is 1 to {limit}")
    return x, y, z


def _match(packed: Sequence[Packed], sizes: Sequence[int], kernel: str) -> None:
    """Compare with the kernel's own parameters, because the driver reads past a list that is too short."""
    if len(packed) != len(sizes):
        raise LaunchError(
            f"{len(packed)} arguments were given for the {len(sizes)} parameters of kernel {kernel!r}, "
            f"which are of {list(sizes)} bytes"
        )
    for item, size in zip(packed, sizes, strict=True):
        if item.size != size:
            raise LaunchError(
                f"{item} is passed in {item.size} bytes; that parameter of kernel {kernel!r} has {size} bytes"
            )


def _config(driver: Driver, gpu: Any, function: Any, geometry: _Geometry, what: str) -> Any:
    """The configuration, on the default stream; lifts the limits that CUDA lifts only on request."""
    api = driver.api
    limits = api.CUfunction_attribute
    config = api.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = geometry.grid
    config.blockDimX, config.blockDimY, config.blockDimZ = geometry.block
    if geometry.dynamic_shared:
        static = driver(
            "cuFuncGetAttribute",
            limits.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
            function,
            doing=f"reading {what}",
        )
        most = driver.attribute(gpu, "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        if static + geometry.dynamic_shared > most:
            raise LaunchError(
                f"{static} bytes of static and {geometry.dynamic_shared} bytes of dynamic shared memory were "
                f"asked for {what}; this GPU has {most} bytes per CTA"
            )
        limit = limits.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        driver(
            "cuFuncSetAttribute",
            function,
            limit,
            geometry.dynamic_shared,
            doing=f"reserving shared memory for {what}",
        )
        config.sharedMemBytes = geometry.dynamic_shared
    if geometry.cluster is not None:
        if prod(geometry.cluster) > PORTABLE_CLUSTER_CTAS:
            limit = limits.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
            driver("cuFuncSetAttribute", function, limit, 1, doing=f"allowing a larger cluster for {what}")
        attribute = api.CUlaunchAttribute()
        attribute.id = api.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        extent = attribute.value.clusterDim
        extent.x, extent.y, extent.z = geometry.cluster
        config.attrs = [attribute]
        config.numAttrs = 1
    return config


def _demand_on(driver: Driver, item: Packed, device: int, what: str) -> None:
    """Raise unless an array on a device is on this one, or in memory that all devices share."""
    if not item.address:
        return
    found = driver.owner(item.address, f"{item} of {what}") if item.device is None else item.device
    if found != device and not (item.device is None and driver.managed(item.address, f"{item} of {what}")):
        raise LaunchError(f"{item} is on device {found}; needed is an array on device {device}")


def _wait(driver: Driver, what: str, stream: int | None) -> None:
    try:
        if stream is None:
            driver("cuCtxSynchronize", doing=f"running {what}")
        else:
            driver("cuStreamSynchronize", stream, doing=f"running {what}")
    except LaunchError as error:
        raise LaunchError(
            f"{error}. The kernel faulted, and with it this process's CUDA context: every later CUDA call "
            "fails with the same error, so start a new process for the next launch"
        ) from error
