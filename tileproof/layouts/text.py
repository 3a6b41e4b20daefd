"""How expressions and layouts are printed: infix, the contract reference's notation, CuTe's notation.

    4*i + j // 8 % 4                                     an index; 4*(i // 8) <= n is a relation
    (2,2,8,4):(8,2,4@laneid,1@laneid) + R(2):(4) + 3     extents : strides, a replica, an offset
    Swizzle<3,4,3> in bytes o ((8,2),64):((64,512),1)    a swizzle over CuTe's nested modes

What the two layout notations mean, and how they are told apart, is said where they are read: ``notation.py``.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from tileproof.errors import LayoutError
from tileproof.layouts.axes import Axis, m
from tileproof.layouts.index import Index, IndexLike, as_index, const
from tileproof.layouts.layout import Factor, TileLayout
from tileproof.layouts.notation import parse_layout
from tileproof.layouts.traverse import postorder

__all__ = ["cute_text", "expression_text", "layout_text", "parse_layout"]

WRITTEN_OUT = 10_000
"""Operators and operands. Longer sub-expressions are printed as ``...``: shared nodes can stand for a lot."""


_SIMPLE = frozenset(("leaf", "const", "truth"))
_ASSOCIATIVE = frozenset(("add", "mul", "xor", "and", "or", "min", "max", "all", "any"))
_COMPARISON = {"eq": "==", "lt": "<"}
_OPPOSITE = {"==": "!=", "<": ">="}
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", ">=": "<="}


class _Binds(IntEnum):
    """How tightly a text holds together. The order is Python's; what C orders otherwise gets parentheses."""

    OR = 1
    AND = 2
    NOT = 3
    COMPARISON = 4
    BITWISE = 5
    SUM = 6
    DIVISION = 7
    PRODUCT = 8
    ATOM = 9


@dataclass(frozen=True, slots=True)
class _Text:
    text: str
    binds: _Binds

    def inside(self, binds: _Binds) -> str:
        """The text as an operand of something that holds together as ``binds`` says."""
        return self.text if self.binds >= binds else f"({self.text})"


def expression_text(node: Any) -> str:
    """An index or a relation in infix notation, with as few parentheses as its readers need.

    The text is the same on every run. Sums and products lose their grouping; ``a + -4*b`` is ``a - 4*b`` and
    the negation of ``b < a`` is ``a <= b``. A constant stands left in a product and right in a comparison.
    """
    return _written(node).text


def _written(root: Any) -> _Text:
    length: dict[int, int] = {}
    elided: set[int] = set()
    for node in postorder(root):
        length[node.uid] = 1 if node.op in _SIMPLE else 1 + sum(length[a.uid] for a in node.args)
        if length[node.uid] > WRITTEN_OUT and node is not root:
            elided.add(node.uid)
    done = {uid: _Text("...", _Binds.ATOM) for uid in elided}
    stack = [root]
    while stack:
        node = stack[-1]
        operands = [] if node.uid in done else _operands(node, elided)
        missing = [a for a in operands if a.uid not in done]
        if missing:
            stack.extend(missing)
            continue
        if node.uid not in done:
            done[node.uid] = _join(node, operands, [done[a.uid] for a in operands])
        stack.pop()
    return done[root.uid]


def _operands(node: Any, elided: Set[int]) -> list[Any]:
    """What a node's text is made of; an associative operator gathers the arguments of its whole chain."""
    if node.op in _SIMPLE:
        return []
    if node.op == "not" and node.args[0].op in _COMPARISON:
        return list(node.args[0].args)
    if node.op not in _ASSOCIATIVE:
        return list(node.args)
    found: list[Any] = []
    stack = list(reversed(node.args))
    while stack:
        argument = stack.pop()
        if argument.op == node.op and argument.uid not in elided:
            stack.extend(reversed(argument.args))
        else:
            found.append(argument)
    return found


def _join(node: Any, operands: list[Any], texts: list[_Text]) -> _Text:
    op = node.op
    if op == "leaf":
        return _Text(node.args[0].label, _Binds.ATOM)
    if op in ("const", "truth"):
        value = node.args[0]
        return _Text(str(value), _Binds.SUM if value < 0 else _Binds.ATOM)
    if op == "add":
        return _Text(_sum(texts), _Binds.SUM)
    if op == "mul":
        return _product(operands, texts)
    if op in ("div", "mod"):
        sign = "//" if op == "div" else "%"
        text = f"{texts[0].inside(_Binds.DIVISION)} {sign} {texts[1].inside(_Binds.ATOM)}"
        return _Text(text, _Binds.DIVISION)
    if op in ("xor", "and", "or"):
        sign = {"xor": " ^ ", "and": " & ", "or": " | "}[op]
        return _Text(sign.join(t.inside(_Binds.DIVISION) for t in texts), _Binds.BITWISE)
    if op in ("min", "max", "select"):
        return _Text(f"{op}({', '.join(t.text for t in texts)})", _Binds.ATOM)
    if op in _COMPARISON:
        return _comparison(node, texts, _COMPARISON[op])
    if op == "not":
        negated = node.args[0]
        if negated.op in _COMPARISON:
            return _comparison(negated, texts, _OPPOSITE[_COMPARISON[negated.op]])
        return _Text(f"not {texts[0].inside(_Binds.ATOM)}", _Binds.NOT)
    if op == "all":
        return _Text(" and ".join(t.inside(_Binds.NOT) for t in texts), _Binds.AND)
    return _Text(" or ".join(t.inside(_Binds.AND) for t in texts), _Binds.OR)


