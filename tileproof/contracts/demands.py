"""What every family demands of every call: in bounds, in storage, owned, converged, free of wrap-around."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tileproof.contracts.call import COMMON, Call, Operand, UnfitError
from tileproof.contracts.families import UnsupportedError
from tileproof.contracts.launch import Thread, shared_by, thread_axes
from tileproof.contracts.obligation import Obligation, distinct, same, structural, twin, within
from tileproof.contracts.width import wrap_points
from tileproof.layouts.axes import m
from tileproof.layouts.index import (
    Index,
    Relation,
    conjunction,
    const,
    disjunction,
    equal,
    leaf,
    negate,
    truth,
)
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.traverse import leaves, substitute


def whole_elements(call: Call) -> Iterator[Obligation]:
    """The elements of each view are elements; every call demands it before anything of its family's."""
    for view in call.operands:
        for join in view.joins:
            drift, moved = call.here(join.drift), [(name, call.here(by)) for name, by in join.moved]
            yield Obligation(
                f"{call.family}.whole-element",
                "elements that are read as one wider element follow each other, with one thread",
                COMMON,
                conjunction((equal(drift, join.needed), *(equal(by, const(0)) for _, by in moved))),
                needed=(
                    f"element `step` of a {join.dtype} of {view.name} {{}} bits past its first",
                    (join.needed,),
                ),
                found=(
                    "{} bits" + "".join(f", {name} changed by {{}}" for name, _ in moved),
                    (drift, *(by for _, by in moved)),
                ),
            )


def in_bounds(call: Call, operand: Operand) -> Iterator[Obligation]:
    """Each slice lies in its dimension; a declared tensor in its storage."""
    view, family = operand.view, call.family
    for region in view.regions:
        start = call.here(region.start)
        yield within(
            f"{family}.in-bounds",
            start,
            start + region.extent,
            region.size,
            f"{view.name}, dimension {region.dimension}: elements",
            "a region lies inside its tensor's shape",
            COMMON,
        )
    for d, size in enumerate(view.tensor.shape):
        if size.value is None:
            yield within(
                f"{family}.in-bounds",
                const(0),
                const(1),
                size,
                f"{view.name}, size of dimension {d}: elements",
                "every dimension has at least one element",
                COMMON,
            )


def in_storage(
    call: Call, operand: Operand, atom: Sequence[Index], nbytes: int | Index
) -> Iterator[Obligation]:
    """``nbytes`` bytes from element ``atom`` on lie in the tensor's storage.

    Storage that was made for the tensor holds all that its shape allows, so there being in bounds is enough.
    """
    tensor = operand.view.tensor
    if not tensor.declared and tensor.starts_inside:
        return
    address = operand.address(atom)
    end = address.offset + nbytes
    size = tensor.storage.size if tensor.declared else None
    if tensor.declared and size is None:
        yield structural(
            f"{call.family}.in-storage",
            False,
            "a storage of known size to declare a tensor over",
            f"{tensor.storage.name}, whose strides are symbolic",
            "a view stays inside its storage",
            COMMON,
        )
    yield within(
        f"{call.family}.in-storage",
        address.offset,
        end,
        end if size is None else size,
        f"bytes of {tensor.storage.name}",
        "a view stays inside its storage",
        COMMON,
        address,
    )


def owned(
    call: Call, operand: Operand, atom: Sequence[Index], lane: Index, sentence: str, section: str
) -> Iterator[Obligation]:
    """Register element ``atom`` belongs to lane ``lane`` of the executing warp, in every replica."""
    demand = f"{call.family}.owned"
    owner = operand.owner(atom)
    if call.scope == "thread" and not call.collective:
        named = [a.name for a in owner if a.thread]
        if named:
            raise UnfitError(
                structural(
                    demand,
                    False,
                    "storage strides only",
                    f"{operand.view.name} has strides on {', '.join(named)}",
                    "at thread scope each thread has the whole tensor, so no thread axes are accepted",
                    COMMON,
                )
            )
        return
    thread = Thread(call.thread.warp, lane, call.thread.cta)
    for axis, found, wanted in operand.expected(thread, owner):
        yield same(demand, found, wanted, axis.name, sentence, section, operand.address(atom))


