"""Record hardware maps of this machine's GPU (``tileproof fuzz record`` does the same).

    python benchmarks/record_maps.py --out tests/hardware

writes ``<gpu>.maps.json``: for every memory instruction which lane, register and byte received which source, and for
every instruction on registers what it computed from fixed bit patterns. ``tests/hardware/test_recorded_maps.py`` holds
the contracts and the simulator against it, so that also runs where no GPU is.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tileproof.errors import TileproofError
from tileproof.fuzz.record import record_here


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the recording")
    parser.add_argument("--backend", choices=("gpu", "simulate"), default="gpu")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", type=int, default=0, help="number of the GPU")
    options = parser.parse_args()
    started = time.perf_counter()
    try:
        path = record_here(options.out, options.backend, seed=options.seed, device=options.device)
    except TileproofError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    print(f"wrote {path.name}, {path.stat().st_size} bytes, in {time.perf_counter() - started:.1f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
