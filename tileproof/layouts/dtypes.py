"""Element types: their width in bits. What the bits mean never matters to a contract."""

from __future__ import annotations

from tileproof.errors import LayoutError

BITS: dict[str, int] = {
    "bool": 8,
    **{f"{kind}{bits}": bits for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    "uint128": 128,
    "float16": 16,
    "bfloat16": 16,
    "float32": 32,
    "float64": 64,
    "float8_e4m3fn": 8,
    "float8_e5m2": 8,
    "float8_e8m0fnu": 8,
    "float6_e2m3fn": 6,
    "float6_e3m2fn": 6,
    "float4_e2m1fn": 4,
}

_SHORT = {
    **{f"{short}{bits}": f"{long}{bits}" for short, long in (("s", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)},
    **{f"b{bits}": f"uint{bits}" for bits in (8, 16, 32, 64, 128)},
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
}  # fmt: skip


def dtype_name(name: str) -> str:
    """The full name of an element type; PTX's short names (``f32``, ``b16``) are understood.

    Raises :class:`LayoutError` for an unknown type.
    """
    full = _SHORT.get(name, name)
    if full not in BITS:
        raise LayoutError(f"unknown element type {name!r}; the types are {', '.join(BITS)}")
    return full


def dtype_bits(name: str) -> int:
    """The width of an element in bits."""
    return BITS[dtype_name(name)]
