"""Bounds and residues hold at every point, and are as tight as they are documented to be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import I, J, K, N, U, indices, points
from tileproof.layouts.bounds import bounds, congruence, is_multiple
from tileproof.layouts.evaluate import evaluate
from tileproof.layouts.index import Index, const, maximum, minimum, select
from tileproof.layouts.symbols import symbol


@given(indices(), st.integers(0, 10**6))
def test_every_value_lies_in_its_bounds_and_residue_class(expression: Index, seed: int) -> None:
    lo, hi = bounds(expression)
    modulus, residue = congruence(expression)
    for values in points(expression, seed=seed):
        value = evaluate(expression, values)
        assert lo is None or lo <= value
        assert hi is None or value <= hi
        assert value == residue if modulus == 0 else value % modulus == residue


W = symbol("w", 0, 7)
BOUNDS: list[tuple[Index, tuple[int | None, int | None]]] = [
    (const(5), (5, 5)),
    (I, (0, 31)),
    (U, (None, None)),
    (I - J, (-15, 36)),
    (-2 * J, (-30, 10)),
    (0 * U + I, (0, 31)),
    (I * J, (-155, 465)),
    (N * symbol("p", 0), (0, None)),
    (J // 4, (-2, 3)),
    (I // N, (0, 31)),
    ((I - 100) // N, (-100, -6)),
    (U // 4, (None, None)),
    (J % 4, (0, 3)),
    (I % 32, (0, 31)),
    (I % 31, (0, 30)),
    ((W + 8) % 16, (8, 15)),
    ((W + 9) % 16, (0, 15)),
    (U % N, (0, 11)),
    (W % N, (0, 7)),
    (I ^ W, (0, 31)),
    ((I + 160) ^ W, (0, 191)),
    (I | 64, (64, 95)),
    (J & 6, (0, 6)),
    (J & U, (None, None)),
    (J ^ I, (-32, 31)),
    (J & (J - 20), (-32, 31)),
    (J | symbol("q", -128, 127), (-128, 127)),
    (J ^ symbol("q", -129, 127), (-256, 255)),
    (minimum(I, U), (None, 31)),
    (maximum(I, U), (0, None)),
    (minimum(I, J), (-5, 15)),
    (select(I < 3, J, W), (-5, 15)),
    (select(I < 3, U, W), (None, None)),
]


@pytest.mark.parametrize(("expression", "expected"), BOUNDS, ids=repr)
def test_bounds(expression: Index, expected: tuple[int | None, int | None]) -> None:
    assert bounds(expression) == expected


CONGRUENCES: list[tuple[Index, tuple[int, int]]] = [
    (const(-3), (0, -3)),
    (I, (1, 0)),
    (K, (8, 0)),
    (symbol("fixed", 5, 5), (0, 5)),
    (K + 3, (8, 3)),
    (K - 3, (8, 5)),
    (K * 4 + U * 16, (16, 0)),
    (K * K, (64, 0)),
    ((K + 2) * (4 * U + 1), (8, 2)),
    ((K + 2) * (2 * U + 1), (4, 2)),
    ((8 * U + 2) * (8 * I + 3), (8, 6)),
    (K % 4, (0, 0)),
    ((K + 3) % 4, (0, 3)),
    (K % 64, (8, 0)),
    (K % 12, (4, 0)),
    (K // 8, (1, 0)),
    (K // 4, (2, 0)),
    ((K + 3) // 4, (2, 0)),
    (K // N, (1, 0)),
    (K ^ 5, (8, 5)),
    (K | 3, (8, 3)),
    (K & 12, (8, 0)),
    (U & 24, (8, 0)),
    (U & K, (8, 0)),
    (U ^ K, (1, 0)),
    (minimum(K, K + 16), (8, 0)),
    (maximum(K + 1, 4 * U + 1), (4, 1)),
    (select(I < 3, K, K + 4), (4, 0)),
]


@pytest.mark.parametrize(("expression", "expected"), CONGRUENCES, ids=repr)
def test_congruence(expression: Index, expected: tuple[int, int]) -> None:
    assert congruence(expression) == expected


@pytest.mark.parametrize(
    ("expression", "divisor", "expected"),
    [
        (K, 8, True),
        (K, 4, True),
        (K, 16, False),
        (K + 4, 4, True),
        (K + 4, 8, False),
        (const(0), 7, True),
        (const(6), 4, False),
    ],
)
def test_is_multiple(expression: Index, divisor: int, expected: bool) -> None:
    assert is_multiple(expression, divisor) is expected
