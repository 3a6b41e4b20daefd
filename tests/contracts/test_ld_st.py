"""``ld`` and ``st``: every demand with the call that meets it by a hair and the one next to it that does not.

Who owns which register, hazards, and what is no call of the family at all are in the files beside this one.
"""

from __future__ import annotations

from typing import Any

import pytest

import tileproof as tp
from tests.contracts.calls import (
    PROVED,
    Neighbours,
    assert_neighbours,
    assert_told,
    check,
    failing,
    first_failure,
    memory,
    on,
    one,
    registers,
    swapped,
    words_from,
)  # fmt: skip
from tileproof import S, Swizzle, TileLayout, laneid, tx, warpid
from tileproof.contracts.grammar import resolve
from tileproof.layouts.view import View

FOUR = registers((4,))
WARP = registers((32, 4), (1 @ laneid, 1))
CTA = ((2, 32, 4), (1 @ warpid, 1 @ laneid, 1))


def symbol(name: str, lo: int | None = None, hi: int | None = None, **more: Any) -> Any:
    return tp.symbol(name, lo, hi, **more)


def declared(
    backing: int, shape: tuple[int, ...], at: Any, strides: Any = None, *, bits: int = 8, **more: Any
) -> Any:
    """A tensor declared over a backing of so many elements."""
    raw = tp.tensor("RAW", (backing,), f"b{bits}", **more)
    return raw.declare(
        shape, at=at, name="D", layout=None if strides is None else TileLayout(S[shape:strides])
    )


ACCESSES = [
    ("ld.global.b16", 16, 1, 2),
    ("ld.global.f32", 32, 1, 4),
    ("ld.global.u64", 64, 1, 8),
    ("ld.global.b128", 128, 1, 16),
    ("ld.global.v2.b8", 8, 2, 2),
    ("ld.shared.v2.b16", 16, 2, 4),
    ("ld.local.v2.s32", 32, 2, 8),
    ("ld.global.v2.b64", 64, 2, 16),
    ("ld.shared::cta.v4.b8", 8, 4, 4),
    ("ld.global.v4.b16", 16, 4, 8),
    ("ld.shared.v4.b32", 32, 4, 16),
    ("ld.global.v4.b64", 64, 4, 32),
    ("ld.global.v4.f64", 64, 4, 32),
    ("ld.global.v8.b32", 32, 8, 32),
    ("ld.global.v8.f32", 32, 8, 32),
]  # fmt: skip


