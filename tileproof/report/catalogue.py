"""The obligations that exist, found by asking the contracts and not by keeping a list.

A contract yields what it demands of one call, so the instruction's sample operands are put into the
situations that bring further demands: every scope, a slice that varies by thread, storage that was there
before, replicas, a wrong space, width or shape. Nothing is proved here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from math import prod
from typing import Any

from tileproof.contracts.call import Call, UnfitError
from tileproof.contracts.demands import whole_elements
from tileproof.contracts.families import Family, UnsupportedError, load
from tileproof.contracts.family import ewise
from tileproof.contracts.grammar import Form, resolve, table
from tileproof.contracts.launch import SCOPES, Launch
from tileproof.contracts.legality import spellings
from tileproof.contracts.obligation import Obligation
from tileproof.contracts.operands import ScalarOperand
from tileproof.contracts.scalar_operands import INDEXED, operand_types
from tileproof.contracts.syntax import Instruction
from tileproof.layouts import axes
from tileproof.layouts.index import Index, as_index, const
from tileproof.layouts.layout import Factor, R, S, TileLayout
from tileproof.layouts.swizzle import Swizzle
from tileproof.layouts.symbols import symbol
from tileproof.layouts.tensor import Tensor, tensor
from tileproof.layouts.view import View, ViewOperations

_GROUPS = {"lane": (32, axes.laneid), "warp": (4, axes.warpid), "cta_x": (2, axes.cbx)}
"""Extent and owner of each group axis of the calls below: four warps in each of two CTAs."""


@dataclass(frozen=True)
class Entry:
    """An obligation as the catalogue lists it. ``needed`` is its formula, where it has one of its own."""

    id: str
    sentence: str
    section: str
    hazard: bool
    needed: str

    @property
    def owner(self) -> bool:
        """Whether the demand says which thread has an element."""
        return self.id.endswith(".owned")


def natural_scope(family: Family) -> str:
    """The narrowest scope at which the instruction can be used."""
    return "warp" if family.collective else "thread"


def group_axes(form: Form, scope: str, cluster: tuple[int, ...] = (2, 2, 2)) -> tuple[str, ...]:
    """The leading axes of every operand at a scope."""
    return _call(form, (), scope, cluster=cluster).group_axes


def unsupported_reason(form: Form) -> str | None:
    """Why a form has no contract, or ``None``."""
    family = load().get(form.mnemonic)
    if family is None:
        return f"{form.mnemonic} is a known instruction without a contract"
    try:
        for _ in family.states(_call(form, family.sample(form), natural_scope(family))):
            pass
    except UnsupportedError as error:
        return str(error)
    return None


def entries(form: Form) -> list[Entry]:
    """What a call of this form may be held to, each demand once; nothing for a form without a contract."""
    if unsupported_reason(form) is not None:
        return []
    family = load()[form.mnemonic]
    found: dict[tuple[str, ...], Entry] = {}
    for call in _situations(form, family):
        for obligation in _stated(call, family):
            template, expressions = obligation.needed
            entry = Entry(
                obligation.id,
                obligation.sentence,
                obligation.section,
                obligation.hazard,
                template.format(*map(str, expressions)) if expressions else "",
            )
            # Who owns an element is a formula for each axis; other formulas only repeat the sample's layout.
            formula = (entry.needed,) if entry.owner else ()
            found.setdefault((entry.id, entry.sentence, *formula), entry)
    first = {entry.id: position for position, entry in reversed(list(enumerate(found.values())))}
    return sorted(found.values(), key=lambda entry: (entry.hazard, first[entry.id]))


@cache
def all_entries(mnemonic: str) -> tuple[Entry, ...]:
    """What calls of an instruction may be held to, over forms that together have every qualifier; by id."""
    found: dict[str, Entry] = {}
    forms = (
        [ewise.sample_form()]
        if mnemonic == ewise.MNEMONIC
        else exemplars(next(i for i in table() if i.mnemonic == mnemonic))
    )
    for form in forms:
        for entry in entries(form):
            found.setdefault(entry.id, entry)
    return tuple(sorted(found.values(), key=lambda entry: (entry.hazard, entry.id)))


def exemplars(instruction: Instruction) -> Iterator[Form]:
    """Supported forms that together have every qualifier that some supported form has."""
    if instruction.mnemonic not in load():
        return
    tokens = [(slot.name, token) for slot in instruction.slots for token in slot.tokens]
    covered: set[tuple[str, str | None]] = set()
    helpful = list(tokens)
    for wanted in tokens:
        if wanted in covered:
            continue
        # Where the shortest form with a qualifier has no contract, a second qualifier may give it one: most
        # likely the one that did so before.
        for further in (wanted, *helpful):
            form = _form_with(instruction, dict((further, wanted)))
            if form is not None and unsupported_reason(form) is None:
                covered.update(form.qualifiers.items())
                helpful.remove(further)
                helpful.insert(0, further)
                yield form
                break


def _form_with(instruction: Instruction, pins: dict[str, str]) -> Form | None:
    """The first legal form with these qualifiers, if any."""
    slots = tuple(
        replace(slot, tokens=(pins[slot.name],), mandatory=True) if slot.name in pins else slot
        for slot in instruction.slots
    )
    spelling = next(spellings(replace(instruction, slots=slots), 0, {}), None)
    return None if spelling is None else resolve(spelling)


def _call(
    form: Form,
    operands: tuple[ViewOperations, ...],
    scope: str,
    *,
    block: int = 128,
    cluster: tuple[int, ...] | None = None,
    scalars: dict[int, ScalarOperand] | None = None,
) -> Call:
    family = load().get(form.mnemonic)
    parameters: dict[str, object] = {"index_bits": 32, **(family.sample_parameters if family else {})}
    if form.get("cache_hint") is not None:
        parameters["cache_policy"] = symbol("policy", 0)
    return Call(
        form,
        tuple(o.as_view() for o in operands),
        scope,
        Launch.of(block, cluster),
        parameters,
        family.collective if family is not None else False,
        form.mnemonic,
        scalars or {},
    )


def _stated(call: Call, family: Family) -> Iterator[Obligation]:
    try:
        yield from family.states(call)
        yield from whole_elements(call)
    except UnfitError as error:
        yield error.obligation


def _situations(form: Form, family: Family) -> Iterator[Call]:
    sample = tuple(o.as_view() for o in family.sample(form))
    scope = natural_scope(family)
    for wider in SCOPES[SCOPES.index(scope) :]:
        cluster = (2,) if wider == "cluster" else None
        group = group_axes(form, wider, (2,))
        yield _call(form, tuple(_grouped(v, group) for v in sample), wider, cluster=cluster)
    # A block of part of a warpgroup, and a group that is not all of a cluster.
    if "warpgroup" in SCOPES[SCOPES.index(scope) :]:
        yield _call(
            form, tuple(_grouped(v, group_axes(form, "warpgroup")) for v in sample), "warpgroup", block=96
        )
    registers = [(n, view) for n, view in enumerate(sample) if view.tensor.space == "registers"]
    variants = [(position, other) for position, view in enumerate(sample) for other in _variants(view)]
    variants += [(position, other) for position, view in registers for other in _torn(view, _varying())]
    for position, other in variants:
        yield _call(form, (*sample[:position], other, *sample[position + 1 :]), scope)
    if all(view.tensor.space == "registers" for view in sample):
        first, *others = sample
        part = _like(first, (first.extents[0] + 1, *first.extents[1:]))[: first.extents[0]]
        yield _call(form, (part.as_view(), *others), scope)
    if family.operands is None:
        yield from _register_situations(form, sample, scope)


def _register_situations(form: Form, sample: tuple[View, ...], scope: str) -> Iterator[Call]:
    """A destination that is sliced, a source that is the destination too, and one that is an index."""
    target = sample[0]
    yield _call(form, (_like(target, (8, *target.extents))[symbol("start")].as_view(), *sample[1:]), scope)
    for position, type_ in enumerate(operand_types(form)[1:], 1):
        before, after = sample[:position], sample[position + 1 :]
        if (sample[position].bits, sample[position].extents) == (target.bits, target.extents):
            yield _call(form, (*before, target, *after), scope)
        if type_ in INDEXED:
            yield _call(form, (*before, *after), scope, scalars={position: symbol("n")})


def _grouped(view: View, group: tuple[str, ...]) -> View:
    """The sample with group axes in front; in registers each of them names its thread."""
    if not group:
        return view
    extents = tuple(_GROUPS[name][0] for name in group)
    if view.tensor.space != "registers":
        return view.broadcast(*extents, *view.extents)
    spec = view.tensor.layout.spec
    owners = tuple(Factor(const(_GROUPS[n][0]), const(1), _GROUPS[n][1]) for n in group)
    return _like(
        view, (*extents, *view.extents), layout=TileLayout(replace(spec, factors=(*owners, *spec.factors)))
    ).as_view()


def _variants(view: View) -> Iterator[ViewOperations]:
    shape, layout = view.extents, view.tensor.layout
    start = _varying()
    if view.tensor.space != "registers":
        yield _like(view, (1 << 40, *shape))[start]
        yield _like(view, (symbol("n"), *shape))[start]
        yield from _torn(view, start)
    yield view.tensor.declare(shape, layout=layout)
    yield _like(view, shape, layout=TileLayout(layout.spec + R[2:4096]))
    yield _like(view, shape, space="param" if view.tensor.space != "param" else "global")
    yield _like(view, shape, "uint8" if view.bits != 8 else "uint16")
    yield _like(view, (*shape, 3))


def _varying() -> Index:
    """A start of each thread's own."""
    return symbol("start", uniform="thread")


def _torn(view: View, start: Index) -> Iterator[ViewOperations]:
    """Elements that are bytes in a row, and bytes that a swizzle moves by which half is taken."""
    fine = (*view.extents[:-1], view.extents[-1] * view.bits // 8)
    layout = TileLayout(S[(2, *fine)], Swizzle(1, 0, prod(fine).bit_length() - 1))
    yield _like(view, fine, "uint8").view(view.tensor.dtype)
    yield _like(view, (2, *fine), "uint8", layout=layout)[start].view(view.tensor.dtype)


def _like(
    view: View,
    shape: tuple[object, ...],
    dtype: str | None = None,
    *,
    space: str | None = None,
    layout: TileLayout | None = None,
) -> Tensor:
    own = view.tensor
    sizes = [as_index(n) for n in shape]
    where: Any = space or own.space
    return tensor(own.name, sizes, dtype or own.dtype, where, layout=layout, align=own.storage.align)
