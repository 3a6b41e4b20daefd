"""What every kernel written by hand has around its own lines."""

from __future__ import annotations

from collections.abc import Iterable

SENTINEL = "0xFFFFFCF7"


def entry(
    name: str, threads: int, parameters: Iterable[str], declared: Iterable[str], body: Iterable[str]
) -> str:
    """A module for sm_90a with one kernel; each parameter is a pointer to global memory in a register of its name."""
    names = list(parameters)
    listed = ",\n".join(f"    .param .u64 .ptr .global .align 256 {n}" for n in names)
    loaded = [
        line for n in names for line in (f"ld.param.u64 %{n}, [{n}];", f"cvta.to.global.u64 %{n}, %{n};")
    ]
    registers = [f".reg .b64 %{n};" for n in names]
    lines = "\n".join(f"    {line}" for line in (*registers, *declared, *loaded, *body, "ret;"))
    head = f".version 8.0\n.target sm_90a\n.address_size 64\n\n.visible .entry {name}(\n{listed}\n)"
    return f"{head}\n.reqntid {threads}, 1, 1\n{{\n{lines}\n}}\n"


def four(name: str, start: int = 0) -> str:
    """Four registers in a row as the operand of a vector instruction."""
    return "{" + ", ".join(f"%{name}{n}" for n in range(start, start + 4)) + "}"
