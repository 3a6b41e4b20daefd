"""How long it takes to write a proven call as PTX: at most 50 ms for 4096 instructions, and linear in them.

    python benchmarks/emission.py

Each line is one call. Times are the medians of 5 emissions, of the processor, so that other work on the machine
does not count. ``linear`` is the time of the most repeats over that of the fewest, divided by how many times more
they are. Exits with 1 when a bar is missed; the bars are for ``ld.global.v4.b32``.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import tileproof as tp
from tileproof import S, Swizzle, TileLayout, laneid

COUNTS = (1024, 2048, 4096)
ROUNDS = 5
MOST_MS, MOST_OVER_LINEAR = 50.0, 1.25


@tp.scalar_function
def scaled(x: tp.float32, by: tp.float32) -> tp.float32:
    return x * by + x


def _registers(name: str, shape: tuple[int, ...], layout: TileLayout | None = None) -> tp.Tensor:
    return tp.tensor(name, shape, "float32", "registers", layout=layout)


def load(count: int) -> tp.Report:
    return tp.prove("ld.global.v4.b32", _registers("R", (count, 4)), tp.tensor("A", (count, 4), "float32"))


def swizzled(count: int) -> tp.Report:
    """Rows of 128 bytes, whose chunks are permuted: each address is computed on its own."""
    owned = TileLayout(S[(32, count, 4) : (1 @ laneid, 4, 1)])
    layout = TileLayout(S[(count, 32, 4) : (128, 4, 1)], Swizzle(3, 2, 3))
    memory = tp.tensor("A", (count, 32, 4), "float32", "shared", layout=layout, align=128)
    return tp.prove(
        "ld.shared.v4.b32", _registers("R", (32, count, 4), owned), memory.permute(1, 0, 2), scope="warp"
    )


def copy(count: int) -> tp.Report:
    shared = tp.tensor("Shared", (count, 4), "float32", "shared", align=16)
    source = tp.tensor("A", (count, 4), "float32")
    return tp.prove(
        "cp.async.cg.shared.global",
        shared,
        source,
        chunk_bytes=16,
        src_size=tp.symbol("n", 0, 16),
        hazards="ignore",
    )


def fused(count: int) -> tp.Report:
    made = _registers("R", (count, 1))
    return tp.prove("fma.rn.f32", made, made, tp.variable("alpha", "float32"), 2.5)


def composed(count: int) -> tp.Report:
    made = _registers("R", (count,))
    return tp.check_ewise(scaled, made, made, tp.variable("alpha", "float32"))


CALLS: dict[str, tuple[Callable[[int], tp.Report], str]] = {
    "ld.global.v4.b32": (load, "ptx"),
    "ld.shared.v4.b32, swizzled, warp": (swizzled, "ptx"),
    "cp.async.cg.shared.global": (copy, "ptx"),
    "fma.rn.f32 with scalars": (fused, "ptx"),
    "ewise x * by + x": (composed, "ptx"),
    "ld.global.v4.b32 in CUDA C++": (load, "cuda"),
}


def measured(reports: list[tp.Report], language: str) -> list[float]:
    """Milliseconds of processor time for each report; all are emitted in turn."""
    times: list[list[float]] = [[] for _ in reports]
    for _ in range(ROUNDS):
        for report, found in zip(reports, times, strict=True):
            gc.collect()
            start = time.thread_time()
            tp.emit(report, format=language)
            found.append((time.thread_time() - start) * 1e3)
    return list(map(statistics.median, times))


def main() -> int:
    print(f"{'ms for':34}{''.join(f'{count:>8}' for count in COUNTS)}  linear")
    found = {}
    for name, (prove, language) in CALLS.items():
        times = measured([prove(count) for count in COUNTS], language)
        found[name] = times[-1], times[-1] / times[0] / (COUNTS[-1] / COUNTS[0])
        print(f"{name:34}{''.join(f'{ms:8.1f}' for ms in times)}  {found[name][1]:.2f}")
    ms, linear = found["ld.global.v4.b32"]
    kept = ms <= MOST_MS and linear <= MOST_OVER_LINEAR
    print(
        f"{'kept' if kept else 'MISSED'}: {ms:.1f} ms of at most {MOST_MS:.0f}, {linear:.2f} of {MOST_OVER_LINEAR}"
    )
    return not kept


if __name__ == "__main__":
    raise SystemExit(main())
