"""Says what is wrong with a spelling that the table refuses: which qualifier, where it stands, what is legal.

Qualifiers are counted from 1, the mnemonic not included.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher, get_close_matches

from tileproof.contracts.legality import continuations
from tileproof.contracts.syntax import Instruction, Requires, Value


def unknown_instruction(spelling: str, mnemonics: Sequence[str]) -> str:
    """For a spelling that begins with no known mnemonic."""
    if not spelling or any(character.isspace() for character in spelling):
        return (
            f"{spelling!r} is not an opcode: write a mnemonic and its qualifiers, separated by dots, without "
            "predicate or operands"
        )
    words = spelling.split(".")
    related = [mnemonic for mnemonic in mnemonics if mnemonic.split(".", maxsplit=1)[0] == words[0]]
    if related:
        # Of those that begin with the same two words, the first.
        matcher = SequenceMatcher(None, b=_two_words(spelling).lower())
        best = max(related, key=lambda mnemonic: _likeness(matcher, _two_words(mnemonic)))
        return (
            f"{spelling!r} begins with no instruction of the table; did you mean {best!r}? "
            f"Those of {words[0]!r}: {', '.join(related)}."
        )
    near = get_close_matches(words[0], {m.split(".", maxsplit=1)[0] for m in mnemonics}, 3)
    advice = f"; did you mean {' or '.join(map(repr, near))}?" if near else "."
    return (
        f"{spelling!r}: there is no instruction {words[0]!r} in the table{advice} "
        "`tileproof explain` lists those that are."
    )


def _two_words(text: str) -> str:
    return ".".join(text.split(".")[:2])


def misspelling(
    spelling: str, instruction: Instruction, tokens: Sequence[str], mnemonics: Sequence[str]
) -> str:
    """For tokens that do not fill the slots of the instruction in their order."""
    known = {token for slot in instruction.slots for token in slot.tokens}
    for index, token in enumerate(tokens):
        if token not in known:
            begin = f"{instruction.mnemonic}."
            longer = [m.removeprefix(begin) for m in mnemonics if m.startswith(begin)] if index == 0 else []
            return _unknown_token(spelling, instruction, tokens, index, longer)
    filled: dict[str, int] = {}
    for slot in instruction.slots:
        for index, token in enumerate(tokens):
            if token in slot.tokens and index not in filled.values():
                filled[slot.name] = index
                break
    for index, token in enumerate(tokens):
        if index not in filled.values():
            slot = next(slot for slot in instruction.slots if token in slot.tokens)
            first = filled[slot.name]
            earlier = _at(tokens[first], first)
            return f"{spelling!r}: {_at(token, index)} gives the {slot.says} again, after {earlier}."
    order: list[int] = []
    for slot in instruction.slots:
        if slot.name in filled:
            order.append(filled[slot.name])
        elif slot.mandatory:
            after = f"'.{tokens[order[-1]]}'" if order else f"'{instruction.mnemonic}'"
            return f"{spelling!r}: the {slot.says} is missing after {after}; it is {_choice(slot.tokens)}."
    index = next(place for place, wanted in enumerate(order) if place != wanted)
    canonical = ".".join((instruction.mnemonic, *(tokens[i] for i in order)))
    return (
        f"{spelling!r}: {_at(tokens[index], index)} stands where '.{tokens[order[index]]}' belongs; "
        f"the order of the PTX ISA ({instruction.section}) is {canonical!r}."
    )


def broken_rule(
    spelling: str,
    instruction: Instruction,
    places: Mapping[str, int | None],
    values: Mapping[str, Value],
    rule: Requires,
) -> str:
    """For tokens that fill the slots (`places` says with which index) but that a rule forbids together."""
    factors = {quantity.name: quantity.slots for quantity in instruction.quantities}
    says = {slot.name: slot.says for slot in instruction.slots}
    says |= {quantity.name: quantity.says for quantity in instruction.quantities}
    faults = []
    for name, allowed in rule.then.items():
        value, index = values[name], places.get(name)
        if value in allowed:
            continue
        if name in factors:
            given = [_at(str(values[slot]), at) for slot in factors[name] if (at := places[slot]) is not None]
            makes = f"{' and '.join(given)} {'makes' if len(given) == 1 else 'make'}"
            faults.append(f"the {says[name]} must be {_choice(allowed)}, not {value} as {makes} it")
        elif index is None:
            faults.append(f"the {says[name]} is missing; it must be {_choice(allowed)}")
        else:
            faults.append(f"the {says[name]} cannot be {_at(str(value), index)}; {_remedy(allowed)}")
    causes = []
    for slot in dict.fromkeys(slot for name in rule.when for slot in factors.get(name, (name,))):
        index = places[slot]
        if index is not None and slot not in rule.then:
            causes.append(_at(str(values[slot]), index))
    context = f"with {' and '.join(causes)}, " if causes else ""
    section = rule.section or instruction.section
    return f"{spelling!r}: {context}{', and '.join(faults)}. Reason: {rule.because} (PTX ISA {section})."


def _unknown_token(
    spelling: str, instruction: Instruction, tokens: Sequence[str], index: int, longer: Sequence[str]
) -> str:
    """`longer`: what continues the mnemonic to that of another instruction."""
    token = tokens[index]
    following = continuations(instruction, tokens[:index])
    instead = next((slot.instead[token] for slot, _ in following if token in slot.instead), None)
    if instead is not None:
        advice = f"; write '.{instead}' instead."
    else:
        advice = _suggestion(token, [*(word for _, words in following for word in words), *longer], ".")
    listed = [f"{slot.says} {_listed(words, token)}" for slot, words in following]
    listed += [f"other instructions {_listed(longer, token)}"] if longer else []
    return (
        f"{spelling!r}: {_at(token, index)} is not a qualifier of {instruction.mnemonic}{advice} "
        f"Legal there: {'; '.join(listed) or 'nothing more'}."
    )


_MANY = 32
_FEW = 8


def _listed(words: Sequence[str], token: str) -> str:
    """All words, or of many those that are most like the token."""
    shown = list(words)
    if len(words) > _MANY:
        matcher = SequenceMatcher(None, b=token.lower())
        near = sorted(words, key=lambda word: _likeness(matcher, word), reverse=True)[:_FEW]
        shown = [word for word in words if word in near]
    listed = " ".join(f".{word}" for word in shown)
    return listed if len(shown) == len(words) else f"{listed} and {len(words) - len(shown)} more"


def _suggestion(word: str, candidates: Iterable[str], prefix: str) -> str:
    """Ends the clause before it: with a question, or with a full stop when nothing is near."""
    matcher = SequenceMatcher(None, b=word.lower())

    def likeness(candidate: str) -> tuple[float, bool]:
        return _likeness(matcher, candidate), candidate[:1] == word[:1]

    best = max(candidates, key=likeness, default="")
    near = best and likeness(best)[0] >= (0.5 if len(best) == len(word) else 0.6)
    return f"; did you mean '{prefix}{best}'?" if near else "."


def _likeness(matcher: SequenceMatcher[str], candidate: str) -> float:
    """How like a candidate is to the second sequence of the matcher, which analyses that one only once."""
    matcher.set_seq1(candidate.lower())
    return matcher.ratio()


def _at(token: str, index: int) -> str:
    return f"'.{token}' (qualifier {index + 1})"


def _remedy(allowed: Sequence[Value]) -> str:
    legal = [value for value in allowed if value is not None]
    if not legal:
        return "leave it out"
    return f"it must be {_choice(legal)}{', or left out' if None in allowed else ''}"


def _choice(allowed: Sequence[Value]) -> str:
    words = [f".{value}" if isinstance(value, str) else str(value) for value in allowed if value is not None]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
