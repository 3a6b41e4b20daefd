"""Scalars where an instruction on registers reads: numbers, indices and typed scalars in the operand's type."""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.contracts.call import Call
from tileproof.contracts.grammar import Form
from tileproof.contracts.issue import Constant, IssueOperand, Named
from tileproof.contracts.issue import Scalar as IndexOperand
from tileproof.contracts.literals import BIT_PATTERNS, INTEGER_RANGE, pattern, type_bits
from tileproof.contracts.obligation import Obligation
from tileproof.errors import CallError
from tileproof.layouts.dtypes import BITS, dtype_name
from tileproof.layouts.index import Index, conjunction
from tileproof.scalars.expression import Scalar

INDEXED = ("u32", "s32", "u64", "s64")
"""The types of which an index may be a value."""
_PTX_TYPES = {
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    **{f"{kind}int{bits}": f"{kind or 's'}{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)},
}  # fmt: skip
"""The PTX type of the numbers of an element type."""


def operand_types(form: Form) -> tuple[str, ...]:
    """The PTX type of each operand, in PTX order; of one register where an operand has several."""
    return tuple(_type(form, o.name, o.bits) for o in form.operands)


def _type(form: Form, name: str, bits: int) -> str:
    if form.mnemonic == "cvt":
        named = {"d": form.get("to"), "a": form.get("from"), "b": "f32", "rbits": "b32"}[name]
    elif form.get("source") is not None and bits == 16:
        named = form.get("source")
    else:
        named = form.get("type")
    found = named or ""
    # The wide result of mul and the parts that mov packs are of another width than the type.
    return found if type_bits(found) == bits else f"{'b' if form.mnemonic == 'mov' else found[0]}{bits}"


def issued(call: Call, position: int, type_: str) -> IssueOperand:
    """The scalar at a position as an operand of type ``type_``.

    Raises :class:`CallError`, which names both types, for a scalar that the type cannot take.
    """
    value, syntax = call.scalars[position], call.form.operands[position]
    where = f"{call.form.spelling}: operand {position} ({syntax.name})"
    if syntax.registers != 1 or syntax.bits > 64:
        raise CallError(
            f"{where} is {syntax.registers} of .{type_}, of which there are no constants; give a tensor"
        )
    if isinstance(value, Index):
        if type_ not in INDEXED:
            raise CallError(f"{where} is the index {value!r}, and the instruction takes .{type_}")
        return IndexOperand(value, type_bits(type_), immediate=True)
    if isinstance(value, Scalar):
        return _typed(value, type_, where)
    return Constant(pattern(value, type_, where), type_)


def _typed(value: Scalar, type_: str, where: str) -> IssueOperand:
    """Of exactly the operand's type; where that is a bit pattern, of its width."""
    dtype = dtype_name(value.dtype)
    if type_ in BIT_PATTERNS:
        bits = type_bits(type_)
        matches = BITS[dtype] == bits and (type_ == f"b{bits}" or dtype == f"uint{bits}")
    else:
        matches = dtype == dtype_name(type_)
    if not matches:
        raise CallError(f"{where} is a scalar of {dtype}, and the instruction takes .{type_}")
    if value.op == "variable":
        return Named(str(value.value), dtype)
    if value.op != "constant" or dtype not in _PTX_TYPES or not isinstance(value.value, int | float):
        raise CallError(f"{where} is {value.op} of {dtype}; a scalar operand is a constant or a variable")
    return Constant(pattern(value.value, _PTX_TYPES[dtype], where), type_)


def fits_its_type(call: Call, position: int, type_: str) -> Iterator[Obligation]:
    """The value of an index operand is one of its type."""
    value = call.scalars[position]
    if not isinstance(value, Index):
        return
    low, high = INTEGER_RANGE[type_]
    seen = call.here(value)
    yield Obligation(
        f"{call.family}.fits",
        "an index operand has a value of the instruction's type",
        "PTX ISA 5.2.1",
        conjunction((seen >= low, seen <= high)),
        needed=(f"a number from {low} to {high}", ()),
        found=("{}", (seen,)),
    )
