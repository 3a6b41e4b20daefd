"""tcgen05.mma with its sparse and weight-stationary forms (PTX ISA 9.7.16.10.9).

M, N and the exact types stand in the instruction descriptor, not in the spelling. The operand scale-input-d
exists on the targets of the family of sm_100 only, which is no matter of spelling either.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.contracts.architectures import Targets
from tileproof.contracts.instructions.tcgen05 import CTA_GROUP, CTAS, TCGEN05
from tileproof.contracts.syntax import (
    ALWAYS,
    Access,
    Condition,
    Instruction,
    Kind,
    OperandSyntax,
    Quantity,
    Requires,
    Since,
    Slot,
    Value,
)

_PLAIN = ("kind::f16", "kind::tf32", "kind::f8f6f4", "kind::i8")
_SCALED = ("kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4")
# K of a dense product (Table 39); bit 31 of the instruction descriptor makes 96 of 64 on sm_103a.
_K: dict[str, int] = {
    "kind::f16": 16, "kind::tf32": 8, "kind::f8f6f4": 32, "kind::i8": 32,
    "kind::mxf8f6f4": 32, "kind::mxf4": 64, "kind::mxf4nvf4": 64,
}  # fmt: skip
# What Table 56 pairs with each kind; without a size, .kind::mxf8f6f4 and .kind::mxf4 have .block32.
_SIZES: dict[str, tuple[str | None, ...]] = {
    "kind::mxf8f6f4": (None, "scale_vec::1X", "block32"),
    "kind::mxf4": (None, "scale_vec::2X", "block32"),
    "kind::mxf4nvf4": ("scale_vec::2X", "scale_vec::4X", "block16", "block32"),
}
_VECTORS = ("scale_vec::1X", "scale_vec::2X", "scale_vec::4X")
_BLOCKS = ("block16", "block32")
_OPERATIONS = ("fill", "use", "lastuse", "discard")

# The ISA up to 9.1 does not know sm_107a; ptxas 13.5 has there what it has on sm_103a.
_NOT_IN_FAMILIES = Targets(exact=("sm_100a", "sm_103a", "sm_107a", "sm_110a"))
_WITH_INTEGERS = Targets(exact=("sm_100a", "sm_110a"))

_IS_SCALED: Condition = {"kind": _SCALED}
_IS_PLAIN: Condition = {"kind": _PLAIN}
_LANE_WORDS: dict[Value, int] = {token: 4 * ctas for token, ctas in CTAS.items()}


def _tensor(name: str, access: Access = "read", when: Condition = ALWAYS) -> OperandSyntax:
    return OperandSyntax(name, "tensor address", access, bits=32, when=when)


def _multiplicands(a: tuple[OperandSyntax, ...], sparse: bool) -> tuple[OperandSyntax, ...]:
    return (
        _tensor("d-tmem", "updated"),
        *a,
        OperandSyntax("b-desc", "descriptor", "read"),
        *((_tensor("sp-meta-tmem"),) if sparse else ()),
        OperandSyntax("idesc", "descriptor", "read", bits=32),
    )


_TENSOR: tuple[Kind, ...] = ("tensor address",)
_ENABLE = OperandSyntax("enable-input-d", "predicate", "read", instead=("immediate",))


def _quantities(sparse: bool) -> Iterator[Quantity]:
    yield Quantity("ctas", "CTAs of the group", {"cta_group": CTAS})
    yield Quantity("k", "K", {"kind": {kind: k * (2 if sparse else 1) for kind, k in _K.items()}})


def _product(sparse: bool) -> Instruction:
    collectors = tuple(f"collector::a::{operation}" for operation in _OPERATIONS)
    is_shifted: Condition = {"ashift": ("ashift",)}
    a = (
        OperandSyntax("a-desc", "descriptor", "read", when={"ashift": (None,)}, instead=_TENSOR),
        # Rows are shifted in tensor memory only.
        _tensor("a-tmem", when=is_shifted),
    )
    return Instruction(
        mnemonic="tcgen05.mma.sp" if sparse else "tcgen05.mma",
        section="9.7.16.10.9.2" if sparse else "9.7.16.10.9.1",
        summary=f"multiply {'a sparse and a dense matrix' if sparse else 'two matrices'} into tensor memory",
        slots=(
            CTA_GROUP,
            Slot("kind", "kind", (*_PLAIN, *_SCALED), mandatory=True),
            Slot("block_scale", ".block_scale qualifier", ("block_scale",)),
            Slot("scale_vectorsize", "scale vector size", (*_VECTORS, *_BLOCKS)),
            Slot("ashift", ".ashift qualifier", ("ashift",)),
            Slot("collector", "collector usage", collectors),
        ),
        operands=(
            *_multiplicands(a, sparse),
            OperandSyntax(
                "disable-output-lane",
                "registers",
                "read",
                "lane_words",
                32,
                braced=ALWAYS,
                when=_IS_PLAIN,
                optional=True,
            ),
            _tensor("scale-A-tmem", when=_IS_SCALED),
            _tensor("scale-B-tmem", when=_IS_SCALED),
            _ENABLE,
            OperandSyntax(
                "scale-input-d",
                "immediate",
                "read",
                constants=range(16),
                when={"kind": ("kind::f16", "kind::tf32")},
                optional=True,
            ),
        ),
        quantities=(
            *_quantities(sparse),
            Quantity("lane_words", "words of the mask of lanes", {"cta_group": _LANE_WORDS}),
        ),
        rules=(
            Requires(_IS_SCALED, {"block_scale": ("block_scale",)}, "these kinds scale their matrices"),
            Requires(_IS_PLAIN, {"block_scale": (None,)}, "these kinds do not scale their matrices"),
            Requires(_IS_PLAIN, {"scale_vectorsize": (None,)}, "these kinds do not scale their matrices"),
            *(
                Requires(
                    {"kind": (kind,)},
                    {"scale_vectorsize": sizes},
                    f"Table 56 gives .{kind} these sizes",
                    "9.7.16.10.7.1",
                )
                for kind, sizes in _SIZES.items()
            ),
            Requires(is_shifted, _IS_PLAIN, ".ashift does not go with scales"),
            Requires(
                is_shifted,
                {"collector": (None, "collector::a::lastuse", "collector::a::discard")},
                "a shifted A neither fills the collector nor comes from it",
            ),
        ),
        availability=(
            TCGEN05,
            Since({"kind": ("kind::mxf4nvf4",)}, (8, 7), what=".kind::mxf4nvf4"),
            Since(
                {"block_scale": ("block_scale",), "scale_vectorsize": (None, *_BLOCKS)},
                (8, 8),
                what="scale vector sizes by block",
            ),
            Since({"scale_vectorsize": _VECTORS}, (8, 6), _NOT_IN_FAMILIES, ".scale_vec"),
            Since({"kind": ("kind::i8",)}, (8, 6), _WITH_INTEGERS, ".kind::i8"),
            *(
                (
                    Since(
                        {"kind": ("kind::mxf4", "kind::mxf4nvf4")},
                        (8, 6),
                        _NOT_IN_FAMILIES,
                        "sparse .kind::mxf4 and .kind::mxf4nvf4",
                    ),
                )
                if sparse
                else ()
            ),
        ),
    )


def _weight_stationary(sparse: bool) -> Instruction:
    collectors = tuple(f"collector::b{n}::{operation}" for n in range(4) for operation in _OPERATIONS)
    return Instruction(
        mnemonic="tcgen05.mma.ws.sp" if sparse else "tcgen05.mma.ws",
        section="9.7.16.10.9.4" if sparse else "9.7.16.10.9.3",
        summary=(
            f"multiply {'a sparse and a dense matrix' if sparse else 'two matrices'} into tensor memory, "
            "weight stationary"
        ),
        slots=(
            Slot("cta_group", "CTA group", ("cta_group::1",), mandatory=True),
            Slot("kind", "kind", _PLAIN, mandatory=True),
            Slot("collector", "collector usage", collectors),
        ),
        operands=(
            *_multiplicands((OperandSyntax("a-desc", "descriptor", "read", instead=_TENSOR),), sparse),
            _ENABLE,
            OperandSyntax("zero-column-mask-desc", "descriptor", "read", optional=True),
        ),
        quantities=tuple(_quantities(sparse)),
        availability=(
            TCGEN05,
            Since({"kind": ("kind::i8",)}, (8, 6), _WITH_INTEGERS, ".kind::i8"),
        ),
    )


INSTRUCTIONS = (
    _product(sparse=False),
    _product(sparse=True),
    _weight_stationary(sparse=False),
    _weight_stationary(sparse=True),
)
