"""Every described view: what is decided here, what by the peer, and how long each takes.

    python benchmarks/described_views.py [--only TEXT] [--json FILE]

The time is the median of repeated checks of the same views, in processor time; ``first`` is the first one, in
a process that has checked others before. With the optional group ``peer`` installed the peer is asked about
each view in the same run. Exits with 1 when a view is decided wrongly or takes more than a tenth of the peer's
time.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import tileproof as tp
from tests.proofs.described_views import build, entries
from tileproof.errors import TileproofError
from tileproof.fuzz.peer import installed
from tileproof.fuzz.peer.ask import Answer, Peer

RUNS, SECONDS = 100, 0.5
PEER_CAP_S = 60.0
RATIO = 10.0


@dataclass(frozen=True)
class Row:
    """One view. Times in milliseconds; ``None`` where the peer was not asked or never got to its check."""

    name: str
    right: str
    verdict: str
    here: float
    first: float
    peer_verdict: str | None = None
    peer: float | None = None
    peer_first: float | None = None

    @property
    def rightly(self) -> bool | None:
        """Whether the view is decided rightly here; ``None`` for one that is open."""
        return rightly(self.right, self.verdict)

    @property
    def peer_rightly(self) -> bool | None:
        said = {"accept": "proved", "timeout": "timeout", "internal": "internal"}
        return rightly(self.right, said.get(self.peer_verdict or "", "refused"))

    @property
    def slow(self) -> bool:
        return self.peer is not None and self.here * RATIO > self.peer


def rightly(right: str, said: str) -> bool | None:
    if right == "open":
        return None
    return said == "proved" if right == "legal" else said in ("refused", "hazard")


def right_answer(entry: dict[str, Any]) -> str:
    """``legal``, ``illegal``, ``hazard`` (each instruction is legal, together they destroy data) or ``open``."""
    if entry["expect"] is None:
        return "open"
    if entry["expect"] == "accept":
        return "legal"
    return "hazard" if entry["kind"] == "hazard" else "illegal"


@dataclass(frozen=True)
class Timing:
    """A verdict, the first time of a check and the median of the further ones, in milliseconds."""

    verdict: str
    first: float
    here: float


def timed(entry: dict[str, Any]) -> Timing:
    """Check the views of an entry again and again, in processor time. Building them counts only where that is
    what refuses: what is no view at all is refused before there is anything to check.
    """
    try:
        opcode, operands, keywords = build(entry)
    except TileproofError:

        def check() -> tp.Report:
            again = build(entry)
            return tp.check(again[0], *again[1], **again[2])

    else:

        def check() -> tp.Report:
            return tp.check(opcode, *operands, **keywords)

    times: list[float] = []
    verdict = ""
    began = time.perf_counter()
    while len(times) < 2 or (len(times) <= RUNS and time.perf_counter() - began < SECONDS):
        start = time.thread_time()
        try:
            verdict = told(check())
        except TileproofError:
            verdict = "refused"
        times.append((time.thread_time() - start) * 1e3)
    return Timing(verdict, times[0], statistics.median(times[1:]))


def told(report: tp.Report) -> str:
    said = {tp.Verdict.PROVED: "hazard" if report.hazards else "proved", tp.Verdict.REFUTED: "refused"}
    return said.get(report.verdict, report.verdict.name.lower())


def row(entry: dict[str, Any], answer: Answer | None) -> Row:
    timing = timed(entry)
    found = Row(entry["name"], right_answer(entry), timing.verdict, timing.here, timing.first)
    if answer is None:
        return found
    return replace(found, peer_verdict=answer.verdict, peer=answer.ms, peer_first=answer.first)


def show(row: Row) -> str:
    mark = "" if row.rightly is not False else "  not right"
    text = f"{row.name[:52]:52} {row.right:8} {row.verdict:11} {row.here:8.2f} {row.first:8.2f}"
    if row.peer_verdict is None:
        return text + mark
    ratio = f"{row.peer / row.here:8.1f}x" if row.peer else f"{'':9}"
    peer = f"{row.peer:9.1f}" if row.peer else f"{'-':>9}"
    mark += "  wrong there" * (row.peer_rightly is False) + f"  under {RATIO:g}x" * row.slow
    return f"{text} {row.peer_verdict:9} {peer} {ratio}{mark}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="views with this text in their name")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    parser.add_argument("--no-peer", action="store_true", help="leave the peer out although it is installed")
    options = parser.parse_args()
    version = None if options.no_peer else installed()
    rows = []
    print(f"{'view':52} {'right':8} {'here':11} {'ms':>8} {'first':>8}", end="")
    print(f" {'peer':9} {'ms':>9} {'ratio':>9}" if version else "")
    with Peer(PEER_CAP_S, RUNS, SECONDS) as peer:
        for entry in entries():
            if options.only in entry["name"]:
                rows.append(row(entry, peer.ask(entry, compile=True) if version else None))
                print(show(rows[-1]), flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(r) for r in rows], indent=1))
    return summary(rows, version)


def summary(rows: list[Row], version: str | None) -> int:
    decidable = [r for r in rows if r.rightly is not None]
    right = [r for r in decidable if r.rightly]
    silent = [r for r in decidable if r.verdict in ("undecided", "unsupported")]
    wrong = [r for r in decidable if r not in right and r not in silent]
    times = [r.here for r in rows]
    print(f"\nhere: {len(right)} of {len(decidable)} decided rightly, {len(wrong)} wrongly", end="")
    print(f"; median {statistics.median(times):.2f} ms, worst {max(times):.2f} ms")
    for r in (*wrong, *silent):
        print(f"  {r.name}: {r.right}, said {r.verdict}")
    if version is None:
        print("the peer is not installed (pip install 'tileproof[peer]')")
        return int(bool(wrong))
    asked = [r for r in decidable if r.peer_verdict is not None]
    there = [r.peer for r in rows if r.peer]
    good = sum(bool(r.peer_rightly) for r in asked)
    print(f"peer {version}: {good} of {len(asked)} decided rightly", end="")
    print(f"; median {statistics.median(there):.2f} ms, worst {max(there):.0f} ms")
    print("  " + ", ".join(f"{n} {what}" for what, n in faults(asked).items()))
    slow = compare("repeated checks", [(r, r.here, r.peer) for r in rows if r.peer])
    compare("first checks of a view", [(r, r.first, r.peer_first) for r in rows if r.peer and r.peer_first])
    return int(bool(wrong or slow))


def faults(rows: list[Row]) -> dict[str, int]:
    """What the peer gets wrong, by kind."""

    def count(right: str, *verdicts: str) -> int:
        return sum(r.right == right and r.peer_verdict in verdicts for r in rows)

    return {
        "legal refused": count("legal", "reject", "parse", "later"),
        "illegal accepted": count("illegal", "accept"),
        "hazards accepted": count("hazard", "accept"),
        "internal errors": sum(r.peer_verdict in ("internal", "crash") for r in rows),
        "time-outs": sum(r.peer_verdict == "timeout" for r in rows),
    }


def compare(what: str, times: list[tuple[Row, float, float | None]]) -> int:
    """Print how the times compare; the number of views that take more than a tenth of the peer's time."""
    ratios = sorted((((there or 0.0) / here, row) for row, here, there in times), key=lambda r: r[0])
    slow = [(ratio, row) for ratio, row in ratios if ratio < RATIO]
    mean = math.exp(statistics.fmean(math.log(ratio) for ratio, _ in ratios))
    print(
        f"{what}: {mean:.1f} times as fast in the geometric mean, least {ratios[0][0]:.1f} ({ratios[0][1].name})"
    )
    print(f"  {len(slow)} of {len(ratios)} take more than a tenth of the peer's time")
    return len(slow)


if __name__ == "__main__":
    raise SystemExit(main())
