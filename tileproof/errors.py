"""The exceptions a user may see. Each message says what was given, what was needed, where, and what to do."""

from __future__ import annotations


class TileproofError(Exception):
    """Base of every error that tileproof raises on purpose."""


class LayoutError(TileproofError):
    """A layout, tensor or view that cannot exist: wrong rank, unknown axis, non-static extent, ..."""


class OpcodeError(TileproofError):
    """A PTX spelling that the instruction table does not know or does not allow."""


class CallError(TileproofError):
    """A malformed call: wrong operand count, unknown parameter, wrong state space or width."""


class AssumptionError(TileproofError):
    """Assumptions that contradict each other: everything would follow from them."""


class EmissionError(TileproofError):
    """PTX was asked for without a proof, or for a target that lacks the instruction."""


class AssemblerError(TileproofError):
    """The assembler refused the PTX text, or no assembler is installed."""


class LaunchError(TileproofError):
    """A kernel could not be launched, or its arguments break an assumption that was proved with."""


class SimulationError(TileproofError):
    """The emitted PTX did something undefined in the reference machine (misalignment, out of bounds, ...)."""


class InternalError(TileproofError):
    """tileproof contradicted itself; never a verdict about the user's call. Please report it."""


class FuzzError(TileproofError):
    """A campaign that cannot run: no such family, no GPU, a store that cannot be written, ..."""
