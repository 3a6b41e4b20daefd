"""From the tables of a spec file to tensors, views and calls. What they mean is what Python calls mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tileproof.contracts.operands import Given
from tileproof.errors import CallError, LayoutError, TileproofError
from tileproof.layouts.expressions import (
    parse_index,
    parse_relation,
    parse_subscript,
    parse_value,
    require_name,
    thread_names,
)
from tileproof.layouts.index import Index, Relation
from tileproof.layouts.layout import S, TileLayout
from tileproof.layouts.rearrange import rearrange
from tileproof.layouts.swizzle import Swizzle
from tileproof.layouts.symbols import symbol
from tileproof.layouts.tensor import Tensor, tensor
from tileproof.layouts.text import parse_layout
from tileproof.layouts.view import ViewOperations
from tileproof.proofs.check import Hazards, check
from tileproof.proofs.report import ContractError, Report
from tileproof.scalars.expression import constant, variable
from tileproof.scalars.serial import restored
from tileproof.spec.errors import SpecError
from tileproof.spec.read import read_tables

FARTHEST_BIT = 64

_STOPPED = "interrupted from keyboard"
"""How Z3, which takes the signal itself, says that the user has stopped the program."""

if TYPE_CHECKING:
    from typing import Protocol

    from tileproof.spec.model import (
        CallTable,
        OperandTable,
        StepTable,
        SwizzleTable,
        SymbolTable,
        TensorTable,
    )

    class Tables(Protocol):
        """What the tables of any file with calls declare."""

        @property
        def symbols(self) -> Mapping[str, SymbolTable]: ...

        @property
        def tensors(self) -> Mapping[str, TensorTable]: ...


_OWN_KEYWORDS = frozenset(signature(check).parameters)


@contextmanager
def placed(source: Path | str, place: str) -> Iterator[None]:
    """Adds the file and the place in it to an error of what is built there."""
    try:
        yield
    except (SpecError, ContractError):
        raise
    except TileproofError as error:
        raise SpecError(f"{source}: {place}: {error}") from error
    except RecursionError as error:
        raise SpecError(f"{source}: {place}: builds on too many others") from error


class Declarations:
    """How symbols and tensors with storage of their own come into being; a kernel makes them its own."""

    def symbol(self, name: str, table: SymbolTable) -> Index:
        return symbol(name, table.lo, table.hi, multiple_of=table.multiple_of, uniform=table.uniform)

    def tensor(self, name: str, table: TensorTable, shape: list[Index], layout: TileLayout | None) -> Tensor:
        space: Any = table.space or "global"
        return tensor(name, shape, table.dtype or "", space, layout=layout, align=table.align)


@dataclass(frozen=True, eq=False)
class BuiltCall:
    """A call with its objects; ``place`` is where it stands in the file."""

    place: str
    table: CallTable
    operands: list[Given]
    active: list[Relation]
    assume: list[Relation]
    parameters: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Checked:
    """A call of a file: its report, the verdict that the file expects, if any, and its line where known."""

    report: Report
    expected: str | None = None
    line: int | None = None

    @property
    def as_expected(self) -> bool:
        return self.expected is None or self.report.verdict.value == self.expected


def check_spec(path: Path, hazards: Hazards | None = None) -> list[Checked]:
    """Check every call of a spec file in order. ``hazards``, if given, overrides what the calls say.

    Raises :class:`SpecError` for a file that cannot be used; a call that is refuted is an answer.
    """
    tables, lines = read_tables(path)
    builder = Builder(path, tables)
    with builder.at("the file"):
        return [
            Checked(_report(builder, call, hazards), call.table.expect, lines[number] if lines else None)
            for number, call in enumerate(builder.calls(tables.calls))
        ]


def _report(builder: Builder, call: BuiltCall, hazards: Hazards | None) -> Report:
    table = call.table
    with builder.at(call.place):
        report = check(
            table.opcode,
            *call.operands,
            scope=table.scope,
            block=table.block,
            cluster=table.cluster,
            active=call.active,
            assume=call.assume,
            hazards=hazards or table.hazards or "warn",
            **call.parameters,
        )
    if any(_STOPPED in reason for reason in (report.reason, *(f.reason for f in report.findings))):
        raise KeyboardInterrupt
    return report


@dataclass
class Builder:
    """Makes the objects of one file. Every error is a :class:`SpecError` with its place."""

    path: Path | str
    tables: Tables
    declarations: Declarations = field(default_factory=Declarations)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    symbols: dict[str, Index] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, table in self.tables.symbols.items():
            with self.at(f"symbols.{name}"):
                require_name(name)
                self.symbols[name] = self.declarations.symbol(name, table)
        for name in self.tables.tensors:
            if self.is_made_first(name):
                self._tensor(name, ())

    @property
    def names(self) -> dict[str, Index]:
        """What the names in an expression about a thread stand for."""
        return {**thread_names(), **self.symbols}

    def is_made_first(self, name: str) -> bool:  # noqa: ARG002 - for files whose tensors depend on statements
        """Whether a tensor is made before the first call is."""
        return True

    def title(self, name: str) -> str:
        """What the tensor under a name of the file is called."""
        return name

    def at(self, place: str) -> AbstractContextManager[None]:
        """Adds the file and the place in it to an error of what is built there."""
        return placed(self.path, place)

    def calls(self, tables: list[CallTable]) -> Iterator[BuiltCall]:
        """The calls in the order of the file, each built when it is asked for."""
        for number, table in enumerate(tables):
            place = f"calls[{number}]"
            operands = self.operands(place, table.operands)
            active = self.relations(f"{place}.active", table.active)
            assume = self.relations(f"{place}.assume", table.assume)
            yield BuiltCall(place, table, operands, active, assume, self.parameters(place, table.parameters))

    def operands(self, place: str, tables: list[OperandTable]) -> list[Given]:
        return [
            self._operand(f"{place}.operands[{position}]", table) for position, table in enumerate(tables)
        ]

    def _tensor(self, name: str, users: tuple[str, ...]) -> Tensor:
        """The tensor of that name, made when first asked for; ``users`` are those that stand over it."""
        if name not in self.tensors:
            if name in users:
                raise LayoutError(
                    f"these tensors stand over each other in a circle: {' over '.join((*users, name))}"
                )
            with self.at(f"tensors.{name}"):
                self.tensors[name] = self._made(name, self.tables.tensors[name], users)
        return self.tensors[name]

    def _made(self, name: str, table: TensorTable, users: tuple[str, ...]) -> Tensor:
        with self.at(f"tensors.{name}.shape"):
            shape = [self.size(n) for n in table.shape]
        layout = self._layout(name, table, shape)
        if table.over is None:
            return self.declarations.tensor(name, table, shape, layout)
        if table.over not in self.tables.tensors:
            raise LayoutError(f"over {table.over!r}, which is no tensor of this file: {self._known()}")
        storage = self._tensor(table.over, (*users, name))
        with self.at(f"tensors.{name}.at"):
            start = self.size(table.at or 0)
        return storage.declare(shape, table.dtype, layout=layout, at=start, name=self.title(name))

    def _layout(self, name: str, table: TensorTable, shape: list[Index]) -> TileLayout | None:
        layout = None
        if table.layout is not None:
            with self.at(f"tensors.{name}.layout"):
                layout = parse_layout(table.layout, self.symbols)
                _bounded(layout.swizzle)
        if table.swizzle is None:
            return layout
        with self.at(f"tensors.{name}.swizzle"):
            return (layout or TileLayout(S[tuple(shape)])).under(_swizzle(table.swizzle))

    def size(self, written: int | str) -> Index:
        """A number that does not depend on the thread."""
        return parse_index(str(written), self.symbols)

    def number(self, written: int | str) -> Index:
        return parse_index(str(written), self.names)

    def _known(self) -> str:
        return ", ".join(self.tables.tensors) or "it has none"

    def parameters(self, place: str, values: Mapping[str, int | str | bool]) -> dict[str, Any]:
        parameters: dict[str, Any] = {}
        for name, value in values.items():
            with self.at(f"{place}.parameters.{name}"):
                if name in _OWN_KEYWORDS:
                    raise CallError(
                        f"not a parameter of an instruction; {name} stands beside parameters, if anywhere"
                    )
                parameters[name] = parse_value(value, self.names) if isinstance(value, str) else value
        return parameters

    def relations(self, place: str, texts: list[str]) -> list[Relation]:
        found = []
        for position, text in enumerate(texts):
            with self.at(f"{place}[{position}]"):
                found.append(parse_relation(text, self.names))
        return found

    def _operand(self, place: str, table: OperandTable) -> Given:
        if table.scalar is not None:
            with self.at(f"{place}.scalar"):
                return self._scalar(table.scalar, table.dtype)
        if table.expression is not None:
            with self.at(f"{place}.expression"):
                return restored(table.expression)
        if table.tensor is None or table.tensor not in self.tables.tensors:
            raise SpecError(
                f"{self.path}: {place}.tensor: {table.tensor!r} is no tensor of this file: {self._known()}"
            )
        view: ViewOperations = self._tensor(table.tensor, ())
        for position, step in enumerate(table.steps):
            with self.at(f"{place}.steps[{position}].{step.operation}"):
                view = self._step(view, step)
        return view

    def _scalar(self, written: int | float | str, dtype: str | None) -> Given:
        if dtype is None:
            return parse_index(written, self.names) if isinstance(written, str) else written
        return variable(written, dtype) if isinstance(written, str) else constant(written, dtype)

    def _step(self, view: ViewOperations, step: StepTable) -> ViewOperations:
        if step.slice is not None:
            return view[tuple(parse_subscript(str(item), self.names) for item in step.slice)]
        if step.sub is not None:
            return view.sub([self.number(n) for n in step.sub.start], step.sub.extent)
        if step.rearrange is not None:
            arranged = rearrange(view.as_view(), step.rearrange, step.sizes)
            return arranged.after("rearrange", (step.rearrange, step.sizes))
        if step.permute is not None:
            return view.permute(*step.permute)
        if step.broadcast is not None:
            return view.broadcast(*step.broadcast)
        return view.view(step.view if isinstance(step.view, str) else [self.size(n) for n in step.view or ()])


def _bounded(swizzle: Swizzle | None) -> None:
    # Far bits are powers of two written out in full, so an absurd one would take all memory.
    if swizzle is not None and max(swizzle.bits, swizzle.base, abs(swizzle.shift)) > FARTHEST_BIT:
        raise LayoutError(f"{swizzle} counts bits of an offset, which has at most {FARTHEST_BIT}")


def _swizzle(table: SwizzleTable) -> Swizzle:
    if table.bits is None:
        return Swizzle.from_reference(table.per_element or 0, table.swizzle_len or 0, table.atom_len or 0)
    return Swizzle(table.bits, table.base or 0, table.shift or 0, table.unit or "element")
