"""What a kernel declares: parameters, block indices, static memory and registers, each under its own name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tileproof.emit import names
from tileproof.emit.registers import REGISTER_TYPES
from tileproof.emit.statements import RegisterFile
from tileproof.errors import CallError
from tileproof.layouts.dtypes import dtype_bits
from tileproof.layouts.index import Index, IndexLike, leaf
from tileproof.layouts.layout import TileLayout
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.symbols import symbol
from tileproof.layouts.tensor import Space, Storage, Tensor, tensor

Shape = Sequence[IndexLike] | IndexLike

STATIC_SHARED = 48 * 1024
"""Bytes of static shared memory of a CTA (CUDA C++ Programming Guide, "Technical Specifications")."""

SHARED_ALIGNMENT = 1024
"""Bytes. The greatest `.align` that shared memory keeps. More assembles, and the address breaks it: on an NVIDIA
H200, bases under `.align` 2048, 4096 and 8192 lay 1024 past such a multiple."""


class Declarations:
    """The declarations of one kernel, in order."""

    def __init__(self, kernel: str) -> None:
        self.kernel = names.identifier(kernel)
        self.parameters: list[Tensor | Index] = []
        self.variables: list[Tensor] = []
        self.files: dict[Storage, RegisterFile] = {}
        self.grid: dict[str, int] = {}
        self._names = {kernel}

    def take_name(self, name: str) -> str:
        """Raise :class:`CallError` if the kernel has the name already."""
        if names.identifier(name) in self._names:
            raise CallError(f"kernel {self.kernel}: the name {name} is taken; names are unique in a kernel")
        self._names.add(name)
        return name

    def pointer(
        self, name: str, shape: Shape, dtype: str, layout: TileLayout | str | None, align: int | None
    ) -> Tensor:
        made = tensor(self.take_name(name), shape, dtype, "global", layout=layout, align=align)
        self.parameters.append(made)
        return made

    def scalar(self, name: str, lo: int | None, hi: int | None, multiple_of: int) -> Index:
        made = symbol(self.take_name(name), lo, hi, multiple_of=multiple_of)
        self.parameters.append(made)
        return made

    def block_index(self, axis: Literal["x", "y", "z"], count: int) -> Index:
        if axis not in ("x", "y", "z") or count < 1:
            raise CallError(
                f"block_index takes 'x', 'y' or 'z' and a positive count, got {axis!r}, {count!r}"
            )
        known = self.grid.setdefault(axis, count)
        if known != count:
            raise CallError(f"block_index({axis!r}) has count {known} already; now it was given {count}")
        return leaf(Leaf(f"%ctaid.{axis}", "symbol", 0, count - 1, uniform="cta"))

    def variable(
        self,
        name: str,
        shape: Shape,
        dtype: str,
        space: Space,
        layout: TileLayout | str | None,
        align: int | None,
    ) -> Tensor:
        """A tensor in static memory. Raises :class:`CallError` if its size is not static or too large."""
        made = tensor(self.take_name(name), shape, dtype, space, layout=layout, align=align)
        if space == "shared" and made.storage.align > SHARED_ALIGNMENT:
            raise CallError(
                f"kernel {self.kernel}: {name} has align={made.storage.align}, and shared memory keeps at most "
                f"{SHARED_ALIGNMENT} bytes: greater ones assemble, but the address need not be such a multiple"
            )
        used = _size(made) + sum(_size(t) for t in self.variables if t.space == "shared")
        if space == "shared" and used > STATIC_SHARED:
            raise CallError(
                f"kernel {self.kernel}: {name} brings static shared memory to {used} bytes, and "
                f"{STATIC_SHARED} is the most"
            )
        self.variables.append(made)
        return made

    def registers(self, name: str, shape: Shape, dtype: str, layout: TileLayout | str | None) -> RegisterFile:
        """One register for each slot of the layout, as wide as an element."""
        bits = dtype_bits(dtype)
        if bits not in REGISTER_TYPES:
            raise CallError(
                f"registers {name}: {dtype} has {bits} bits, and registers hold elements of "
                f"{', '.join(map(str, REGISTER_TYPES))}"
            )
        made = tensor(self.take_name(name), shape, dtype, "registers", layout=layout)
        file = RegisterFile(made, _size(made) * 8 // bits, bits)
        self.files[made.storage] = file
        return file

    def bits(self, name: str) -> int | None:
        """The bits of the PTX register of a slot, 0 for a variable, None for any other name."""
        if any(name == variable.name for variable in self.variables):
            return 0
        for file in self.files.values():
            prefix = f"{names.register(file.tensor.name)}_"
            number = name.removeprefix(prefix)
            if name.startswith(prefix) and number in map(str, range(file.slots)):
                return int(REGISTER_TYPES[file.bits].removeprefix("b"))
        return None

    def knows(self, storage: Storage) -> bool:
        tensors = (t for t in (*self.parameters, *self.variables) if isinstance(t, Tensor))
        return storage in self.files or any(t.storage is storage for t in tensors)

    @property
    def scalars(self) -> list[Leaf]:
        """The integer parameters."""
        return [item.args[0] for item in self.parameters if isinstance(item, Index)]


def _size(made: Tensor) -> int:
    """The size of a tensor's storage in bytes."""
    size = None if made.storage.size is None else made.storage.size.value
    if size is None:
        raise CallError(
            f"tensor {made.name}: {made.space} storage has a static size, and its shape is {made.shape}"
        )
    return size
