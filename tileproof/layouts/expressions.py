"""Text to index expressions, relations and subscripts: what spec files are written in.

    4*i + 8        (i // 2) * 8        laneid // 4 * 16 ^ j        min(i, n - 1)        select(i < 4, i, 0)
    n % 64 == 0    0 <= i < n          laneid // 4 == 0 and not (i == 3 or j > 5)
    4*i : 4*i + 8  :                   3                           ...

The syntax and what binds how tightly are Python's, with ``and``, ``or``, ``not`` and chained comparisons for
relations. Beside a comparison ``&``, ``^`` and ``|`` need parentheses, because C reads ``i & 1 == 0``
otherwise. Every expression is read back from what it is printed as. The text is parsed and never run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, reduce
from types import EllipsisType
from typing import TYPE_CHECKING, Any, NoReturn

from tileproof.errors import LayoutError
from tileproof.layouts.axes import AXES
from tileproof.layouts.index import (
    Index,
    IndexLike,
    Relation,
    as_index,
    conjunction,
    const,
    disjunction,
    maximum,
    minimum,
    negate,
    select,
    truth,
)

if TYPE_CHECKING:
    from lark import Lark
    from lark.exceptions import UnexpectedInput

_GRAMMAR = r"""
?value: either
?subscript: either | range | ELLIPSIS -> ellipsis
range: bound ":" bound [":" bound]
bound: [either]
?either: both | both ("or" both)+ -> any
?both: inverse | inverse ("and" inverse)+ -> all
?inverse: comparison | "not" inverse -> not
?comparison: bits | shift (COMPARE shift)+ -> compare
?bits: bits_xor | bits_xor (BITOR bits_xor)+ -> binary
?bits_xor: bits_and | bits_and (BITXOR bits_and)+ -> binary
?bits_and: shift | shift (BITAND shift)+ -> binary
?shift: sum | sum (SHIFT sum)+ -> binary
?sum: product | product (SIGN product)+ -> binary
?product: sign | sign (TIMES sign)+ -> binary
?sign: atom | SIGN sign -> signed
?atom: NUMBER -> number
     | "True" -> true
     | "False" -> false
     | NAME -> name
     | NAME "(" either ("," either)* ")" -> function
     | "(" either ")"
