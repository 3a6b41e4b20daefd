from __future__ import annotations

import pytest

from tileproof.contracts.grammar import Operand
from tileproof.contracts.notation import in_words
from tileproof.contracts.syntax import ANY
from tileproof.contracts.written import written

WIDTHS = {"%p": 1, "%r": 32, "%rd": 64, "tile": 0, "%v.x": 32}

SOURCE = Operand("a", "name", "read", 1, 32, constants=ANY, special=True)
REGISTER = Operand("a", "registers", "read", 1, 32)
MAP = Operand("map", "tensor", "read", 2, 32, constants=ANY)


@pytest.mark.parametrize(
    ("operand", "text", "how"),
    [
        (SOURCE, "%r", "name"),
        (SOURCE, "smem+16", "name"),
        (SOURCE, "-7", "constant"),
        (SOURCE, "%tid.x", "register"),
        (SOURCE, "%laneid", "register"),
        (SOURCE, "%rd", None),
        (SOURCE, "smem[4]", "name"),
        (SOURCE, "tile", "name"),
        (SOURCE, "%r+16", None),
        (SOURCE, "%r[4]", None),
        (SOURCE, "%laneid+4", None),
        (SOURCE, "WARP_SZ", "constant"),
        (SOURCE, "%r.x", None),
        (SOURCE, "%v.x", "register"),
        (REGISTER, "tile", None),
        (REGISTER, "%v.x", "register"),
        (REGISTER, "%w.x", None),
        (SOURCE, "%tid.q", None),
        (SOURCE, "1.0", None),
        (Operand("a", "name", "read", 1, 32), "%tid.x", None),
        (Operand("a", "name", "read", 1, 32), "7", None),
        (MAP, "[%rd, {%r, 5}]", "tensor"),
        (MAP, "[map,{%r,%r}]", "tensor"),
        (MAP, "[%r, {%r, %r}]", None),
        (MAP, "[%rd, {%r}]", None),
        (MAP, "[%rd, {%r, %rd}]", None),
        (MAP, "[%rd]", None),
        (Operand("map", "tensor", "read", 2, 32), "[%rd, {%r, 5}]", None),
    ],
)
def test_operands(operand: Operand, text: str, how: str | None) -> None:
    assert written(operand, text, WIDTHS.get, None).how == how


def test_words() -> None:
    assert in_words(SOURCE) == (
        "a register of 32 bits or a variable, perhaps with an offset, or a special register or an integer constant"
    )
    assert in_words(MAP) == "a tensor map and its coordinates, as in [%rd0, {%c0, %c1}]"
