"""The nearest existing system, asked about the same views: the optional group ``peer`` of pyproject.toml.

Views come as plain data, in the form of ``tests/data/described-views.json``; they are turned into scripts of
the peer's language and checked by it in a process of its own. No GPU is needed.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

PACKAGE = "apache-tvm-tirx"


def installed() -> str | None:
    """The version of the peer that is installed, if any."""
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return None
