"""A proven call as a CUDA C++ ``__device__`` function around inline PTX, for kernels that other people write.

The block of PTX is the one of :func:`tileproof.emit.fragment.emit`: all address arithmetic stays in it, in the
width that was proved, so no C++ integer can overflow. Base addresses and symbols are parameters by value,
registers are arrays by reference, one element for each slot. A compiler that inlines the function keeps them
in registers.

Temporaries are called ``t_r0`` and the like: names of the compiler's registers, which replace the placeholders
of an asm statement, begin with ``%``, and one that is declared in the block as well would hide them. Outputs
are written before the last input is read, hence their constraints have ``&``.

Sources: "Inline PTX Assembly in CUDA" 1.1 (constraints, ``volatile``, ``memory``), 1.2 (namespace conflicts).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tileproof.emit.fragment import body, inputs, launch_of, meaning, slot_names, summary, typed_scalars
from tileproof.emit.plan import Address, Plan, Slots
from tileproof.emit.registers import Register
from tileproof.errors import EmissionError
from tileproof.layouts.leaf import Leaf
from tileproof.layouts.tensor import Storage

INDENT = "    "
NAME = re.compile(r"%([A-Za-z_$][\w$]*(?:\.[xyz])?)")
TEMPORARY = re.compile(r"(?:r|rs|rd|p)\d*")

TYPES = {
    "float32": ("float", "f"),
    "float64": ("double", "d"),
    "int16": ("std::int16_t", "h"),
    "int32": ("std::int32_t", "r"),
    "int64": ("std::int64_t", "l"),
}
BY_BITS = {
    8: ("std::uint16_t", "h"),
    16: ("std::uint16_t", "h"),
    32: ("std::uint32_t", "r"),
    64: ("std::uint64_t", "l"),
    128: ("unsigned __int128", "q"),
}
"""By the bits of an element: its type in C++ and its constraint. Bytes travel in 16-bit registers."""

_KEYWORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class
co_await co_return co_yield compl concept const consteval constexpr constinit const_cast continue decltype
default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline
int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template
this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t
while xor xor_eq std
"""

RESERVED = frozenset(_KEYWORDS.split())
"""The keywords of C++, of NVCC, and the namespace of the integer types."""


@dataclass(frozen=True)
class _Operand:
    """One operand of the asm statement: the PTX register that it stands for, its C++ value and constraint."""

    register: str
    value: str
    constraint: str


@dataclass(frozen=True)
class _Parameter:
    """One parameter of the function."""

    declaration: str
    remark: str


@dataclass(frozen=True)
class _Array:
    """Registers of one storage; ``const`` stands before the type of what is only read."""

    name: str
    kind: str
    const: str
    count: int
    what: str


def source(calls: Sequence[tuple[Plan, str | None]]) -> str:
    """The functions of proven calls, with what they include. A call without a name is called after its opcode.

    Raises :class:`EmissionError` for names that clash, and for registers that one array cannot stand for.
    """
    titles = [_title(planned, name) for planned, name in calls]
    twice = next((title for title in titles if titles.count(title) > 1), None)
    if twice is not None:
        raise EmissionError(f"two functions would be called {twice}; name one of the calls otherwise")
    functions = [_function(planned, title) for (planned, _), title in zip(calls, titles, strict=True)]
    return "\n\n".join(["#include <cstdint>", *functions]) + "\n"


