"""One change to a call that may break it, or not: that is for the two opinions to find out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tileproof.fuzz.generate.drafts import CallDraft, Dim, OperandDraft
from tileproof.fuzz.oracle.description import Backing, Factor, Swizzle


def _restride(dim: Dim, position: int, stride: object) -> None:
    dim.factors[position] = replace(dim.factors[position], stride=stride)  # type: ignore[arg-type]


def _alignment(draft: CallDraft) -> None:
    draft.memory.align = max(1, draft.memory.align >> draft.choices.among(1, 2, 3, 5))


def _word_stride(draft: CallDraft) -> None:
    word = draft.memory.dims[-1]
    _restride(word, -1, draft.choices.among(2, 0, -1, 3))


def _memory_stride(draft: CallDraft) -> None:
    c = draft.choices
    dim = c.among(*draft.memory.dims)
    if dim.factors:
        _restride(dim, 0, ("+", dim.factors[0].stride, c.among(1, 2, 4, -1, 8)))


def _memory_offset(draft: CallDraft) -> None:
    c = draft.choices
    amount = draft.symbol(0, 8, c.among(1, 2, 4)) if c.chance(40) else c.among(1, 2, 4, 3, 8)
    draft.memory.offsets.append((amount, "m"))


def _start(draft: CallDraft) -> None:
    c = draft.choices
    operand = draft.memory if c.chance(75) else draft.registers
    dim = c.among(*operand.dims)
    more = c.among(1, -1, 2, 4, draft.symbol(0, 2), draft.symbol(-1, 1))
    dim.start = more if dim.start == 0 else ("+", dim.start, more)


def _longer(draft: CallDraft) -> None:
    """A dimension with room, and a start that does not care what an access needs."""
    c = draft.choices
    operand = draft.memory if c.chance(75) else draft.registers
    dim = c.among(*operand.dims)
    if isinstance(dim.size, int) and len(dim.factors) == 1:
        room = c.between(1, 4)
        dim.size += room
        dim.factors = [replace(dim.factors[0], extent=dim.size)]
        dim.start = draft.within(room, threads=operand is draft.memory)


def _swizzle(draft: CallDraft) -> None:
    c = draft.choices
    bits = c.between(1, 3)
    shift = bits + c.below(3)
    draft.memory.swizzle = Swizzle(bits, c.below(4), -shift if c.chance(15) else shift)


def _backing(draft: CallDraft) -> None:
    c = draft.choices
    operand = draft.memory if c.chance(75) else draft.registers
    reach = 1
    for dim in operand.dims:
        for factor in dim.factors:
            if isinstance(factor.extent, int) and isinstance(factor.stride, int) and factor.axis == "m":
                reach += (factor.extent - 1) * max(factor.stride, 0)
    operand.backing = Backing(
        max(1, reach + c.among(0, -1, 4, 16, -4)), c.among(0, 1, 4, -1, draft.symbol(0, 4), 2)
    )


def _register_stride(draft: CallDraft) -> None:
    c = draft.choices
    stored = [d for d in draft.registers.dims if d.on_storage]
    if stored:
        dim = c.among(*stored)
        _restride(dim, 0, c.among(1, 0, 2, 3, 4, draft.symbol(0, 4)))


def halved(draft: CallDraft) -> None:
    """Registers declared in halves, from an odd one on or with odd strides."""
    c, registers = draft.choices, draft.registers
    if draft.bits == 8 or registers.view_bits is not None or registers.dims[-1].hidden:
        return
    parted = next((d for d in registers.dims if d.role == "matrix"), registers.dims[-1])
    if not parted.on_storage:
        return
    registers.bits, registers.view_bits = draft.bits // 2, draft.bits
    position = registers.dims.index(parted)
    registers.placed = [*(d for d in range(len(registers.dims)) if d != position), position]
    for dim in registers.dims:
        if dim.on_storage:
            scale = c.among(2, 2, 3)
            dim.factors = [replace(f, stride=("*", f.stride, scale)) for f in dim.factors]
    parted.size, parted.start, parted.step = parted.extent * 2, 0, 1
    parted.factors = [*[replace(f, extent=parted.extent) for f in parted.factors[:1]], Factor(2, 1)]
    if c.chance(50):
        registers.offsets.append((c.among(1, 2), "m"))


def torn(draft: CallDraft) -> None:
    """Elements declared in halves, which stand apart or not as a symbol says."""
    c = draft.choices
    operand = draft.registers if c.chance(50) else draft.memory
    width, part = operand.view_bits or operand.bits, operand.dims[-1]
    if width == 8 or operand.bits != width or part.hidden or not part.on_storage or len(part.factors) != 1:
        return
    operand.bits, operand.view_bits, operand.placed = width // 2, width, None
    for dim in operand.dims:
        dim.factors = [f if f.axis != "m" else replace(f, stride=("*", f.stride, 4)) for f in dim.factors]
    part.factors = [replace(part.factors[0], extent=part.extent), Factor(2, draft.symbol(1, 2))]
    part.size, part.start, part.step = part.extent * 2, 0, 1


def far(draft: CallDraft) -> None:
    """Offset arithmetic of 32 bits, and a stage that may be too far away for it."""
    c, operand = draft.choices, draft.memory
    draft.index_bits = 32
    stages = c.among(3, 1, 2)
    stride = c.among(1 << 30, 1 << 31, 1 << 29) * 8 // operand.bits
    start = draft.symbol(0, stages)
    operand.dims.insert(0, Dim("far", 1, [Factor(stages + 1, stride)], stages + 1, start, hidden=True))
    if operand.placed is not None:
        operand.placed = [0, *(p + 1 for p in operand.placed)]


def late(draft: CallDraft) -> None:
    """What was thought of last is drawn last, so that all other choices of a seed stay as they were."""
    kind = 0 if draft.choices.legal else draft.choices.below(100)
    if kind >= 98:
        far(draft)
    elif kind >= 96:
        torn(draft)
    elif kind == 95:
        # Copies of the destination, which go stale.
        destination = draft.registers if draft.load else draft.memory
        destination.replicas.append(Factor(2, draft.choices.among(64, 1024, 1), "m"))


def _owner(draft: CallDraft) -> None:
    c, registers = draft.choices, draft.registers
    bound = [d for d in registers.dims if d.factors and not d.on_storage]
    if not bound or c.chance(20):
        registers.offsets.append(
            (c.among(1, 4, draft.symbol(0, 1)), c.among("laneid", "warpid", "wid_in_wg", "tx"))
        )
        return
    dim = c.among(*bound)
    factor = dim.factors[0]
    kind = c.below(3)
    if kind == 0:
        dim.factors[0] = replace(factor, stride=c.among(2, 1, 4, 8, 0))
    elif kind == 1:
        dim.factors[0] = replace(
            factor, axis=c.among("laneid", "warpid", "wid_in_wg", "tx", "tid_in_wg", "wgid", "m")
        )
    else:
        other = c.among(*bound)
        dim.factors, other.factors = other.factors, dim.factors
        if dim.extent != other.extent:
            dim.factors = [replace(f, extent=dim.size) for f in dim.factors[:1]]
            other.factors = [replace(f, extent=other.size) for f in other.factors[:1]]


def _guard(draft: CallDraft) -> None:
    from tileproof.fuzz.generate.tensors import guard

    draft.guard = guard(draft)


def _no_guard(draft: CallDraft) -> None:
    draft.guard = None


def _block(draft: CallDraft) -> None:
    draft.block = (draft.choices.among(32, 64, 128, 96, 16, 40, 256, 160),)


def _extent(draft: CallDraft) -> None:
    """Another extent for one coordinate: of both operands, or of one."""
    c = draft.choices
    roles = [d.role for d in draft.registers.dims if not d.hidden]
    role, change = c.among(*roles), c.among(1, -1, 2)
    operands = [draft.registers, draft.memory] if c.chance(70) else [c.among(draft.registers, draft.memory)]
    for operand in operands:
        for dim in operand.dims:
            if (
                dim.role == role
                and isinstance(dim.size, int)
                and len(dim.factors) == 1
                and dim.extent + change > 0
            ):
                per = operand.view_bits or operand.bits
                change_in_tensor = change * per // operand.bits if dim is operand.dims[-1] else change
                dim.extent += change
                dim.size = max(1, dim.size + change_in_tensor)
                dim.factors = [replace(dim.factors[0], extent=dim.size)]


def width(draft: CallDraft) -> None:
    """Elements of another width."""
    c = draft.choices
    operand = c.among(draft.registers, draft.memory)
    operand.bits = c.among(16, 32, 64, 8)
    operand.view_bits = None if c.chance(70) else draft.bits


def space(draft: CallDraft) -> None:
    """Another state space."""
    c = draft.choices
    if c.chance(30):
        draft.registers.space = c.among("shared", "local")
    else:
        draft.memory.space = c.among("shared", "global", "local", "registers")


def _replica(draft: CallDraft) -> None:
    c = draft.choices
    operand: OperandDraft = c.among(draft.registers, draft.memory)
    axis = "m" if operand is draft.memory else c.among("m", "laneid", "warpid")
    operand.replicas.append(Factor(c.among(2, 1, 4), c.among(64, 1, 16, 0), axis))


def _order(draft: CallDraft) -> None:
    """Two dimensions of a view change places."""
    operand = draft.choices.among(draft.memory, draft.registers)
    dims = operand.dims
    if len(dims) > 1:
        one = draft.choices.below(len(dims) - 1)
        dims[one], dims[one + 1] = dims[one + 1], dims[one]


def _shared_place(draft: CallDraft) -> None:
    """A dimension along which memory stands still."""
    dim = draft.choices.among(*draft.memory.dims)
    if dim.factors:
        _restride(dim, 0, 0)


def _colliding(draft: CallDraft) -> None:
    """A dimension whose stride is another's."""
    c = draft.choices
    operand = draft.memory if c.chance(50) else draft.registers
    stored = [d for d in operand.dims if d.factors and d.on_storage]
    if len(stored) > 1:
        _restride(c.among(*stored), 0, c.among(*stored).factors[0].stride)


def _scope(draft: CallDraft) -> None:
    """The launch stays, the group is read at another scope."""
    draft.scope = draft.choices.among("warp", "cta", "warpgroup")


CHANGES: tuple[Callable[[CallDraft], None], ...] = (
    _alignment, _word_stride, _memory_stride, _memory_offset, _start, _longer, _swizzle, _backing, _register_stride,
    halved, _owner, _owner, _guard, _no_guard, _block, _extent, width, space, _replica, _order, _shared_place,
    _colliding, _scope,
)  # fmt: skip

OF_REGISTERS = (_register_stride, halved, _owner, _replica)
"""Those that only registers, or axes of threads, make sense of."""

OF_LAYOUT = (
    _memory_stride, _memory_offset, _start, _longer, _swizzle, _backing, torn, halved, _replica, _order, _shared_place,
    _colliding,
)  # fmt: skip
"""Those that change a tensor or the view of it, and nothing else of a call."""
