"""PTX from proven calls.

The package is also the function of the front door: ``tileproof.emit(report)`` is
:func:`tileproof.emit.fragment.emit`. A function beside a package of the same name would be replaced by
whoever imports the package first.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tileproof.proofs.report import Report


class _Emit(ModuleType):
    def __call__(self, report: Report, *, format: str = "ptx", name: str | None = None) -> str:
        """The PTX, or CUDA C++, of a proven call; see :func:`tileproof.emit.fragment.emit`."""
        from tileproof.emit.fragment import emit

        return emit(report, format=format, name=name)


sys.modules[__name__].__class__ = _Emit
