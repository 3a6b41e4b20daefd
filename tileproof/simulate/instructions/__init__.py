"""The instruction families. Importing this package registers them all; see `registry` for how to add one."""

from __future__ import annotations

import importlib
import pkgutil

from tileproof.simulate.registry import find

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["find"]
