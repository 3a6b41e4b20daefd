"""Objects that remember results go to another process without them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


class Portable:
    """For dataclasses: only the fields are pickled.

    What is remembered beside them goes by the numbers of nodes, and a number is another node's in another
    process.
    """

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
