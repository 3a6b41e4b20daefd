"""Matrix products, tensor memory and bulk copies against what two versions of ptxas assembled.

The rows are as in `test_grammar_ptxas`, recorded in `tests/data/ptxas-accepts-matrices.tsv`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

from tests.contracts.operand_text import fits
from tests.contracts.test_grammar_ptxas import VERSIONS, Row, rows
from tileproof.contracts.grammar import Form, resolve
from tileproof.errors import OpcodeError

RECORDED = Path(__file__).parents[1] / "data" / "ptxas-accepts-matrices.tsv"

ORDER = "ptxas takes qualifiers in any order; the table takes the order of the ISA's syntax lines"
NEWER = "ptxas 13.5 knows it; the ISA 9.1 does not"
ONLY_SM_107A = "ptxas 13.5 knows it for sm_107a; the ISA 9.1 knows no sm_107a"

# Spellings that ptxas assembles and the table refuses.
DIFFERENCES = {
    "cp.async.bulk.global.shared::cta.bulk_group.cp_mask.L2::cache_hint": ORDER,
    "cp.async.bulk.tensor.2d.tile.shared::cluster.global.mbarrier::complete_tx::bytes": ORDER,
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.tile": ORDER,
    "cp.async.bulk.tensor.2d.tile::gather4.shared::cluster.global.mbarrier::complete_tx::bytes": ORDER,
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.tile::gather4": ORDER,
    "cp.async.bulk.tensor.shared::cluster.2d.global.tile.mbarrier::complete_tx::bytes": ORDER,
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    ".L2::cache_hint.multicast::cluster": ORDER,
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    ".cta_group::2.multicast::cluster": ORDER,
    "cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.tile.mbarrier::complete_tx::bytes": ORDER,
    "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group.tile": ORDER,
    "cp.reduce.async.bulk.tensor.2d.global.shared::cta.tile.add.bulk_group": ORDER,
    "cp.reduce.async.bulk.tensor.2d.add.global.shared::cta.tile.bulk_group": ORDER,
    "tcgen05.alloc.sync.aligned.cta_group::1.shared::cta.b32": ORDER,
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.multicast::cluster.shared::cluster.b64": ORDER,
    "tcgen05.shift.down.cta_group::1": ORDER,
    "tcgen05.cp.cta_group::1.b8x16.b6x16_p32.128x256b": ORDER,
    "tcgen05.cp.cta_group::1.warpx4.32x128b": ORDER,
    "tcgen05.ld.sync.aligned.32x32b.pack::16b.x4.b32": ORDER,
    "tcgen05.ld.sync.aligned.32x32b.x4.b32.pack::16b": ORDER,
    "tcgen05.ld.red.sync.aligned.32x32b.x2.u32.max": ORDER,
    "tcgen05.mma.kind::f16.cta_group::1": ORDER,
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob": NEWER,
    "cp.async.bulk.weak.global.shared::cta.bulk_group": NEWER,
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f32": NEWER,
    "tcgen05.alloc.exclusive.cta_group::1.sync.aligned.shared::cta.b32": NEWER,
    "tcgen05.alloc.cta_group::1.exclusive.sync.aligned.shared::cta.b32": NEWER,
    "tcgen05.alloc.cta_group::1.sync.aligned.exclusive.shared::cta.b32": NEWER,
    "cp.async.bulk.prefetch.L2.global.L2::evict_last": ONLY_SM_107A,
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    ".multicast::cluster::32b": ONLY_SM_107A,
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster::32b.b64": ONLY_SM_107A,
    "tcgen05.mma.cta_group::1.kind::ti16": ONLY_SM_107A,
    "tcgen05.mma.cta_group::2.kind::ti16": ONLY_SM_107A,
    "tcgen05.mma.cta_group::1.kind::f16.collector::b::fill": ONLY_SM_107A,
    "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile::scatter4.bulk_group": (
        "the syntax line of reductions has no .tile::scatter4"
    ),
    "wgmma.mma_async.sync.aligned.m64n64k16.row.col.f32.f16.f16": (
        "ptxas ignores the layouts; the syntax lines have none"
    ),
}

# .kind::f8f6f4 of 8-bit floats: ptxas takes it for all of Blackwell; the target notes name sm_120a and sm_120f.
WIDER_TARGETS = {
    f"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.{d}.{a}.{b}.{d}"
    for d, a, b in product(("f16", "f32"), ("e4m3", "e5m2"), ("e4m3", "e5m2"))
}

# Rows that ptxas assembles although their operands are not those of the syntax lines, by what is so in them.
LAX = {
    "constants for C": {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"},
    "a constant mask (ptxas 13.5)": {
        "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64"
    },
    "scale-input-d of integers": {"tcgen05.mma.cta_group::1.kind::i8", "tcgen05.mma.cta_group::2.kind::i8"},
    "a constant instruction descriptor": {"tcgen05.mma.cta_group::1.kind::f16"},
}

# Ends of operands that ptxas refuses (everywhere or on some targets) for the value of the last one or two,
# or for the presence of the optional one: no matter of the spelling.
BY_VALUE = {
    "tensormap.replace.tile.elemtype": (", 14",),  # not on sm_90a
    "tensormap.replace.tile.swizzle_mode": (", 4",),  # only on sm_103a
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4": ("{1,0}", "{0,2}, %r2, {0,0}", "{0,3}, %r2, {0,0}"),
    "wgmma.mma_async": ("%p0, 0, 1, 0, 0",),  # a factor is 1 or -1
    # Powers of two from 32 to 512; ptxas 13.0 let 0 and 1024 pass.
    "tcgen05.alloc": (", 0", ", 16", ", 48", ", 96", ", 1024"),
    "tcgen05.dealloc": (", 0", ", 16", ", 48", ", 1024"),
    # scale-input-d is from 0 to 15, and not on sm_110a.
    "tcgen05.mma.cta_group::1.kind::f16": ("%p0, 0", "%p0, 16", "%p0, 3"),
    "tcgen05.mma.cta_group::1.kind::tf32": ("%p0, 3",),
    "tcgen05.mma.cta_group::2.kind::f16": ("%p0, 0", "%p0, 15", "%p0, 3"),
    "tcgen05.mma.cta_group::2.kind::tf32": ("%p0, 0", "%p0, 15", "%p0, 16"),
}


def by_value(row: Row) -> bool:
    return any(row.spelling.startswith(s) and row.operands.endswith(ends) for s, ends in BY_VALUE.items())


def form_of(row: Row) -> Form | None:
    try:
        return resolve(row.spelling)
    except OpcodeError:
        return None


def disagreements(row: Row, form: Form | None) -> Iterator[tuple[str, str]]:
    """The versions and targets for which ptxas has the spelling and the table has not, or the reverse."""
    for (version, target), assembled in row.verdicts.items():
        legal = form is not None and form.ptx_version <= VERSIONS[version] and form.supports(target)
        if legal != assembled:
            yield version, target


@cache
def decided() -> tuple[tuple[Row, Form | None, bool], ...]:
    """Each row with its form, and whether its operands fit."""
    found = []
    for row in rows((RECORDED,)):
        form = form_of(row)
        found.append((row, form, form is None or fits(form, row.operands)))
    return tuple(found)


def different() -> Iterator[tuple[Row, Form | None, list[tuple[str, str]]]]:
    for row, form, fit in decided():
        if fit and (found := list(disagreements(row, form))):
            yield row, form, found


def test_ptxas_refuses_operands_that_do_not_fit_but_for_the_listed_rows() -> None:
    unfit = [row for row, _, fit in decided() if not fit]
    assembled = {row.spelling for row in unfit if any(row.verdicts.values())}
    assert assembled == set().union(*LAX.values())
    assert len(unfit) >= 70


def test_the_table_agrees_with_ptxas_but_for_the_listed_differences() -> None:
    refused = {row.spelling for row, form, _ in different() if form is None}
    assert refused == DIFFERENCES.keys()


def test_legal_spellings_differ_by_value_or_where_ptxas_knows_more_targets() -> None:
    legal = [(row, found) for row, form, found in different() if form is not None]
    wider = [(row, found) for row, found in legal if not by_value(row)]
    assert {row.spelling for row, _ in wider} <= WIDER_TARGETS
    assert len(wider) == 7
    blackwell = {"sm_100a", "sm_100f", "sm_103a", "sm_103f", "sm_107a", "sm_110a", "sm_110f"}
    for row, found in wider:
        assert {target for _, target in found} <= blackwell
        assert all(row.verdicts[place] for place in found)
    for row, found in legal:
        assert not by_value(row) or not any(row.verdicts[place] for place in found)


def test_every_value_that_ptxas_refuses_is_in_a_row() -> None:
    named = {(spelling, end) for spelling, ends in BY_VALUE.items() for end in ends}
    seen = {
        (spelling, end)
        for row, form, _ in different()
        if form is not None
        for spelling, end in named
        if row.spelling.startswith(spelling) and row.operands.endswith(end)
    }
    assert seen == named


def test_enough_was_compared() -> None:
    verdicts = Counter[bool]()
    for row, _, fit in decided():
        if fit:
            verdicts.update(row.verdicts.values())
    assert verdicts[True] >= 8530
    assert verdicts[False] >= 14000


def test_lowest_versions() -> None:
    found, recorded = {}, {}
    for row, form, _ in decided():
        if row.lowest_version != "-" and form is not None:
            target, version = row.lowest_version.split(":")
            found[row.spelling] = "{}.{}".format(*form.ptx_version_on(target))
            recorded[row.spelling] = version
    assert found == recorded
    assert len(recorded) >= 49
