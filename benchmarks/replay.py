"""What one replayed view costs: random views against a recorded map, in microseconds of processor time.

    python benchmarks/replay.py --maps tests/hardware/nvidia-h200.maps.json

Each family gets ``--templates`` times 8192 views in one process. The bar is 40 microseconds, at which two cores look at
50,000 views a second. Exits with 1 above it, or when a view disagrees.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tileproof.errors import TileproofError
from tileproof.fuzz.maps import read
from tileproof.fuzz.replay import replay_chunk
from tileproof.fuzz.rows import Chunk
from tileproof.fuzz.template import PER_TEMPLATE

ROOT = Path(__file__).parents[1]
MEMORY = ("ld", "st", "ldmatrix", "stmatrix", "cp.async")
BAR = 40.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--maps", type=Path, default=ROOT / "tests/hardware/nvidia-h200.maps.json")
    parser.add_argument("--templates", type=int, default=40, help="for each family")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("families", nargs="*", default=MEMORY)
    options = parser.parse_args()
    try:
        maps = read(options.maps)
    except TileproofError as error:
        print(error, file=sys.stderr)
        return 2
    views, spent, faults = 0, 0.0, 0
    for family in options.families:
        started = time.process_time()
        found = replay_chunk(Chunk(family, options.seed, 0, options.templates * PER_TEMPLATE), maps)
        took = time.process_time() - started
        legal = sum(t.views for t in found.tallies if t.verdict == "proved")
        each = 1e6 * took / max(found.views, 1)
        print(
            f"{family:10} {found.views:9} views {each:6.1f} us each, {100 * legal / max(found.views, 1):3.0f}% legal",
            end="",
        )
        print(f", templates {dict(found.templates)}, {len(found.rows)} disagreements")
        for row in found.rows:
            print(f"    view {row.number}: {'; '.join(row.faults)}")
        views, spent, faults = views + found.views, spent + took, faults + len(found.rows)
    mean = 1e6 * spent / max(views, 1)
    print(
        f"{views} views, {mean:.1f} us each on one core: {2e6 / mean:.0f} a second on two (bar: {2e6 / BAR:.0f})"
    )
    return 1 if faults or mean > BAR else 0


if __name__ == "__main__":
    raise SystemExit(main())
