"""Instructions on registers: arithmetic, functions, ``cvt`` and ``mov``.

Every operand is ``(*group, *repeat, n)``, all in registers of the executing thread; ``n`` is how many
registers one instruction takes there: 1, but for the parts that ``mov`` packs or unpacks and the four values of
a ``cvt`` with ``.rs``. An element is as wide as the type, so a packed pair is one element of 32 or 64 bits.
What is read may also be one scalar for all repeats.

An instruction reads before it writes, so a destination may be its own source. That a *later* repeat reads
what an earlier one has overwritten is a hazard.

Sources: PTX ISA 9.7.1, 9.7.3 to 9.7.5, 9.7.9.3, 9.7.9.4, 9.7.9.21; contract reference, "Memory and register
instructions".
"""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.contracts.call import Call, Operand, parameter
from tileproof.contracts.demands import (
    converged,
    distinct_registers,
    in_bounds,
    in_storage,
    no_stale_replica,
    owned,
    whole_registers,
)
from tileproof.contracts.families import UnsupportedError, contract
from tileproof.contracts.grammar import Form
from tileproof.contracts.issue import IssueOperand, Registers
from tileproof.contracts.obligation import Obligation, different, structural, twin
from tileproof.contracts.scalar_operands import fits_its_type, issued, operand_types
from tileproof.errors import CallError
from tileproof.layouts.index import Index, as_relation, conjunction, const, less, negate
from tileproof.layouts.tensor import Storage, tensor
from tileproof.layouts.traverse import substitute
from tileproof.layouts.view import ViewOperations

REFERENCE = "contract reference, 'Memory and register instructions'"

MNEMONICS = (
    "mov", "cvt", "add", "sub", "mul", "fma", "div", "min", "max", "abs", "neg", "sqrt", "rcp", "rsqrt", "ex2", "lg2",
    "tanh",
)  # fmt: skip


def sample(form: Form) -> tuple[ViewOperations, ...]:
    """Two repeats, each operand in registers of its own."""
    return tuple(
        tensor(operand.name.upper(), (2, operand.registers), f"b{max(8, operand.bits)}", "registers")
        for operand in form.operands
    )


def issue(call: Call) -> tuple[IssueOperand, ...]:
    """The registers of each operand, or its scalar."""
    tensors = _tensors(call)
    # Other conversions of bytes also take wider registers (PTX ISA 9.4.1; ptxas 13.5).
    exact = call.form.mnemonic == "mov" or "e2m1x2" in (call.form.get("to"), call.form.get("from"))
    found: list[IssueOperand] = []
    for position, type_ in enumerate(operand_types(call.form)):
        if position in call.scalars:
            found.append(issued(call, position, type_))
            continue
        operand, count = tensors[position], call.form.operands[position].registers
        offsets = tuple(operand.place((const(n),)).byte_offset for n in range(count))
        found.append(Registers(operand.view, offsets, exact))
    return tuple(found)


def _tensors(call: Call) -> dict[int, Operand]:
    return {
        position: call.operand(position, syntax.name, ("registers",), (syntax.registers,), syntax.bits)
        for position, syntax in enumerate(call.form.operands)
        if position not in call.scalars
    }


@contract(
    *MNEMONICS,
    sample=sample,
    issue=issue,
    operands=None,
    parameters={
        "pred": "a relation, or True; where it does not hold the instruction is not executed",
        "preserve_dst": "with pred: the destination keeps its value where the instruction is not executed",
    },
)
def registers(call: Call) -> Iterator[Obligation]:
    """What an instruction on registers demands."""
    form = call.form
    if form.get("type") == "pred":
        raise UnsupportedError(f"{form.spelling}: predicates are no elements of a tensor")
    _check_parameters(call)
    types = operand_types(form)
    for position in call.scalars:
        issued(call, position, types[position])
    tensors = _tensors(call)
    atoms: dict[int, Index] = {}
    for position in tensors:
        name, count = form.operands[position].name, form.operands[position].registers
        (atoms[position],) = call.atom(**{name: count})

    yield from converged(call)
    for position, operand in tensors.items():
        yield from owned(
            call, operand, (atoms[position],), call.thread.lane,
            "a group coordinate's registers belong to its thread", REFERENCE,
        )  # fmt: skip
    yield from _one_width(call, tensors)
    for position, operand in tensors.items():
        yield from whole_registers(call, operand, (atoms[position],), REFERENCE)
        yield from in_bounds(call, operand)
        yield from in_storage(call, operand, (atoms[position],), operand.view.bits // 8)
    for position in call.scalars:
        yield from fits_its_type(call, position, types[position])
    (target, *_), atom = tensors.values(), (atoms[0],)
    yield from distinct_registers(
        call, target, atom, atom, "results land in distinct registers, over all repeats", REFERENCE
    )
    for position, operand in tensors.items():
        if position and operand.view.tensor.storage is target.view.tensor.storage:
            yield from _not_overwritten(call, target, atoms[0], operand, atoms[position])
    yield from no_stale_replica(call, target, REFERENCE)


def _one_width(call: Call, tensors: dict[int, Operand]) -> Iterator[Obligation]:
    """A register is read and written as a whole, so all operands in it are as wide as it is."""
    first: dict[Storage, Operand] = {}
    for operand in tensors.values():
        known = first.setdefault(operand.view.tensor.storage, operand)
        if known.view.bits != operand.view.bits:
            yield structural(
                f"{call.family}.whole-register",
                False,
                f"elements of {known.view.bits} bits as {known.view.name} has",
                f"{operand.view.name} has elements of {operand.view.bits} bits in the same registers",
                "registers of one storage are read and written in one width",
                REFERENCE,
            )


def _not_overwritten(
    call: Call, target: Operand, d: Index, source: Operand, s: Index
) -> Iterator[Obligation]:
    """Hazard: a repeat writes a register that a later repeat reads, at other coordinates."""
    repeats = [v.args[0] for v in call.repeat if v.op == "leaf" and v.args[0].lo != v.args[0].hi]
    if not repeats:
        return
    written = target.address((d,))
    read = substitute(source.address((s,)).offset, twin(repeats))
    apart = negate(
        conjunction(
            (
                less(written.offset, read + source.view.bits // 8),
                less(read, written.offset + target.view.bits // 8),
            )
        )
    )
    yield Obligation(
        f"{call.family}.overwritten",
        "no repeat writes a register that a later repeat reads",
        REFERENCE,
        apart,
        different(repeats),
        needed=("two different registers", ()),
        found=(
            f"{target.view.name} written at register offset {{}} bytes, {source.view.name} read later at {{}}",
            (written.offset, read),
        ),
        address=written,
        hazard=True,
    )


def _check_parameters(call: Call) -> None:
    pred = parameter(call, "pred", True, "")
    if pred is not None:
        as_relation(pred)
    preserve = call.parameters.get("preserve_dst")
    if preserve not in (None, True, False):
        raise CallError(f"{call.form.spelling}: preserve_dst is True or False, got {preserve!r}")
    if preserve and pred is None:
        raise CallError(
            f"{call.form.spelling}: preserve_dst needs pred; an instruction that is always executed keeps nothing"
        )
