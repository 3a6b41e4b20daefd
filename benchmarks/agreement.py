"""How often ``tileproof.check`` and brute force agree, over many random views.

    python benchmarks/agreement.py --family ld --views 100000 --seed 1 --processes 2

View number ``n`` of a campaign follows from the family, the seed and ``n`` alone, so a campaign can be
repeated and any view of it looked at again with ``--first n --views 1 --show``. Exit code 1: there was a
disagreement.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tileproof.fuzz.agreement import Comparison, compare, describe
from tileproof.fuzz.families import generate, mnemonics
from tileproof.fuzz.generate.choices import Choices, smallest

CHUNK = 250
STRIDE = 1 << 40
"""Campaigns of different seeds share no view."""


@dataclass
class Tally:
    """Counts over some views; ``faulty`` numbers the first views on which there was a disagreement of each
    kind.
    """

    views: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    proved: Counter[str] = field(default_factory=Counter)
    refuted: Counter[str] = field(default_factory=Counter)
    hazards: Counter[str] = field(default_factory=Counter)
    undecided: Counter[str] = field(default_factory=Counter)
    methods: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    faulty: dict[str, list[int]] = field(default_factory=dict)
    seconds: float = 0.0

    def add(self, number: int, comparison: Comparison) -> None:
        self.views += 1
        self.verdicts[comparison.verdict] += 1
        self.proved.update(comparison.proved)
        self.refuted.update(comparison.refuted)
        self.hazards.update(comparison.hazards)
        self.undecided.update(comparison.undecided)
        self.methods.update(method for _, method in comparison.methods)
        for kind in {kind_of(fault) for fault in comparison.faults}:
            self.kinds[kind] += 1
            self.faulty.setdefault(kind, []).append(number)

    def merge(self, other: Tally) -> None:
        self.views += other.views
        self.seconds += other.seconds
        for name in ("verdicts", "proved", "refuted", "hazards", "undecided", "methods", "kinds"):
            getattr(self, name).update(getattr(other, name))
        for kind, numbers in other.faulty.items():
            self.faulty[kind] = [*self.faulty.get(kind, []), *numbers][:20]


def kind_of(fault: str) -> str:
    """The fault without its numbers: faults of one kind have one cause more often than not."""
    return "".join(c for c in fault.partition(";")[0].partition(" at {")[0] if not c.isdigit())[:100]


def look(family: str, choices: Choices) -> Comparison:
    """One view. An exception that the library does not document is a disagreement too."""
    call = generate(family, choices)
    try:
        return compare(call)
    except Exception as error:  # noqa: BLE001 - whatever it is, it belongs into the count
        from tileproof.fuzz.oracle.demands import Outcome

        return Comparison("raised", Outcome(), faults=(f"raised {type(error).__name__}: {error}",))


def chunk(job: tuple[str, int, int, int]) -> Tally:
    family, seed, first, count = job
    tally, start = Tally(), time.process_time()
    for number in range(first, first + count):
        tally.add(number, look(family, Choices.seeded(seed * STRIDE + number)))
    tally.seconds = time.process_time() - start
    return tally


def jobs(family: str, seed: int, first: int, views: int) -> Iterator[tuple[str, int, int, int]]:
    for start in range(first, first + views, CHUNK):
        yield family, seed, start, min(CHUNK, first + views - start)


def run(family: str, seed: int, first: int, views: int, processes: int) -> Tally:
    total = Tally()
    todo = jobs(family, seed, first, views)
    if processes == 1:
        for job in todo:
            total.merge(chunk(job))
        return total
    with get_context("spawn").Pool(processes) as pool:
        for tally in pool.imap_unordered(chunk, todo):
            total.merge(tally)
    return total


def minimal(family: str, seed: int, number: int, kind: str) -> str:
    """The smallest call found that is still a disagreement of this kind."""
    choices = Choices.seeded(seed * STRIDE + number)
    look(family, choices)

    def faulty(sequence: Sequence[int]) -> bool:
        comparison = look(family, Choices.replayed(sequence))
        return any(kind_of(fault) == kind for fault in comparison.faults)

    best = smallest(choices.drawn, faulty, rounds=600)
    again = Choices.replayed(best)
    return describe(generate(family, again), look(family, Choices.replayed(best)))


def report(family: str, seed: int, tally: Tally, elapsed: float) -> None:
    each = 1e3 * tally.seconds / max(1, tally.views)
    print(f"{family}, seed {seed}: {tally.views} views in {elapsed:.1f} s,", end=" ")
    print(f"{tally.views / elapsed:.0f} views per second, {each:.2f} ms of processor time for a view")
    for verdict, count in tally.verdicts.most_common():
        print(f"  {verdict:12} {count:8}  {100 * count / tally.views:6.2f} %")
    print("  obligation            proved  refuted  undecided  refuted of all")
    for name in sorted({*tally.proved, *tally.refuted, *tally.undecided}):
        counts = tally.proved[name], tally.refuted[name], tally.undecided[name]
        share = 100 * counts[1] / sum(counts)
        print(f"    {name:18} {counts[0]:8} {counts[1]:8} {counts[2]:10} {share:13.2f} %")
    print("  hazards:", ", ".join(f"{n} {c}" for n, c in tally.hazards.most_common()) or "none")
    print("  methods:", ", ".join(f"{n} {c}" for n, c in tally.methods.most_common(12)))
    print(f"  disagreements: {sum(tally.kinds.values())}")
    for kind, count in tally.kinds.most_common():
        print(f"    {count:6}  {kind}   e.g. --first {tally.faulty[kind][0]}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--family", choices=[*mnemonics(), "all"], default="all")
    parser.add_argument("--views", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first view")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print every view; meant for few")
    parser.add_argument(
        "--minimize", type=int, default=3, help="how many kinds of disagreement to make minimal"
    )
    options = parser.parse_args()
    failed = False
    for family in mnemonics() if options.family == "all" else [options.family]:
        if options.show:
            for number in range(options.first, options.first + options.views):
                choices = Choices.seeded(options.seed * STRIDE + number)
                comparison = look(family, choices)
                print(describe(generate(family, Choices.replayed(choices.drawn)), comparison))
        start = time.perf_counter()
        tally = run(family, options.seed, options.first, options.views, options.processes)
        report(family, options.seed, tally, time.perf_counter() - start)
        for kind, _ in tally.kinds.most_common(options.minimize):
            print(f"\nleast example of: {kind}")
            print(minimal(family, options.seed, tally.faulty[kind][0], kind))
        failed = failed or bool(tally.kinds)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
