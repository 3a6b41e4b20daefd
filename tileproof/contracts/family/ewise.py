"""``ewise``: a typed scalar function of registers, at each register coordinate of the executing thread.

The atom is one scalar element, so every tensor operand is ``(*group, *repeat)``; its element type is exactly the
parameter's. Scalar inputs broadcast; a tensor broadcasts only by strides of zero that its author wrote. Coordinates
are computed one after another in row-major order: all inputs of one are read before its result is written, so a
destination may be an input's own registers, but no register that a later coordinate reads.

Sources: contract reference, "Scalar compositions"; what the function's operations mean is in
``tileproof/scalars/operations.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tileproof.contracts.architectures import Targets
from tileproof.contracts.call import Call, Operand, UnfitError
from tileproof.contracts.demands import (
    converged,
    distinct_registers,
    in_bounds,
    in_storage,
    no_stale_replica,
    owned,
    whole_registers,
)
from tileproof.contracts.families import contract
from tileproof.contracts.grammar import Form
from tileproof.contracts.grammar import Operand as Syntax
from tileproof.contracts.issue import IssueOperand, Registers
from tileproof.contracts.obligation import Obligation, different, structural, twin
from tileproof.contracts.syntax import Since
from tileproof.errors import LayoutError
from tileproof.layouts.index import disjunction
from tileproof.layouts.tensor import tensor
from tileproof.layouts.traverse import substitute
from tileproof.layouts.view import ViewOperations
from tileproof.scalars.expression import Scalar, instruction_of, variable
from tileproof.scalars.function import LambdaExpr, Parameter
from tileproof.scalars.operations import Instruction

MNEMONIC = "ewise"
REFERENCE = "contract reference, 'Scalar compositions'"


@dataclass(frozen=True, slots=True)
class EwiseForm(Form):
    """A scalar function in the place of an opcode. ``scalars`` are the positions of its scalar inputs."""

    function: LambdaExpr = field(repr=False)
    scalars: tuple[int, ...]

    @property
    def tensors(self) -> tuple[Parameter, ...]:
        """The parameters whose inputs are tensors, in order."""
        return tuple(p for n, p in enumerate(self.function.parameters) if n not in self.scalars)

    def __reduce__(self) -> tuple[Callable[..., EwiseForm], Any]:
        return ewise_form, (self.function, self.scalars)


def ewise_form(function: LambdaExpr, scalars: tuple[int, ...] = ()) -> EwiseForm:
    """The form of a function whose inputs at these positions are scalars: it needs all that its operations do."""
    used = {i.opcode: i for node in function.nodes if isinstance(i := instruction_of(node), Instruction)}
    tensors = [p for n, p in enumerate(function.parameters) if n not in scalars]
    result = variable("result", function.result).type
    return EwiseForm(
        f"{MNEMONIC} {function.name}",
        0,
        MNEMONIC,
        {},
        {},
        (
            Syntax("destination", "registers", "written", 1, result.bits, False),
            *(Syntax(p.name, "registers", "read", 1, p.type.bits, False) for p in tensors),
        ),
        max((i.version for i in used.values()), default=(1, 0)),
        "9.7",
        tuple(Since({}, i.version, Targets(minimum=i.target), i.opcode) for i in used.values()),
        function,
        scalars,
    )


def scalar_input(position: int) -> str:
    """Under which name a call's parameters have the scalar input at a position."""
    return f"input {position}"


def sample(form: Form) -> tuple[ViewOperations, ...]:
    """Two coordinates in each register tensor, in place where an input has the type of the result."""
    known = _ewise(form)
    destination = tensor("R", (2,), known.function.result, "registers")
    inputs: list[ViewOperations] = [tensor(p.name, (2,), p.dtype, "registers") for p in known.tensors]
    if known.tensors and known.tensors[0].dtype == known.function.result:
        inputs[0] = destination
    return (destination, *inputs)


def sample_form() -> EwiseForm:
    """A function for the catalogue: a sum of two registers."""
    a, b = Parameter("A", "float32"), Parameter("B", "float32")
    body = variable("A", "float32") + variable("B", "float32")
    return ewise_form(LambdaExpr("sum", (a, b), "float32", body))


