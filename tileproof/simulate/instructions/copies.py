"""Asynchronous copies from global to shared memory (ISA 9.7.9.25.3.1 to .4)."""

from __future__ import annotations

import numpy as np

from tileproof.simulate.copies import Pending
from tileproof.simulate.issue import Issue
from tileproof.simulate.operands import Negated, Operand, Register, spell
from tileproof.simulate.registry import Decoder, Execute, instruction
from tileproof.simulate.scalars import B64, PRED, U32, Array
from tileproof.simulate.syntax import Integer

OLDEST = 80
"""cp.async needs sm_80."""


@instruction("cp.async")
def cp_async(code: Decoder) -> Execute:
    """`[dst], [src], cp-size{, src-size | ignore-src}{, cache-policy}`; zeros stand for what is not read."""
    demand_target(code)
    operator = code.need("ca", "cg")
    space = code.need("shared", "shared::cta")
    code.need("global")
    has_policy = code.flag("L2::cache_hint")
    for word in ("L2::64B", "L2::128B", "L2::256B"):
        code.flag(word)  # how much to fetch into the cache changes timing only
    code.finish(operands=(4, 5) if has_policy else (3, 4))
    for place in (0, 1):
        code.need_address(place)
    size = _constant(code, 2)
    legal = (16,) if operator == "cg" else (4, 8, 16)
    if size not in legal:
        code.fail(f"{code.opcode} copies {' or '.join(map(str, legal))} bytes, not {spell(code.operands[2])}")
    rest = list(code.operands[3:])
    policy = rest.pop() if has_policy else None
    part = rest[0] if rest else None
    if isinstance(part, Integer) and not 0 <= part.value <= size:
        code.fail(f"{code.opcode}: src-size {part.value} is more than the {size} bytes of the copy")

    def execute(issue: Issue) -> None:
        if policy is not None:
            issue.read(policy, B64)
        octets = _octets(issue, part, size)
        sources = issue.addresses(1, "global")
        issue.machine.memory.spaces["global"].check_alignment(sources, size)
        destinations = issue.addresses(0, space)
        Pending.of(issue).start(issue, space, destinations, sources, octets, size)

    return execute


def _octets(issue: Issue, part: Operand | None, size: int) -> Array:
    """How many bytes of its source each thread reads."""
    if part is None:
        return np.full(issue.slots.size, size, np.int64)
    if isinstance(part, Negated) or (isinstance(part, Register) and part.type == PRED):
        return np.where(issue.read(part, PRED), 0, size)
    octets = issue.read(part, U32).astype(np.int64)
    wrong = octets > size
    if wrong.any():
        position = int(wrong.argmax())
        issue.fail(
            f"src-size is {octets[position]}, which is undefined: it is more than the {size} bytes of the copy",
            position,
        )
    return octets


def _constant(code: Decoder, place: int) -> int:
    operand = code.operands[place]
    if not isinstance(operand, Integer):
        code.fail(f"{code.opcode}: operand {spell(operand)} must be a constant")
    return operand.value


def demand_target(code: Decoder) -> None:
    """Refuses targets that lack the instruction."""
    if code.compute_capability < OLDEST:
        code.fail(f"{code.opcode} needs sm_{OLDEST} or later, and the target is {code.target}")


@instruction("cp.async.commit_group")
def commit_group(code: Decoder) -> Execute:
    """Makes a group, maybe an empty one, of what the thread has not committed yet."""
    demand_target(code)
    code.finish(operands=0)
    return lambda issue: Pending.of(issue).commit(issue.slots)


@instruction("cp.async.wait_group")
def wait_group(code: Decoder) -> Execute:
    """Waits until at most N of the thread's latest groups are pending."""
    demand_target(code)
    code.finish(operands=1)
    newest = _constant(code, 0)
    if newest < 0:
        code.fail(f"{code.opcode}: a thread cannot leave {newest} groups pending")
    return lambda issue: Pending.of(issue).wait(issue, newest)


@instruction("cp.async.wait_all")
def wait_all(code: Decoder) -> Execute:
    """The same as a commit and a wait for every group."""
    demand_target(code)
    code.finish(operands=0)

    def execute(issue: Issue) -> None:
        pending = Pending.of(issue)
        pending.commit(issue.slots)
        pending.wait(issue)

    return execute
