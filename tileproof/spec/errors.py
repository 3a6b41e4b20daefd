"""The exception for files that cannot be used."""

from __future__ import annotations

from tileproof.errors import TileproofError


class SpecError(TileproofError):
    """A file that holds no usable calls.

    The text names the file and the place in it: a line, or a path such as ``calls[0].operands[1].tensor``.
    """
