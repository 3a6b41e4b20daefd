"""ldmatrix, stmatrix, movmatrix: 8x8 and 16-wide matrices between shared rows and the registers of a warp
(ISA 9.7.14.5.15 to .17).

A matrix row is 16 bytes of shared memory at a multiple of 16. Lane 8i + r gives the address of row r of
matrix i (lane 16i + r for matrices of 16 rows). With g = lane // 4 and t = lane % 4, a lane holds elements 2t
and 2t + 1 of row g of a b16 matrix, in one register per matrix; `.trans` holds elements g of rows 2t and 2t +
1 instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tileproof.simulate.geometry import WARP
from tileproof.simulate.issue import Issue
from tileproof.simulate.memory import within
from tileproof.simulate.operands import Tuple, spell
from tileproof.simulate.registry import Decoder, Execute, instruction
from tileproof.simulate.scalars import B32, Array

_LANE = np.arange(WARP)
_G, _T = _LANE // 4, _LANE % 4


@dataclass(frozen=True, slots=True)
class Fragment:
    """Which (row, column) of a matrix each lane holds.

    `row` and `column` have shape (32, registers per matrix, elements per register), elements from the low end
    up, of `bits` bits.
    """

    rows: int
    bits: int
    row: Array
    column: Array

    @property
    def registers(self) -> int:
        return int(self.row.shape[1])


def _fragment(
    rows: int,
    bits: int,
    place: Callable[[Array, Array, Array, Array], tuple[Array, Array]],
    registers: int = 1,
) -> Fragment:
    g, t, r, e = np.broadcast_arrays(
        _G[:, None, None],
        _T[:, None, None],
        np.arange(registers)[None, :, None],
        np.arange(32 // bits)[None, None, :],
    )
    row, column = place(g, t, r, e)
    return Fragment(rows, bits, np.broadcast_to(row, g.shape), np.broadcast_to(column, g.shape))


FRAGMENTS = {
    ("m8n8", False): _fragment(8, 16, lambda g, t, _, e: (g, 2 * t + e)),
    ("m8n8", True): _fragment(8, 16, lambda g, t, _, e: (2 * t + e, g)),
    ("m8n16", False): _fragment(8, 8, lambda g, t, _, e: (g, 4 * t + e)),
    ("m16n16", True): _fragment(16, 8, lambda g, t, r, e: (4 * t + e, g + 8 * r), registers=2),
    # stmatrix: the row of shared memory is a column of the tile, 16 elements along m.
    ("m16n8", True): _fragment(8, 8, lambda g, t, _, e: (2 * t + e % 2, g + 8 * (e // 2))),
}


def _packed_bits(rows: Array, width: int) -> Array:
    """16 values packed from bit 0 up -> a byte each, in its low bits (`.b4x16_p64`, `.b6x16_p32`)."""
    bits = np.unpackbits(rows, axis=-1, bitorder="little")[..., : 16 * width]
    values = bits.reshape(*bits.shape[:-1], 16, width)
    found: Array = (values << np.arange(width, dtype=np.uint8)).sum(axis=-1, dtype=np.uint8)
    return found


@instruction("ldmatrix")
def ldmatrix(code: Decoder) -> Execute:
    """Rows of shared memory -> registers."""
    fragment, count, space = _decode(code, ("m8n8", "m16n16", "m8n16"), vector=0)
    old_target = code.compute_capability <= 75
    payload = code.take("b16" if fragment.bits == 16 else "b8", "b8x16")
    width = 8
    if payload == "b8x16":
        width = {"b4x16_p64": 4, "b6x16_p32": 6}[code.need("b4x16_p64", "b6x16_p32")]
    shape = next(word for word in code.opcode.split(".") if word in ("m8n8", "m16n16", "m8n16"))
    if (
        payload is None
        or (shape == "m8n16" and payload != "b8x16")
        or (shape == "m8n8" and payload == "b8x16")
    ):
        code.fail(f"{code.opcode}: this type does not go with the shape")
    code.finish(operands=2)

    def execute(issue: Issue) -> None:
        if old_target:
            # Up to sm_75 all lanes have to hold valid addresses, used or not.
            issue.check(space, issue.addresses(1, space), 16, 16)
        positions, among = _providers(issue, fragment.rows * count)
        with within(positions):
            data, known = among.load(space, among.addresses(1, space), 16)
        rows = data.reshape(-1, count, fragment.rows, 16)
        known = known.reshape(-1, count, fragment.rows)
        if width < 8:
            rows = _packed_bits(rows, width)
        elements = rows.view(f"u{fragment.bits // 8}")
        for matrix in range(count):
            for register in range(fragment.registers):
                row, column = fragment.row[:, register], fragment.column[:, register]
                words = np.ascontiguousarray(elements[:, matrix, row, column]).view(np.uint32).reshape(-1)
                defined = known[:, matrix, row].all(axis=-1).reshape(-1)
                issue.write(
                    issue.elements(0)[matrix * fragment.registers + register], B32, words, known=defined
                )

    return execute


@instruction("stmatrix")
def stmatrix(code: Decoder) -> Execute:
    """Registers -> rows of shared memory."""
    fragment, count, space = _decode(code, ("m8n8", "m16n8"), vector=1)
    code.need("b16" if fragment.bits == 16 else "b8")
    code.finish(operands=2)

    def execute(issue: Issue) -> None:
        elements = np.zeros(
            (issue.slots.size // WARP, count, fragment.rows, 128 // fragment.bits), f"u{fragment.bits // 8}"
        )
        for matrix in range(count):
            words = np.ascontiguousarray(issue.read(issue.elements(1)[matrix], B32))
            parts = words.view(elements.dtype).reshape(-1, WARP, 32 // fragment.bits)
            elements[:, matrix, fragment.row[:, 0], fragment.column[:, 0]] = parts
        positions, among = _providers(issue, fragment.rows * count)
        with within(positions):
            among.store(space, among.addresses(0, space), elements.view(np.uint8).reshape(-1, 16))

    return execute


def _decode(code: Decoder, shapes: tuple[str, ...], vector: int) -> tuple[Fragment, int, str]:
    code.need("sync")
    code.need("aligned")
    shape = code.need(*shapes)
    count = int(code.need("x1", "x2", "x4")[1])
    transposed = code.flag("trans")
    space = code.take("shared", "shared::cta") or "generic"
    if (shape, transposed) not in FRAGMENTS:
        code.fail(f"{code.opcode}: {shape} {'cannot be' if transposed else 'has to be'} .trans")
    fragment = FRAGMENTS[shape, transposed]
    if fragment.rows * count > WARP:
        code.fail(f"{code.opcode}: {shape} has no .x{count}")
    code.need_address(1 - vector)
    if len(code.operands) == 2:
        operand = code.operands[vector]
        found = len(operand.elements) if isinstance(operand, Tuple) else 0
        if found != count * fragment.registers:
            code.fail(
                f"{code.opcode} takes {count * fragment.registers} registers in braces, not {spell(operand)}"
            )
    return fragment, count, space


def _providers(issue: Issue, count: int) -> tuple[Array, Issue]:
    """The positions of the lanes 0 .. count-1 of every warp, which give the row addresses, and the issue
    restricted to them.
    """
    positions = np.flatnonzero(issue.lanes < count)
    return positions, issue.only(positions)


@instruction("movmatrix")
def movmatrix(code: Decoder) -> Execute:
    """Transposes an 8x8 matrix of b16 across the warp."""
    for word in ("sync", "aligned", "m8n8", "trans", "b16"):
        code.need(word)
    code.finish(operands=2)
    plain, turned = FRAGMENTS["m8n8", False], FRAGMENTS["m8n8", True]

    def execute(issue: Issue) -> None:
        halves = np.ascontiguousarray(issue.read(1, B32)).view(np.uint16).reshape(-1, WARP, 2)
        matrix = np.zeros((halves.shape[0], 8, 8), np.uint16)
        matrix[:, plain.row[:, 0], plain.column[:, 0]] = halves
        found = matrix[:, turned.row[:, 0], turned.column[:, 0]]
        issue.write(0, B32, np.ascontiguousarray(found).view(np.uint32).reshape(-1))

    return execute
