"""Einops patterns as views: ``(r m) w k -> k m r w`` splits, reorders and merges dimensions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tileproof.errors import LayoutError
from tileproof.layouts.index import Index, as_index, const
from tileproof.layouts.normal import simplify
from tileproof.layouts.view import View

_TOKEN = re.compile(r"\s*([A-Za-z_]\w*|[()]|1)")


def _parse(text: str, pattern: str) -> list[list[str]]:
    """One list of names for each dimension; a bare name is a list of one, ``1`` and ``()`` an empty list."""
    groups: list[list[str]] = []
    inside: list[str] | None = None
    position = 0
    while position < len(text.rstrip()):
        match = _TOKEN.match(text, position)
        if match is None:
            raise LayoutError(f"rearrange {pattern!r}: unexpected {text[position:].strip()[:10]!r}")
        token, position = match.group(1), match.end()
        if token == "(":
            if inside is not None:
                raise LayoutError(f"rearrange {pattern!r}: parentheses do not nest")
            inside = []
        elif token == ")":
            if inside is None:
                raise LayoutError(f"rearrange {pattern!r}: a ')' without its '('")
            groups.append(inside)
            inside = None
        elif inside is not None:
            inside += [] if token == "1" else [token]
        else:
            groups.append([] if token == "1" else [token])
    if inside is not None:
        raise LayoutError(f"rearrange {pattern!r}: a '(' without its ')'")
    return groups


def _product(sizes: Sequence[Index]) -> Index:
    total = const(1)
    for size in sizes:
        total = total * size
    return simplify(total)


def rearrange(view: View, pattern: str, sizes: Mapping[str, int]) -> View:
    """Apply ``pattern``; ``sizes`` gives the names that splitting a dimension leaves open.

    Raises :class:`LayoutError` for a malformed pattern, a wrong rank, names that differ between the two
    sides, or sizes that do not multiply up to the dimension.
    """
    left_text, arrow, right_text = pattern.partition("->")
    if not arrow:
        raise LayoutError(f"rearrange {pattern!r}: write 'old names -> new names'")
    left, right = _parse(left_text, pattern), _parse(right_text, pattern)
    if len(left) != view.rank:
        raise LayoutError(
            f"rearrange {pattern!r}: the left side names {len(left)} dimensions, "
            f"{view.name} has {view.rank}: {view.shape}"
        )
    names = [n for group in left for n in group]
    if sorted(names) != sorted(n for group in right for n in group) or len(set(names)) != len(names):
        raise LayoutError(f"rearrange {pattern!r}: each name must stand once on either side")
    unknown = set(sizes) - set(names)
    if unknown:
        raise LayoutError(f"rearrange {pattern!r}: no dimension is named {', '.join(sorted(unknown))}")
    for name, size in sizes.items():
        if as_index(size).value is None or as_index(size).value < 1:  # type: ignore[operator]
            raise LayoutError(f"rearrange {pattern!r}: {name}={size}; sizes are positive integers")
    extent = _extents(view, left, sizes, pattern)

    def mapping(x: Sequence[Index]) -> list[Index]:
        value: dict[str, Index] = {}
        for d, group in enumerate(right):
            rest = x[d]
            for name in reversed(group[1:]):
                value[name] = rest % extent[name]
                rest = rest // extent[name]
            if group:
                value[group[0]] = rest
        merged = []
        for group in left:
            total = const(0)
            for name in group:
                total = total * extent[name] + value[name]
            merged.append(total)
        return merged

    return view.recoordinated(tuple(_product([extent[n] for n in group]) for group in right), mapping)


def _extents(view: View, left: list[list[str]], sizes: Mapping[str, int], pattern: str) -> dict[str, Index]:
    extent: dict[str, Index] = {}
    for d, group in enumerate(left):
        open_names = [n for n in group if n not in sizes]
        if len(group) == 1 and group[0] in sizes and simplify(view.shape[d] - sizes[group[0]]).value != 0:
            raise LayoutError(
                f"rearrange {pattern!r}: {group[0]} is dimension {d} of {view.name} with "
                f"{view.shape[d]} elements, not {sizes[group[0]]}"
            )
        for name in group:
            if name in sizes:
                extent[name] = as_index(sizes[name])
        if len(open_names) > 1:
            raise LayoutError(
                f"rearrange {pattern!r}: dimension {d} of {view.name} splits into {' '.join(group)}; give the sizes of "
                f"all but one of {', '.join(open_names)}"
            )
        known = _product([extent[n] for n in group if n in extent])
        quotient = simplify(view.shape[d] // known)
        if simplify(quotient * known - view.shape[d]).value != 0 or (
            not open_names and simplify(known - view.shape[d]).value != 0
        ):
            raise LayoutError(
                f"rearrange {pattern!r}: dimension {d} of {view.name} has {view.shape[d]} elements, which "
                f"{' '.join(f'{n}={sizes[n]}' for n in group if n in sizes) or 'an empty group'} does not divide up"
            )
        if open_names:
            extent[open_names[0]] = quotient
    return extent
