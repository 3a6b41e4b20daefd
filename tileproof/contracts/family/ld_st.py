"""``ld`` and ``st``: a scalar or a vector of up to 32 bytes between memory and registers of the executing
thread.

Both operands are ``(*group, *repeat, word)`` with as many words as the opcode's vector has, each as wide as
the opcode's type. The words of one access are contiguous in memory and start at a multiple of the whole
access; their registers may stand anywhere, as long as no two words are loaded into one. Bits are copied,
never converted.

Sources: PTX ISA 9.7.9.8 (ld), 9.7.9.11 (st), 6.4.1 (alignment of vectors); contract reference, "128-bit
global load" and "Memory and register instructions".
"""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.contracts.call import Call, parameter
from tileproof.contracts.demands import (
    converged,
    distinct_registers,
    in_bounds,
    in_storage,
    no_overflow,
    no_stale_replica,
    no_write_conflict,
    owned,
    whole_registers,
)
from tileproof.contracts.families import UnsupportedError, contract
from tileproof.contracts.grammar import Form
from tileproof.contracts.issue import IssueOperand, Memory, Registers, Scalar
from tileproof.contracts.obligation import Obligation, aligned, consecutive
from tileproof.errors import CallError
from tileproof.layouts.index import as_index, as_relation, const
from tileproof.layouts.tensor import Tensor, tensor
from tileproof.layouts.view import ViewOperations

ALIGNMENT = "PTX ISA 6.4.1, 9.7.9.8"
REFERENCE = "contract reference, '128-bit global load'"

SPACES = {
    "global": ("global",),
    "shared": ("shared",),
    "shared::cta": ("shared",),
    "shared::cluster": (
        "shared",
    ),  # a CTA's own shared addresses are shared::cluster addresses (PTX ISA 5.1.7)
    "local": ("local",),
    "const": ("const",),
    "param": ("param",),
    "param::entry": ("param",),
}


def sample(form: Form) -> tuple[ViewOperations, ...]:
    """Two repeats of one access, compact on both sides."""
    vector, bits = form.quantity("vector"), form.quantity("element_bits")
    (space, *_) = SPACES.get(form.get("space") or "", ("global",))
    registers: Tensor = tensor("R", (2, vector), f"b{bits}", "registers")
    memory: Tensor = tensor("A", (2, vector), f"b{bits}", space, align=max(32, bits // 8))  # type: ignore[arg-type]
    return (registers, memory) if form.mnemonic == "ld" else (memory, registers)


def issue(call: Call) -> tuple[IssueOperand, ...]:
    """A vector of registers and the address of its first word."""
    vector, bits, load = (
        call.form.quantity("vector"),
        call.form.quantity("element_bits"),
        call.form.mnemonic == "ld",
    )
    registers = call.operand(0 if load else 1, "registers", ("registers",), (vector,), bits)
    memory = call.operand(1 if load else 0, "memory", SPACES[call.form.get("space") or ""], (vector,), bits)
    group = Registers(registers.view, tuple(registers.place((const(w),)).byte_offset for w in range(vector)))
    access = Memory(memory.view, memory.address((const(0),)))
    operands: tuple[IssueOperand, ...] = (group, access) if load else (access, group)
    policy = call.parameters.get("cache_policy")
    return operands if policy is None else (*operands, Scalar(policy, 64))


@contract(
    "ld",
    "st",
    sample=sample,
    issue=issue,
    parameters={
        "pred": "a relation, or True; where it does not hold the access is not executed",
        "preserve_dst": "with pred: a load that is not executed leaves its destination as it was",
        "cache_policy": "the 64-bit policy operand of .L2::cache_hint: the symbol that holds it",
    },
)
def memory(call: Call) -> Iterator[Obligation]:
    """What ``ld`` and ``st`` demand."""
    form, load = call.form, call.form.mnemonic == "ld"
    family = form.mnemonic
    spaces = SPACES.get(form.get("space") or "")
    if spaces is None:
        raise UnsupportedError(
            f"{form.spelling} uses generic addresses; write the state space of the operand, for example {family}.global"
        )
    vector, bits = form.quantity("vector"), form.quantity("element_bits")
    _check_parameters(call, load)

    registers = call.operand(0 if load else 1, "registers", ("registers",), (vector,), bits)
    memory = call.operand(1 if load else 0, "memory", spaces, (vector,), bits)
    (word,) = call.atom(word=vector)
    start = memory.address((const(0),))

    yield from converged(call)
    yield from owned(
        call,
        registers,
        (word,),
        call.thread.lane,
        "a group coordinate's registers belong to its thread",
        REFERENCE,
    )
    yield aligned(
        f"{family}.aligned",
        start,
        vector * bits // 8,
        "an access starts at a multiple of its whole size",
        ALIGNMENT,
    )
    if vector > 1:
        yield consecutive(
            f"{family}.contiguous", memory.address((word,)), word.args[0], bits // 8,
            "the words of a vector follow each other in memory", ALIGNMENT,
        )  # fmt: skip
    yield from whole_registers(call, registers, (word,), REFERENCE)
    for operand in (memory, registers):
        yield from in_bounds(call, operand)
    yield from in_storage(call, memory, (const(0),), vector * bits // 8)
    yield from in_storage(call, registers, (word,), bits // 8)
    yield from no_overflow(call, memory, (const(0),))
    if load:
        yield from distinct_registers(
            call, registers, (word,), (word,), "loaded words land in distinct registers", REFERENCE
        )
        yield from no_stale_replica(call, registers, REFERENCE)
    else:
        yield from no_write_conflict(call, memory, (word,), REFERENCE)
        yield from no_stale_replica(call, memory, REFERENCE)


def _check_parameters(call: Call, load: bool) -> None:
    pred = parameter(call, "pred", True, "")
    if pred is not None:
        as_relation(pred)
    preserve = parameter(call, "preserve_dst", load, "a store has no destination registers")
    if preserve not in (None, True, False):
        raise CallError(f"{call.form.spelling}: preserve_dst is True or False, got {preserve!r}")
    if preserve and pred is None:
        raise CallError(
            f"{call.form.spelling}: preserve_dst needs pred; an access that is always executed keeps nothing"
        )
    hinted = call.form.get("cache_hint") is not None
    policy = parameter(call, "cache_policy", hinted, "the opcode has no .L2::cache_hint")
    if policy is not None:
        as_index(policy)
    if hinted and policy is None:
        raise CallError(
            f"{call.form.spelling}: .L2::cache_hint needs cache_policy=, the 64-bit policy operand"
        )
