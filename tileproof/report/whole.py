"""Files that are never half-written."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tileproof.errors import TileproofError


class OutputError(TileproofError):
    """A file that cannot be written."""


def write_whole(path: Path, text: str) -> None:
    """Write a file that holds all of its old or all of its new content at every moment.

    A device or a pipe is written to as it is. Raises :class:`OutputError`, and then what was there before is
    untouched.
    """
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            target.write_text(text, encoding="utf-8")
        else:
            _replace(target, text)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise OutputError(f"{path}: cannot be written: {reason}") from error


def _replace(target: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", text=True)
    written = Path(temporary)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        written.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        written.replace(target)
    except BaseException:
        written.unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
