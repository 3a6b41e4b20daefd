"""Views that cannot be: each refusal names the dimension and the numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tileproof.errors import LayoutError
from tileproof.layouts.layout import S, TileLayout
from tileproof.layouts.symbols import symbol
from tileproof.layouts.tensor import tensor

P, J = symbol("i", 0, 12), symbol("j", 0, 3)
N = symbol("n", 1, 64)
A = tensor("A", (16, 4, 6), "float32", layout=TileLayout(S[(16, 4, 6) : (32, 8, 1)]))

REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "an extent that is not static": (lambda: A[P:J], "A: dimension 0: the extent of [i : j] is not static"),
    "a symbolic extent": (lambda: A[0:4, 0:J], "A: dimension 1: the extent of [0 : j] is not static"),
    "an open end after a symbolic start": (
        lambda: A[P:],
        "A: dimension 0: the extent of [i : 16] is not static",
    ),
    "an empty region": (lambda: A[:, 2:2], "A: dimension 1: the region [2 : 2] is empty (0 elements)"),
    "a region that runs backwards": (
        lambda: A[:, :, 4:1],
        "A: dimension 2: the region [4 : 1] is empty (-3 elements)",
    ),
    "an end counted from the right": (
        lambda: A[:, :-1],
        "A: dimension 1: the region [0 : -1] is empty (-1 elements)",
    ),
    "a step backwards": (lambda: A[::-1], "A: dimension 0: the step must be a positive constant, got -1"),
    "a step of zero": (lambda: A[:, ::0], "A: dimension 1: the step must be a positive constant, got 0"),
    "a symbolic step": (lambda: A[:, ::J], "A: dimension 1: the step must be a positive constant, got j"),
    "too many dimensions": (lambda: A[0, 0, 0:1, 0], "A: a rank-3 view cannot be sliced by 4 items"),
    "two ellipses": (lambda: A[..., 0, ...], "A: a rank-3 view cannot be sliced by"),
    "no dimension left": (lambda: A[0, 0, 0], "A: an index for each dimension leaves none"),
    "text as an index": (lambda: A["x"], "got 'x'"),
    "a truth value as an index": (lambda: A[True], "got the truth value True"),
    "a region of another rank": (
        lambda: A.sub((0, 0), (1, 1, 1)),
        "A: a region of a rank-3 view needs 3 starts and extents, got 2 and 3",
    ),
    "an empty region of sub": (
        lambda: A.sub((0, 0, 0), (1, 0, 1)),
        "A: dimension 1: the region [0 : 0] is empty",
    ),
    "a dimension twice": (
        lambda: A.permute(0, 0, 1),
        "A: permute needs each of the dimensions 0..2 once, got (0, 0, 1)",
    ),
    "a dimension too few": (lambda: A.permute(1, 0), "got (1, 0)"),
    "a dimension that is not there": (lambda: A.permute(0, 1, 3), "got (0, 1, 3)"),
    "a shape of another size": (
        lambda: A.view(16, 25),
        "A: (16, 4, 6) has 384 elements, the shape (16, 25) has 400",
    ),
    "a negative size": (lambda: A.view(-1, 4), "A: dimension 0 of the new shape is -1; sizes are at least 1"),
    "no shape": (A.view, "A: the new shape has no dimensions"),
    "an unknown type": (lambda: A.view("float7"), "unknown element type 'float7'; the types are bool, int8"),
    "an odd number of halves": (
        lambda: A[:, :, 0:3].view("uint64"),
        "A: dimension 2 has 3 elements of 32 bits, which is no whole number of 64-bit",
    ),
    "a wider type across a gap": (
        lambda: A.permute(2, 0, 1).view("uint64"),
        "A: dimension 2 is not contiguous, so 2 elements of 32 bits make no 64-bit element",
    ),
    "a wider type across a step": (lambda: A[:, :, ::3].view("uint64"), "A: dimension 2 is not contiguous"),
    "a wider type across a broadcast": (
        lambda: A[:, :, 0:1].broadcast(16, 4, 2).view("uint64"),
        "A: dimension 2 is not contiguous",
    ),
    "widths that do not divide": (
        lambda: A.view("float6_e2m3fn"),
        "A: a 32-bit element is no whole number of 6-bit elements",
    ),
    "broadcasting a dimension of more than one": (
        lambda: A.broadcast(16, 5, 6),
        "A: shape (16, 4, 6) does not broadcast to (16, 5, 6)",
    ),
    "broadcasting to a lower rank": (
        lambda: A.broadcast(4, 6),
        "A: shape (16, 4, 6) does not broadcast to (4, 6)",
    ),
    "broadcasting to nothing": (lambda: A[0:1].broadcast(0, 4, 6), "A: dimension 0 of the new shape is 0"),
    "numbers for a symbolic shape": (
        lambda: tensor("G", (N, 4), "int8").as_view().extents,
        "G: dimension 0 has the symbolic extent n",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_views_are_refused(name: str) -> None:
    build, message = REFUSED[name]
    with pytest.raises(LayoutError) as error:
        build()
    assert message in str(error.value)


PATTERNS: dict[str, tuple[str, dict[str, Any], str]] = {
    "no arrow": ("a b c", {}, "write 'old names -> new names'"),
    "too few dimensions": ("a b -> b a", {}, "the left side names 2 dimensions, A has 3: (16, 4, 6)"),
    "a name that is lost": ("a b c -> a b", {}, "each name must stand once on either side"),
    "a name from nowhere": ("a b c -> a b c d", {}, "each name must stand once on either side"),
    "a name twice": ("a a c -> a a c", {}, "each name must stand once on either side"),
    "an open parenthesis": ("(a b c -> a b c", {}, "a '(' without its ')'"),
    "a closing parenthesis": ("a b) c -> a b c", {}, "a ')' without its '('"),
    "nesting": ("((a x) y) b c -> a x y b c", {"x": 2, "y": 2}, "parentheses do not nest"),
    "punctuation": ("a, b, c -> a b c", {}, "unexpected ', b, c'"),
    "sizes that do not divide": (
        "(a x) b c -> a x b c",
        {"x": 3},
        "dimension 0 of A has 16 elements, which x=3 does not divide up",
    ),
    "sizes that multiply up to more": (
        "(a x) b c -> a x b c",
        {"x": 4, "a": 5},
        "dimension 0 of A has 16 elements, which a=5 x=4 does not",
    ),
    "two open sizes": (
        "(a x y) b c -> a x y b c",
        {"x": 2},
        "splits into a x y; give the sizes of all but one of a, y",
    ),
    "a size for no name": ("a b c -> c b a", {"z": 2}, "no dimension is named z"),
    "a size of zero": ("(a x) b c -> a x b c", {"x": 0}, "x=0; sizes are positive integers"),
    "a negative size": ("(a x) b c -> a x b c", {"x": -4}, "x=-4; sizes are positive integers"),
    "a size that is text": ("(a x) b c -> a x b c", {"x": "4"}, "got '4'"),
    "another size of a whole dimension": (
        "a b c -> c b a",
        {"a": 8},
        "a is dimension 0 of A with 16 elements, not 8",
    ),
    "one where there are more": (
        "1 b c -> b c",
        {},
        "dimension 0 of A has 16 elements, which an empty group does not divide up",
    ),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_bad_patterns_are_refused(name: str) -> None:
    pattern, sizes, message = PATTERNS[name]
    with pytest.raises(LayoutError) as error:
        A.rearrange(pattern, **sizes)
    assert message in str(error.value)
