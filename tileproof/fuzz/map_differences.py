"""Where two machines, for example a GPU and the simulator, do not do the same.

Results are equal to the bit, except that a NaN is a NaN (which one is not specified) and that an approximation may be
off by what the ISA allows it, plus the half unit in the last place by which the simulator's nearest value is off, plus
the least normal number, as approximations may flush what is smaller.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping

from tileproof.fuzz.execute.register_table import RegisterForm, register_forms
from tileproof.fuzz.maps import HardwareMaps, Registers
from tileproof.fuzz.patterns import tuples

Error = tuple[float, float]

ERRORS: Mapping[tuple[str, str], Error] = {
    ("ex2", "f32"): (2**-22, 0.0), ("ex2", "f16"): (2**-9.9, 0.0), ("ex2", "bf16"): (2**-7, 0.0),
    ("lg2", "f32"): (2**-22, 2**-22), ("tanh", "f32"): (2**-11, 0.0), ("tanh", "f16"): (0.0, 2**-10.987),
    ("tanh", "bf16"): (0.0, 2**-8), ("rsqrt", "f32"): (2**-22.9, 0.0), ("sqrt", "f32"): (2**-23, 0.0),
    ("rsqrt", "f64"): (2**-52, 0.0), ("rcp", "f32"): (2**-23, 0.0), ("div", "f32"): (2**-22, 0.0),
    ("sin", "f32"): (0.0, 2**-14.7), ("cos", "f32"): (0.0, 2**-14.7),
}  # fmt: skip
"""The greatest relative and absolute error of each approximation.

Two units in the last place of ``ex2`` and ``div``, one of ``rcp`` (PTX ISA 9.7.3.8, 9.7.3.13 to 9.7.3.22, 9.7.4.9,
9.7.4.10). For ``rsqrt.approx.f64`` the ISA states none;
one unit in the last place is what an H200 needs.
"""

DEVIATIONS: Mapping[str, frozenset[str]] = {
    "NVIDIA H200": frozenset({"cvt.rp.ftz.f16.f32 d, a", "cvt.rp.ftz.sat.f16.f32 d, a"}),
}
"""Forms in which a GPU does not do what the ISA says.

An H200 does not flush subnormal numbers before it rounds them up to ``f16``, although ``.ftz`` asks for that
(PTX ISA 9.7.9.21).
"""

PRECISIONS = {"f16": (11, -14), "bf16": (8, -126), "f32": (24, -126), "tf32": (11, -126), "f64": (53, -1022)}
"""Bits of the mantissa, and the exponent of the least normal number."""

FAR = 100 * math.pi
"""Beyond this argument nothing is said of the error of ``sin`` and ``cos`` (PTX ISA 9.7.3.18)."""


def differences(one: HardwareMaps, two: HardwareMaps) -> list[str]:
    """What differs between the forms that both have, a line for each register and tuple."""
    found = []
    for label, movement in one.movement.items():
        other = two.movement.get(label)
        if other is not None and not (
            (movement.lane == other.lane).all() and (movement.offset == other.offset).all()
        ):
            found.append(f"{label}: bytes move another way on {one.device} than on {two.device}")
    forms = {form.label: form for form in register_forms()}
    own = DEVIATIONS.get(one.device, frozenset()) ^ DEVIATIONS.get(two.device, frozenset())
    for label, registers in one.registers.items():
        if label in two.registers and label not in own:
            found += _of_form(forms[label], registers, two.registers[label])
    return found


def _of_form(form: RegisterForm, one: Registers, two: Registers) -> Iterator[str]:
    if one.feeds != two.feeds:
        yield f"{form.label}: {one.feeds} and {two.feeds}"
    operands = tuples(form)
    for register in form.written:
        for row, a, b in zip(operands, one.results[register.name], two.results[register.name], strict=True):
            if not same(form, register.type, row, a, b):
                width = register.bits // 4
                given = ", ".join(f"{r.name} = {v:#x}" for r, v in zip(form.read, row, strict=True))
                yield f"{form.label}: {register.name} is {a:#0{width + 2}x} and {b:#0{width + 2}x} for {given}"


def same(form: RegisterForm, type_: str, operands: tuple[int, ...], a: int, b: int) -> bool:
    """Whether two results of a form may both be right; ``type_`` is that of the number or pair in them."""
    scalar = type_.removesuffix("x2")
    if a == b or scalar not in PRECISIONS:
        return a == b
    bits = {"f16": 16, "bf16": 16, "f32": 32, "tf32": 32, "f64": 64}[scalar]
    mask, count = (1 << bits) - 1, 2 if type_.endswith("x2") else 1
    return all(
        _same(form, scalar, operands, a >> n * bits & mask, b >> n * bits & mask) for n in range(count)
    )


def _same(form: RegisterForm, scalar: str, operands: tuple[int, ...], a: int, b: int) -> bool:
    x, y = number(scalar, a), number(scalar, b)
    if a == b or (math.isnan(x) and math.isnan(y)):
        return True
    mnemonic, *qualifiers = form.spelling.split(".")
    if (
        "ftz" in qualifiers
        and scalar in PRECISIONS
        and {abs(x), abs(y)} == {0.0, 2.0 ** PRECISIONS[scalar][1]}
    ):
        # Whether a result is subnormal may be judged before it is rounded up to the least normal number.
        return math.copysign(1, x) == math.copysign(1, y)
    error = ERRORS.get((mnemonic, scalar)) if {"approx", "full"} & set(qualifiers) else None
    if error is None or not (math.isfinite(x) and math.isfinite(y)):
        return False
    if mnemonic in ("sin", "cos") and abs(number(scalar, operands[0])) > FAR:
        return True
    precision, least = PRECISIONS[scalar]
    relative, absolute = error
    return abs(x - y) <= (relative + 2.0**-precision) * max(abs(x), abs(y)) + absolute + 2.0**least


def number(scalar: str, bits: int) -> float:
    """The value of a float's bits."""
    if scalar == "bf16":
        return number("f32", bits << 16)
    if scalar == "tf32":
        return number("f32", bits)
    letter, code, size = {"f16": ("e", "H", 2), "f32": ("f", "I", 4), "f64": ("d", "Q", 8)}[scalar]
    return float(struct.unpack(f"<{letter}", struct.pack(f"<{code}", bits & (1 << 8 * size) - 1))[0])
