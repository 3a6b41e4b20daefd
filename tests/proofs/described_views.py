"""Calls described as plain data (``tests/data/described-views.json``), built as tileproof objects.

Each entry has the right verdict (``expect``) and the reason. Expressions and statements are keys into the
tables below, so nothing is evaluated from text.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tileproof as tp
from tileproof.layouts.axes import axis
from tileproof.layouts.index import Index, Relation, as_index
from tileproof.layouts.layout import Spec, Strided, TileLayout, factors
from tileproof.layouts.tensor import Tensor
from tileproof.layouts.view import View, ViewOperations

DATA = Path(__file__).parents[1] / "data" / "described-views.json"
INT32 = (-(2**31), 2**31 - 1)


def entries() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(DATA.read_text())
    return found


@dataclass
class Context:
    """Names in scope, and the facts that statements add."""

    names: dict[str, Any] = field(default_factory=dict)
    active: list[Relation] = field(default_factory=list)
    assume: list[Relation] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.names[name]
        except KeyError:
            raise AttributeError(name) from None


def _loop(
    name: str, stop: Callable[[Context], Any], start: Callable[[Context], Any] = lambda c: 0, step: int = 1
) -> Callable[[Context], None]:
    """A loop: a uniform count of iterations, and the threads that are still in it."""

    def enter(c: Context) -> None:
        first, last = as_index(start(c)), as_index(stop(c))
        trips = (
            None if first.value is None or last.value is None else -(-(last.value - first.value) // step) - 1
        )
        count = tp.symbol(name if step == 1 and first.value == 0 else f"{name}_count", 0, trips)
        c.names[name] = first + step * count
        if trips is None:
            c.active.append(c.names[name] < last)

    return enter


def _let(name: str, value: Callable[[Context], Any]) -> Callable[[Context], None]:
    return lambda c: c.names.__setitem__(name, value(c))


def _when(condition: Callable[[Context], Relation]) -> Callable[[Context], None]:
    return lambda c: c.active.append(condition(c))


def _varying(name: str) -> Index:
    return tp.symbol(name, 0, 1, uniform="thread")


STATEMENTS: dict[str, Callable[[Context], None]] = {
    "T.evaluate(0)": lambda c: None,
    "lin = T.cuda.linear_thread_id()": _let("lin", lambda c: c.tid),
    "j = n * 4": _let("j", lambda c: c.n * 4),
    "s = k % 3": _let("s", lambda c: c.k % 3),
    'x = T.cast(A1[tid], "int32")': _let("x", lambda c: tp.symbol("x", *INT32, uniform="thread")),
    "T.evaluate(T.assume(T.And(n % 4 == 0, T.And(n >= 0, n < 4000))))": lambda c: c.assume.extend(
        [c.n % 4 == 0, c.n >= 0, c.n < 4000]
    ),
    **{
        f"for i in T.serial({n})": _loop("i", lambda c, n=n: n)
        for n in (8, 16, 32, 64, 1000, 1025, 4096, 10000, 65536)
    },  # type: ignore[misc]
    **{f"for j in T.serial({n})": _loop("j", lambda c, n=n: n) for n in (2, 8, 16, 64)},  # type: ignore[misc]
    "for a in T.serial(64)": _loop("a", lambda c: 64),
    "for b in T.serial(64)": _loop("b", lambda c: 64),
    "for k in T.serial(4)": _loop("k", lambda c: 4),
    "for k in T.serial(8)": _loop("k", lambda c: 8),
    "for k in T.serial(n)": _loop("k", lambda c: c.n),
    "for i in T.serial(n)": _loop("i", lambda c: c.n),
    "for i in T.serial(n // 4)": _loop("i", lambda c: c.n // 4),
    "for i in T.serial(lane)": _loop("i", lambda c: c.lane),
    "for i in T.serial(0, 64, step=4)": _loop("i", lambda c: 64, step=4),
    "for i in T.serial(0, 64, step=1)": _loop("i", lambda c: 64),
    "for i in T.serial(tid, 1024, step=32)": _loop("i", lambda c: 1024, lambda c: c.tid, 32),
    "for i in T.serial(T.int8(0), T.int8(64))": _loop("i", lambda c: 64),
    "for i in T.vectorized(4)": _loop("i", lambda c: 4),
    "if lane < 16": _when(lambda c: c.lane < 16),
    "else if lane < 16": _when(lambda c: ~(c.lane < 16)),
    "if lane % 2 == 0": _when(lambda c: c.lane % 2 == 0),
    "if lane < n": _when(lambda c: c.lane < c.n),
    "if tid < 64": _when(lambda c: c.tid < 64),
    "if lin < 64": _when(lambda c: c.lin < 64),
    "if tid < 40": _when(lambda c: c.tid < 40),
    "if tid % 32 < 12": _when(lambda c: c.tid % 32 < 12),
    "if warp < 2": _when(lambda c: c.warp < 2),
    "if warp % 2 == 0": _when(lambda c: c.warp % 2 == 0),
    "if warp < n": _when(lambda c: c.warp < c.n),
    "if A1[lane, 0] > T.uint32(7)": _when(lambda c: _varying("loaded") == 1),
    "if A1[0, lane % 8, 0] > T.uint32(3)": _when(lambda c: _varying("loaded") == 1),
    "if T.cuda.elect_sync()": _when(lambda c: _varying("elected") == 1),
    "if n >= 0": _when(lambda c: c.n >= 0),
    "if n % 4 == 0": _when(lambda c: c.n % 4 == 0),
    "if n < 4000": _when(lambda c: c.n < 4000),
    "if n < 1000": _when(lambda c: c.n < 1000),
    "if n < 64": _when(lambda c: c.n < 64),
    "if n < 40": _when(lambda c: c.n < 40),
    "if n < 3": _when(lambda c: c.n < 3),
    "if m >= 4": _when(lambda c: c.m >= 4),
    "if m % 4 == 0": _when(lambda c: c.m % 4 == 0),
    "if i % 4 == 0": _when(lambda c: c.i % 4 == 0),
    "if 4*i + 4 <= n": _when(lambda c: 4 * c.i + 4 <= c.n),
    "if x >= 0": _when(lambda c: c.x >= 0),
    "if x < 1000": _when(lambda c: c.x < 1000),
}

EXPRESSIONS: dict[str, Callable[[Context], Any]] = {
    "i": lambda c: c.i,
    "j": lambda c: c.j,
    "k": lambda c: c.k,
    "m": lambda c: c.m,
    "n": lambda c: c.n,
    "s": lambda c: c.s,
    "tid": lambda c: c.tid,
    "4*n": lambda c: 4 * c.n,
    "4*m": lambda c: 4 * c.m,
    "4*i": lambda c: 4 * c.i,
    "4*x": lambda c: 4 * c.x,
    "k % 3": lambda c: c.k % 3,
    "(k % 3) * 256": lambda c: (c.k % 3) * 256,
    "(i//2)*8": lambda c: (c.i // 2) * 8,
    "((i >> 1) << 3)": lambda c: (c.i >> 1) << 3,
    "(i & -4)": lambda c: c.i & -4,
    "((tid ^ 1) * 4)": lambda c: (c.tid ^ 1) * 4,
    "tid*4": lambda c: c.tid * 4,
    "tid // 8": lambda c: c.tid // 8,
    "(tid % 8) * 4": lambda c: c.tid % 8 * 4,
    "tid*2": lambda c: c.tid * 2,
    "blk*128+tid*4": lambda c: tp.symbol("blk", 0, 31, uniform="cta") * 128 + c.tid * 4,
    "T.min(4*i, 60)": lambda c: tp.minimum(4 * c.i, 60),
    "T.if_then_else(n > 3, 0, 4)": lambda c: tp.select(c.n > 3, 0, 4),
    "2*i+2*j": lambda c: 2 * c.i + 2 * c.j,
    "4*i+j": lambda c: 4 * c.i + c.j,
    'T.cast(i, "int64")*T.int64(4)': lambda c: tp.cast(c.i, 64) * 4,
    "i*j*4": lambda c: c.i * c.j * 4,
    "i*i*4": lambda c: c.i * c.i * 4,
    "n*(n+1)*2": lambda c: c.n * (c.n + 1) * 2,
    "lane // 8": lambda c: c.lane // 8,
    "(lane % 8) * 4": lambda c: (c.lane % 8) * 4,
    'T.cast(T.cast(i, "uint32") - T.uint32(4), "uint32")': lambda c: tp.cast(c.i - 4, 32, signed=False),
    '(T.cast(i, "uint32") - T.uint32(4)) * T.uint32(4)': lambda c: tp.cast((c.i - 4) * 4, 32, signed=False),
    'T.cast(T.cast(i*16, "uint8"), "int32")': lambda c: tp.cast(tp.cast(c.i * 16, 8, signed=False), 32),
    "((4*i) | 8)": lambda c: (4 * c.i) | 8,
    "T.truncmod(i - 8, 4) * 4": lambda c: tp.truncmod(c.i - 8, 4) * 4,
    "(n % 16) * 4": lambda c: (c.n % 16) * 4,
    "(n % 16) * 2": lambda c: (c.n % 16) * 2,
    "(((tid >> 2) ^ (tid & 3)) * 4)": lambda c: ((c.tid >> 2) ^ (c.tid & 3)) * 4,
    "((i ^ j ^ a ^ b) * 4)": lambda c: (c.i ^ c.j ^ c.a ^ c.b) * 4,
    "((i ^ j) * 4) + (i // 4095) * 2": lambda c: (c.i ^ c.j) * 4 + (c.i // 4095) * 2,
    "((n*n) % 16) * 4": lambda c: ((c.n * c.n) % 16) * 4,
    "T.max(T.min((n * 3) // 4, 100), 0) * 4": lambda c: tp.maximum(tp.minimum((c.n * 3) // 4, 100), 0) * 4,
    "T.if_then_else(n + 1 > n, 0, -4)": lambda c: tp.select(c.n + 1 > c.n, 0, -4),
    'T.cast(T.min(T.cast(n, "uint32") * T.uint32(4), T.uint32(400)), "int32")': lambda c: tp.cast(
        tp.minimum(tp.cast(tp.cast(c.n, 32, signed=False) * 4, 32, signed=False), 400), 32
    ),
    'T.cast(T.cast(i*4, "int16"), "int32")': lambda c: tp.cast(tp.cast(c.i * 4, 16), 32),
    'T.cast(T.cast(i, "bool"), "int32") * 4': lambda c: tp.select(c.i != 0, 1, 0) * 4,
    "T.truncdiv(i - 5, 2) * 4 + 8": lambda c: tp.truncdiv(c.i - 5, 2) * 4 + 8,
    'T.cast(i, "int32") * 4': lambda c: tp.cast(c.i, 32) * 4,
    'T.cuda.thread_idx("y")*4': lambda c: tp.ty * 4,
}


def _number(text: Any, context: Context) -> Any:
    if isinstance(text, int) or text.lstrip("-").isdigit():
        return int(text)
    return EXPRESSIONS[text](context)


def _layout(operand: dict[str, Any]) -> TileLayout | None:
    if not operand.keys() & {"strides", "iters", "offset", "replica", "swizzle"}:
        return None
    if "iters" in operand:
        parts = operand["iters"]
    else:
        strides = operand.get("strides")
        if strides is None:
            strides, step = [], 1
            for n in reversed(operand["shape"]):
                strides.insert(0, step)
                step *= n
        parts = list(zip(operand["shape"], strides, operand.get("axes", ["m"] * len(strides)), strict=True))
    spec = Spec(
        factors([p[0] for p in parts], [Strided(as_index(p[1]), axis(p[2])) for p in parts]),
        factors(
            [r[0] for r in operand.get("replica", [])],
            [Strided(as_index(r[1]), axis(r[2])) for r in operand.get("replica", [])],
            "R",
        ),
        tuple(Strided(as_index(v), axis(a)) for a, v in operand.get("offset", {}).items()),
    )
    swizzle = operand.get("swizzle")
    return TileLayout(spec, tp.Swizzle.from_reference(*swizzle) if swizzle else None)


def _operand(position: int, entry: dict[str, Any], context: Context) -> ViewOperations:
    o = entry["operands"][position]
    name = o.get("name", f"A{position}")
    space = {"local": "registers"}.get(o["space"], o["space"])
    if entry["opcode"].startswith("ld.param") and space == "global":
        space = "param"
    dtype = o.get("dtype", "uint32")
    shape = tuple(_number(n, context) for n in o["shape"])
    align = o.get("align", 16 if space == "param" else None)
    made: Tensor
    if "backing" in o:
        elements, at = o["backing"]
        made = tp.tensor(f"{name}_raw", (elements,), dtype, space, align=align).declare(
            shape, layout=_layout(o), at=at, name=name
        )
    else:
        made = tp.tensor(name, shape, dtype, space, layout=_layout(o), align=align)
    view: View = made.as_view()
    if "rearrange" in o:
        view = view.rearrange(o["rearrange"], **o.get("sizes", {}))
    if "start" in o:
        extents = [_number(e, context) for e in o["extent"]]
        view = view.sub([_number(s, context) for s in o["start"]], extents)
    return view


def build(entry: dict[str, Any]) -> tuple[str, list[ViewOperations], dict[str, Any]]:
    """Opcode, operands and keywords of ``tp.check`` for a described view. May raise what a bad view raises."""
    context = Context({"tid": tp.tx.as_index(), "lane": tp.laneid.as_index(), "warp": tp.warpid.as_index()})
    for name in entry.get("symbols", []):
        context.names[name] = tp.symbol(name, *INT32)
    for statement in entry.get("context", []):
        STATEMENTS[statement](context)
    operands = [_operand(p, entry, context) for p in range(len(entry["operands"]))]
    block = entry["block"]
    keywords = {
        "scope": entry["scope"],
        "block": block if isinstance(block, int) else tuple(block),
        "active": tuple(context.active),
        "assume": tuple(context.assume),
        **entry.get("parameters", {}),
    }
    if "int32" in entry["name"] and entry["expect"] == "reject":
        # These say that the index arithmetic is done in 32 bits.
        keywords["index_bits"] = 32
    return entry["opcode"], operands, keywords
