"""The peer as a process that is asked, one script at a time, and killed when it thinks for too long."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from tileproof.fuzz.peer.script import script

START_S = 60.0
"""Seconds until a new process must be ready."""


@dataclass(frozen=True)
class Answer:
    """What the peer found. ``ms`` is the median time of ``runs`` checks and ``first`` the time of the first one,
    in milliseconds; ``None`` when it never got to check, the cap when it was killed.

    ``verdict`` is ``accept``, ``reject``, ``internal`` (an error that is no refusal), ``parse`` (its front end
    refused), ``later`` (the check accepted, generating source failed), ``timeout`` or ``crash``.
    """

    verdict: str
    ms: float | None = None
    first: float | None = None
    runs: int = 0
    message: str = ""


class Peer:
    """Asks the peer about described views, each up to ``runs`` times or for ``seconds``. A check that takes longer
    than ``cap`` seconds is killed.
    """

    def __init__(self, cap: float, runs: int, seconds: float) -> None:
        self.cap, self.runs, self.seconds = cap, runs, seconds
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def ask(self, entry: dict[str, Any], compile: bool = False) -> Answer:
        """The peer's verdict on a described view; ``compile`` lets its later stages object, untimed."""
        process = self._running()
        if process is None or process.stdin is None:
            return Answer("crash", message="the peer does not start")
        job = {"script": script(entry), "runs": self.runs, "seconds": self.seconds, "compile": compile}
        process.stdin.write(json.dumps(job) + "\n")
        process.stdin.flush()
        line = self._line(process, self.cap + self.seconds)
        if line is None:
            self.stop()
            return Answer("timeout", self.cap * 1e3, self.cap * 1e3, 1)
        if not line:
            self.stop()
            return Answer("crash")
        return Answer(**json.loads(line))

    def stop(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _running(self) -> subprocess.Popen[str] | None:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(Path(__file__).with_name("worker.py"))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            if not self._line(self._process, START_S):
                self.stop()
        return self._process

    @staticmethod
    def _line(process: subprocess.Popen[str], seconds: float) -> str | None:
        """The next line; empty when the process ended, ``None`` when none came in time."""
        if process.stdout is None:
            return ""
        # Each answer is one line, written at once, so nothing of the next is buffered here.
        ready, _, _ = select.select([process.stdout], [], [], seconds)
        return process.stdout.readline() if ready else None
