"""Loads and stores of scalars and vectors, and what only hints at the caches (ISA 9.7.9.8 to .18)."""

from __future__ import annotations

import numpy as np

from tileproof.simulate.issue import Issue
from tileproof.simulate.operands import Tuple, spell
from tileproof.simulate.registry import Decoder, Execute, instruction, no_effect
from tileproof.simulate.scalars import B64, B128, F32, F64, TYPES, U64, Array, ScalarType, to_bits

MEMORY_TYPES = (*(TYPES[f"{kind}{bits}"] for kind in "bus" for bits in (8, 16, 32, 64)), B128, F32, F64)
SPACES = ("global", "shared", "shared::cta", "shared::cluster", "local", "param", "param::entry", "const")

ORDERING = (
    "weak",
    "volatile",
    "relaxed",
    "acquire",
    "release",
    "acq_rel",
    "mmio",
    "cta",
    "cluster",
    "gpu",
    "sys",
)
"""Memory order and scope: the machine executes in program order, one instruction at a time."""
CACHING = ("ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "unified")


def state_space(code: Decoder) -> str:
    """The state space of an opcode, `generic` where it names none; `param::entry` counts as `param`."""
    space = code.take(*SPACES) or "generic"
    return "param" if space == "param::entry" else space


class Access:
    """What `ld` and `st` have in common: `count` elements of `kind`, aligned to their total size in bytes
    (ISA 6.4.1).
    """

    def __init__(self, code: Decoder, vector: int, address: int) -> None:
        self.space = state_space(code)
        self.has_policy = code.flag("L2::cache_hint")
        code.ignore((*ORDERING, *CACHING), prefixes=("L1::", "L2::"))
        self.kind = code.scalar(*MEMORY_TYPES)
        word = code.take("v2", "v4", "v8")
        self.count = int(word[1]) if word else 1
        self.size = self.count * self.kind.bytes
        code.finish(operands=3 if self.has_policy else 2)
        if (self.kind == B128 and word) or self.size > 32 or (word == "v8" and self.kind.bits != 32):
            code.fail(f"{code.opcode}: there is no .{word} of {self.kind}")
        if self.size == 32 and self.space not in ("global", "generic"):
            code.fail(f"{code.opcode}: 256-bit accesses are for .global and generic addresses only")
        code.need_address(address)
        operand = code.operands[vector]
        found = len(operand.elements) if isinstance(operand, Tuple) else 1
        if found != self.count:
            code.fail(f"{code.opcode} moves {self.count} elements, but {spell(operand)} has {found}")

    def check_policy(self, issue: Issue) -> None:
        if self.has_policy:
            issue.read(2, B64)


def as_values(octets: Array, kind: ScalarType) -> Array:
    """Bytes (threads, size) -> one value of `kind` per thread; (threads, 2) words for `.b128`."""
    values = np.ascontiguousarray(octets).view(kind.dtype)
    return values if kind == B128 else values.reshape(-1)


def as_bytes(values: Array, kind: ScalarType) -> Array:
    """The inverse of `as_values`."""
    bits = values if kind == B128 else to_bits(values, kind)
    return np.ascontiguousarray(bits).view(np.uint8).reshape(values.shape[0], -1)


@instruction("ld", "ldu")
def ld(code: Decoder) -> Execute:
    """Loads may go to wider registers, which get the value extended by its type."""
    access = Access(code, vector=0, address=1)
    kind, size = access.kind, access.kind.bytes

    def execute(issue: Issue) -> None:
        access.check_policy(issue)
        data, known = issue.load(access.space, issue.addresses(1, access.space), access.size)
        for place, element in enumerate(issue.elements(0)):
            issue.write(
                element,
                kind,
                as_values(data[:, place * size : (place + 1) * size], kind),
                known=known,
                wider=True,
            )

    return execute


@instruction("st")
def st(code: Decoder) -> Execute:
    """Stores may come from wider registers, whose low bits count."""
    access = Access(code, vector=1, address=0)
    kind = access.kind

    def execute(issue: Issue) -> None:
        access.check_policy(issue)
        parts = [as_bytes(issue.read(element, kind, wider=True), kind) for element in issue.elements(1)]
        issue.store(access.space, issue.addresses(0, access.space), np.concatenate(parts, axis=1))

    return execute


@instruction("createpolicy")
def createpolicy(code: Decoder) -> Execute:
    """A cache eviction policy is opaque; here it is a number that says which word created it."""
    codes = {"evict_normal": 0x10, "evict_first": 0x12, "evict_last": 0x14, "evict_unchanged": 0x16}
    chosen = next((value for word, value in codes.items() if f"L2::{word}" in code.opcode.split(".")), 0x10)
    code.ignore(("fractional", "range", "cvt", "global", "L2"), prefixes=("L2::",))
    code.scalar(B64)
    code.finish(operands=(1, 2, 4))
    return lambda issue: issue.write(0, U64, np.full(issue.slots.size, chosen << 56, np.uint64))


@instruction("prefetch", "prefetchu", "discard", "applypriority")
def cache_control(code: Decoder) -> Execute:
    """Changes what a cache holds, never what memory holds."""
    code.ignore((*SPACES, "L1", "L2", "tensormap"), prefixes=("L2::",))
    code.finish(operands=(1, 2))
    return no_effect
