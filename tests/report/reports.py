"""One report of each kind, for the tests of all ways to tell it."""

from __future__ import annotations

import tileproof as tp
from tileproof import S, TileLayout, laneid, tx
from tileproof.proofs.report import Report

LDMATRIX = "ldmatrix.sync.aligned.m8n8.x2.shared.b16"


def reports() -> dict[str, Report]:
    """Reports by what they are an example of."""
    i, j = tp.symbol("i", 0, 63), tp.symbol("j", 0, 7)
    words = tp.tensor("W", (4,), "uint32", "registers")
    a = tp.tensor("A", (4096,), "bfloat16")
    rows = tp.tensor("SM", (16, 4, 2), "uint32", "shared", layout="(16,4,2):(8,1,128)", align=16)
    owned = tp.tensor(
        "R", (2, 2, 8, 4), "uint32", "registers",
        layout=TileLayout(S[(2, 2, 8, 4) : (8, 2, 4 @ laneid, 1 @ laneid)]),
    )  # fmt: skip
    interleaved = rows.rearrange("(r m) w k -> k m r w", r=8, m=2)
    overlapping = tp.tensor("R", (2, 2, 4), "uint32", "registers", layout="(2,2,4):(4,4,1)")
    return {
        "proved": tp.check(LDMATRIX, owned, interleaved, scope="warp"),
        "refuted": tp.check("ld.global.v4.b32", words, a[8 * i + 4 * j : 8 * i + 4 * j + 8].view("uint32")),
        "refuted twice": tp.check(
            "ld.shared.v4.b32",
            overlapping,
            tp.tensor("SM", (2, 2, 4), "uint32", "shared", align=4),
        ),
        "not converged": tp.check(LDMATRIX, owned, interleaved, scope="warp", block=64, active=tx < 40),
        "unfit": tp.check("ld.global.v4.b32", words, a[0:8]),
        "hazard": tp.check("st.global.v4.b32", a[8 * i : 8 * i + 8].view("uint32"), words, block=64),
        "hazard as error": tp.check(
            "st.global.v4.b32", a[8 * i : 8 * i + 8].view("uint32"), words, block=64, hazards="error"
        ),
        "unsupported": tp.check("ld.v4.b32", words, a[0:8].view("uint32")),
        "undecided": tp.check(
            "ld.global.v4.b32",
            words,
            a[8 * i * i : 8 * i * i + 8].view("uint32"),
            assume=i * i < 500,
            budget=1,
        ),
        "read past the end": tp.check(
            "cp.async.cg.shared.global",
            tp.tensor("SM", (8,), "bfloat16", "shared", align=16),
            tp.tensor("A", (60,), "bfloat16")[8 * j : 8 * j + 8],
            block=1,
            chunk_bytes=16,
            src_size=tp.minimum(120 - 16 * j + 1, 16),
        ),
    }
