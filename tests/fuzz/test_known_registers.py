"""The oracle itself, on calls on registers whose answer the contract reference gives."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import pytest

from tests.test_agreement import assert_found, factors, whole
from tileproof.fuzz.family.arithmetic import Instruction
from tileproof.fuzz.family.ewise import Elementwise
from tileproof.fuzz.oracle.description import Backing, Factor, Function, Operand, Region, Scalar, Symbol
from tileproof.fuzz.oracle.registers import RegisterCall


def slots(
    name: str, *shape: int, strides: tuple[object, ...] = (), bits: int = 32, **changes: object
) -> Operand:
    """Registers of that shape, compact unless strides are given."""
    compact = tuple(prod(shape[d + 1 :]) for d in range(len(shape)))
    made = Operand(name, "registers", bits, shape, factors(shape, strides or compact), region=whole(*shape))
    return replace(made, **changes)  # type: ignore[arg-type]


def adds(*given: Operand | Scalar, **changes: object) -> Instruction:
    """`add.u32` on one thread."""
    lists = (tuple((name, "u32", 1) for name in "dab"),)
    return replace(Instruction("add", "thread", (32,), given, "add.u32", lists), **changes)  # type: ignore[arg-type]


D, A, B = (slots(name, 4, 1) for name in "DAB")
FIVE = slots("D", 5, 1)
HEAD, TAIL = (replace(FIVE, region=(Region(start, 4), Region(0, 1))) for start in (0, 1))
TWICE = Function("twice", (("x", "uint32"),), "uint32", ("+", "x", "x"))
I = Symbol("i", 0, 3)


def twice(*given: Operand) -> Elementwise:
    return Elementwise("ewise", "thread", (32,), given, TWICE)


def filed(operand: Operand, elements: int, at: int, bits: int = 32) -> Operand:
    """The operand in a storage `F` that others may be in too."""
    return replace(operand, backing=Backing(elements, at, "F", bits))


KNOWN: dict[str, tuple[RegisterCall, set[str], set[str]]] = {
    "a sum": (adds(D, A, B), set(), set()),
    "a sum in place": (adds(D, D, B), set(), set()),
    "a sum of numbers": (adds(D, A, Scalar("number", 7)), set(), set()),
    "a source a register behind": (adds(TAIL, HEAD, B), set(), {"overwritten"}),
    "a source a register ahead": (adds(HEAD, TAIL, B), set(), set()),
    "results in one register": (adds(replace(D, factors=factors((4, 1), (0, 1))), A, B), {"distinct"}, set()),
    "sources in one register": (adds(D, replace(A, factors=factors((4, 1), (0, 1))), B), set(), set()),
    "halves": (adds(D, slots("A", 4, 1, bits=16), B), {"width"}, set()),
    "memory": (adds(D, replace(A, space="shared"), B), {"space"}, set()),
    "another number of repeats": (adds(D, A, slots("B", 3, 1)), {"shape"}, set()),
    "two registers where one is read": (adds(D, A, slots("B", 4, 2)), {"shape"}, set()),
    "lanes at thread scope": (adds(D, A, slots("B", 4, 1, strides=((1, "laneid"), 1))), {"owned"}, set()),
    "another lane's source": (
        adds(*(slots(name, 32, 1, strides=((1, "laneid"), 1)) for name in "DA"),
             slots("B", 32, 1, strides=((1, "laneid"), 1), offsets=((1, "laneid"),)), scope="warp"),
        {"owned"}, set(),
    ),
    "storage that is just enough for both": (adds(filed(D, 8, 0), filed(A, 8, 4), B), set(), set()),
    "storage that is not": (adds(filed(D, 7, 0), filed(A, 7, 4), B), {"in-storage"}, set()),
    "sources written by earlier repeats": (adds(filed(D, 8, 1), filed(A, 8, 0), B), set(), {"overwritten"}),
    "a slice past the end": (
        adds(D, replace(FIVE, name="A", region=(Region("i", 4), Region(0, 1))), B, symbols=(Symbol("i", 0, 2),)),
        {"in-bounds"}, set(),
    ),
    "the greatest index": (
        adds(D, A, Scalar("index", ("+", "i", (1 << 32) - 4)), symbols=(I,)), set(), set(),
    ),
    "an index too great by one": (
        adds(D, A, Scalar("index", ("+", "i", (1 << 32) - 3)), symbols=(I,)), {"fits"}, set(),
    ),
    "an index too small by one": (
        adds(D, A, Scalar("index", ("-", "i", 1)), symbols=(I,)), {"fits"}, set(),
    ),
    "an index that is not read where it is too small": (
        adds(D, A, Scalar("index", ("-", "i", 1)), symbols=(I,), pred=(">=", "i", 1)), set(), set(),
    ),
    "copies of a result": (adds(replace(D, replicas=(Factor(2, 8),)), A, B), set(), {"replica"}),
    "words and their halves": (
        Instruction(
            "mov", "thread", (32,), (filed(slots("D", 1, 1), 8, 0, 16), filed(slots("A", 1, 2, bits=16), 8, 2, 16)),
            "mov.b32", ((("d", "b32", 1), ("a", "b16", 2)),),
        ),
        {"whole-register"}, set(),
    ),
    "a function": (twice(slots("R", 4), slots("X", 4)), set(), set()),
    "a function in place": (twice(slots("R", 4), slots("R", 4)), set(), set()),
    "an input of another type": (twice(slots("R", 4), slots("X", 4, dtype="int32")), {"dtype"}, set()),
    "an input of another shape": (twice(slots("R", 4), slots("X", 2, 2)), {"shape"}, set()),
    "a result over a later input": (
        twice(filed(slots("R", 4), 8, 1), filed(slots("X", 4), 8, 0)), set(), {"alias"},
    ),
    "a result over an earlier input": (
        twice(filed(slots("R", 4), 8, 0), filed(slots("X", 4), 8, 1)), set(), set(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_brute_force_finds_what_the_reference_says(name: str) -> None:
    assert_found(*KNOWN[name])
