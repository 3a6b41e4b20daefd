"""How long a check takes: every call over growing sizes, warm, cold, and against the peer.

    python benchmarks/check_latency.py [--only TEXT] [--no-peer] [--json FILE]

Each line is one call of one size (``benchmarks/calls.py``). ``warm`` is the median of repeated checks of the
same views, ``new`` the first check of them in a process that has checked other calls. With the optional group
``peer`` installed, its median time on the same views stands beside. These are times of the processor, so that
other work on the machine does not count; the first check of a process is timed by the clock on the wall.
Exits with 1 when a bar is missed; the bars are printed at the end.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import tileproof as tp
from benchmarks.calls import Entry, Timed, calls
from tests.proofs.described_views import build
from tileproof.fuzz.peer import installed
from tileproof.fuzz.peer.ask import Peer

ROOT = Path(__file__).resolve().parent.parent

WARM_MEDIAN_MS, WARM_WORST_MS, FLAT = 1.0, 10.0, 1.5
FIRST_S, SOLVER_COLD_MS = 0.4, 30.0
MEAN_RATIO, LEAST_RATIO = 50.0, 5.0

ROUNDS, SECONDS = 200, 1.0
"""Checks of each size, and the time after which a call is given up on with fewer."""
PROCESSES = 4
PEER_CAP_S, PEER_RUNS, PEER_SECONDS = 20.0, 100, 1.0


@dataclass
class Row:
    """One call of one size; times in milliseconds. A ``peer`` time that is ``capped`` is a lower bound."""

    call: str
    size: str
    warm: float
    new: float
    solver: bool
    peer: float | None = None
    peer_first: float | None = None
    peer_verdict: str | None = None

    @property
    def ratio(self) -> float:
        """How many times faster than the peer; not a number where the peer was not asked."""
        return math.nan if self.peer is None else self.peer / self.warm

    @property
    def capped(self) -> bool:
        return self.peer_verdict == "timeout"


class Subject:
    """Views that are built once and checked again and again."""

    def __init__(self, entry: Entry) -> None:
        self.opcode, self.operands, self.keywords = build(entry)

    def check(self) -> tuple[tp.Report, float]:
        """The report, and the milliseconds of processor time it took."""
        start = time.thread_time()
        report = tp.check(self.opcode, *self.operands, **self.keywords)
        return report, (time.thread_time() - start) * 1e3


def measured(call: Timed) -> list[Row]:
    """Warm times of all sizes, taken in turn so that a busy moment of the machine meets all of them."""
    subjects = [Subject(entry) for entry in call.entries.values()]
    first = [s.check() for s in subjects]
    for report, _ in first:
        if report.verdict is not tp.Verdict.PROVED or report.hazards:
            raise SystemExit(f"{call.name} must be proved without a hazard:\n{report}")
    times: list[list[float]] = [[] for _ in subjects]
    started = time.perf_counter()
    while len(times[0]) < ROUNDS and (len(times[0]) < 10 or time.perf_counter() - started < SECONDS):
        for taken, subject in zip(times, subjects, strict=True):
            taken.append(subject.check()[1])
    return [
        Row(
            call.name,
            size,
            statistics.median(taken),
            new,
            any(f.method.startswith("z3") for f in (*report.findings, *report.hazards)),
        )
        for size, taken, (report, new) in zip(call.entries, times, first, strict=True)
    ]


FIRST = """
import time; began = time.perf_counter()
import sys; sys.path.insert(0, sys.argv[1])
from benchmarks.check_latency import largest
largest(sys.argv[2]).check()
print((time.perf_counter() - began) * 1e3)
"""
COLD = """
import sys; sys.path.insert(0, sys.argv[1])
from benchmarks.check_latency import largest, load_solver
subject = largest(sys.argv[2])
load_solver()
print(subject.check()[1])
"""


def in_new_process(code: str, call: Timed) -> float:
    """The number that ``code`` prints for a call, in milliseconds: the least of a few new processes, because what
    else the machine does only ever adds to it.

    ``FIRST`` is the first check in a process, with all that is imported for it; ``COLD`` the check alone, when
    the solver is loaded and has been asked something else before.
    """
    times = []
    for _ in range(PROCESSES):
        done = subprocess.run(
            [sys.executable, "-c", code, str(ROOT), call.name], capture_output=True, text=True, check=True
        )
        times.append(float(done.stdout))
    return min(times)


def largest(name: str) -> Subject:
    """The largest size of a call."""
    return Subject(list({c.name: c for c in calls()}[name].entries.values())[-1])


def load_solver() -> None:
    """Check something that no simplification decides."""
    i = tp.symbol("i", 0)
    registers = tp.tensor("warm_up", (1,), "uint32", "registers")
    memory = tp.tensor("warm_up_source", (64,), "uint32")
    tp.check("ld.global.b32", registers, memory[i : i + 1], assume=[i * i < 64])
    if "z3" not in sys.modules:
        raise SystemExit("the check that is to load the solver does not need it")


def show(rows: Sequence[Row]) -> None:
    for row in rows:
        text = f"{row.call:36} {row.size:22} {row.warm:8.3f} {row.new:8.2f}"
        if row.peer is not None:
            told = f"> {PEER_CAP_S:g} s" if row.capped else f"{row.peer:.1f}"
            text += f" {told:>10} {row.peer / row.warm:9.1f}x  {row.peer_verdict}"
        elif row.peer_verdict is not None:
            text += f" {'-':>10} {'':9}   {row.peer_verdict}"
        print(text, flush=True)


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(statistics.fmean(math.log(v) for v in values))


class Bars:
    """Prints each figure beside its bar; ``missed`` counts those that miss it."""

    def __init__(self) -> None:
        self.missed = 0

    def most(self, what: str, found: float, limit: float, unit: str = "", where: str = "") -> None:
        self._show(what, found, f"at most {limit:g}", found <= limit, unit, where)

    def least(self, what: str, found: float, limit: float, unit: str = "", where: str = "") -> None:
        self._show(what, found, f"at least {limit:g}", found >= limit, unit, where)

    def _show(self, what: str, found: float, bar: str, met: bool, unit: str, where: str) -> None:
        self.missed += not met
        print(
            f"{what:44} {found:9.2f}{unit:3} {bar:>15}{unit:3} {'' if met else ' MISSED'}  {where}".rstrip()
        )


def named(row: Row) -> str:
    return f"{row.call}, {row.size}"


def versus_peer(bars: Bars, compared: list[Row]) -> None:
    """How much faster than the peer. Where it refuses a view that is legal, it has not checked it: that row
    is told of but held to no bar.
    """
    decided = [r for r in compared if r.peer_verdict in ("accept", "timeout")]
    if decided:
        least = min(decided, key=lambda r: r.ratio)
        mean = geometric_mean([r.ratio for r in decided])
        bars.least("times as fast as the peer, geometric mean", mean, MEAN_RATIO, "", f"{len(decided)} rows")
        bars.least("times as fast as the peer, least", least.ratio, LEAST_RATIO, "", named(least))
        first = geometric_mean([r.peer_first / r.new for r in decided if r.peer_first is not None])
        print(f"{'  new views, geometric mean':44} {first:9.2f}")
    refused = [r for r in compared if r not in decided]
    if refused:
        mean, least = geometric_mean([r.ratio for r in refused]), min(refused, key=lambda r: r.ratio)
        print(f"{'  where the peer refuses, geometric mean':44} {mean:9.2f}{'':23}{len(refused)} rows")
        print(f"{'  where the peer refuses, least':44} {least.ratio:9.2f}{'':23}{named(least)}")


def summary(
    rows: list[Row], named_calls: list[Timed], first: dict[str, float], cold: dict[str, float]
) -> int:
    bars = Bars()
    print()
    worst = max(rows, key=lambda r: r.warm)
    bars.most(
        "warm check, median over all rows", statistics.median(r.warm for r in rows), WARM_MEDIAN_MS, "ms"
    )
    bars.most("warm check, worst row", worst.warm, WARM_WORST_MS, "ms", named(worst))
    flat = {}
    for call in named_calls:
        times = [r.warm for r in rows if r.call == call.name]
        flat[call.name] = max(times) / min(times)
    steepest = max(flat, key=lambda name: flat[name])
    bars.most("largest over smallest time of a call", flat[steepest], FLAT, "", steepest)
    slowest = max(first, key=lambda name: first[name])
    bars.most("first check of a process, imports included", first[slowest] / 1e3, FIRST_S, "s", slowest)
    if cold:
        slowest = max(cold, key=lambda name: cold[name])
        bars.most("cold check that needs the solver", cold[slowest], SOLVER_COLD_MS, "ms", slowest)
    versus_peer(bars, [r for r in rows if r.peer is not None])
    print("all bars met" if not bars.missed else f"{bars.missed} bars missed")
    return int(bool(bars.missed))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="calls with this text in their name")
    parser.add_argument("--no-peer", action="store_true", help="leave the peer out although it is installed")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    options = parser.parse_args()
    chosen = [c for c in calls() if options.only in c.name]
    if not chosen:
        parser.error(
            f"no call has {options.only!r} in its name; there are: {', '.join(c.name for c in calls())}"
        )
    version = None if options.no_peer else installed()
    print(f"{'call':36} {'size':22} {'warm ms':>8} {'new ms':>8}", end="")
    print(f" {'peer ms':>10} {'ratio':>10}  peer {version}" if version else "")
    rows: list[Row] = []
    with Peer(PEER_CAP_S, PEER_RUNS, PEER_SECONDS) as peer:
        for call in chosen:
            found = measured(call)
            for row, entry in zip(found, call.entries.values(), strict=True):
                if version:
                    answer = peer.ask(entry)
                    row.peer, row.peer_first, row.peer_verdict = answer.ms, answer.first, answer.verdict
            show(found)
            rows += found
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(r) for r in rows], indent=1))
    solved = {r.call for r in rows if r.solver}
    kinds = {(c.name.partition(".")[0], "swizzled" in c.name, c.name in solved): c for c in chosen}
    first = {c.name: in_new_process(FIRST, c) for c in kinds.values()}
    cold = {c.name: in_new_process(COLD, c) for c in chosen if c.name in solved}
    if version is None:
        print("\nthe peer is not installed (pip install 'tileproof[peer]'), so nothing is compared")
    return summary(rows, chosen, first, cold)


if __name__ == "__main__":
    raise SystemExit(main())
