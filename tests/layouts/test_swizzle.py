"""Swizzles against a formula that moves one bit at a time, in both parametrisations and both units."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.layouts.smt import always_equal
from tests.strategies import swizzles
from tileproof.errors import LayoutError
from tileproof.layouts.evaluate import evaluate, evaluate_array
from tileproof.layouts.index import const, leaf
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.swizzle import Swizzle
from tileproof.layouts.symbols import symbol

OFFSET = Leaf("offset")


def bit_by_bit(offset: int, base: int, bits: int, shift: int) -> int:
    """Bit ``base + k`` becomes its exclusive or with the bit ``shift`` above it, or below when negative."""
    target, source = (base, base + shift) if shift >= 0 else (base - shift, base)
    result = offset
    for k in range(bits):
        if offset >> (source + k) & 1:
            result ^= 1 << (target + k)
    return result


@given(swizzles("element"), st.integers(0, 1 << 16))
def test_cute_parameters(swizzle: Swizzle, offset: int) -> None:
    want = bit_by_bit(offset, swizzle.base, swizzle.bits, swizzle.shift)
    assert evaluate(swizzle.apply(leaf(OFFSET)), {OFFSET: offset}) == want
    assert swizzle.apply(offset).value == want


@pytest.mark.parametrize("per_element", range(4))
@pytest.mark.parametrize("swizzle_len", range(4))
@pytest.mark.parametrize("atom_len", range(3, 5))
def test_reference_parameters(per_element: int, swizzle_len: int, atom_len: int) -> None:
    swizzle = Swizzle.from_reference(per_element, swizzle_len, atom_len)
    assert (swizzle.base, swizzle.bits, swizzle.shift) == (per_element, swizzle_len, atom_len)
    offsets = np.arange(4 * swizzle.period)
    mask = ((1 << swizzle_len) - 1) << per_element
    want = offsets ^ ((offsets >> atom_len) & mask)
    assert evaluate_array(swizzle.apply(leaf(OFFSET)), {OFFSET: offsets}).tolist() == want.tolist()


# The byte permutations of shared memory (PTX ISA, "Swizzling modes"): rows of 128, 64 and 32 bytes.
@pytest.mark.parametrize(
    ("swizzle", "shift", "mask"),
    [
        (Swizzle(3, 4, 3, "byte"), 3, 112),
        (Swizzle(2, 4, 3, "byte"), 3, 48),
        (Swizzle(1, 4, 3, "byte"), 3, 16),
        (Swizzle(2, 5, 2, "byte"), 2, 96),  # 128-byte rows, atoms of 32 bytes
    ],
)
def test_modes_of_shared_memory(swizzle: Swizzle, shift: int, mask: int) -> None:
    for offset in range(0, 2048, 16):
        assert swizzle.apply(offset).value == offset ^ ((offset >> shift) & mask)


@given(swizzles())
def test_a_swizzle_is_an_involution_and_a_permutation_of_each_period(swizzle: Swizzle) -> None:
    period = np.arange(swizzle.period)
    once = evaluate_array(swizzle.apply(leaf(OFFSET)), {OFFSET: period})
    twice = evaluate_array(swizzle.apply(leaf(OFFSET)), {OFFSET: once})
    assert sorted(once.tolist()) == period.tolist()
    assert twice.tolist() == period.tolist()
    later = evaluate_array(swizzle.apply(leaf(OFFSET)), {OFFSET: period + 5 * swizzle.period})
    assert (later - once == 5 * swizzle.period).all()


def test_a_solver_sees_that_a_swizzle_undoes_itself() -> None:
    offset = symbol("offset", 0, 1023)
    swizzle = Swizzle(3, 4, 3)
    assert always_equal(swizzle.apply(swizzle.apply(offset)), offset, bits=True)
    assert not always_equal(swizzle.apply(offset), offset, bits=True)


def test_no_bits_change_nothing() -> None:
    offset = symbol("offset")
    assert Swizzle(0, 4, 3).apply(offset) is offset


@pytest.mark.parametrize(
    ("byte", "element_bits", "element"),
    [
        (Swizzle(3, 4, 3, "byte"), 8, Swizzle(3, 4, 3)),
        (Swizzle(3, 4, 3, "byte"), 16, Swizzle(3, 3, 3)),
        (Swizzle(3, 4, 3, "byte"), 32, Swizzle(3, 2, 3)),
        (Swizzle(3, 4, 3, "byte"), 64, Swizzle(3, 1, 3)),
        (Swizzle(3, 4, 3, "byte"), 128, Swizzle(3, 0, 3)),
        (Swizzle(3, 4, 3, "byte"), 4, Swizzle(3, 5, 3)),
        (Swizzle(2, 5, -2, "byte"), 32, Swizzle(2, 3, -2)),
        (Swizzle(3, 4, 3, "element"), 32, Swizzle(3, 4, 3)),
    ],
)
def test_bytes_are_not_elements(byte: Swizzle, element_bits: int, element: Swizzle) -> None:
    assert byte.in_elements(element_bits) == element


@pytest.mark.parametrize("element_bits", [4, 8, 16, 32, 64])
@given(offset=st.integers(0, 1 << 14))
def test_both_units_move_an_element_to_one_byte(element_bits: int, offset: int) -> None:
    byte = Swizzle(3, 4, 3, "byte")
    first_bit = offset * element_bits
    moved = byte.apply(first_bit // 8).value * 8 + first_bit % 8  # type: ignore[operator]
    assert byte.in_elements(element_bits).apply(offset).value * element_bits == moved  # type: ignore[operator]


@pytest.mark.parametrize(
    ("parameters", "legal"),
    [
        ((3, 4, 3), True),
        ((3, 4, 2), False),
        ((3, 4, -3), True),
        ((3, 4, -2), False),
        ((0, 0, 0), True),
        ((-1, 4, 3), False),
        ((3, 0, 3), True),
        ((3, -1, 3), False),
    ],
)
def test_only_permutations_are_swizzles(parameters: tuple[int, int, int], legal: bool) -> None:
    if legal:
        assert Swizzle(*parameters).apply(const(0)).value == 0
    else:
        with pytest.raises(LayoutError, match=r"no such swizzle: bits=.* must not be negative"):
            Swizzle(*parameters)


def test_an_unknown_unit_is_refused() -> None:
    with pytest.raises(LayoutError, match="'element' or 'byte', got 'word'"):
        Swizzle(3, 4, 3, "word")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("swizzle", "element_bits", "legal"),
    [
        (Swizzle(3, 4, 3, "byte"), 128, True),
        (Swizzle(3, 3, 3, "byte"), 128, False),
        (Swizzle(3, 2, 3, "byte"), 32, True),
        (Swizzle(3, 1, 3, "byte"), 32, False),
        (Swizzle(3, 4, 3, "byte"), 6, False),
    ],
)
def test_a_swizzle_moves_whole_elements(swizzle: Swizzle, element_bits: int, legal: bool) -> None:
    if legal:
        assert (
            swizzle.in_elements(element_bits).base
            == (8 << swizzle.base).bit_length() - element_bits.bit_length()
        )
    else:
        with pytest.raises(
            LayoutError, match=f"permutes pieces of {1 << swizzle.base} bytes, which {element_bits}-bit"
        ):
            swizzle.in_elements(element_bits)


def test_text_says_the_unit() -> None:
    assert str(Swizzle(3, 4, 3)) == "Swizzle<3,4,3>"
    assert str(Swizzle(3, 4, -3, "byte")) == "Swizzle<3,4,-3> in bytes"
