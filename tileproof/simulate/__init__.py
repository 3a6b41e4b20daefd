"""A reference machine that executes PTX text on NumPy arrays, written from the prose of the PTX ISA.

It shares nothing with the contracts or the emitter, so that it can bear witness for or against what they
produce. Whatever the ISA leaves undefined stops it with a `SimulationError`; it never guesses a result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tileproof.errors import SimulationError

if TYPE_CHECKING:
    from tileproof.simulate.arguments import Buffer
    from tileproof.simulate.launch import SimulationResult, simulate

__all__ = ["Buffer", "SimulationError", "SimulationResult", "simulate"]


def __getattr__(name: str) -> Any:
    # NumPy and the grammar load when a kernel is first simulated, not when the package is imported.
    if name == "Buffer":
        from tileproof.simulate.arguments import Buffer

        return Buffer
    if name in ("SimulationResult", "simulate"):
        from tileproof.simulate import launch

        return getattr(launch, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
