"""wgmma (PTX ISA 9.7.15.5.2, 9.7.15.6.3, 9.7.15.7; shapes: 9.7.15.2)."""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.contracts.architectures import Targets
from tileproof.contracts.parts import constant
from tileproof.contracts.syntax import (
    ALWAYS,
    Condition,
    Instruction,
    OperandSyntax,
    Quantity,
    Requires,
    Since,
    Slot,
    Value,
)

_HOPPER = Targets(exact=("sm_90a",))
_WIDTHS = tuple(range(8, 257, 8))
_INTEGER_WIDTHS = (8, 16, 24, *range(32, 257, 16))

_F16, _F8, _S8 = ("f16", "bf16"), ("e4m3", "e5m2"), ("s8", "u8")
_FLOATS = (*_F16, "tf32", *_F8)
_INTEGERS = (*_S8, "b1")
# K of a dense product. That of a sparse one is twice as much, and there is none of single bits.
_K = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32, "b1": 256}

# A thread holds 4 of each 64x8 elements of D (9.7.15.5.1.1); those of .f16 stand in pairs.
_PER_8_COLUMNS: dict[Value, int] = {"f16": 2, "f32": 4, "s32": 4}

_SYNC = Slot("sync", ".sync qualifier", ("sync",), mandatory=True)
_ALIGNED = Slot("aligned", ".aligned qualifier", ("aligned",), mandatory=True)

_HAS_FLOATS: Condition = {"atype": _FLOATS}
# Only 16-bit matrices can be transposed, and A only in shared memory ("Description").
_IS_TRANSPOSED: Condition = {"atype": _F16}


_PAIRED = ("tf32", "f16", "bf16")
"""The types of which a pair of threads holds the metadata of four."""


