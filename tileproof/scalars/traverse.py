"""Walks over scalar expressions, none of which recurse."""

from __future__ import annotations

from collections.abc import Mapping

from tileproof.scalars.expression import Scalar, make, trace_of


def postorder(root: Scalar) -> list[Scalar]:
    """All nodes once, arguments first."""
    found: dict[int, Scalar] = {}
    pending = [root]
    while pending:
        node = pending[-1]
        missing = [a for a in node.args if a.uid not in found]
        if missing and node.uid not in found:
            pending += reversed(missing)
        else:
            found.setdefault(node.uid, node)
            pending.pop()
    return list(found.values())


def substitute(root: Scalar, replacement: Mapping[int, Scalar]) -> Scalar:
    """The expression with other nodes, of the same types, in place of those with these ``uid``."""
    found: dict[int, Scalar] = dict(replacement)
    for node in postorder(root):
        if node.uid not in found:
            args = tuple(found[a.uid] for a in node.args)
            found[node.uid] = make(node.op, node.dtype, args, node.value, trace_of(args))
    return found[root.uid]
