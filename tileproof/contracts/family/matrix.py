"""``ldmatrix`` and ``stmatrix``: one, two or four 8x8 matrices of 16-bit elements between shared memory and a
warp.

Both operands are ``(*group, *repeat, matrix, row, word)`` with extents ``(count, 8, 4)`` in 32-bit containers
of two elements. A row is 16 contiguous bytes of shared memory at a multiple of 16; rows may stand anywhere.
Lane ``8*matrix + row`` supplies the address of a row, lane ``4*row + word`` owns the word: two different
maps. With ``.trans`` the register image is the transpose of each matrix of 16-bit elements; who owns what
stays the same.

Sources: PTX ISA 9.7.14.5.15 (ldmatrix), 9.7.14.5.16 (stmatrix); contract reference, "ldmatrix / stmatrix".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tileproof.contracts.call import Call
from tileproof.contracts.demands import (
    converged,
    distinct_registers,
    in_bounds,
    in_storage,
    no_overflow,
    no_stale_replica,
    no_write_conflict,
    owned,
    warp_uniform,
    whole_registers,
)
from tileproof.contracts.families import UnsupportedError, contract
from tileproof.contracts.grammar import Form
from tileproof.contracts.issue import IssueOperand, Memory, Registers
from tileproof.contracts.obligation import Obligation, aligned, consecutive
from tileproof.layouts.axes import laneid
from tileproof.layouts.dtypes import dtype_bits
from tileproof.layouts.index import Index, const, truth
from tileproof.layouts.layout import S, TileLayout
from tileproof.layouts.tensor import tensor
from tileproof.layouts.view import ViewOperations

ROWS = "PTX ISA 9.7.14.5.15"
OWNERS = "contract reference, 'Address providers and result owners'"


def address_provider(element: Sequence[Index]) -> Index:
    """The lane that supplies the address of the row of ``(matrix, row, word)``."""
    matrix, row, _ = element
    return 8 * matrix + row


def result_owner(element: Sequence[Index]) -> Index:
    """The lane whose register holds ``(matrix, row, word)``."""
    _, row, word = element
    return 4 * row + word


def sample(form: Form) -> tuple[ViewOperations, ...]:
    """Two repeats, compact on both sides."""
    n = form.quantity("matrices")
    registers = tensor(
        "R",
        (2, n, 8, 4),
        "uint32",
        "registers",
        layout=TileLayout(S[(2, n, 8, 4) : (n, 1, 4 @ laneid, 1 @ laneid)]),
    )
    shared = tensor("SM", (2, n, 8, 4), "uint32", "shared", align=16)
    return (registers, shared) if form.mnemonic == "ldmatrix" else (shared, registers)


def issue(call: Call) -> tuple[IssueOperand, ...]:
    """``count`` registers, and the row address that the lane supplies; spare lanes repeat valid rows."""
    count, load = call.form.quantity("matrices"), call.form.mnemonic == "ldmatrix"
    registers = call.operand(0 if load else 1, "registers", ("registers",), (count, 8, 4), 32)
    shared = call.operand(1 if load else 0, "shared memory", ("shared",), (count, 8, 4), 32)
    lane = call.thread.lane
    own = [registers.place((const(i), lane // 4, lane % 4)).byte_offset for i in range(count)]
    row = Memory(shared.view, shared.address((lane // 8 % count, lane % 8, const(0))))
    return (
        (Registers(registers.view, tuple(own)), row) if load else (row, Registers(registers.view, tuple(own)))
    )


@contract("ldmatrix", "stmatrix", sample=sample, issue=issue, collective=True)
def matrix(call: Call) -> Iterator[Obligation]:
    """What ``ldmatrix`` and ``stmatrix`` demand."""
    form, load = call.form, call.form.mnemonic == "ldmatrix"
    family = form.mnemonic
    if form.get("shape") != "m8n8" or form.get("type") != "b16":
        raise UnsupportedError(f"{form.spelling}: only m8n8 matrices of .b16 have a contract so far")
    if form.get("space") is None:
        raise UnsupportedError(f"{form.spelling} uses generic addresses; write .shared")
    count = form.quantity("matrices")

    registers = call.operand(0 if load else 1, "registers", ("registers",), (count, 8, 4), 32, result_owner)
    shared = call.operand(1 if load else 0, "shared memory", ("shared",), (count, 8, 4), 32, address_provider)
    matrix, row, word = call.atom(matrix=count, row=8, word=4)
    start = shared.address((matrix, row, const(0)))

    yield from converged(call)
    yield from warp_uniform(call, shared, (matrix, row, word), ROWS)
    yield from owned(
        call,
        registers,
        (matrix, row, word),
        result_owner((matrix, row, word)),
        "word (matrix, row, word) belongs to lane 4*row + word",
        OWNERS,
    )
    yield aligned(f"{family}.row-aligned", start, 16, "a matrix row starts at a multiple of 16 bytes", ROWS)
    yield consecutive(
        f"{family}.row-contiguous", shared.address((matrix, row, word)), word.args[0], 4,
        "the four words of a row follow each other", ROWS,
    )  # fmt: skip
    yield from whole_registers(call, registers, (matrix, row, word), OWNERS)
    for operand in (shared, registers):
        yield from in_bounds(call, operand)
    yield from in_storage(call, shared, (matrix, row, const(0)), 16)
    yield from in_storage(call, registers, (matrix, row, word), 4)
    yield from no_overflow(call, shared, (matrix, row, const(0)))
    if load:
        yield from distinct_registers(
            call, registers, (matrix, row, word), (matrix,), "loaded words land in distinct registers", OWNERS
        )
        yield from no_stale_replica(call, registers, OWNERS)
    else:
        yield from no_write_conflict(call, shared, (matrix, row, word), ROWS)
        yield from no_stale_replica(call, shared, ROWS)
    narrow = dtype_bits(shared.view.tensor.dtype)
    if form.get("trans") and narrow < 16:
        yield Obligation(
            f"{family}.transposed-unit", ".trans moves units of 16 bits, never parts of one", ROWS, truth(False),
            needed=("elements of at least 16 bits", ()),
            found=(f"{shared.view.name} holds {narrow}-bit elements; {16 // narrow} neighbours stay together", ()),
            hazard=True,
        )  # fmt: skip
