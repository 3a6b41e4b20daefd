"""The instruction table: what is legal to write, as the PTX ISA 9.1 (or a later one, where named) has it.

A module of this folder holds instructions that belong together and lists them in its ``INSTRUCTIONS``; it is
found by being there.
"""

from __future__ import annotations

import importlib
import pkgutil

from tileproof.contracts.syntax import Instruction

TABLE: tuple[Instruction, ...] = tuple(
    instruction
    for module in sorted(found.name for found in pkgutil.iter_modules(__path__))
    for instruction in importlib.import_module(f"{__name__}.{module}").INSTRUCTIONS
)
