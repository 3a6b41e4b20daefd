"""The registry of what campaigns know of each family: how to make up calls, and how to decide them without the library.

Every module of :mod:`tileproof.fuzz.family` bears the name of the contract that it holds to account and is found by
being there.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from tileproof.fuzz import family as family_package
from tileproof.fuzz.generate.choices import Choices
from tileproof.fuzz.oracle.counterexamples import Replay
from tileproof.fuzz.oracle.demands import Judgement, Outcome
from tileproof.fuzz.oracle.description import Call
from tileproof.fuzz.oracle.places import laid_out


@dataclass(frozen=True)
class FuzzFamily:
    """``generate`` makes up a call of a mnemonic.

    ``misfits`` names the demands on space, width and shape that fail, after which nothing else is looked at;
    ``judgement`` evaluates all others at every point; ``replay`` looks at the one point of a counterexample.
    """

    mnemonics: tuple[str, ...]
    generate: Callable[[str, Choices], Call]
    misfits: Callable[..., list[str]]
    judgement: Callable[..., Judgement]
    replay: Callable[..., Replay]


_FAMILIES: dict[str, FuzzFamily] = {}


def fuzzed(family: FuzzFamily) -> None:
    """Register a family."""
    for mnemonic in family.mnemonics:
        _FAMILIES[mnemonic] = family


@cache
def mnemonics() -> tuple[str, ...]:
    """Every instruction that calls can be made up of."""
    for module in pkgutil.iter_modules(family_package.__path__):
        importlib.import_module(f"{family_package.__name__}.{module.name}")
    return tuple(_FAMILIES)


def pages() -> dict[str, tuple[str, ...]]:
    """The instructions of each module, whose name is that of a contract's page."""
    mnemonics()
    return {family.generate.__module__.rpartition(".")[2]: family.mnemonics for family in _FAMILIES.values()}


def family_of(call: Call) -> FuzzFamily:
    """What is known of the family of a call."""
    mnemonics()
    return _FAMILIES[call.family]


def generate(mnemonic: str, choices: Choices) -> Call:
    """A call of one of :func:`mnemonics`; the plainest choices give a plain legal one."""
    mnemonics()
    return _FAMILIES[mnemonic].generate(mnemonic, choices)


def judge(call: Call) -> Outcome:
    """The demands of ``call`` that fail somewhere, by brute force."""
    for operand in call.operands:
        if not operand.buildable or not laid_out(operand):
            return Outcome(unbuildable=f"{operand.name}: the steps of the view do not fit together")
    family = family_of(call)
    unfit = family.misfits(call)
    if unfit:
        return Outcome(failing={name: {} for name in unfit}, structural=True)
    return family.judgement(call).outcome()
