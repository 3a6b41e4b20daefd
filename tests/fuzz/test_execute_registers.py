"""Executed views of register instructions and scalar functions: where numbers stand, what they are, and how near."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from tests.fuzz.test_execute import prepared, run
from tests.fuzz.test_known_registers import HEAD, TAIL, D, adds, filed, slots, twice
from tileproof.fuzz.execute.batch import batches
from tileproof.fuzz.execute.entry import Expected, Near
from tileproof.fuzz.execute.expected import difference
from tileproof.fuzz.execute.masks import SPECIAL, kind_of, mask
from tileproof.fuzz.execute.near import WIDTHS, numbers, settle
from tileproof.fuzz.execute.points import UnexecutedError
from tileproof.fuzz.execute.tags import POISON, words
from tileproof.fuzz.execute.values import computation, result
from tileproof.fuzz.family.arithmetic import Instruction
from tileproof.fuzz.generate.spellings import MNEMONICS, bits_of, spellings
from tileproof.fuzz.oracle.description import Function, Scalar, Symbol
from tileproof.fuzz.oracle.registers import RegisterCall

OTHER = {
    "mov.b32": "not.b32", "cvt.rn.f16.f32": "cvt.rz.f16.f32", "add.u32": "sub.u32", "sub.rn.f32": "add.rn.f32",
    "mul.lo.u32": "mul.hi.u32", "fma.rn.f32": "fma.rz.f32", "div.rn.f32": "mul.rn.f32", "min.s32": "max.s32",
    "max.f16x2": "min.f16x2", "abs.s32": "neg.s32", "neg.f32": "abs.f32", "sqrt.rn.f32": "rcp.rn.f32",
    "rcp.approx.f32": "rsqrt.approx.f32", "rsqrt.approx.f32": "rcp.approx.f32", "ex2.approx.f32": "tanh.approx.f32",
    "lg2.approx.f32": "ex2.approx.f32", "tanh.approx.f32": "sin.approx.f32",
}  # fmt: skip
"""For each instruction an opcode with another one that takes the same operands."""


def plain(opcode: str) -> Instruction:
    """Four repeats on one warp."""
    mnemonic = opcode.partition(".")[0]
    spelling = next(s for s in spellings(mnemonic) if s.opcode == opcode)
    given = tuple(slots(n.upper(), 4, count, bits=bits_of(t)) for n, t, count in spelling.lists[0])
    return Instruction(mnemonic, "thread", (32,), given, opcode, spelling.lists[:1])


CALLS: dict[str, RegisterCall] = {opcode: plain(opcode) for opcode in OTHER} | {
    "ewise": twice(slots("R", 4), slots("X", 4))
}


def test_every_instruction_is_tampered_with() -> None:
    assert [call.family for call in CALLS.values()] == [*MNEMONICS, "ewise"]


def lines(text: str, call: RegisterCall) -> list[str]:
    opcode = call.opcode if isinstance(call.opcode, str) else "add.u32"
    return [line for line in text.splitlines() if line.strip().startswith(f"{opcode} ")]


def dropped(text: str, call: RegisterCall) -> str:
    return text.replace(lines(text, call)[-1] + "\n", "")


def swapped(text: str, call: RegisterCall) -> str:
    """The first two instructions write each other's registers."""
    first, second = lines(text, call)[:2]
    one, other = (re.findall(r"%\w+", line)[0] for line in (first, second))
    changed = first.replace(one, other, 1), second.replace(other, one, 1)
    return text.replace(first, "first").replace(second, changed[1]).replace("first", changed[0])


def misread(text: str, call: RegisterCall) -> str:
    """The first instruction reads what the second does."""
    first, second = lines(text, call)[:2]
    return text.replace(first, first.replace(re.findall(r"%\w+", first)[-1], re.findall(r"%\w+", second)[-1]))


def recoded(text: str, call: RegisterCall) -> str:
    """Another opcode in the last instruction."""
    line = lines(text, call)[-1]
    opcode = line.split()[0]
    return text.replace(line, line.replace(opcode, OTHER.get(opcode, "sub.u32")))


