"""Replay agrees with maps made by hand, and says so at once when a map or a contract is not right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tileproof.contracts import families
from tileproof.contracts.obligation import Obligation
from tileproof.fuzz import delivered
from tileproof.fuzz.delivered import UnrecordedError, pieces
from tileproof.fuzz.execute.table import table_forms
from tileproof.fuzz.maps import HardwareMaps
from tileproof.fuzz.reconstruct import Movement
from tileproof.fuzz.replay import Replayed, replay_chunk
from tileproof.fuzz.rows import Chunk
from tileproof.fuzz.template import PER_TEMPLATE, candidates

MEMORY = ("ld", "st", "ldmatrix", "stmatrix", "cp.async")


def replayed(family: str, maps: HardwareMaps, first: int = 0, templates: int = 2) -> Replayed:
    return replay_chunk(Chunk(family, 1, first * PER_TEMPLATE, templates * PER_TEMPLATE), maps)


@pytest.mark.parametrize("family", MEMORY)
def test_contract_brute_force_and_map_agree(family: str, by_hand: HardwareMaps) -> None:
    found = replayed(family, by_hand, templates=6)
    assert not found.rows
    assert found.views >= 4 * PER_TEMPLATE
    verdicts: Counter[str] = Counter()
    for tally in found.tallies:
        verdicts[tally.verdict] += tally.views
    assert min(verdicts["proved"], verdicts["refuted"]) > found.views // 10


@pytest.mark.parametrize("family", MEMORY)
def test_instances_are_all_different(family: str) -> None:
    one = next(candidates(family, 1, 0))
    assert one.values is not None
    rows = {tuple(int(v[i]) for v in one.values.values()) for i in range(PER_TEMPLATE)}
    assert len(rows) == PER_TEMPLATE


@pytest.mark.parametrize("family", ["ld", "cp.async"])
def test_results_do_not_depend_on_the_chunks(family: str, by_hand: HardwareMaps) -> None:
    whole = replayed(family, by_hand, templates=2)
    cuts = (0, 3000, PER_TEMPLATE, PER_TEMPLATE + 17, 2 * PER_TEMPLATE)
    parts = [replay_chunk(Chunk(family, 1, a, b - a), by_hand) for a, b in pairwise(cuts)]
    total: Counter[Any] = Counter()
    for part in parts:
        for tally in part.tallies:
            total[replace(tally, views=0)] += tally.views
    assert total == Counter({replace(t, views=0): t.views for t in whole.tallies})


def tampered(maps: HardwareMaps, change: Any) -> HardwareMaps:
    moved = {}
    for label, one in maps.movement.items():
        lane, offset = one.lane.copy(), one.offset.copy()
        change(label, lane, offset)
        moved[label] = Movement(lane, offset)
    return replace(maps, movement=moved)


def swap_lanes(_label: str, lane: Any, offset: Any) -> None:
    """Lanes 3 and 5 of the first register receive each other's."""
    for array in (lane, offset):
        array[0, [3, 5]] = array[0, [5, 3]]


def rotate_bytes(_label: str, _lane: Any, offset: Any) -> None:
    """The bytes of the last register of lane 7 are one further on."""
    offset[-1, 7] = np.roll(offset[-1, 7], 1)


def fill_less(label: str, lane: Any, _offset: Any) -> None:
    """One byte past the source's end is read."""
    if "src-size" in label:
        lane[1, :, 1] = lane[2, :, 1]


@pytest.mark.parametrize("family", MEMORY)
@pytest.mark.parametrize("change", [swap_lanes, rotate_bytes], ids=lambda f: f.__name__)
def test_a_tampered_map_is_caught(family: str, change: Any, by_hand: HardwareMaps) -> None:
    found = replayed(family, tampered(by_hand, change), templates=3)
    assert found.rows
    assert any(
        "by hand delivers something else than the view says; at " in f
        for row in found.rows
        for f in row.faults
    )


def test_a_copy_that_reads_too_much_is_caught(by_hand: HardwareMaps) -> None:
    found = replayed("cp.async", tampered(by_hand, fill_less), templates=12)
    assert any("by hand does not fill a chunk with zeros" in f for row in found.rows for f in row.faults)


REMOVED = [
    ("ld", "aligned"), ("ld", "contiguous"), ("ld", "owned"), ("ld", "distinct"), ("ld", "in-bounds"), ("ld", "in-storage"),
    ("st", "aligned"), ("st", "contiguous"), ("ldmatrix", "row-aligned"), ("ldmatrix", "row-contiguous"),
    ("ldmatrix", "owned"), ("ldmatrix", "distinct"), ("stmatrix", "row-aligned"), ("stmatrix", "row-contiguous"),
    ("cp.async", "destination-aligned"), ("cp.async", "source-aligned"), ("cp.async", "destination-contiguous"),
    ("cp.async", "source-contiguous"), ("cp.async", "in-bounds"), ("cp.async", "src-size"),
]  # fmt: skip


@pytest.mark.parametrize(("family", "demand"), REMOVED)
def test_a_contract_without_an_obligation_is_caught(
    family: str, demand: str, by_hand: HardwareMaps, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = families.load()[family]

    def states(call: Any) -> Iterator[Obligation]:
        return (o for o in own.states(call) if not o.id.endswith(f".{demand}"))

    monkeypatch.setitem(families._FAMILIES, family, replace(own, states=states))
    for first in range(200):
        found = replayed(family, by_hand, first, 1)
        if found.rows:
            break
    assert any(
        f"{demand} fails" in f or "delivers something else" in f for row in found.rows for f in row.faults
    )


def test_a_map_without_the_form_is_told(by_hand: HardwareMaps) -> None:
    with pytest.raises(UnrecordedError, match="the maps of by hand have no ld"):
        replayed("ld", replace(by_hand, movement={}))


@pytest.mark.parametrize("form", table_forms()[::5], ids=lambda form: form.label)
def test_pieces_are_the_map(form: Any, by_hand: HardwareMaps) -> None:
    movement = by_hand.movement[form.label]
    found = pieces(movement)
    size = movement.lane.shape[2] // len(found.start)
    assert (np.repeat(found.lane, size, axis=2) == movement.lane).all()
    steps = np.tile(np.arange(size), len(found.start)) * (movement.lane >= 0)
    assert (np.repeat(found.offset, size, axis=2) + steps == movement.offset).all()


def test_what_a_map_cannot_speak_of() -> None:
    """256-bit accesses are not of sm_90a."""
    wide = next(one for n in range(200) for one in candidates("ld", 1, n) if "v4.b64" in str(one.call.opcode))
    assert not delivered.recordable(wide.call)
