"""The PTX reading of scalar functions: straight-line instructions for each register coordinate.

No branch is written: conditions are predicates, and ``selp`` chooses. What occurs several times in the function is
computed once for each coordinate, and what depends on scalar inputs alone once for all of them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from tileproof.contracts.family.ewise import EwiseForm, scalar_inputs
from tileproof.emit import names
from tileproof.emit.code import Code, TemporaryKind
from tileproof.emit.plan import Plan, Slots
from tileproof.emit.registers import Register
from tileproof.errors import EmissionError
from tileproof.scalars.expression import Scalar, instruction_of, postorder
from tileproof.scalars.operations import Instruction
from tileproof.scalars.types import ScalarType

_KINDS: Mapping[int, TemporaryKind] = {1: "pred", 16: "b16", 32: "b32", 64: "b64"}
_PACKED = {"float64": ("<d", "<Q"), "float32": ("<f", "<I"), "float16": ("<e", "<H")}


def write_ewise(planned: Plan, code: Code) -> None:
    """Write the function at each coordinate of a call, in row-major order."""
    form = planned.report.call.form
    if not isinstance(form, EwiseForm):
        raise EmissionError(f"{form.spelling} is no scalar function")
    _demand_one_width(form, planned)
    outside = _Writer(code, {}, {})
    scalars = {name: outside.operand(value) for name, value in scalar_inputs(planned.report.call).items()}
    body, shared = form.function.body, dict[int, str]()
    for destination, *inputs in planned.issues:
        held = {p.name: _register(o) for p, o in zip(form.tensors, inputs, strict=True)}
        _Writer(code, scalars | held, shared, frozenset(held)).into(_register(destination), body)


def scalar_registers(planned: Plan) -> dict[str, tuple[Register, str]]:
    """The registers and the types of the variables in a call's scalar inputs, by name."""
    call = planned.report.call
    if not isinstance(call.form, EwiseForm):
        return {}
    return {
        str(node.value): (Register(names.register(str(node.value)), node.type.bits), node.dtype)
        for value in scalar_inputs(call).values()
        for node in postorder(value)
        if node.op == "variable"
    }


def _demand_one_width(form: EwiseForm, planned: Plan) -> None:
    """A register has one width, so its storage has one in a call."""
    widths: dict[str, int] = {}
    for operand in (o for issue in planned.issues[:1] for o in issue if isinstance(o, Slots)):
        if widths.setdefault(operand.storage.name, operand.bits) != operand.bits:
            raise EmissionError(
                f"{form.spelling}: {operand.storage.name} is used as registers of {widths[operand.storage.name]} and "
                f"of {operand.bits} bits; declare registers as wide as each operand's elements"
            )


def _register(operand: object) -> str:
    if not isinstance(operand, Slots):
        raise EmissionError("the operands of a scalar function are registers")
    return names.slot(operand.storage.name, operand.numbers[0])


class _Writer:
    """Writes what a coordinate needs.

    ``variables`` are the operands that hold named values, by default the registers of that name; ``shared`` keeps
    what does not depend on ``varying`` names, for all coordinates.
    """

    def __init__(
        self,
        code: Code,
        variables: Mapping[str, str],
        shared: dict[int, str],
        varying: frozenset[str] = frozenset(),
    ) -> None:
        self.code = code
        self.variables = variables
        self.shared = shared
        self.varying = varying
        self.own: dict[int, str] = {}
        self.varies: dict[int, bool] = {}

    def into(self, target: str, root: Scalar) -> None:
        """Write the expression so that its value ends in ``target``."""
        *before, last = postorder(root)
        for node in before:
            self._known(node)
        instruction = instruction_of(last)
        if isinstance(instruction, Instruction) and self._varies(last):
            self.code.put(f"{instruction.opcode} {target}, {self._arguments(last)};")
        else:
            self.code.put(f"mov.{_moved(root.type)} {target}, {self._known(last)};")

    def operand(self, root: Scalar) -> str:
        """A register or an immediate that holds the value."""
        for node in postorder(root):
            self._known(node)
        return self._known(root)

    def _known(self, node: Scalar) -> str:
        """The operand of a node whose arguments are known, written if it is not."""
        known = self.own if self._varies(node) else self.shared
        found = known.get(node.uid)
        if found is None:
            found = known[node.uid] = self._written(node)
        return found

    def _varies(self, node: Scalar) -> bool:
        found = self.varies.get(node.uid)
        if found is None:
            named = node.op == "variable" and node.value in self.varying
            found = self.varies[node.uid] = named or any(self._varies(a) for a in node.args)
        return found

    def _written(self, node: Scalar) -> str:
        if node.op == "variable":
            name = str(node.value)
            return self.variables.get(name) or names.register(name)
        if node.op == "constant":
            return self._constant(node)
        instruction = instruction_of(node)
        if not isinstance(instruction, Instruction):
            return self._known(node.args[0])
        return self.code.compute(instruction.opcode, _KINDS[node.type.bits], self._arguments(node))

    def _arguments(self, node: Scalar) -> str:
        args = node.args
        if node.op == "select":
            args = (*args[1:], args[0])  # the predicate is last (PTX ISA 9.7.6.3)
        return ", ".join(self._known(a) for a in args)

    def _constant(self, node: Scalar) -> str:
        """An immediate (PTX ISA 4.5), or a register for a type that has none."""
        kind, value = node.type, node.value
        if kind.name == "bool":
            return self.code.compute("mov.pred", "pred", "1" if value else "0")
        if not kind.is_float:
            return str(value)
        if kind.bits == 16:
            return self.code.compute("mov.b16", "b16", f"0x{_bits(node):04X}")
        return f"0f{_bits(node):08X}" if kind.bits == 32 else f"0d{_bits(node):016X}"


def _moved(kind: ScalarType) -> str:
    """The type that a move is of: floats have immediates of their own."""
    return kind.ptx if kind.name in ("float32", "float64") else f"b{kind.bits}"


def _bits(node: Scalar) -> int:
    """The bits of a float constant."""
    kind, value = node.type, node.value
    assert isinstance(value, float)  # noqa: S101 - for the type checker
    if kind.name == "bfloat16":
        (single,) = struct.unpack("<I", struct.pack("<f", value))
        return int(single) >> 16
    packed, read = _PACKED[kind.name]
    (found,) = struct.unpack(read, struct.pack(packed, value))
    return int(found)
