"""The registry of contracts: which function states the demands of which instruction.

A family is a module with one function under :func:`contract`. It is found by being imported in :func:`load`,
takes a :class:`~tileproof.contracts.call.Call` and yields obligations; see any family beside this file.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from tileproof.contracts import family as family_package
from tileproof.contracts.call import Call
from tileproof.contracts.grammar import Form
from tileproof.contracts.issue import IssueOperand
from tileproof.contracts.obligation import Obligation
from tileproof.layouts.view import ViewOperations

States = Callable[[Call], Iterator[Obligation]]
Issues = Callable[[Call], "tuple[IssueOperand, ...]"]
Sample = Callable[[Form], tuple[ViewOperations, ...]]


class UnsupportedError(Exception):
    """A form of a known instruction that has no contract; the text says why and what to do."""


@dataclass(frozen=True)
class Family:
    """A contract with what ``explain`` shows of it.

    ``operands`` counts the operands, which are tensors; ``None`` is as many as the form has, of which those that
    are read may be scalars too. ``parameters`` maps each keyword to its meaning; ``collective``
    says that a warp executes the instruction as one; ``sample`` builds canonical operands for a form, with
    two repeats, and ``sample_parameters`` are what these need; ``issue`` writes the operands of one
    instruction for a proven call, in PTX order, one for each operand of the form.
    """

    mnemonics: tuple[str, ...]
    states: States
    issue: Issues
    sample: Sample
    operands: int | None
    collective: bool
    page: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    sample_parameters: Mapping[str, Any] = field(default_factory=dict)


_FAMILIES: dict[str, Family] = {}

COMMON_PARAMETERS = {
    "index_bits": "width of the offset arithmetic, 32 or 64 bits; by default the narrowest that bounds and guards allow"
}


def contract(
    *mnemonics: str,
    sample: Sample,
    issue: Issues,
    operands: int | None = 2,
    collective: bool = False,
    parameters: Mapping[str, str] | None = None,
    sample_parameters: Mapping[str, Any] | None = None,
) -> Callable[[States], States]:
    """Register the function below as the contract of these instructions."""

    def register(states: States) -> States:
        found = Family(
            mnemonics, states, issue, sample, operands, collective,
            states.__module__.rpartition(".")[2], {**(parameters or {}), **COMMON_PARAMETERS},
            sample_parameters or {},
        )  # fmt: skip
        for mnemonic in mnemonics:
            _FAMILIES[mnemonic] = found
        return states

    return register


@cache
def load() -> Mapping[str, Family]:
    """All families by mnemonic. Every module of the package ``family`` is one."""
    for module in pkgutil.iter_modules(family_package.__path__):
        importlib.import_module(f"{family_package.__name__}.{module.name}")
    return _FAMILIES
