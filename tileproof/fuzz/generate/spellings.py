"""How instructions on registers are spelled, with their operands, written anew from the PTX ISA.

Sources: PTX ISA 9.7.1 (integers), 9.7.3 (f32, f64), 9.7.4 (16-bit floats), 9.7.5 (mixed precision), 9.7.9.3
(mov), 9.7.9.21 (cvt).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

Typed = tuple[str, str, int]
"""An operand: its name, the PTX type of one of its registers, and how many one instruction takes."""


@dataclass(frozen=True)
class Spelling:
    """An opcode. ``lists`` are the operands it may be used with, in PTX order; ``recent`` ones need sm_100 or
    later.
    """

    opcode: str
    lists: tuple[tuple[Typed, ...], ...]
    recent: bool = False


def bits_of(type_: str) -> int:
    """The width of one register of a PTX type, such as ``f16x2`` or ``e4m3x4``."""
    if type_ == "tf32":
        return 32
    narrow = re.fullmatch(r"u?e(\d)m(\d)x(\d)", type_)
    if narrow:
        # The scale format has neither a sign nor a significand; six bits are kept in eight.
        exponent, significand, several = map(int, narrow.groups())
        return several * (4 if exponent + significand == 3 else 8)
    number, _, count = type_.lstrip("bfsu").partition("x")
    return int(number) * int(count or 1)


def _alike(opcode: str, *types: str, recent: bool = False) -> Spelling:
    return Spelling(
        opcode, (tuple((name, type_, 1) for name, type_ in zip("dabc", types, strict=False)),), recent
    )


_INTEGERS = ("s32", "u32", "u16", "s16", "u64", "s64")
_BYTES = ("u8", "s8")
_HALVES = ("f16", "f16x2")
_BRAINS = ("bf16", "bf16x2")
_NAMED = (".rn", ".rz", ".rm", ".rp")
_ROUNDED = ("", *_NAMED)
_FTZ = ("", ".ftz")
_SAT = ("", ".sat")


def _opcodes(*parts: tuple[str, ...]) -> Iterator[str]:
    yield from ("".join(one) for one in product(*parts))


def _sums(name: str) -> Iterator[Spelling]:
    for qualifiers in _opcodes(_ROUNDED, _FTZ, _SAT):
        yield _alike(f"{name}{qualifiers}.f32", *["f32"] * 3)
    pairs = ("u16x2", "s16x2") if name == "add" else ()
    for type_ in (*_INTEGERS, *pairs):
        yield _alike(f"{name}.{type_}", *[type_] * 3)
    yield _alike(f"{name}.sat.s32", *["s32"] * 3)
    yield from _float_sums(name)
    for type_, qualifiers in product(("f16", "bf16"), _opcodes(_ROUNDED, _SAT)):
        yield _alike(f"{name}{qualifiers}.f32.{type_}", "f32", type_, "f32", recent=True)


def _float_sums(name: str) -> Iterator[Spelling]:
    for rounding in _ROUNDED:
        yield _alike(f"{name}{rounding}.f64", *["f64"] * 3)
    for type_, qualifiers in product(_HALVES, _opcodes(("", ".rn"), _FTZ, _SAT)):
        yield _alike(f"{name}{qualifiers}.{type_}", *[type_] * 3)
    for type_, rounding in product(_BRAINS, ("", ".rn")):
        yield _alike(f"{name}{rounding}.{type_}", *[type_] * 3)
    for qualifiers in _opcodes(_ROUNDED, _FTZ):
        yield _alike(f"{name}{qualifiers}.f32x2", *["f32x2"] * 3, recent=True)


def _products(name: str) -> Iterator[Spelling]:
    for qualifiers in _opcodes(_ROUNDED, _FTZ, _SAT):
        yield _alike(f"{name}{qualifiers}.f32", *["f32"] * 3)
    for type_, half in product(_INTEGERS, ("lo", "hi")):
        yield _alike(f"{name}.{half}.{type_}", *[type_] * 3)
    for type_ in _INTEGERS[:4]:
        yield _alike(f"{name}.wide.{type_}", f"{type_[0]}{2 * bits_of(type_)}", type_, type_)
    yield from _float_sums(name)


def _multiply_add(name: str) -> Iterator[Spelling]:
    for qualifiers in _opcodes(_NAMED, _FTZ, _SAT):
        yield _alike(f"{name}{qualifiers}.f32", *["f32"] * 4)
    for rounding in _NAMED:
        yield _alike(f"{name}{rounding}.f64", *["f64"] * 4)
    for type_, ftz, clamped in product(_HALVES, _FTZ, ("", ".sat", ".relu")):
        yield _alike(f"{name}.rn{ftz}{clamped}.{type_}", *[type_] * 4)
    for type_, relu in product(_BRAINS, ("", ".relu")):
        yield _alike(f"{name}.rn{relu}.{type_}", *[type_] * 4)
    for type_, relu in product((*_HALVES, *_BRAINS), ("", ".relu")):
        yield _alike(f"{name}.rn.oob{relu}.{type_}", *[type_] * 4)
    for qualifiers in _opcodes(_NAMED, _FTZ):
        yield _alike(f"{name}{qualifiers}.f32x2", *["f32x2"] * 4, recent=True)
    for type_, qualifiers in product(("f16", "bf16"), _opcodes(_NAMED, _SAT)):
        yield _alike(f"{name}{qualifiers}.f32.{type_}", "f32", type_, type_, "f32", recent=True)


def _quotients(name: str) -> Iterator[Spelling]:
    for qualifiers in _opcodes((".rn", ".approx", ".full", *_NAMED[1:]), _FTZ):
        yield _alike(f"{name}{qualifiers}.f32", *["f32"] * 3)
    for type_ in _INTEGERS:
        yield _alike(f"{name}.{type_}", *[type_] * 3)
    for rounding in _NAMED:
        yield _alike(f"{name}{rounding}.f64", *["f64"] * 3)


def _extremes(name: str) -> Iterator[Spelling]:
    two, three = (tuple((n, "f32", 1) for n in names) for names in ("dab", "dabc"))
    for qualifiers in _opcodes(_FTZ, ("", ".NaN")):
        yield Spelling(f"{name}{qualifiers}.f32", (two, three))
        yield _alike(f"{name}{qualifiers}.xorsign.abs.f32", *["f32"] * 3)
        yield Spelling(f"{name}{qualifiers}.abs.f32", (three,), recent=True)
    for type_ in (*_INTEGERS, "u16x2", "s16x2", "relu.s32", "relu.s16x2", "f64"):
        yield _alike(f"{name}.{type_}", *[type_.removeprefix("relu.")] * 3)
    for type_, qualifiers in product(_HALVES, _opcodes(_FTZ, ("", ".NaN"), ("", ".xorsign.abs"))):
        yield _alike(f"{name}{qualifiers}.{type_}", *[type_] * 3)
    for type_, qualifiers in product(_BRAINS, _opcodes(("", ".NaN"), ("", ".xorsign.abs"))):
        yield _alike(f"{name}{qualifiers}.{type_}", *[type_] * 3)


def _signs(name: str) -> Iterator[Spelling]:
    for type_ in ("f32", "f16", "f16x2"):
        yield from (_alike(f"{name}{ftz}.{type_}", type_, type_) for ftz in _FTZ)
    for type_ in ("s32", "s16", "s64", "f64", *_BRAINS):
        yield _alike(f"{name}.{type_}", type_, type_)


def _functions(name: str) -> Iterator[Spelling]:
    """Functions of one value, each with what there is of it."""
    rounded = [(f"{rnd}{ftz}", "f32") for rnd in _NAMED for ftz in _FTZ] + [(rnd, "f64") for rnd in _NAMED]
    single = [(f".approx{ftz}", "f32") for ftz in _FTZ]
    brains = [(".approx.ftz", type_) for type_ in _BRAINS]
    forms = {
        "sqrt": [*single, *rounded],
        "rcp": [*single, *rounded, (".approx.ftz", "f64")],
        "rsqrt": [*single, *[(f".approx{ftz}", "f64") for ftz in _FTZ]],
        "ex2": [*single, *[(".approx", type_) for type_ in _HALVES], *brains],
        "lg2": single,
        "tanh": [(".approx", type_) for type_ in ("f32", *_HALVES, *_BRAINS)],
    }
    for qualifiers, type_ in forms[name]:
        yield _alike(f"{name}{qualifiers}.{type_}", type_, type_)


def _moves(name: str) -> Iterator[Spelling]:
    parts = {16: (2,), 32: (2, 4), 64: (2, 4), 128: (2, 4)}
    for type_ in ("b32", "b64", "b16", "b128", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64"):
        bits, lists = bits_of(type_), [((("d", type_, 1), ("a", type_, 1)))]
        for n in parts[bits] if type_[0] == "b" else ():
            part = f"b{bits // n}"
            lists += [(("d", type_, 1), ("a", part, n)), (("d", part, n), ("a", type_, 1))]
        yield Spelling(f"{name}.{type_}", tuple(lists))


def _conversions(name: str) -> Iterator[Spelling]:
    yield _alike(f"{name}.rn.f16.f32", "f16", "f32")
    yield from _packings(name)
    yield from _between_numbers(name)


_SIGNIFICANT = {"bf16": 8, "f16": 11, "f32": 24, "f64": 53}
"""Bits of each float, by which narrowing is told from widening."""


def _between_numbers(name: str) -> Iterator[Spelling]:
    integers = (*_INTEGERS, *_BYTES)
    significant = tuple(_SIGNIFICANT)
    for to, of in product(integers, integers):
        yield _alike(f"{name}.{to}.{of}", to, of)
        wider = bits_of(of) - (of[0] == "s") > bits_of(to) - (to[0] == "s")
        if wider or (to[0], of[0]) == ("u", "s"):
            yield _alike(f"{name}.sat.{to}.{of}", to, of)
    for to, of in product(integers, significant):
        if of == "bf16" and to in _BYTES:
            continue
        for rounding, ftz in product((".rzi", ".rni", ".rmi", ".rpi"), _FTZ if of == "f32" else ("",)):
            for sat in _SAT if of != "bf16" else ("",):
                yield _alike(f"{name}{rounding}{ftz}{sat}.{to}.{of}", to, of)
    yield from _between_floats(name)
    for to, of in product(significant, integers):
        if to == "bf16" and of in _BYTES:
            continue
        for rounding, ftz in product(_NAMED, _FTZ if to == "f32" else ("",)):
            for sat in _SAT if to != "bf16" else ("",):
                yield _alike(f"{name}{rounding}{ftz}{sat}.{to}.{of}", to, of)


def _between_floats(name: str) -> Iterator[Spelling]:
    for to, of in product(_SIGNIFICANT, _SIGNIFICANT):
        roundings: tuple[str, ...] = _NAMED if _SIGNIFICANT[to] < _SIGNIFICANT[of] else ("",)
        if to == of:
            roundings = ("", ".rzi", ".rni", ".rmi", ".rpi")
        elif of == "bf16" or (to, of) == ("bf16", "f16"):
            roundings = _ROUNDED
        for rounding, ftz in product(roundings, _FTZ if "f32" in (to, of) else ("",)):
            for sat in _SAT if "bf16" not in (to, of) else ("",):
                yield _alike(f"{name}{rounding}{ftz}{sat}.{to}.{of}", to, of)


def _packings(name: str) -> Iterator[Spelling]:
    """Into pairs and fours of narrow floats, and out of pairs."""
    for to, rounding in product(("f16x2", "bf16x2"), (".rn", ".rz")):
        for clamped in ("", ".relu", ".satfinite", ".relu.satfinite"):
            yield _alike(f"{name}{rounding}{clamped}.{to}.f32", to, "f32", "f32")
    for to, rounding in product(("f16", "bf16"), (".rn", ".rz")):
        for clamped in (".relu", ".satfinite", ".relu.satfinite"):
            yield _alike(f"{name}{rounding}{clamped}.{to}.f32", to, "f32")
    for to, relu in product(("e4m3x2", "e5m2x2"), ("", ".relu")):
        yield _alike(f"{name}.rn.satfinite{relu}.{to}.f32", to, "f32", "f32")
        yield _alike(f"{name}.rn.satfinite{relu}.{to}.f16x2", to, "f16x2")
        yield _alike(f"{name}.rn{relu}.f16x2.{to}", "f16x2", to)
    for satfinite in ("", ".satfinite"):
        yield _alike(f"{name}.rna{satfinite}.tf32.f32", "tf32", "f32")
    for rounding, relu in product((".rn", ".rz"), ("", ".relu")):
        yield _alike(f"{name}{rounding}{relu}.tf32.f32", "tf32", "f32")
    for to, relu in product(("e2m3x2", "e3m2x2", "e2m1x2"), ("", ".relu")):
        yield _alike(f"{name}.rn.satfinite{relu}.{to}.f32", to, "f32", "f32", recent=True)
        yield _alike(f"{name}.rn.satfinite{relu}.{to}.f16x2", to, "f16x2", recent=True)
        yield _alike(f"{name}.rn{relu}.f16x2.{to}", "f16x2", to, recent=True)
    for narrow, relu in product(("e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "e2m1x2"), ("", ".relu")):
        yield _alike(f"{name}.rn.satfinite{relu}.{narrow}.bf16x2", narrow, "bf16x2", recent=True)
        yield _alike(f"{name}.rn{relu}.bf16x2.{narrow}", "bf16x2", narrow, recent=True)
    for relu in ("", ".relu"):
        yield _alike(f"{name}.rn.satfinite{relu}.tf32.f32", "tf32", "f32", recent=True)
        yield _alike(f"{name}.rz.satfinite{relu}.tf32.f32", "tf32", "f32", recent=True)
    for qualifiers in _opcodes((".rz", ".rp"), ("", ".satfinite")):
        yield _alike(f"{name}{qualifiers}.ue8m0x2.f32", "ue8m0x2", "f32", "f32", recent=True)
        yield _alike(f"{name}{qualifiers}.ue8m0x2.bf16x2", "ue8m0x2", "bf16x2", recent=True)
    yield _alike(f"{name}.rn.bf16x2.ue8m0x2", "bf16x2", "ue8m0x2", recent=True)
    yield from _random_packings(name)


def _random_packings(name: str) -> Iterator[Spelling]:
    """Stochastic rounding: the last operand is random bits."""
    random: Typed = ("rbits", "b32", 1)
    for to, clamped in product(("f16x2", "bf16x2"), _opcodes(("", ".relu"), ("", ".satfinite"))):
        pair = (("d", to, 1), ("a", "f32", 1), ("b", "f32", 1), random)
        yield Spelling(f"{name}.rs{clamped}.{to}.f32", (pair,), recent=True)
    for to, relu in product(("e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4", "e2m1x4"), ("", ".relu")):
        four = (("d", to, 1), ("a", "f32", 4), random)
        yield Spelling(f"{name}.rs{relu}.satfinite.{to}.f32", (four,), recent=True)


_WRITTEN: dict[str, Callable[[str], Iterator[Spelling]]] = {
    "mov": _moves, "cvt": _conversions, "add": _sums, "sub": _sums, "mul": _products, "fma": _multiply_add,
    "div": _quotients, "min": _extremes, "max": _extremes, "abs": _signs, "neg": _signs,
    **dict.fromkeys(("sqrt", "rcp", "rsqrt", "ex2", "lg2", "tanh"), _functions),
}  # fmt: skip

MNEMONICS = tuple(_WRITTEN)


@cache
def spellings(mnemonic: str, recent: bool = False) -> tuple[Spelling, ...]:
    """What there is of an instruction: on every GPU of today, or only on the most recent ones."""
    return tuple(s for s in _WRITTEN[mnemonic](mnemonic) if s.recent == recent)
