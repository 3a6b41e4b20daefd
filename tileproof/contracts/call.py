"""A call in canonical coordinates: which group, which repeat, which element of one instruction.

Every operand of a call has the shape ``(*group, *repeat, *suffix)``. The group names the executing threads
and follows from the scope; the repeats are unrolled, one instruction each; the suffix is the instruction's
own and each family says it. All of them are variables here, so nothing grows with their extents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

from tileproof.contracts.grammar import Form
from tileproof.contracts.launch import Launch, Thread
from tileproof.contracts.obligation import Address, Obligation, structural
from tileproof.contracts.operands import ScalarOperand, scalar_text
from tileproof.errors import CallError, LayoutError
from tileproof.layouts import axes
from tileproof.layouts.axes import Axis
from tileproof.layouts.evaluate import evaluate, where
from tileproof.layouts.index import Index, Relation, as_relation, conjunction, const, leaf_of
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.normal import decide, normal, simplify
from tileproof.layouts.portable import Portable
from tileproof.layouts.sharpen import as_replacement, conjuncts, sharpen
from tileproof.layouts.traverse import leaves
from tileproof.layouts.view import Place, View

COMMON = "contract reference, 'Group, repeat, and atom axes'"


class UnfitError(Exception):
    """An operand whose shape, type or space rules the contract out; carries the obligation that says so."""

    def __init__(self, obligation: Obligation) -> None:
        super().__init__(obligation.sentence)
        self.obligation = obligation


@dataclass(frozen=True, eq=False)
class Call(Portable):
    """An instruction with its operands. ``collective`` says that a warp executes it as one.

    ``operands`` are the views in PTX order; ``scalars`` are what stands between them, by position in that order.
    """

    form: Form
    operands: tuple[View, ...]
    scope: str
    launch: Launch
    parameters: Mapping[str, Any]
    collective: bool = False
    family: str = ""
    scalars: Mapping[int, ScalarOperand] = field(default_factory=dict)
    _cache: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def _places(self) -> dict[tuple[int, ...], Place]:
        """Where elements are, by operand and by the nodes of the coordinates."""
        return {}

    @property
    def written(self) -> tuple[str, ...]:
        """All operands in PTX order, as reports name them."""
        views = iter(self.operands)
        return tuple(
            scalar_text(self.scalars[position]) if position in self.scalars else next(views).name
            for position in range(len(self.operands) + len(self.scalars))
        )

    def tensor(self, position: int) -> View:
        """The view at a position in PTX order."""
        return self.operands[position - sum(other < position for other in self.scalars)]

    @cached_property
    def group_axes(self) -> tuple[str, ...]:
        """The leading axes of every operand, by scope."""
        inner = () if self.collective else ("lane",)
        if self.scope == "thread":
            return ()
        if self.scope == "warp":
            return inner
        cluster = tuple(name for name, _ in self.launch.cluster_axes) if self.scope == "cluster" else ()
        return (*cluster, "warp", *inner)

    def atom(self, **extents: int) -> tuple[Index, ...]:
        """Variables for the element coordinates of one instruction, by name."""
        return tuple(leaf_of(name, "element", 0, n - 1) for name, n in extents.items())

    def operand(
        self,
        position: int,
        role: str,
        spaces: Sequence[str],
        suffix: tuple[int, ...],
        bits: int,
        lane: Callable[[Sequence[Index]], Index] | None = None,
    ) -> Operand:
        """Operand number ``position`` in the instruction's order; ``lane`` says which lane uses an element.

        Raises :class:`UnfitError` when its state space, element width or shape cannot be the contract's.
        """
        view = self.tensor(position)
        where = f"operand {position} ({view.name}, {role})"

        def demand(name: str, holds: bool, needed: str, found: str, sentence: str) -> None:
            if not holds:
                raise UnfitError(
                    structural(f"{self.family}.{name}", False, needed, f"{where}: {found}", sentence, COMMON)
                )

        space = view.tensor.space
        demand(
            "space",
            space in spaces,
            " or ".join(spaces),
            space,
            "each operand lies in the state space that the opcode names",
        )
        demand(
            "width", view.bits == bits, f"elements of {bits} bits", f"{view.dtype}, {view.bits} bits",
            "an element is as wide as the opcode's type; use view(dtype) to read the bits as another type",
        )  # fmt: skip
        strange = [
            a.name
            for a in view.tensor.layout.axes
            if a is not axes.m and not (a.thread and space == "registers")
        ]
        demand(
            "space", not strange, "strides in storage only", f"{view.name} has strides on {', '.join(strange)}",
            "memory belongs to no thread, and registers have no tensor-memory coordinates",
        )  # fmt: skip
        try:
            shape = view.extents
        except LayoutError as error:
            demand(
                "shape", False, "static extents", str(error), "region extents are positive static integers"
            )
            raise
        sizes = [f.extent for f in view.tensor.layout.spec.replicas]
        demand(
            "shape", all(n.value is not None for n in sizes), "static replicas", f"{view.name} has {sizes} replicas",
            "replica extents are positive static integers",
        )  # fmt: skip
        prefix = len(self.group_axes)
        fits = len(shape) >= prefix + len(suffix) and (not suffix or shape[-len(suffix) :] == suffix)
        demand(
            "shape", fits, self._shape_text(suffix), f"shape {shape}",
            "an operand's coordinates are its group, its repeats and the instruction's own",
        )  # fmt: skip
        group = shape[:prefix]
        repeat = shape[prefix : len(shape) - len(suffix)]
        first = self._cache.setdefault("shape", (view.name, group, repeat))
        demand(
            "shape", (group, repeat) == first[1:],
            f"group {first[1]} and repeats {first[2]} as {first[0]} has",
            f"group {group} and repeats {repeat}",
            "all operands have the same group and repeat extents",
        )  # fmt: skip
        return Operand(self, view, position, role, lane)

    def _shape_text(self, suffix: tuple[int, ...]) -> str:
        return "(" + ", ".join([*self.group_axes, "*repeat", *map(str, suffix)]) + ")"

    @property
    def shaped(self) -> bool:
        """Whether the group and repeat extents are known: some operand had a shape that fits the contract."""
        return "shape" in self._cache

    @property
    def group_extents(self) -> tuple[int, ...]:
        extents: tuple[int, ...] = self._cache["shape"][1]
        return extents

    @property
    def repeat_extents(self) -> tuple[int, ...]:
        extents: tuple[int, ...] = self._cache["shape"][2]
        return extents

    @cached_property
    def group(self) -> tuple[Index, ...]:
        """The group coordinates as variables."""
        pairs = zip(self.group_axes, self.group_extents, strict=True)
        return tuple(leaf_of(name, "group", 0, n - 1) for name, n in pairs)

    @cached_property
    def repeat(self) -> tuple[Index, ...]:
        """The repeat coordinates as variables."""
        return tuple(leaf_of(f"repeat{d}", "repeat", 0, n - 1) for d, n in enumerate(self.repeat_extents))

    @cached_property
    def slabs(self) -> Mapping[str, tuple[int, int]]:
        """For each group axis ``(step, first)``: coordinate ``g`` is thread coordinate ``step*g + first``.

        A group enumerates the active threads in increasing order. Without guards that is the identity. Under
        a guard the register layout proposes step and first, or, where that names no evenly spaced threads, the
        guard itself; convergence proves that they name exactly the active threads.
        """
        proposal = dict.fromkeys(self.group_axes, (1, 0))
        if self.launch.active.value is True:
            return proposal
        for view in self.operands:
            if view.tensor.space == "registers":
                place = view.place([*self.group, *[const(0)] * (view.rank - len(self.group))])
                for name, named in self._named_by(place.axes).items():
                    if name in proposal:
                        form = normal(named)
                        variable = self.group[self.group_axes.index(name)]
                        step = form.terms.get(variable, 1)
                        if step > 0 and form.constant >= 0 and set(form.terms) <= {variable}:
                            proposal[name] = (step, form.constant)
                        else:
                            proposal |= self._otherwise(name, simplify(named), variable.args[0])
                return proposal
        found: dict[str, tuple[int, int]] = {}
        for name in self.group_axes:
            found |= self._spaced(name, self._reached[0].get(name, ()), "the guard leaves")
        return proposal | found

    def _spaced(self, name: str, threads: tuple[int, ...], whence: str) -> dict[str, tuple[int, int]]:
        """Step and first of ascending threads. Where they are not evenly spaced there are none, and it is noted."""
        steps = {b - a for a, b in pairwise(threads)}
        if len(steps) > 1:
            self._cache["scattered"] = f"{whence} {name} {', '.join(map(str, threads))}"
            return {}
        return {name: (steps.pop() if steps else 1, threads[0])} if threads else {}

    def _otherwise(self, name: str, named: Index, variable: Leaf) -> dict[str, tuple[int, int]]:
        """Step and first where the registers name ``named``, which is no step and first: the guard says who is in the
        group, and ownership whether the registers are theirs.

        A guard that relates these threads to anything but lanes and warps does not say it.
        """
        members, unsure = self._reached
        if name not in unsure and members[name]:
            return self._spaced(name, members[name], "the guard leaves")
        used = leaves(named)
        if used == [variable]:
            threads = tuple(evaluate(named, {variable: g}) for g in range((variable.hi or 0) + 1))
            if all(a < b for a, b in pairwise(threads)):
                whence = "the guard alone does not say who is in the group, and the registers name"
                return self._spaced(name, threads, whence)
        elif self.scope != "warpgroup" and any(v.kind == "thread" for v in used):
            # The registers say that whoever executes owns them.
            return {name: (1, self._first_active(name))}
        return {}

    @cached_property
    def _reached(self) -> tuple[dict[str, tuple[int, ...]], frozenset[str]]:
        """The lanes and warps that the guard leaves, in increasing order, and for which of the two it may be fewer.

        What the guard says of anything but lanes and warps is left out: this is a guess for convergence to
        prove.
        """
        anyone = self.launch.thread()
        warp, lane = anyone.warp.args[0], anyone.lane.args[0]
        seen = decide(
            conjunction((self.launch.seen_by(anyone, self.launch.active), self.launch.exists(anyone)))
        )
        kept: list[Relation] = []
        left_out: set[Leaf] = set()
        for part in conjuncts(seen):
            used = set(leaves(part))
            if used <= {warp, lane}:
                kept.append(part)
            else:
                left_out |= used
        reached = where(conjunction(kept), {warp: self.launch.warps, lane: (lane.hi or 0) + 1})
        members = {
            "warp": tuple(sorted({w % 4 if self.scope == "warpgroup" else w for w, _ in reached})),
            "lane": tuple(sorted({n for _, n in reached})),
        }
        return members, frozenset(v.name for v in (warp, lane) if v in left_out)

    def _first_active(self, name: str) -> int:
        """The least lane or warp that the guard's bounds leave, a guess for convergence to prove."""
        anyone = self.launch.thread()
        variable = (anyone.warp if name == "warp" else anyone.lane).args[0]
        narrowed = sharpen(self.launch.seen_by(anyone, self.launch.active))
        return narrowed.get(variable, variable).lo or 0

    @property
    def scattered(self) -> str | None:
        """Which threads of the group are no arithmetic progression, and who says so: the guard, or the registers
        under a guard that does not say who is in the group.
        """
        found: str | None = self._cache.get("scattered") if self.slabs else None
        return found

    def _named_by(self, owner: Mapping[Axis, Index]) -> dict[str, Index]:
        """The lane and warp that a layout names, by whichever thread axes it does; at warpgroup scope warps
        count in the group.
        """
        linear = owner.get(axes.tx) if self.launch.block[1:] == (1, 1) else None
        linear = owner.get(axes.tid_in_wg) if linear is None else linear
        named = {} if linear is None else {"lane": linear % 32, "warp": linear // 32}
        for name, axis in (("lane", axes.laneid), ("warp", axes.wid_in_wg)):
            if axis in owner:
                named[name] = owner[axis]
        if self.scope != "warpgroup" and axes.wgid in owner:
            named["warp"] = named.get("warp", const(0)) + owner[axes.wgid] * 4
        if axes.warpid in owner:
            named["warp"] = owner[axes.warpid]
        return named

    @cached_property
    def thread(self) -> Thread:
        """The thread that executes for the group coordinates; coordinates that the group leaves open are
        unknown.
        """
        anyone = self.launch.thread()
        known: dict[str, Index] = {}
        for name, variable in zip(self.group_axes, self.group, strict=True):
            step, first = self.slabs[name]
            known[name] = variable * step + first
        warp = known.get("warp", anyone.warp)
        if self.scope == "warpgroup":
            warp = self.warpgroup * 4 + warp
        cta = anyone.cta
        if self.scope == "cluster":
            x, y, z = cta
            cta = known.get("cta_x", x), known.get("cta_y", y), known.get("cta_z", z)
        return Thread(warp, known.get("lane", anyone.lane), cta)

    @cached_property
    def warpgroup(self) -> Index:
        """The executing warpgroup: its warp axis counts four warps, and which warpgroup they are is open."""
        return leaf_of("warpgroup", "thread", 0, -(-self.launch.warps // 4) - 1, uniform="warp")

    def here(self, expression: Any) -> Any:
        """An expression of the user's, seen by the executing thread."""
        return self.launch.seen_by(self.thread, expression)

    @cached_property
    def narrowed(self) -> dict[Leaf, Index]:
        """The variables to which guards and assumptions give narrower bounds, with these."""
        return as_replacement(sharpen(self.facts))

    @cached_property
    def reachable(self) -> Relation:
        """What has to be possible for some thread, or the call is never reached."""
        anyone = self.launch.thread()
        stated = conjunction((*self.launch.assumptions, self.launch.active))
        return conjunction((self.launch.seen_by(anyone, stated), self.launch.exists(anyone)))

    @cached_property
    def facts(self) -> Relation:
        """What the executing thread knows: assumptions, guards, and that it exists."""
        stated = [*self.launch.assumptions, self.launch.active]
        if self.parameters.get("pred") is not None:
            stated.append(as_relation(self.parameters["pred"]))
        there = self.launch.exists(self.thread)
        if self.scope == "warpgroup":
            # A warp past the fourth is one of the next warpgroup, not of this one.
            there = conjunction((there, self.thread.warp < self.warpgroup * 4 + 4))
        return conjunction((self.here(conjunction(stated)), there))


@dataclass(frozen=True, eq=False)
class Operand:
    """One operand of a call, ready to be asked where its elements are."""

    call: Call
    view: View
    position: int
    role: str
    lane: Callable[[Sequence[Index]], Index] | None = None

    def place(self, atom: Sequence[Index], replica: Sequence[Index] | None = None) -> Place:
        """Where element ``atom`` of the instruction is, for every group and repeat, seen by the executing
        thread.
        """
        call, key = self.call, (self.position, *(a.uid for a in (*atom, *(replica or ()))))
        found = call._places.get(key)
        if found is None:
            place = self.view.place([*call.group, *call.repeat, *atom], replica)
            found = Place({a: call.here(v) for a, v in place.axes.items()}, call.here(place.byte_offset))
            call._places[key] = found
        return found

    def address(self, atom: Sequence[Index]) -> Address:
        """The byte address of element ``atom``; in registers, its offset in the thread's slots."""
        storage = self.view.tensor.storage
        lane = self.lane(atom) if self.lane is not None else None
        return Address(storage.name, storage.base, self.place(atom).byte_offset, storage.space, lane)

    def owner(self, atom: Sequence[Index]) -> Mapping[Axis, Index]:
        """The value on each thread axis that the layout gives element ``atom``, for every replica."""
        replicas = [
            leaf_of(f"replica{d}", "replica", 0, int(f.extent) - 1)
            for d, f in enumerate(self.view.tensor.layout.spec.replicas)
        ]
        return self.place(atom, replicas).axes

    def expected(self, thread: Thread, owner: Mapping[Axis, Index]) -> Iterator[tuple[Axis, Index, Index]]:
        """``(axis, found, needed)`` for each thread axis that decides whether ``thread`` owns an element.

        A layout may speak of lane and warp, of ``tx``, of ``tid_in_wg``, or of ``wid_in_wg`` and ``wgid``;
        what it leaves out is zero. Coordinates that the scope leaves open need no mention.
        """
        launch = self.call.launch
        for axis, found in owner.items():
            if axis.thread:
                yield axis, found, launch.value_on(axis.name, thread)
        named = {a.name for a in owner}
        whole_block = self.call.scope in ("cta", "cluster")
        if not named & {"laneid", "tx", "tid_in_wg"}:
            yield axes.laneid, const(0), thread.lane
        if "tx" in named:
            for axis, extent in ((axes.ty, launch.block[1]), (axes.tz, launch.block[2])):
                if extent > 1 and axis.name not in named:
                    yield axis, const(0), launch.value_on(axis.name, thread)
        elif "warp" in self.call.group_axes and "warpid" not in named:
            within = bool(named & {"wid_in_wg", "tid_in_wg"})
            if not within and whole_block and "wgid" not in named:
                yield axes.warpid, const(0), thread.warp
            elif not within:
                yield axes.wid_in_wg, const(0), thread.warp % 4
            elif whole_block and "wgid" not in named:
                yield axes.wgid, const(0), thread.warp // 4
        if self.call.scope == "cluster":
            ranks = {"cta_x": axes.cbx, "cta_y": axes.cby, "cta_z": axes.cbz}
            for name in self.call.group_axes:
                rank_axis = ranks.get(name)
                if rank_axis is not None and rank_axis.name not in named:
                    yield rank_axis, const(0), launch.value_on(rank_axis.name, thread)


def parameter(call: Call, name: str, allowed: bool, why: str) -> Any:
    """The value of an optional parameter. Raises :class:`CallError` when it is given but not allowed."""
    value = call.parameters.get(name)
    if value is not None and not allowed:
        raise CallError(f"{call.form.spelling}: {name} does not apply: {why}")
    return value
