"""Slots, operands and rules that many records of the instruction table share."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tileproof.contracts.syntax import (
    ANY,
    Condition,
    OperandSyntax,
    Quantity,
    Requires,
    Second,
    Slot,
    Value,
)

BITS: Mapping[Value, int] = MappingProxyType(
    {
        "pred": 1,
        **dict.fromkeys(("b8", "u8", "s8"), 8),
        **dict.fromkeys(("b16", "u16", "s16", "f16", "bf16"), 16),
        **dict.fromkeys(("b32", "u32", "s32", "f32", "f16x2", "bf16x2"), 32),
        **dict.fromkeys(("b64", "u64", "s64", "f64"), 64),
        "b128": 128,
    }
)
"""Bits of a register of each type (PTX ISA 5.2.1)."""

REAL = ("f32", "f64")
"""Types whose constants are floating-point literals (PTX ISA 4.5.2)."""

VECTOR: Mapping[Value, int] = MappingProxyType({None: 1, "v2": 2, "v4": 4, "v8": 8})

SHARED = ("shared", "shared::cta", "shared::cluster")
OWN_SHARED = ("shared", "shared::cta")
SCOPES = ("cta", "cluster", "gpu", "sys")

TYPE_BITS = Quantity("bits", "register size in bits", {"type": BITS})
HINT = Slot("cache_hint", "cache hint", ("L2::cache_hint",))
HAS_HINT: Condition = {"cache_hint": HINT.tokens}


def flag(token: str, *, optional: bool = False) -> Slot:
    """A slot for one qualifier, which names it."""
    return Slot(token, f".{token} qualifier", (token,), mandatory=not optional)


def types(*tokens: str, name: str = "type", says: str = "type") -> Slot:
    """A mandatory slot for one of these types."""
    return Slot(name, says, tokens, mandatory=True)


def together(one: Slot, other: Slot, because: str) -> tuple[Requires, ...]:
    """Two slots that are both filled or both left out."""
    return (
        Requires({one.name: one.tokens}, {other.name: other.tokens}, because),
        Requires({other.name: other.tokens}, {one.name: one.tokens}, because),
    )


def written(
    name: str = "d",
    bits: str | int = "bits",
    *,
    when: Condition | None = None,
    sink: bool = False,
    second: Second | None = None,
) -> OperandSyntax:
    """A register that the instruction sets."""
    return OperandSyntax(name, "registers", "written", bits=bits, when=when or {}, sink=sink, second=second)


def read(
    name: str,
    bits: str | int = "bits",
    *,
    when: Condition | None = None,
    real: Condition | None = None,
    optional: bool = False,
    constants: range | tuple[int, ...] = ANY,
) -> OperandSyntax:
    """A register or a constant that the instruction reads."""
    return OperandSyntax(
        name,
        "registers",
        "read",
        bits=bits,
        when=when or {},
        real=real,
        optional=optional,
        constants=constants,
    )


def register(name: str, bits: int, *, when: Condition | None = None) -> OperandSyntax:
    """A register, and no constant, that the instruction reads."""
    return read(name, bits, when=when, constants=())


def constant(name: str, *constants: int, when: Condition | None = None) -> OperandSyntax:
    """One of these integer constants."""
    return OperandSyntax(name, "immediate", "read", when=when or {}, constants=constants or ANY)


def address(name: str, *, narrow: Condition | None = None, when: Condition | None = None) -> OperandSyntax:
    """An address that is read from or, for what the table is needed for, written to all the same."""
    return OperandSyntax(name, "address", "read", narrow=narrow, when=when or {})


def predicate(name: str, *, negatable: bool = False, when: Condition | None = None) -> OperandSyntax:
    """A predicate that the instruction reads."""
    return OperandSyntax(name, "predicate", "read", bits=1, negatable=negatable, when=when or {})


def set_predicate(
    name: str, *, when: Condition | None = None, sink: bool = False, second: Second | None = None
) -> OperandSyntax:
    """A predicate that the instruction sets."""
    return OperandSyntax(name, "predicate", "written", bits=1, when=when or {}, sink=sink, second=second)


POLICY = read("cache-policy", 64, when=HAS_HINT)
MEMBERMASK = read("membermask", 32)
