"""What is remembered by the numbers of nodes does not travel to another process, where they are other nodes'."""

from __future__ import annotations

import pickle
from dataclasses import fields
from typing import Any

import pytest

import tileproof as tp
from tileproof import S, TileLayout
from tileproof.layouts.index import const, leaf
from tileproof.layouts.view import View


def used_view() -> View:
    tensor = tp.tensor("A", (3, 4, 2), "uint32", layout=TileLayout(S[(3, 4, 2) : (8, 2, 1)]))
    view = tensor.rearrange("a b c -> b (a c)")
    view.place([leaf(v) for v in view.variables])
    return view


def checked_call() -> Any:
    view = used_view()
    registers = tp.tensor("R", (4, 6), "uint32", "registers")
    return tp.check("ld.global.v2.b32", registers.view(4, 3, 2), view.view(4, 3, 2)).call


@pytest.mark.parametrize("make", [used_view, lambda: used_view().tensor.layout, checked_call])
def test_only_fields_travel(make: Any) -> None:
    original = make()
    assert set(vars(original)) > {f.name for f in fields(original)}, "something is remembered"
    assert set(vars(pickle.loads(pickle.dumps(original)))) == {f.name for f in fields(original)}


def test_a_view_places_its_elements_as_before() -> None:
    original = used_view()
    again = pickle.loads(pickle.dumps(original))
    for b, ac in ((0, 0), (1, 5), (3, 2)):
        at = [const(b), const(ac)]
        assert again.place(at).byte_offset is original.place(at).byte_offset
        assert original.place(at) is original.place(at)
