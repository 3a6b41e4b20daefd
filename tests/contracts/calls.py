"""What the tables of contracts are written in: short builders, and a demand with its two neighbours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import tileproof as tp
from tileproof.layouts.index import IndexLike
from tileproof.layouts.layout import S, Spec, TileLayout
from tileproof.layouts.swizzle import Swizzle
from tileproof.layouts.tensor import Tensor
from tileproof.layouts.view import View, ViewOperations
from tileproof.proofs.report import Report
from tileproof.proofs.verdict import Finding

PROVED, REFUTED, UNDECIDED = tp.Verdict.PROVED, tp.Verdict.REFUTED, tp.Verdict.UNDECIDED


def _layout(shape: tuple[int, ...], strides: Any, extra: Any, swizzle: Swizzle | None) -> TileLayout:
    spec: Spec = S[shape] if strides is None else S[shape:strides]
    return TileLayout(spec if extra is None else spec + extra, swizzle)


def registers(
    shape: tuple[int, ...],
    strides: Any = None,
    extra: Any = None,
    *,
    bits: int = 32,
    swizzle: Swizzle | None = None,
    name: str = "R",
) -> Tensor:
    """Registers with the given strides, by default compact; ``extra`` is added to the layout (offset or
    replicas).
    """
    return tp.tensor(name, shape, f"b{bits}", "registers", layout=_layout(shape, strides, extra, swizzle))


def memory(
    shape: tuple[int, ...],
    strides: Any = None,
    extra: Any = None,
    *,
    bits: int = 32,
    space: Any = "global",
    align: int | None = 64,
    swizzle: Swizzle | None = None,
    name: str = "A",
) -> Tensor:
    """Memory with the given strides, by default compact."""
    layout = _layout(shape, strides, extra, swizzle)
    return tp.tensor(name, shape, f"b{bits}", space, layout=layout, align=align)


def words_from(start: IndexLike, count: int = 4, size: int = 4096, bits: int = 32) -> View:
    """``count`` words of a long array."""
    return memory((size,), bits=bits)[start : start + count]


def one(bits: int = 32) -> Tensor:
    """A single register."""
    return registers((1,), bits=bits)


@dataclass(frozen=True)
class Setup:
    """The operands and keywords of a call whose opcode the table has."""

    operands: tuple[ViewOperations, ...]
    keywords: dict[str, Any]


def on(*operands: ViewOperations, **keywords: Any) -> Setup:
    return Setup(operands, keywords)


@dataclass(frozen=True)
class Neighbours:
    """A demand, a call that meets it by a hair, and one next to it that fails this demand and no other.

    ``told`` are fields of the counterexample that the wrong call has to give.
    """

    demand: str
    name: str
    legal: Setup
    wrong: Setup
    told: dict[str, Any] = field(default_factory=dict)
    opcode: str = "ld.global.v4.b32"

    def __str__(self) -> str:
        return f"{self.demand}: {self.name}"


def check(opcode: str, setup: Setup, **more: Any) -> Report:
    return tp.check(opcode, *setup.operands, **{**setup.keywords, **more})


def swapped(setup: Setup) -> Setup:
    """The same call of the opposite direction: a store for a load."""
    return Setup(setup.operands[::-1], setup.keywords)


def failing(report: Report) -> set[str]:
    """The demands that are not proved, without their family."""
    return {f.obligation.id.rpartition(".")[2] for f in report.failures}


def hazards(report: Report) -> set[str]:
    return {h.obligation.id.rpartition(".")[2] for h in report.hazards}


def first_failure(report: Report, demand: str) -> Finding:
    return next(f for f in (*report.failures, *report.hazards) if f.obligation.id.endswith(f".{demand}"))


def assert_neighbours(case: Neighbours) -> None:
    """The legal call is proved, the wrong one refuted by exactly this demand and with exactly these numbers."""
    legal = check(case.opcode, case.legal)
    assert legal.verdict is PROVED, str(legal)
    assert not legal.hazards, str(legal)
    wrong = check(case.opcode, case.wrong)
    assert wrong.verdict is REFUTED, str(wrong)
    assert failing(wrong) == {case.demand}, str(wrong)
    assert_told(first_failure(wrong, case.demand), case.told)


def assert_hazard(case: Neighbours) -> None:
    """The legal call has no hazard, the wrong one is legal too but for exactly this hazard."""
    legal = check(case.opcode, case.legal, hazards="error")
    assert legal.verdict is PROVED, str(legal)
    wrong = check(case.opcode, case.wrong)
    assert wrong.verdict is PROVED, str(wrong)
    assert hazards(wrong) == {case.demand}, str(wrong)
    assert_told(first_failure(wrong, case.demand), case.told)
    strict = check(case.opcode, case.wrong, hazards="error")
    assert strict.verdict is REFUTED
    assert failing(strict) == {case.demand}
    assert check(case.opcode, case.wrong, hazards="ignore").hazards == ()


def assert_told(finding: Finding, told: dict[str, Any]) -> None:
    example = finding.counterexample
    assert example is not None
    found = {name: getattr(example, name) for name in told}
    assert found == told, f"told {found} where {told} is right"
