"""What a kernel declares: parameters, block indices, static memory and registers, each under its own name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tileproof.emit import names, shared
from tileproof.emit.registers import REGISTER_TYPES, scalar_register
from tileproof.emit.statements import Parameter, RegisterFile, parameter_name
from tileproof.errors import CallError
from tileproof.layouts.dtypes import dtype_bits, dtype_name
from tileproof.layouts.index import Index, IndexLike, leaf
from tileproof.layouts.layout import TileLayout
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.symbols import symbol
from tileproof.layouts.tensor import Space, Storage, Tensor, tensor
from tileproof.scalars.expression import Scalar, variable
from tileproof.scalars.types import BOOL, TYPES

Shape = Sequence[IndexLike] | IndexLike

SCALAR_TYPES = tuple(name for name, kind in TYPES.items() if kind is not BOOL)
"""The types of typed scalars: all that a register holds."""


class Declarations:
    """The declarations of one kernel, in order."""

    def __init__(self, kernel: str) -> None:
        self.kernel = names.identifier(kernel)
        self.parameters: list[Parameter] = []
        self.variables: list[Tensor] = []
        self.dynamic: list[Tensor] = []
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
        made = tensor(name, shape, dtype, "global", layout=layout, align=align)
        self.take_name(name)
        self.parameters.append(made)
        return made

    def scalar(self, name: str, lo: int | None, hi: int | None, multiple_of: int) -> Index:
        made = symbol(name, lo, hi, multiple_of=multiple_of)
        self.take_name(name)
        self.parameters.append(made)
        return made

    def typed_scalar(self, name: str, dtype: str) -> Scalar:
        kind = dtype_name(dtype)
        if kind not in SCALAR_TYPES:
            raise CallError(
                f"scalar {name}: dtype is {dtype!r}; typed scalars are {', '.join(SCALAR_TYPES)}, and integers "
                "that addresses or guards depend on are given by their bounds"
            )
        made = variable(self.take_name(name), kind)
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
        made = tensor(name, shape, dtype, space, layout=layout, align=align)
        shared.size(made)
        if space == "shared":
            shared.demand_kept(made)
        used = shared.extent([*(t for t in self.variables if t.space == "shared"), made])
        if space == "shared" and used > shared.STATIC:
            raise CallError(
                f"kernel {self.kernel}: {name} brings static shared memory to {used} bytes, and "
                f"{shared.STATIC} is the most; declare it with dynamic=True"
            )
        self.take_name(name)
        self.variables.append(made)
        return made

    def in_dynamic(
        self, name: str, shape: Shape, dtype: str, layout: TileLayout | str | None, align: int | None
    ) -> Tensor:
        """A tensor in dynamic shared memory. Raises :class:`CallError` if no target has as much."""
        made = tensor(name, shape, dtype, "shared", layout=layout, align=align)
        shared.demand_kept(made)
        used = shared.extent([*self.dynamic, made])
        if used > shared.MOST:
            raise CallError(
                f"kernel {self.kernel}: {name} brings dynamic shared memory to {used} bytes, and no target has "
                f"more than {shared.MOST}"
            )
        self.take_name(name)
        self.dynamic.append(made)
        return made

    def registers(self, name: str, shape: Shape, dtype: str, layout: TileLayout | str | None) -> RegisterFile:
        """One register for each slot of the layout, as wide as an element."""
        bits = dtype_bits(dtype)
        if bits not in REGISTER_TYPES:
            raise CallError(
                f"registers {name}: {dtype} has {bits} bits, and registers hold elements of "
                f"{', '.join(map(str, REGISTER_TYPES))}"
            )
        made = tensor(name, shape, dtype, "registers", layout=layout)
        file = RegisterFile(made, shared.size(made) * 8 // bits, bits)
        self.take_name(name)
        self.files[made.storage] = file
        return file

    def bits(self, name: str) -> int | None:
        """The bits of the PTX register of a slot or a typed scalar, 0 for a variable, None for any other name."""
        if any(name == variable.name for variable in self.variables):
            return 0
        for file in self.files.values():
            prefix = f"{names.register(file.tensor.name)}_"
            number = name.removeprefix(prefix)
            if name.startswith(prefix) and number in map(str, range(file.slots)):
                return int(REGISTER_TYPES[file.bits].removeprefix("b"))
        held = (scalar_register(item) for item in self.parameters if isinstance(item, Scalar))
        return next((register.bits for register in held if register.name == name), None)

    def order(self, names: Sequence[str]) -> None:
        """Give the parameters this order. Raises :class:`CallError` unless each is named once."""
        known = {parameter_name(item): item for item in self.parameters}
        if sorted(known) != sorted(names):
            raise CallError(
                f"kernel {self.kernel}: its parameters are {', '.join(known) or 'none'}; the order given is "
                f"{', '.join(names) or 'empty'}"
            )
        self.parameters = [known[name] for name in names]

    def knows(self, storage: Storage) -> bool:
        tensors = (t for t in (*self.parameters, *self.variables, *self.dynamic) if isinstance(t, Tensor))
        return storage in self.files or any(t.storage is storage for t in tensors)

    @property
    def scalars(self) -> list[Leaf]:
        """The integer parameters."""
        return [item.args[0] for item in self.parameters if isinstance(item, Index)]