@pytest.mark.parametrize("tamper", [dropped, swapped, misread, recoded])
@pytest.mark.parametrize("name", CALLS)
def test_tampered_code_is_caught(name: str, tamper: object) -> None:
    call = CALLS[name]
    fragment, made, wanted = prepared(call)
    assert run(made, wanted) == ""
    changed = tamper(fragment.text, call)  # type: ignore[operator]
    assert changed != fragment.text
    found = run(replace(made, text=made.text.replace(fragment.text, changed)), wanted)
    assert "instead of" in found, found


def dumped(call: RegisterCall, width: int = 4) -> list[int]:
    """What the dump of the first thread has to be, without poison behind it."""
    _, made, wanted = prepared(call)
    assert wanted.told.all()
    assert run(made, wanted) == ""
    return [int(w) for w in wanted.dump[0, : made.dump_bytes // call.threads].view(f"u{width}")]


def tag(word: int) -> int:
    return int(words(word))


# The registers of A and B of a thread take 16 bytes each, so those of B of 32 threads begin at word 128.


def test_sums_are_sums_of_tags() -> None:
    assert dumped(CALLS["add.u32"]) == [(tag(n) + tag(128 + n)) % 2**32 for n in range(4)]


def test_numbers_and_typed_scalars_are_read() -> None:
    a = slots("A", 4, 1)
    assert dumped(adds(slots("D", 4, 1), a, Scalar("number", 7))) == [(tag(n) + 7) % 2**32 for n in range(4)]
    index = adds(slots("D", 4, 1), a, Scalar("index", ("*", "i", 3)), symbols=(Symbol("i", 5, 5),))
    assert dumped(index) == [(tag(n) + 15) % 2**32 for n in range(4)]
    named = dumped(adds(slots("D", 4, 1), a, Scalar("variable", "v", "uint32")))
    (some,) = {(sum_ - tag(n)) % 2**32 for n, sum_ in enumerate(named)}
    assert some not in (0, POISON)


def test_registers_are_packed_and_unpacked_from_the_lowest_part() -> None:
    """A word of a tag is a word of the packed register, wherever it is split."""
    whole = (("d", "b32", 1), ("a", "b16", 2))
    given = slots("D", 4, 1), slots("A", 4, 2, bits=16)
    call = Instruction("mov", "thread", (32,), given, "mov.b32", (whole,))
    assert dumped(call) == [tag(n) for n in range(4)]
    parts = (("d", "b16", 2), ("a", "b32", 1))
    back = Instruction(
        "mov", "thread", (32,), (slots("D", 4, 2, bits=16), slots("A", 4, 1)), "mov.b32", (parts,)
    )
    assert dumped(back) == [tag(n) for n in range(4)]
    assert dumped(back, 2) == [tag(n // 2) >> 16 * (n % 2) & 0xFFFF for n in range(8)]


def test_a_repeat_reads_what_an_earlier_one_wrote() -> None:
    """The destination is a register ahead of its first source."""
    running = [tag(0)]
    b = slots("B", 4, 1)
    first = 8 * 32  # D has five registers of 32 bytes in all.
    for n in range(4):
        running.append((running[-1] + tag(first + n)) % 2**32)
    assert dumped(adds(TAIL, HEAD, b))[:5] == running


def test_a_source_that_is_overwritten_later_is_read_before() -> None:
    b = slots("B", 4, 1)
    ahead = [(tag(n + 1) + tag(8 * 32 + n)) % 2**32 for n in range(4)]
    assert dumped(adds(HEAD, TAIL, b))[:5] == [*ahead, tag(4)]


def test_a_predicate_leaves_registers_as_they_were() -> None:
    _, made, wanted = prepared(adds(D, slots("A", 4, 1), slots("B", 4, 1), pred=("<", "lane", 7)))
    assert run(made, wanted) == ""
    threads = wanted.dump[0].reshape(32, -1)
    assert [(thread == POISON).all() for thread in threads] == [False] * 7 + [True] * 25


def test_a_function_is_computed_from_within() -> None:
    body = ("-", ("min", "x", ("cast", "y", "int64")), "x")
    function = Function("f", (("x", "int64"), ("y", "int32")), "int64", body)
    given = (
        slots("R", 2, bits=64, dtype="int64"),
        slots("X", 2, bits=64, dtype="int64"),
        slots("Y", 2, dtype="int32"),
    )
    found = dumped(replace(twice(*given), function=function), 8)
    x = [tag(2 * n) | tag(2 * n + 1) << 32 for n in range(2)]
    y = [tag(4 * 32 + n) for n in range(2)]
    signed = [(a - (a >> 63 << 64), b - (b >> 31 << 32)) for a, b in zip(x, y, strict=True)]
    assert found == [(min(a, b) - a) % 2**64 for a, b in signed]
    assert dumped(twice(filed(slots("R", 4), 8, 0), filed(slots("X", 4), 8, 4)))[:4] == [
        2 * tag(4 + n) % 2**32 for n in range(4)
    ]


@pytest.mark.parametrize(
    ("spelling", "types", "operands", "bits"),
    [
        ("add.rn.f32", "f32 f32 f32", (0x3F800000, 0x33800000), 0x3F800000),
        ("add.rp.f32", "f32 f32 f32", (0x3F800000, 0x33800000), 0x3F800001),
        ("sub.s32", "s32 s32 s32", (1, 2), 0xFFFFFFFF),
        ("mul.wide.s16", "s32 s16 s16", (0xFFFF, 3), 0xFFFFFFFD),
        ("cvt.s32.s8", "s32 s8", (0x80,), 0xFFFFFF80),
        ("cvt.rn.f16x2.f32", "f16x2 f32 f32", (0x3F800000, 0x40000000), 0x3C004000),
        ("max.f32", "f32 f32 f32", (0x7FC00000, 0xBF800000), 0xBF800000),
    ],
)
def test_values(spelling: str, types: str, operands: tuple[int, ...], bits: int) -> None:
    names = tuple(types.split())
    arrays = [np.asarray([o], f"u{bits_of(t) // 8}") for o, t in zip(operands, names[1:], strict=True)]
    found = computation(spelling, names)(*arrays)
    assert (found.dtype.itemsize, found.tolist()) == (bits_of(names[0]) // 8, [bits])


def test_what_is_not_specified_is_not_executed() -> None:
    seven = np.asarray([7], np.uint32)
    with pytest.raises(UnexecutedError, match="division by zero"):
        computation("div.u32", ("u32",) * 3)(seven, 0 * seven)
    with pytest.raises(UnexecutedError, match="does not know"):
        computation("rsqrt.approx.ftz.f64", ("f64",) * 2)


ONE = 0x3F800000


@pytest.mark.parametrize(
    ("spelling", "type_", "found", "right", "good"),
    [
        ("add.rn.f32", "f32", ONE + 1, ONE, False),
        ("add.rn.f32", "f32", 0x80000000, 0, False),
        ("add.rn.f32", "f32", 0xFFC00000, 0x7FFFFFFF, True),
        ("add.rn.f32", "f32", 0x7F800000, 0x7FFFFFFF, False),
        ("add.rn.f32", "f32", 0x7FFFFFFF, 0x7F800000, False),
        ("add.s32", "s32", 0xFFC00000, 0x7FFFFFFF, False),
        ("cvt.rna.tf32.f32", "tf32", 0x7FC00000, 0x7FFFE000, True),
        ("ex2.approx.f32", "f32", ONE + 2, ONE, True),
        ("ex2.approx.f32", "f32", ONE + 4, ONE, False),
        ("rcp.approx.f32", "f32", 0, 0x007FFFFF, True),
        ("rcp.approx.f32", "f32", 0x7F800000, 0x7F7FFFFF, False),
        ("tanh.approx.bf16", "bf16", 0x3F81, 0x3F80, True),
        ("fma.rn.f16x2", "f16x2", 0x7E003C00, 0x7FFF3C00, True),
        ("fma.rn.f16x2", "f16x2", 0x3C017E00, 0x3C007FFF, False),
    ],
)
def test_what_is_as_good(spelling: str, type_: str, found: int, right: int, good: bool) -> None:
    """The same on its own and in a batch, where another entry stands before it."""
    width = bits_of(type_) // 8
    wanted, dump = (np.full((1, 512), POISON, np.uint8) for _ in range(2))
    wanted.view(f"u{width}")[0, 3], dump.view(f"u{width}")[0, 3] = right, found
    near = nearness(spelling, type_, wanted)
    second = Expected(wanted, np.ones(wanted.shape, bool), near)
    assert (difference(dump, second) == "") is good
    _, made, first = prepared(CALLS["add.u32"])
    text = made.text.replace("v_", "w_").replace("entry v(", "entry w(")
    other = replace(made, name="w", text=text, dump_bytes=512)
    ((batch,), _) = batches([(0, made, first), (1, other, second)], "sm_90a")
    findings = batch.findings(np.concatenate([first.dump.reshape(-1), dump.reshape(-1)]), range(2))
    assert [finding == "" for finding in findings] == [True, good]


def nearness(
    spelling: str, type_: str, wanted: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]
) -> tuple[Near, ...]:
    some = result(spelling, type_)
    if some is None:
        return ()
    count = bits_of(type_) // 8 // WIDTHS[some.type]
    at = np.arange(3 * count, 4 * count)
    if not some.relative:
        at = at[np.isnan(numbers(wanted.reshape(-1), at, some.type))]
    return (Near(at, some.type, some.relative, some.absolute),)


def test_results_of_a_view_are_near_where_they_may_be() -> None:
    _, _, exact = prepared(CALLS["sub.rn.f32"])
    _, _, wanted = prepared(CALLS["ex2.approx.f32"])
    assert sum(near.at.size for near in wanted.near) == 4 * 32
    assert all(np.isnan(numbers(exact.dump.reshape(-1), near.at, near.type)).all() for near in exact.near)
    dump = wanted.dump.copy()
    dump.view("u4")[0, 0] += 2
    assert difference(dump, wanted) == ""
    dump.view("u4")[0, 0] += 1 << 20
    assert "instead of" in difference(dump, wanted)


@pytest.mark.parametrize("type_", ["f16", "bf16", "f32", "f64", "f16x2"])
def test_masks_make_numbers_of_their_kind(type_: str) -> None:
    width = bits_of(type_) // 8
    tags = words(np.arange(800)).view(f"u{width}")
    scalar = type_.removesuffix("x2")
    least = {"f16": -14, "f64": -1022}.get(scalar, -126)

    def made(kind: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        some = mask(type_, kind)
        assert some
        bits = some.of(tags).view(np.uint8)
        return numbers(bits, np.arange(bits.size // WIDTHS[scalar]), scalar)

    small, large = np.abs(made("small")), np.abs(made("large"))
    assert ((2.0**-7 <= small) & (small < 2)).all()
    assert ((large >= 2) & (large < 2**9)).all()
    assert len(np.unique(small)) > 100 or scalar == "bf16"
    assert np.isinf(made("infinity")).all()
    assert np.isnan(made("nan")).all()
    tiny = np.abs(made("subnormal"))
    assert ((tiny > 0) & (tiny < 2.0**least)).all()
    assert (made("zero") == 0).all()
    assert mask(type_, "tags") is None


def test_every_kind_is_met() -> None:
    kinds = [kind_of(n) for n in range(128)]
    assert set(kinds) == {"small", "large", "tags", *SPECIAL}
    assert {kind_of(n, ordinary=True) for n in range(128)} == {"small", "large"}
    assert kinds.count("tags") > kinds.count("nan") > 0


def test_integers_take_no_masks() -> None:
    assert mask("u32", "small") is None
    assert mask("e4m3x2", "nan") is None


@pytest.mark.parametrize(
    ("found", "wanted", "absolute", "good"),
    [
        (0x0000, 0x0400, 2.0**-14, True), (0x0400, 0x0000, 2.0**-14, True), (0x8000, 0x8400, 2.0**-14, True),
        (0x8000, 0x0400, 2.0**-14, False), (0x0000, 0x0401, 2.0**-14, False), (0x0401, 0x0400, 2.0**-14, False),
        (0x0000, 0x03FF, 2.0**-14, False), (0x0000, 0x0400, 0.0, False), (0x7E00, 0x7FFF, 0.0, True),
    ],
)  # fmt: skip
def test_exact_results_differ_by_being_flushed_only(
    found: int, wanted: int, absolute: float, good: bool
) -> None:
    dump, right = (np.array([held], np.uint16).view(np.uint8) for held in (found, wanted))
    settle(dump, right, Near(np.zeros(1, np.int64), "f16", 0.0, absolute))
    assert np.array_equal(dump, right) is good