def distinct_registers(
    call: Call,
    operand: Operand,
    atom: Sequence[Index],
    within_lane: Sequence[Index],
    sentence: str,
    section: str,
) -> Iterator[Obligation]:
    """No register of a thread is written by two elements.

    ``within_lane`` are those of the element coordinates ``atom`` that take several values in one lane.
    """
    address = operand.address(atom)
    apart = [v.args[0] for v in (*call.repeat, *within_lane)]
    slot = (
        address.offset * 8 // operand.view.bits
        if operand.view.bits % 8
        else address.offset // (operand.view.bits // 8)
    )
    yield distinct(
        f"{call.family}.distinct",
        slot,
        apart,
        f"{operand.view.name} slot",
        sentence,
        section,
        address=address,
    )


def whole_registers(
    call: Call, operand: Operand, atom: Sequence[Index], section: str
) -> Iterator[Obligation]:
    """An element fills whole registers: its offset is a multiple of its own width."""
    width = operand.view.bits // 8
    address = operand.address(atom)
    yield Obligation(
        f"{call.family}.whole-register",
        "an element starts where a register starts",
        section,
        (address.offset % width) == 0,
        needed=(f"a multiple of {width} bytes", ()),
        found=("register offset {} bytes", (address.offset,)),
        address=address,
    )


def no_overflow(call: Call, operand: Operand, atom: Sequence[Index]) -> Iterator[Obligation]:
    """The offset arithmetic that is emitted keeps its value in the width in which it is done."""
    for bits, value in wrap_points(call, operand, tuple(atom)):
        limit = 1 << (bits - 1)
        yield Obligation(
            f"{call.family}.no-overflow",
            f"the offset arithmetic keeps its value in signed {bits}-bit integers",
            "PTX ISA 9.7.1",
            conjunction((value >= -limit, value < limit)),
            needed=(f"a number from {-limit} to {limit - 1}", ()),
            found=("{}", (value,)),
            address=operand.address(atom),
        )


