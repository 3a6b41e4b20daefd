"""Checking many calls, in parallel processes where that pays."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

from tileproof.errors import CallError
from tileproof.layouts.view import ViewOperations
from tileproof.proofs.check import check
from tileproof.proofs.report import Report

WORTH_A_PROCESS = 2000
"""Calls. A process costs about as much to start as this many plain checks."""


@dataclass(frozen=True, eq=False)
class Request:
    """The arguments of one :func:`check`."""

    opcode: str
    operands: tuple[ViewOperations, ...]
    keywords: Mapping[str, Any] = field(default_factory=dict)

    def check(self) -> Report:
        """Check it here and now."""
        return check(self.opcode, *self.operands, **self.keywords)


def request(opcode: str, *operands: ViewOperations, **keywords: Any) -> Request:
    """A call for :func:`check_all`, with the arguments of :func:`check`."""
    return Request(opcode, operands, keywords)


def check_all(requests: Iterable[Request], *, processes: int | None = None) -> list[Report]:
    """The reports of many calls, in their order.

    ``processes`` is the number of worker processes; by default as many as there are processors once the calls are many
    enough to repay starting them, else none. Reports do not depend on it. Raises what :func:`check` raises, for the
    first malformed call in order.
    """
    calls: Sequence[Request] = list(requests)
    if processes is None:
        processes = min(os.cpu_count() or 1, len(calls) // WORTH_A_PROCESS)
    if processes < 0:
        raise CallError(f"processes must not be negative, got {processes}")
    if processes < 2:
        return [r.check() for r in calls]
    # A solver's state does not survive a fork, so workers start from nothing.
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as workers:
        return list(workers.map(Request.check, calls, chunksize=max(1, len(calls) // (4 * processes))))
