"""The table against what two versions of ptxas assembled, recorded in `tests/data/ptxas-accepts*.tsv`.

A row holds one instruction with its operands, and the targets for which ptxas 13.0 (`.version 9.0`) and ptxas
13.5 (`.version 9.5`) assembled it (`yes`) or did not (`no`). Names of registers tell their widths there.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tileproof.contracts.grammar import resolve
from tileproof.contracts.statement import Statement, parts, read
from tileproof.errors import CallError, OpcodeError

DATA = Path(__file__).parents[1] / "data"
RECORDED = (DATA / "ptxas-accepts.tsv", DATA / "ptxas-accepts-statements.tsv")
WIDTHS = {"p": 1, "h": 16, "r": 32, "f": 32, "rd": 64, "fd": 64, "q": 128}
VERSIONS = {"13.0": (9, 0), "13.5": (9, 5)}

ORDER = "ptxas takes qualifiers in any order; the table takes the order of the ISA's syntax lines"
NO_V8 = "ptxas stores eight 8-bit or 16-bit elements; the ISA has .v8 for 32-bit types only"
CRASH = "ptxas loads eight 8-bit elements, or crashes, at random; the ISA has .v8 for 32-bit types only"
EITHER = "the ISA has no syntax line with both a cache operator and an eviction priority"

LATER = "ptxas 13.0 knows it before the version, and on older targets, than the ISA has it"
REMOTE_ONLY = "the ISA has asynchronous stores to .shared::cluster only"
NO_S64 = "the ISA adds .u32, .s32 and .u64 in shared memory"
MMIO = "the ISA has .mmio at .sys scope; ptxas 13.5 refuses it too"
SIZE = "the ISA has sizes of 32 bits since 9.0, ptxas 13.0 for 9.0 has not, so the table takes 64 bits only"
BRACES = "the ISA has braces around vectors only"
SINK = "the ISA has the sink for 256-bit accesses only"

# What ptxas assembles and the table refuses: opcodes, or whole statements where the operands are refused.
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
    "cp.async.cg.shared.global.L2::128B.L2::cache_hint": ORDER,
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
    "st.async.sys.release.global.u32": ORDER,
    "red.async.relaxed.cluster.mbarrier::complete_tx::bytes.shared::cluster.add.u32": ORDER,
    "barrier.cluster.arrive.aligned.release": ORDER,
    "red.global.v4.f32.add": ORDER,
    "fence.acquire.gpu": LATER,
    "st.async.shared::cta.mbarrier::complete_tx::bytes.b32": REMOTE_ONLY,
    "st.async.mmio.release.gpu.global.b32": MMIO,
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.s64": NO_S64,
    "st.bulk.weak.shared::cta [%r0], %r9, 0;": SIZE,
    "ld.global.b32 {%r10}, [%rd1];": BRACES,
    "ld.global.v4.b32 {%r10,_,%r12,%r13}, [%rd1];": SINK,
}

# A constant src-size beyond cp-size: no matter of spelling, so the contract refuses it.
BEYOND = {("cp.async.ca.shared.global", "[%r0], [%rd1], 16, 32")}


class Row(NamedTuple):
    text: str
    verdicts: dict[tuple[str, str], bool]  # by version of ptxas and by target
    lowest_version: str

    @property
    def spelling(self) -> str:
        found = parts(self.text)
        return self.text.partition(" ")[0] if found is None else found.opcode

    @property
    def operands(self) -> str:
        found = parts(self.text)
        return self.text.partition(" ")[2].removesuffix(";") if found is None else found.operands


@cache
def rows(recorded: tuple[Path, ...] = RECORDED) -> tuple[Row, ...]:
    found = []
    for path in recorded:
        with path.open(encoding="utf-8", newline="") as lines:
            rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            found += [read_row(cells) for cells in rows]
    return tuple(found)


def read_row(cells: dict[str, str]) -> Row:
    verdicts = {
        (version, f"sm_{target}"): verdict == "yes"
        for version in VERSIONS
        for verdict in ("yes", "no")
        for target in cells[f"{verdict}_{version}"].split()
        if target != "-"
    }
    return Row(f"{cells['spelling']} {cells['operands']};", verdicts, cells["lowest_version"])


def width(name: str) -> int | None:
    found = re.fullmatch(r"%([a-z]+)[0-9]+", name)
    return WIDTHS.get(found[1]) if found else None


def statement_of(text: str) -> Statement | None:
    try:
        return read(text, width)
    except (OpcodeError, CallError):
        return None


def name_of(text: str) -> str:
    """The opcode where that is what is refused, and the whole text otherwise."""
    found = parts(text)
    assert found is not None, text
    try:
        resolve(found.opcode)
    except OpcodeError:
        return found.opcode
    return text if statement_of(text) is None else found.opcode


def disagreements(row: Row) -> Iterator[bool]:
    """Whether the table takes it, for each version and target where ptxas has it the other way."""
    statement = statement_of(row.text)
    for (version, target), assembled in row.verdicts.items():
        legal = (
            statement is not None
            and statement.ptx_version <= VERSIONS[version]
            and statement.unsupported_reason(target) is None
        )
        if legal != assembled:
            yield legal


def test_the_table_agrees_with_ptxas_but_for_the_listed_differences() -> None:
    verdicts = Counter[bool]()
    different = set()
    for row in rows():
        verdicts.update(row.verdicts.values())
        found = set(disagreements(row))
        if found:
            different.add(name_of(row.text))
            assert found == {False}, row.text
    assert different == DIFFERENCES.keys()
    assert len(rows()) >= 1086
    assert verdicts[True] >= 11561
    assert verdicts[False] >= 8614


def test_lowest_versions() -> None:
    found, recorded = {}, {}
    for row in rows():
        if row.lowest_version != "-":
            target, version = row.lowest_version.split(":")
            statement = read(row.text, width)
            found[row.text] = "{}.{}".format(*statement.ptx_version_on(target))
            recorded[row.text] = version
    assert recorded.pop("fence.acquire.gpu ;") == "7.8"
    assert found.pop("fence.acquire.gpu ;") == "8.6", LATER
    assert found == recorded
    assert len(recorded) >= 49
