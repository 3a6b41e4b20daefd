"""From the tables of a spec file to tensors, views and reports. What they mean is what Python calls mean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tileproof.errors import CallError, LayoutError, TileproofError
from tileproof.layouts.expressions import (
    parse_index,
    parse_relation,
    parse_subscript,
    parse_value,
    require_name,
    thread_names,
)
from tileproof.layouts.index import Index, Relation, symbol
from tileproof.layouts.layout import S, TileLayout
from tileproof.layouts.rearrange import rearrange
from tileproof.layouts.swizzle import Swizzle
from tileproof.layouts.tensor import Tensor, tensor
from tileproof.layouts.text import parse_layout
from tileproof.layouts.view import ViewOperations
from tileproof.proofs.check import Hazards, check
from tileproof.proofs.report import Report
from tileproof.spec.errors import SpecError
from tileproof.spec.read import read_tables

FARTHEST_BIT = 64

if TYPE_CHECKING:
    from tileproof.spec.model import (
        CallTable,
        OperandTable,
        SpecTable,
        StepTable,
        SwizzleTable,
        SymbolTable,
        TensorTable,
    )

_OWN_KEYWORDS = frozenset(signature(check).parameters)


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
    try:
        builder = _Builder(path, tables)
        return [
            Checked(builder.report(number, call, hazards), call.expect, lines[number] if lines else None)
            for number, call in enumerate(tables.calls)
        ]
    except RecursionError as error:
        raise SpecError(f"{path}: tensors, steps or expressions build on each other too deep") from error


@dataclass
class _Builder:
    path: Path
    tables: SpecTable
    tensors: dict[str, Tensor] = field(default_factory=dict)
    symbols: dict[str, Index] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, table in self.tables.symbols.items():
            with self.at(f"symbols.{name}"):
                self.symbols[name] = _symbol(name, table)
        for name in self.tables.tensors:
            self.tensor(name, ())
        self.names = {**thread_names(), **self.symbols}

    @contextmanager
    def at(self, place: str) -> Iterator[None]:
        """Adds the file and the place in it to an error of what is built there."""
        try:
            yield
        except SpecError:
            raise
        except TileproofError as error:
            raise SpecError(f"{self.path}: {place}: {error}") from error

    def tensor(self, name: str, users: tuple[str, ...]) -> Tensor:
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
            space: Any = table.space or "global"
            return tensor(name, shape, table.dtype or "", space, layout=layout, align=table.align)
        if table.over not in self.tables.tensors:
            raise LayoutError(f"over {table.over!r}, which is no tensor of this file: {self._known()}")
        storage = self.tensor(table.over, (*users, name))
        with self.at(f"tensors.{name}.at"):
            start = self.size(table.at or 0)
        return storage.declare(shape, table.dtype, layout=layout, at=start, name=name)

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

    def report(self, number: int, call: CallTable, hazards: Hazards | None) -> Report:
        place = f"calls[{number}]"
        operands = [
            self._operand(f"{place}.operands[{position}]", table)
            for position, table in enumerate(call.operands)
        ]
        active = self._relations(f"{place}.active", call.active)
        assume = self._relations(f"{place}.assume", call.assume)
        parameters: dict[str, Any] = {}
        for name, value in call.parameters.items():
            with self.at(f"{place}.parameters.{name}"):
                if name in _OWN_KEYWORDS:
                    raise CallError(
                        f"not a parameter of an instruction; {name} stands beside parameters, if anywhere"
                    )
                parameters[name] = parse_value(value, self.names) if isinstance(value, str) else value
        with self.at(place):
            return check(
                call.opcode,
                *operands,
                scope=call.scope,
                block=call.block,
                cluster=call.cluster,
                active=active,
                assume=assume,
                hazards=hazards or call.hazards or "warn",
                **parameters,
            )

    def _relations(self, place: str, texts: list[str]) -> list[Relation]:
        found = []
        for position, text in enumerate(texts):
            with self.at(f"{place}[{position}]"):
                found.append(parse_relation(text, self.names))
        return found

    def _operand(self, place: str, table: OperandTable) -> ViewOperations:
        if table.tensor not in self.tensors:
            raise SpecError(
                f"{self.path}: {place}.tensor: {table.tensor!r} is no tensor of this file: {self._known()}"
            )
        view: ViewOperations = self.tensors[table.tensor]
        for position, step in enumerate(table.steps):
            with self.at(f"{place}.steps[{position}].{step.operation}"):
                view = self._step(view, step)
        return view

    def _step(self, view: ViewOperations, step: StepTable) -> ViewOperations:
        if step.slice is not None:
            return view[tuple(parse_subscript(str(item), self.names) for item in step.slice)]
        if step.sub is not None:
            return view.sub([self.number(n) for n in step.sub.start], step.sub.extent)
        if step.rearrange is not None:
            return rearrange(view.as_view(), step.rearrange, step.sizes)
        if step.permute is not None:
            return view.permute(*step.permute)
        if step.broadcast is not None:
            return view.broadcast(*step.broadcast)
        return view.view(step.view if isinstance(step.view, str) else [self.size(n) for n in step.view or ()])


def _symbol(name: str, table: SymbolTable) -> Index:
    require_name(name)
    return symbol(name, table.lo, table.hi, multiple_of=table.multiple_of, uniform=table.uniform)


def _bounded(swizzle: Swizzle | None) -> None:
    # Far bits are powers of two written out in full, so an absurd one would take all memory.
    if swizzle is not None and max(swizzle.bits, swizzle.base, abs(swizzle.shift)) > FARTHEST_BIT:
        raise LayoutError(f"{swizzle} counts bits of an offset, which has at most {FARTHEST_BIT}")


def _swizzle(table: SwizzleTable) -> Swizzle:
    if table.bits is None:
        return Swizzle.from_reference(table.per_element or 0, table.swizzle_len or 0, table.atom_len or 0)
    return Swizzle(table.bits, table.base or 0, table.shift or 0, table.unit or "element")
