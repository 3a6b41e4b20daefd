"""Expressions in text: what they mean, what is refused, and that what is printed is read back."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import indices, points, relations
from tileproof.errors import LayoutError
from tileproof.layouts.evaluate import evaluate
from tileproof.layouts.expressions import (
    parse_index,
    parse_relation,
    parse_subscript,
    parse_value,
    require_name,
    thread_names,
)
from tileproof.layouts.index import Index, Relation, as_index, leaf
from tileproof.layouts.symbols import symbol
from tileproof.layouts.traverse import leaves

SI, SJ, SN = symbol("i", 0, 63), symbol("j", -8, 8), symbol("n", 1, 100)
NAMES = {"i": SI, "j": SJ, "n": SN}

NUMBERS = {
    "4*i + 8": lambda i, j, n: 4 * i + 8,
    "i - (j - 3) - n": lambda i, j, n: i - (j - 3) - n,
    "-i*2 - -3": lambda i, j, n: -i * 2 + 3,
    "(j // 2) * 8 + j % 2": lambda i, j, n: (j // 2) * 8 + j % 2,
    "7 % n // 2": lambda i, j, n: 7 % n // 2,
    "i // n": lambda i, j, n: i // n,
    "i & 6 ^ 5 | 8": lambda i, j, n: i & 6 ^ 5 | 8,
    "i & 1 + 2": lambda i, j, n: i & 1 + 2,
    "1 << 3 + 1": lambda i, j, n: 1 << 3 + 1,
    "i << 2 >> 1": lambda i, j, n: i << 2 >> 1,
    "min(i, j, 3) + max(i, n)": lambda i, j, n: min(i, j, 3) + max(i, n),
    "select(j < 0, -j, j)": lambda i, j, n: abs(j),
    "0x1F + 010": lambda i, j, n: 31 + 10,
    "  i\n+\tj ": lambda i, j, n: i + j,
}

RELATIONS = {
    "n % 4 == 0": lambda i, j, n: n % 4 == 0,
    "0 <= i < n": lambda i, j, n: 0 <= i < n,
    "i != j": lambda i, j, n: i != j,
    "i > j >= -3": lambda i, j, n: i > j >= -3,
    "i == 3 or j > 5 and n < 7": lambda i, j, n: i == 3 or (j > 5 and n < 7),
    "not (i == 3 or j > 5)": lambda i, j, n: not (i == 3 or j > 5),
    "not i < 3 and True": lambda i, j, n: i >= 3,
    "(i & 1) == 0": lambda i, j, n: i & 1 == 0,
    "(i < 3)": lambda i, j, n: i < 3,
    "not not False": lambda i, j, n: False,
}

POINTS = [(0, 0, 1), (1, -8, 4), (3, 6, 6), (4, 5, 8), (63, -1, 100), (17, 8, 64)]


@pytest.mark.parametrize(("text", "meaning"), {**NUMBERS, **RELATIONS}.items())
def test_a_text_means_what_python_means_by_it(text, meaning):
    expression = parse_value(text, NAMES)
    assert isinstance(expression, Relation if text in RELATIONS else Index)
    for i, j, n in POINTS:
        values = {variable: {"i": i, "j": j, "n": n}[variable.name] for variable in leaves(expression)}
        assert evaluate(expression, values) == meaning(i, j, n), (text, i, j, n)


def test_thread_axes_have_names():
    assert sorted(thread_names()) == [
        "cbx", "cby", "cbz", "laneid", "tid_in_wg", "tx", "ty", "tz", "warpid", "wgid", "wid_in_wg",
    ]  # fmt: skip
    assert (
        str(parse_relation("laneid // 4 == 0 and warpid < 2", thread_names()))
        == "laneid // 4 == 0 and warpid < 2"
    )


SUBSCRIPTS = {
    ":": slice(None, None, None),
    "4*i:4*i + 4": (4 * SI, 4 * SI + 4, None),
    "i:": (SI, None, None),
    ":8": (None, 8, None),
    "0:8:2": (0, 8, 2),
    "::2": (None, None, 2),
}


@pytest.mark.parametrize(("text", "parts"), SUBSCRIPTS.items())
def test_a_subscript_is_a_slice(text, parts):
    found = parse_subscript(text, NAMES)
    assert isinstance(found, slice)
    wanted = (parts.start, parts.stop, parts.step) if isinstance(parts, slice) else parts
    for a, b in zip((found.start, found.stop, found.step), wanted, strict=True):
        assert a is (b if b is None else as_index(b))


def test_a_subscript_is_an_index_or_an_ellipsis():
    assert parse_subscript("...", NAMES) is ...
    assert parse_subscript("4*i", NAMES) is parse_index("4*i", NAMES)


REFUSED = [
    ("", 1, "the text is empty"),
    ("i +", 4, "the text ends too early"),
    ("(i", 3, "the text ends too early"),
    ("i)", 2, "unexpected ')'"),
    ("i i", 3, "unexpected 'i'"),
    ("i = 3", 3, "equality is written '=='"),
    ("i / 3", 3, "write // (floor division) instead of /"),
    ("1.5*i", 1, "an index is an integer"),
    ("i < 3 & j < 4", 7, "need parentheses, as in (i & 1) == 0"),
    ("i & 1 == 0", 7, "need parentheses, as in (i & 1) == 0"),
    ("k + 1", 1, "unknown name 'k'. Known here: i, j, n"),
    ("i + nn", 5, "unknown name 'nn'; did you mean n?"),
    ("abs(i)", 1, "unknown function 'abs'; the functions are min, max, select"),
    ("min(i)", 1, "min takes at least two numbers"),
    ("select(i < 3, i)", 1, "select takes a relation and two numbers"),
    ("select(i, i, j)", 8, "a relation such as n % 4 == 0 is needed here"),
    ("i + (j < 3)", 6, "'+' combines numbers, and this is a relation"),
    ("(i < 3) | (j < 3)", 2, "relations are combined by 'or'"),
    ("i < (j < 3)", 6, "a number is needed here, and this is a relation"),
    ("i and j < 3", 1, "a relation such as n % 4 == 0 is needed here"),
    ("-(i < 3)", 3, "a number is needed here"),
    ("i // j", 3, "the divisor of i // j may be zero or negative"),
    ("i % (n - 1)", 3, "the divisor of i % "),
    ("i << j", 3, "a shift amount must be a constant"),
    ("1 << 129", 3, "a shift by more than 128 bits"),
    ("9" * 41, 1, "a number of 41 digits"),
    ("(" * 51 + "i" + ")" * 51, 1, "nest more than 50 deep"),
    ("not " * 51 + "i < 3", 1, "nest more than 50 deep"),
    ("__import__('os')", 12, 'unexpected "\'"'),
    ("i.real", 2, "unexpected '.'"),
    ("i[0]", 2, "unexpected '['"),
    ("\x00", 1, "unexpected '\\x00'"),
]


@pytest.mark.parametrize(("text", "column", "message"), REFUSED)
def test_a_refusal_shows_the_column(text, column, message):
    with pytest.raises(LayoutError) as caught:
        parse_value(text, NAMES)
    told, line, caret = str(caught.value).split("\n")
    assert told.startswith(f"column {column}: ")
    assert message in told
    assert caret.index("^") < len(line) + 1


@pytest.mark.parametrize("text", ["+".join(["i"] * 202), "i" + " " * 4000])
def test_a_text_of_absurd_length_is_refused(text):
    with pytest.raises(LayoutError, match="at most 200 operators in 4000 characters"):
        parse_value(text, NAMES)


def test_the_longest_text_is_read():
    assert str(parse_index("+".join(["1"] * 201), {})) == "201"
    assert parse_index("(" * 50 + "i" + ")" * 50, NAMES) is SI


def test_a_number_and_a_relation_are_told_apart():
    with pytest.raises(LayoutError, match="a number is needed here"):
        parse_index("i < 3", NAMES)
    with pytest.raises(LayoutError, match="a relation such as"):
        parse_relation("i", NAMES)
    with pytest.raises(LayoutError, match="a number is needed here"):
        parse_subscript("i < 3:4", NAMES)
    with pytest.raises(LayoutError, match="given as text, got 3"):
        parse_value(3, NAMES)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["i", "n_2", "_x", "orbit", "minimum"])
def test_a_name_for_a_symbol(name):
    require_name(name)
    assert parse_index(f"{name} + 1", {name: SI}) is SI + 1


@pytest.mark.parametrize("name", ["", "2i", "i-j", "é", "or", "min", "True", "laneid", "tx"])
def test_no_name_for_a_symbol(name):
    with pytest.raises(LayoutError, match=r"is no name|cannot name a symbol"):
        require_name(name)


@given(indices() | relations())
def test_what_is_printed_is_read_back(expression):
    again = parse_value(str(expression), {v.name: leaf(v) for v in leaves(expression)})
    for values in points(expression):
        assert evaluate(again, values) == evaluate(expression, values)


@given(st.text(alphabet="ijn0129 ()+-*/%&|^<>=!.,:andorntsmx", max_size=30))
def test_any_text_is_read_or_refused(text):
    for parse in (parse_value, parse_subscript):
        with suppress(LayoutError):
            parse(text, NAMES)
