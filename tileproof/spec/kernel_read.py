"""A document that describes a kernel, made into the kernel. Nothing in it is trusted: each call is proved."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tileproof.emit.kernel import POLICY, Kernel
from tileproof.errors import CallError
from tileproof.layouts.expressions import require_name
from tileproof.layouts.index import Index
from tileproof.layouts.layout import TileLayout
from tileproof.layouts.tensor import Tensor
from tileproof.scalars.function import LambdaExpr
from tileproof.scalars.serial import read as read_function
from tileproof.spec.build import Builder, placed
from tileproof.spec.kernel_declare import OfKernel
from tileproof.spec.read import json_data, validated

if TYPE_CHECKING:
    from tileproof.spec.kernel_model import (
        BarrierTable,
        EwiseTable,
        FillTable,
        KernelCallTable,
        KernelTable,
        LoopTable,
        ProvedTable,
        StatementTable,
    )
    from tileproof.spec.model import TensorTable

DEEPEST = 50
"""Blocks inside one another. A person writes a few; each takes some of the interpreter's stack."""


def kernel_of_json(text: str, source: str = "JSON") -> Kernel:
    """The kernel of a JSON document; ``source`` names it in messages.

    Raises :class:`SpecError` for a document that is no kernel, and :class:`ContractError` for a call that is
    not proved.
    """
    return kernel_of_tables(source, kernel_tables(source, json_data(source, text)))


def kernel_tables(source: str, data: Any) -> KernelTable:
    """Raises :class:`SpecError` naming every fault by its place."""
    from tileproof.spec.kernel_model import KERNEL_TABLES, KernelTable

    return validated(source, data, KernelTable, KERNEL_TABLES)


def kernel_of_tables(source: str, tables: KernelTable) -> Kernel:
    """The kernel that the tables describe, each call of it proved. Raises as :func:`kernel_of_json` does."""
    head = tables.kernel
    with placed(source, "kernel"):
        kernel = Kernel(
            head.name, block=head.block, cluster=head.cluster, ptx_version=head.ptx_version or (0, 0)
        )
    return _Reader(kernel, _Builder(source, tables, _OfDocument(kernel, tables))).read()


@dataclass
class _OfDocument(OfKernel):
    """Declares in the kernel; symbols are its integer parameters."""

    tables: KernelTable

    def tensor(self, name: str, table: TensorTable, shape: list[Index], layout: TileLayout | None) -> Tensor:
        if self.tables.tensors[name].dynamic:
            return self.kernel.shared(
                name, shape, table.dtype or "", layout=layout, align=table.align, dynamic=True
            )
        return super().tensor(name, table, shape, layout)


@dataclass
class _Builder(Builder):
    """What stands over other tensors is made when a statement names it: it may depend on loops around there."""

    tables: KernelTable

    def is_made_first(self, name: str) -> bool:
        return self.tables.tensors[name].over is None

    def title(self, name: str) -> str:
        return self.tables.tensors[name].title or name

    def known(self, place: str, name: str) -> Tensor:
        if name not in self.tables.tensors:
            with self.at(place):
                raise CallError(f"{name!r} is no tensor of this file: {self._known()}")
        return self._tensor(name, ())


