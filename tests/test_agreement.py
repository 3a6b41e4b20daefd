"""``tileproof.check`` against brute force on random small calls: verdicts, obligations, counterexamples and hazards."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tileproof.fuzz.agreement import Comparison, cannot_tell, compare, describe
from tileproof.fuzz.families import generate, judge, mnemonics, pages
from tileproof.fuzz.family.cp_async import Copy
from tileproof.fuzz.generate.choices import Choices, smallest
from tileproof.fuzz.oracle.demands import Outcome
from tileproof.fuzz.oracle.description import Access, Backing, Call, Factor, Operand, Region, Swizzle, Symbol
from tileproof.fuzz.strategies import described

SEEDED = 900
DRAWN = 120
GROUPS = [
    group
    for page in pages().values()
    for group in ([page] if len(page) > 2 else [(mnemonic,) for mnemonic in page])
]
"""Instructions that are looked at together: all on registers, which have one contract; any other by itself."""


def agreed(call: Call) -> Comparison:
    comparison = compare(call)
    assert not comparison.faults, describe(call, comparison)
    return comparison


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group[0])
def test_checks_agree_with_brute_force_on_seeded_calls(group: tuple[str, ...]) -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEEDED):
        seen[agreed(generate(group[seed % len(group)], Choices.seeded(seed))).verdict] += 1
    # The calls are worth checking: about half are legal. Which demands fail is for tests/fuzz/test_mix.py.
    assert 0.4 < seen["proved"] / SEEDED < 0.75


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group[0])
def test_checks_agree_with_brute_force_on_drawn_calls(group: tuple[str, ...]) -> None:
    @settings(max_examples=DRAWN, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def agree(data: st.DataObject) -> None:
        agreed(data.draw(st.sampled_from(group).flatmap(described)))

    agree()


def assert_found(call: Call, failing: set[str], hazards: set[str]) -> None:
    """Brute force finds these demands and hazards, and so does the library."""
    outcome = judge(call)
    assert set(outcome.failing) == failing
    assert failing or set(outcome.hazards) == hazards
    agreed(call)


# The oracle itself, on calls whose answer the contract reference or the PTX ISA gives.


def whole(*extents: int) -> tuple[Region, ...]:
    return tuple(Region(0, n) for n in extents)


def factors(extents: tuple[int, ...], strides: tuple[object, ...]) -> tuple[Factor, ...]:
    pairs = (s if isinstance(s, tuple) else (s, "m") for s in strides)
    return tuple(Factor(n, *pair) for n, pair in zip(extents, pairs, strict=True))


LANES = (4, "laneid"), (1, "laneid")

# "ldmatrix with interleaved rows and separated registers": SM (16,4,2):(8,1,128) as "(r m) w k -> k m r w".
INTERLEAVED = Access(
    "ldmatrix", "warp", (32,), "shared", 32, 2,
    Operand("R", "registers", 32, (2, 2, 8, 4), factors((2, 2, 8, 4), (8, 2, *LANES)), region=whole(2, 2, 8, 4)),
    Operand(
        "SM", "shared", 32, (16, 4, 2), factors((16, 4, 2), (8, 1, 128)), region=whole(16, 4, 2),
        reshape=(8, 2, 4, 2), order=(3, 1, 0, 2),
    ),
)  # fmt: skip

# "A and R both have shape (2, 32, 3, 4)": 64 threads, three 128-bit loads per thread.
THREE_LOADS = Access(
    "ld", "cta", (64,), "global", 32, 4,
    Operand(
        "R", "registers", 32, (2, 32, 3, 4), factors((2, 32, 3, 4), ((1, "warpid"), (1, "laneid"), 8, 2)),
        region=whole(2, 32, 3, 4),
    ),
    Operand("A", "global", 32, (2, 32, 3, 4), factors((2, 32, 3, 4), (384, 12, 4, 1)), align=256, region=whole(2, 32, 3, 4)),
)  # fmt: skip


QUAD = factors((4, 4), ((1, "laneid"), 1))

# Four lanes load. The registers are those of two pairs of lanes, with a gap.
PAIRS = Access(
    "ld", "warp", (32,), "global", 32, 4,
    Operand("R", "registers", 32, (4, 4), factors((2, 2, 4), ((4, "laneid"), (1, "laneid"), 1)), region=whole(4, 4)),
    Operand("A", "global", 32, (4, 4), factors((4, 4), (4, 1)), align=256, region=whole(4, 4)),
    guard=("<", "lane", 4),
)  # fmt: skip


def shared(call: Access, **changes: object) -> Access:
    return replace(call, memory=replace(call.memory, **changes))  # type: ignore[arg-type]


def registers(call: Access, **changes: object) -> Access:
    return replace(call, registers=replace(call.registers, **changes))  # type: ignore[arg-type]


STORE = replace(THREE_LOADS, family="st")
WORDS = (2, 32, 3, 4)

KNOWN: dict[str, tuple[Call, set[str], set[str]]] = {
    "interleaved rows": (INTERLEAVED, set(), set()),
    "rows from byte 8": (shared(INTERLEAVED, align=8), {"row-aligned"}, set()),
    "rows of every second word": (
        shared(INTERLEAVED, factors=factors((16, 4, 2), (8, 2, 128))), {"row-contiguous"}, set(),
    ),
    "two words in one register": (
        registers(INTERLEAVED, factors=factors((2, 2, 8, 4), (8, 8, *LANES))), {"distinct"}, set(),
    ),
    "words with other lanes": (
        registers(INTERLEAVED, factors=factors((2, 2, 8, 4), (8, 2, (1, "laneid"), (8, "laneid")))), {"owned"}, set(),
    ),
    "half a warp": (replace(INTERLEAVED, guard=("<", "lane", 16)), {"converged"}, set()),
    "one of two warps": (replace(INTERLEAVED, block=(64,), guard=("<", "warp", 1)), set(), set()),
    "a region of each lane's own": (
        shared(
            INTERLEAVED, shape=(2, 16, 4, 2), factors=factors((2, 16, 4, 2), (256, 8, 1, 128)),
            region=(Region(("%", "lane", 2), None), *whole(16, 4, 2)),
        ),
        {"uniform"}, set(),
    ),
    "registers of lanes 0, 1, 4 and 5": (PAIRS, {"owned"}, set()),
    "registers of lanes 0, 1, 4 and 5, three of which load": (replace(PAIRS, pred=("<", "lane", 3)), {"owned"}, set()),
    "registers of lanes 0, 1, 4 and 5, two of which load": (replace(PAIRS, pred=("<", "lane", 2)), set(), set()),
    "registers of lanes 0, 1, 4 and 5 for an unknown quarter": (
        replace(PAIRS, guard=("==", ("//", "lane", 4), "n"), pred=("<", "lane", 2), symbols=(Symbol("n", 0, 7),)), set(), set(),
    ),
    "three loads": (THREE_LOADS, set(), set()),
    "a base at byte 8": (shared(THREE_LOADS, align=8), {"aligned"}, set()),
    "words a gap apart": (shared(THREE_LOADS, factors=factors(WORDS, (768, 24, 8, 2))), {"contiguous"}, set()),
    "one warp more than the group has": (replace(THREE_LOADS, block=(96,)), {"covered"}, set()),
    "one warp less than the group has": (replace(THREE_LOADS, block=(32,)), {"converged"}, set()),
    "another warp's registers": (
        registers(THREE_LOADS, offsets=((1, "warpid"),)), {"owned"}, set(),
    ),
    "a slot twice": (
        registers(THREE_LOADS, factors=factors(WORDS, ((1, "warpid"), (1, "laneid"), 6, 2))), {"distinct"}, set(),
    ),
    "a region past the end": (
        replace(shared(THREE_LOADS, region=(Region("i", 2), *whole(32, 3, 4))), symbols=(Symbol("i", 0, 1),)),
        {"in-bounds"}, set(),
    ),
    "storage that ends too soon": (shared(THREE_LOADS, backing=Backing(767, 0)), {"in-storage"}, set()),
    "storage that is just enough": (shared(THREE_LOADS, backing=Backing(768, 0)), set(), set()),
    "a swizzle of whole accesses": (shared(THREE_LOADS, swizzle=Swizzle(3, 2, 3)), set(), set()),
    "a swizzle inside an access": (
        shared(THREE_LOADS, swizzle=Swizzle(3, 1, 3)), {"aligned", "contiguous"}, set(),
    ),
    "stores to places of their own": (STORE, set(), set()),
    "stores of all lanes to one place": (
        shared(STORE, factors=factors(WORDS, (12, 0, 4, 1))), set(), {"write-conflict"},
    ),
    "a copy that goes stale": (shared(STORE, replicas=(Factor(2, 768),)), set(), {"replica"}),
}  # fmt: skip


CHUNKS = (32, 8)
COPY = Copy(
    "cp.async", "warp", (32,), "shared", 16, 8,
    Operand("A", "global", 16, CHUNKS, factors(CHUNKS, (8, 1)), align=256, region=whole(*CHUNKS)),
    Operand("SM", "shared", 16, CHUNKS, factors(CHUNKS, (8, 1)), align=16, region=whole(*CHUNKS)),
)  # fmt: skip


def cut(call: Copy, **changes: object) -> Copy:
    """The same copy with fewer elements in each row of the source than a chunk has."""
    source = replace(call.source, shape=(32, 5), factors=factors((32, 5), (8, 1)))
    return replace(call, registers=source, **changes)  # type: ignore[arg-type]


KNOWN |= {
    "a chunk for each lane": (COPY, set(), set()),
    "a size that .cg has not": (replace(COPY, chunk=8, count=4), {"chunk-bytes", "shape"}, set()),
    "a destination at byte 8": (shared(COPY, align=8), {"destination-aligned"}, set()),
    "a source at byte 8": (registers(COPY, align=8), {"source-aligned"}, set()),
    "every second half": (
        registers(COPY, factors=factors(CHUNKS, (16, 2))), {"source-contiguous"}, set(),
    ),
    "all lanes to one chunk": (shared(COPY, factors=factors(CHUNKS, (0, 1))), set(), {"write-conflict"}),
    "more bytes than a chunk has": (replace(COPY, src_size=17), {"src-size"}, set()),
    "rows of five halves": (cut(COPY), {"in-bounds"}, set()),
    "rows of five halves, which are read": (cut(COPY, src_size=10), set(), set()),
    "rows of five halves and one byte": (cut(COPY, src_size=11), {"in-bounds"}, set()),
    "rows of five halves, which are ignored": (cut(COPY, ignore=("<", "lane", 32)), set(), set()),
    "rows of five halves, all but one ignored": (cut(COPY, ignore=("<", "lane", 31)), {"in-bounds"}, set()),
    "storage that ends with what is read": (
        registers(replace(COPY, src_size=10), backing=Backing(31 * 8 + 5, 0)), set(), set(),
    ),
    "storage that ends before": (
        registers(replace(COPY, src_size=11), backing=Backing(31 * 8 + 5, 0)), {"in-storage"}, set(),
    ),
}  # fmt: skip


KNOWN |= {
    "offsets that just fit into 32 bits": (
        replace(shared(THREE_LOADS, factors=factors(WORDS, ((1 << 29) - 384, 12, 4, 1))), index_bits=32), set(), set(),
    ),
    "an offset that does not": (
        replace(shared(THREE_LOADS, factors=factors(WORDS, (1 << 29, 12, 4, 1))), index_bits=32),
        {"no-overflow"}, set(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_brute_force_finds_what_the_reference_says(name: str) -> None:
    assert_found(*KNOWN[name])


UNEVEN = "the guard leaves lane 0, 1, 5, which are not evenly spaced"
UNSAID = "the registers name lane 0, 1, 4, 5, which are not evenly spaced"
QUARTER = ("==", ("//", "lane", 4), "n")


@pytest.mark.parametrize(
    ("changes", "verdict", "scattered", "unsaid"),
    [
        ({}, "refuted", False, False),
        ({"guard": ("<", ("%", "lane", 8), 2), "block": (16,)}, "unsupported", True, False),
        ({"guard": QUARTER}, "unsupported", False, True),
        ({"guard": ("all", ("<", "lane", 4), ("<", "n", 5))}, "refuted", False, False),
        ({"guard": QUARTER, "registers": replace(PAIRS.registers, shape=(4, 4), factors=QUAD)}, "refuted", False, False),
    ],
)  # fmt: skip
def test_who_cannot_be_told_apart(
    changes: dict[str, Any], verdict: str, scattered: bool, unsaid: bool
) -> None:
    call = replace(PAIRS, symbols=(Symbol("n", 0, 7),), **changes)
    assert agreed(call).verdict == verdict
    outcome = judge(call)
    assert (outcome.scattered, outcome.unsaid) == (scattered, unsaid)


@pytest.mark.parametrize("outcome", [Outcome(), Outcome(scattered=True), Outcome(unsaid=True)])
def test_no_answer_is_agreed_upon_for_a_true_reason_only(outcome: Outcome) -> None:
    assert cannot_tell(outcome, UNEVEN) == outcome.scattered
    assert cannot_tell(outcome, UNSAID) == outcome.unsaid
    assert not cannot_tell(outcome, "mma is a known instruction without a contract")


def test_the_plainest_choices_make_a_legal_call() -> None:
    for family in mnemonics():
        assert agreed(generate(family, Choices.replayed(()))).verdict == "proved"


def test_a_call_follows_from_its_seed_and_from_its_choices() -> None:
    choices = Choices.seeded(11)
    call = generate("st", choices)
    assert call == generate("st", Choices.seeded(11)) == generate("st", Choices.replayed(choices.drawn))
    assert call != generate("st", Choices.seeded(12))


def test_the_smallest_sequence_is_still_wanted() -> None:
    assert smallest([9, 3, 7, 5, 8], lambda s: any(n >= 5 for n in s)) == [5]
    assert sum(smallest([4, 4, 4, 4], lambda s: sum(s) >= 7)) == 7


def test_a_layout_of_another_size_than_the_shape_is_no_view() -> None:
    call = registers(THREE_LOADS, factors=factors((2, 32, 3, 4, 2), ((1, "warpid"), (1, "laneid"), 8, 2, 1)))
    assert judge(call).unbuildable is not None
    assert agreed(call).verdict == "refused"
