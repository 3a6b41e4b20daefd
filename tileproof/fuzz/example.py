"""A random call, ready for use in a test."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import tileproof as tp
from tileproof.errors import LayoutError
from tileproof.fuzz.as_kernel import kernel
from tileproof.fuzz.build import Built, build
from tileproof.fuzz.families import judge
from tileproof.fuzz.oracle.demands import Outcome
from tileproof.fuzz.oracle.description import Call
from tileproof.fuzz.snippet import snippet


@dataclass(frozen=True)
class Example:
    """A call of an instruction, or of a scalar function. Its text is Python that makes and checks it."""

    description: Call

    @cached_property
    def _built(self) -> Built:
        return build(self.description)

    @property
    def exists(self) -> bool:
        """Whether the library makes such views: not if one is sure to break a layout's own rules."""
        try:
            return bool(self._built)
        except LayoutError:
            return False

    @property
    def opcode(self) -> str | tp.LambdaExpr:
        """The spelling, or the function that ``tp.check_ewise`` takes."""
        return self._built.opcode

    @property
    def operands(self) -> tuple[Any, ...]:
        """Views of tensors in PTX order, and the scalars between them."""
        return self._built.operands

    @property
    def keywords(self) -> dict[str, Any]:
        """Scope, block, guard and assumptions, and what the instruction takes beside its operands."""
        return dict(self._built.keywords)

    def check(self, **keywords: Any) -> tp.Report:
        """What the library says; further ``keywords`` are those of :func:`tileproof.check`."""
        return self._built.report(**keywords)

    def kernel(self, name: str = "example") -> tp.Kernel:
        """The call in a kernel of its own; raises where :func:`tileproof.fuzz.as_kernel.kernel` does."""
        return kernel(self.description, name)

    @cached_property
    def outcome(self) -> Outcome:
        """What brute force says, which shares no code with the library."""
        return judge(self.description)

    @property
    def legal(self) -> bool:
        """Whether brute force finds no demand that fails. Hazards do not count."""
        return not self.outcome.failing

    def __repr__(self) -> str:
        return snippet(self.description)
