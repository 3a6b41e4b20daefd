"""Operands made up at random: what a legal call needs first, which :mod:`~tileproof.fuzz.generate.mutate` may then
change.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from math import prod

from tileproof.fuzz.generate.drafts import CallDraft, Dim, OperandDraft
from tileproof.fuzz.generate.mutate import CHANGES, late
from tileproof.fuzz.generate.near import OF_ACCESS, nearly
from tileproof.fuzz.oracle.description import Backing, Call, Factor, Swizzle
from tileproof.fuzz.oracle.terms import Term, value
from tileproof.fuzz.oracle.threads import numbers, warps

Slabs = dict[str, list[int]]
"""For each group axis the threads that it names, in order."""

BLOCKS = {
    "thread": (1, 32, 33, 64, 7, 128), "warp": (32, 64, 128, 8), "cta": (64, 32, 96, 128, 256, 8),
    "warpgroup": (128, 256),
}  # fmt: skip
"""Threads of a block that executes at a scope."""


def between_memory_and_registers(draft: CallDraft, inner: list[tuple[str, int]]) -> Call:
    """Give a draft that knows its opcode and launch both operands, whose last dimensions are ``inner``."""
    choices = draft.choices
    slabs = launch_of(draft)
    outer = outer_of(draft, slabs)
    draft.registers = registers_of(draft, slabs, outer, inner)
    draft.memory = memory_of(draft, outer, inner)
    if choices.chance(8) and not draft.collective:
        draft.pred = choices.among(
            ("<", "lane", 7), ("==", ("%", draft.symbol(0, 5), 2), 0), ("<", "tx", draft.symbol(1, 9)),
            ("<", draft.symbol(0, 3, uniform="thread"), 2),
        )  # fmt: skip
    relate(draft)
    if choices.spoil(55):
        for _ in range(choices.among(1, 1, 2)):
            choices.among(*CHANGES)(draft)
    late(draft)
    nearly(draft, OF_ACCESS)
    return draft.finished()


def outer_of(draft: CallDraft, slabs: Slabs) -> list[tuple[str, int]]:
    """Group dimensions, then none to two of repeats."""
    c = draft.choices
    repeats = [c.between(1, 3) for _ in range(c.among(1, 0, 2))]
    return [*((n, len(t)) for n, t in slabs.items()), *((f"repeat{d}", n) for d, n in enumerate(repeats))]


def relate(draft: CallDraft) -> None:
    """Sometimes assume something of two symbols."""
    c = draft.choices
    if len(draft.symbols) > 1 and c.chance(30):
        one, two = draft.symbols[0].name, draft.symbols[1].name
        draft.assume = c.among(("<", one, two), ("<", ("+", one, two), 4), ("==", ("%", one, 2), 0))
    if any(s.uniform != "grid" for s in draft.symbols):
        draft.assume = None


def launch_of(draft: CallDraft) -> Slabs:
    """Sometimes a guard; the threads that the group then names."""
    c = draft.choices
    if c.chance(30):
        draft.guard = guard(draft)
    return slabs_of(draft)


def guard(draft: CallDraft) -> Term:
    """A truth term over thread numbers and symbols."""
    c = draft.choices
    warp = "wid_in_wg" if draft.scope == "warpgroup" else "warp"
    lanes: tuple[Term, ...] = (
        ("<", "lane", c.among(16, 8, 1, 31)), (">=", "lane", c.among(16, 4)), ("==", ("%", "lane", c.among(2, 4)),
         c.below(2)),
        ("==", "lane", c.among(0, 5)), ("<", "lane", draft.symbol(0, 3) if c.chance(30) else 12),
        ("==", ("//", "lane", 8), c.below(4)), ("<", ("%", "lane", 4), 2),
    )  # fmt: skip
    warps: tuple[Term, ...] = (
        ("<", warp, c.among(1, 2)), (">=", warp, 1), ("==", warp, c.below(3)), ("==", ("%", warp, 2), c.below(2)),
        ("<", warp, draft.symbol(0, 3) if c.chance(50) else 3), ("not", ("==", warp, 1)),
    )  # fmt: skip
    if draft.scope == "thread" and c.chance(10):
        return ("<", draft.symbol(0, 3, uniform=c.among("thread", "warp")), c.between(1, 2))
    both: tuple[Term, ...] = (
        ("<", "tx", c.among(32, 64, 40, 16)), ("<", "tx", draft.symbol(0, 96, 32) if c.chance(50) else draft.threads),
        (">=", "tx", 32), ("<", ("+", ("*", "warp", 32), "lane"), 64),
    )  # fmt: skip
    if draft.collective:
        kind = c.among("warps", "warps", "both", "lanes")
    else:
        kind = c.among("lanes", "warps", "product", "both")
    if kind == "lanes":
        return c.among(*lanes)
    if kind == "warps":
        return c.among(*warps)
    return c.among(*both) if kind == "both" else ("all", c.among(*lanes), c.among(*warps))


def slabs_of(draft: CallDraft) -> Slabs:
    """What the group has to be for the first unit of threads that somebody reaches."""
    names = draft_group_axes(draft)
    if not names:
        return {}
    per_unit = {"warp": 1, "warpgroup": 4}.get(draft.scope, 64)
    # Without a guard every unit is reached, whatever the symbols are.
    points = product(*(s.values for s in draft.symbols)) if draft.guard is not None else iter([()])
    own = [s.name for s in draft.symbols]
    places = _units(draft.block, per_unit)
    reached: list[tuple[int, int]] = []
    for point in points:
        known = dict(zip(own, point, strict=False))
        for unit in places:
            reached = [
                at for at, every in unit if draft.guard is None or value(draft.guard, {**every, **known})
            ]
            if reached:
                break
        if reached:
            break
    found: Slabs = {}
    for name in names:
        found[name] = sorted({thread[0 if name == "warp" else 1] for thread in reached}) or [0]
    return found


@cache
def _units(block: tuple[int, ...], per_unit: int) -> list[list[tuple[tuple[int, int], dict[str, int]]]]:
    """The threads of each unit of so many warps: warp in the unit, or in the CTA if there is one unit, and lane; and
    every number that the thread has.
    """
    threads = prod(block)
    return [
        [
            ((w - unit, n), numbers(block, w, n))
            for w, n in product(range(unit, min(unit + per_unit, warps(threads))), range(32))
            if w * 32 + n < threads
        ]
        for unit in range(0, warps(threads), per_unit)
    ]


def draft_group_axes(draft: CallDraft) -> tuple[str, ...]:
    """As :attr:`Call.group_axes`, before there is a call."""
    warps = ("warp",) if draft.scope in ("warpgroup", "cta") else ()
    lanes = ("lane",) if draft.scope != "thread" and not draft.collective else ()
    return (*warps, *lanes)


def _radix(draft: CallDraft, dims: list[Dim], unit: int, *, gaps: bool) -> int:
    """Give the dimensions strides that never collide, in some order of nesting. Returns the span."""
    c = draft.choices
    backwards = dims[::-1]
    for position in c.order(len(backwards)):
        dim = backwards[position]
        size = dim.size if isinstance(dim.size, int) else 4
        dim.factors = [Factor(dim.size, unit)]
        unit *= size
        if gaps and c.chance(20):
            unit += c.among(unit // size, 2 * (unit // size))
    return unit


def registers_of(
    draft: CallDraft,
    slabs: Slabs,
    outer: list[tuple[str, int]],
    inner: list[tuple[str, int]],
    halves: int = 10,
) -> OperandDraft:
    """Legal registers: gaps, parts of longer dimensions, a stage, storage of its own or not.

    So many per cent are declared as registers of half the width.
    """
    c = draft.choices
    dims = [Dim(name, extent, [], extent) for name, extent in (*outer, *inner)]
    made = OperandDraft("R", "registers", draft.bits, dims, align=1)
    by_role = {d.role: d for d in dims}
    word = dims[-1]
    stored = [d for d in dims if d.role not in slabs and not (draft.collective and d.role in ("row", "word"))]
    if c.chance(12):
        # A stage that is indexed away.
        extra = Dim("stage", 1, [], c.between(2, 3), hidden=True)
        extra.start = c.below(2)
        dims.insert(len(slabs), extra)
        stored.append(extra)
    for dim in stored:
        if isinstance(dim.size, int) and dim.role.startswith("repeat") and c.chance(10):
            dim.size += 1
            dim.start = c.below(2)
    _radix(draft, stored, 1, gaps=True)
    _owners(draft, made, slabs, by_role)
    splits = 8 < draft.bits < 128 and not draft.collective and word.role not in slabs
    if splits and c.chance(halves):
        made.bits, made.view_bits = draft.bits // 2, draft.bits
        for dim in stored:
            dim.factors = [Factor(f.extent, ("*", f.stride, 2), f.axis) for f in dim.factors]
        word.size, word.start = word.extent * 2, 0
        word.factors = [Factor(word.extent, word.factors[0].stride), Factor(2, 1)]
    elif c.chance(40):
        made.placed = c.order(len(dims))
    made.merged = c.chance(30)
    if c.chance(8):
        span = 1 + sum((int(str(d.size)) - 1) * abs(_plain(d.factors[0].stride)) for d in stored if d.factors)
        at = c.below(3) * (draft.bits // made.bits)
        made.backing = Backing(span + 2 * at + 2, at)
    return made


def _plain(term: Term) -> int:
    return int(value(term, {}))


def _owners(draft: CallDraft, made: OperandDraft, slabs: Slabs, by_role: dict[str, Dim]) -> None:
    """Bind the group, and the lanes of a matrix, to thread axes, in one of several ways of saying so."""
    c = draft.choices
    if draft.scope == "thread":
        return
    plain = draft.block[1:] == ()
    few = draft.threads <= 128 or draft.scope == "warpgroup"
    ways = ["laneid"]
    if draft.scope != "warp":
        ways += ["wid_in_wg", "tid_in_wg"] if few else ["wgid"]
    if plain and (draft.scope == "cta" or draft.threads <= 32):
        ways.append("tx")
    way = c.among(*ways)
    lane_axis = way if way in ("tx", "tid_in_wg") else "laneid"
    warp_axis = {"laneid": "warpid", "wgid": "warpid"}.get(way, way)
    if way == "laneid" and draft.scope == "warpgroup":
        warp_axis = "wid_in_wg"
    per_warp = 32 if warp_axis in ("tx", "tid_in_wg") else 1
    if draft.collective:
        by_role["row"].factors = [Factor(8, 4, lane_axis)]
        by_role["word"].factors = [Factor(4, 1, lane_axis)]
    else:
        _bind(draft, made, by_role["lane"], slabs["lane"], 1, lane_axis, 32)
    if "warp" in slabs:
        dim = by_role["warp"]
        if way == "wgid" and dim.extent % 4 == 0 and slabs["warp"] == list(range(dim.extent)):
            dim.factors = [Factor(dim.extent // 4, 1, "wgid"), Factor(4, 1, "wid_in_wg")]
        else:
            _bind(draft, made, dim, slabs["warp"], per_warp, warp_axis, draft.warps)
    elif draft.scope == "warp" and c.chance(15):
        made.dims.insert(
            0, Dim("warps", 1, [Factor(draft.warps, 1, "warpid")], draft.warps, "warp", hidden=True)
        )


def _bind(
    draft: CallDraft, made: OperandDraft, dim: Dim, threads: list[int], unit: int, axis: str, most: int
) -> None:
    first = threads[0]
    step = threads[1] - first if len(threads) > 1 else 1
    if threads == [4 * (n // 2) + n % 2 for n in range(16)]:
        dim.factors = [Factor(8, 4 * unit, axis), Factor(2, unit, axis)]
        return
    if step == 1 and first and first + dim.extent <= most and draft.choices.chance(50):
        # All of them, of which the view takes a part.
        dim.size, dim.start = most, first
        dim.factors = [Factor(most, unit, axis)]
        return
    dim.factors = [Factor(dim.extent, step * unit, axis)]
    if first:
        made.offsets.append((first * unit, axis))


def memory_of(draft: CallDraft, outer: list[tuple[str, int]], inner: list[tuple[str, int]]) -> OperandDraft:
    """A legal memory operand: gaps, parts of longer dimensions, stages, swizzles, storage of its own or not."""
    c = draft.choices
    dims = [Dim(name, extent, [], extent) for name, extent in (*outer, *inner)]
    width = draft.bits
    if c.chance(15) and width > 8:
        width //= c.among(2, 4) if width > 16 else 2
    elif c.chance(5) and width <= 64 and inner[-1][1] % 2 == 0:
        width *= 2
    space = draft.space.partition("::")[0]
    made = OperandDraft("A", space, width, dims, view_bits=draft.bits)
    word = dims[-1]
    row = word.extent * draft.bits // width
    access = 16 if draft.collective else draft.count * draft.bits // 8
    made.align = access * c.among(1, 2, 16 if access <= 16 else 1)
    word.size = row
    hidden = _hidden(draft, dims)
    for dim in dims[:-1]:
        if not dim.hidden and c.chance(12):
            # A part of a longer dimension.
            room, dim.step = c.between(1, 4), c.among(1, 1, 1, 2)
            dim.size = (dim.extent - 1) * dim.step + 1 + room
            dim.start = draft.within(room, threads=not draft.collective)
    if c.chance(12):
        room = c.between(1, 3) * row
        word.size = row + room
        word.start = draft.within(room, row, threads=not draft.collective)
    unit = _along_rows(draft, word, row)
    others = [d for d in dims if d is not word]
    span = _radix(draft, others, unit, gaps=True)
    _bend(draft, made, others, unit)
    if hidden and c.chance(10):
        # A size that is known at run time only; the strides stay as they are.
        hidden[0].size = draft.symbol(c.between(2, 4), 6)
        hidden[0].factors = [Factor(hidden[0].size, hidden[0].factors[0].stride)]
        if isinstance(hidden[0].size, int):
            hidden[0].size = max(hidden[0].size, 1)
        if hidden[0].role == "stage":
            ends: tuple[Term, ...] = (0, 1, ("-", hidden[0].size, 1))
            hidden[0].start = c.among(*ends)
    if c.chance(15):
        low = row.bit_length() - 1
        bits = c.between(1, 3)
        made.swizzle = Swizzle(bits, low + c.below(2), bits + c.below(2))
        if c.chance(10):
            made.swizzle = Swizzle(bits, low + c.below(2), -bits)
    if width == draft.bits and c.chance(40):
        made.placed = c.order(len(dims))
    made.merged = c.chance(30)
    if c.chance(15):
        at: Term = c.below(3) * row
        if c.chance(30):
            at = ("*", draft.symbol(0, 3), row)
        elif c.chance(10):
            at = ("*", ("%", "tx", 2), row)
        made.backing = Backing(4 * span if made.swizzle else span + 8 * row, at)
    return made


def _hidden(draft: CallDraft, dims: list[Dim]) -> list[Dim]:
    """Dimensions that are indexed away: what tells the executing units apart, and a stage."""
    c = draft.choices
    added: list[Dim] = []
    one_dimensional = draft.block[1:] == ()
    if draft.scope == "thread" and draft.threads > 1 and not c.chance(25):
        start: Term = "tx" if one_dimensional else ("+", ("*", "warp", 32), "lane")
        added.append(Dim("thread", 1, [], draft.threads, start, hidden=True))
    if draft.scope == "warp" and draft.warps > 1 and not c.chance(25):
        added.append(Dim("warps", 1, [], draft.warps, "warp", hidden=True))
    if draft.scope == "warpgroup" and draft.warps > 4 and not c.chance(25):
        added.append(Dim("warpgroups", 1, [], draft.warps // 4, "wgid", hidden=True))
    if c.chance(25):
        stages = c.between(2, 4)
        added.append(
            Dim("stage", 1, [], stages, draft.within(stages - 1, threads=not draft.collective), hidden=True)
        )
    dims[:0] = added
    return added


def _along_rows(draft: CallDraft, word: Dim, row: int) -> int:
    """Make the words of an access contiguous. Returns what the strides of other dimensions are multiples of."""
    if not isinstance(word.size, int):
        raise TypeError(f"the words of an access are as many as a number says, not {word.size!r}")
    word.factors = [Factor(word.size, 1)]
    if word.size > row and word.size % row == 0 and draft.choices.chance(30):
        # Rows may stand apart although their words do not.
        pitch = row * draft.choices.among(1, 2)
        word.factors = [Factor(word.size // row, pitch), Factor(row, 1)]
        return pitch * word.size // row
    return -(-word.size // row) * row


def _bend(draft: CallDraft, made: OperandDraft, others: list[Dim], unit: int) -> None:
    """Strides that run backwards, stand still, or depend on a symbol; and an offset."""
    c = draft.choices
    offset = 0
    for dim in others:
        stride = dim.factors[0].stride
        if c.chance(8) and isinstance(dim.size, int) and isinstance(stride, int):
            dim.factors = [Factor(dim.size, -stride)]
            offset += (dim.size - 1) * stride
        elif c.chance(5) and draft.load:
            dim.factors = [Factor(dim.size, 0)]
        elif c.chance(4):
            dim.factors = [Factor(dim.size, ("*", draft.symbol(0, 3), unit))]
    if c.chance(10):
        offset += unit * c.between(1, 3)
    if offset:
        made.offsets.append((offset, "m"))