def _multiply(sparse: bool) -> Instruction:
    types = tuple(token for token in _K if not (sparse and token == "b1"))
    widths: dict[int, tuple[int, ...]] = {}
    for token in types:
        k = _K[token] * (2 if sparse else 1)
        widths[k] = _WIDTHS if token in _FLOATS else widths.get(k, _INTEGER_WIDTHS)
    shapes = {f"m64n{n}k{k}": (n, k) for k in sorted(widths) for n in widths[k]}
    metadata = (
        OperandSyntax("sp-meta", "registers", "read", bits=32),
        OperandSyntax("sp-sel", "immediate", "read", when={"atype": _PAIRED}, constants=(0, 1)),
        OperandSyntax(
            "sp-sel",
            "immediate",
            "read",
            when={"atype": tuple(token for token in types if token not in _PAIRED)},
            constants=(0,),
        ),
    )
    return Instruction(
        mnemonic="wgmma.mma_async.sp" if sparse else "wgmma.mma_async",
        section="9.7.15.6.3" if sparse else "9.7.15.5.2",
        summary=f"multiply {'a sparse and a dense matrix' if sparse else 'two matrices'} across a warpgroup",
        slots=(
            _SYNC,
            _ALIGNED,
            Slot("shape", "matrix shape", tuple(shapes), mandatory=True),
            Slot("satfinite", ".satfinite qualifier", ("satfinite",)),
            Slot("dtype", "type of D", ("f16", "f32", "s32"), mandatory=True),
            Slot("atype", "type of A", types, mandatory=True),
            Slot("btype", "type of B", types, mandatory=True),
            *(
                ()
                if sparse
                else (Slot("bitop", "bit operation", ("and",)), Slot("popc", ".popc qualifier", ("popc",)))
            ),
        ),
        operands=(
            OperandSyntax("d", "registers", "updated", "d_registers", 32, braced=ALWAYS),
            OperandSyntax("a", "registers", "read", 4, 32, braced=ALWAYS, instead=("descriptor",)),
            OperandSyntax("b-desc", "descriptor", "read"),
            *(metadata if sparse else ()),
            OperandSyntax("scale-d", "predicate", "read", constants=(0, 1), instead=("immediate",)),
            constant("imm-scale-a", -1, 1, when=_HAS_FLOATS),
            constant("imm-scale-b", -1, 1, when=_HAS_FLOATS),
            OperandSyntax(
                "imm-trans-a",
                "immediate",
                "read",
                when=_IS_TRANSPOSED,
                constants=(0, 1),
                given=("a", "descriptor"),
            ),
            constant("imm-trans-b", 0, 1, when=_IS_TRANSPOSED),
        ),
        quantities=(
            Quantity("m", "M", {"shape": dict.fromkeys(shapes, 64)}),
            Quantity("n", "N", {"shape": {shape: n for shape, (n, _) in shapes.items()}}),
            Quantity("k", "K", {"shape": {shape: k for shape, (_, k) in shapes.items()}}),
            Quantity(
                "d_registers",
                "registers of D",
                {"shape": {shape: n // 8 for shape, (n, _) in shapes.items()}, "dtype": _PER_8_COLUMNS},
            ),
        ),
        rules=tuple(_rules(types, sparse)),
        availability=(
            Since(ALWAYS, (8, 2) if sparse else (8, 0), _HOPPER, "wgmma"),
            Since({"atype": ("s8",), "btype": ("u8",)}, (8, 4), what="mixed signs"),
            Since({"atype": ("u8",), "btype": ("s8",)}, (8, 4), what="mixed signs"),
        ),
    )


def _rules(types: tuple[str, ...], sparse: bool) -> Iterator[Requires]:
    for token in types:
        k = _K[token] * (2 if sparse else 1)
        yield Requires({"atype": (token,)}, {"k": (k,)}, f"this is the K of .{token}", "9.7.15.2")
    integers = tuple(token for token in _INTEGERS if token in types)
    yield Requires(
        {"atype": integers}, {"n": _INTEGER_WIDTHS}, "integer products have these widths only", "9.7.15.2"
    )
    yield Requires({"atype": ("bf16", "tf32")}, {"dtype": ("f32",)}, "these types accumulate in .f32")
    yield Requires({"atype": ("f16", *_F8)}, {"dtype": ("f16", "f32")}, "these types accumulate in floats")
    yield Requires({"atype": integers}, {"dtype": ("s32",)}, "integers accumulate in .s32")
    for mixed in (("f16",), ("bf16",), ("tf32",), _F8, _S8, ("b1",)):
        if mixed[0] in types:
            yield Requires(
                {"atype": mixed}, {"btype": mixed}, "A and B have one type, or both 8-bit floats or integers"
            )
    yield Requires({"satfinite": ("satfinite",)}, {"atype": _S8}, ".satfinite is for integers")
    if not sparse:
        yield Requires({"atype": ("b1",)}, {"bitop": ("and",)}, "a single-bit product names its operation")
        yield Requires({"bitop": ("and",)}, {"atype": ("b1",)}, "only a single-bit product has an operation")
        yield Requires({"bitop": ("and",)}, {"popc": ("popc",)}, "the bits of the result are counted")
        yield Requires({"bitop": (None,)}, {"popc": (None,)}, "the bits of .and are counted")


def _synchronise(name: str, section: str, summary: str, *operands: OperandSyntax) -> Instruction:
    return Instruction(
        mnemonic=f"wgmma.{name}",
        section=section,
        summary=summary,
        slots=(_SYNC, _ALIGNED),
        operands=operands,
        availability=(Since(ALWAYS, (8, 0), _HOPPER, "wgmma"),),
    )


INSTRUCTIONS = (
    _multiply(sparse=False),
    _multiply(sparse=True),
    _synchronise("fence", "9.7.15.7.1", "order accesses to the registers of wgmma.mma_async"),
    _synchronise("commit_group", "9.7.15.7.2", "make a group of the wgmma.mma_async issued before"),
    _synchronise(
        "wait_group",
        "9.7.15.7.3",
        "wait until at most N groups of wgmma.mma_async are pending",
        OperandSyntax("N", "immediate", "read"),
    ),
)
