"""mma, mma.sp and mma.sp::ordered_metadata (PTX ISA 9.7.14.5.14, 9.7.14.6.3; block scaling: 9.7.14.3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from tileproof.contracts.architectures import Targets
from tileproof.contracts.syntax import (
    ALWAYS,
    ANY,
    Condition,
    Instruction,
    OperandSyntax,
    Quantity,
    Requires,
    Since,
    Slot,
    Value,
)

_F8 = ("e4m3", "e5m2")
_F8_F6_F4 = (*_F8, "e3m2", "e2m3", "e2m1")
_S8, _S4 = ("s8", "u8"), ("s4", "u4")


@dataclass(frozen=True, slots=True)
class _Products:
    """One group of syntax lines: types of A and B, which may mix, types of D, and shapes."""

    kind: str | None
    multiplicands: tuple[str, ...]
    accumulators: tuple[str, ...]
    shapes: tuple[str, ...]


_DENSE = (
    _Products(None, ("f16",), ("f16", "f32"), ("m8n8k4", "m16n8k8", "m16n8k16")),
    _Products(None, ("bf16",), ("f32",), ("m16n8k8", "m16n8k16")),
    _Products(None, ("tf32",), ("f32",), ("m16n8k4", "m16n8k8")),
    _Products(None, ("f64",), ("f64",), ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16")),
    _Products(None, _F8, ("f16", "f32"), ("m16n8k16", "m16n8k32")),
    _Products(None, _S8, ("s32",), ("m8n8k16", "m16n8k16", "m16n8k32")),
    _Products(None, _S4, ("s32",), ("m8n8k32", "m16n8k32", "m16n8k64")),
    _Products(None, ("b1",), ("s32",), ("m8n8k128", "m16n8k128", "m16n8k256")),
    _Products("kind::f8f6f4", _F8_F6_F4, ("f16", "f32"), ("m16n8k32",)),
    _Products("kind::mxf8f6f4", _F8_F6_F4, ("f32",), ("m16n8k32",)),
    _Products("kind::mxf4", ("e2m1",), ("f32",), ("m16n8k64",)),
    _Products("kind::mxf4nvf4", ("e2m1",), ("f32",), ("m16n8k64",)),
)
_SPARSE = (
    _Products(None, ("f16",), ("f16", "f32"), ("m16n8k16", "m16n8k32")),
    _Products(None, ("bf16",), ("f32",), ("m16n8k16", "m16n8k32")),
    _Products(None, ("tf32",), ("f32",), ("m16n8k8", "m16n8k16")),
    # The notes also speak of .m16n8k32 and of .f16 accumulators; no syntax line has them.
    _Products(None, _F8, ("f32",), ("m16n8k64",)),
    _Products(None, _S8, ("s32",), ("m16n8k32", "m16n8k64")),
    _Products(None, _S4, ("s32",), ("m16n8k64", "m16n8k128")),
)
# Only ordered metadata goes with a kind.
_ORDERED = (
    *_SPARSE,
    _Products("kind::f8f6f4", _F8_F6_F4, ("f16", "f32"), ("m16n8k64",)),
    _Products("kind::mxf8f6f4", _F8_F6_F4, ("f32",), ("m16n8k64",)),
    _Products("kind::mxf4", ("e2m1",), ("f32",), ("m16n8k128",)),
    _Products("kind::mxf4nvf4", ("e2m1",), ("f32",), ("m16n8k128",)),
)

# What Table 36 pairs with each kind: scale vector sizes, and types of the scales.
_SCALES: dict[Value, tuple[tuple[str | None, ...], tuple[str, ...]]] = {
    "kind::mxf8f6f4": ((None, "scale_vec::1X"), ("ue8m0",)),
    "kind::mxf4": ((None, "scale_vec::2X"), ("ue8m0",)),
    "kind::mxf4nvf4": (("scale_vec::2X", "scale_vec::4X"), ("ue8m0", "ue4m3")),
}
_HAS_SCALES: Condition = {"block_scale": ("block_scale",)}

_BITS: dict[Value, int] = {
    "f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "s32": 32, "b1": 1,
    **dict.fromkeys((*_F8_F6_F4, *_S8), 8), **dict.fromkeys(_S4, 4),
}  # fmt: skip
# These pack their 4-bit elements; elsewhere one of fewer than 8 bits stands in a byte ("Description").
_PACKED = ("kind::mxf4", "kind::mxf4nvf4")
_REGISTER: dict[Value, int] = {token: 64 if token == "f64" else 32 for token in _BITS}


def _tokens(products: tuple[_Products, ...], part: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(token for entry in products for token in getattr(entry, part)))


def _mnk(shape: str) -> tuple[int, int, int]:
    m, rest = shape.removeprefix("m").split("n")
    n, k = rest.split("k")
    return int(m), int(n), int(k)


def _quantities(products: tuple[_Products, ...], sparse: bool) -> Iterator[Quantity]:
    shapes = _tokens(products, "shapes")
    for place, letter in enumerate("mnk"):
        yield Quantity(letter, letter.upper(), {"shape": {shape: _mnk(shape)[place] for shape in shapes}})
    # A warp computes four products with .m8n8k4 of .f16, and one with everything else.
    fourfold: dict[tuple[Value, ...], int] = {
        (shape, token): 4 if (shape, token) == ("m8n8k4", "f16") else 1
        for shape, token in product(shapes, _tokens(products, "multiplicands"))
    }
    yield Quantity("products", "products of matrices", {}, {("shape", "atype"): fourfold})
    a, b = dict[tuple[Value, ...], int](), dict[tuple[Value, ...], int]()
    packed = _tokens(tuple(entry for entry in products if entry.kind in _PACKED), "shapes")
    for shape, token in product(shapes, _tokens(products, "multiplicands")):
        m, n, k = _mnk(shape)
        bits = (4 if token == "e2m1" and shape in packed else _BITS[token]) * fourfold[shape, token]
        # Half of a sparse A is stored (9.7.14.6.1).
        a[shape, token] = m * k * bits // (2 if sparse else 1) // (32 * _REGISTER[token])
        b[shape, token] = k * n * bits // (32 * _REGISTER[token])
    yield Quantity("a_registers", "registers of A", {}, {("shape", "atype"): a})
    yield Quantity("b_registers", "registers of B", {}, {("shape", "btype"): b})
    accumulated = dict[tuple[Value, ...], int]()
    for shape, token in product(shapes, _tokens(products, "accumulators")):
        m, n, _ = _mnk(shape)
        repeats = 4 if shape == "m8n8k4" and token != "f64" else 1
        accumulated[shape, token] = m * n * _BITS[token] * repeats // (32 * _REGISTER[token])
    yield Quantity("c_registers", "registers of C", {}, {("shape", "ctype"): accumulated})
    yield Quantity("d_registers", "registers of D", {}, {("shape", "dtype"): accumulated})
    for letter in "abcd":
        yield Quantity(f"{letter}_bits", "bits of a register", {f"{letter}type": _REGISTER})


def _kinds(products: tuple[_Products, ...]) -> tuple[str | None, ...]:
    return tuple(dict.fromkeys(entry.kind for entry in products))


def _rules(products: tuple[_Products, ...]) -> Iterator[Requires]:
    kinds = _kinds(products)
    for kind in kinds:
        of_kind = tuple(entry for entry in products if entry.kind == kind)
        when: Condition = {"kind": (kind,)} if len(kinds) > 1 else ALWAYS
        named = f".{kind}" if kind else "mma without a .kind"
        scale_vec, stype = _SCALES.get(kind, ((None,), ()))
        if stype:
            paired = f"Table 36 gives {named} these scales"
            yield Requires(when, {**_HAS_SCALES, "scale_vec": scale_vec}, paired, "9.7.14.3")
            yield Requires(when, {"stype": stype}, paired, "9.7.14.3")
        elif len(kinds) > 1:
            yield Requires(when, {"block_scale": (None,), "scale_vec": (None,)}, f"{named} has no scales")
            yield Requires(when, {"stype": (None,)}, f"{named} has no scales")
        if len(kinds) > 1:
            yield Requires(
                when, {"atype": _tokens(of_kind, "multiplicands")}, f"{named} multiplies these types"
            )
        for entry in of_kind:
            types = " and ".join(f".{token}" for token in entry.multiplicands)
            has: Condition = {**when, "atype": entry.multiplicands}
            yield Requires(
                has,
                {"shape": entry.shapes, "dtype": entry.accumulators},
                f"products of {types} have these shapes and accumulators",
            )
            yield Requires(has, {"btype": entry.multiplicands}, "the types of A and B belong together")
    for token in _tokens(products, "accumulators"):
        mixes = token == "f32" and products is _DENSE
        yield Requires(
            {"dtype": (token,)},
            {"ctype": ("f16", "f32") if mixes else (token,)},
            "C has the type of D; only .m8n8k4 adds .f16 to .f32",
        )
    yield Requires({"satfinite": ("satfinite",)}, {"atype": (*_S8, *_S4)}, ".satfinite is for integers")


_SCALED_RULE = Requires(
    {"scale_vec": ("scale_vec::2X",)},
    {"stype": ("ue8m0",)},
    "Table 36 pairs .ue4m3 with .scale_vec::4X",
    "9.7.14.3",
)
_LAYOUTS = "only .m8n8k4 of .f16 has other layouts than .row.col"
_DENSE_RULES = (
    Requires(
        {"dtype": ("f32",), "ctype": ("f16",)}, {"shape": ("m8n8k4",)}, "only .m8n8k4 adds .f16 to .f32"
    ),
    Requires(
        {"shape": tuple(s for s in _tokens(_DENSE, "shapes") if s != "m8n8k4")},
        {"alayout": ("row",), "blayout": ("col",)},
        _LAYOUTS,
    ),
    Requires({"atype": ("f64",)}, {"alayout": ("row",), "blayout": ("col",)}, _LAYOUTS),
    Requires({"atype": ("b1",)}, {"bitop": ("xor", "and")}, "a single-bit product names its operation"),
    Requires({"bitop": ("xor", "and")}, {"atype": ("b1",)}, "only a single-bit product has an operation"),
    Requires({"bitop": ("xor", "and")}, {"popc": ("popc",)}, "the bits of the result are counted"),
    Requires({"bitop": (None,)}, {"popc": (None,)}, "the bits of .xor or .and are counted"),
    Requires({"rounding": ("rn", "rz", "rm", "rp")}, {"atype": ("f64",)}, "rounding modes are for .f64"),
)


def _slots(products: tuple[_Products, ...]) -> Iterator[Slot]:
    """Rounding modes have no place in the syntax lines; ptxas takes them at the end."""
    dense = products is _DENSE
    yield Slot("sync", ".sync qualifier", ("sync",), mandatory=True)
    yield Slot("aligned", ".aligned qualifier", ("aligned",), mandatory=True)
    yield Slot("shape", "matrix shape", _tokens(products, "shapes"), mandatory=True)
    yield Slot("alayout", "layout of A", ("row", "col") if dense else ("row",), mandatory=True)
    yield Slot("blayout", "layout of B", ("row", "col") if dense else ("col",), mandatory=True)
    kinds = tuple(kind for kind in _kinds(products) if kind)
    if kinds:
        yield Slot("kind", "kind", kinds)
        yield Slot("block_scale", ".block_scale qualifier", ("block_scale",))
        yield Slot("scale_vec", "scale vector size", ("scale_vec::1X", "scale_vec::2X", "scale_vec::4X"))
    yield Slot("satfinite", ".satfinite qualifier", ("satfinite",))
    for part, letter in (
        ("accumulators", "d"),
        ("multiplicands", "a"),
        ("multiplicands", "b"),
        ("accumulators", "c"),
    ):
        yield Slot(f"{letter}type", f"type of {letter.upper()}", _tokens(products, part), mandatory=True)
    if kinds:
        yield Slot("stype", "type of the scales", ("ue8m0", "ue4m3"))
    if dense:
        yield Slot("bitop", "bit operation", ("xor", "and"))
        yield Slot("popc", ".popc qualifier", ("popc",))
        yield Slot("rounding", "rounding mode", ("rn", "rz", "rm", "rp"))


_MATRICES = tuple(
    OperandSyntax(
        letter,
        "registers",
        "written" if letter == "d" else "read",
        f"{letter}_registers",
        f"{letter}_bits",
        braced=ALWAYS,
    )
    for letter in "dabc"
)


def _selectors(shape: str, type_: str) -> int:
    """How many choices there are of the threads, out of four, that hold the metadata (PTX ISA 9.7.14.6.1)."""
    if shape == "m16n8k8" or (shape == "m16n8k16" and type_ != "tf32"):
        return 4
    return 2 if shape in ("m16n8k16", "m16n8k32") or (shape == "m16n8k64" and type_ in _S4) else 1


def _metadata(products: tuple[_Products, ...]) -> Iterator[OperandSyntax]:
    yield OperandSyntax("e", "registers", "read", bits=32)
    alike: dict[tuple[str, int], dict[str, None]] = {}
    for shape, type_ in product(_tokens(products, "shapes"), _tokens(products, "multiplicands")):
        alike.setdefault((shape, _selectors(shape, type_)), {})[type_] = None
    for (shape, count), types in alike.items():
        yield OperandSyntax(
            "f",
            "immediate",
            "read",
            when={"shape": (shape,), "atype": tuple(types)},
            constants=tuple(range(count)),
        )


def _scale(letter: str) -> Iterator[OperandSyntax]:
    yield OperandSyntax(f"scale-{letter}-data", "registers", "read", bits=32, when=_HAS_SCALES)
    # Of the pair {byte-id, thread-id}, either may be a number.
    yield OperandSyntax(
        f"selector-{letter}", "registers", "read", 2, 16, ALWAYS, when=_HAS_SCALES, constants=ANY
    )


_SCALE_OPERANDS = (*_scale("a"), *_scale("b"))

_CONSUMER_BLACKWELL = Targets(families=(120,))
_KINDS: Condition = {"kind": tuple(entry.kind for entry in _DENSE if entry.kind)}
_SHARED_AVAILABILITY = (
    Since(_KINDS, (8, 7), _CONSUMER_BLACKWELL, ".kind"),
    Since(
        {"kind": ("kind::mxf4nvf4",), "scale_vec": ("scale_vec::4X",), "stype": ("ue8m0",)},
        (9, 1),
        what=".scale_vec::4X of .ue8m0",
    ),
)

MMA = Instruction(
    mnemonic="mma",
    section="9.7.14.5.14",
    summary="multiply two matrices in the registers of a warp and add a third",
    slots=tuple(_slots(_DENSE)),
    operands=(*_MATRICES, *_SCALE_OPERANDS),
    quantities=tuple(_quantities(_DENSE, sparse=False)),
    rules=(*_rules(_DENSE), _SCALED_RULE, *_DENSE_RULES),
    availability=(
        Since(ALWAYS, (6, 4), Targets(70), "mma"),
        Since({"shape": ("m16n8k8",)}, (6, 5), Targets(75), ".m16n8k8"),
        Since({"atype": (*_S8, *_S4)}, (6, 5), Targets(75), "integer products"),
        Since({"atype": ("bf16", "tf32", "f64")}, (7, 0), Targets(80), ".bf16, .tf32 and .f64"),
        Since({"atype": ("b1",)}, (7, 0), Targets(75), "single-bit products"),
        Since(
            {"shape": ("m16n8k16", "m16n8k32", "m16n8k64", "m16n8k128", "m16n8k256")},
            (7, 0),
            Targets(80),
            "shapes of 16 rows and at least 16 columns",
        ),
        Since({"bitop": ("and",)}, (7, 1), Targets(80), ".and"),
        Since(
            {"atype": ("f64",), "shape": ("m16n8k4", "m16n8k8", "m16n8k16")},
            (7, 8),
            Targets(90),
            "shapes of 16 rows with .f64",
        ),
        Since({"atype": _F8}, (8, 4), Targets(89), ".e4m3 and .e5m2"),
        Since({"atype": _F8, "shape": ("m16n8k16",)}, (8, 7), what=".m16n8k16 with .e4m3 and .e5m2"),
        Since({"atype": _F8, "dtype": ("f16",)}, (8, 7), what=".f16 accumulators with .e4m3 and .e5m2"),
        *_SHARED_AVAILABILITY,
    ),
)

_SPARSE_SUMMARY = "multiply a sparse and a dense matrix in the registers of a warp and add a third"

MMA_SP = Instruction(
    mnemonic="mma.sp",
    section="9.7.14.6.3",
    summary=_SPARSE_SUMMARY,
    slots=tuple(_slots(_SPARSE)),
    operands=(*_MATRICES, *_metadata(_SPARSE)),
    quantities=tuple(_quantities(_SPARSE, sparse=True)),
    rules=tuple(_rules(_SPARSE)),
    availability=(
        Since(ALWAYS, (7, 1), Targets(80), "mma.sp"),
        Since({"atype": _F8}, (8, 4), Targets(89), ".e4m3 and .e5m2"),
    ),
)

MMA_SP_ORDERED = Instruction(
    mnemonic="mma.sp::ordered_metadata",
    section="9.7.14.6.3",
    summary=f"{_SPARSE_SUMMARY}; the indices of the metadata are sorted",
    slots=tuple(_slots(_ORDERED)),
    operands=(*_MATRICES, *_metadata(_ORDERED), *_SCALE_OPERANDS),
    quantities=tuple(_quantities(_ORDERED, sparse=True)),
    rules=(*_rules(_ORDERED), _SCALED_RULE),
    availability=(
        Since(ALWAYS, (8, 5), Targets(80), "mma.sp::ordered_metadata"),
        Since({"atype": _F8}, (8, 4), Targets(89), ".e4m3 and .e5m2"),
        *_SHARED_AVAILABILITY,
        Since(
            {"kind": _PACKED},
            (8, 7),
            Targets(exact=("sm_120a", "sm_121a")),
            "sparse .kind::mxf4 and .kind::mxf4nvf4",
        ),
    ),
)

INSTRUCTIONS = (MMA, MMA_SP, MMA_SP_ORDERED)
