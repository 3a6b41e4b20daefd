"""The instruction table: what is legal to write, as the PTX ISA 9.1 (or a later one, where named) has it."""

from __future__ import annotations

from tileproof.contracts.instructions.matrix import LDMATRIX, STMATRIX
from tileproof.contracts.instructions.memory import LD, ST
from tileproof.contracts.syntax import Instruction

TABLE: tuple[Instruction, ...] = (LD, ST, LDMATRIX, STMATRIX)
