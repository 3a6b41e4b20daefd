"""``cp.async``: a chunk of 4, 8 or 16 bytes from global to shared memory, which arrives some time later.

Both operands are ``(*group, *repeat, element)`` in elements of one width, as many as ``chunk_bytes`` holds. A
chunk is contiguous and starts at a multiple of its size on both sides. ``src_size`` says how many of its
bytes are read, ``ignore_src`` that none is; the rest of the destination becomes zero. So a source has to be in
bounds only where bytes of it are read; it is aligned in any case. Commit and wait belong to the caller.

Sources: PTX ISA 9.7.9.25.3 (cp.async), 6.4.1 (alignment); contract reference, "Asynchronous copy".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tileproof.contracts.call import COMMON, Call, Operand, UnfitError, parameter
from tileproof.contracts.demands import (
    converged,
    in_bounds,
    in_storage,
    no_overflow,
    no_stale_replica,
    no_write_conflict,
)
from tileproof.contracts.families import contract
from tileproof.contracts.grammar import Form
from tileproof.contracts.issue import Constant, IssueOperand, Memory, Predicate, Scalar
from tileproof.contracts.obligation import Obligation, aligned, consecutive, structural, within
from tileproof.errors import CallError
from tileproof.layouts.bounds import bounds
from tileproof.layouts.dtypes import dtype_bits
from tileproof.layouts.index import Index, Relation, as_index, as_relation, conjunction, const, negate
from tileproof.layouts.symbols import symbol
from tileproof.layouts.tensor import tensor
from tileproof.layouts.traverse import substitute
from tileproof.layouts.view import ViewOperations

COPY = "PTX ISA 9.7.9.25.3"
ALIGNMENT = "PTX ISA 6.4.1, 9.7.9.25.3"
REFERENCE = "contract reference, 'Asynchronous copy'"

SIDES = ("destination", "source")
SPACES = ("shared", "global")


def sample(form: Form) -> tuple[ViewOperations, ...]:
    """Two repeats of one 16-byte chunk, compact on both sides."""
    del form
    return tensor("SM", (2, 4), "uint32", "shared", align=16), tensor("A", (2, 4), "uint32", align=16)


def issue(call: Call) -> tuple[IssueOperand, ...]:
    """Both addresses, the size, how much of the source is read, the policy."""
    chunk = _chunk_bytes(call)
    destination, source = _operands(call, chunk)
    size, ignore = call.parameters.get("src_size"), call.parameters.get("ignore_src")
    operands: list[IssueOperand] = [
        Memory(destination.view, destination.address((const(0),))),
        Memory(source.view, source.address((const(0),))),
        Constant(chunk, "u32"),
        None if size is None else _number(as_index(size), chunk),
        None if ignore is None else Predicate(as_relation(ignore)),
    ]
    policy = call.parameters.get("cache_policy")
    return tuple(operands) if policy is None else (*operands, Scalar(as_index(policy), 64))


def _number(value: Index, chunk: int) -> Constant | Scalar:
    """A copy that no thread executes may say any size; the assembler takes constants from 0 to ``chunk`` only."""
    given = value.value
    return Constant(given, "u32") if given is not None and 0 <= given <= chunk else Scalar(value, 32)


@contract(
    "cp.async",
    sample=sample,
    issue=issue,
    sample_parameters={"chunk_bytes": 16, "src_size": symbol("src_size", 0, 16)},
    parameters={
        "chunk_bytes": "how many bytes one instruction copies: 4, 8 or 16, with .cg always 16; required",
        "src_size": "how many bytes of the source are read; zeros stand for the rest. Not with ignore_src",
        "ignore_src": "a relation, or True; where it holds nothing is read and the chunk becomes zero",
        "pred": "a relation, or True; where it does not hold the copy is not executed and writes no zeros",
        "cache_policy": "the 64-bit policy operand of .L2::cache_hint: the symbol that holds it",
    },
)
def copy(call: Call) -> Iterator[Obligation]:
    """What ``cp.async`` demands."""
    chunk = _chunk_bytes(call)
    _check_parameters(call)
    destination, source = _operands(call, chunk)
    (element,) = call.atom(element=chunk * 8 // destination.view.bits)
    width = destination.view.bits // 8
    first = (const(0),)

    yield _legal_size(call, chunk)
    yield from converged(call)
    for side, operand in zip(SIDES, (destination, source), strict=True):
        yield aligned(
            f"{call.family}.{side}-aligned", operand.address(first), chunk,
            f"the {side} of a chunk starts at a multiple of the chunk's size", ALIGNMENT,
        )  # fmt: skip
        if chunk > width:
            yield consecutive(
                f"{call.family}.{side}-contiguous", operand.address((element,)), element.args[0], width,
                f"the elements of a chunk follow each other in the {side}", REFERENCE,
            )  # fmt: skip
        yield from no_overflow(call, operand, first)
    yield from in_bounds(call, destination)
    yield from in_storage(call, destination, first, chunk)
    yield from _read_inside(call, source, element, width, chunk)
    yield from no_write_conflict(call, destination, (element,), COPY)
    yield from no_stale_replica(call, destination, REFERENCE)


def _chunk_bytes(call: Call) -> int:
    """Raises :class:`CallError` without a number, :class:`UnfitError` for one that the opcode does not take."""
    chunk = call.parameters.get("chunk_bytes")
    if chunk is None or isinstance(chunk, bool) or not isinstance(chunk, int):
        raise CallError(
            f"{call.form.spelling} needs chunk_bytes=, the bytes that one instruction copies; got {chunk!r}"
        )
    demand = _legal_size(call, chunk)
    if demand.claim.value is False:
        raise UnfitError(demand)
    return chunk


def _legal_size(call: Call, chunk: int) -> Obligation:
    (legal,) = (operand.constants for operand in call.form.operands if operand.name == "cp-size")
    return structural(
        f"{call.family}.chunk-bytes", chunk in legal, " or ".join(map(str, legal)) + " bytes", f"{chunk} bytes",
        "one instruction copies 4, 8 or 16 bytes, with .cg always 16", COPY,
    )  # fmt: skip


def _operands(call: Call, chunk: int) -> tuple[Operand, Operand]:
    bits = call.operands[0].bits
    if bits % 8 or chunk * 8 % bits:
        view = call.operands[0]
        raise UnfitError(
            structural(
                f"{call.family}.width", False, f"elements of whole bytes, some of which make {chunk} bytes",
                f"operand 0 ({view.name}, destination): {view.dtype}, {bits} bits",
                "a chunk is a number of whole elements; use view(dtype) to read the bits as another type", COMMON,
            )
        )  # fmt: skip
    suffix = (chunk * 8 // bits,)
    return (
        call.operand(0, SIDES[0], SPACES[:1], suffix, bits),
        call.operand(1, SIDES[1], SPACES[1:], suffix, bits),
    )


def _check_parameters(call: Call) -> None:
    size, ignore = call.parameters.get("src_size"), call.parameters.get("ignore_src")
    if size is not None and ignore is not None:
        raise CallError(
            f"{call.form.spelling}: src_size and ignore_src exclude each other; one operand stands for both"
        )
    if isinstance(size, bool):
        raise CallError(f"{call.form.spelling}: src_size is a number of bytes, got {size!r}")
    for relation in (ignore, call.parameters.get("pred")):
        if relation is not None:
            as_relation(relation)
    hinted = call.form.get("cache_hint") is not None
    policy = parameter(call, "cache_policy", hinted, "the opcode has no .L2::cache_hint")
    if policy is not None:
        as_index(policy)
    if hinted and policy is None:
        raise CallError(
            f"{call.form.spelling}: .L2::cache_hint needs cache_policy=, the 64-bit policy operand"
        )


def _read_inside(call: Call, source: Operand, element: Index, width: int, chunk: int) -> Iterator[Obligation]:
    """What is read of the source lies in its tensor and its storage."""
    given, ignore = call.parameters.get("src_size"), call.parameters.get("ignore_src")
    if given is None and ignore is None:
        yield from in_bounds(call, source)
        yield from in_storage(call, source, (const(0),), chunk)
        return
    size: Index = const(chunk) if given is None else call.here(as_index(given))
    is_read: Relation = negate(call.here(as_relation(False if ignore is None else ignore)))
    if given is not None:
        yield Obligation(
            f"{call.family}.src-size", "no more bytes are read than the chunk has", COPY,
            conjunction((size >= 0, size <= chunk)),
            needed=(f"from 0 to {chunk} bytes", ()), found=("src_size {}", (size,)),
        )  # fmt: skip
    if not _in_own_elements(source):
        # Which elements of the tensor a wider element is made of is not told by its coordinates.
        yield from in_bounds(call, source)
    else:
        own = dict(zip(source.view.variables, (*call.group, *call.repeat, element), strict=True))
        for d, coordinate in enumerate(source.view.coordinates):
            at = call.here(substitute(coordinate, own))
            inside = within(
                f"{call.family}.in-bounds", at, at + 1, call.here(source.view.tensor.shape[d]),
                f"{source.view.name}, dimension {d}: elements", "a region lies inside its tensor's shape", COMMON,
                source.address((element,)),
            )  # fmt: skip
            yield replace(inside, given=conjunction((is_read, element * width < size)))
    for inside in in_storage(call, source, (const(0),), size):
        yield replace(inside, given=conjunction((is_read, size > 0)))


def _in_own_elements(source: Operand) -> bool:
    """Whether each element of the view is one of the tensor's, or a part of one."""
    view = source.view
    most = bounds(view.sub_bits)[1]
    return most is not None and most + view.bits <= dtype_bits(view.tensor.dtype)
