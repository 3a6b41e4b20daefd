"""``ld`` and ``st``: every demand with the call that meets it by a hair and the one next to it that does not."""

from __future__ import annotations

from typing import Any

import pytest

import tileproof as tp
from tests.contracts.calls import (
    PROVED,
    REFUTED,
    Neighbours,
    assert_hazard,
    assert_neighbours,
    assert_told,
    check,
    failing,
    first_failure,
    memory,
    on,
    registers,
    swapped,
)
from tileproof import R, S, Swizzle, TileLayout, laneid, tid_in_wg, tx, ty, warpid, wgid, wid_in_wg
from tileproof.contracts.grammar import resolve
from tileproof.errors import CallError
from tileproof.layouts.index import IndexLike
from tileproof.layouts.view import View, ViewOperations

FOUR = registers((4,))
WARP = registers((32, 4), (1 @ laneid, 1))
CTA = ((2, 32, 4), (1 @ warpid, 1 @ laneid, 1))


def symbol(name: str, lo: int | None = None, hi: int | None = None, **more: Any) -> Any:
    return tp.symbol(name, lo, hi, **more)


def words_from(start: IndexLike, count: int = 4, size: int = 4096, bits: int = 32) -> View:
    """``count`` words of a long array."""
    return memory((size,), bits=bits)[start : start + count]


def declared(
    backing: int, shape: tuple[int, ...], at: Any, strides: Any = None, *, bits: int = 8, **more: Any
) -> Any:
    """A tensor declared over a backing of so many elements."""
    raw = tp.tensor("RAW", (backing,), f"b{bits}", **more)
    return raw.declare(
        shape, at=at, name="D", layout=None if strides is None else TileLayout(S[shape:strides])
    )


def one(bits: int = 8) -> Any:
    return registers((1,), bits=bits)


ACCESSES = [
    # opcode, element bits, words, bytes that the whole access has
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
]


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
    assert tp.check("ld.global.b8", one(), memory((1,), bits=8, align=1)).verdict is PROVED


I, N = symbol("i", 0, 40), symbol("n", 0, 4000)
K, NEGATIVE = symbol("k", 0, 3), symbol("j", -8, 8)