def converged(call: Call) -> Iterator[Obligation]:
    """The threads that reach the call are exactly those that the group and the instruction need."""
    launch, unit = call.launch, call.scope
    if unit == "thread":
        return
    if call.scattered is not None:
        raise UnsupportedError(
            f"{call.form.spelling}: {call.scattered}, which are not evenly spaced; "
            "only groups of evenly spaced threads are supported: guard so that they are, or make several calls"
        )
    member = call.thread
    if call.collective:
        member = Thread(member.warp, leaf(Leaf("lane", "thread", 0, 31, uniform="thread")), member.cta)
    other = launch.thread(1)
    if unit == "warp":
        other = Thread(member.warp, other.lane, member.cta)
    elif unit == "warpgroup":
        other = Thread(call.warpgroup * 4 + other.warp % 4, other.lane, member.cta)
    elif unit == "cta":
        other = Thread(other.warp, other.lane, member.cta)
    active = launch.active
    # What is assumed of thread coordinates is known of threads that reach the call, not of those that have to.
    placed = conjunction(a for a in launch.assumptions if thread_axes(a))
    assumed = conjunction(a for a in launch.assumptions if not thread_axes(a))
    own = {
        v: twin([v])[v]
        for v in leaves(active, placed)
        if v.kind == "symbol" and not shared_by(v.uniform, unit)
    }
    seen_by_other = launch.seen_by(other, substitute(conjunction((active, placed)), own))
    seen_by_member = launch.seen_by(member, active)
    reached = conjunction((assumed, launch.exists(other), seen_by_other, _agreement(own, member, other)))
    yield Obligation(
        f"{call.family}.converged",
        "all 32 lanes of each warp reach the instruction together"
        if call.collective
        else "every element of the group has its thread",
        "PTX ISA 9.7.14.5.15 (.sync.aligned)" if call.collective else COMMON,
        conjunction((launch.exists(member), seen_by_member)),
        reached,
        needed=("an active thread: warp {}, lane {}", (member.warp, member.lane)),
        found=(
            (
                f"it does not reach the call, or is not one of the {launch.threads} threads of the block; "
                "warp {}, lane {} does reach it"
            ),
            (other.warp, other.lane),
        ),
        in_context=False,
        subject=(member.warp, member.lane),
    )
    if unit == "warpgroup" and launch.threads % 128:
        last = Thread(call.warpgroup * 4 + 3, const(31), member.cta)
        yield Obligation(
            f"{call.family}.converged",
            "a warpgroup is four whole warps",
            COMMON,
            launch.exists(last),
            reached,
            needed=("a block that has warp {}, lane {}", (last.warp, last.lane)),
            found=(
                f"{launch.threads} threads; warp {{}}, lane {{}} does reach the call",
                (other.warp, other.lane),
            ),
            in_context=False,
            subject=(last.warp, last.lane),
        )
    anyone = launch.thread()
    if unit == "warpgroup":
        anyone = Thread(anyone.warp % 4, anyone.lane, anyone.cta)
    covered = conjunction(
        _in_slab(value, call.slabs[name], extent)
        for name, extent, value in (
            (name, extent, {"warp": anyone.warp, "lane": anyone.lane}.get(name))
            for name, extent in zip(call.group_axes, call.group_extents, strict=True)
        )
        if value is not None
    )
    full = launch.thread()
    yield Obligation(
        f"{call.family}.covered",
        "every thread that reaches the call has its element of the group",
        COMMON,
        covered,
        conjunction((launch.seen_by(full, conjunction((*launch.assumptions, active))), launch.exists(full))),
        needed=(
            f"a group ({', '.join(call.group_axes)}) of extents {call.group_extents} that has the thread",
            (),
        ),
        found=("no element for warp {}, lane {}", (full.warp, full.lane)),
        in_context=False,
        subject=(full.warp, full.lane),
    )
    if unit == "cluster":
        yield from _cluster_extents(call)


def _agreement(own: Mapping[Leaf, Index], one: Thread, two: Thread) -> Relation:
    """What varies between threads, warps or CTAs has one value in each of them; ``own`` maps the values of
    ``one`` to those of ``two``.
    """
    if not own:
        return truth(True)
    cta = conjunction(equal(a, b) for a, b in zip(one.cta, two.cta, strict=True))
    warp = conjunction((cta, equal(one.warp, two.warp)))
    same = {"cta": cta, "warp": warp, "thread": conjunction((warp, equal(one.lane, two.lane)))}
    return conjunction(
        disjunction((negate(same[v.uniform]), equal(leaf(v), value))) for v, value in own.items()
    )


def _cluster_extents(call: Call) -> Iterator[Obligation]:
    declared = dict(call.launch.cluster_axes)
    for name, extent in zip(call.group_axes, call.group_extents, strict=True):
        if name in declared:
            yield structural(
                f"{call.family}.covered",
                extent == declared[name],
                f"{declared[name]} CTAs along {name}",
                f"a group extent of {extent}",
                "the group has every CTA of the cluster",
                COMMON,
            )


def _in_slab(value: Index, slab: tuple[int, int], extent: int) -> Relation:
    step, first = slab
    return conjunction(((value - first) % step == 0, value >= first, value < first + step * extent))


