"""Shared memory of a kernel: where its dynamic tensors lie, and how much of it a target has.

Dynamic shared memory is one array without a size. The CTA gets as many bytes of it as the launch asks for,
and every array so declared begins at the same address (PTX ISA 5.4.3, ``.extern .shared``); so there is one,
and tensors are at offsets in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tileproof.contracts.architectures import architecture
from tileproof.errors import CallError
from tileproof.layouts.tensor import Tensor

STATIC = 48 * 1024
"""Bytes of static shared memory of a CTA. More assembles for some ``a`` targets only; dynamic shared memory is
for that (CUDA Programming Guide, "Compute Capabilities", note on shared memory per block)."""

MOST_ALIGNED = 1024
"""Bytes. The greatest ``.align`` that shared memory keeps. More assembles, and the address breaks it: measured on
an NVIDIA H200, bases under ``.align`` 2048, 4096 and 8192 lay 1024 past such a multiple, static and dynamic,
with and without a cluster, because the system's own 1024 bytes come first."""

_KIB = {
    70: 96, 72: 96, 75: 64, 80: 163, 86: 99, 87: 163, 88: 99, 89: 99,
    90: 227, 100: 227, 103: 227, 107: 227, 110: 227, 120: 99, 121: 99,
}  # fmt: skip
"""By architecture: the most shared memory of a CTA (CUDA Programming Guide, "Compute Capabilities", memory
information). Where the guide says nothing (sm_88, sm_107), the least of the same family."""

MOST = 1024 * max(_KIB.values())
"""Bytes. No target has more."""


def capacity(arch: str) -> int:
    """The most bytes of shared memory, static and dynamic together, that a CTA has on a target."""
    return _KIB[architecture(arch).number] * 1024


def size(made: Tensor) -> int:
    """The size of a tensor's storage in bytes. Raises :class:`CallError` if it is not static."""
    found = None if made.storage.size is None else made.storage.size.value
    if found is None:
        raise CallError(
            f"tensor {made.name}: {made.space} storage has a static size, and its shape is {made.shape}"
        )
    return found


def demand_kept(made: Tensor) -> None:
    """Raise :class:`CallError` for an alignment that shared memory does not keep."""
    if made.storage.align > MOST_ALIGNED:
        raise CallError(
            f"tensor {made.name}: align is {made.storage.align}, and shared memory keeps at most {MOST_ALIGNED} "
            "bytes: greater ones assemble, but the address need not be such a multiple"
        )


def placed(tensors: Iterable[Tensor], start: int = 0) -> Iterator[tuple[Tensor, int]]:
    """Each tensor with its offset in bytes: one after another, each at a multiple of its alignment."""
    end = start
    for tensor in tensors:
        offset = _up(end, tensor.storage.align)
        yield tensor, offset
        end = offset + size(tensor)


def extent(tensors: Iterable[Tensor], start: int = 0) -> int:
    """Bytes from 0 to the end of the last tensor."""
    return max((offset + size(tensor) for tensor, offset in placed(tensors, start)), default=start)


def alignment(tensors: Iterable[Tensor]) -> int:
    """What the base of an array has to be aligned to for its tensors."""
    return max((tensor.storage.align for tensor in tensors), default=1)


def lacking(static: Sequence[Tensor], dynamic: Sequence[Tensor], arch: str) -> str | None:
    """Why a target has too little shared memory for the tensors, or ``None``."""
    used = extent(static)
    if dynamic:
        used = _up(used, alignment(dynamic)) + extent(dynamic)
    most = capacity(arch)
    if used <= most:
        return None
    return (
        f"{used} bytes of shared memory are declared ({extent(static)} static, {extent(dynamic)} dynamic), and "
        f"a CTA has {most} on {arch}"
    )


def _up(value: int, step: int) -> int:
    return -(-value // step) * step
