"""tileproof: prove that tensor views meet a PTX instruction's contract, then emit exactly that.

A name loads what it needs when it is first asked for: an audit of certificates needs neither layouts nor
contracts, and most uses emit nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tileproof.emit.fragment import emit
    from tileproof.emit.kernel import Kernel
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
    from tileproof.proofs.check_all import check_all, request
    from tileproof.proofs.report import ContractError, Report
    from tileproof.proofs.verdict import Verdict

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

_PLACES = {
    "emit.kernel": ("Kernel",),
    "layouts.axes": (
        "TCol", "TLane", "cbx", "cby", "cbz", "laneid", "m", "tid_in_wg", "tx", "ty", "tz", "warpid", "wgid",
        "wid_in_wg",
    ),
    "layouts.index": ("maximum", "minimum", "select"),
    "layouts.layout": ("R", "S", "TileLayout"),
    "layouts.swizzle": ("Swizzle",),
    "layouts.symbols": ("cast", "symbol", "truncdiv", "truncmod"),
    "layouts.tensor": ("tensor",),
    "proofs.check": ("check", "prove"),
    "proofs.check_all": ("check_all", "request"),
    "proofs.report": ("ContractError", "Report"),
    "proofs.verdict": ("Verdict",),
}  # fmt: skip
_MODULES = {name: f"tileproof.{module}" for module, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "emit":
        # The package is the function too; see its docstring.
        return importlib.import_module("tileproof.emit")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
