from __future__ import annotations

from collections import defaultdict

import pytest

from tileproof.contracts.grammar import enumerate_spellings, table
from tileproof.contracts.legality import continuations

INSTRUCTIONS = {instruction.mnemonic: instruction for instruction in table()}


def listed(mnemonic: str, before: tuple[str, ...]) -> list[str]:
    return [token for _, tokens in continuations(INSTRUCTIONS[mnemonic], before) for token in tokens]


@pytest.mark.parametrize("mnemonic", ["ldmatrix", "stmatrix"])
def test_continuations_are_the_next_tokens_of_legal_spellings(mnemonic: str) -> None:
    following: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for spelling in enumerate_spellings(mnemonic):
        tokens = tuple(spelling.split(".")[1:])
        for length, token in enumerate(tokens):
            following[tokens[:length]].add(token)
        assert following[tokens] == set()
    for before, tokens in following.items():
        assert set(listed(mnemonic, before)) == tokens, before


@pytest.mark.parametrize(
    ("mnemonic", "before", "legal", "illegal"),
    [
        ("ld", ("relaxed",), {"cta", "cluster", "gpu", "sys"}, {"global", "b32"}),
        ("ld", ("shared",), {"ca", "v4", "b128"}, {"nc", "L1::evict_last", "L2::cache_hint", "v8"}),
        ("ld", ("global", "nc"), {"L1::evict_last", "L2::evict_last", "v8"}, {"ca", "nc"}),
        ("ld", ("global", "v8"), {"b32", "f32"}, {"b8", "b64", "b128", "v2"}),
        ("st", ("mmio", "relaxed", "sys"), {"global", "b32"}, {"shared", "wb", "v2"}),
    ],
)
def test_continuations_of_memory_accesses(
    mnemonic: str, before: tuple[str, ...], legal: set[str], illegal: set[str]
) -> None:
    tokens = set(listed(mnemonic, before))
    assert legal <= tokens
    assert not illegal & tokens


def test_after_an_illegal_beginning_every_later_token_is_listed() -> None:
    assert listed("ldmatrix", ("aligned",)) == ["m8n8", "m16n16", "m8n16"]
    assert listed("stmatrix", ("sync", "aligned", "m8n8", "x1", "b8")) == []