COMPARE: "==" | "!=" | "<=" | ">=" | "<" | ">"
BITOR: "|"
BITXOR: "^"
BITAND: "&"
SHIFT.2: "<<" | ">>"
SIGN: "+" | "-"
TIMES: "*" | "//" | "%"
ELLIPSIS: "..."
NUMBER: /(0[xX][0-9A-Fa-f]+|[0-9]+)(?![A-Za-z0-9_.])/
NAME: /[A-Za-z_][A-Za-z0-9_]*/
%ignore /\s+/
"""

_EXPECTED = {
    "NUMBER": "a number", "NAME": "a name", "$END": "the end", "LPAR": "'('", "RPAR": "')'", "COMMA": "','",
    "COLON": "':'", "COMPARE": "a comparison", "SIGN": "'+' or '-'", "TIMES": "'*', '//' or '%'",
}  # fmt: skip

RESERVED = frozenset(("and", "or", "not", "True", "False", "min", "max", "select"))
"""Words that no symbol can be named."""

_DEEPEST = 50
_LONGEST = 4000  # characters
_MOST_OPERATORS = 200
_MOST_DIGITS = 40
_FARTHEST = 128  # bits of a shift
_SHOWN = 60  # characters on either side of an error

_BINARY: dict[str, Callable[[Index, Index], Index]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "<<": lambda a, b: a << b,  # type: ignore[operator]
    ">>": lambda a, b: a >> b,  # type: ignore[operator]
}
_COMPARE: dict[str, Callable[[Index, Index], Relation]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_LOGICAL = {"&": "and", "|": "or", "^": "!="}


def thread_names() -> dict[str, Index]:
    """The thread axes by name: what the executing thread knows of where it stands."""
    return {name: axis.as_index() for name, axis in AXES.items() if axis.thread}


def parse_value(text: str, names: Mapping[str, IndexLike]) -> Index | Relation:
    """The index expression or relation that ``text`` is.

    ``names`` says what each name stands for. Raises :class:`LayoutError`, which shows the column, for text
    that is neither, for a name that is not in ``names``, and for what no index can be (a divisor that may be
    zero).
    """
    reader = _Reader(text, dict(names))
    return reader.value(reader.tree("value"))


def parse_index(text: str, names: Mapping[str, IndexLike]) -> Index:
    """The integer expression that ``text`` is. Raises as :func:`parse_value` does, and for a relation."""
    reader = _Reader(text, dict(names))
    return reader.number_of(reader.tree("value"))


def parse_relation(text: str, names: Mapping[str, IndexLike]) -> Relation:
    """The relation that ``text`` is. Raises as :func:`parse_value` does, and for a number."""
    reader = _Reader(text, dict(names))
    return reader.relation_of(reader.tree("value"))


def parse_subscript(text: str, names: Mapping[str, IndexLike]) -> Index | slice | EllipsisType:
    """What stands between brackets for one dimension: ``start : stop : step``, an index, or ``...``."""
    reader = _Reader(text, dict(names))
    tree = reader.tree("subscript")
    if tree.data == "ellipsis":
        return ...
    if tree.data != "range":
        return reader.number_of(tree)
    written = [None if bound is None else bound.children[0] for bound in tree.children]
    return slice(*(None if bound is None else reader.number_of(bound) for bound in written))


@cache
def _parser() -> Lark:
    from lark import Lark

    return Lark(
        _GRAMMAR,
        start=["value", "subscript"],
        parser="lalr",
        maybe_placeholders=True,
        propagate_positions=True,
    )


class _PlacedError(LayoutError):
    """Shows the place in the text already."""


@dataclass(frozen=True)
class _Reader:
    """Turns a parse tree into an expression; holds the text, for messages, and what its names mean."""

    text: str
    names: dict[str, IndexLike]

    def tree(self, start: str) -> Any:
        from lark.exceptions import UnexpectedInput

        if not isinstance(self.text, str):
            raise LayoutError(f"an expression is given as text, got {self.text!r}")
        if len(self.text) > _LONGEST or _operators(self.text) > _MOST_OPERATORS:
            raise LayoutError(
                f"an expression has at most {_MOST_OPERATORS} operators in {_LONGEST} characters, got "
                f"{_operators(self.text)} in {len(self.text)}"
            )
        if _depth(self.text) > _DEEPEST:
            self.fail(0, f"parentheses and signs nest more than {_DEEPEST} deep")
        try:
            return _parser().parse(self.text, start=start)
        except UnexpectedInput as error:
            self.unexpected(error)

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
        line = re.sub(r"\s", " ", self.text)[first : column + _SHOWN]
        place = f"    {line}\n    {' ' * (column - first)}^"
        raise _PlacedError(f"column {column + 1}: {message}\n{place}") from None

    def unexpected(self, error: UnexpectedInput) -> NoReturn:
        """Report a syntax error: where, what stands there and what could."""
        end = len(self.text.rstrip())
        column = end if error.pos_in_stream is None else min(error.pos_in_stream, end)
        if getattr(error, "token", None) is not None and error.token.type == "$END":  # type: ignore[attr-defined]
            column = end
        if column == end:
            self.fail(column, "the text is empty" if not self.text.strip() else "the text ends too early")
        rest = self.text[column:]
        if rest.startswith("=") and not rest.startswith("=="):
            self.fail(column, "a single '='; equality is written '=='")
        if rest.startswith("/") and not rest.startswith("//"):
            self.fail(column, "an index is an integer: write // (floor division) instead of /")
        if re.match(r"[0-9]+\.[0-9]", rest):
            self.fail(column, "an index is an integer, and this is a fraction")
        if rest[0] in "&|^<>=!":
            self.fail(column, "beside a comparison, &, | and ^ need parentheses, as in (i & 1) == 0")
        names = getattr(error, "accepts", None) or getattr(error, "allowed", None) or ()
        wanted = sorted({_EXPECTED[n] for n in names if n in _EXPECTED})
        (found,) = re.findall(r"^\w+|^.", rest, re.DOTALL)
        self.fail(column, f"unexpected {found!r}; expected {' or '.join(wanted) or 'the end'}")

    def number_of(self, tree: Any) -> Index:
        value = self.value(tree)
        if isinstance(value, Relation):
            self.fail(_column(tree), "a number is needed here, and this is a relation")
        return value

    def relation_of(self, tree: Any) -> Relation:
        value = self.value(tree)
        if isinstance(value, Index):
            self.fail(_column(tree), "a relation such as n % 4 == 0 is needed here, and this is a number")
        return value

    def value(self, tree: Any) -> Index | Relation:
        return _RULES[tree.data](self, tree)

    def _number(self, tree: Any) -> Index:
        (token,) = tree.children
        if len(token) > _MOST_DIGITS:
            self.fail(token.start_pos, f"a number of {len(token)} digits")
        return const(int(token, 16 if token[:2] in ("0x", "0X") else 10))

    def _name(self, tree: Any) -> Index:
        (token,) = tree.children
        name = str(token)
        if name not in self.names:
            near = get_close_matches(name, self.names, 1)
            hint = f"; did you mean {near[0]}?" if near else "."
            known = ", ".join(sorted(self.names)) or "none"
            self.fail(token.start_pos, f"unknown name {name!r}{hint} Known here: {known}")
        return as_index(self.names[name])

    def _function(self, tree: Any) -> Index:
        token, *arguments = tree.children
        if token not in ("min", "max", "select"):
            self.fail(token.start_pos, f"unknown function {str(token)!r}; the functions are min, max, select")
        if token == "select":
            if len(arguments) != 3:
                self.fail(token.start_pos, "select takes a relation and two numbers")
            return select(self.relation_of(arguments[0]), *(self.number_of(a) for a in arguments[1:]))
        if len(arguments) < 2:
            self.fail(token.start_pos, f"{token} takes at least two numbers")
        return reduce(minimum if token == "min" else maximum, [self.number_of(a) for a in arguments])

    def _signed(self, tree: Any) -> Index:
        sign, inner = tree.children
        value = self.number_of(inner)
        return -value if sign == "-" else value

    def _binary(self, tree: Any) -> Index:
        first, *rest = tree.children
        total = self._operand(first, rest[0])
        for sign, child in zip(rest[::2], rest[1::2], strict=True):
            operand = self._operand(child, sign)
            if sign in ("<<", ">>") and (operand.value or 0) > _FARTHEST:
                self.fail(sign.start_pos, f"a shift by more than {_FARTHEST} bits")
            with self.at(sign.start_pos):
                total = _BINARY[str(sign)](total, operand)
        return total

    def _operand(self, tree: Any, sign: Any) -> Index:
        value = self.value(tree)
        if isinstance(value, Relation):
            advice = f"; relations are combined by {_LOGICAL[sign]!r}" if sign in _LOGICAL else ""
            self.fail(_column(tree), f"{str(sign)!r} combines numbers, and this is a relation{advice}")
        return value

    def _compare(self, tree: Any) -> Relation:
        values = [self.number_of(child) for child in tree.children[::2]]
        signs = tree.children[1::2]
        return conjunction(
            _COMPARE[str(s)](a, b) for s, a, b in zip(signs, values[:-1], values[1:], strict=True)
        )

    def _all(self, tree: Any) -> Relation:
        return conjunction([self.relation_of(child) for child in tree.children])

    def _any(self, tree: Any) -> Relation:
        return disjunction([self.relation_of(child) for child in tree.children])

    def _not(self, tree: Any) -> Relation:
        return negate(self.relation_of(tree.children[0]))

    def _truth(self, tree: Any) -> Relation:
        return truth(tree.data == "true")


_RULES: dict[str, Callable[..., Index | Relation]] = {
    "number": _Reader._number,
    "name": _Reader._name,
    "function": _Reader._function,
    "signed": _Reader._signed,
    "binary": _Reader._binary,
    "compare": _Reader._compare,
    "all": _Reader._all,
    "any": _Reader._any,
    "not": _Reader._not,
    "true": _Reader._truth,
    "false": _Reader._truth,
}


def _column(tree: Any) -> int:
    return int(getattr(tree.meta, "start_pos", 0))


def _operators(text: str) -> int:
    return len(re.findall(r"//|<<|>>|[<>=!]=?|[-+*%^&|,]|\b(?:and|or|not)\b", text))


def _depth(text: str) -> int:
    """How deep a reader will recurse: parentheses and prefixes open at one time."""
    deepest = depth = 0
    prefixes = [0]
    for token in re.findall(r"\bnot\b|\w+|[-+()]|[^\s\w]", text):
        if token in ("-", "+", "not"):
            prefixes[-1] += 1
        elif token == "(":
            depth += 1
            prefixes.append(prefixes[-1])
        elif token == ")" and depth:
            depth -= 1
            prefixes.pop()
        else:
            prefixes[-1] = prefixes[-2] if len(prefixes) > 1 else 0
        deepest = max(deepest, depth + prefixes[-1])
    return deepest


def require_name(name: str) -> None:
    """Raise :class:`LayoutError` unless a symbol can be called that, beside the axes and the words above."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise LayoutError(f"{name!r} is no name: letters, digits and underscores, not a digit first")
    if name in RESERVED:
        raise LayoutError(f"{name!r} is a word of the expressions and cannot name a symbol")
    if name in AXES and AXES[name].thread:
        raise LayoutError(f"{name!r} is a thread axis and cannot name a symbol")
