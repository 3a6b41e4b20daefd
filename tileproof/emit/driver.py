"""The CUDA driver API (`cuda.bindings.driver`) with errors as exceptions and resources as `with` blocks.

What a `with` block acquired is given back however the block ends. Its closing calls are not checked: after a
fault CUDA refuses them with the fault's own error, and the fault is what the caller has to hear of.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tileproof.emit.arguments import Packed
from tileproof.errors import LaunchError

# CUDA destroys a primary context with its last holder, and making one takes far longer than a launch: each
# is kept.
RETAINED: dict[int, Any] = {}


class Driver:
    """The initialised driver. Raises `LaunchError` where the bindings, the driver or a GPU is missing."""

    def __init__(self) -> None:
        try:
            self.api: Any = importlib.import_module("cuda.bindings.driver")
        except ImportError as error:
            raise LaunchError(
                "launching needs cuda-python, which is not installed: pip install 'tileproof[gpu]'"
            ) from error
        try:
            self("cuInit", 0, doing="starting the CUDA driver")
        except RuntimeError as error:
            # So do the bindings say that there is no libcuda; an error code never comes as a RuntimeError.
            raise LaunchError(
                f"there is no NVIDIA driver on this machine, and launching needs one: {error}"
            ) from error

    def __call__(self, function: str, *arguments: Any, doing: str) -> Any:
        """Call a function by name; return its result or None. Raises `LaunchError` with CUDA's error."""
        status, *results = getattr(self.api, function)(*arguments)
        if status != self.api.CUresult.CUDA_SUCCESS:
            raise LaunchError(f"{self.explain(status)} while {doing}")
        return results[0] if results else None

    def explain(self, status: Any) -> str:
        """An error code as CUDA's name and text for it, or as its number if the driver does not know it."""
        (named, name), (described, text) = self.api.cuGetErrorName(status), self.api.cuGetErrorString(status)
        if named != self.api.CUresult.CUDA_SUCCESS or described != self.api.CUresult.CUDA_SUCCESS:
            return f"CUDA error {int(status)}"
        return f"{name.decode()} ({text.decode()})"

    def count(self) -> int:
        return int(self("cuDeviceGetCount", doing="counting the GPUs"))

    def device(self, ordinal: int) -> Any:
        count = self.count()
        if not 0 <= ordinal < count:
            raise LaunchError(f"device {ordinal} does not exist; this process sees {count}, counted from 0")
        return self("cuDeviceGet", ordinal, doing=f"opening device {ordinal}")

    def name(self, device: Any) -> str:
        text: bytes = self("cuDeviceGetName", 256, device, doing="asking for the GPU's name")
        return text.split(b"\0")[0].decode()

    def attribute(self, device: Any, name: str) -> int:
        """A device attribute by its name without the prefix `CU_DEVICE_ATTRIBUTE_`."""
        attribute = getattr(self.api.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self("cuDeviceGetAttribute", attribute, device, doing=f"asking for the GPU's {name}"))

    def owner(self, address: int, what: str) -> int:
        """The number of the device whose memory an address is in."""
        ordinal = self.api.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        return int(self("cuPointerGetAttribute", ordinal, address, doing=f"asking for the device of {what}"))

    def managed(self, address: int, what: str) -> bool:
        """Whether an address is in memory that all devices share."""
        is_managed = self.api.CUpointer_attribute.CU_POINTER_ATTRIBUTE_IS_MANAGED
        return bool(
            self("cuPointerGetAttribute", is_managed, address, doing=f"asking for the kind of {what}")
        )

    @contextmanager
    def context(self, device: Any) -> Iterator[None]:
        """Inside the device's primary context, the one that the CUDA runtime and every array library use."""
        ordinal = int(device)
        if ordinal not in RETAINED:
            RETAINED[ordinal] = self("cuDevicePrimaryCtxRetain", device, doing="taking the primary context")
        self("cuCtxPushCurrent", RETAINED[ordinal], doing="entering the primary context")
        try:
            yield
        finally:
            self.api.cuCtxPopCurrent()

    @contextmanager
    def function(self, image: bytes, kernel: str, what: str) -> Iterator[Any]:
        """One kernel of a cubin, loaded until the end of the block."""
        module = self("cuModuleLoadData", image, doing=f"loading {what}")
        try:
            yield self("cuModuleGetFunction", module, kernel.encode(), doing=f"looking up {what}")
        finally:
            self.api.cuModuleUnload(module)

    def parameter_sizes(self, function: Any, what: str) -> list[int]:
        """The size in bytes of each parameter of a kernel."""
        sizes: list[int] = []
        while True:
            status, _, size = self.api.cuFuncGetParamInfo(function, len(sizes))
            if status == self.api.CUresult.CUDA_ERROR_INVALID_VALUE:  # there is no parameter of this number
                return sizes
            if status != self.api.CUresult.CUDA_SUCCESS:
                raise LaunchError(f"{self.explain(status)} while reading the parameters of {what}")
            sizes.append(int(size))

    @contextmanager
    def resident(self, packed: Sequence[Packed], what: str) -> Iterator[dict[tuple[int, int], int]]:
        """Device copies of the host arrays until the end of the block: their addresses by `Packed.span`."""
        addresses: dict[tuple[int, int], int] = {}
        try:
            for item in packed:
                if item.host is None or item.span in addresses:
                    continue
                size = item.host.nbytes
                address = int(
                    self("cuMemAlloc", max(size, 1), doing=f"allocating {size} bytes for {item} of {what}")
                )
                addresses[item.span] = address
                if size:
                    self(
                        "cuMemcpyHtoD",
                        address,
                        item.host.ctypes.data,
                        size,
                        doing=f"copying {item} of {what}",
                    )
            yield addresses
        finally:
            for address in addresses.values():
                self.api.cuMemFree(address)
