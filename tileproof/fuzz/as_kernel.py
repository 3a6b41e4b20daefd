"""A described call as a kernel of its own: parameters, shared tensors, registers, and the call under its guard."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import tileproof as tp
from tileproof.errors import CallError
from tileproof.fuzz.build import arguments, built, function
from tileproof.fuzz.oracle.description import Call
from tileproof.layouts.layout import TileLayout


def kernel(call: Call, name: str = "example") -> tp.Kernel:
    """The kernel, which is proved and written.

    Raises :class:`tileproof.ContractError` where the call is not proved, and another
    :class:`~tileproof.errors.TileproofError` for what no kernel has: symbols that differ between threads, tensors
    in constant memory, registers by a number that is known at run time only.
    """
    made = tp.Kernel(name, block=call.block)

    def declare(space: str, name: str, shape: Any, dtype: str, layout: TileLayout | None, align: int) -> Any:
        if space == "registers":
            return made.registers(name, shape, dtype, layout=layout)
        declarations = {"global": made.parameter, "shared": made.shared, "local": made.local}
        if space not in declarations:
            raise CallError(f"a kernel declares no tensor in {space} memory")
        return declarations[space](name, shape, dtype, layout=layout, align=align)

    if any(s.uniform != "grid" for s in call.symbols):
        raise CallError("a kernel's parameters are the same for all threads")
    symbols: dict[str, Any] = {
        s.name: made.scalar(s.name, s.lo, s.hi, multiple_of=s.multiple_of) for s in call.symbols
    }
    given = arguments(call, symbols, declare)
    if call.assume is not None:
        made.assume(built(call.assume, symbols))
    with nullcontext() if call.guard is None else made.when(built(call.guard, symbols)):
        if call.checker == "check_ewise":
            made.ewise(function(call.opcode), *given, scope=call.scope)
        else:
            parameters = {name: built(term, symbols) for name, term in call.parameters.items()}
            made.apply(call.opcode, *given, scope=call.scope, **parameters)
    made.ptx()
    return made
