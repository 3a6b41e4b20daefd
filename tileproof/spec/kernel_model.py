"""What may stand in a file that describes a whole kernel. Symbols, tensors and operands are those of any spec.

    [kernel]        its name and launch
    parameters      their names, in order
    [symbols.n]     an integer parameter        [scalars.alpha]   a parameter of a floating-point type
    [block_index.x] a name for the CTA's number along x
    [tensors.A]     global memory (a parameter), shared or local memory, registers, or over another's storage
    [functions.f]   a scalar function, as LambdaExpr.to_json writes it
    [[body]]        a statement: call, ewise, raw, fill, note, assume, mbarrier, or when and loop with a body

Inside a loop, its name stands for the number of the turn, from 0.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, PlainValidator, model_validator

from tileproof.spec.model import (
    TABLES,
    Expression,
    Extents,
    Hazards,
    OperandTable,
    Parameter,
    Positive,
    SymbolTable,
    Table,
    TensorTable,
    Text,
    Texts,
)


def _version(value: object) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2 or any(type(n) is not int or n < 0 for n in value):
        raise ValueError(f"needs major and minor, as in [8, 3], got {value!r}")
    return value[0], value[1]


Version = Annotated[tuple[int, int], PlainValidator(_version)]


class HeadTable(Table):
    """``[kernel]``."""

    name: Text
    block: Extents = (32,)
    cluster: Extents | None = None
    ptx_version: Version | None = None


class ScalarTable(Table):
    """``[scalars.NAME]``."""

    dtype: Text


class BlockIndexTable(Table):
    """``[block_index.AXIS]``: the name of ``%ctaid`` along the axis, and how many CTAs there are at the most."""

    name: Text
    count: Positive


class KernelTensorTable(TensorTable):
    """``[tensors.NAME]``. ``title`` is what the tensor is called where its key is not."""

    dynamic: bool = False
    title: Text | None = None

    @model_validator(mode="after")
    def _dynamic_is_shared(self) -> KernelTensorTable:
        if self.dynamic and self.space != "shared":
            raise ValueError("dynamic goes with space = 'shared'")
        return self


class ProvedTable(Table):
    """What all calls have, under the names of ``Kernel.apply``."""

    operands: Annotated[list[OperandTable], Field(min_length=1)]
    scope: Text = "thread"
    assume: Texts = Field(default_factory=list)
    hazards: Hazards | None = None
    budget: Positive | None = None


class KernelCallTable(ProvedTable):
    """``call``: what ``Kernel.apply`` takes."""

    opcode: Text
    parameters: dict[str, Parameter] = Field(default_factory=dict)


class EwiseTable(ProvedTable):
    """``ewise``: what ``Kernel.ewise`` takes; the destination is the first of the operands."""

    function: Text


class FillTable(Table):
    """``fill``: a bit pattern for each slot of registers."""

    registers: Text
    pattern: Expression


class BarrierTable(Table):
    """``mbarrier``: an operation on barrier ``at`` of a tensor of them."""

    operation: Literal["init", "arrive", "arrive_expect_tx", "wait", "inval"]
    tensor: Text
    at: Expression = 0
    operand: Expression | None = None


class LoopTable(Table):
    """``loop``: a name for the number of the turn, and the span of the variable."""

    name: Text
    start: Expression
    stop: Expression
    step: Expression = 1


STATEMENTS = ("call", "ewise", "raw", "fill", "note", "assume", "mbarrier", "when", "loop")


class StatementTable(Table):
    """One statement; ``when`` and ``loop`` have a ``body``."""

    call: KernelCallTable | None = None
    ewise: EwiseTable | None = None
    raw: Text | None = None
    fill: FillTable | None = None
    note: Text | None = None
    assume: Text | None = None
    mbarrier: BarrierTable | None = None
    when: Text | None = None
    loop: LoopTable | None = None
    body: list[StatementTable] | None = None

    @model_validator(mode="after")
    def _one_statement(self) -> StatementTable:
        written = [name for name in STATEMENTS if getattr(self, name) is not None]
        if len(written) != 1:
            raise ValueError(
                f"a statement is one of {', '.join(STATEMENTS)}; got {' and '.join(written) or 'none'}"
            )
        if (self.body is None) == (written[0] in ("when", "loop")):
            raise ValueError("when and loop have a body, other statements have none")
        return self


class KernelTable(Table):
    """A whole file."""

    kernel: HeadTable
    parameters: list[Text] = Field(default_factory=list)
    symbols: dict[str, SymbolTable] = Field(default_factory=dict)
    scalars: dict[str, ScalarTable] = Field(default_factory=dict)
    block_index: dict[Literal["x", "y", "z"], BlockIndexTable] = Field(default_factory=dict)
    tensors: dict[str, KernelTensorTable] = Field(default_factory=dict)
    functions: dict[str, dict[str, Any]] = Field(default_factory=dict)
    body: list[StatementTable] = Field(default_factory=list)


KERNEL_TABLES: dict[str, type[BaseModel]] = {
    **TABLES,
    "kernel": HeadTable,
    "scalars": ScalarTable,
    "block_index": BlockIndexTable,
    "tensors": KernelTensorTable,
    "body": StatementTable,
    "call": KernelCallTable,
    "ewise": EwiseTable,
    "fill": FillTable,
    "mbarrier": BarrierTable,
    "loop": LoopTable,
}
"""The model of the tables that stand under each key."""