def _ewise(form: Form) -> EwiseForm:
    if not isinstance(form, EwiseForm):
        raise TypeError(f"{form.spelling} is no scalar function")
    return form


def _operands(call: Call) -> tuple[Operand, ...]:
    """The destination and the tensor inputs. Raises :class:`UnfitError` for one of another type or shape."""
    form = _ewise(call.form)
    types = [form.function.result, *(p.dtype for p in form.tensors)]
    roles = ["destination", *(f"parameter {p.name}" for p in form.tensors)]
    first = call.operands[0]
    for position, (view, dtype, role) in enumerate(zip(call.operands, types, roles, strict=True)):
        where = f"operand {position} ({view.name}, {role})"
        if view.dtype != dtype:
            raise UnfitError(
                structural(
                    f"{call.family}.dtype", False,
                    f"{dtype}, as {form.function.signature} has", f"{where}: {view.dtype}",
                    "an operand has exactly the type of its parameter", REFERENCE,
                )
            )  # fmt: skip
        if position and not _same_shape(first, view):
            raise UnfitError(
                structural(
                    f"{call.family}.shape", False,
                    f"shape {first.shape}, as {first.name} has", f"{where}: shape {view.shape}",
                    "tensor operands have one shape; a broadcast is an explicit view with strides of zero", REFERENCE,
                )
            )  # fmt: skip
    return tuple(
        call.operand(n, role, ("registers",), (), view.bits)
        for n, (role, view) in enumerate(zip(roles, call.operands, strict=True))
    )


def _same_shape(one: Any, other: Any) -> bool:
    try:
        return bool(one.extents == other.extents)
    except LayoutError:
        return True  # which the shape demand of every family tells


def issue(call: Call) -> tuple[IssueOperand, ...]:
    """One register of each tensor operand."""
    return tuple(Registers(o.view, (o.place(()).byte_offset,)) for o in _operands(call))


@contract(MNEMONIC, sample=sample, issue=issue)
def ewise(call: Call) -> Iterator[Obligation]:
    """What a scalar function demands of its operands."""
    destination, *inputs = _operands(call)
    yield from converged(call)
    for operand in (destination, *inputs):
        yield from owned(
            call,
            operand,
            (),
            call.thread.lane,
            "a group coordinate's registers belong to its thread",
            REFERENCE,
        )
        yield from whole_registers(call, operand, (), REFERENCE)
        yield from in_bounds(call, operand)
        yield from in_storage(call, operand, (), operand.view.bits // 8)
    yield from distinct_registers(call, destination, (), (), "results land in distinct registers", REFERENCE)
    yield from no_stale_replica(call, destination, REFERENCE)
    for operand in inputs:
        if operand.view.tensor.storage is destination.view.tensor.storage:
            yield _read_before_written(call, destination, operand)


def _read_before_written(call: Call, destination: Operand, operand: Operand) -> Obligation:
    """Hazard: a result is written over an input of a coordinate that comes later."""
    repeats = [leaf for leaf in (v.args[0] for v in call.repeat) if leaf.lo != leaf.hi]
    later = twin(repeats)
    written, nbytes = destination.address(()), destination.view.bits // 8
    read, width = substitute(operand.address(()).offset, later), operand.view.bits // 8
    apart = disjunction((written.offset + nbytes <= read, read + width <= written.offset))
    places = ", ".join("{}" for _ in repeats)
    return Obligation(
        f"{call.family}.alias",
        "no result is written over an input that a later coordinate reads",
        REFERENCE,
        apart,
        different(repeats),
        needed=("a register that no later coordinate reads", ()),
        found=(
            f"register offset {{}} of {written.name} bytes, which {operand.view.name} reads at repeat ({places})",
            (written.offset, *later.values()),
        ),
        address=written,
        hazard=True,
    )


def scalar_inputs(call: Call) -> dict[str, Scalar]:
    """The scalar inputs of a call by the name of their parameter."""
    form = _ewise(call.form)
    return {form.function.parameters[n].name: call.parameters[scalar_input(n)] for n in form.scalars}
