"""Which changed contracts a campaign tells from the right one.

    python benchmarks/mutants.py --views 2000 --seed 1 --processes 2

Each demand that the contract of an instruction can make, hazards included, is removed, weakened by one, and
forgotten at the last element, repeat and thread (`tileproof.fuzz.mutants`). Views of a campaign are looked at until
the answer of each changed contract disagrees with brute force. Where a changed contract proves what the right one
refutes, the code is executed on the simulator as well: it traps, differs from what the layout says, or agrees.
Exit code 1: a mutant survived that `SURVIVORS` does not explain, or the right contract disagrees.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tileproof.contracts import families as contracts
from tileproof.fuzz.families import mnemonics
from tileproof.fuzz.hunt import Hunt, Hunted, hunt

VIEWS = 2000

_WHOLE = "accesses are aligned, so two that share a byte share their first elements too"

SURVIVORS: dict[tuple[str, str], str] = {
    ("ewise.alias", "weakened"): (
        "registers would overlap by one byte, but elements fill whole registers of two bytes or more"
    ),
    ("st.write-conflict", "last element"): _WHOLE,
    ("cp.async.write-conflict", "last element"): _WHOLE,
    ("div.fits", "last thread"): "no view has an index that leaves its type in the last lane only",
}
"""Why no view can tell a mutant from the contract, by obligation and change."""


def explained(one: Hunted, everyone: Sequence[Hunted]) -> str:
    """Why a survivor is one, or an empty text. One contract may be that of several instructions."""
    m, known = one.mutant, contracts.load()
    own = SURVIVORS.get((m.id, m.change))
    if own is not None:
        return own
    for other in everyone:
        o = other.mutant
        alike = (o.demand, o.change) == (m.demand, m.change)
        if alike and other.view is not None and known[o.mnemonic].page == known[m.mnemonic].page:
            return f"caught for {o.mnemonic}, which has the same contract, at view {other.view}"
    return ""


def line(one: Hunted) -> str:
    """A row of the table."""
    m = one.mutant
    where = f"{m.id:30} {m.change:12}"
    if one.view is None:
        return f"  {where} SURVIVED {f'{one.refuting} views that refute it' if one.refuting else 'unrefuted'}"
    ran = ", ".join(f"{what} ({number})" for what, number in one.executed.items()) or "-"
    return f"  {where} view {one.view:4}  executed: {ran:32} {one.fault[:70]}"


def table(found: Hunt) -> str:
    """What became of the mutants of an instruction."""
    mutants = list(found.mutants)
    caught = [one for one in mutants if one.view is not None]
    betrayed = sum(one.betrayed for one in caught)
    executed = sum(bool(one.executed.keys() - {"not executed"}) for one in caught)
    head = f"{found.mnemonic}: {len(caught)} of {len(mutants)} mutants caught in {found.views} views"
    if executed:
        head += f"; {betrayed} of {executed} executed ones trap or differ"
    return "\n".join([head, *map(line, mutants), *(f"  RIGHT CONTRACT {fault}" for fault in found.faults)])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--views", type=int, default=VIEWS, help="at most, of each instruction")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--family", action="append", help="an instruction, such as ld; by default all")
    options = parser.parse_args()
    start = time.perf_counter()
    all_found: list[Hunt] = []
    with ProcessPoolExecutor(options.processes, mp_context=get_context("spawn")) as pool:
        todo = options.family or mnemonics()
        for found in pool.map(partial(hunt, seed=options.seed, views=options.views), todo):
            print(table(found), flush=True)
            all_found.append(found)
    mutants = [one for found in all_found for one in found.mutants]
    survivors = [one for one in mutants if one.view is None]
    reasons = [explained(one, mutants) for one in survivors]
    print("Survivors:" if survivors else "No survivors.")
    for one, reason in zip(survivors, reasons, strict=True):
        print(f"{line(one)}; {reason or 'NOT EXPLAINED'}")
    print(
        f"{len(mutants)} mutants of {len({one.mutant.id for one in mutants})} obligations, "
        f"{len(mutants) - len(survivors)} caught within {options.views} views of seed {options.seed}, "
        f"{len(survivors)} survivors, {sum(not reason for reason in reasons)} of them not explained; "
        f"{time.perf_counter() - start:.0f} s"
    )
    return int(not all(reasons) or any(found.faults for found in all_found))


if __name__ == "__main__":
    raise SystemExit(main())
