"""The calls whose checks are timed, as plain data in the form of ``tests/data/described-views.json``.

Each call comes in several sizes, and each size is one legal view. From the same data come the views that are
checked here and the script that the peer checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Entry = dict[str, Any]

REPEATS = (1, 4, 16, 64, 256, 1024, 4096)
FEWER = (1, 8, 64, 512)
SWIZZLE_128_BYTES = [2, 3, 3]
"""Of 32-bit words, in the order of the reference: log2 of the words of a chunk, bits, distance."""


@dataclass(frozen=True)
class Timed:
    """One call in growing sizes; ``entries`` maps what is told of a size to its view, smallest first."""

    name: str
    entries: dict[str, Entry]


def _timed(name: str, make: Callable[..., Entry], sizes: Iterable[Sequence[int]], told: str) -> Timed:
    entries = {told.format(*size): make(*size) | {"name": name, "expect": "accept"} for size in sizes}
    return Timed(name, entries)


def _ordered(opcode: str, registers: Entry, memory: Entry) -> list[Entry]:
    """Operands in PTX order: the destination first."""
    return [registers, memory] if opcode.startswith("ld") else [memory, registers]


# Loads and stores


def _moved(opcode: str, space: str, swizzled: bool, warps: int | None, lanes: int | None, n: int) -> Entry:
    """``n`` 128-bit accesses of each thread to compact memory; registers in slots 4 apart."""
    group = {"warpid": warps, "laneid": lanes}
    axes = [name for name, extent in group.items() if extent]
    shape = [*(extent for extent in group.values() if extent), n, 4]
    registers: Entry = {"space": "local", "shape": shape}
    if axes:
        registers |= {"strides": [1] * len(axes) + [4, 1], "axes": [*axes, "m", "m"]}
    memory: Entry = {"space": space, "shape": shape}
    if space == "shared":
        memory["align"] = 1024
    if swizzled:
        memory["swizzle"] = SWIZZLE_128_BYTES
    return {
        "opcode": f"{opcode}.{space}.v4.b32",
        "scope": "cta" if warps else "warp" if lanes else "thread",
        # Further threads of the block would store to the same place.
        "block": 32 * (warps or 1) if lanes or opcode == "ld" else 1,
        "operands": _ordered(opcode, registers, memory),
    }


def _thread(opcode: str, space: str, swizzled: bool = False) -> Timed:
    return _timed(
        f"{opcode}.{space}.v4 thread{' swizzled' if swizzled else ''}",
        lambda n: _moved(opcode, space, swizzled, None, None, n),
        [(n,) for n in REPEATS],
        "{} repeats",
    )


def _warp(opcode: str, space: str, swizzled: bool, repeats: Sequence[int]) -> Timed:
    return _timed(
        f"{opcode}.{space}.v4 warp{' swizzled' if swizzled else ''}",
        lambda n: _moved(opcode, space, swizzled, None, 32, n),
        [(n,) for n in repeats],
        "{} repeats",
    )


def _cta(opcode: str, space: str, swizzled: bool, sizes: Sequence[tuple[int, int]]) -> Timed:
    return _timed(
        f"{opcode}.{space}.v4 cta{' swizzled' if swizzled else ''}",
        lambda warps, n: _moved(opcode, space, swizzled, warps, 32, n),
        sizes,
        "{} warps, {} repeats",
    )


def _rearranged(n: int) -> Entry:
    """The reference's ``(15, 2, 7, 2)`` tensor with its outer extent as the number of repeats."""
    pattern = "i b j d -> j i (d b)"
    shape = [n, 2, 7, 2]
    registers = {"space": "local", "shape": shape, "strides": [8, 2, 8 * n, 4], "rearrange": pattern}
    memory = {"space": "global", "shape": shape, "strides": [4, 1, 4 * n, 2], "rearrange": pattern}
    return {"opcode": "ld.global.v4.b32", "scope": "thread", "block": 32, "operands": [registers, memory]}


# Matrices


def _matrices(opcode: str, count: int, swizzled: bool, n: int) -> Entry:
    """``n`` times ``count`` matrices; swizzled ones side by side in rows of 128 bytes."""
    shape = [n, count, 8, 4]
    registers = {
        "space": "local",
        "shape": shape,
        "strides": [count, 1, 4, 1],
        "axes": ["m", "m", "laneid", "laneid"],
    }
    memory: Entry = {"space": "shared", "shape": shape, "align": 1024}
    if swizzled:
        memory |= {"strides": [256, 4, 32, 1], "swizzle": SWIZZLE_128_BYTES}
    return {
        "opcode": f"{opcode}.sync.aligned.m8n8.x{count}.shared.b16",
        "scope": "warp",
        "block": 32,
        "operands": _ordered(opcode, registers, memory),
    }


