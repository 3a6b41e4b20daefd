"""A stand-in for a GPU: it computes what is expected, and misbehaves at the entries that it is told to.

As on a GPU a fault is final for the process.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

import numpy as np

from tileproof.errors import LaunchError
from tileproof.fuzz.execute.batch import Batch
from tileproof.fuzz.execute.entry import Bytes
from tileproof.fuzz.execute.tags import POISON

FAULT = "CUDA_ERROR_MISALIGNED_ADDRESS (misaligned address)"


@dataclass
class FakeDevice:
    """``behaviour`` maps names of entries to ``trap``, ``hang``, ``die``, ``wrong`` or ``tamper``."""

    behaviour: dict[str, str] = field(default_factory=dict)
    name: str = "Fake"
    faulted: bool = False
    written: bool = False

    def execute(self, batch: Batch, chosen: range) -> Bytes:
        if self.faulted:
            raise LaunchError("the context is gone")
        dump = np.full(batch.expected.size, POISON, np.uint8)
        for position in chosen:
            launch = batch.launches[position]
            part = slice(launch.dump, launch.dump + launch.grid * launch.dump_bytes)
            dump[part] = batch.expected[part]
            # Nobody may rely on what is left open.
            opened = batch.open[(batch.open >= part.start) & (batch.open < part.stop)]
            dump[opened] ^= 0xFF
            match self.behaviour.get(launch.name):
                case "trap":
                    self.faulted = True
                    raise LaunchError(FAULT)
                case "hang":
                    time.sleep(600)
                case "die":
                    os._exit(11)
                case "wrong":
                    dump[part.start + 3] ^= 1
                case "tamper":
                    self.written = True
        return dump

    def tampered(self) -> bool:
        written, self.written = self.written, False
        return written


def absent() -> FakeDevice:
    """A device that is not there."""
    raise LaunchError("there is no NVIDIA driver on this machine")
