"""The PTX reading of scalar functions: straight-line instructions for each register coordinate.

No branch is written: conditions are predicates, and ``selp`` chooses. What occurs several times in the function is
computed once for each coordinate, and what depends on scalar inputs alone once for all of them.
"""

from __future__ import annotations

import struct
from collections.abc import Container, Mapping, Sequence

from tileproof.contracts.family.ewise import EwiseForm, scalar_inputs
from tileproof.emit import names
from tileproof.emit.code import Code, TemporaryKind, origin
from tileproof.emit.plan import Plan, Slots
from tileproof.emit.registers import Register, scalar_register
from tileproof.errors import EmissionError, InternalError
from tileproof.scalars.expression import Scalar, instruction_of
from tileproof.scalars.traverse import postorder
from tileproof.scalars.types import ScalarType

_KINDS: Mapping[int, TemporaryKind] = {1: "pred", 16: "b16", 32: "b32", 64: "b64"}
_PACKED = {"float64": ("<d", "<Q"), "float32": ("<f", "<I"), "float16": ("<e", "<H")}


def write_ewise(planned: Plan, code: Code, name: str = "") -> None:
    """Write the function at each coordinate of a call, in row-major order.

    With a ``name`` for the call, each instruction has a comment that tells its call and its coordinate.
    Raises :class:`EmissionError` for a name that PTX cannot spell.
    """
    form = planned.report.call.form
    if not isinstance(form, EwiseForm):
        raise EmissionError(f"{form.spelling} is no scalar function")
    names.identifier(form.function.name)
    first = len(code.lines)
    scalars = {input_: _once(code, value) for input_, value in scalar_inputs(planned.report.call).items()}
    nodes, body = form.function.nodes, form.function.body
    tensors = {p.name: n for n, p in enumerate(form.tensors)}
    varying = _dependent(nodes, tensors)
    shared: dict[int, str] = {}
    for node in nodes:
        if node.uid not in varying:
            known = scalars.get(str(node.value)) if node.op == "variable" else None
            shared[node.uid] = known or _written(code, node, shared)
    code.remark(first, origin(name))
    places = [
        (node.uid, tensors[str(node.value)])
        for node in nodes
        if node.op == "variable" and node.uid in varying
    ]
    computed = [node for node in nodes if node.op != "variable" and node.uid in varying]
    computes_last = body.uid in varying and instruction_of(body) is not None
    for (destination, *inputs), repeat in zip(planned.issues, planned.repeats, strict=True):
        first = len(code.lines)
        here = shared | {uid: _register(inputs[place]) for uid, place in places}
        for node in computed[:-1] if computes_last else computed:
            here[node.uid] = _written(code, node, here)
        target = _register(destination)
        if computes_last:
            code.put(f"{_opcode(body)} {target}, {_arguments(body, here)};")
        else:
            code.put(f"mov.{_moved(body.type)} {target}, {here[body.uid]};")
        code.remark(first, origin(name, repeat))


def scalar_registers(planned: Plan) -> dict[str, tuple[Register, str]]:
    """The registers and the types of the variables in a call's scalar inputs, by name."""
    call = planned.report.call
    if not isinstance(call.form, EwiseForm):
        return {}
    return {
        str(node.value): (scalar_register(node), node.dtype)
        for value in scalar_inputs(call).values()
        for node in postorder(value)
        if node.op == "variable"
    }


def _register(operand: object) -> str:
    if not isinstance(operand, Slots):
        raise EmissionError("the operands of a scalar function are registers")
    return names.slot(operand.storage.name, operand.numbers[0])


def _dependent(nodes: Sequence[Scalar], tensors: Container[str]) -> set[int]:
    """The nodes, by ``uid``, that depend on a tensor input."""
    found: set[int] = set()
    for node in nodes:
        named = node.op == "variable" and str(node.value) in tensors
        if named or any(a.uid in found for a in node.args):
            found.add(node.uid)
    return found


def _once(code: Code, root: Scalar) -> str:
    """A register or an immediate that holds an expression of the code around."""
    known: dict[int, str] = {}
    for node in postorder(root):
        known[node.uid] = _written(code, node, known)
    return known[root.uid]


def _written(code: Code, node: Scalar, known: Mapping[int, str]) -> str:
    """The operand that holds a node whose arguments are known."""
    if node.op == "variable":
        return names.register(str(node.value))
    if node.op == "constant":
        return _constant(code, node)
    if instruction_of(node) is None:
        return known[node.args[0].uid]
    return code.compute(_opcode(node), _KINDS[node.type.bits], _arguments(node, known))


def _opcode(node: Scalar) -> str:
    instruction = instruction_of(node)
    if instruction is None:
        raise InternalError(f"{node.op} of {node.dtype} is no instruction")
    return instruction.opcode


def _arguments(node: Scalar, known: Mapping[int, str]) -> str:
    args = node.args
    if node.op == "select":
        args = (*args[1:], args[0])  # the predicate is last (PTX ISA 9.7.6.3)
    return ", ".join(known[a.uid] for a in args)


def _constant(code: Code, node: Scalar) -> str:
    """An immediate (PTX ISA 4.5), or a register for a type that has none."""
    kind, value = node.type, node.value
    if kind.name == "bool":
        return code.compute("mov.pred", "pred", "1" if value else "0")
    if not kind.is_float:
        return str(value)
    bits = _bits(kind, float(value or 0))
    if kind.bits == 16:
        return code.compute("mov.b16", "b16", f"0x{bits:04X}")
    return f"0f{bits:08X}" if kind.bits == 32 else f"0d{bits:016X}"


def _moved(kind: ScalarType) -> str:
    """The type that a move is of: floats have immediates of their own."""
    return kind.ptx if kind.name in ("float32", "float64") else f"b{kind.bits}"


def _bits(kind: ScalarType, value: float) -> int:
    """The bits of a float of the type."""
    if kind.name == "bfloat16":
        (single,) = struct.unpack("<I", struct.pack("<f", value))
        return int(single) >> 16
    packed, read = _PACKED[kind.name]
    (found,) = struct.unpack(read, struct.pack(packed, value))
    return int(found)
