"""Many views that differ in numbers only: a call in which some numbers became symbols, and values for these.

A random call is a template once strides, offsets and starts of its operands have names. Each instance gives every
symbol a number near the one that stood there, so that about half of the instances are legal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import prod
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tileproof.fuzz.families import family_of, generate
from tileproof.fuzz.generate.choices import Choices
from tileproof.fuzz.oracle.description import Call, Operand, Symbol
from tileproof.fuzz.oracle.terms import names
from tileproof.fuzz.oracle.threads import warps
from tileproof.fuzz.rows import choices_of

PER_TEMPLATE = 8192
"""Instances of one template: views ``n*8192`` to ``n*8192 + 8191`` of a replay."""

ATTEMPTS = 48
"""Random calls that are looked at for a template; later ones are those of other templates."""

MOST_PARAMETERS = 8
MOST_POINTS = 192
"""Threads, repeats and elements of one instance."""

C = TypeVar("C", bound=Call)


@dataclass(frozen=True)
class Parameter:
    """A number that became a symbol: what it was, and by how much instances differ from it, each as likely."""

    name: str
    was: int
    deltas: tuple[int, ...]

    @property
    def symbol(self) -> Symbol:
        return Symbol(self.name, self.was + min(self.deltas), self.was + max(self.deltas))


@dataclass(frozen=True)
class Template:
    """``call`` with its own symbols and those of ``parameters``; ``number`` is its number in its family and seed."""

    family: str
    seed: int
    number: int
    call: Call
    parameters: tuple[Parameter, ...]

    @cached_property
    def values(self) -> dict[str, npt.NDArray[np.int64]] | None:
        """For each symbol the numbers of all instances, no two of which are alike; none where too few differ."""
        random = np.random.default_rng([self.seed, self.number])
        parameters = {p.name: p for p in self.parameters}
        drawn: dict[str, npt.NDArray[np.int64]] = {}
        for symbol in self.call.symbols:
            parameter = parameters.get(symbol.name)
            if parameter is not None:
                choice = parameter.was + np.array(parameter.deltas, np.int64)
            else:
                choice = np.array(symbol.values, np.int64)
            drawn[symbol.name] = choice[random.integers(0, len(choice), 2 * PER_TEMPLATE)]
        code = np.zeros(2 * PER_TEMPLATE, np.int64)
        for numbers in drawn.values():
            code = code * (int(np.ptp(numbers)) + 1) + numbers - numbers.min()
        first = np.sort(np.unique(code, return_index=True)[1])[:PER_TEMPLATE]
        return (
            {name: numbers[first] for name, numbers in drawn.items()} if len(first) == PER_TEMPLATE else None
        )


def candidates(family: str, seed: int, number: int) -> Iterator[Template]:
    """What may be template ``number``, the best first; none where no call of :data:`ATTEMPTS` can be one."""
    for attempt in range(ATTEMPTS):
        choices = choices_of(seed, number * ATTEMPTS + attempt)
        call = generate(family, choices)
        if suitable(call):
            made, parameters = parametrised(call, choices)
            found = Template(family, seed, number, made, parameters)
            if found.values is not None:
                yield found


def suitable(call: Call) -> bool:
    """Whether the call is decided by numbers, is small, and does the same for every value that a thread may have."""
    if any(s.uniform != "grid" for s in call.symbols) or guarded_by_symbols(call):
        return False
    if not all(o.buildable and o.view_bits <= o.bits for o in call.operands) or family_of(call).misfits(call):
        return False
    moved = [o for o in call.operands if o.space != "registers"]
    views = [prod(o.view_shape) for o in moved or call.operands]
    lanes = 1 if "lane" in call.group_axes or call.collective else 32
    return sum(views) * lanes * (1 if "warp" in call.group_axes else warps(call.threads)) <= MOST_POINTS


def guarded_by_symbols(call: Call) -> bool:
    """Whether who takes part depends on a symbol."""
    own = {s.name for s in call.symbols}
    return call.guard is not None and bool(own & set(names(call.guard)))


def with_operands(call: C, changed: Mapping[int, Operand]) -> C:
    """The call with other operands, by the identity of those that it has."""
    found: dict[str, Any] = {}
    for f in fields(call):
        own = getattr(call, f.name)
        if isinstance(own, Operand):
            found[f.name] = changed.get(id(own), own)
        elif isinstance(own, tuple) and any(isinstance(one, Operand) for one in own):
            found[f.name] = tuple(changed.get(id(one), one) for one in own)
    return replace(call, **found)


class _Numbers:
    """Gives numbers names, for as long as there are any to give."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.parameters: list[Parameter] = []

    def named(self, was: int, deltas: tuple[int, ...], percent: int) -> Any:
        """A name for the number, in so many percent of cases; otherwise the number."""
        if len(self.parameters) >= MOST_PARAMETERS or not self.choices.chance(percent):
            return was
        self.parameters.append(Parameter(f"k{len(self.parameters)}", was, deltas))
        return self.parameters[-1].name


