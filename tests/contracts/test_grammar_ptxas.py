"""The table against what two versions of ptxas assembled, recorded in `tests/data/ptxas-accepts.tsv`.

A row holds one instruction with its operands, and the targets for which ptxas 13.0 (`.version 9.0`) and ptxas
13.5 (`.version 9.5`) assembled it (`yes`) or did not (`no`).
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tileproof.contracts.grammar import Form, resolve
from tileproof.errors import OpcodeError

RECORDED = Path(__file__).parents[1] / "data" / "ptxas-accepts.tsv"
VERSIONS = {"13.0": (9, 0), "13.5": (9, 5)}

ORDER = "ptxas takes qualifiers in any order; the table takes the order of the ISA's syntax lines"
NO_V8 = "ptxas stores eight 8-bit or 16-bit elements; the ISA has .v8 for 32-bit types only"
CRASH = "ptxas loads eight 8-bit elements, or crashes, at random; the ISA has .v8 for 32-bit types only"
EITHER = "the ISA has no syntax line with both a cache operator and an eviction priority"

# Spellings that ptxas assembles and the table refuses. No difference goes the other way.
DIFFERENCES = {
    "ld.global.b32.v4": ORDER,
    "ld.v4.global.b32": ORDER,
    "ld.global.relaxed.gpu.b32": ORDER,
    "ld.nc.global.b32": ORDER,
    "ld.global.nc.cg.b32": ORDER,
    "ld.global.L1::no_allocate.nc.v4.b32": ORDER,
    "ld.global.v4.L2::128B.b32": ORDER,
    "ld.global.v4.L2::cache_hint.b32": ORDER,
    "ld.global.L2::256B.L2::cache_hint.v4.b32": ORDER,
    "ld.global.L2::cache_hint.cg.v4.b32": ORDER,
    "ld.global.L2::evict_last.L1::evict_last.v8.b32": ORDER,
    "st.global.L2::evict_last.L1::evict_last.v8.b32": ORDER,
    "ldmatrix.sync.aligned.m8n8.x2.shared.trans.b16": ORDER,
    "ldmatrix.sync.aligned.trans.m8n8.x2.shared.b16": ORDER,
    "ld.global.cg.L2::evict_last.v8.b32": EITHER,
    "st.global.cg.L2::evict_last.v8.b32": EITHER,
    "ld.global.L1::32B.b32": "ptxas 13.5 knows a prefetch into L1 that the ISA 9.1 does not",
    "ld.global.v8.b8": CRASH,
    "ld.shared.v8.b8": CRASH,
    "ld.v8.b8": CRASH,
    "st.global.v8.b8": NO_V8,
    "st.global.v8.b16": NO_V8,
    "st.shared.v8.b8": NO_V8,
    "st.shared.v8.b16": NO_V8,
    "st.shared::cluster.v8.b8": NO_V8,
    "st.shared::cluster.v8.b16": NO_V8,
    "st.local.v8.b8": NO_V8,
    "st.local.v8.b16": NO_V8,
    "st.v8.b16": NO_V8,
}

# Rows that say nothing about the opcode, because their operands do not fit it.
UNFIT = {
    ("ld.global.b32", "{%r10}, [%rd1]"),
    ("ld.global.v4.b32", "{%r10,%r11,%r12}, [%rd1]"),
    ("ld.global.v4.b32", "{%r10,_,%r12,%r13}, [%rd1]"),
    ("st.global.v4.b32", "[%rd1], {%r10,_,%r12,%r13}"),
    ("ld.global.b32", "%r10, [%r1]"),
    ("ld.global.b32", "%r10, [%rd1], %rd9"),
    ("ld.global.L2::cache_hint.b32", "%r10, [%rd1]"),
    ("ldmatrix.sync.aligned.m8n8.x1.shared.b16", "%r10, [%r0]"),
    ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", "{%r10,%r11}, [%r0]"),
    ("stmatrix.sync.aligned.m8n8.x1.shared.b16", "[%r0], %r10"),
    ("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8", "[%r0], {%r10,%r11}"),
}


class Row(NamedTuple):
    spelling: str
    operands: str
    verdicts: dict[tuple[str, str], bool]  # by version of ptxas and by target
    lowest_version: str


@cache
def rows() -> tuple[Row, ...]:
    with RECORDED.open(encoding="utf-8", newline="") as lines:
        return tuple(
            read_row(cells) for cells in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        )


def read_row(cells: dict[str, str]) -> Row:
    verdicts = {
        (version, f"sm_{target}"): verdict == "yes"
        for version in VERSIONS
        for verdict in ("yes", "no")
        for target in cells[f"{verdict}_{version}"].split()
        if target != "-"
    }
    # A guard is not part of the opcode.
    spelling = cells["spelling"].split(" ")[-1]
    return Row(spelling, cells["operands"], verdicts, cells["lowest_version"])


def form_of(row: Row) -> Form | None:
    try:
        return resolve(row.spelling)
    except OpcodeError:
        return None


def fits(form: Form, operands: str) -> bool:
    """Whether operands are as many and of the kind that the form says; `_` is for 256-bit accesses only."""
    written = re.findall(r"\{[^}]*\}|\[[^]]*\]|[^,\s]+", operands)
    if len(written) != len(form.operands) or ("_" in operands and form.quantity("access_bits") != 256):
        return False
    for text, operand in zip(written, form.operands, strict=True):
        if operand.kind == "address":
            # Shared addresses have 32 or 64 bits, all others 64.
            if text[0] != "[" or (re.match(r"\[%r\d", text) and "shared" not in str(form.get("space"))):
                return False
        elif operand.braced != (text[0] == "{") or text.count(",") + 1 != operand.registers:
            return False
    return True


def disagreements(row: Row, form: Form | None) -> Iterator[tuple[str, str]]:
    for (version, target), assembled in row.verdicts.items():
        legal = form is not None and form.ptx_version <= VERSIONS[version] and form.supports(target)
        if legal != assembled:
            yield version, target


def test_exactly_the_listed_rows_have_operands_that_do_not_fit() -> None:
    unfit = {
        (row.spelling, row.operands)
        for row in rows()
        if (form := form_of(row)) is not None and not fits(form, row.operands)
    }
    assert unfit == UNFIT


def test_the_table_agrees_with_ptxas_but_for_the_listed_differences() -> None:
    compared = []
    verdicts = Counter[bool]()
    different = {}
    for row in rows():
        form = form_of(row)
        if form is not None and not fits(form, row.operands):
            continue
        compared.append(row)
        verdicts.update(row.verdicts.values())
        found = list(disagreements(row, form))
        if found:
            different[row.spelling] = found
            assert form is None, (row.spelling, found)
    assert different.keys() == DIFFERENCES.keys()
    assert len(compared) >= 811
    assert verdicts[True] >= 8228
    assert verdicts[False] >= 6820


def test_lowest_versions() -> None:
    found, recorded = {}, {}
    for row in rows():
        if row.lowest_version != "-":
            target, version = row.lowest_version.split(":")
            found[row.spelling] = "{}.{}".format(*resolve(row.spelling).ptx_version_on(target))
            recorded[row.spelling] = version
    assert found == recorded
    assert len(recorded) == 22
