"""Running a kernel from the host: what was proved with is checked of the arguments before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from tileproof.contracts.architectures import ARCHITECTURES
from tileproof.contracts.literals import pattern
from tileproof.emit import shared
from tileproof.emit.arrays import Array, described
from tileproof.emit.registers import symbol_register
from tileproof.emit.statements import Definition, calls, parameter_name
from tileproof.errors import CallError, LaunchError
from tileproof.layouts.dtypes import dtype_bits
from tileproof.layouts.evaluate import evaluate
from tileproof.layouts.index import Index
from tileproof.layouts.layout import Spec, TileLayout, factors, row_major
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.tensor import GLOBAL_ALIGNMENT, Storage, Tensor
from tileproof.scalars.expression import Scalar

if TYPE_CHECKING:
    from tileproof.simulate import SimulationResult

Grid = int | Sequence[int]


def simulate(
    kernel: Definition, ptx: str, arch: str, arguments: Sequence[Any], grid: Grid
) -> SimulationResult:
    """Run the module on the reference machine. Raises as :func:`check_arguments` does."""
    from tileproof.simulate import Buffer
    from tileproof.simulate import simulate as run

    check_arguments(kernel, arguments, grid)
    hosts = {
        item.name: _on_host(kernel, item, argument)
        for item, argument in zip(kernel.parameters, arguments, strict=True)
        if isinstance(item, Tensor)
    }
    # Arrays lie at addresses that keep the promised alignment and no greater one.
    promised: dict[int, int] = {}
    for item in kernel.parameters:
        if isinstance(item, Tensor):
            start = hosts[item.name][1].ctypes.data
            promised[start] = max(item.storage.align, promised.get(start, 1))
    passed = [
        Buffer(hosts[item.name][1], align=promised[hosts[item.name][1].ctypes.data])
        if isinstance(item, Tensor)
        else int(argument)
        if isinstance(item, Index)
        else _bits(kernel, item, argument)
        for item, argument in zip(kernel.parameters, arguments, strict=True)
    ]
    return run(
        ptx,
        passed,
        kernel=kernel.name,
        grid=_extents(kernel, grid),
        block=kernel.launch.block,
        cluster=kernel.launch.cluster,
        target=arch,
        dynamic_shared=shared.extent(kernel.dynamic),
    )


def _on_host(kernel: Definition, item: Tensor, argument: Any) -> tuple[Array, np.ndarray[Any, Any]]:
    """The argument, which keeps the memory, and its elements."""
    found = _array(kernel, item, argument)
    if found.host is None:
        raise _failure(kernel, item.name, "a NumPy array to simulate with", f"a {type(argument).__name__}")
    return found, found.host


def device_architecture(device: int = 0) -> str:
    """The target with all features of a GPU, such as sm_90a. Raises :class:`LaunchError` without a GPU."""
    from tileproof.emit.launch import compute_capability

    major, minor = compute_capability(device)
    plain = f"sm_{major}{minor}"
    return next((name for name in (f"{plain}a", plain) if name in ARCHITECTURES), plain)


def packed(kernel: Definition, arguments: Sequence[Any]) -> list[Any]:
    """Arguments as the launcher takes them: integers with the type of their parameter, other numbers as bits."""
    return [
        (int(argument), f"s{symbol_register(item.args[0]).bits}")
        if isinstance(item, Index)
        else _bits(kernel, item, argument)
        if isinstance(item, Scalar)
        else argument
        for item, argument in zip(kernel.parameters, arguments, strict=True)
    ]


def check_arguments(kernel: Definition, arguments: Sequence[Any], grid: Grid) -> None:
    """Check type, size and alignment of arrays, range and divisibility of integers, assumptions, the grid.

    Raises :class:`LaunchError`, which names the parameter, what is needed and what was found.
    """
    if len(arguments) != len(kernel.parameters):
        listed = ", ".join(map(parameter_name, kernel.parameters))
        raise LaunchError(
            f"kernel {kernel.name} has {len(kernel.parameters)} parameters ({listed}); "
            f"{len(arguments)} arguments were given"
        )
    pairs = list(zip(kernel.parameters, arguments, strict=True))
    values = {
        item.args[0]: _integer(kernel, item.args[0], argument)
        for item, argument in pairs
        if isinstance(item, Index)
    }
    for relation in kernel.vouched:
        if not evaluate(relation, values):
            found = ", ".join(f"{v.name} = {n}" for v, n in values.items())
            raise LaunchError(f"kernel {kernel.name} was proved where {relation!r}, and here {found}")
    for item, argument in pairs:
        if isinstance(item, Scalar):
            _bits(kernel, item, argument)
        if isinstance(item, Tensor):
            _check_array(kernel, item, _array(kernel, item, argument), values)
    _check_grid(kernel, grid)


def _failure(kernel: Definition, name: str, needed: str, found: str) -> LaunchError:
    return LaunchError(f"kernel {kernel.name}, parameter {name}: needed {needed}, found {found}")


def _integer(kernel: Definition, variable: Leaf, argument: Any) -> int:
    if isinstance(argument, bool) or not isinstance(argument, int | np.integer):
        raise _failure(kernel, variable.name, "an integer", repr(argument))
    value, bits = int(argument), symbol_register(variable).bits
    low = -(1 << (bits - 1)) if variable.lo is None else variable.lo
    high = (1 << (bits - 1)) - 1 if variable.hi is None else variable.hi
    if not low <= value <= high:
        raise _failure(kernel, variable.name, f"a number from {low} to {high}", str(value))
    if value % variable.multiple_of:
        raise _failure(kernel, variable.name, f"a multiple of {variable.multiple_of}", str(value))
    return value


def _bits(kernel: Definition, item: Scalar, argument: Any) -> np.generic:
    """A number as the bits of a typed scalar. It may be rounded to a floating-point type, but not to infinity."""
    name = parameter_name(item)
    whole = isinstance(argument, int | np.integer) and not isinstance(argument, bool)
    if not whole and not (item.type.is_float and isinstance(argument, float | np.floating)):
        raise _failure(kernel, name, f"a number for {item.dtype}", repr(argument))
    try:
        found = pattern(float(argument) if item.type.is_float else int(argument), item.type.ptx, name)
    except (CallError, OverflowError) as error:
        raise _failure(kernel, name, f"a number that {item.dtype} can hold", str(argument)) from error
    held: np.generic = np.dtype(f"uint{item.type.bits}").type(found)
    return held


def _array(kernel: Definition, item: Tensor, argument: Any) -> Array:
    try:
        found = described(argument)
    except LaunchError as error:
        raise LaunchError(
            f"kernel {kernel.name}, parameter {item.name}: the {type(argument).__name__} {error}"
        ) from error
    if found is None:
        raise _failure(
            kernel, item.name, "a NumPy array or an array on the device", f"a {type(argument).__name__}"
        )
    return found


def _check_array(kernel: Definition, item: Tensor, found: Array, values: Mapping[Leaf, int]) -> None:
    accepted = _numpy_names(item.dtype)
    if found.dtype not in accepted:
        raise _failure(kernel, item.name, f"elements of type {' or '.join(accepted)}", found.dtype)
    if not found.compact:
        raise _failure(
            kernel,
            item.name,
            "a contiguous array",
            f"one of shape {found.shape} with strides {found.strides}, in elements",
        )
    _check_shape(kernel, item, found, values)
    if not found.writeable and item.storage in _written(kernel):
        raise _failure(kernel, item.name, "an array that can be written", "one that is read-only")
    size = None if item.storage.size is None else evaluate(item.storage.size, values)
    if size is not None and found.nbytes < size:
        raise _failure(kernel, item.name, f"at least {size} bytes", f"{found.nbytes} bytes")
    align = item.storage.align
    if found.address is None and align > GLOBAL_ALIGNMENT:
        raise _failure(
            kernel,
            item.name,
            f"an array on the device at a multiple of {align} bytes",
            f"an array on the host, whose copy is sure to be aligned to {GLOBAL_ALIGNMENT} bytes only",
        )
    if found.address is not None and found.address % align:
        raise _failure(
            kernel,
            item.name,
            f"an address that is a multiple of {align} bytes",
            f"{found.address:#x}, which is {found.address % align} past one",
        )


def _check_shape(kernel: Definition, item: Tensor, found: Array, values: Mapping[Leaf, int]) -> None:
    """An array of as many dimensions as a row-major parameter has its sizes, and at least as many rows. Any other
    array is taken as the storage.
    """
    row_major_layout = TileLayout(Spec(factors(item.shape, row_major(item.shape))))
    rank = len(found.shape)
    if (
        rank != len(item.shape)
        or item.layout != row_major_layout
        or found.itemsize * 8 != dtype_bits(item.dtype)
    ):
        return
    needed = tuple(int(evaluate(n, values)) for n in item.shape)
    if found.shape[1:] != needed[1:]:
        raise _failure(kernel, item.name, f"shape {needed}", f"shape {found.shape}")


def _written(kernel: Definition) -> set[Storage]:
    """The storage that proven calls write to."""
    proven = [planned.report.call for planned in calls(kernel.body)]
    return {
        call.tensor(position).tensor.storage
        for call in proven
        for position, syntax in enumerate(call.form.operands)
        if syntax.kind == "address" and syntax.access == "written"
    }


def _numpy_names(dtype: str) -> tuple[str, ...]:
    """NumPy's names for an element type; if it has none, also unsigned integers that hold the bits."""
    try:
        np.dtype(dtype)
    except TypeError:
        bits = dtype_bits(dtype)
        return dtype, "uint16" if bits == 16 else "uint64" if bits == 128 else "uint8"
    return (dtype,)


def _extents(kernel: Definition, grid: Grid) -> tuple[int, ...]:
    try:
        return tuple(map(index, grid)) if isinstance(grid, Iterable) else (index(grid),)
    except TypeError:
        raise LaunchError(
            f"kernel {kernel.name}: grid is {grid!r}; needed is x, (x, y) or (x, y, z) in integers"
        ) from None


def _check_grid(kernel: Definition, grid: Grid) -> None:
    extents = _extents(kernel, grid)
    for axis, extent, limit in zip("xyz", (*extents, 1, 1), kernel.grid_limits, strict=False):
        if limit is not None and extent > limit:
            raise LaunchError(
                f"kernel {kernel.name} was proved for at most {limit} CTAs along {axis} (block_index), "
                f"and the grid has {extent}"
            )
