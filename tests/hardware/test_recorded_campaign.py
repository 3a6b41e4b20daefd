"""What came of the published campaign, as ``tileproof fuzz report --json`` told it."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from tileproof.contracts.families import load
from tileproof.report.catalogue import all_entries

RECORDINGS = {
    path.stem: json.loads(path.read_text()) for path in Path(__file__).parent.glob("*.campaign.json")
}
LEAST = 100


@pytest.mark.parametrize("name", RECORDINGS)
def test_nothing_disagreed(name: str) -> None:
    content = RECORDINGS[name]
    assert (content["disagreeing"], content["disagreements"]) == (0, [])
    assert content["views"] == sum(family["views"] for family in content["families"].values())
    # What is proved does what the layout says; what is refused does not.
    assert set(content["executed"]["emitted"]) == {"agreed"}
    assert "agreed" not in content["executed"]["addresses"]
    assert content["executed"]["emitted"]["agreed"] >= 100_000
    assert not any(family["undecided"] for family in content["families"].values())


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_obligation_of_every_contract_was_refuted_often(name: str) -> None:
    contracts = load()
    refuted: dict[str, Counter[str]] = defaultdict(Counter)
    for mnemonic, family in RECORDINGS[name]["families"].items():
        refuted[contracts[mnemonic].page] += Counter(family["refuted"]) + Counter(family["hazards"])
    assert set(refuted) == {contract.page for contract in contracts.values()}
    for mnemonic, contract in contracts.items():
        for obligation in all_entries(mnemonic):
            demand = obligation.id.rpartition(".")[2]
            assert refuted[contract.page][demand] >= LEAST, (contract.page, demand)


def test_there_is_a_recording() -> None:
    assert RECORDINGS
