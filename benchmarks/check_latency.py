"""How long a check takes: for each call, cold in a fresh process, warm, and over growing repeats.

    python benchmarks/check_latency.py

Prints medians in milliseconds and exits with 1 when a bar is missed: 1 ms for a warm check, 1.5 between the
largest and the smallest number of repeats, 0.4 s for the first check of a process, imports included.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import tileproof as tp
from tileproof import S, TileLayout, laneid, warpid
from tileproof.layouts.view import View
from tileproof.proofs.report import Report

Check = Callable[[], Report]
REPEATS = (1, 16, 256, 4096)
WARM_MS, FLAT, FIRST_S = 1.0, 1.5, 0.4


def loads_128_bit(repeats: int) -> Check:
    """64 threads, ``repeats`` 128-bit loads each, register slots two apart."""
    layout = TileLayout(S[(2, 32, repeats, 4) : (1 @ warpid, 1 @ laneid, 8, 2)])
    registers = tp.tensor("R", (2, 32, repeats, 4), "float32", "registers", layout=layout)
    memory = tp.tensor("A", (2, 32, repeats, 4), "float32")
    return lambda: tp.check("ld.global.v4.b32", registers, memory, scope="cta", block=64)


def stores_128_bit(repeats: int) -> Check:
    layout = TileLayout(S[(2, 32, repeats, 4) : (1 @ warpid, 1 @ laneid, 8, 2)])
    registers = tp.tensor("R", (2, 32, repeats, 4), "float32", "registers", layout=layout)
    memory = tp.tensor("A", (2, 32, repeats, 4), "float32")
    return lambda: tp.check("st.global.v4.b32", memory, registers, scope="cta", block=64)


def rearranged_loads(repeats: int) -> Check:
    """The reference's ``(15, 2, 7, 2)`` tensor with its outer extent as the number of repeats."""
    original = TileLayout(S[(repeats, 2, 7, 2) : (4, 1, 4 * repeats, 2)])
    memory = tp.tensor("A", (repeats, 2, 7, 2), "float32", layout=original)
    registers = tp.tensor(
        "R", (repeats, 2, 7, 2), "float32", "registers",
        layout=TileLayout(S[(repeats, 2, 7, 2) : (8, 2, 8 * repeats, 4)]),
    )  # fmt: skip
    pattern = "i b j d -> j i (d b)"
    source, target = memory.rearrange(pattern), registers.rearrange(pattern)
    return lambda: tp.check("ld.global.v4.b32", target, source)


def _fragment(repeats: int, count: int) -> tuple[View, View]:
    shared = tp.tensor(
        "SM",
        (16, 4, repeats),
        "uint32",
        "shared",
        layout=TileLayout(S[(16, 4, repeats) : (8, 1, 128)]),
        align=16,
    )
    layout = TileLayout(S[(repeats, count, 8, 4) : (8, 2, 4 @ laneid, 1 @ laneid)])
    registers = tp.tensor("R", (repeats, count, 8, 4), "uint32", "registers", layout=layout)
    return registers.as_view(), shared.rearrange("(r m) w k -> k m r w", r=8, m=2)


def interleaved_ldmatrix(repeats: int) -> Check:
    registers, shared = _fragment(repeats, 2)
    return lambda: tp.check("ldmatrix.sync.aligned.m8n8.x2.shared.b16", registers, shared, scope="warp")


def interleaved_stmatrix(repeats: int) -> Check:
    registers, shared = _fragment(repeats, 2)
    return lambda: tp.check("stmatrix.sync.aligned.m8n8.x2.shared.b16", shared, registers, scope="warp")


def swizzled_ldmatrix(repeats: int) -> Check:
    """Rows of 128 bytes under the 128-byte swizzle, four matrices side by side."""
    layout = TileLayout(S[(repeats, 4, 8, 4) : (256, 4, 32, 1)], tp.Swizzle(3, 2, 3))
    shared = tp.tensor("SM", (repeats, 4, 8, 4), "uint32", "shared", layout=layout, align=1024)
    registers = tp.tensor(
        "R", (repeats, 4, 8, 4), "uint32", "registers",
        layout=TileLayout(S[(repeats, 4, 8, 4) : (4, 1, 4 @ laneid, 1 @ laneid)]),
    )  # fmt: skip
    return lambda: tp.check("ldmatrix.sync.aligned.m8n8.x4.shared.b16", registers, shared, scope="warp")


CALLS: dict[str, Callable[[int], Check]] = {
    f.__name__: f
    for f in (
        loads_128_bit,
        stores_128_bit,
        rearranged_loads,
        interleaved_ldmatrix,
        interleaved_stmatrix,
        swizzled_ldmatrix,
    )
}


def median_ms(check: Check, rounds: int = 200) -> float:
    report = check()
    if report.verdict is not tp.Verdict.PROVED:
        raise SystemExit(str(report))
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        check()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def first_check_seconds(name: str) -> float:
    """The first check of a fresh process: interpreter start excluded, every import included."""
    code = (
        "import time; start = time.perf_counter(); import sys; sys.path.insert(0, sys.argv[1]); import check_latency; "
        f"check_latency.CALLS[{name!r}](2)(); print(time.perf_counter() - start)"
    )
    times = []
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", code, str(__file__).rpartition("/")[0] or "."],
            capture_output=True,
            text=True,
            check=True,
        )
        times.append(float(done.stdout))
    return statistics.median(times)


def main() -> int:
    missed = []
    print(f"{'call':24}" + "".join(f"{f'{n} rep':>10}" for n in REPEATS) + f"{'flat':>8}{'first':>10}")
    for name, make in CALLS.items():
        times = [median_ms(make(n)) for n in REPEATS]
        flat = max(times) / min(times)
        first = first_check_seconds(name)
        print(f"{name:24}" + "".join(f"{t:10.3f}" for t in times) + f"{flat:8.2f}{first:9.3f}s")
        if max(times) > WARM_MS or flat > FLAT or first > FIRST_S:
            missed.append(name)
    print("all bars met" if not missed else f"bars missed: {', '.join(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
