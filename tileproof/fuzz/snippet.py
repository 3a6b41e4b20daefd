"""A described call as a few lines of Python that make it and check it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tileproof.fuzz.oracle.description import Call, Factor, Function, Operand, Region, Symbol
from tileproof.fuzz.oracle.terms import Term

_AXES = {"lane": "laneid", "warp": "warpid"}


def text(term: Term, symbols: set[str]) -> str:
    """A term as an expression; what is no symbol is an axis."""
    if not isinstance(term, tuple):
        return str(term) if isinstance(term, int) or term in symbols else f"tp.{_AXES.get(term, term)}"
    operator, *arguments = term
    told = [text(argument, symbols) for argument in arguments]
    if operator in ("min", "max"):
        return f"tp.{operator}imum({', '.join(told)})"
    if operator == "not":
        return f"~{told[0]}"
    sign = {"all": "&", "any": "|"}.get(operator, operator)
    return f"({f' {sign} '.join(told)})"


def snippet(call: Call) -> str:
    """Lines that end in the check of the call, to paste below nothing at all."""
    known = {s.name for s in call.symbols}
    lines = ["import tileproof as tp"]
    if call.checker == "check_ewise":
        lines += ["from tileproof.scalars import functions", "", *_function(call.opcode), ""]
    lines += [_symbol(s) for s in call.symbols]
    declared: set[str] = set()
    for operand in call.operands:
        lines += _tensor(operand, known, declared)
    given = ", ".join(_argument(argument, known) for argument in call.arguments)
    opcode = repr(call.opcode) if call.checker == "check" else call.opcode.name
    keywords = {"scope": repr(call.scope), "block": str(call.block)}
    keywords |= {
        name: text(term, known)
        for name, term in (("active", call.guard), ("assume", call.assume), *call.parameters.items())
        if term is not None
    }
    told = ", ".join(f"{name}={value}" for name, value in keywords.items())
    return "\n".join([*lines, f"report = tp.{call.checker}({opcode}, {given}, {told})"])


def _symbol(symbol: Symbol) -> str:
    more = f", multiple_of={symbol.multiple_of}" if symbol.multiple_of != 1 else ""
    more += f", uniform={symbol.uniform!r}" if symbol.uniform != "grid" else ""
    return f'{symbol.name} = tp.symbol("{symbol.name}", {symbol.lo}, {symbol.hi}{more})'


def _tuple(items: list[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _tensor(operand: Operand, symbols: set[str], declared: set[str]) -> Iterator[str]:
    """The statement that makes a tensor, and before it that of its storage, unless they stand there already."""
    shape = _tuple([text(n, symbols) for n in operand.shape])
    start = f'"{operand.name}", {shape}, "{operand.tensor_dtype}"'
    align = f", align={operand.align}" if operand.space != "registers" else ""
    backing, storage = operand.backing, operand.storage
    if backing is not None and storage not in declared:
        declared.add(storage)
        unit = f"uint{8 * operand.storage_unit}"
        yield f'{storage} = tp.tensor("{storage}", ({backing.elements},), "{unit}", "{operand.space}"{align})'
    if operand.name in declared:
        return
    declared.add(operand.name)
    layout = _layout(operand, symbols)
    if backing is None:
        yield f'{operand.name} = tp.tensor({start}, "{operand.space}", layout={layout}{align})'
        return
    at = text(backing.at, symbols)
    yield (
        f'{operand.name} = {storage}.declare({shape}, "{operand.tensor_dtype}", layout={layout}, at={at}, '
        f'name="{operand.name}")'
    )


def _layout(operand: Operand, symbols: set[str]) -> str:
    def strided(stride: Term, axis: str) -> str:
        return text(stride, symbols) + ("" if axis == "m" else f" @ tp.{axis}")

    def strides(factors: tuple[Factor, ...]) -> str:
        extents = _tuple([text(f.extent, symbols) for f in factors])
        return f"{extents} : {_tuple([strided(f.stride, f.axis) for f in factors])}"

    spec = f"tp.S[{strides(operand.factors)}]"
    spec += "".join(f" + tp.R[{strides((replica,))}]" for replica in operand.replicas)
    spec += "".join(f" + ({strided(*offset)})" for offset in operand.offsets)
    s = operand.swizzle
    return f"tp.TileLayout({spec}" + (")" if s is None else f", tp.Swizzle({s.bits}, {s.base}, {s.shift}))")


def _argument(argument: Any, symbols: set[str]) -> str:
    kinds = {
        "tensor": lambda: _view(argument, symbols),
        "number": lambda: repr(argument.value),
        "index": lambda: text(argument.value, symbols),
        "constant": lambda: f'tp.constant({argument.value!r}, "{argument.dtype}")',
        "variable": lambda: f'tp.variable("{argument.value}", "{argument.dtype}")',
    }
    return kinds[argument.kind]()


def _view(operand: Operand, symbols: set[str]) -> str:
    """The steps from the tensor to the view that do something."""
    whole = [Region(0, n) if isinstance(n, int) else None for n in operand.shape]
    told = operand.name
    if list(operand.region) != whole:
        items = [_slice(r, r == w, symbols) for r, w in zip(operand.region, whole, strict=True)]
        told += f"[{', '.join(items)}]"
    if operand.read_as is not None:
        dtype = operand.dtype or f"uint{operand.read_as}"
        told += f'.view("{dtype}")'
    if operand.reshape is not None:
        told += f".view{_tuple([str(n) for n in operand.reshape])}"
    return told + ("" if operand.order is None else f".permute{_tuple([str(d) for d in operand.order])}")


def _slice(region: Region, whole: bool, symbols: set[str]) -> str:
    start = text(region.start, symbols)
    if whole or region.extent is None:
        return ":" if whole else start
    step = "" if region.step == 1 else f" : {region.step}"
    end = region.start + region.span if isinstance(region.start, int) else f"{start} + {region.span}"
    return f"{start} : {end}{step}"


def _function(function: Function) -> list[str]:
    parameters = ", ".join(f"{name}: tp.{dtype}" for name, dtype in function.parameters)
    return [
        "@tp.scalar_function",
        f"def {function.name}({parameters}) -> tp.{function.result}:",
        f"    return {_computed(function.body)}",
    ]


def _computed(term: Term) -> str:
    if not isinstance(term, tuple):
        return str(term)
    if term[0] == "cast":
        return f"tp.{term[2]}({_computed(term[1])})"
    operator, *arguments = term
    told = [_computed(argument) for argument in arguments]
    if operator in ("min", "max"):
        return f"functions.{operator}imum({', '.join(told)})"
    if operator in ("abs", "fma"):
        return f"{'' if operator == 'abs' else 'functions.'}{operator}({', '.join(told)})"
    return f"(-{told[0]})" if operator == "neg" else f"({f' {operator} '.join(told)})"