def _sum(texts: list[_Text]) -> str:
    pieces = [texts[0].inside(_Binds.SUM)]
    for term in texts[1:]:
        # Only a negative number or product starts with a sign: in any other text it stands in parentheses.
        negative = term.text.startswith("-")
        pieces.append(f" - {term.text[1:]}" if negative else f" + {term.inside(_Binds.SUM)}")
    return "".join(pieces)


def _product(operands: list[Any], texts: list[_Text]) -> _Text:
    numbers = [a.args[0] for a in operands if a.op == "const"]
    sign = "-" if sum(n < 0 for n in numbers) % 2 else ""
    pieces = [str(abs(n)) for n in numbers if abs(n) != 1]
    pieces += [t.inside(_Binds.ATOM) for a, t in zip(operands, texts, strict=True) if a.op != "const"]
    return _Text(sign + "*".join(pieces), _Binds.SUM if sign else _Binds.PRODUCT)


def _comparison(node: Any, texts: list[_Text], sign: str) -> _Text:
    left, right = texts
    if node.args[0].op == "const":
        left, right, sign = right, left, _MIRRORED[sign]
    elif sign == ">=" and node.args[1].op != "const":
        left, right, sign = right, left, "<="
    return _Text(f"{left.inside(_Binds.SUM)} {sign} {right.inside(_Binds.SUM)}", _Binds.COMPARISON)


# Layouts to text.


def layout_text(layout: TileLayout) -> str:
    """The layout in the reference's notation; :func:`parse_layout` reads it back."""
    return _decorated(layout, _pair(layout.spec.factors))


def cute_text(layout: TileLayout, shape: Sequence[IndexLike]) -> str:
    """The layout in CuTe's notation, one mode for each dimension of ``shape`` (in elements).

    Raises :class:`LayoutError` where CuTe's notation has no words: for an axis other than storage, for
    replicas, and for a layout in which two dimensions of ``shape`` share an extent.
    """
    sizes = tuple(as_index(n) for n in shape)
    other = [a.name for a in layout.axes if a is not m]
    if other:
        raise LayoutError(f"CuTe's notation knows only storage; {layout!r} has strides on {', '.join(other)}")
    if layout.spec.replicas:
        raise LayoutError(f"CuTe's notation has no replicas; {layout!r} has {len(layout.spec.replicas)}")
    modes: dict[int, list[Factor]] = {}
    for dims, parts in layout.grouping(sizes):
        if len(dims) > 1:
            raise LayoutError(
                f"dimensions {', '.join(map(str, dims))} of shape {sizes} share an extent of {layout!r}; "
                "CuTe's notation needs extents for each dimension"
            )
        modes[dims[0]] = parts[::-1]  # a mode's leftmost extent is its fastest
    every = [modes.get(d, [Factor(const(1), const(0), m)]) for d in range(len(sizes))]
    extents, strides = (
        ",".join(
            pieces[0] if len(pieces) == 1 else f"({','.join(pieces)})"
            for pieces in ([_side(f, part) for f in mode] for mode in every)
        )
        for part in ("extent", "stride")
    )
    return _decorated(layout, f"({extents}):({strides})")


def _side(factor: Factor, part: str) -> str:
    return expression_text(factor.extent) if part == "extent" else _on_axis(factor.stride, factor.axis)


def _on_axis(stride: Index, where: Axis) -> str:
    if where is m:
        return expression_text(stride)
    text = str(stride) if stride.value is not None else _written(stride).inside(_Binds.ATOM)
    return f"{text}@{where}"


def _pair(parts: Sequence[Factor]) -> str:
    extents, strides = (",".join(_side(f, part) for f in parts) for part in ("extent", "stride"))
    return f"({extents}):({strides})"


def _decorated(layout: TileLayout, pair: str) -> str:
    text = pair if layout.swizzle is None else f"{layout.swizzle} o {pair}"
    if layout.spec.replicas:
        text += f" + R{_pair(layout.spec.replicas)}"
    for offset in layout.spec.offsets:
        value = offset.stride.value
        if value is not None and value < 0:
            text += f" - {_on_axis(const(-value), offset.axis)}"
        else:
            written = _written(offset.stride).inside(_Binds.DIVISION)
            text += f" + {written if offset.axis is m else _on_axis(offset.stride, offset.axis)}"
    return text