@dataclass
class _Reader:
    """Writes the statements of the document into the kernel."""

    kernel: Kernel
    builder: _Builder
    functions: dict[str, LambdaExpr] = field(default_factory=dict)

    def read(self) -> Kernel:
        builder, tables = self.builder, self.builder.tables
        for name, scalar in tables.scalars.items():
            with builder.at(f"scalars.{name}"):
                self.kernel.scalar(name, dtype=scalar.dtype)
        for axis, index in tables.block_index.items():
            with builder.at(f"block_index.{axis}"):
                self._symbol(index.name, self.kernel.block_index(axis, index.count))
        for name, document in tables.functions.items():
            with builder.at(f"functions.{name}"):
                self.functions[name] = read_function(document)
        with builder.at("parameters"):
            self.kernel.order(tables.parameters)
        self._body(tables.body, "body", 0)
        for name in tables.tensors:
            builder.known(f"tensors.{name}", name)
        return self.kernel

    def _symbol(self, name: str, value: Index) -> None:
        require_name(name)
        if name in self.builder.symbols:
            raise CallError(f"the name {name} is taken; names are unique in a kernel")
        self.builder.symbols[name] = value

    def _body(self, body: list[StatementTable], place: str, depth: int) -> None:
        for number, statement in enumerate(body):
            here = f"{place}[{number}]"
            with self.builder.at(here):
                if depth >= DEEPEST:
                    raise CallError(f"blocks nest more than {DEEPEST} deep")
                self._statement(statement, here, depth)

    def _statement(self, statement: StatementTable, place: str, depth: int) -> None:
        body = statement.body or []
        if statement.call is not None:
            self._call(statement.call, f"{place}.call")
        elif statement.ewise is not None:
            self._ewise(statement.ewise, f"{place}.ewise")
        elif statement.raw is not None:
            self.kernel.raw(statement.raw)
        elif statement.fill is not None:
            self._fill(statement.fill, f"{place}.fill")
        elif statement.note is not None:
            self.kernel.note(statement.note)
        elif statement.assume is not None:
            (relation,) = self.builder.relations(f"{place}.assume", [statement.assume])
            self.kernel.assume(relation)
        elif statement.mbarrier is not None:
            self._barrier(statement.mbarrier, f"{place}.mbarrier")
        elif statement.when is not None:
            (relation,) = self.builder.relations(f"{place}.when", [statement.when])
            with self.kernel.when(relation):
                self._body(body, f"{place}.body", depth + 1)
        elif statement.loop is not None:
            self._loop(statement.loop, body, place, depth)

    def _loop(self, loop: LoopTable, body: list[StatementTable], place: str, depth: int) -> None:
        start, stop, step = (self.builder.number(n) for n in (loop.start, loop.stop, loop.step))
        with self.kernel.loop(loop.name, start, stop, step):
            self._symbol(loop.name, self.kernel.turns[-1])
            self._body(body, f"{place}.body", depth + 1)
        del self.builder.symbols[loop.name]

    def _call(self, call: KernelCallTable, place: str) -> None:
        with self.builder.at(place):
            self.kernel.apply(
                call.opcode,
                *self.builder.operands(place, call.operands),
                **self._keywords(call, place),
                **self.builder.parameters(place, call.parameters),
            )

    def _ewise(self, call: EwiseTable, place: str) -> None:
        with self.builder.at(f"{place}.function"):
            function = self.functions.get(call.function)
            if function is None:
                known = ", ".join(self.functions) or "it has none"
                raise CallError(f"{call.function!r} is no function of this file: {known}")
        with self.builder.at(place):
            operands: list[Any] = [*self.builder.operands(place, call.operands)]
            self.kernel.ewise(function, *operands, **self._keywords(call, place))

    def _keywords(self, call: ProvedTable, place: str) -> dict[str, Any]:
        policy = {name: getattr(call, name) for name in POLICY if getattr(call, name) is not None}
        return {
            "scope": call.scope,
            "assume": self.builder.relations(f"{place}.assume", call.assume),
            **policy,
        }

    def _fill(self, fill: FillTable, place: str) -> None:
        tensor = self.builder.known(f"{place}.registers", fill.registers)
        with self.builder.at(f"{place}.pattern"):
            pattern = self.builder.number(fill.pattern).value
            if pattern is None:
                raise CallError(f"a bit pattern is a constant, got {fill.pattern!r}")
            self.kernel.fill(tensor, pattern)

    def _barrier(self, table: BarrierTable, place: str) -> None:
        barrier = self.kernel.mbarrier(self.builder.known(f"{place}.tensor", table.tensor))
        at = self.builder.number(table.at)
        operand = [] if table.operand is None else [self.builder.number(table.operand)]
        if table.operation == "inval":
            if operand:
                raise CallError("inval has no operand")
            barrier.inval(at=at)
            return
        if not operand and table.operation != "arrive":
            raise CallError(f"{table.operation} needs an operand")
        getattr(barrier, table.operation)(*operand, at=at)
