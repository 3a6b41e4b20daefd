"""Branches, ends, and instructions that change nothing a program can see (ISA 9.7.12, 9.7.19, 9.7.13.13)."""

from __future__ import annotations

from tileproof.simulate.issue import Issue
from tileproof.simulate.operands import Target
from tileproof.simulate.registry import Decoder, Execute, instruction, no_effect
from tileproof.simulate.scalars import U32


@instruction("bra")
def bra(code: Decoder) -> Execute:
    """Jumps to a label; `.uni` promises that a warp does not part here."""
    code.flag("uni")
    code.finish(operands=1)
    target = code.operands[0]
    if not isinstance(target, Target):
        code.fail(f"{code.opcode} needs a label")
    return lambda issue: issue.machine.jump(issue.slots, target.index)


@instruction("exit", "ret")
def leave(code: Decoder) -> Execute:
    """In a kernel both end the thread."""
    code.flag("uni")
    code.finish(operands=0)
    return lambda issue: issue.machine.exit(issue.slots)


@instruction("trap")
def trap(code: Decoder) -> Execute:
    """Reaching a trap ends the simulation."""
    code.finish(operands=0)

    def execute(issue: Issue) -> None:
        issue.fail("the kernel trapped")

    return execute


@instruction("nanosleep")
def nanosleep(code: Decoder) -> Execute:
    """Time does not pass in the simulator."""
    code.scalar(U32)
    code.finish(operands=1)
    return no_effect


@instruction("griddepcontrol")
def griddepcontrol(code: Decoder) -> Execute:
    """Grids run one after another, so nothing has to be waited for."""
    code.need("launch_dependents", "wait")
    code.finish(operands=0)
    return no_effect


@instruction("setmaxnreg")
def setmaxnreg(code: Decoder) -> Execute:
    """How many registers a warp may use does not matter here."""
    code.need("inc", "dec")
    code.ignore(("sync", "aligned"))
    code.scalar(U32)
    code.finish(operands=1)
    return no_effect
