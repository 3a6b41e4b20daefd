"""Which tileproof this is."""

from __future__ import annotations

from importlib import metadata


def tileproof_version() -> str:
    """The version that is installed; a source tree that is not installed has none of its own."""
    try:
        return metadata.version("tileproof")
    except metadata.PackageNotFoundError:
        return "0.0.0+source"