def warp_uniform(call: Call, operand: Operand, atom: Sequence[Index], section: str) -> Iterator[Obligation]:
    """All lanes of a warp mean the same region: its starts do not vary inside the warp."""
    place = operand.view.place([*call.group, *call.repeat, *atom])
    offset = place.byte_offset
    varying = [v for v in leaves(offset) if v.uniform == "thread" and v.kind in ("symbol", "thread")]
    if not varying:
        return
    launch = call.launch
    one = Thread(call.thread.warp, launch.thread(0).lane, call.thread.cta)
    two = Thread(call.thread.warp, launch.thread(1).lane, call.thread.cta)
    stated = conjunction((*launch.assumptions, launch.active))
    renamed = {
        v: twin([v])[v] for v in leaves(offset, stated) if v.uniform == "thread" and v.kind == "symbol"
    }
    first = launch.seen_by(one, offset)
    second = launch.seen_by(two, substitute(offset, renamed))
    yield Obligation(
        f"{call.family}.uniform",
        "all lanes of the warp see the same region",
        section,
        first == second,
        conjunction(
            (
                one.lane < two.lane,
                launch.exists(one),
                launch.exists(two),
                launch.seen_by(one, stated),
                launch.seen_by(two, substitute(stated, renamed)),
            )
        ),
        needed=("one region for the whole warp", ()),
        found=(
            f"{operand.view.name} at byte offset {{}} for lane {{}} and {{}} for lane {{}}",
            (first, one.lane, second, two.lane),
        ),
        in_context=False,
        subject=(two.warp, two.lane),
    )


def no_stale_replica(call: Call, operand: Operand, section: str) -> Iterator[Obligation]:
    """Hazard: a destination whose layout promises further copies that the instruction does not write."""
    for factor in operand.view.tensor.layout.spec.replicas:
        if factor.axis is m and factor.extent.value != 1 and factor.stride.value != 0:
            yield Obligation(
                f"{call.family}.replica",
                "a destination has no replica in storage, which would go stale",
                section,
                truth(False),
                needed=("one place for each element", ()),
                found=(
                    (
                        f"{operand.view.name} has {factor.extent!r} replicas {factor.stride!r} elements apart; "
                        "only the first is written"
                    ),
                    (),
                ),
                hazard=True,
            )


def no_write_conflict(
    call: Call, operand: Operand, atom: Sequence[Index], section: str
) -> Iterator[Obligation]:
    """Hazard: two lanes or repeats that store to one place."""
    address = operand.address(atom)
    group, seats = call.group, (call.thread.warp, call.thread.lane)[: 1 if call.collective else 2]
    unit = "cluster" if call.scope == "cluster" else "cta"
    # Local memory is each thread's own and shared memory each CTA's own: others store elsewhere (PTX ISA 5.1).
    if address.space == "local":
        group, seats, unit = (), (), "thread"
    elif address.space == "shared":
        group, unit = tuple(v for v in group if not v.args[0].name.startswith("cta_")), "cta"
    live = [v.args[0] for v in (*group, *call.repeat, *atom) if v.op == "leaf"]
    # Threads that the group leaves open are further writers, and so are the values that vary between them.
    open_threads = [v for v in leaves(*seats) if v.kind == "thread" and v.lo != v.hi]
    used = leaves(address.offset, call.facts)
    own = {v: twin([v])[v] for v in used if v.kind == "symbol" and not shared_by(v.uniform, unit)}
    apart = {**twin(live), **twin(open_threads)}
    here = call.thread
    warp, lane, *cta = (substitute(x, apart) for x in (here.warp, here.lane, *here.cta))
    there = Thread(warp, lane, (cta[0], cta[1], cta[2]))
    other_facts = conjunction((substitute(call.facts, {**apart, **own}), _agreement(own, here, there)))
    yield distinct(
        f"{call.family}.write-conflict",
        address.offset,
        [*open_threads, *live],
        f"{operand.view.name} byte offset",
        "no two lanes or repeats store to one place",
        section,
        address=address,
        given=other_facts,
        also=own,
        hazard=True,
    )
