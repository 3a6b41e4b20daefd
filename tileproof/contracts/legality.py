"""Which tokens may fill the slots of an instruction: the rules of its record, applied slot by slot.

A rule is tested as soon as the last slot that it reads is filled, so a search for legal spellings never walks
far into illegal ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import prod

from tileproof.contracts.syntax import Condition, Instruction, Quantity, Requires, Slot, Value


def holds(condition: Condition, values: Mapping[str, Value]) -> bool:
    """Whether the slots and quantities that a condition names have values that it allows."""
    return all(values[name] in allowed for name, allowed in condition.items())


def breaks(rule: Requires, values: Mapping[str, Value]) -> bool:
    """Whether a rule applies and is not met."""
    return holds(rule.when, values) and not holds(rule.then, values)


def amount(quantity: Quantity, values: Mapping[str, Value]) -> int:
    """The value of a quantity whose slots are filled."""
    single = prod(factor[values[slot]] for slot, factor in quantity.factors.items())
    return single * prod(
        factor[tuple(values[slot] for slot in slots)] for slots, factor in quantity.joint.items()
    )


def spellings(instruction: Instruction, depth: int, values: dict[str, Value]) -> Iterator[str]:
    """The legal spellings that begin with what `values` holds for the first `depth` slots."""
    if depth == len(instruction.slots):
        filled = (values[slot.name] for slot in instruction.slots)
        yield ".".join((instruction.mnemonic, *(token for token in filled if isinstance(token, str))))
        return
    slot = instruction.slots[depth]
    for token in slot.tokens if slot.mandatory else (None, *slot.tokens):
        if _fill(instruction, depth, token, values):
            yield from spellings(instruction, depth + 1, values)


def continuations(instruction: Instruction, before: Sequence[str]) -> list[tuple[Slot, list[str]]]:
    """For each slot that may follow the tokens before, its tokens from which a legal spelling can be reached.

    After tokens that are out of order or already illegal, it is every token of the slots that could follow.
    """
    slots = instruction.slots
    values: dict[str, Value] = {}
    depth, sound = 0, True
    for token in before:
        place = next((i for i in range(depth, len(slots)) if token in slots[i].tokens), -1)
        sound = sound and place >= 0 and _skip(instruction, depth, place, values)
        sound = sound and _fill(instruction, place, token, values)
        depth = max(depth, place + 1)
    following = []
    for place in range(depth, len(slots)):
        tokens = list(slots[place].tokens)
        if sound:
            tokens = [token for token in tokens if _completes(instruction, depth, place, token, values)]
        if tokens:
            following.append((slots[place], tokens))
        if slots[place].mandatory:
            break
    return following


def _completes(
    instruction: Instruction, depth: int, place: int, token: str, values: Mapping[str, Value]
) -> bool:
    trial = dict(values)
    return (
        _skip(instruction, depth, place, trial)
        and _fill(instruction, place, token, trial)
        and next(spellings(instruction, place + 1, trial), None) is not None
    )


def _skip(instruction: Instruction, depth: int, place: int, values: dict[str, Value]) -> bool:
    """Leaves out the slots from `depth` up to `place`; whether that is legal."""
    between = range(depth, place)
    return all(not instruction.slots[i].mandatory and _fill(instruction, i, None, values) for i in between)


def _fill(instruction: Instruction, depth: int, token: str | None, values: dict[str, Value]) -> bool:
    """Fills one slot after those before it; whether no rule is broken that can be tested from here on."""
    values[instruction.slots[depth].name] = token
    quantities, rules = _decided(instruction)[depth]
    for entry in quantities:
        values[entry.name] = amount(entry, values)
    return not any(breaks(rule, values) for rule in rules)


@cache
def _decided(instruction: Instruction) -> tuple[tuple[tuple[Quantity, ...], tuple[Requires, ...]], ...]:
    """For each slot, the quantities and the rules for which it is the last slot that they read."""
    order = {slot.name: index for index, slot in enumerate(instruction.slots)}
    for entry in instruction.quantities:
        order[entry.name] = max(order[name] for name in entry.slots)
    last = {rule: max(order[name] for name in (*rule.when, *rule.then)) for rule in instruction.rules}
    return tuple(
        (
            tuple(entry for entry in instruction.quantities if order[entry.name] == depth),
            tuple(rule for rule in instruction.rules if last[rule] == depth),
        )
        for depth in range(len(instruction.slots))
    )