def _matrix(opcode: str, count: int, swizzled: bool = False) -> Timed:
    return _timed(
        f"{opcode}.x{count}{' swizzled' if swizzled else ''}",
        lambda n: _matrices(opcode, count, swizzled, n),
        [(n,) for n in FEWER],
        "{} repeats",
    )


def _interleaved(opcode: str, n: int) -> Entry:
    """The reference's interleaved pair of matrices, rearranged from rows that alternate between the two."""
    registers = {
        "space": "local",
        "shape": [n, 2, 8, 4],
        "strides": [8, 2, 4, 1],
        "axes": ["m", "m", "laneid", "laneid"],
    }
    memory = {
        "space": "shared",
        "shape": [16, 4, n],
        "strides": [8, 1, 128],
        "align": 16,
        "rearrange": "(r m) w k -> k m r w",
        "sizes": {"r": 8, "m": 2},
    }
    return {
        "opcode": f"{opcode}.sync.aligned.m8n8.x2.shared.b16",
        "scope": "warp",
        "block": 32,
        "operands": _ordered(opcode, registers, memory),
    }


def _interleaving(opcode: str) -> Timed:
    sizes = [(n,) for n in FEWER]
    return _timed(f"{opcode}.x2 interleaved", lambda n: _interleaved(opcode, n), sizes, "{} repeats")


# Asynchronous copies


def _copied(swizzled: bool, warps: int, n: int) -> Entry:
    """``n`` chunks of 16 bytes of each thread, compact on both sides."""
    shape = [warps, 32, n, 8]
    shared: Entry = {"space": "shared", "shape": shape, "dtype": "float16", "align": 1024}
    if swizzled:
        shared["swizzle"] = [3, 3, 3]
    return {
        "opcode": "cp.async.cg.shared.global",
        "scope": "cta",
        "block": 32 * warps,
        "operands": [shared, {"space": "global", "shape": shape, "dtype": "float16"}],
        "parameters": {"chunk_bytes": 16},
    }


def _copy(swizzled: bool) -> Timed:
    return _timed(
        f"cp.async.cg cta{' swizzled' if swizzled else ''}",
        lambda warps, n: _copied(swizzled, warps, n),
        [(1, 1), (4, 4), (4, 16), (8, 16)],
        "{} warps, {} repeats",
    )


