"""Declarations of a file that become those of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tileproof.emit.kernel import Kernel
from tileproof.errors import CallError
from tileproof.layouts.index import Index
from tileproof.layouts.layout import TileLayout
from tileproof.layouts.tensor import Tensor
from tileproof.spec.build import Declarations

if TYPE_CHECKING:
    from tileproof.spec.model import SymbolTable, TensorTable


@dataclass
class OfKernel(Declarations):
    """Declares in a kernel."""

    kernel: Kernel

    def symbol(self, name: str, table: SymbolTable) -> Index:
        if table.uniform != "grid":
            raise CallError(
                f"{name} varies inside the grid, so it is no parameter of a kernel; compute it in a kernel "
                "of Python (tileproof.Kernel)"
            )
        return self.kernel.scalar(name, table.lo, table.hi, multiple_of=table.multiple_of)

    def tensor(self, name: str, table: TensorTable, shape: list[Index], layout: TileLayout | None) -> Tensor:
        dtype = table.dtype or ""
        match table.space or "global":
            case "global":
                return self.kernel.parameter(name, shape, dtype, layout=layout, align=table.align)
            case "shared":
                return self.kernel.shared(name, shape, dtype, layout=layout, align=table.align)
            case "local":
                return self.kernel.local(name, shape, dtype, layout=layout, align=table.align)
            case "registers":
                return self.kernel.registers(name, shape, dtype, layout=layout)
            case space:
                raise CallError(
                    f"a kernel declares global, shared, local and register tensors, not {space!r}"
                )