def identifier(name: str) -> str:
    """The name with what C++ does not allow in it replaced by underscores; keywords get one at their end."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
    if not plain or plain[0].isdigit():
        plain = f"v{plain}"
    return f"{plain}_" if plain in RESERVED else plain


def _title(planned: Plan, name: str | None) -> str:
    if name is None:
        return identifier(planned.report.call.form.spelling)
    if identifier(name) != name:
        raise EmissionError(f"{name!r} cannot be the name of a C++ function; {identifier(name)!r} could")
    return name


def _function(planned: Plan, title: str) -> str:
    registers = inputs(planned)
    code = body(planned, registers)
    outputs, read = _slots(planned)
    operands = [*outputs.values(), *(operand for name, operand in read.items() if name not in outputs)]
    operands += _inputs(planned, registers)
    places = {operand.register: f"%{place}" for place, operand in enumerate(operands)}
    lines = ["{", *(line.removeprefix(INDENT) for line in (*code.declarations(), *code.lines)), "}"]
    text = "\n".join(f'{INDENT * 2}"{_placed(line, places)}\\n"' for line in lines)
    memory = any(isinstance(operand, Address) for issue in planned.issues for operand in issue)
    parts = [_listed(operands[: len(outputs)]), _listed(operands[len(outputs) :])]
    parts += ['"memory"'] if memory else []
    ending = "".join(f"\n{INDENT * 2}: {part}".rstrip() for part in parts)
    parameters = list(_parameters(planned, registers))
    return "\n".join(
        [
            *(f"// {_printable(line)}" for line in _comment(planned, title, parameters)),
            f"__device__ __forceinline__ void {title}({', '.join(p.declaration for p in parameters)})",
            "{",
            f"{INDENT}asm volatile(\n{text}{ending});",
            "}",
        ]
    )


def _comment(planned: Plan, title: str, parameters: Sequence[_Parameter]) -> Iterator[str]:
    call = planned.report.call
    major, minor = call.form.ptx_version
    yield f"{title}: inline PTX, PTX ISA {major}.{minor} or later"
    yield from summary(planned.report)
    if planned.predicate is not None:
        yield f"  executed where {call.parameters['pred']!r}"
    yield f"for {launch_of(call)}, called by exactly the threads that the proof says reach it"
    for parameter in parameters:
        yield f"  {parameter.declaration}: {parameter.remark}"


def _printable(line: str) -> str:
    """A line that a comment holds: what ends in a backslash would go on."""
    return "".join(c if c.isprintable() else "?" for c in line).rstrip("\\ ")


def _placed(line: str, places: Mapping[str, str]) -> str:
    """PTX with the placeholders of an asm statement, own temporaries, and percent signs doubled."""

    def replaced(found: re.Match[str]) -> str:
        if found[0] in places:
            return places[found[0]]
        return f"t_{found[1]}" if TEMPORARY.fullmatch(found[1]) else f"%{found[0]}"

    return NAME.sub(replaced, line)


def _slots(planned: Plan) -> tuple[dict[str, _Operand], dict[str, _Operand]]:
    """The operands for registers that are written, and for those that are only read, by their PTX names."""
    call = planned.report.call
    arrays: dict[Storage, str] = {}
    written: dict[str, _Operand] = {}
    read: dict[str, _Operand] = {}
    # Where the instruction is not executed, a destination keeps its value.
    both = planned.predicate is not None
    for issue in planned.issues:
        for position, (operand, syntax) in enumerate(zip(issue, call.form.operands, strict=True)):
            if not isinstance(operand, Slots):
                continue
            if operand.exact and operand.bits == 8:
                # "Inline PTX Assembly in CUDA" 1.1: there is no constraint for a register of 8 bits.
                raise EmissionError(
                    f"{call.form.spelling} takes {operand.storage.name} in registers of 8 bits, and an asm statement "
                    "of C++ has none; write the call as PTX"
                )
            kind, constraint = _type_of(planned, position)
            if arrays.setdefault(operand.storage, kind) != kind:
                raise EmissionError(
                    f"{call.form.spelling}: {operand.storage.name} would be an array of {arrays[operand.storage]} and "
                    f"of {kind}; declare its registers in one type"
                )
            array = identifier(operand.storage.name)
            for name, number in zip(slot_names(operand), operand.numbers, strict=True):
                value = f"{array}[{number}]"
                if syntax.access == "written":
                    written[name] = _Operand(name, value, f"{'+' if both else '='}&{constraint}")
                else:
                    read[name] = _Operand(name, value, constraint)
    for name in written.keys() & read.keys():
        written[name] = _Operand(name, written[name].value, f"+&{read[name].constraint}")
    return written, read


def _type_of(planned: Plan, position: int) -> tuple[str, str]:
    view = planned.report.call.tensor(position)
    return _kind(view.dtype, view.bits)


def _kind(dtype: str, bits: int) -> tuple[str, str]:
    return TYPES.get(dtype) or BY_BITS[bits]


def _inputs(planned: Plan, registers: Mapping[Leaf, Register]) -> Iterator[_Operand]:
    for variable, register in registers.items():
        yield _Operand(register.name, identifier(variable.name), "r" if register.bits == 32 else "l")
    for name, (register, dtype) in typed_scalars(planned).items():
        yield _Operand(register.name, identifier(name), _kind(dtype, register.bits)[1])


def _parameters(planned: Plan, registers: Mapping[Leaf, Register]) -> Iterator[_Parameter]:
    call = planned.report.call
    owners: dict[str, str] = {}
    arrays: dict[str, _Array] = {}
    for position, syntax in enumerate(call.form.operands):
        slots = [s for issue in planned.issues if isinstance(s := issue[position], Slots)]
        if not slots:
            continue
        storage, bits = slots[0].storage, slots[0].bits
        highest = max(number for operand in slots for number in operand.numbers) + 1
        size = None if storage.size is None else storage.size.value
        count = highest if size is None else max(highest, size * 8 // bits)
        what = f"registers of {storage.name}, {syntax.access}"
        what += "" if count == len({n for s in slots for n in s.numbers}) else " in part"
        before = arrays.get(storage.name)
        const = "const " if syntax.access == "read" and before is None else ""
        if before is not None:
            count, what = max(count, before.count), f"{before.what}; {what}"
            const = before.const if syntax.access == "read" else ""
        kind = _type_of(planned, position)[0]
        arrays[storage.name] = _Array(identifier(storage.name), kind, const, count, what)
        _own(owners, identifier(storage.name), f"the registers {storage.name}")
    for array in arrays.values():
        yield _Parameter(f"{array.const}{array.kind} (&{array.name})[{array.count}]", array.what)
    for variable, register in registers.items():
        name = identifier(variable.name)
        _own(owners, name, f"the {variable.kind} {variable.name}")
        signed = "u" if variable.kind == "base" else ""
        yield _Parameter(f"std::{signed}int{register.bits}_t {name}", meaning(planned, variable))
    for scalar, (register, dtype) in typed_scalars(planned).items():
        name, kind = identifier(scalar), _kind(dtype, register.bits)[0]
        _own(owners, name, f"the scalar {scalar}")
        as_bits = "the bits of " if kind == BY_BITS[16][0] and not dtype.startswith("uint") else ""
        yield _Parameter(f"{kind} {name}", f"{as_bits}the {dtype} {scalar}")


def _own(owners: dict[str, str], name: str, owner: str) -> None:
    other = owners.setdefault(name, owner)
    if other != owner:
        raise EmissionError(f"{other} and {owner} would both be {name} in C++; rename one of them")


def _listed(operands: Sequence[_Operand]) -> str:
    return ", ".join(f'"{operand.constraint}"({operand.value})' for operand in operands)
