"""A described view as a kernel in the peer's script language: one tile call, in the context that it stands in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

HEAD = """\
from tvm_tirx.script import tirx as T
from tvm_tirx.tirx.layout import ComposeLayout, R, S, TileLayout

"""

IN_SCOPE = {
    "tid": 'T.cuda.thread_idx("x")',
    "lane": "T.cuda.lane_id()",
    "warp": "T.cuda.warp_id()",
    "blk": 'T.cuda.block_idx("x")',
}
INDENT = "    "


@dataclass
class Kernel:
    """The text of a kernel while it is put together."""

    layouts: list[str] = field(default_factory=list)
    parameters: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)


def script(entry: dict[str, Any]) -> str:
    """A module that defines the kernel ``k``, for a described view."""
    kernel = Kernel()
    bound = _words(n for o in entry["operands"] if _is_parameter(o) for n in o["shape"])
    for name in entry.get("symbols", []):
        if name in bound:
            kernel.layouts.append(f'{name} = T.dynamic("{name}", "int32")')
        else:
            kernel.parameters.append(f"{name}: T.int32")
    arguments = [_operand(kernel, position, o) for position, o in enumerate(entry["operands"])]
    context = entry.get("context", [])
    used = _words([*arguments, *context, *entry.get("parameters", {}).values()])
    block = entry["block"]
    launch = f"grid={32 if 'blk' in used else 1}, block={block if isinstance(block, int) else tuple(block)}"
    instruction = f'T.ptx["{entry["opcode"]}"]'
    keywords = [f"{name}={value}" for name, value in entry.get("parameters", {}).items()]
    keywords.append(f'scope="{entry["scope"]}"')
    call = f"T.cuda.tile.apply({', '.join([instruction, *arguments, *keywords])})"
    parameters = ", ".join(kernel.parameters) or 'unused: T.Tensor((4,), "uint32")'
    lines = [f"T.device_entry(launch=T.cuda.LaunchConfig({launch}))"]
    lines += [f"{name} = {meaning}" for name, meaning in IN_SCOPE.items() if name in used]
    lines += [*kernel.body, *_nested(context, call)]
    function = ["@T.function", f"def k({parameters}):", *(INDENT + line for line in lines)]
    return HEAD + "\n".join([*kernel.layouts, *function]) + "\n"


def _words(texts: Iterable[Any]) -> set[str]:
    return {word for text in texts for word in re.findall(r"[A-Za-z_]\w*", str(text))}


def _is_parameter(operand: dict[str, Any]) -> bool:
    return operand["space"] == "global" and "backing" not in operand


def _nested(context: Sequence[str], call: str) -> list[str]:
    """The statements around the call, each loop or condition enclosing what follows."""
    lines, depth = [], 0
    for statement in context:
        margin = INDENT * depth
        if statement.startswith("else "):
            condition = statement.removeprefix("else ")
            lines += [f"{margin}{condition}:", f"{margin}{INDENT}T.evaluate(0)", f"{margin}else:"]
            depth += 1
        elif statement.startswith(("for ", "if ")):
            lines.append(f"{margin}{statement}:")
            depth += 1
        else:
            lines.append(margin + statement)
    return [*lines, INDENT * depth + call]


def _tuple(items: Iterable[Any]) -> str:
    return "(" + "".join(f"{item}, " for item in items).rstrip() + ")"


def _layout(operand: dict[str, Any]) -> str:
    if not operand.keys() & {"strides", "iters", "offset", "replica", "swizzle"}:
        return '"default"'
    parts = operand.get("iters")
    if parts is None:
        shape = operand["shape"]
        strides = operand.get("strides") or _row_major(shape)
        parts = list(zip(shape, strides, operand.get("axes", ["m"] * len(shape)), strict=True))
    spec = _factors("S", parts)
    if operand.get("replica"):
        spec += " + " + _factors("R", operand["replica"])
    for name, offset in operand.get("offset", {}).items():
        spec += f" + ({offset}) @ {_axis(name)}"
    layout = f"TileLayout({spec})"
    swizzle = operand.get("swizzle")
    return layout if swizzle is None else f"ComposeLayout({', '.join(map(str, swizzle))}, {layout})"


def _row_major(shape: Sequence[int]) -> list[int]:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return strides[::-1]


def _factors(kind: str, parts: Sequence[Sequence[Any]]) -> str:
    extents = _tuple(extent for extent, _, _ in parts)
    return f"{kind}[{extents} : {_tuple(f'({stride}) @ {_axis(name)}' for _, stride, name in parts)}]"


def _axis(name: str) -> str:
    return f'T.Axis.get("{name}")'


def _operand(kernel: Kernel, position: int, operand: dict[str, Any]) -> str:
    """Declares the tensor of an operand; the expression that selects the operand's view of it."""
    name: str = operand.get("name", f"A{position}")
    space, dtype = operand["space"], operand.get("dtype", "uint32")
    layout = f"L_{name}"
    kernel.layouts.append(f"{layout} = {_layout(operand)}")
    alignment = f", align={operand['align']}" if "align" in operand else ""
    shape = _tuple(operand["shape"])
    if "backing" in operand:
        _declared_over(kernel, name, f'{shape}, "{dtype}"', alignment, operand)
    elif space == "global":
        kernel.parameters.append(f'{name}: T.Tensor({shape}, "{dtype}", layout={layout}{alignment})')
    elif space == "shared":
        kernel.body.append(f'{name} = T.alloc_shared({shape}, "{dtype}", layout={layout}{alignment})')
    else:
        kernel.body.append(f"{name} = {_allocated(f'{shape}, {_quoted(dtype)}', layout, alignment)}")
    if "rearrange" in operand:
        sizes = "".join(f", {axis}={n}" for axis, n in operand.get("sizes", {}).items())
        kernel.body.append(f'V_{name} = {name}.rearrange("{operand["rearrange"]}"{sizes})')
        name = f"V_{name}"
    if "start" not in operand:
        return name
    bounds = zip(operand["start"], operand["extent"], strict=True)
    return f"{name}[{', '.join(f'{start} : {start} + {extent}' for start, extent in bounds)}]"


def _quoted(text: str) -> str:
    return f'"{text}"'


def _allocated(declared: str, layout: str, alignment: str) -> str:
    return f'T.alloc_tensor(ty_args=[T.Tensor({declared}, scope="local", layout={layout}{alignment})])'


def _declared_over(kernel: Kernel, name: str, declared: str, alignment: str, operand: dict[str, Any]) -> None:
    """A tensor declared at an element of other storage; ``align_claim`` is what the declaration says of it."""
    elements, at = operand["backing"]
    space = operand["space"]
    raw = f"({elements},), {_quoted(operand.get('dtype', 'uint32'))}"
    if space == "global":
        kernel.parameters.append(f"{name}_raw: T.Tensor({raw}{alignment})")
    elif space == "shared":
        kernel.body.append(f'{name}_raw = T.alloc_shared({raw}, layout="default"{alignment})')
    else:
        kernel.body.append(f"{name}_raw = {_allocated(raw, _quoted('default'), alignment)}")
    claim = f", align={operand['align_claim']}" if "align_claim" in operand else ""
    kernel.body.append(
        f"{name} = T.decl_tensor({name}_raw.ptr_to([{at}]), "
        f'ty_args=[T.Tensor({declared}, scope="{space}", layout=L_{name}{claim})])'
    )