def _copied_stage(n: int) -> Entry:
    """A chunk of each of ``n`` threads, into a stage of a ring buffer whose loop has no known end."""
    chunk: Entry = {"extent": [1, 1, 4]}
    shared = {"space": "shared", "align": 1024, "shape": [3, n // 8, 32], "swizzle": SWIZZLE_128_BYTES}
    source = {"space": "global", "shape": [4096, n // 8, 32]}
    return {
        "opcode": "cp.async.cg.shared.global",
        "scope": "thread",
        "block": n,
        "symbols": ["n"],
        "context": ["if n < 4000", "for k in T.serial(n)"],
        "operands": [
            shared | chunk | {"start": ["k % 3", "tid // 8", "(tid % 8) * 4"]},
            source | chunk | {"start": ["k", "tid // 8", "(tid % 8) * 4"]},
        ],
        "parameters": {"chunk_bytes": 16},
    }


# Symbolic starts


def _thread_load(space: str, memory: Entry, shape: Sequence[int], **where: Any) -> Entry:
    operands = [{"space": "local", "shape": list(shape)}, {"space": space} | memory]
    return {"opcode": f"ld.{space}.v4.b32", "scope": "thread", "block": 32, "operands": operands} | where


def _loop_start(n: int) -> Entry:
    memory = {"shape": [4 * n], "start": ["4*i"], "extent": [4]}
    return _thread_load("global", memory, [4], context=[f"for i in T.serial({n})"])


def _guarded_start(n: int) -> Entry:
    memory = {"shape": [4 * n], "start": ["4*n"], "extent": [4]}
    return _thread_load("global", memory, [4], symbols=["n"], context=["if n >= 0", f"if n < {n}"])


def _swizzled_rows(shape: Sequence[int], start: Sequence[Any], extent: Sequence[int]) -> Entry:
    return {
        "shape": list(shape),
        "align": 1024,
        "swizzle": SWIZZLE_128_BYTES,
        "start": list(start),
        "extent": list(extent),
    }


def _row_of_a_thread(n: int) -> Entry:
    memory = _swizzled_rows([n, 32], ["tid", 0], [1, 4])
    return _thread_load("shared", memory, [1, 4], block=n)


def _guarded_row(n: int) -> Entry:
    memory = _swizzled_rows([n, 32], ["n", 0], [1, 4])
    return _thread_load("shared", memory, [1, 4], symbols=["n"], context=["if n >= 0", f"if n < {n}"])


def _stage(rows: int) -> Entry:
    """One chunk of each row of a stage of a ring buffer, whose loop has no known end."""
    memory = _swizzled_rows([3, rows, 32], ["k % 3", 0, 0], [1, rows, 4])
    return _thread_load("shared", memory, [1, rows, 4], symbols=["n"], context=["for k in T.serial(n)"])


def _stage_of_matrices(opcode: str, n: int) -> Entry:
    """Four matrices side by side in each of ``n`` tiles of a stage of a ring buffer, whose loop has no known
    end.
    """
    registers = {
        "space": "local",
        "shape": [1, n, 4, 8, 4],
        "iters": [[1, 1, "m"], [n, 4, "m"], [4, 1, "m"], [8, 4, "laneid"], [4, 1, "laneid"]],
    }
    memory = _swizzled_rows([3, n, 4, 8, 4], ["k % 3", 0, 0, 0, 0], [1, n, 4, 8, 4]) | {
        "space": "shared",
        "strides": [256 * n, 256, 4, 32, 1],
    }
    return {
        "opcode": f"{opcode}.sync.aligned.m8n8.x4.shared.b16",
        "scope": "warp",
        "block": 32,
        "symbols": ["n"],
        "context": ["for k in T.serial(n)"],
        "operands": _ordered(opcode, registers, memory),
    }


def _masked_row(n: int) -> Entry:
    """A loop index with its two lowest bits cleared, as a row of swizzled memory: bits that a solver mixes."""
    memory = _swizzled_rows([n, 32], ["(i & -4)", 0], [1, 4])
    return _thread_load("shared", memory, [1, 4], context=[f"for i in T.serial({n})"])


def _quadratic_start(n: int) -> Entry:
    """A start of degree two, which is a multiple of four words, in swizzled memory."""
    memory = _swizzled_rows([2 * n * n], ["n*(n+1)*2"], [4])
    return _thread_load("shared", memory, [4], symbols=["n"], context=["if n >= 0", f"if n < {n}"])


def _matrix_stage(opcode: str) -> Timed:
    return _timed(
        f"{opcode}.x4 swizzled, stage k % 3",
        lambda n: _stage_of_matrices(opcode, n),
        [(1,), (8,), (64,)],
        "{} tiles",
    )


def calls() -> list[Timed]:
    """Every call that is timed."""
    return [
        *(_thread(o, s) for o, s in (("ld", "global"), ("st", "global"), ("ld", "shared"), ("st", "shared"))),
        *(_thread(o, "shared", swizzled=True) for o in ("ld", "st")),
        _warp("ld", "global", False, (1, 16, 256, 4096)),
        _warp("st", "global", False, (1, 16, 256, 4096)),
        _warp("ld", "shared", True, (1, 16, 64)),
        _warp("st", "shared", True, (1, 16, 64)),
        _cta("ld", "global", False, [(2, 1), (4, 8), (32, 8), (32, 64)]),
        _cta("st", "global", False, [(2, 1), (4, 8), (32, 8), (32, 64)]),
        _cta("ld", "shared", True, [(2, 1), (4, 4), (4, 16), (8, 16)]),
        _cta("st", "shared", True, [(2, 1), (4, 4), (4, 16), (8, 16)]),
        _timed("ld.global.v4 rearranged", _rearranged, [(n,) for n in REPEATS], "{} repeats"),
        *(_matrix(o, x, w) for o in ("ldmatrix", "stmatrix") for w in (False, True) for x in (1, 2, 4)),
        *(_interleaving(o) for o in ("ldmatrix", "stmatrix")),
        _timed("ld.global.v4 at 4*i", _loop_start, [(n,) for n in (8, 64, 4096, 65536)], "i < {}"),
        _timed("ld.global.v4 at 4*n", _guarded_start, [(64,), (1000,), (4000,)], "0 <= n < {}"),
        _timed("ld.shared.v4 swizzled, row n", _guarded_row, [(64,), (1000,)], "0 <= n < {}"),
        _timed("ld.shared.v4 swizzled, row tid", _row_of_a_thread, [(32,), (128,), (1024,)], "{} threads"),
        _timed("ld.shared.v4 swizzled, stage k % 3", _stage, [(n,) for n in (8, 64, 512)], "{} rows"),
        _timed("ld.shared.v4 swizzled, row i & -4", _masked_row, [(64,), (1000,)], "i < {}"),
        _timed("ld.shared.v4 swizzled, at n*(n+1)*2", _quadratic_start, [(40,), (64,)], "0 <= n < {}"),
        *(_matrix_stage(o) for o in ("ldmatrix", "stmatrix")),
        *(_copy(w) for w in (False, True)),
        _timed(
            "cp.async.cg swizzled, stage k % 3", _copied_stage, [(n,) for n in (32, 256, 1024)], "{} threads"
        ),
    ]
