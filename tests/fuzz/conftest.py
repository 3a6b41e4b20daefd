"""Maps as the ISA's text and figures have them, made by hand: no simulator, no contract, no GPU."""

from __future__ import annotations

import numpy as np
import pytest

from tileproof.fuzz.execute.table import TableForm, table_forms
from tileproof.fuzz.maps import HardwareMaps
from tileproof.fuzz.reconstruct import ZERO, Movement

Bytes = list[list[list[tuple[int, int]]]]
"""``[register][lane][byte] -> (supplying lane, offset)``."""


def drawn(form: TableForm) -> Bytes:
    mnemonic = form.opcode.split(".")[0]
    if mnemonic in ("ld", "st"):
        # 9.7.9.8: element r of a vector is the r-th of consecutive elements at the thread's own address.
        size = form.bits // 8
        return [[[(t, r * size + b) for b in range(size)] for t in range(32)] for r in range(form.registers)]
    if mnemonic == "cp":
        # 9.7.9.25.3: src-size bytes are read, the rest of the chunk is zero; all of it with ignore-src.
        many = {"": [form.chunk], "size": list(range(form.chunk + 1)), "ignore": [form.chunk, 0]}[form.amount]
        return [
            [[(t, b) if b < n else (ZERO, 0) for b in range(form.chunk)] for t in range(32)] for n in many
        ]
    # 9.7.14.5.15: threads 8r to 8r+7 point at the rows of matrix r; thread t has elements (t/4, 2*(t%4)) and the next
    # of the row; with .trans of the transpose.
    found = []
    for r in range(form.registers):
        register = []
        for t in range(32):
            elements = [(t // 4, 2 * (t % 4)), (t // 4, 2 * (t % 4) + 1)]
            if ".trans" in form.opcode:
                elements = [(column, row) for row, column in elements]
            register.append([(8 * r + row, 2 * column + b) for row, column in elements for b in range(2)])
        found.append(register)
    return found


@pytest.fixture(scope="session")
def by_hand() -> HardwareMaps:
    moved = {}
    for form in table_forms():
        array = np.array(drawn(form), np.int16)
        moved[form.label] = Movement(array[..., 0], array[..., 1])
    return HardwareMaps("by hand", "none", 0, "0", moved, {})
