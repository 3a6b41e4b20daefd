"""Every point of a small grid at which a relation holds."""

from __future__ import annotations

from tileproof.layouts.evaluate import where
from tileproof.layouts.index import leaf, truth
from tileproof.layouts.leaf import Leaf

X, Y = Leaf("x", "thread", 0, 3), Leaf("y", "thread", 0, 1)
COUNTS = {X: 4, Y: 2}


def test_points_come_in_order() -> None:
    assert where(leaf(X) % 2 == leaf(Y), COUNTS) == [(0, 0), (1, 1), (2, 0), (3, 1)]
    assert where(leaf(X) < 1, COUNTS) == [(0, 0), (0, 1)]


def test_a_relation_that_mentions_nothing() -> None:
    assert where(truth(True), {Y: 2}) == [(0,), (1,)]
    assert where(truth(False), COUNTS) == []


def test_numbers_beyond_64_bits_say_nothing() -> None:
    far = leaf(X) * 2**70 < leaf(Y) * 2**70 + 1
    assert where(far, COUNTS) == []
