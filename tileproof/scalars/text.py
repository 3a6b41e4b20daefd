"""Scalar expressions as people read them."""

from __future__ import annotations

from tileproof.scalars.expression import Scalar
from tileproof.scalars.operations import OPERATIONS
from tileproof.scalars.traverse import postorder

LONGEST = 200
"""Characters. Longer expressions are told by the number of their operations."""


def text(root: Scalar) -> str:
    """The expression as Python writes it."""
    nodes = postorder(root)
    words: dict[int, str] = {}
    for node in nodes:
        told = [words[a.uid] for a in node.args]
        if node.op == "constant":
            said = f"{node.dtype}({node.value!r})"
        elif node.op == "variable":
            said = str(node.value)
        elif node.op == "cast":
            said = f"{node.dtype}({told[0]})"
        elif node.op == "select" or OPERATIONS[node.op].symbol.isidentifier():
            symbol = "select" if node.op == "select" else OPERATIONS[node.op].symbol
            said = f"{symbol}({', '.join(told)})"
        else:
            symbol = OPERATIONS[node.op].symbol
            said = f"({symbol}{told[0]})" if len(told) == 1 else f"({told[0]} {symbol} {told[1]})"
        if len(said) > LONGEST:
            return f"a {root.dtype} expression of {len(nodes)} operations"
        words[node.uid] = said
    whole = words[root.uid]
    return whole[1:-1] if whole.startswith("(") else whole
