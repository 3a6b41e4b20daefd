"""Which changed contracts a campaign tells from the right one.

    python benchmarks/mutants.py --views 2000 --seed 1 --processes 2

Each demand of each contract is removed, weakened and shortened (`tileproof.fuzz.mutants`), and views are looked
at until the changed contract disagrees with brute force. Exit code 1: a mutant survived that `SURVIVORS` does
not explain.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tileproof.contracts import families as contracts
from tileproof.fuzz.agreement import compare
from tileproof.fuzz.families import generate, mnemonics
from tileproof.fuzz.mutants import CHANGES, Mutant, applied
from tileproof.fuzz.rows import choices_of

VIEWS = 2000

SURVIVORS: dict[tuple[str, str], str] = {}
"""Why no campaign can tell a mutant from the contract, by demand and change."""


@dataclass(frozen=True)
class Outcome:
    """``view`` is the mnemonic and number of the first view on which there was a disagreement, ``fault`` the words."""

    mutant: Mutant
    looked_at: int
    view: tuple[str, int] | None = None
    fault: str = ""


@dataclass(frozen=True)
class Baseline:
    """By demand, the views of a contract that refute it, in order."""

    page: str
    refuting: dict[str, tuple[tuple[str, int], ...]]


def pages() -> dict[str, list[str]]:
    """The mnemonics of each contract."""
    found: dict[str, list[str]] = defaultdict(list)
    known = contracts.load()
    for mnemonic in mnemonics():
        found[known[mnemonic].page].append(mnemonic)
    return dict(found)


@cache
def baseline(page: str, seed: int, views: int) -> Baseline:
    """What the right contract says of ``views`` views, taken in turn from its mnemonics."""
    refuting: dict[str, list[tuple[str, int]]] = defaultdict(list)
    names = pages()[page]
    for position in range(views):
        mnemonic, number = names[position % len(names)], position // len(names)
        comparison = compare(generate(mnemonic, choices_of(seed, number)))
        for demand in comparison.refuted | comparison.hazards:
            refuting[demand].append((mnemonic, number))
    return Baseline(page, {name: tuple(found) for name, found in refuting.items()})


def hunt(page: str, seed: int, views: int) -> list[Outcome]:
    """Look for each mutant of a contract. Only a view that refutes a demand can tell that it was changed."""
    known = baseline(page, seed, views)
    mutants = [Mutant(page, demand, change) for demand in sorted(known.refuting) for change in CHANGES]
    found = [_hunt(mutant, seed, known.refuting[mutant.demand]) for mutant in mutants]
    return [outcome for outcome in found if outcome is not None]


def _hunt(mutant: Mutant, seed: int, candidates: Sequence[tuple[str, int]]) -> Outcome | None:
    """Nothing for a change that changes nothing, as of a demand that shapes alone decide."""
    with applied(mutant) as altered:
        for mnemonic, number in candidates:
            try:
                faults = compare(generate(mnemonic, choices_of(seed, number))).faults
            except Exception as error:  # noqa: BLE001 - whatever a changed contract runs into gives it away
                faults = (f"{type(error).__name__}: {error}",)
            if faults:
                return Outcome(mutant, len(candidates), (mnemonic, number), faults[0])
    return Outcome(mutant, len(candidates)) if altered else None


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--views", type=int, default=VIEWS, help="of each contract")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--page", action="append", help="a contract, such as ld_st; by default all")
    options = parser.parse_args()
    start = time.perf_counter()
    todo = options.page or sorted(pages())
    with ProcessPoolExecutor(options.processes, mp_context=get_context("spawn")) as pool:
        found = [
            o
            for some in pool.map(hunt, todo, [options.seed] * len(todo), [options.views] * len(todo))
            for o in some
        ]
    caught = [o for o in found if o.view is not None]
    print(
        f"{len(found)} mutants, {len(caught)} caught within {options.views} views of seed {options.seed}, ",
        end="",
    )
    print(f"{time.perf_counter() - start:.0f} s")
    for outcome in found:
        m, where = outcome.mutant, outcome.view
        if where is not None:
            print(
                f"  {m.page:11} {m.demand:24} {m.change:9} caught by {where[0]} {where[1]}: {outcome.fault[:60]}"
            )
    unexplained = 0
    for outcome in found:
        m = outcome.mutant
        if outcome.view is None:
            reason = SURVIVORS.get((m.demand, m.change), "")
            unexplained += not reason
            said = f"SURVIVED {outcome.looked_at} views; {reason or 'not explained'}"
            print(f"  {m.page:11} {m.demand:24} {m.change:9} {said}")
    return int(unexplained > 0)


if __name__ == "__main__":
    raise SystemExit(main())