ALIGNED = [
    Neighbours(
        "aligned",
        "start",
        on(FOUR, words_from(4 * I)),
        on(FOUR, words_from(2 * I)),
        {"symbols": {"i": 1}, "byte_address": 8, "base": 0, "storage": "A", "slot": None},
    ),
    Neighbours(
        "aligned",
        "declared divisor of a start",
        on(FOUR, words_from(symbol("s", 0, 64, multiple_of=4))),
        on(FOUR, words_from(symbol("s", 0, 64, multiple_of=2))),
        {"symbols": {"s": 2}, "byte_address": 8, "found": "byte address 8, which is 8 modulo 16"},
    ),
    Neighbours(
        "aligned",
        "assumed divisor of a start",
        on(FOUR, words_from(N), assume=N % 4 == 0),
        on(FOUR, words_from(N), assume=N % 2 == 0),
        {"symbols": {"n": 2}, "byte_address": 8},
    ),
    Neighbours(
        "aligned",
        "guarded divisor of a start",
        on(FOUR, words_from(N), active=(N % 8 == 4)),
        on(FOUR, words_from(N), active=(N % 8 == 5)),
        {"symbols": {"n": 5}, "byte_address": 20},
    ),
    Neighbours(
        "aligned",
        "predicated divisor of a start",
        on(FOUR, words_from(N), pred=N % 4 == 0),
        on(FOUR, words_from(N), pred=N % 4 <= 1),
        {"symbols": {"n": 1}, "byte_address": 4},
    ),
    Neighbours(
        "aligned",
        "rounded start",
        on(FOUR, words_from(I // 2 * 4)),
        on(FOUR, words_from(I // 2 * 3)),
        {"symbols": {"i": 2}, "byte_address": 12},
    ),
    Neighbours(
        "aligned",
        "symbolic stride",
        on(FOUR, memory((8, 4), (symbol("ld", 4, 64, multiple_of=4), 1))[K : K + 1, :].view(4)),
        on(FOUR, memory((8, 4), (symbol("ld", 4, 64, multiple_of=2), 1))[K : K + 1, :].view(4)),
        {"symbols": {"k": 1, "ld": 6}, "byte_address": 24},
    ),
    Neighbours(
        "aligned",
        "repeat stride",
        on(registers((3, 4)), memory((3, 4), (8, 1))),
        on(registers((3, 4)), memory((3, 4), (6, 1))),
        {"repeat": (1,), "byte_address": 24, "symbols": {}},
    ),
    Neighbours(
        "aligned",
        "second repeat axis",
        on(registers((2, 2, 4)), memory((2, 2, 4), (5 * 4, 4, 1))),
        on(registers((2, 2, 4)), memory((2, 2, 4), (5 * 4, 5, 1))),
        {"repeat": (0, 1), "byte_address": 20},
    ),
    Neighbours(
        "aligned",
        "lane stride",
        on(WARP, memory((32, 4), (4, 1)), scope="warp"),
        on(WARP, memory((32, 4), (5, 1)), scope="warp"),
        {"lane": 1, "warp": 0, "byte_address": 20},
    ),
    Neighbours(
        "aligned",
        "warp stride",
        on(registers(*CTA), memory((2, 32, 4), (132, 4, 1)), scope="cta", block=64),
        on(registers(*CTA), memory((2, 32, 4), (131, 4, 1)), scope="cta", block=64),
        {"lane": 0, "warp": 1, "byte_address": 524},
    ),
    Neighbours(
        "aligned",
        "thread's own start",
        on(FOUR, words_from(4 * tx), block=64),
        on(FOUR, words_from(4 * tx + tx // 63), block=64),
        {"lane": 31, "warp": 1, "byte_address": 4 * 253},
    ),
    Neighbours(
        "aligned",
        "declared base",
        on(FOUR, declared(64, (4,), 8, bits=32)),
        on(FOUR, declared(64, (4,), 9, bits=32)),
        {"byte_address": 36, "storage": "RAW", "base": 0},
    ),
]
CONTIGUOUS = [
    Neighbours(
        "contiguous",
        "gap",
        on(FOUR, memory((4,), (1,))),
        on(FOUR, memory((4,), (2,))),
        {"element": {"word": 1}, "needed": "byte offset 4", "found": "byte offset 8", "byte_address": 8},
    ),
    Neighbours(
        "contiguous",
        "gap in the middle",
        on(FOUR, memory((2, 2), (2, 1)).view(4)),
        on(FOUR, memory((2, 2), (3, 1)).view(4)),
        {"element": {"word": 2}, "needed": "byte offset 8", "found": "byte offset 12"},
    ),
    Neighbours(
        "contiguous",
        "reversed",
        on(FOUR, memory((4,), (1,), 4)),
        on(FOUR, memory((4,), (-1,), 4)),
        {"element": {"word": 1}, "needed": "byte offset 20", "found": "byte offset 12"},
    ),
    Neighbours(
        "contiguous",
        "one place for all words",
        on(FOUR, memory((4,), (1,))),
        on(FOUR, memory((1,)).broadcast(4)),
        {"element": {"word": 1}, "needed": "byte offset 4", "found": "byte offset 0"},
    ),
    Neighbours(
        "contiguous",
        "swizzle inside a vector",
        on(registers((2, 4)), memory((2, 4), swizzle=Swizzle(1, 2, 1))),
        on(registers((2, 4)), memory((2, 4), swizzle=Swizzle(1, 0, 1))),
        {"repeat": (0,), "element": {"word": 2}, "needed": "byte offset 8", "found": "byte offset 12"},
    ),
    Neighbours(
        "contiguous",
        "two words",
        on(registers((2,), bits=64), memory((2,), (1,), bits=64)),
        on(registers((2,), bits=64), memory((2,), (3,), bits=64)),
        {"element": {"word": 1}, "needed": "byte offset 8", "found": "byte offset 24"},
        "ld.global.v2.b64",
    ),
]
HALVES = tp.tensor("H", (8,), "b16", "registers")
REGISTERS = [
    Neighbours(
        "whole-register",
        "halves of two registers",
        on(HALVES[2:6].view("b32"), memory((2,))),
        on(HALVES[1:5].view("b32"), memory((2,))),
        {"needed": "a multiple of 4 bytes", "found": "register offset 2 bytes", "slot": 0, "storage": "H"},
        "ld.global.v2.b32",
    ),
    Neighbours(
        "distinct",
        "repeats",
        on(registers((2, 4), (4, 1)), memory((2, 4))),
        on(registers((2, 4), (3, 1)), memory((2, 4))),
        {
            "slot": 3,
            "repeat": (0,),
            "found": "R slot 3 twice",
            "values": {"repeat0": 0, "word": 3, "repeat0'": 1, "word'": 0},
        },
    ),
    Neighbours(
        "distinct",
        "interleaved strides",
        on(registers((2, 4), (1, 2)), memory((2, 4))),
        on(registers((2, 4), (2, 2)), memory((2, 4))),
        {"slot": 2, "values": {"repeat0": 0, "word": 1, "repeat0'": 1, "word'": 0}},
    ),
    Neighbours(
        "distinct",
        "strides coprime to the other extent",
        on(registers((3, 2), (2, 3)), memory((3, 2))),
        on(registers((4, 2), (2, 6)), memory((4, 2))),
        {"slot": 6, "values": {"repeat0": 0, "word": 1, "repeat0'": 3, "word'": 0}},
        "ld.global.v2.b32",
    ),
    Neighbours(
        "distinct",
        "swizzled",
        on(registers((4, 4), swizzle=Swizzle(2, 0, 2)), memory((4, 4))),
        on(registers((4, 4), (3, 1), swizzle=Swizzle(2, 0, 2)), memory((4, 4))),
        {"slot": 3, "values": {"repeat0": 0, "word": 3, "repeat0'": 1, "word'": 0}},
    ),
    Neighbours(
        "distinct",
        "broadcast",
        on(registers((1, 4)), memory((1, 4))),
        on(registers((1, 4)).broadcast(2, 4), memory((2, 4))),
        {"slot": 0, "repeat": (0,), "element": {"word": 0, "word'": 0}},
    ),
    Neighbours(
        "distinct",
        "words of one access",
        on(registers((4,), (5,)), memory((4,))),
        on(registers((4,), (0,)), memory((4,))),
        {"slot": 0, "element": {"word": 0, "word'": 1}},
    ),
    Neighbours(
        "distinct",
        "wide elements",
        on(registers((2, 2), (2, 1), bits=64), memory((2, 2), bits=64)),
        on(registers((2, 2), (1, 1), bits=64), memory((2, 2), bits=64)),
        {"slot": 1},
        "ld.global.v2.b64",
    ),
]
M, P = symbol("m", 0, 8, multiple_of=4), symbol("p", -4, 4, multiple_of=4)
BOUNDS = [
    Neighbours(
        "in-bounds",
        "last word",
        on(FOUR, words_from(symbol("i", 0, 4, multiple_of=4), size=8)),
        on(FOUR, words_from(symbol("i", 0, 8, multiple_of=4), size=8)),
        {
            "symbols": {"i": 8},
            "needed": "A, dimension 0: elements from 0 to 8",
            "found": "A, dimension 0: elements from 8 to 12",
            "storage": None,
        },
    ),
    Neighbours(
        "in-bounds",
        "one past the end",
        on(one(), words_from(symbol("i", 0, 7), 1, 8, bits=8)),
        on(one(), words_from(symbol("i", 0, 8), 1, 8, bits=8)),
        {"symbols": {"i": 8}, "found": "A, dimension 0: elements from 8 to 9"},
        "ld.global.b8",
    ),
    Neighbours(
        "in-bounds",
        "first word",
        on(FOUR, words_from(symbol("i", 0, 4, multiple_of=4), size=8)),
        on(FOUR, words_from(symbol("i", -4, 4, multiple_of=4), size=8)),
        {"symbols": {"i": -4}, "found": "A, dimension 0: elements from -4 to 0"},
    ),
    Neighbours(
        "in-bounds",
        "outer dimension",
        on(FOUR, memory((5, 4))[symbol("r", 0, 4), :]),
        on(FOUR, memory((5, 4))[symbol("r", 0, 5), :]),
        {"symbols": {"r": 5}, "needed": "A, dimension 0: elements from 0 to 5"},
    ),
    Neighbours(
        "in-bounds",
        "inner dimension",
        on(FOUR, memory((5, 8))[1, M : M + 4], active=M < 8),
        on(FOUR, memory((5, 8))[1, M : M + 4], active=M < 9),
        {"symbols": {"m": 8}, "needed": "A, dimension 1: elements from 0 to 8"},
    ),
    Neighbours(
        "in-bounds",
        "steps of two",
        on(registers((2, 4)), memory((5, 4))[symbol("r", 0, 2) : symbol("r", 0, 2) + 3 : 2, :]),
        on(registers((2, 4)), memory((5, 4))[symbol("r", 0, 3) : symbol("r", 0, 3) + 3 : 2, :]),
        {"symbols": {"r": 3}, "found": "A, dimension 0: elements from 3 to 6"},
    ),
    Neighbours(
        "in-bounds",
        "region of registers",
        on(registers((2, 4))[symbol("r", 0, 1), :], memory((4,))),
        on(registers((2, 4))[symbol("r", 0, 2), :], memory((4,))),
        {"symbols": {"r": 2}, "needed": "R, dimension 0: elements from 0 to 2"},
    ),
    Neighbours(
        "in-bounds",
        "symbolic size",
        on(
            FOUR,
            tp.tensor("A", (symbol("n", 1),), "b32")[4 * K : 4 * K + 4],
            active=4 * K + 4 <= symbol("n", 1),
        ),
        on(
            FOUR,
            tp.tensor("A", (symbol("n", 1),), "b32")[4 * K : 4 * K + 4],
            active=4 * K + 3 <= symbol("n", 1),
        ),
        {"symbols": {"k": 0, "n": 3}, "found": "A, dimension 0: elements from 0 to 4"},
    ),
    Neighbours(
        "in-bounds",
        "thread coordinate",
        on(FOUR, memory((48, 4))[tx, :], block=48),
        on(FOUR, memory((48, 4))[tx, :], block=49),
        {"warp": 1, "lane": 16, "found": "A, dimension 0: elements from 48 to 49"},
    ),
    Neighbours(
        "in-bounds",
        "region of a region",
        on(FOUR, memory((64,))[16:48][M + 20 : M + 24]),
        on(FOUR, memory((64,))[16:48][M + 24 : M + 28]),
        {"symbols": {"m": 8}, "needed": "A, dimension 0: elements from 0 to 32"},
    ),
]
S1 = symbol("s", 0, 63)
STORAGE = [
    Neighbours(
        "in-storage",
        "one byte beyond",
        on(one(), declared(65, (64,), 1)[S1 : S1 + 1]),
        on(one(), declared(64, (64,), 1)[S1 : S1 + 1]),
        {
            "symbols": {"s": 63},
            "byte_address": 64,
            "storage": "RAW",
            "needed": "bytes of RAW from 0 to 64",
            "found": "bytes of RAW from 64 to 65",
        },
        "ld.global.b8",
    ),
    Neighbours(
        "in-storage",
        "end of a vector",
        on(registers((4, 4)), declared(64, (4, 4), 48, bits=32)),
        on(registers((4, 4)), declared(64, (4, 4), 52, bits=32)),
        {"repeat": (3,), "byte_address": 256, "found": "bytes of RAW from 256 to 272"},
    ),
    Neighbours(
        "in-storage",
        "negative stride",
        on(registers((4, 1), bits=8), declared(8, (4, 1), 3, (-1, 1))),
        on(registers((4, 1), bits=8), declared(8, (4, 1), 2, (-1, 1))),
        {"repeat": (3,), "byte_address": -1, "found": "bytes of RAW from -1 to 0"},
        "ld.global.b8",
    ),
    Neighbours(
        "in-storage",
        "symbolic offset",
        on(one(), declared(8, (1,), symbol("at", 0, 7))),
        on(one(), declared(8, (1,), symbol("at", 0, 8))),
        {"symbols": {"at": 8}, "byte_address": 8},
        "ld.global.b8",
    ),
    Neighbours(
        "in-storage",
        "symbolic stride",
        on(registers((2, 1), bits=8), memory((2, 1), (symbol("ld", 0, 4), 1), bits=8)),
        on(registers((2, 1), bits=8), memory((2, 1), (symbol("ld", -1, 4), 1), bits=8)),
        {"symbols": {"ld": -1}, "repeat": (1,), "byte_address": -1},
        "ld.global.b8",
    ),
    Neighbours(
        "in-storage",
        "registers",
        on(declared(12, (2, 4), 0, (8, 1), bits=32, space="registers"), memory((2, 4))),
        on(declared(12, (2, 4), 1, (8, 1), bits=32, space="registers"), memory((2, 4))),
        {
            "repeat": (1,),
            "element": {"word": 3},
            "slot": 12,
            "storage": "RAW",
            "byte_address": None,
            "base": None,
        },
    ),
    Neighbours(
        "in-storage",
        "storage of unknown size",
        on(FOUR, tp.tensor("A", (symbol("n", 4),), "b32").declare((4,), name="D")),
        on(
            FOUR,
            memory((symbol("n", 4),), (2,)).declare((4,), name="D"),  # type: ignore[arg-type]
        ),
        {"found": "A, whose strides are symbolic"},
    ),
]


def bytes_from(start: Any) -> View:
    return memory((1 << 62,), bits=8)[start : start + 1]


OVERFLOW = [
    Neighbours(
        "no-overflow",
        "the last byte that 31 bits reach",
        on(one(), bytes_from(symbol("i", 0, 2**31 - 1)), index_bits=32),
        on(one(), bytes_from(symbol("i", 0, 2**31)), index_bits=32),
        {
            "symbols": {"i": 2**31},
            "byte_address": 2**31,
            "needed": "a number from -2147483648 to 2147483647",
            "found": "2147483648",
        },
        "ld.global.b8",
    ),
    Neighbours(
        "no-overflow",
        "64 bits reach further",
        on(one(), bytes_from(symbol("i", 0, 2**31)), index_bits=64),
        on(one(), bytes_from(symbol("i", 0, 2**31)), index_bits=32),
        {"symbols": {"i": 2**31}},
        "ld.global.b8",
    ),
    Neighbours(
        "no-overflow",
        "as wide as it has to be by default",
        on(one(), bytes_from(symbol("i", 0, 2**40))),
        on(one(), bytes_from(symbol("i", 0, 2**40)), index_bits=32),
        {"symbols": {"i": 2**31}},
        "ld.global.b8",
    ),
    Neighbours(
        "no-overflow",
        "a guard keeps it narrow",
        on(one(), bytes_from(symbol("i", 0)), index_bits=32, active=symbol("i", 0) < 2**31),
        on(one(), bytes_from(symbol("i", 0)), index_bits=32, active=symbol("i", 0) <= 2**31),
        {"symbols": {"i": 2**31}},
        "ld.global.b8",
    ),
    Neighbours(
        "no-overflow",
        "what is divided",
        on(one(), bytes_from(symbol("i", 0, 2**31 - 1) // 3), index_bits=32),
        on(one(), bytes_from(symbol("i", 0, 2**31) // 3), index_bits=32),
        {"symbols": {"i": 2**31}, "found": "2147483648", "byte_address": 2**31 // 3},
        "ld.global.b8",
    ),
    Neighbours(
        "no-overflow",
        "what is divided in 64 bits",
        on(one(), bytes_from((symbol("i", 0, 2**30 - 1) * 2**33 + 1) // 3)),
        on(one(), bytes_from((symbol("i", 0, 2**30) * 2**33 + 1) // 3)),
        {
            "symbols": {"i": 2**30},
            "found": str(2**63 + 1),
            "needed": f"a number from {-(2**63)} to {2**63 - 1}",
        },
        "ld.global.b8",
    ),
    Neighbours(
        "no-overflow",
        "what is compared",
        on(one(), bytes_from(tp.minimum(symbol("i", 0, 2**31 - 1), 8)), index_bits=32),
        on(one(), bytes_from(tp.minimum(symbol("i", 0, 2**31), 8)), index_bits=32),
        {"symbols": {"i": 2**31}, "byte_address": 8},
        "ld.global.b8",
    ),
    Neighbours(
        "no-overflow",
        "below zero",
        on(one(), bytes_from(tp.maximum(symbol("i", -(2**31), 8), 0)), index_bits=32),
        on(one(), bytes_from(tp.maximum(symbol("i", -(2**31) - 1, 8), 0)), index_bits=32),
        {"symbols": {"i": -(2**31) - 1}, "byte_address": 0},
        "ld.global.b8",
    ),
]


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


# Who owns what

BY_CTA = [
    ("warpid and laneid", TileLayout(S[(8, 32, 4) : (1 @ warpid, 1 @ laneid, 1)])),
    ("tx", TileLayout(S[(8, 32, 4) : (32 @ tx, 1 @ tx, 1)])),
    ("wgid and wid_in_wg", TileLayout(S[(2, 4, 32, 4) : (1 @ wgid, 1 @ wid_in_wg, 1 @ laneid, 1)])),
    ("wgid and tid_in_wg", TileLayout(S[(2, 4, 32, 4) : (1 @ wgid, 32 @ tid_in_wg, 1 @ tid_in_wg, 1)])),
    ("split lanes", TileLayout(S[(8, 4, 8, 4) : (1 @ warpid, 8 @ laneid, 1 @ laneid, 1)])),
]


@pytest.mark.parametrize(("name", "layout"), BY_CTA, ids=[n for n, _ in BY_CTA])
def test_owned_by_cta_however_threads_are_named(name: str, layout: TileLayout) -> None:
    regs = tp.tensor("R", (8, 32, 4), "b32", "registers", layout=layout)
    assert tp.check("ld.global.v4.b32", regs, memory((8, 32, 4)), scope="cta", block=256).verdict is PROVED


@pytest.mark.parametrize("name", ["wid_in_wg", "warpid", "tid_in_wg", "tx"])
def test_owned_by_a_warpgroup_of_one(name: str) -> None:
    strides = {
        "wid_in_wg": (1 @ wid_in_wg, 1 @ laneid, 1),
        "warpid": (1 @ warpid, 1 @ laneid, 1),
        "tid_in_wg": (32 @ tid_in_wg, 1 @ tid_in_wg, 1),
        "tx": (32 @ tx, 1 @ tx, 1),
    }
    setup = on(registers((4, 32, 4), strides[name]), memory((4, 32, 4)), scope="warpgroup", block=128)
    assert check("ld.global.v4.b32", setup).verdict is PROVED


@pytest.mark.parametrize("axis", [laneid, tid_in_wg, tx], ids=repr)
def test_owned_by_a_warp_of_one(axis: Any) -> None:
    assert (
        check(
            "ld.global.v4.b32", on(registers((32, 4), (1 @ axis, 1)), memory((32, 4)), scope="warp")
        ).verdict
        is PROVED
    )


def test_owned_by_numbers_in_a_block_of_two_dimensions() -> None:
    layout = TileLayout(S[(8, 2, 16, 4) : (2 @ ty, 1 @ ty, 1 @ tx, 1)])
    regs = tp.tensor("R", (8, 32, 4), "b32", "registers", layout=layout)
    setup = on(regs, memory((8, 32, 4)), scope="cta")
    assert check("ld.global.v4.b32", setup, block=(16, 16)).verdict is PROVED
    assert failing(check("ld.global.v4.b32", setup, block=256)) == {"owned"}


def cta(strides: Any, extra: Any = None, warps: int = 8, **keywords: Any) -> Any:
    return on(
        registers((warps, 32, 4), strides, extra),
        memory((warps, 32, 4)),
        scope="cta",
        block=32 * warps,
        **keywords,
    )


def warp(strides: Any, extra: Any = None, **keywords: Any) -> Any:
    return on(registers((32, 4), strides, extra), memory((32, 4)), scope="warp", **keywords)


def group(strides: Any, extra: Any = None, block: int = 256, **keywords: Any) -> Any:
    return on(
        registers((4, 32, 4), strides, extra), memory((4, 32, 4)), scope="warpgroup", block=block, **keywords
    )


LANES = (1 @ laneid, 1)
OWNED = [
    Neighbours(
        "owned",
        "lane shifted",
        warp(LANES),
        warp(LANES, 1 @ laneid),
        {
            "lane": 0,
            "needed": "laneid 0",
            "found": "laneid 1",
            "storage": "R",
            "slot": 0,
            "byte_address": None,
        },
    ),
    Neighbours(
        "owned",
        "lane reversed",
        warp(LANES),
        warp((-1 @ laneid, 1), 31 @ laneid),
        {"lane": 0, "found": "laneid 31"},
    ),
    Neighbours(
        "owned",
        "lane missing",
        warp(LANES),
        warp((4, 1)),
        {"lane": 1, "needed": "laneid 1", "found": "laneid 0", "slot": 4},
    ),
    Neighbours("owned", "lane stride", warp(LANES), warp((2 @ laneid, 1)), {"lane": 1, "found": "laneid 2"}),
    Neighbours(
        "owned",
        "a warp too many named",
        warp((1 @ tx, 1)),
        warp((1 @ tx, 1), block=64),
        {"warp": 1, "found": "tx 0", "needed": "tx 32"},
    ),
    Neighbours(
        "owned",
        "number in the warpgroup of another warp",
        warp((1 @ tid_in_wg, 1), block=32),
        warp((1 @ tid_in_wg, 1), block=64),
        {"warp": 1, "needed": "tid_in_wg 32", "found": "tid_in_wg 0"},
    ),
    Neighbours(
        "owned",
        "replica with another lane",
        warp(LANES),
        warp(LANES, R[(2,) : (1 @ laneid,)]),
        {"found": "laneid 1", "lane": 0},
    ),
    Neighbours(
        "owned",
        "thread axes at thread scope",
        on(FOUR, memory((4,))),
        on(registers((4,), (1,), 0 @ laneid), memory((4,))),
        {},
    ),
    Neighbours(
        "owned",
        "warp and lane swapped",
        cta((1 @ warpid, 1 @ laneid, 1)),
        cta((1 @ laneid, 1 @ warpid, 1)),
        {"lane": 1, "warp": 0},
    ),
    Neighbours(
        "owned",
        "warp shifted",
        cta((1 @ warpid, 1 @ laneid, 1)),
        cta((1 @ warpid, 1 @ laneid, 1), 1 @ warpid),
        {"found": "warpid 1"},
    ),
    Neighbours(
        "owned",
        "warp missing",
        cta((1 @ warpid, 1 @ laneid, 1)),
        cta((4, 1 @ laneid, 1)),
        {"needed": "warpid 1", "found": "warpid 0"},
    ),
    Neighbours(
        "owned",
        "warpgroup missing",
        cta((1 @ wid_in_wg, 1 @ laneid, 1), warps=4),
        cta((1 @ wid_in_wg, 1 @ laneid, 1), warps=5),
        {"warp": 4, "lane": 0},
    ),
    Neighbours(
        "owned",
        "warpgroup missing beside the number in it",
        cta((32 @ tid_in_wg, 1 @ tid_in_wg, 1), warps=4),
        cta((32 @ tid_in_wg, 1 @ tid_in_wg, 1), warps=5),
        {"warp": 4},
    ),
    Neighbours(
        "owned",
        "warp of the warpgroup missing",
        cta((1 @ wgid, 1 @ laneid, 1), warps=1),
        cta((1 @ wgid, 1 @ laneid, 1), warps=2),
        {"warp": 1},
    ),
    Neighbours(
        "owned",
        "rows of a block of two dimensions",
        on(registers((4, 32, 4), (1 @ ty, 1 @ tx, 1)), memory((4, 32, 4)), scope="cta", block=(32, 4)),
        on(registers((4, 32, 4), (4, 1 @ tx, 1)), memory((4, 32, 4)), scope="cta", block=(32, 4)),
        {"needed": "ty 1", "found": "ty 0", "warp": 1, "lane": 0},
    ),
    Neighbours(
        "owned",
        "planes of a block of three dimensions",
        on(registers((4, 32, 4), (1 @ tp.tz, 1 @ tx, 1)), memory((4, 32, 4)), scope="cta", block=(32, 1, 4)),
        on(registers((4, 32, 4), (4, 1 @ tx, 1)), memory((4, 32, 4)), scope="cta", block=(32, 1, 4)),
        {"needed": "tz 1", "found": "tz 0", "warp": 1, "lane": 0},
    ),
    Neighbours(
        "owned",
        "warp of the CTA for warp of the warpgroup",
        group((1 @ warpid, 1 @ laneid, 1), block=128),
        group((1 @ warpid, 1 @ laneid, 1), block=256),
        {"warp": 4, "needed": "warpid 4", "found": "warpid 0"},
    ),
    Neighbours(
        "owned",
        "warp of the warpgroup missing",
        group((1 @ wid_in_wg, 1 @ laneid, 1)),
        group((4, 1 @ laneid, 1)),
        {"warp": 1, "needed": "wid_in_wg 1", "found": "wid_in_wg 0"},
    ),
    Neighbours(
        "owned",
        "number in the warpgroup",
        group((32 @ tid_in_wg, 1 @ tid_in_wg, 1)),
        group((16 @ tid_in_wg, 1 @ tid_in_wg, 1)),
        {"warp": 1, "needed": "tid_in_wg 32", "found": "tid_in_wg 16"},
    ),
    Neighbours(
        "owned",
        "warpgroup named",
        group((1 @ wid_in_wg, 1 @ laneid, 1)),
        group((1 @ wid_in_wg, 1 @ laneid, 1), 1 @ wgid),
        {"warp": 0, "found": "wgid 1"},
    ),
    Neighbours(
        "owned",
        "CTA of the cluster missing",
        on(
            registers((2, 1, 32, 4), (1 @ tp.cbx, 1, 1 @ laneid, 1)),
            memory((2, 1, 32, 4)),
            scope="cluster",
            cluster=2,
        ),
        on(
            registers((2, 1, 32, 4), (4, 1, 1 @ laneid, 1)), memory((2, 1, 32, 4)), scope="cluster", cluster=2
        ),
        {"needed": "cbx 1", "found": "cbx 0", "warp": 0},
    ),
    Neighbours(
        "owned",
        "CTA of the cluster named at CTA scope",
        cta((1 @ warpid, 1 @ laneid, 1), warps=1, cluster=2),
        cta((1 @ warpid, 1 @ laneid, 1), 1 @ tp.cbx, warps=1, cluster=2),
        {"found": "cbx 1"},
    ),
]


@pytest.mark.parametrize("case", OWNED, ids=str)
def test_owned(case: Neighbours) -> None:
    assert_neighbours(case)
    assert failing(check("st.global.v4.b32", swapped(case.wrong), hazards="ignore")) == {case.demand}


# Hazards


def stored(offsets: Any, regs: Any, **keywords: Any) -> Any:
    return on(offsets, regs, **keywords)


X = symbol("x", 0, 40, uniform="thread")
W = symbol("w", 0, 40, uniform="warp")
HAZARDS = [
    Neighbours(
        "write-conflict",
        "lanes",
        stored(memory((32, 4), (4, 1)), WARP, scope="warp"),
        stored(memory((1, 4)).broadcast(32, 4), WARP, scope="warp"),
        {"lane": 0, "found": "A byte offset 0 twice", "byte_address": 0},
        "st.global.v4.b32",
    ),
    Neighbours(
        "write-conflict",
        "last lane of a thread's own place",
        stored(words_from(tx % 32, 1), one(32)),
        stored(words_from(tx % 31, 1), one(32)),
        {"lane": 0, "values": {"A": 0, "warp": 0, "lane": 0, "lane'": 31, "word": 0}},
        "st.global.b32",
    ),
    Neighbours(
        "write-conflict",
        "repeats",
        stored(memory((2, 4), (4, 1)), registers((2, 4)), active=tx == 0),
        stored(memory((1, 4)).broadcast(2, 4), registers((2, 4)), active=tx == 0),
        {"repeat": (0,)},
        "st.global.v4.b32",
    ),
    Neighbours(
        "write-conflict",
        "several threads at thread scope",
        stored(memory((4,)), FOUR, active=tx < 1),
        stored(memory((4,)), FOUR, active=tx < 2),
        {"lane": 0, "warp": 0},
        "st.global.v4.b32",
    ),
    Neighbours(
        "write-conflict",
        "a predicate elects",
        stored(memory((4,)), FOUR, pred=tx == 3),
        stored(memory((4,)), FOUR, pred=tx // 2 == 3),
        {"lane": 6},
        "st.global.v4.b32",
    ),
    Neighbours(
        "write-conflict",
        "a block of one thread",
        stored(memory((4,)), FOUR, block=1),
        stored(memory((4,)), FOUR, block=2),
        {"lane": 0},
        "st.global.v4.b32",
    ),
    Neighbours(
        "write-conflict",
        "warps at warp scope",
        stored(memory((64, 4))[32 * warpid : 32 * warpid + 32, :], WARP, scope="warp", block=64),
        stored(memory((64, 4))[31 * warpid : 31 * warpid + 32, :], WARP, scope="warp", block=64),
        {"warp": 0, "lane": 31, "byte_address": 496},
        "st.global.v4.b32",
    ),
    Neighbours(
        "write-conflict",
        "warpgroups at warpgroup scope",
        stored(
            memory((2, 4, 32, 4))[wgid, :, :, :],
            registers((4, 32, 4), (1 @ wid_in_wg, 1 @ laneid, 1)),
            scope="warpgroup",
            block=256,
        ),
        stored(
            memory((4, 32, 4)),
            registers((4, 32, 4), (1 @ wid_in_wg, 1 @ laneid, 1)),
            scope="warpgroup",
            block=256,
        ),
        {"lane": 0, "byte_address": 0},
        "st.global.v4.b32",
    ),
    Neighbours(
        "write-conflict",
        "a value of each thread",
        stored(words_from(X, 1), one(32), active=tx == 5),
        stored(words_from(X, 1), one(32), active=tx >= 30),
        {"lane": 30, "symbols": {"x": 0, "x'": 0}},
        "st.global.b32",
    ),
    Neighbours(
        "write-conflict",
        "repeats from a value of each thread",
        stored(memory((64,))[X : X + 2].view(2, 1), registers((2, 1)), active=tx == 5),
        stored(memory((64,))[X : X + 2].view(2, 1), registers((2, 1)), active=tx // 2 == 3),
        {"lane": 6, "repeat": (0,)},
        "st.global.b32",
    ),
    Neighbours(
        "write-conflict",
        "a value of each warp",
        stored(memory((80, 4))[W : W + 32, :], WARP, scope="warp", block=32),
        stored(memory((80, 4))[W : W + 32, :], WARP, scope="warp", block=64),
        {"warp": 0, "lane": 0, "symbols": {"w": 0, "w'": 0}},
        "st.global.v4.b32",
    ),
    Neighbours(
        "replica",
        "of loaded registers",
        on(registers((4,), (1,), R[(1,) : (4,)]), memory((4,))),
        on(registers((4,), (1,), R[(2,) : (4,)]), memory((4,))),
        {"found": "R has 2 replicas 4 elements apart; only the first is written"},
    ),
    Neighbours(
        "replica",
        "of stored memory",
        on(memory((4,), (1,), R[(1,) : (4,)]), FOUR, block=1),
        on(memory((4,), (1,), R[(2,) : (4,)]), FOUR, block=1),
        {"found": "A has 2 replicas 4 elements apart; only the first is written"},
        "st.global.v4.b32",
    ),
]


@pytest.mark.parametrize("case", HAZARDS, ids=str)
def test_hazard(case: Neighbours) -> None:
    assert_hazard(case)


@pytest.mark.parametrize(
    ("opcode", "operands"),
    [
        ("ld.global.v4.b32", (FOUR, memory((4,), (1,), R[(2,) : (4,)]))),
        ("st.global.v4.b32", (memory((4,)), registers((4,), (1,), R[(2,) : (4,)]))),
    ],
)
def test_a_source_may_have_replicas(opcode: str, operands: tuple[ViewOperations, ...]) -> None:
    assert tp.check(opcode, *operands, block=1, hazards="error").verdict is PROVED


def test_loads_do_not_conflict() -> None:
    assert tp.check("ld.global.v4.b32", FOUR, memory((4,)), block=64, hazards="error").verdict is PROVED


# State spaces, widths, shapes

SPACES = [
    ("ld.global.b32", "global", "shared"),
    ("ld.shared.b32", "shared", "global"),
    ("ld.shared::cta.b32", "shared", "local"),
    ("ld.shared::cluster.b32", "shared", "global"),
    ("ld.local.b32", "local", "registers"),
    ("ld.const.b32", "const", "global"),
    ("ld.param.b32", "param", "global"),
    ("ld.param::entry.b32", "param", "const"),
    ("st.global.b32", "global", "const"),
    ("st.shared.b32", "shared", "local"),
    ("st.local.b32", "local", "shared"),
]


@pytest.mark.parametrize(("opcode", "right", "wrong"), SPACES, ids=[s[0] for s in SPACES])
def test_state_space(opcode: str, right: Any, wrong: Any) -> None:
    def operands(space: Any) -> Any:
        pair = on(one(32), memory((1,), space=space, align=None))
        return pair if opcode.startswith("ld") else swapped(pair)

    assert check(opcode, operands(right), hazards="ignore").verdict is PROVED
    refused = check(opcode, operands(wrong), hazards="ignore")
    assert refused.verdict is REFUTED
    assert failing(refused) == {"space"}
    example = first_failure(refused, "space").counterexample
    assert example is not None
    assert (example.needed, example.found.rpartition(": ")[2]) == (right, wrong)


STRUCTURE = [
    # demand, opcode, operands, keywords, needed, found
    (
        "space",
        "ld.global.b32",
        (memory((1,)), memory((1,), name="B")),
        {},
        "registers",
        "operand 0 (A, registers): global",
    ),
    (
        "space",
        "ld.global.b32",
        (one(32), memory((32,), (1 @ laneid,))[0:1]),
        {},
        "strides in storage only",
        "operand 1 (A, memory): A has strides on laneid",
    ),
    (
        "space",
        "ld.global.b32",
        (registers((32,), (1 @ tp.TCol,))[0:1], memory((1,))),
        {},
        "strides in storage only",
        "operand 0 (R, registers): R has strides on TCol",
    ),
    (
        "width",
        "ld.global.b32",
        (one(16), memory((1,))),
        {},
        "elements of 32 bits",
        "operand 0 (R, registers): uint16, 16 bits",
    ),
    (
        "width",
        "ld.global.b32",
        (one(32), memory((1,), bits=64)),
        {},
        "elements of 32 bits",
        "operand 1 (A, memory): uint64, 64 bits",
    ),
    (
        "shape",
        "ld.global.v4.b32",
        (registers((3,)), memory((4,))),
        {},
        "(*repeat, 4)",
        "operand 0 (R, registers): shape (3,)",
    ),
    (
        "shape",
        "ld.global.v4.b32",
        (FOUR, memory((2, 2))),
        {},
        "(*repeat, 4)",
        "operand 1 (A, memory): shape (2, 2)",
    ),
    ("shape", "ld.global.b32", (FOUR, FOUR), {}, "(*repeat, 1)", "operand 0 (R, registers): shape (4,)"),
    (
        "shape",
        "ld.global.v4.b32",
        (registers((4,), (1,)), memory((4,))),
        {"scope": "warp"},
        "(lane, *repeat, 4)",
        "operand 0 (R, registers): shape (4,)",
    ),
    (
        "shape",
        "ld.global.v4.b32",
        (registers((2, 4)), memory((3, 4))),
        {},
        "group () and repeats (2,) as R has",
        "operand 1 (A, memory): group () and repeats (3,)",
    ),
    (
        "shape",
        "ld.global.v4.b32",
        (registers((2, 32, 4), (1 @ warpid, 1 @ laneid, 1)), memory((3, 32, 4))),
        {"scope": "cta", "block": 64},
        "group (2, 32) and repeats () as R has",
        "operand 1 (A, memory): group (3, 32) and repeats ()",
    ),
    (
        "shape",
        "ld.global.v4.b32",
        (FOUR, tp.tensor("A", (symbol("n", 1), 4), "b32")),
        {},
        "static extents",
        "operand 1 (A, memory): A: dimension 0 has the symbolic extent n; slice it to a static extent first",
    ),
]


@pytest.mark.parametrize(("demand", "opcode", "operands", "keywords", "needed", "found"), STRUCTURE)
def test_structure(
    demand: str, opcode: str, operands: Any, keywords: dict[str, Any], needed: str, found: str
) -> None:
    report = tp.check(opcode, *operands, **keywords)
    assert report.verdict is REFUTED
    assert failing(report) == {demand}
    (finding,) = report.findings
    assert_told(finding, {"needed": needed, "found": found})
    assert found in str(report)


def test_every_dimension_has_an_element() -> None:
    n = symbol("n", -1, 8)
    array = tp.tensor("A", (n,), "b8")[0:1]
    sentences = {f.obligation.sentence for f in tp.check("ld.global.b8", one(), array).failures}
    assert sentences == {
        "every dimension has at least one element",
        "a region lies inside its tensor's shape",
    }
    assert tp.check("ld.global.b8", one(), array, active=n >= 1).verdict is PROVED
    assert failing(tp.check("ld.global.b8", one(), array, active=n >= 0)) == {"in-bounds"}


# Parameters

HINTED = "ld.global.L2::cache_hint.v4.b32"
POLICY = symbol("policy")
PARAMETERS = [
    (HINTED, {}, r"\.L2::cache_hint needs cache_policy=, the 64-bit policy operand"),
    (
        "ld.global.v4.b32",
        {"cache_policy": POLICY},
        r"cache_policy does not apply: the opcode has no \.L2::cache_hint",
    ),
    ("ld.global.v4.b32", {"preserve_dst": True}, "preserve_dst needs pred"),
    ("ld.global.v4.b32", {"preserve_dst": "yes", "pred": True}, "preserve_dst is True or False, got 'yes'"),
    (
        "st.global.v4.b32",
        {"preserve_dst": True, "pred": True},
        "does not apply: a store has no destination registers",
    ),
    ("ld.global.v4.b32", {"index_bits": 16}, "index_bits is 32 or 64, got 16"),
    ("st.global.L2::cache_hint.v4.b32", {}, "needs cache_policy"),
    (
        "ld.global.v4.b32",
        {"mask": 1},
        r"has no parameter mask; its parameters are cache_policy, index_bits, pred, preserve_dst",
    ),
]


@pytest.mark.parametrize(("opcode", "parameters", "message"), PARAMETERS)
def test_wrong_parameters(opcode: str, parameters: dict[str, Any], message: str) -> None:
    operands = on(FOUR, memory((4,)))
    with pytest.raises(CallError, match=message):
        check(opcode, operands if opcode.startswith("ld") else swapped(operands), **parameters)


@pytest.mark.parametrize(
    ("opcode", "parameters"),
    [
        (HINTED, {"cache_policy": POLICY}),
        ("ld.global.v4.b32", {"pred": POLICY > 3, "preserve_dst": True}),
        ("ld.global.v4.b32", {"pred": True, "preserve_dst": False}),
        ("ld.global.v4.b32", {"preserve_dst": False}),
        ("ld.global.v4.b32", {"index_bits": 64}),
        ("ld.global.nc.L1::no_allocate.L2::128B.v4.b32", {}),
        ("ld.relaxed.gpu.global.v4.b32", {}),
        ("ld.volatile.global.v4.b32", {}),
    ],
)
def test_right_parameters(opcode: str, parameters: dict[str, Any]) -> None:
    assert tp.check(opcode, FOUR, memory((4,)), **parameters).verdict is PROVED


def test_generic_addresses_have_no_contract() -> None:
    report = tp.check("ld.v4.b32", FOUR, memory((4,)))
    assert report.verdict is tp.Verdict.UNSUPPORTED
    assert "write the state space of the operand, for example ld.global" in report.reason
    assert report.findings == ()


# The reference's examples


@pytest.mark.parametrize("opcode", ["ld.global.v4.b32", "st.global.v4.b32"])
def test_three_accesses_for_each_of_64_threads(opcode: str) -> None:
    regs = registers((2, 32, 3, 4), (1 @ warpid, 1 @ laneid, 8, 2))
    setup = on(regs, tp.tensor("A", (2, 32, 3, 4), "b32"), scope="cta", block=64)
    report = check(opcode, setup if opcode.startswith("ld") else swapped(setup), hazards="error")
    assert report.verdict is PROVED
    assert (report.call.group_extents, report.call.repeat_extents) == ((2, 32), (3,))


@pytest.mark.parametrize("strides", [(4, 1, 60, 2), (8, 2, 120, 4)])
def test_105_rearranged_accesses(strides: tuple[int, ...]) -> None:
    def rearranged(tensor: ViewOperations) -> View:
        return tensor.rearrange("i b j d -> j i (d b)")

    array = rearranged(memory((15, 2, 7, 2), (4, 1, 60, 2)))
    regs = rearranged(registers((15, 2, 7, 2), strides))
    report = tp.check("ld.global.v4.b32", regs, array)
    assert report.verdict is PROVED
    assert report.call.repeat_extents == (7, 15)
    assert "105 instructions" in str(report)
    back = tp.check("st.global.v4.b32", array, regs, active=tx == 0, hazards="error")
    assert back.verdict is PROVED
