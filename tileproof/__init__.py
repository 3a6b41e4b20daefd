"""tileproof: prove that tensor views meet a PTX instruction's contract, then emit exactly that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tileproof.layouts.axes import (
    TCol,
    TLane,
    cbx,
    cby,
    cbz,
    laneid,
    m,
    tid_in_wg,
    tx,
    ty,
    tz,
    warpid,
    wgid,
    wid_in_wg,
)
from tileproof.layouts.index import maximum, minimum, select
from tileproof.layouts.layout import R, S, TileLayout
from tileproof.layouts.swizzle import Swizzle
from tileproof.layouts.symbols import cast, symbol, truncdiv, truncmod
from tileproof.layouts.tensor import tensor
from tileproof.proofs.check import check, prove
from tileproof.proofs.report import ContractError, Report
from tileproof.proofs.verdict import Verdict

if TYPE_CHECKING:
    from tileproof.emit.fragment import emit
    from tileproof.emit.kernel import Kernel

__all__ = [
    "ContractError",
    "Kernel",
    "R",
    "Report",
    "S",
    "Swizzle",
    "TCol",
    "TLane",
    "TileLayout",
    "Verdict",
    "cast",
    "cbx",
    "cby",
    "cbz",
    "check",
    "check_all",
    "emit",
    "laneid",
    "m",
    "maximum",
    "minimum",
    "prove",
    "request",
    "select",
    "symbol",
    "tensor",
    "tid_in_wg",
    "truncdiv",
    "truncmod",
    "tx",
    "ty",
    "tz",
    "warpid",
    "wgid",
    "wid_in_wg",
]


def __getattr__(name: str) -> Any:
    # What writes PTX loads when it is first asked for: most uses only check.
    if name == "Kernel":
        from tileproof.emit.kernel import Kernel

        return Kernel
    if name in ("check_all", "request"):
        from tileproof.proofs import check_all as batch

        return getattr(batch, name)
    if name == "emit":
        import importlib

        return importlib.import_module("tileproof.emit")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
