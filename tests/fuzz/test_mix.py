"""No demand of any contract goes unexercised: random views break each of them, often enough."""

from __future__ import annotations

from collections import Counter

import pytest

from tileproof.fuzz.agreement import compare
from tileproof.fuzz.families import generate, judge, pages
from tileproof.fuzz.mixture import mix
from tileproof.fuzz.rows import choices_of
from tileproof.report.catalogue import all_entries

VIEWS = 1000
LEAST = 2
"""Of so many views, 0.2 per cent: a hundred of 50,000."""


def demands(mnemonics: tuple[str, ...]) -> set[str]:
    """What the contracts of these instructions can demand, hazards included, without the instruction's name."""
    return {entry.id.removeprefix(f"{m}.") for m in mnemonics for entry in all_entries(m)}


@pytest.mark.parametrize("page", pages())
def test_every_demand_is_refuted_by_the_library_and_often_enough_by_brute_force(page: str) -> None:
    mnemonics = pages()[page]
    wanted = demands(mnemonics)
    broken: Counter[str] = Counter()
    refuted: set[str] = set()
    for number in range(VIEWS):
        call = generate(mnemonics[number % len(mnemonics)], choices_of(1, number))
        outcome = judge(call)
        found = {*outcome.failing, *outcome.hazards}
        broken.update(found)
        if found - refuted:
            comparison = compare(call)
            refuted |= comparison.refuted | comparison.hazards
    assert refuted == wanted
    assert {name: broken[name] for name in wanted if broken[name] < LEAST} == {}


def test_a_mix_counts_what_brute_force_says() -> None:
    found = mix("st", 200)
    assert found.verdicts.total() == found.views == 200
    assert 0.4 < found.verdicts["legal"] / 200 < 0.8
    assert set(found.refused) | set(found.hazards) <= demands(("st",))
    assert str(found).startswith("st, 200 views: legal ")
