"""``mbarrier`` objects: 8-byte words in shared memory that threads arrive at and wait for (PTX ISA 9.7.13.15).

    full = k.mbarrier("full", 2)             # two barriers
    with k.when(tx == 0):
        full.init(128, at=0)
    k.raw("bar.sync 0;")
    full.arrive(at=0)
    full.wait(0, at=0)

Each method writes one instruction, ``wait`` a loop around one. Nothing else is ever added: no fence after
``init``, no election, no CTA barrier.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

from tileproof.contracts.launch import Launch
from tileproof.contracts.statement import Statement, read
from tileproof.emit.code import Code
from tileproof.emit.lower import Lowering, width_of
from tileproof.emit.plan import seen_by_thread
from tileproof.emit.registers import address_bits
from tileproof.emit.statements import Barrier
from tileproof.errors import CallError
from tileproof.layouts.bounds import bounds
from tileproof.layouts.index import Index, IndexLike, as_index
from tileproof.layouts.layout import Spec, TileLayout, factors, row_major
from tileproof.layouts.normal import simplify
from tileproof.layouts.tensor import Tensor
from tileproof.layouts.view import View

WORD = 8  # bytes; an mbarrier object is a .b64 at a multiple of 8 (PTX ISA 9.7.13.15)
MOST_ARRIVALS = (1 << 20) - 1
MOST_BYTES = (1 << 20) - 1
"""The greatest pending count and the greatest tx-count (PTX ISA 9.7.13.15)."""


@dataclass(frozen=True)
class _Operation:
    """How an operation is spelled, and from what to what its operand may go."""

    text: str
    operand: tuple[str, int, int] | None = None


_OPERATIONS: Mapping[str, _Operation] = MappingProxyType(
    {
        "init": _Operation("mbarrier.init.shared.b64 [{at}], {operand};", ("count", 1, MOST_ARRIVALS)),
        "arrive": _Operation("mbarrier.arrive.shared.b64 _, [{at}];"),
        "arrive_many": _Operation(
            "mbarrier.arrive.shared.b64 _, [{at}], {operand};", ("count", 1, MOST_ARRIVALS)
        ),
        "arrive_expect_tx": _Operation(
            "mbarrier.arrive.expect_tx.shared.b64 _, [{at}], {operand};", ("tx", 0, MOST_BYTES)
        ),
        "wait": _Operation(
            "mbarrier.try_wait.parity.shared.b64 {done}, [{at}], {operand};", ("parity", 0, 1)
        ),
        "inval": _Operation("mbarrier.inval.shared.b64 [{at}];"),
    }
)


class MBarrier:
    """``count`` barriers of a kernel, in static shared memory; made by ``Kernel.mbarrier``.

    ``at`` picks one of them and may be an expression; its bounds have to say that there is such a barrier.
    ``barrier[i]`` is the view of one barrier's word, for instructions that signal it.
    """

    def __init__(self, tensor: Tensor, add: Callable[[Barrier], None]) -> None:
        compact = tensor.layout == TileLayout(Spec(factors(tensor.shape, row_major(tensor.shape))))
        words = tensor.space == "shared" and tensor.dtype == "uint64" and len(tensor.shape) == 1 and compact
        if not words or tensor.declared or tensor.storage.align % WORD:
            raise CallError(
                f"mbarrier: {tensor!r} is no row of barriers; needed is a compact uint64 tensor of one dimension "
                f"in shared memory, with storage of its own at a multiple of {WORD} bytes"
            )
        self.tensor = tensor
        self._add = add

    def __getitem__(self, at: IndexLike) -> View:
        first = as_index(at)
        return self.tensor[first : first + 1]

    def init(self, count: IndexLike = 1, *, at: IndexLike = 0) -> None:
        """Make the barrier, in phase 0, with ``count`` arrivals to each phase. For one thread."""
        self._write("init", at, count)

    def arrive(self, count: IndexLike = 1, *, at: IndexLike = 0) -> None:
        """Arrive ``count`` times; more than once needs sm_90."""
        once = as_index(count).value == 1
        self._write("arrive" if once else "arrive_many", at, None if once else count)

    def arrive_expect_tx(self, tx: IndexLike, *, at: IndexLike = 0) -> None:
        """Arrive, and expect ``tx`` more bytes in this phase. Needs sm_90."""
        self._write("arrive_expect_tx", at, tx)

    def wait(self, parity: IndexLike, *, at: IndexLike = 0) -> None:
        """Try until the phase of that parity (0 or 1; phases alternate from 0 on) is complete. Needs sm_90."""
        self._write("wait", at, parity)

    def inval(self, *, at: IndexLike = 0) -> None:
        """End the barrier, so that its memory can be used otherwise."""
        self._write("inval", at, None)

    def _write(self, operation: str, at: IndexLike, operand: IndexLike | None) -> None:
        index, value = as_index(at), None if operand is None else as_index(operand)
        self._add(Barrier(operation, self.tensor, index, value, (index, value)))


def checked(barrier: Barrier, launch: Launch) -> Barrier:
    """The operation as the executing thread computes it. Raises :class:`CallError` for a barrier that need not
    be there and for an operand out of range.
    """
    spelled = _OPERATIONS[barrier.operation]
    where = f"{barrier.tensor.name}.{barrier.operation.removesuffix('_many')}"
    last = int(barrier.tensor.shape[0]) - 1
    index = _within(barrier.index, launch, (0, last), f"{where}: at")
    if spelled.operand is None or barrier.operand is None:
        return replace(barrier, index=index)
    name, least, most = spelled.operand
    operand = _within(barrier.operand, launch, (least, most), f"{where}: {name}")
    return replace(barrier, index=index, operand=operand)


def _within(value: Index, launch: Launch, limits: tuple[int, int], what: str) -> Index:
    seen: Index = simplify(seen_by_thread(value, launch))
    lo, hi = bounds(seen)
    if lo is None or hi is None or lo < limits[0] or hi > limits[1]:
        found = "unknown" if lo is None or hi is None else str(lo) if lo == hi else f"{lo} to {hi}"
        raise CallError(
            f"{what} is {value!r}, whose bounds are {found}; needed is a number that is sure to be from "
            f"{limits[0]} to {limits[1]}"
        )
    width_of(seen)
    return seen


@cache
def _statement(operation: str) -> Statement:
    return read(_OPERATIONS[operation].text.format(at="%at", operand="%operand", done="%done"))


def statement(barrier: Barrier) -> Statement:
    """The operation as the instruction table reads it."""
    return _statement(barrier.operation)


def write(barrier: Barrier, code: Code, lowering: Lowering, label: Callable[[str], str]) -> None:
    """Write a :func:`checked` operation. ``label`` makes a label of a word."""
    storage = barrier.tensor.storage
    offset = barrier.index * WORD
    at = lowering.address(storage.base, offset, width_of(offset), address_bits(storage))
    operand = "" if barrier.operand is None else _word(barrier.operand, code, lowering)
    text = _OPERATIONS[barrier.operation].text
    if barrier.operation != "wait":
        code.put(text.format(at=at, operand=operand))
        return
    again, done = label("wait"), code.temporary("pred")
    code.label(again)
    code.put(text.format(at=at, operand=operand, done=done))
    code.put(f"@!{done} bra {again};")


def _word(value: Index, code: Code, lowering: Lowering) -> str:
    if width_of(value) == 32:
        return lowering.operand(value, 32)
    return code.compute("cvt.u32.u64", "b32", lowering.operand(value, 64))
