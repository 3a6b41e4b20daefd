"""Text to layouts, in the contract reference's notation and in CuTe's.

    (2,2,8,4):(8,2,4@laneid,1@laneid) + R(2):(4) + 3     extents : strides, a replica, an offset
    S[(2,2,8,4) : (8, 2, 4 @ laneid, 1 @ laneid)]        the same, as Python code writes it
    Swizzle<3,4,3> in bytes o ((8,2),64):((64,512),1)    a swizzle over nested modes

A flat pair means the same in both: one extent and stride for each factor, in row-major order. Nesting is
CuTe's: each entry of the outer tuple is one dimension, inside which the leftmost extent varies fastest.
Nested groups under ``S[...]`` are the reference's and merely group: they are read in row-major order like
flat text. A swizzle permutes element offsets, unless it says ``in bytes``; it applies to the sum of all
that follows it, offsets included.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

from tileproof.errors import LayoutError
from tileproof.layouts.axes import Strided, axis, m
from tileproof.layouts.index import Index, IndexLike, as_index, const
from tileproof.layouts.layout import Factor, Spec, TileLayout, factors
from tileproof.layouts.swizzle import Swizzle

if TYPE_CHECKING:
    from lark import Lark
    from lark.exceptions import UnexpectedInput


_GRAMMAR = r"""
layout: [swizzle "o" [offset "o"]] (plain | marked) addend*
plain: side ":" side
marked: "S" "[" side ":" side "]"
swizzle: ("Swizzle" | "Sw") "<" signed "," signed "," signed ">" [bytes]
bytes: "in" "bytes"
signed: MINUS? NUMBER
offset: NUMBER
addend: (PLUS | MINUS) (replica | strided)
replica: "R" side ":" side | "R" "[" side ":" side "]"
side: unary ["@" NAME]
?strided: product ["@" NAME]
?sum: strided ((PLUS | MINUS) strided)*
?product: unary ((TIMES | DIVIDE | MODULO) unary)*
?unary: MINUS unary -> negative | atom
?atom: NUMBER -> number | NAME -> name | group
group: "(" sum ("," sum)* ","? ")"
NUMBER.2: /_?[0-9]+(?![A-Za-z0-9_])/
NAME: /[A-Za-z_][A-Za-z0-9_]*'*/
PLUS: "+"
MINUS: "-"
TIMES: "*"
DIVIDE: "//"
MODULO: "%"
%ignore /\s+/
"""

_EXPECTED = {
    "NUMBER": "a number", "NAME": "a name", "$END": "the end", "SWIZZLE": "'Swizzle<...>'", "S": "'S[...]'",
    "R": "'R'", "O": "'o'", "IN": "'in bytes'", "BYTES": "'bytes'", "LPAR": "'('", "RPAR": "')'",
    "LSQB": "'['", "RSQB": "']'", "LESSTHAN": "'<'", "MORETHAN": "'>'", "COLON": "':'", "COMMA": "','",
    "AT": "'@'", "PLUS": "'+'", "MINUS": "'-'", "TIMES": "'*'", "DIVIDE": "'//'", "MODULO": "'%'",
}  # fmt: skip

_DEEPEST = 50
_MOST_DIGITS = 40
_SHOWN = 60  # characters on either side of an error


@cache
def _parser() -> Lark:
    from lark import Lark

    return Lark(_GRAMMAR, start="layout", parser="lalr", maybe_placeholders=True, propagate_positions=True)


def parse_layout(text: str, symbols: Mapping[str, IndexLike] | None = None) -> TileLayout:
    """The layout that ``text`` describes, in the reference's or CuTe's notation (see the module's text).

    ``symbols`` says what the names in extents, strides and offsets stand for; sums, products, ``//`` and
    ``%`` of them are understood. Raises :class:`LayoutError`, which shows the place, when it is no layout.
    """
    if not isinstance(text, str):
        raise LayoutError(f"a layout is given as text or as a TileLayout, got {text!r}")
    from lark.exceptions import UnexpectedInput

    reader = _Reader(re.sub(r"\s", " ", text), dict(symbols or {}))
    if _depth(text) > _DEEPEST:
        reader.fail(0, f"parentheses nest more than {_DEEPEST} deep")
    try:
        tree = _parser().parse(reader.text)
    except UnexpectedInput as error:
        reader.unexpected(error)
    return reader.layout(tree)


def _depth(text: str) -> int:
    """How deep the readers below will recurse: parentheses and signs open at one time."""
    deepest = depth = signs = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        signs = signs + 1 if character == "-" else signs if character.isspace() else 0
        deepest = max(deepest, depth + signs)
    return deepest


class _PlacedError(LayoutError):
    """Shows the place in the text already."""


_Group = list[Any]
"""The entries of a tuple in text: values, strided values and groups."""


@dataclass(frozen=True)
class _Reader:
    """Turns a parse tree into a layout; holds the text, for messages, and what its names mean."""

    text: str
    symbols: dict[str, IndexLike]

    @contextmanager
    def at(self, column: int) -> Iterator[None]:
        """Adds the place in the text to an error that what stands there raises."""
        try:
            yield
        except _PlacedError:
            raise
        except LayoutError as error:
            self.fail(column, str(error))

    def fail(self, column: int, message: str) -> NoReturn:
        first = max(0, column - _SHOWN)
        place = f"    {self.text[first : column + _SHOWN]}\n    {' ' * (column - first)}^"
        raise _PlacedError(f"layout text, column {column + 1}: {message}\n{place}") from None

    def unexpected(self, error: UnexpectedInput) -> NoReturn:
        """Report a syntax error: where, what stands there and what could."""
        end = len(self.text.rstrip())
        column = end if error.pos_in_stream is None else min(error.pos_in_stream, end)
        if getattr(error, "token", None) is not None and error.token.type == "$END":  # type: ignore[attr-defined]
            column = end
        names = getattr(error, "accepts", None) or getattr(error, "allowed", None) or ()
        wanted = sorted({_EXPECTED[n] for n in names if n in _EXPECTED})
        found = "the text ends" if column == end else f"unexpected {self.text[column]!r}"
        self.fail(column, f"{found}; expected {' or '.join(wanted)}")

    def layout(self, tree: Any) -> TileLayout:
        swizzle, start, body, *addends = tree.children
        spec = Spec(self.factors(body.children[0], body.children[1], marked=body.data == "marked"))
        if start is not None and self.number(start.children[0]):
            spec = spec + self.number(start.children[0])
        for addend in addends:
            sign, what = addend.children
            if what.data == "replica":
                if sign == "-":
                    self.fail(sign.start_pos, "a replica is added, not subtracted")
                spec = spec + Spec(replicas=self.factors(*what.children, marked=True, name="R"))
                continue
            value = self.value(what)
            if isinstance(value, list):
                self.fail(what.meta.start_pos, "an offset is one number, not a tuple")
            strided = value if isinstance(value, Strided) else Strided(value, m)
            spec = spec + (Strided(-strided.stride, strided.axis) if sign == "-" else strided)
        return TileLayout(spec, None if swizzle is None else self.swizzle(swizzle))

    def swizzle(self, tree: Any) -> Swizzle:
        *numbers, in_bytes = tree.children
        bits, base, shift = (self.number(n.children[-1]) * (-1) ** (len(n.children) - 1) for n in numbers)
        with self.at(tree.meta.start_pos):
            return Swizzle(bits, base, shift, "element" if in_bytes is None else "byte")

    def number(self, token: Any) -> int:
        digits = token.lstrip("_")  # CuTe prints static integers as _8
        if len(digits) > _MOST_DIGITS:
            self.fail(token.start_pos, f"a number of {len(digits)} digits")
        return int(digits)

    def factors(self, extents: Any, strides: Any, *, marked: bool, name: str = "S") -> tuple[Factor, ...]:
        shape, steps = self.modes(extents), self.modes(strides)
        nested = any(isinstance(mode, list) for mode in (*shape, *steps))
        self.congruent(shape, steps, strides.meta.start_pos)
        pairs = [list(zip(_entries(a), _entries(b), strict=True)) for a, b in zip(shape, steps, strict=True)]
        if nested and not marked:
            if any(isinstance(s, Strided) and s.axis is not m for s in _entries(steps)):
                self.fail(
                    strides.meta.start_pos,
                    "nested tuples are CuTe's notation, which has no axes; write S[...] around extents and "
                    "strides to have the groups read in row-major order, or write the extents without groups",
                )
            pairs = [pair[::-1] for pair in pairs]
        flat = [pair for mode in pairs for pair in mode]
        on_axis = next((e for e, _ in flat if isinstance(e, Strided)), None)
        if on_axis is not None:
            self.fail(extents.meta.start_pos, f"an extent has no axis; @{on_axis.axis} belongs to the stride")
        with self.at(extents.meta.start_pos):
            return factors([e for e, _ in flat], [s for _, s in flat], name)

    def modes(self, side: Any) -> _Group:
        """The entries of the outer tuple; a bare value is a tuple of one."""
        value = self.outer(side)
        return value if isinstance(value, list) else [value]

    def outer(self, side: Any) -> Any:
        inner, name = side.children
        if name is not None:
            return self.on_axis(self.value(inner), name, inner.meta.start_pos)
        return [self.value(entry) for entry in inner.children] if inner.data == "group" else self.value(inner)

    def congruent(self, shape: _Group, strides: _Group, column: int, where: str = "") -> None:
        if len(shape) != len(strides):
            place = f" in mode {where}" if where else ""
            self.fail(
                column,
                f"the tuples differ in length{place}: {len(shape)} of extents, {len(strides)} of strides",
            )
        for position, (a, b) in enumerate(zip(shape, strides, strict=True)):
            here = f"{where}.{position}" if where else str(position)
            if isinstance(a, list) and isinstance(b, list):
                self.congruent(a, b, column, here)
            elif isinstance(a, list) or isinstance(b, list):
                one, many = ("stride", "extents") if isinstance(a, list) else ("extent", "strides")
                self.fail(column, f"mode {here} has a tuple of {many} but a single {one}; they nest alike")

    def on_axis(self, value: Any, name: Any, column: int) -> Strided:
        if isinstance(value, list):
            self.fail(column, f"a tuple has no axis; write @{name} at each of its strides")
        if isinstance(value, Strided):
            self.fail(column, f"this stride is on {value.axis} already")
        with self.at(name.start_pos):
            return Strided(value, axis(str(name)))

    def value(self, tree: Any) -> Any:
        """An index, a strided value, or the entries of a tuple of several."""
        kind, children, column = tree.data, tree.children, tree.meta.start_pos
        if kind == "number":
            return const(self.number(children[0]))
        if kind == "name":
            return self.symbol(children[0])
        if kind == "strided":
            inner = self.value(children[0])
            return inner if children[1] is None else self.on_axis(inner, children[1], column)
        if kind == "group":
            entries = [self.value(child) for child in children]
            return entries[0] if len(entries) == 1 else entries
        if kind == "negative":
            return -self.operand(children[1])
        total = self.operand(children[0])
        for sign, child in zip(children[1::2], children[2::2], strict=True):
            with self.at(sign.start_pos):
                total = _ARITHMETIC[str(sign)](total, self.operand(child))
        return total

    def operand(self, tree: Any) -> Index:
        value = self.value(tree)
        if not isinstance(value, Index):
            what = "a tuple" if isinstance(value, list) else f"a stride on {value.axis}"
            self.fail(tree.meta.start_pos, f"{what} takes no part in arithmetic")
        return value

    def symbol(self, token: Any) -> Index:
        found = self.symbols.get(str(token))
        if found is None:
            known = ", ".join(sorted(self.symbols)) or "none"
            self.fail(token.start_pos, f"unknown name {str(token)!r}; the names known here: {known}")
        return as_index(found)


def _entries(group: Any) -> Iterator[Any]:
    """The values of nested groups, from left to right."""
    if isinstance(group, list):
        for entry in group:
            yield from _entries(entry)
    else:
        yield group


_ARITHMETIC: dict[str, Callable[[Index, Index], Index]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}
