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
    from tileproof.proofs.check_ewise import check_ewise
    from tileproof.proofs.report import ContractError, Report
    from tileproof.proofs.verdict import Verdict
    from tileproof.scalars.expression import Scalar, constant, variable
    from tileproof.scalars.function import LambdaExpr
    from tileproof.scalars.functions import cos, exp, exp2, fma, log, log2, rcp, rsqrt, sin, sqrt, tanh
    from tileproof.scalars.trace import scalar_function
    from tileproof.scalars.types import (
        bfloat16,
        float16,
        float32,
        float64,
        int16,
        int32,
        int64,
        uint16,
        uint32,
        uint64,
    )

__all__ = [
    "ContractError",
    "Kernel",
    "LambdaExpr",
    "R",
    "Report",
    "S",
    "Scalar",
    "Swizzle",
    "TCol",
    "TLane",
    "TileLayout",
    "Verdict",
    "bfloat16",
    "cast",
    "cbx",
    "cby",
    "cbz",
    "check",
    "check_all",
    "check_ewise",
    "constant",
    "cos",
    "emit",
    "exp",
    "exp2",
    "float16",
    "float32",
    "float64",
    "fma",
    "int16",
    "int32",
    "int64",
    "laneid",
    "log",
    "log2",
    "m",
    "maximum",
    "minimum",
    "prove",
    "rcp",
    "request",
    "rsqrt",
    "scalar_function",
    "select",
    "sin",
    "sqrt",
    "symbol",
    "tanh",
    "tensor",
    "tid_in_wg",
    "truncdiv",
    "truncmod",
    "tx",
    "ty",
    "tz",
    "uint16",
    "uint32",
    "uint64",
    "variable",
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
    "proofs.check_ewise": ("check_ewise",),
    "proofs.report": ("ContractError", "Report"),
    "proofs.verdict": ("Verdict",),
    "scalars.expression": ("Scalar", "constant", "variable"),
    "scalars.function": ("LambdaExpr",),
    "scalars.functions": ("cos", "exp", "exp2", "fma", "log", "log2", "rcp", "rsqrt", "sin", "sqrt", "tanh"),
    "scalars.trace": ("scalar_function",),
    "scalars.types": (
        "bfloat16", "float16", "float32", "float64", "int16", "int32", "int64", "uint16", "uint32", "uint64",
    ),
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
