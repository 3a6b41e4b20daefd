"""tileproof: prove that tensor views meet the contract of a PTX instruction, then emit exactly that instruction."""

from __future__ import annotations

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
from tileproof.layouts.index import cast, maximum, minimum, select, symbol, truncdiv, truncmod
from tileproof.layouts.layout import R, S, TileLayout
from tileproof.layouts.swizzle import Swizzle
from tileproof.layouts.tensor import tensor
from tileproof.proofs.check import check, prove
from tileproof.proofs.report import ContractError, Report
from tileproof.proofs.verdict import Verdict
