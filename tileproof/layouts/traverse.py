"""Walking expressions: their variables, their parts in order, and rebuilding them with variables replaced."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from tileproof.layouts.index import (
    Expression,
    Index,
    add,
    bitwise,
    conjunction,
    disjunction,
    equal,
    floordiv,
    less,
    maximum,
    minimum,
    mod,
    mul,
    negate,
    select,
)
from tileproof.layouts.leaf import Leaf

_Node = TypeVar("_Node", bound=Expression)
_Result = TypeVar("_Result")


def postorder(*expressions: Expression) -> list[Any]:
    """Every node of the expressions once, arguments before what uses them; depth costs no stack."""
    order: list[Any] = []
    seen: set[int] = set()
    stack: list[tuple[Any, bool]] = [(e, False) for e in reversed(expressions)]
    while stack:
        node, ready = stack.pop()
        if ready:
            order.append(node)
        elif node.uid not in seen:
            seen.add(node.uid)
            stack.append((node, True))
            if node.op not in ("leaf", "const", "truth"):
                stack.extend((argument, False) for argument in reversed(node.args))
    return order


def arguments_first(reading: Callable[[Any], object], expression: Expression) -> None:
    """Apply a reading that remembers its results to each part, for an expression too deep to recurse into."""
    for part in postorder(expression)[:-1]:
        reading(part)


def remembered(of: type[_Node]) -> Callable[[Callable[[_Node], _Result]], Callable[[_Node], _Result]]:
    """Make a reading of ``of`` nodes remember, at each node, what it gave (never ``None``); depth costs no
    stack.
    """

    def remember(reading: Callable[[_Node], _Result]) -> Callable[[_Node], _Result]:
        name = reading.__name__

        @wraps(reading)
        def recall(node: _Node) -> _Result:
            found: _Result | None = node.memo.get(name)
            if found is None:
                try:
                    found = reading(node)
                except RecursionError:
                    arguments_first(lambda part: isinstance(part, of) and recall(part), node)
                    found = reading(node)
                node.memo[name] = found
            return found

        return recall

    return remember


def leaves(*expressions: Expression) -> list[Leaf]:
    """The variables of the expressions, each once, in order of first occurrence."""
    if len(expressions) == 1:
        return list(_leaves(expressions[0]))
    return list(dict.fromkeys(v for e in expressions for v in _leaves(e)))


def _leaves(expression: Expression) -> tuple[Leaf, ...]:
    found: tuple[Leaf, ...] | None = expression.memo.get("leaves")
    if found is None:
        parts = postorder(expression)
        found = expression.memo["leaves"] = tuple([part.args[0] for part in parts if part.op == "leaf"])
    return found


_BUILD: dict[str, Callable[..., Any]] = {
    "add": add,
    "mul": mul,
    "div": floordiv,
    "mod": mod,
    "xor": lambda a, b: bitwise("xor", a, b),
    "and": lambda a, b: bitwise("and", a, b),
    "or": lambda a, b: bitwise("or", a, b),
    "min": minimum,
    "max": maximum,
    "select": select,
    "eq": equal,
    "lt": less,
    "not": negate,
    "all": lambda *items: conjunction(items),
    "any": lambda *items: disjunction(items),
}


def rebuild(op: str, args: tuple[Any, ...]) -> Any:
    """The node ``op(*args)`` for an operator that has arguments, folding constants."""
    return _BUILD[op](*args)


_SUBSTITUTIONS = 32
"""How many results of substituting a node remembers."""


def substitute(expression: Any, replacement: dict[Leaf, Index]) -> Any:
    """The expression with variables replaced; constants fold on the way, nothing else changes."""
    if not replacement:
        return expression
    known = expression.memo.setdefault("substituted", {})
    key = tuple([(v, x.uid) for v, x in replacement.items()])
    found = known.get(key)
    if found is None:
        if len(known) >= _SUBSTITUTIONS:
            known.clear()
        found = known[key] = _substituted(expression, replacement)
    return found


def _substituted(expression: Any, replacement: dict[Leaf, Index]) -> Any:
    done: dict[int, Any] = {}

    def visit(node: Any) -> Any:
        result = done.get(node.uid)
        if result is None:
            if node.op == "leaf":
                result = replacement.get(node.args[0], node)
            elif node.op in ("const", "truth"):
                result = node
            else:
                args = tuple(visit(a) for a in node.args)
                result = (
                    node
                    if all(x is y for x, y in zip(args, node.args, strict=True))
                    else rebuild(node.op, args)
                )
            done[node.uid] = result
        return result

    try:
        return visit(expression)
    except RecursionError:
        arguments_first(visit, expression)
        return visit(expression)
