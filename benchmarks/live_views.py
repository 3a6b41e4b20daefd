"""Random views all the way: proved, emitted, assembled, run on a GPU and compared with brute force.

    python benchmarks/live_views.py --views 20000 --processes 16 --out $OUT

Prints how many views a second come through, where the time goes, and every disagreement; writes the same as
``live_views.json``. Needs numpy, z3-solver, lark, and on a machine with a GPU cuda-python and nvidia-nvjitlink.
``--backend simulate`` does it on the simulator, without a GPU. Exit code 1: there was a disagreement.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tileproof.emit.launch import driver_version
from tileproof.errors import LaunchError
from tileproof.fuzz.execute.devices import DevicesRunner
from tileproof.fuzz.execute.moves import executable
from tileproof.fuzz.execute.runner import DeviceRunner, SimulateRunner
from tileproof.fuzz.rows import Chunk, Row, Runner

SHOWN = 20


def chunks(families: list[str], seed: int, first: int, views: int, size: int) -> Iterator[Chunk]:
    """Those of all families in turn, so that no stage waits for one of them."""
    each = -(-views // len(families))
    runs = (
        [Chunk(f, seed, n, min(size, first + each - n)) for n in range(first, first + each, size)]
        for f in families
    )
    return (chunk for chunk in chain(*zip_longest(*runs)) if chunk is not None)


class Totals:
    """Counts over rows, by family."""

    def __init__(self) -> None:
        self.verdicts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.results: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.milliseconds: Counter[str] = Counter()
        self.views = self.executed = 0
        self.faults: list[dict[str, Any]] = []

    def add(self, row: Row) -> None:
        self.views += 1
        self.executed += bool(row.executed)
        self.verdicts[row.family][row.verdict] += 1
        if row.result:
            self.results[row.family][row.result.partition(":")[0]] += 1
        self.milliseconds.update(row.milliseconds)
        if row.faults:
            self.faults.append(
                {"family": row.family, "number": row.number, "opcode": row.opcode, "faults": row.faults}
            )

    def summary(self, seconds: float) -> dict[str, Any]:
        """Rates and counts; milliseconds of a stage are of one process, for each view that was executed."""
        return {
            "views": self.views,
            "executed": self.executed,
            "seconds": round(seconds, 2),
            "views_per_second": round(self.views / seconds, 1),
            "executed_per_second": round(self.executed / seconds, 1),
            "milliseconds_per_executed_view": {
                stage: round(total / max(1, self.executed), 3) for stage, total in self.milliseconds.items()
            },
            "verdicts": self.verdicts,
            "results": self.results,
            "disagreements": len(self.faults),
            "faults": self.faults[:200],
        }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--family", choices=[*executable(), "all"], default="all")
    parser.add_argument("--views", type=int, default=20_000, help="over all families, refused ones included")
    parser.add_argument("--first", type=int, default=0, help="number of the first view")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--chunk", type=int, default=200, help="views that are prepared and executed at once")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="that prepare views")
    parser.add_argument("--devices", type=int, default=1, help="GPUs, among which the processes are divided")
    parser.add_argument("--backend", choices=["gpu", "simulate"], default="gpu")
    parser.add_argument("--out", type=Path, default=None, help="folder for live_views.json")
    parser.add_argument(
        "--legal",
        action="store_true",
        help="break nothing on purpose, and ask brute force only what comes out",
    )
    options = parser.parse_args()
    families = list(executable()) if options.family == "all" else [options.family]
    try:
        each = max(1, options.processes // options.devices)
        gpus = [] if options.backend == "simulate" else range(options.devices)
        runners = [DeviceRunner(each, gpu, legal=options.legal) for gpu in gpus]
        runner: Runner = DevicesRunner(runners) if runners else SimulateRunner()
    except LaunchError as error:
        print(f"{error}\n--backend simulate needs no GPU", file=sys.stderr)
        return 2
    device = f"{len(runners)} x {runners[0].device}" if runners else options.backend
    print(f"{device}, {options.processes} processes, {', '.join(families)}", flush=True)
    totals, settled = Totals(), Totals()
    start = warm = time.perf_counter()
    try:
        for number, (_, rows) in enumerate(
            runner.run(chunks(families, options.seed, options.first, options.views, options.chunk))
        ):
            for row in rows:
                totals.add(row)
                if number >= options.processes:
                    settled.add(row)
                if row.faults and len(totals.faults) <= SHOWN:
                    print(
                        f"DISAGREEMENT {row.family} --seed {row.seed} number {row.number}: {row.faults[0]}",
                        flush=True,
                    )
            if number == options.processes - 1:
                # By now every process has loaded what it needs.
                warm = time.perf_counter()
        end = time.perf_counter()
    finally:
        runner.close()
    summary = {
        "device": device,
        "cuda": driver_version() if options.backend == "gpu" else None,
        "processes": options.processes,
        "seed": options.seed,
        "first": options.first,
        "chunk": options.chunk,
        "legal": options.legal,
        "restarts": sum(one.restarts for one in runners),
        **totals.summary(end - start),
        "after_start": settled.summary(end - warm) if settled.views else None,
    }
    for name in (
        "views",
        "executed",
        "seconds",
        "views_per_second",
        "executed_per_second",
        "disagreements",
        "restarts",
    ):
        print(f"{name:22} {summary[name]}")
    if settled.views:
        print(f"after start: {settled.executed / (end - warm):.0f} executed views a second")
    for stage, each in summary["milliseconds_per_executed_view"].items():
        print(f"  {stage:10} {each:8.3f} ms of one process for each executed view")
    for family in families:
        print(f"  {family:10} {dict(totals.verdicts[family])} {dict(totals.results[family])}")
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "live_views.json").write_text(json.dumps(summary, indent=1) + "\n")
    return int(bool(totals.faults))


if __name__ == "__main__":
    raise SystemExit(main())