def parametrised(call: C, choices: Choices) -> tuple[C, tuple[Parameter, ...]]:
    """The call with names for some of its numbers, and what these are."""
    numbers = _Numbers(choices)
    only_registers = all(o.space == "registers" for o in call.operands)
    unit = max(1, call.suffix[-1] if call.suffix else 1)
    changed: dict[int, Operand] = {}
    # Views of one tensor stay views of one tensor.
    tensors: dict[str, Operand] = {}
    for operand in sorted(call.operands, key=lambda o: o.space == "registers"):
        if operand.name not in tensors:
            tensors[operand.name] = _strided(operand, unit, numbers, only_registers)
        tensor = tensors[operand.name]
        moved = replace(operand, factors=tensor.factors, offsets=tensor.offsets)
        changed[id(operand)] = _moved(moved, unit, numbers, only_registers)
    made = with_operands(call, changed)
    symbols = (*call.symbols, *(p.symbol for p in numbers.parameters))
    return replace(made, symbols=symbols), tuple(numbers.parameters)


def _mostly(legal: tuple[int, ...], other: tuple[int, ...], percent: int) -> tuple[int, ...]:
    """Some of the legal ones, and among all about so many percent of others."""
    copies = max(1, round(len(other) * (100 - percent) / percent / len(legal)))
    return legal * copies + other


def _moved(operand: Operand, unit: int, numbers: _Numbers, only_registers: bool) -> Operand:
    """Starts, mostly where they were."""
    region = []
    for r in operand.region:
        start = r.start
        if isinstance(start, int) and (only_registers or operand.space != "registers"):
            start = numbers.named(start, _mostly((0,), (unit, 1, -1, 2), 15), 25)
        region.append(replace(r, start=start))
    return replace(operand, region=tuple(region))


def _strided(operand: Operand, unit: int, numbers: _Numbers, only_registers: bool) -> Operand:
    """Strides and an offset."""
    factors = []
    registers = operand.space == "registers"
    steps = tuple(unit * n for n in range(16))
    for f in operand.factors:
        stride = f.stride
        if isinstance(stride, int) and f.extent != 1:
            if f.axis != "m":
                stride = numbers.named(stride, _mostly((0,), (1, -1, 2, 3), 8), 10)
            elif registers:
                far = _mostly((0, 7, 11, 16, 19, 32, 64), (1, 2, 3, -1), 20)
                stride = numbers.named(stride, far, 90 if only_registers else 35)
            elif abs(stride) == 1:
                stride = numbers.named(stride, _mostly((0,), (1, -1, 2, 3), 10), 50)
            else:
                stride = numbers.named(stride, _mostly(steps, (1, 2, 3, -1), 20), 70)
        factors.append(replace(f, stride=stride))
    offsets = list(operand.offsets)
    if not registers:
        amount = numbers.named(0, _mostly(steps, (1, 2, 3), 15), 75)
        offsets += [(amount, "m")] if amount != 0 else []
    elif only_registers:
        amount = numbers.named(0, tuple(range(32)), 90)
        offsets += [(amount, "m")] if amount != 0 else []
    elif any(f.axis == "laneid" for f in operand.factors):
        amount = numbers.named(0, _mostly((0,), (1, 4, -1), 8), 15)
        offsets += [(amount, "laneid")] if amount != 0 else []
    return replace(operand, factors=tuple(factors), offsets=tuple(offsets))
