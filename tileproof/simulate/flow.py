"""The order in which control flow should be walked so that threads which parted meet again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def order(successors: Sequence[Sequence[int]]) -> npt.NDArray[np.int64]:
    """A rank per instruction: reverse postorder of the control flow graph, later text first where it forks.

    A join ranks after all paths that lead to it without going around a loop, and a loop's exit after its
    body. Instructions that no path reaches come last, in any order, for they never run.

    >>> order([[1, 3], [2], [4], [2], []]).tolist()  # 3 is out of line, and jumps back to the join at 2
    [0, 1, 3, 2, 4]
    """
    count = len(successors)
    seen = [False] * count
    finished: list[int] = []
    stack: list[tuple[int, list[int]]] = [(0, sorted(successors[0]))] if count else []
    if count:
        seen[0] = True
    while stack:
        node, rest = stack[-1]
        while rest and seen[rest[-1]]:
            rest.pop()
        if rest:
            following = rest.pop()
            seen[following] = True
            stack.append((following, sorted(successors[following])))
        else:
            finished.append(node)
            stack.pop()
    walk = [*reversed(finished), *(node for node in range(count) if not seen[node])]
    ranks = np.empty(count, np.int64)
    ranks[walk] = np.arange(count)
    return ranks
