"""Certificates of every described view, public case and example, audited by every solver that is installed.

    python benchmarks/audit_all.py
    python benchmarks/audit_all.py --random 500 --seed 1 --solver cvc5

Prints how many certificates and questions each solver confirms, contradicts, does not know, or has no words
for (Bitwuzla knows bit-vectors only), and names those that are contradicted or not known. Exit code 1: there
are such.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import tileproof as tp
from tests import test_public_cases
from tests.proofs.certified import described
from tileproof.errors import TileproofError
from tileproof.fuzz.build import checked
from tileproof.fuzz.families import generate, mnemonics
from tileproof.fuzz.generate.choices import Choices
from tileproof.proofs.audit import Audit, Status, audit, read
from tileproof.proofs.certificate import certificate_text
from tileproof.proofs.report import Report
from tileproof.proofs.solvers import SOLVERS, SolverError, version
from tileproof.spec.files import check_file

ROOT = Path(__file__).resolve().parent.parent

Named = Iterator[tuple[str, Report]]


def described_views() -> Named:
    for name, call in described().items():
        yield name, call()


def public_cases() -> Named:
    """Every check that the tests of the public cases make."""
    found: list[Report] = []
    check = tp.check

    def recorded(*arguments: object, **keywords: object) -> Report:
        found.append(check(*arguments, **keywords))  # type: ignore[arg-type]
        return found[-1]

    tp.check = recorded
    try:
        for name, test in inspect.getmembers(test_public_cases, inspect.isfunction):
            if name.startswith("test_") and not inspect.signature(test).parameters:
                found.clear()
                test()
                yield from ((f"{name} {n}", report) for n, report in enumerate(found))
    finally:
        tp.check = check


def examples() -> Named:
    for path in sorted((ROOT / "examples").glob("[!_]*.*")):
        if path.suffix in (".toml", ".py"):
            for n, one in enumerate(check_file(path)):
                yield f"{path.name} {n}", one.report


def random_views(seed: int, count: int) -> Named:
    """``count`` random views of each family that the oracle generates."""
    for family in mnemonics():
        for number in range(count):
            call = generate(family, Choices.seeded((seed << 40) + number))
            try:
                yield f"{family} {number}", checked(call)
            except TileproofError:
                continue  # not a view, so that there is nothing to prove


def audited(certificates: dict[str, str], solver: str) -> list[tuple[str, Audit, float]]:
    results = []
    for name, text in certificates.items():
        start = time.perf_counter()
        found = audit(read(text), solver)
        results.append((name, found, time.perf_counter() - start))
    return results


def told(results: list[tuple[str, Audit, float]]) -> bool:
    """Print what a solver came to; whether it contradicted nothing and knew all it has words for."""
    certificates = Counter(found.status for _, found, _ in results)
    questions = Counter(c.status for _, found, _ in results for c in found.confirmations)
    seconds = [s for _, _, s in results]
    print(f"\n{results[0][1].solver}: {sum(seconds):.1f} s, at most {max(seconds):.2f} s for a certificate")
    print(f"  {'':16} certificates  questions")
    for status in Status:
        print(f"  {status.value:16} {certificates[status]:12} {questions[status]:10}")
    doubtful = (Status.CONTRADICTED, Status.UNKNOWN)
    for name, found, _ in results:
        for c in found.confirmations:
            if c.status in doubtful:
                print(f"  {c.status.value}: {name}: {c.question.id}: {c.answer} {c.reason}")
    return not any(certificates[s] or questions[s] for s in doubtful)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--solver", action="append", choices=SOLVERS, help="by default all that are installed"
    )
    parser.add_argument("--random", type=int, default=0, help="so many random views of each family as well")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()

    start = time.perf_counter()
    certificates: dict[str, str] = {}
    for source, reports in (
        ("described views", described_views()),
        ("public cases", public_cases()),
        ("examples", examples()),
        ("random views", random_views(chosen.seed, chosen.random)),
    ):
        before = len(certificates)
        verdicts: Counter[str] = Counter()
        for name, report in reports:
            if report.findings:
                certificates[f"{source}: {name}"] = certificate_text(report)
                verdicts[report.verdict.value] += 1
        counts = ", ".join(f"{n} {verdict}" for verdict, n in sorted(verdicts.items()))
        print(f"{source:16} {len(certificates) - before:5} certificates  {counts}")
    size = sum(map(len, certificates.values())) / len(certificates) / 1024
    print(f"written in {time.perf_counter() - start:.1f} s, {size:.0f} KiB each")

    good = True
    for solver in chosen.solver or SOLVERS:
        try:
            version(solver)
        except SolverError as error:
            print(f"\n{error}")
        else:
            good = told(audited(certificates, solver)) and good
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