@pytest.mark.parametrize(("opcode", "bits", "words", "size"), ACCESSES, ids=[a[0] for a in ACCESSES])
def test_aligned_to_the_whole_access(opcode: str, bits: int, words: int, size: int) -> None:
    space = resolve(opcode).get("space")
    space = "shared" if str(space).startswith("shared") else space
    regs = registers((words,), bits=bits)
    legal = memory((words,), bits=bits, space=space, align=size)
    assert tp.check(opcode, regs, legal).verdict is PROVED
    wrong = tp.check(opcode, regs, memory((words,), bits=bits, space=space, align=size // 2))
    assert failing(wrong) == {"aligned"}
    told = {
        "base": size // 2,
        "byte_address": 0,
        "needed": f"a multiple of {size} bytes",
        "found": f"byte address {size // 2}, which is {size // 2} modulo {size}",
        "lane": 0,
        "warp": 0,
        "repeat": (),
    }
    assert_told(first_failure(wrong, "aligned"), told)


def test_a_byte_is_always_aligned() -> None:
    assert tp.check("ld.global.b8", one(8), memory((1,), bits=8, align=1)).verdict is PROVED


I, N = symbol("i", 0, 40), symbol("n", 0, 4000)
K, NEGATIVE = symbol("k", 0, 3), symbol("j", -8, 8)

ALIGNED = [
    Neighbours("aligned", "start",
        on(FOUR, words_from(4 * I)), on(FOUR, words_from(2 * I)),
        {"symbols": {"i": 1}, "byte_address": 8, "base": 0, "storage": "A", "slot": None}),
    Neighbours("aligned", "declared divisor of a start",
        on(FOUR, words_from(symbol("s", 0, 64, multiple_of=4))),
        on(FOUR, words_from(symbol("s", 0, 64, multiple_of=2))),
        {"symbols": {"s": 2}, "byte_address": 8, "found": "byte address 8, which is 8 modulo 16"}),
    Neighbours("aligned", "assumed divisor of a start",
        on(FOUR, words_from(N), assume=N % 4 == 0), on(FOUR, words_from(N), assume=N % 2 == 0),
        {"symbols": {"n": 2}, "byte_address": 8}),
    Neighbours("aligned", "guarded divisor of a start",
        on(FOUR, words_from(N), active=N % 8 == 4), on(FOUR, words_from(N), active=N % 8 == 5),
        {"symbols": {"n": 5}, "byte_address": 20}),
    Neighbours("aligned", "predicated divisor of a start",
        on(FOUR, words_from(N), pred=N % 4 == 0), on(FOUR, words_from(N), pred=N % 4 <= 1),
        {"symbols": {"n": 1}, "byte_address": 4}),
    Neighbours("aligned", "rounded start",
        on(FOUR, words_from(I // 2 * 4)), on(FOUR, words_from(I // 2 * 3)), {"symbols": {"i": 2}, "byte_address": 12}),
    Neighbours("aligned", "symbolic stride",
        on(FOUR, memory((8, 4), (symbol("ld", 4, 64, multiple_of=4), 1))[K:K + 1, :].view(4)),
        on(FOUR, memory((8, 4), (symbol("ld", 4, 64, multiple_of=2), 1))[K:K + 1, :].view(4)),
        {"symbols": {"k": 1, "ld": 6}, "byte_address": 24}),
    Neighbours("aligned", "repeat stride",
        on(registers((3, 4)), memory((3, 4), (8, 1))), on(registers((3, 4)), memory((3, 4), (6, 1))),
        {"repeat": (1,), "byte_address": 24, "symbols": {}}),
    Neighbours("aligned", "second repeat axis",
        on(registers((2, 2, 4)), memory((2, 2, 4), (5 * 4, 4, 1))),
        on(registers((2, 2, 4)), memory((2, 2, 4), (5 * 4, 5, 1))), {"repeat": (0, 1), "byte_address": 20}),
    Neighbours("aligned", "lane stride",
        on(WARP, memory((32, 4), (4, 1)), scope="warp"), on(WARP, memory((32, 4), (5, 1)), scope="warp"),
        {"lane": 1, "warp": 0, "byte_address": 20}),
    Neighbours("aligned", "warp stride",
        on(registers(*CTA), memory((2, 32, 4), (132, 4, 1)), scope="cta", block=64),
        on(registers(*CTA), memory((2, 32, 4), (131, 4, 1)), scope="cta", block=64),
        {"lane": 0, "warp": 1, "byte_address": 524}),
    Neighbours("aligned", "thread's own start",
        on(FOUR, words_from(4 * tx), block=64), on(FOUR, words_from(4 * tx + tx // 63), block=64),
        {"lane": 31, "warp": 1, "byte_address": 4 * 253}),
    Neighbours("aligned", "declared base",
        on(FOUR, declared(64, (4,), 8, bits=32)), on(FOUR, declared(64, (4,), 9, bits=32)),
        {"byte_address": 36, "storage": "RAW", "base": 0}),
]  # fmt: skip
CONTIGUOUS = [
    Neighbours("contiguous", "gap",
        on(FOUR, memory((4,), (1,))), on(FOUR, memory((4,), (2,))),
        {"element": {"word": 1}, "needed": "byte offset 4", "found": "byte offset 8", "byte_address": 8}),
    Neighbours("contiguous", "gap in the middle",
        on(FOUR, memory((2, 2), (2, 1)).view(4)), on(FOUR, memory((2, 2), (3, 1)).view(4)),
        {"element": {"word": 2}, "needed": "byte offset 8", "found": "byte offset 12"}),
    Neighbours("contiguous", "reversed",
        on(FOUR, memory((4,), (1,), 4)), on(FOUR, memory((4,), (-1,), 4)),
        {"element": {"word": 1}, "needed": "byte offset 20", "found": "byte offset 12"}),
    Neighbours("contiguous", "one place for all words",
        on(FOUR, memory((4,), (1,))), on(FOUR, memory((1,)).broadcast(4)),
        {"element": {"word": 1}, "needed": "byte offset 4", "found": "byte offset 0"}),
    Neighbours("contiguous", "swizzle inside a vector",
        on(registers((2, 4)), memory((2, 4), swizzle=Swizzle(1, 2, 1))),
        on(registers((2, 4)), memory((2, 4), swizzle=Swizzle(1, 0, 1))),
        {"repeat": (0,), "element": {"word": 2}, "needed": "byte offset 8", "found": "byte offset 12"}),
    Neighbours("contiguous", "two words",
        on(registers((2,), bits=64), memory((2,), (1,), bits=64)),
        on(registers((2,), bits=64), memory((2,), (3,), bits=64)),
        {"element": {"word": 1}, "needed": "byte offset 8", "found": "byte offset 24"}, "ld.global.v2.b64"),
]  # fmt: skip
HALVES = tp.tensor("H", (8,), "b16", "registers")
REGISTERS = [
    Neighbours("whole-register", "halves of two registers",
        on(HALVES[2:6].view("b32"), memory((2,))), on(HALVES[1:5].view("b32"), memory((2,))),
        {"needed": "a multiple of 4 bytes", "found": "register offset 2 bytes", "slot": 0, "storage": "H"},
        "ld.global.v2.b32"),
    Neighbours("distinct", "repeats",
        on(registers((2, 4), (4, 1)), memory((2, 4))), on(registers((2, 4), (3, 1)), memory((2, 4))),
        {
            "slot": 3, "repeat": (0,), "found": "R slot 3 twice",
            "values": {"repeat0": 0, "word": 3, "repeat0'": 1, "word'": 0},
        }),
    Neighbours("distinct", "interleaved strides",
        on(registers((2, 4), (1, 2)), memory((2, 4))), on(registers((2, 4), (2, 2)), memory((2, 4))),
        {"slot": 2, "values": {"repeat0": 0, "word": 1, "repeat0'": 1, "word'": 0}}),
    Neighbours("distinct", "strides coprime to the other extent",
        on(registers((3, 2), (2, 3)), memory((3, 2))), on(registers((4, 2), (2, 6)), memory((4, 2))),
        {"slot": 6, "values": {"repeat0": 0, "word": 1, "repeat0'": 3, "word'": 0}}, "ld.global.v2.b32"),
    Neighbours("distinct", "swizzled",
        on(registers((4, 4), swizzle=Swizzle(2, 0, 2)), memory((4, 4))),
        on(registers((4, 4), (3, 1), swizzle=Swizzle(2, 0, 2)), memory((4, 4))),
        {"slot": 3, "values": {"repeat0": 0, "word": 3, "repeat0'": 1, "word'": 0}}),
    Neighbours("distinct", "broadcast",
        on(registers((1, 4)), memory((1, 4))), on(registers((1, 4)).broadcast(2, 4), memory((2, 4))),
        {"slot": 0, "repeat": (0,), "element": {"word": 0, "word'": 0}}),
    Neighbours("distinct", "words of one access",
        on(registers((4,), (5,)), memory((4,))), on(registers((4,), (0,)), memory((4,))),
        {"slot": 0, "element": {"word": 0, "word'": 1}}),
    Neighbours("distinct", "wide elements",
        on(registers((2, 2), (2, 1), bits=64), memory((2, 2), bits=64)),
        on(registers((2, 2), (1, 1), bits=64), memory((2, 2), bits=64)), {"slot": 1}, "ld.global.v2.b64"),
]  # fmt: skip
M, P = symbol("m", 0, 8, multiple_of=4), symbol("p", -4, 4, multiple_of=4)
BOUNDS = [
    Neighbours("in-bounds", "last word",
        on(FOUR, words_from(symbol("i", 0, 4, multiple_of=4), size=8)),
        on(FOUR, words_from(symbol("i", 0, 8, multiple_of=4), size=8)),
        {
            "symbols": {"i": 8}, "needed": "A, dimension 0: elements from 0 to 8",
            "found": "A, dimension 0: elements from 8 to 12", "storage": None,
        }),
    Neighbours("in-bounds", "one past the end",
        on(one(8), words_from(symbol("i", 0, 7), 1, 8, bits=8)),
        on(one(8), words_from(symbol("i", 0, 8), 1, 8, bits=8)),
        {"symbols": {"i": 8}, "found": "A, dimension 0: elements from 8 to 9"}, "ld.global.b8"),
    Neighbours("in-bounds", "first word",
        on(FOUR, words_from(symbol("i", 0, 4, multiple_of=4), size=8)),
        on(FOUR, words_from(symbol("i", -4, 4, multiple_of=4), size=8)),
        {"symbols": {"i": -4}, "found": "A, dimension 0: elements from -4 to 0"}),
    Neighbours("in-bounds", "outer dimension",
        on(FOUR, memory((5, 4))[symbol("r", 0, 4), :]), on(FOUR, memory((5, 4))[symbol("r", 0, 5), :]),
        {"symbols": {"r": 5}, "needed": "A, dimension 0: elements from 0 to 5"}),
    Neighbours("in-bounds", "inner dimension",
        on(FOUR, memory((5, 8))[1, M:M + 4], active=M < 8), on(FOUR, memory((5, 8))[1, M:M + 4], active=M < 9),
        {"symbols": {"m": 8}, "needed": "A, dimension 1: elements from 0 to 8"}),
    Neighbours("in-bounds", "steps of two",
        on(registers((2, 4)), memory((5, 4))[symbol("r", 0, 2):symbol("r", 0, 2) + 3:2, :]),
        on(registers((2, 4)), memory((5, 4))[symbol("r", 0, 3):symbol("r", 0, 3) + 3:2, :]),
        {"symbols": {"r": 3}, "found": "A, dimension 0: elements from 3 to 6"}),
    Neighbours("in-bounds", "region of registers",
        on(registers((2, 4))[symbol("r", 0, 1), :], memory((4,))),
        on(registers((2, 4))[symbol("r", 0, 2), :], memory((4,))),
        {"symbols": {"r": 2}, "needed": "R, dimension 0: elements from 0 to 2"}),
    Neighbours("in-bounds", "symbolic size",
        on(FOUR, tp.tensor("A", (symbol("n", 1),), "b32")[4 * K:4 * K + 4], active=4 * K + 4 <= symbol("n", 1)),
        on(FOUR, tp.tensor("A", (symbol("n", 1),), "b32")[4 * K:4 * K + 4], active=4 * K + 3 <= symbol("n", 1)),
        {"symbols": {"k": 0, "n": 3}, "found": "A, dimension 0: elements from 0 to 4"}),
    Neighbours("in-bounds", "thread coordinate",
        on(FOUR, memory((48, 4))[tx, :], block=48), on(FOUR, memory((48, 4))[tx, :], block=49),
        {"warp": 1, "lane": 16, "found": "A, dimension 0: elements from 48 to 49"}),
    Neighbours("in-bounds", "region of a region",
        on(FOUR, memory((64,))[16:48][M + 20:M + 24]), on(FOUR, memory((64,))[16:48][M + 24:M + 28]),
        {"symbols": {"m": 8}, "needed": "A, dimension 0: elements from 0 to 32"}),
]  # fmt: skip
S1 = symbol("s", 0, 63)
STORAGE = [
    Neighbours("in-storage", "one byte beyond",
        on(one(8), declared(65, (64,), 1)[S1:S1 + 1]), on(one(8), declared(64, (64,), 1)[S1:S1 + 1]),
        {
            "symbols": {"s": 63}, "byte_address": 64, "storage": "RAW", "needed": "bytes of RAW from 0 to 64",
            "found": "bytes of RAW from 64 to 65",
        },
        "ld.global.b8"),
    Neighbours("in-storage", "end of a vector",
        on(registers((4, 4)), declared(64, (4, 4), 48, bits=32)),
        on(registers((4, 4)), declared(64, (4, 4), 52, bits=32)),
        {"repeat": (3,), "byte_address": 256, "found": "bytes of RAW from 256 to 272"}),
    Neighbours("in-storage", "negative stride",
        on(registers((4, 1), bits=8), declared(8, (4, 1), 3, (-1, 1))),
        on(registers((4, 1), bits=8), declared(8, (4, 1), 2, (-1, 1))),
        {"repeat": (3,), "byte_address": -1, "found": "bytes of RAW from -1 to 0"}, "ld.global.b8"),
    Neighbours("in-storage", "symbolic offset",
        on(one(8), declared(8, (1,), symbol("at", 0, 7))), on(one(8), declared(8, (1,), symbol("at", 0, 8))),
        {"symbols": {"at": 8}, "byte_address": 8}, "ld.global.b8"),
    Neighbours("in-storage", "symbolic stride",
        on(registers((2, 1), bits=8), memory((2, 1), (symbol("ld", 0, 4), 1), bits=8)),
        on(registers((2, 1), bits=8), memory((2, 1), (symbol("ld", -1, 4), 1), bits=8)),
        {"symbols": {"ld": -1}, "repeat": (1,), "byte_address": -1}, "ld.global.b8"),
    Neighbours("in-storage", "registers",
        on(declared(12, (2, 4), 0, (8, 1), bits=32, space="registers"), memory((2, 4))),
        on(declared(12, (2, 4), 1, (8, 1), bits=32, space="registers"), memory((2, 4))),
        {"repeat": (1,), "element": {"word": 3}, "slot": 12, "storage": "RAW", "byte_address": None, "base": None}),
    Neighbours("in-storage", "half a register",
        on(tp.tensor("RAW", (8,), "b16", "registers").declare((4,), "b32", name="D"), memory((4,))),
        on(tp.tensor("RAW", (7,), "b16", "registers").declare((4,), "b32", name="D"), memory((4,))),
        {
            "element": {"word": 3}, "slot": 3, "found": "bytes of RAW from 12 to 16",
            "needed": "bytes of RAW from 0 to 14",
        }),
    Neighbours("in-storage", "storage of unknown size",
        on(FOUR, tp.tensor("A", (symbol("n", 4),), "b32", "shared", align=16).declare((4,), name="D")),
        on(FOUR, memory((symbol("n", 4),), (2,), space="shared").declare((4,), name="D")),
        {"found": "A, whose strides are symbolic"}, "ld.shared.v4.b32"),
]  # fmt: skip


def bytes_from(start: Any) -> View:
    return memory((1 << 62,), bits=8)[start : start + 1]


OVERFLOW = [
    Neighbours("no-overflow", "the last byte that 31 bits reach",
        on(one(8), bytes_from(symbol("i", 0, 2 ** 31 - 1)), index_bits=32),
        on(one(8), bytes_from(symbol("i", 0, 2 ** 31)), index_bits=32),
        {
            "symbols": {"i": 2 ** 31}, "byte_address": 2 ** 31, "needed": "a number from -2147483648 to 2147483647",
            "found": "2147483648",
        },
        "ld.global.b8"),
    Neighbours("no-overflow", "64 bits reach further",
        on(one(8), bytes_from(symbol("i", 0, 2 ** 31)), index_bits=64),
        on(one(8), bytes_from(symbol("i", 0, 2 ** 31)), index_bits=32), {"symbols": {"i": 2 ** 31}}, "ld.global.b8"),
    Neighbours("no-overflow", "as wide as it has to be by default",
        on(one(8), bytes_from(symbol("i", 0, 2 ** 40))), on(one(8), bytes_from(symbol("i", 0, 2 ** 40)), index_bits=32),
        {"symbols": {"i": 2 ** 31}}, "ld.global.b8"),
    Neighbours("no-overflow", "a guard keeps it narrow",
        on(one(8), bytes_from(symbol("i", 0)), index_bits=32, active=symbol("i", 0) < 2 ** 31),
        on(one(8), bytes_from(symbol("i", 0)), index_bits=32, active=symbol("i", 0) <= 2 ** 31),
        {"symbols": {"i": 2 ** 31}}, "ld.global.b8"),
    Neighbours("no-overflow", "what is divided",
        on(one(8), bytes_from(symbol("i", 0, 2 ** 31 - 1) // 3), index_bits=32),
        on(one(8), bytes_from(symbol("i", 0, 2 ** 31) // 3), index_bits=32),
        {"symbols": {"i": 2 ** 31}, "found": "2147483648", "byte_address": 2 ** 31 // 3}, "ld.global.b8"),
    Neighbours("no-overflow", "what is divided in 64 bits",
        on(one(8), bytes_from((symbol("i", 0, 2 ** 30 - 1) * 2 ** 33 + 1) // 3)),
        on(one(8), bytes_from((symbol("i", 0, 2 ** 30) * 2 ** 33 + 1) // 3)),
        {"symbols": {"i": 2 ** 30}, "found": str(2 ** 63 + 1), "needed": f"a number from {-2 ** 63} to {2 ** 63 - 1}"},
        "ld.global.b8"),
    Neighbours("no-overflow", "what is compared",
        on(one(8), bytes_from(tp.minimum(symbol("i", 0, 2 ** 31 - 1), 8)), index_bits=32),
        on(one(8), bytes_from(tp.minimum(symbol("i", 0, 2 ** 31), 8)), index_bits=32),
        {"symbols": {"i": 2 ** 31}, "byte_address": 8}, "ld.global.b8"),
    Neighbours("no-overflow", "below zero",
        on(one(8), bytes_from(tp.maximum(symbol("i", -2 ** 31, 8), 0)), index_bits=32),
        on(one(8), bytes_from(tp.maximum(symbol("i", -2 ** 31 - 1, 8), 0)), index_bits=32),
        {"symbols": {"i": -2 ** 31 - 1}, "byte_address": 0}, "ld.global.b8"),
]  # fmt: skip


@pytest.mark.parametrize("case", [*ALIGNED, *CONTIGUOUS, *REGISTERS, *BOUNDS, *STORAGE, *OVERFLOW], ids=str)
def test_load(case: Neighbours) -> None:
    assert_neighbours(case)


@pytest.mark.parametrize("case", [*ALIGNED, *CONTIGUOUS, *BOUNDS, *STORAGE, *OVERFLOW], ids=str)
def test_store(case: Neighbours) -> None:
    """A store demands the same of its memory, whoever writes there too."""
    opcode = case.opcode.replace("ld.", "st.", 1)
    assert check(opcode, swapped(case.legal), hazards="ignore").verdict is PROVED
    wrong = check(opcode, swapped(case.wrong), hazards="ignore")
    assert failing(wrong) == {case.demand}
    assert_told(first_failure(wrong, case.demand), {k: v for k, v in case.told.items() if k != "values"})


@pytest.mark.parametrize("case", [c for c in REGISTERS if c.demand == "distinct"], ids=str)
def test_store_from_one_register_to_many_places(case: Neighbours) -> None:
    """What is stored may come from anywhere; only whole registers are demanded."""
    opcode = case.opcode.replace("ld.", "st.", 1)
    assert check(opcode, swapped(case.wrong), block=1, hazards="error").verdict is PROVED


def test_store_takes_whole_registers() -> None:
    (case,) = (c for c in REGISTERS if c.demand == "whole-register")
    wrong = check("st.global.v2.b32", swapped(case.wrong), block=1)
    assert failing(wrong) == {"whole-register"}


def test_every_dimension_has_an_element() -> None:
    n = symbol("n", -1, 8)
    array = tp.tensor("A", (n,), "b8")[0:1]
    failures = tp.check("ld.global.b8", one(8), array).failures
    sentences = {f.obligation.sentence for f in failures}
    assert sentences == {
        "every dimension has at least one element",
        "a region lies inside its tensor's shape",
    }
    told = {
        "found": "A, size of dimension 0: elements from 0 to 1",
        "needed": "A, size of dimension 0: elements from 0 to 0",
    }
    (empty,) = (f for f in failures if f.obligation.sentence.startswith("every"))
    assert_told(empty, told)
    assert tp.check("ld.global.b8", one(8), array, active=n >= 1).verdict is PROVED
    assert failing(tp.check("ld.global.b8", one(8), array, active=n >= 0)) == {"in-bounds"}
