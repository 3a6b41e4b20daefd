"""Operand bit patterns for instructions on registers: zeros, infinities, subnormals, ties of every narrower format.

Everything here is fixed, so that two recordings differ only where two machines do.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from random import Random

from tileproof.fuzz.execute.register_table import Register, RegisterForm

PATTERNS = 40
"""Operand tuples of a form."""

_FLOATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52), "e4m3": (4, 3), "e5m2": (5, 2)}
"""Bits of exponent and of mantissa."""

_NUMBERS = (
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -7.25, 0.1, -100.3,
    # Ties of f16, bf16, e4m3 and e5m2 between an even and an odd neighbour, downwards and upwards.
    1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-4, 1 + 3 * 2**-4, 1 + 2**-3, 1 + 3 * 2**-3,
    # Where e4m3, e5m2 and f16 end, and beyond; below the least subnormal of f16; around 32-bit integers.
    448.0, 464.0, 57344.0, 61440.0, 65504.0, 65520.0, 2.0**-25, 3e9, -3e9, 1e30,
)  # fmt: skip
_INTEGERS = (
    0, 1, 2, 3, 5, 7, 10, 100, 127, 128, 129, 255, 256, 257, 32767, 32768, 32769, 65504, 65519, 65520, 65535, 65536,
    1 << 24, (1 << 24) + 1, (1 << 24) + 3, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, (1 << 32) - 1, (1 << 53) + 1,
    (1 << 63) - 1, 1 << 63, -1, -2, -3, -128, -129, -32768, -32769, -(1 << 31),
)  # fmt: skip
_STEPS = ((1, 0), (7, 3), (11, 19), (3, 5))
"""Operand ``k`` of tuple ``i`` is pattern ``step*i + first``; the steps share no factor with the number of patterns."""

_PAIRS = (
    ("one", "half_ulp"), ("next", "half_ulp"), ("infinity", "-infinity"), ("zero", "-zero"), ("zero", "infinity"),
    ("largest", "largest"), ("least", "least"), ("nan", "one"), ("one", "nan"), ("-zero", "-zero"),
)  # fmt: skip
"""Operands of the first tuples: sums that are ties, and what has a rule of its own."""


@cache
def patterns(type_: str) -> tuple[int, ...]:
    """:data:`PATTERNS` bit patterns of a type; of a pair both halves differ."""
    scalar, pair = _element(type_)
    if scalar == "pred":
        return tuple(0x6996A5C3F0 >> i & 1 for i in range(PATTERNS))
    if pair:
        low, half = patterns(scalar), _bits(scalar)
        return tuple(low[i] | low[(i + 17) % PATTERNS] << half for i in range(PATTERNS))
    if scalar in ("e4m3", "e5m2"):
        spread = [(13 * i + 128 * (i % 2)) % 256 for i in range(PATTERNS - 4)]
        return (*spread, 0x7E, 0x7F, 0xFF, 0x7C)
    if scalar in _FLOATS:
        found = [*named(scalar).values(), *(encoded(scalar, number) for number in _NUMBERS)]
        return tuple((list(dict.fromkeys(found)) + found)[:PATTERNS])
    mask = (1 << _bits(scalar)) - 1
    return tuple(number * (0x9E3779B97F4A7C15 if scalar == "b128" else 1) & mask for number in _INTEGERS)


def named(type_: str) -> dict[str, int]:
    """The patterns of a float that have a name."""
    exponent, mantissa = _FLOATS[type_]
    sign, one = 1 << (exponent + mantissa), ((1 << (exponent - 1)) - 1) << mantissa
    infinity = ((1 << exponent) - 1) << mantissa
    return {
        "zero": 0, "-zero": sign, "one": one, "infinity": infinity, "-infinity": infinity | sign,
        "nan": infinity | 1 << (mantissa - 1), "least": 1, "most subnormal": (1 << mantissa) - 1,
        "least normal": 1 << mantissa, "largest": infinity - 1, "-largest": infinity - 1 | sign, "next": one + 1,
        "half_ulp": max(one - ((mantissa + 1) << mantissa), 1),
    }  # fmt: skip


def encoded(type_: str, number: float) -> int:
    """The bits of a number: rounded to nearest for f16, f32 and f64, cut off for bf16; infinity where too large."""
    if type_ == "bf16":
        return encoded("f32", number) >> 16
    letter, code = {"f16": ("<e", "H"), "f32": ("<f", "I"), "f64": ("<d", "Q")}[type_]
    try:
        return int(struct.unpack("<" + code, struct.pack(letter, number))[0])
    except OverflowError:
        return named(type_)["infinity" if number > 0 else "-infinity"]


def tuples(form: RegisterForm) -> list[tuple[int, ...]]:
    """The operands of a form: bits of each register that is read, :data:`PATTERNS` times."""
    found = []
    for i in range(PATTERNS):
        row = []
        for k, register in enumerate(form.read):
            step, first = _STEPS[k % len(_STEPS)]
            choice = patterns(register.type)
            row.append(choice[(step * i + first) % PATTERNS])
            scalar, pair = _element(register.type)
            if i < len(_PAIRS) and k < 2 and len(form.read) > 1 and scalar in named_types():
                value = named(scalar)[_PAIRS[i][k]]
                row[k] = value | (row[k] >> _bits(scalar) << _bits(scalar) if pair else 0)
        found.append(_defined(form, tuple(row)))
    return found


def named_types() -> tuple[str, ...]:
    """Floats with infinities."""
    return ("f16", "bf16", "f32", "f64")


def _defined(form: RegisterForm, row: tuple[int, ...]) -> tuple[int, ...]:
    """A division of integers by zero, or of the least by minus one, has no defined result (PTX ISA 9.7.1.8)."""
    divisor = form.read[-1]
    if (
        form.spelling.startswith(("div", "rem"))
        and divisor.type not in _FLOATS
        and row[1] in (0, (1 << divisor.bits) - 1)
    ):
        return row[0], 3
    return row


def parts(form: RegisterForm, register: Register) -> int:
    """How many numbers stand in a register: halves of a pair, or what a ``mov`` packs and unpacks."""
    if form.spelling.startswith("mov"):
        return register.bits // min(r.bits for r in (*form.read, *form.written))
    return 2 if _element(register.type)[1] else 1


BASES, ALTERNATIVES = 8, 2


def trials(form: RegisterForm) -> list[tuple[int, ...]]:
    """Operands that tell what feeds what: each of :data:`BASES` tuples, then the same with each part of each
    register changed in :data:`ALTERNATIVES` ways.
    """
    random = Random(form.label)  # noqa: S311 - the same trials in every recording
    found = []
    for base in range(BASES):
        plain = tuple(_ordinary(form, r.type, random, base % 2 == 0) for r in form.read)
        plain = _defined(form, plain)
        found.append(plain)
        for k, register in enumerate(form.read):
            count = parts(form, register)
            width = register.bits // count
            for part in range(count):
                mask = ((1 << width) - 1) << part * width
                for _ in range(ALTERNATIVES):
                    other = _ordinary(form, register.type, random, base % 2 == 0)
                    changed = plain[k] & ~mask | other & mask
                    found.append(_defined(form, (*plain[:k], changed, *plain[k + 1 :])))
    return found


def _ordinary(form: RegisterForm, type_: str, random: Random, small: bool) -> int:
    """A positive number without special meaning: up to 1 and up to 100, or of all bits of an integer; from 0 to 1
    where the result is brought there, or says whether two are equal.
    """
    scalar, pair = _element(type_)
    few = ".sat" in form.spelling or form.spelling.startswith("setp")
    if pair:
        low, high = (_ordinary(form, scalar, random, small) for _ in range(2))
        return low | high << _bits(scalar)
    if scalar == "pred":
        return random.randrange(2)
    if scalar in ("e4m3", "e5m2"):
        return random.randrange(0x18, 0x58)
    if scalar in _FLOATS:
        if few:
            return encoded(scalar, random.choice((0.0, 0.3, 0.7, 1.0)))
        return encoded(scalar, random.uniform(0.05, 0.45) if small else random.uniform(1, 100))
    if (small or few) and scalar[0] != "b":
        return random.choice((0, 1) if few else (0, 1, 2, 3, 50, 99))
    return random.randrange(1, 1 << _bits(scalar) - 1)


def feeds(form: RegisterForm, written: Sequence[Sequence[int]]) -> str:
    """What the results of :func:`trials` say, as in ``d.0 < a.0 b.0; d.1 < a.1 b.1``."""
    found: dict[str, list[str]] = {
        name: [] for register in form.written for name in _part_names(form, register)
    }
    rows = iter(written)
    for _ in range(BASES):
        plain = _by_part(form, next(rows))
        for register in form.read:
            for name in _part_names(form, register):
                for _ in range(ALTERNATIVES):
                    for target, value in _by_part(form, next(rows)).items():
                        if value != plain[target] and name not in found[target]:
                            found[target].append(name)
    return "; ".join(f"{target} < {' '.join(sorted(sources))}" for target, sources in found.items())


def _part_names(form: RegisterForm, register: Register) -> list[str]:
    count = parts(form, register)
    return [register.name] if count == 1 else [f"{register.name}.{n}" for n in range(count)]


def _by_part(form: RegisterForm, values: Sequence[int]) -> dict[str, int]:
    found = {}
    for register, value in zip(form.written, values, strict=True):
        names = _part_names(form, register)
        width = register.bits // len(names)
        for n, name in enumerate(names):
            found[name] = value >> n * width & (1 << width) - 1
    return found


def _element(type_: str) -> tuple[str, bool]:
    return (type_[:-2], True) if type_.endswith("x2") else (type_, False)


def _bits(scalar: str) -> int:
    return 8 if scalar in ("e4m3", "e5m2") else int("".join(c for c in scalar if c.isdigit()))
