"""Random views, and what brute force, the simulator and GPUs say of them.

In tests: :func:`calls`, :func:`views` and :func:`kernels` are Hypothesis strategies, which need the extra ``fuzz``.
:func:`mnemonics` are the instructions of which there are calls, :func:`mix` counts what their random views are like.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tileproof.fuzz.example import Example
    from tileproof.fuzz.families import mnemonics
    from tileproof.fuzz.mixture import Mix, mix
    from tileproof.fuzz.strategies import calls, kernels, views

__all__ = ["Example", "Mix", "calls", "kernels", "mix", "mnemonics", "views"]

_MODULES = {
    "Example": "example", "Mix": "mixture", "calls": "strategies", "kernels": "strategies", "mix": "mixture",
    "mnemonics": "families", "views": "strategies",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(f"{__name__}.{_MODULES[name]}")
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        raise ImportError(
            f"tileproof.fuzz.{name} needs Hypothesis, which is not installed: pip install 'tileproof[fuzz]'"
        ) from error
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return __all__
