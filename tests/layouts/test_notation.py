"""Layouts read from text: what each notation means, what is read back, and what is refused where."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given

from tests.strategies import BOUNDED_AND_NOT, I, N, U, indices, layouts, points
from tileproof.errors import LayoutError
from tileproof.layouts import index as ix
from tileproof.layouts.axes import TCol, laneid, warpid
from tileproof.layouts.evaluate import evaluate
from tileproof.layouts.index import as_index, const, leaf
from tileproof.layouts.layout import R, S, TileLayout
from tileproof.layouts.swizzle import Swizzle
from tileproof.layouts.text import layout_text, parse_layout
from tileproof.layouts.traverse import leaves


def layout(spec: Any, swizzle: Swizzle | None = None) -> TileLayout:
    return TileLayout(spec, swizzle)


NOTATION: list[tuple[str, TileLayout, str]] = [
    ("(2,2,8,4):(8,2,4@laneid,1@laneid)", layout(S[(2, 2, 8, 4) : (8, 2, 4 @ laneid, 1 @ laneid)]), ""),
    (
        "S[(2, 32, 3, 4) : (1 @ warpid, 1 @ laneid, 8, 2)]",
        layout(S[(2, 32, 3, 4) : (1 @ warpid, 1 @ laneid, 8, 2)]),
        "(2,32,3,4):(1@warpid,1@laneid,8,2)",
    ),
    ("(4,8):(8,1)", layout(S[(4, 8) : (8, 1)]), ""),
    ("( 4 , 8 , ) : ( 8,\n 1 )", layout(S[(4, 8) : (8, 1)]), "(4,8):(8,1)"),
    ("128:1", layout(S[128:1]), "(128):(1)"),
    ("128 : 1@laneid", layout(S[128 : 1 @ laneid]), "(128):(1@laneid)"),
    ("S[128:1]", layout(S[128:1]), "(128):(1)"),
    ("(_8,_2):(_1,_8)", layout(S[(8, 2) : (1, 8)]), "(8,2):(1,8)"),
    ("(4):(-1)", layout(S[4:-1]), ""),
    ("4:-1", layout(S[4:-1]), "(4):(-1)"),
    ("(4):(-1@laneid)", layout(S[4 : -1 @ laneid]), ""),
    ("(4,2):(1@m,4@TCol)", layout(S[(4, 2) : (1, 4 @ TCol)]), "(4,2):(1,4@TCol)"),
    ("(4):(1@laneid) + R(2):(16@laneid)", layout(S[4 : 1 @ laneid] + R[2 : 16 @ laneid]), ""),
    (
        "(4):(1) + R[2:4] + R[(3,2):(8,1@warpid)]",
        layout(S[4:1] + R[2:4] + R[(3, 2) : (8, 1 @ warpid)]),
        "(4):(1) + R(2,3,2):(4,8,1@warpid)",
    ),
    ("(4):(1) + 3", layout(S[4:1] + 3), ""),
    ("(4):(-1) + 3 - 2@warpid + 1@laneid", layout(S[4:-1] + 3 + -2 @ warpid + 1 @ laneid), ""),
    ("(4):(1) + R(2):(4) + 3", layout(S[4:1] + R[2:4] + 3), ""),
    ("Swizzle<3,4,3> o (8,64):(64,1)", layout(S[(8, 64) : (64, 1)], Swizzle(3, 4, 3)), ""),
    ("Swizzle<3,4,-3> in bytes o (8,64):(64,1)", layout(S[(8, 64) : (64, 1)], Swizzle(3, 4, -3, "byte")), ""),
    (
        "Swizzle< 3, 4, 3 >  in  bytes  o (8):(1) + 5",
        layout(S[8:1] + 5, Swizzle(3, 4, 3, "byte")),
        "Swizzle<3,4,3> in bytes o (8):(1) + 5",
    ),
    (
        "Sw<3,4,3> o _0 o (_8,_64):(_64,_1)",
        layout(S[(8, 64) : (64, 1)], Swizzle(3, 4, 3)),
        "Swizzle<3,4,3> o (8,64):(64,1)",
    ),
    (
        "Sw<3,4,3> o 16 o (8,64):(64,1)",
        layout(S[(8, 64) : (64, 1)] + 16, Swizzle(3, 4, 3)),
        "Swizzle<3,4,3> o (8,64):(64,1) + 16",
    ),
    (
        "Swizzle<3,4,3> o ((8,2),64):((64,512),1)",
        layout(S[(2, 8, 64) : (512, 64, 1)], Swizzle(3, 4, 3)),
        "Swizzle<3,4,3> o (2,8,64):(512,64,1)",
    ),
    ("((8,2)):((64,512))", layout(S[(2, 8) : (512, 64)]), "(2,8):(512,64)"),
    ("((2,(3,4)),5):((1,(2,6)),24)", layout(S[(4, 3, 2, 5) : (6, 2, 1, 24)]), "(4,3,2,5):(6,2,1,24)"),
    (
        "S[((2,2),(8,4)):((8,2),(4@laneid,1@laneid))]",
        layout(S[(2, 2, 8, 4) : (8, 2, 4 @ laneid, 1 @ laneid)]),
        "(2,2,8,4):(8,2,4@laneid,1@laneid)",
    ),
    ("((8),(64)):((64),(1))", layout(S[(8, 64) : (64, 1)]), "(8,64):(64,1)"),
    ("(2*4, 20//3, 7%4):(2+3*4, -(1-3), 10-2-3)", layout(S[(8, 6, 3) : (14, 2, 5)]), "(8,6,3):(14,2,5)"),
    ("(n,64):(64,1)", layout(S[(N, 64) : (64, 1)]), ""),
    ("(n + 1,4):(4*n,n // 2 % 4)", layout(S[(N + 1, 4) : (4 * N, N // 2 % 4)]), ""),
    ("(4):((n + 1)@laneid) + 2*n + (n + 3)", layout(S[4 : (N + 1) @ laneid] + 2 * N + (N + 3)), ""),
    ("(4):(1) + (2*n)@warpid - 3", layout(S[4:1] + (2 * N) @ warpid + -3), ""),
]


@pytest.mark.parametrize(("text", "expected", "printed"), NOTATION, ids=[text for text, *_ in NOTATION])
def test_layouts_as_text(text: str, expected: TileLayout, printed: str) -> None:
    found = parse_layout(text, {"n": N})
    assert found == expected
    assert layout_text(found) == repr(found) == (printed or text)
    assert parse_layout(repr(found), {"n": N}) == found


@given(layouts())
def test_every_layout_is_read_back(made: TileLayout) -> None:
    assert parse_layout(layout_text(made)) == made


@given(indices(BOUNDED_AND_NOT, max_leaves=6))
def test_symbolic_strides_are_read_back_with_their_values(stride: ix.Index) -> None:
    text = layout_text(TileLayout(S[(4, 2) : (stride, stride @ laneid)] + stride))
    if re.search(r"[&|^]|min|max|select", text):
        return  # not part of the notation
    names = {leaf_of(v).name: v for v in BOUNDED_AND_NOT}
    found = parse_layout(text, names)
    for values in points(stride, count=5):
        want = evaluate(stride, values)
        everywhere = {**{leaf_of(v): 1 for v in BOUNDED_AND_NOT}, **values}
        got = [f.stride for f in found.spec.factors] + [
            ix.const(0) + sum_of(o.stride for o in found.spec.offsets)
        ]
        assert [evaluate(g, everywhere) for g in got] == [want] * 3


def leaf_of(variable: ix.Index) -> ix.Leaf:
    (found,) = leaves(variable)
    return found


def sum_of(parts: Any) -> ix.Index:
    total = const(0)
    for part in parts:
        total = total + part
    return total


# Malformed text: the column, and what the message says.
MALFORMED: list[tuple[str, int, str]] = [
    ("", 1, "the text ends; expected '(' or '-' or 'S[...]' or 'Swizzle<...>' or a name or a number"),
    ("(2,2)", 6, "the text ends; expected ':'"),
    ("(2,2):(8,1", 11, "the text ends; expected ')'"),
    ("(2,2@:(8,1)", 6, "unexpected ':'; expected a name"),
    ("(2,?):(8,1)", 4, "unexpected '?'; expected '(' or ')' or '-' or a name or a number"),
    ("(2,2):(8,1) x", 13, "unexpected 'x'; expected '+' or '-' or '@' or the end"),
    ("(2,2):(8,1) + ", 14, "the text ends; expected"),
    ("(2,2):(8,1):(1,1)", 12, "unexpected ':'"),
    ("(2 2):(8,1)", 4, "unexpected '2'"),
    ("(2,8x):(8,1)", 4, "unexpected '8'"),
    ("(2,2.5):(8,1)", 5, "unexpected '.'"),
    ("S[(2,2):(8,1)", 14, "the text ends; expected ']'"),
    ("(2,2):(8)", 7, "the tuples differ in length: 2 of extents, 1 of strides"),
    ("(2,(2,3)):(8,2)", 11, "mode 1 has a tuple of extents but a single stride; they nest alike"),
    ("(2,3):(8,(2,4))", 7, "mode 1 has a tuple of strides but a single extent; they nest alike"),
    ("(2,(2,3)):(8,(2,3,4))", 11, "the tuples differ in length in mode 1: 2 of extents, 3 of strides"),
    (
        "(2,(2,(3,4))):(8,(2,(3,4,5)))",
        15,
        "the tuples differ in length in mode 1.1: 2 of extents, 3 of strides",
    ),
    ("(2,k):(8,1)", 4, "unknown name 'k'; the names known here: n, u"),
    ("(2,2):(1@lane,1)", 10, "unknown axis 'lane'; the axes are m, TLane, TCol, laneid"),
    ("(2,2):(1@laneid@m,1)", 16, "unexpected '@'"),
    ("(2,2):((1@laneid)@m,1)", 8, "this stride is on laneid already"),
    ("(2,2):((2,3)@m,1)", 8, "a tuple has no axis; write @m at each of its strides"),
    ("(2@m,2):(1,1)", 1, "an extent has no axis; @m belongs to the stride"),
    ("((2,2),3):((1@laneid,2),3)", 11, "nested tuples are CuTe's notation, which has no axes; write S[...]"),
    ("(0,2):(1,1)", 1, "S[...]: extent 0 is 0; extents are at least 1"),
    ("(2):(1) + R(0):(1)", 12, "R[...]: extent 0 is 0; extents are at least 1"),
    ("(2):(1) - R(2):(1)", 9, "a replica is added, not subtracted"),
    ("(2):(1) + (2,3)", 11, "an offset is one number, not a tuple"),
    ("(2,(1,2)*3):(1,1)", 4, "a tuple takes no part in arithmetic"),
    ("(2):(1+(2@laneid))", 8, "a stride on laneid takes no part in arithmetic"),
    ("(2):(1//0)", 7, "the divisor of 1 // 0 may be zero or negative"),
    ("(2):(1%u)", 7, "the divisor of 1 % u may be zero or negative (its least value is unknown)"),
    ("Swizzle<3,4> o 3:1", 12, "unexpected '>'; expected ','"),
    ("Swizzle<3,4,3> (8):(1)", 16, "unexpected '('; expected 'in bytes' or 'o'"),
    ("Swizzle<3,4,2> o 3:1", 1, "no such swizzle"),
    ("Swizzle<3,4,3> in words o 3:1", 19, "expected 'bytes'"),
    ("-(2,2):(8,1)", 2, "a tuple takes no part in arithmetic"),
]


@pytest.mark.parametrize(("text", "column", "message"), MALFORMED, ids=[text for text, *_ in MALFORMED])
def test_malformed_text_is_refused_where_it_goes_wrong(text: str, column: int, message: str) -> None:
    with pytest.raises(LayoutError) as error:
        parse_layout(text, {"n": N, "u": U})
    first, shown, caret = str(error.value).split("\n")
    assert first.startswith(f"layout text, column {column}: ")
    assert message in first
    assert shown == f"    {text}"
    assert caret == " " * (column + 3) + "^"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(" * 51 + "2" + ")" * 51 + ":1", "parentheses nest more than 50 deep"),
        ("2:" + "-" * 51 + "1", "parentheses nest more than 50 deep"),
        ("9" * 41 + ":1", "a number of 41 digits"),
        (None, "a layout is given as text or as a TileLayout, got None"),
        ("(k):(1)", "unknown name 'k'; the names known here: none"),
    ],
)
def test_hopeless_text_is_refused(text: Any, message: str) -> None:
    with pytest.raises(LayoutError) as error:
        parse_layout(text)
    assert message in str(error.value)
    assert max(map(len, str(error.value).split("\n"))) < 200


def test_the_nearest_legal_text_is_accepted() -> None:
    assert parse_layout("(" * 50 + "2" + ")" * 50 + ":1") == parse_layout("2:1")
    assert parse_layout("2:" + "-" * 50 + "1") == parse_layout("2:1")
    assert parse_layout("9" * 40 + ":1").size is const(10**40 - 1)


def test_symbols_may_be_anything_that_an_index_may_be() -> None:
    assert parse_layout("(k,2):(k,1)", {"k": 4}) == parse_layout("(4,2):(4,1)")
    assert parse_layout("(2):(o) + 2*R", {"o": 3, "R": leaf(leaf_of(I))}).spec.offsets[0].stride is 2 * I
    assert as_index(parse_layout("(2):(S)", {"S": laneid}).spec.factors[0].stride) is laneid.as_index()
