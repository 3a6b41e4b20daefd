"""One view of a campaign, from its number to what has to be executed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tileproof.errors import AssumptionError, EmissionError, LayoutError
from tileproof.fuzz.agreement import compare
from tileproof.fuzz.build import checked
from tileproof.fuzz.execute.entry import Entry, Expected
from tileproof.fuzz.execute.expected import expected
from tileproof.fuzz.execute.harness import Fragment, entry
from tileproof.fuzz.execute.moves import executable, executed_family
from tileproof.fuzz.execute.points import UnexecutedError
from tileproof.fuzz.execute.refused import refused
from tileproof.fuzz.families import generate
from tileproof.fuzz.generate.choices import Choices
from tileproof.fuzz.oracle.description import Call
from tileproof.fuzz.rows import Chunk, Row, choices_of
from tileproof.proofs.report import Report
from tileproof.proofs.verdict import Verdict

TRAPPING = 256
"""Of so many views with a misaligned access one is executed, as a trap costs the device's worker two restarts."""


@dataclass(eq=False)
class Stages:
    """Milliseconds of each stage."""

    milliseconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            passed = 1e3 * (time.perf_counter() - start)
            self.milliseconds[stage] = self.milliseconds.get(stage, 0.0) + passed


@dataclass(frozen=True, eq=False)
class View:
    """A view as far as it was looked at; ``entry`` and ``expected`` are there if it is to be executed.

    ``undefined`` says that two instructions of a kind that must not do so write one byte. ``refused`` views are
    executed to see whether the refusal was needed.
    """

    row: Row
    entry: Entry | None = None
    expected: Expected | None = None
    undefined: bool = False
    refused: bool = False

    def executed(self, result: str, device: str, milliseconds: float) -> Row:
        """The row once the entry was executed; ``result`` is empty if what came out is as expected."""
        kind = "trapped" if result.startswith("trapped") else "differs"
        fault = f"executed: {result}" if result else ""
        if self.refused:
            fault = "" if result else "the refusal was not needed: the instruction does what the view says"
        return replace(
            self.row,
            executed="addresses" if self.refused else "emitted",
            result="agreed" if not result else result if kind == "trapped" else kind,
            faults=(*self.row.faults, fault) if fault else self.row.faults,
            milliseconds={**self.row.milliseconds, "execute": milliseconds},
            device=device,
        )


def look_at(chunk: Chunk, arch: str | None = None, *, legal: bool = False) -> Iterator[View]:
    """Every view of a chunk, in order; ``legal`` as for :func:`look`."""
    for number in chunk.numbers:
        choices = choices_of(chunk.seed, number, legal=legal)
        yield look(chunk.family, choices, chunk.seed, number, arch, judged=not legal)


def look(
    family: str,
    choices: Choices,
    seed: int = 0,
    number: int = 0,
    arch: str | None = None,
    *,
    judged: bool = True,
) -> View:
    """Generate, compare with brute force, and prepare what is proved and in order for execution.

    With ``arch`` only what that target has is prepared. Where brute force does not judge, only its opinion of
    where elements stand is heard, and hazards are no matter. An exception that the library does not document is
    a fault of the view.
    """
    stages = Stages()
    with stages.timed("generate"):
        call = generate(family, choices)
    row = Row(family, seed, number, call.form, call.scope, "raised", milliseconds=stages.milliseconds)
    try:
        if judged:
            with stages.timed("compare"):
                row, report = _compared(row, call)
        else:
            with stages.timed("check"):
                report = checked(call, hazards="ignore")
            row = replace(row, verdict=report.verdict.value)
        if report is not None and report.verdict is Verdict.REFUTED and not row.faults and judged:
            return _refused(row, call, report, stages, arch)
        if report is None or report.verdict is not Verdict.PROVED or row.faults or family not in executable():
            return View(row)
        return prepared(row, call, report, arch)
    except (LayoutError, AssumptionError):
        # What is compared never ends here.
        return View(replace(row, verdict="refused"))
    except Exception as error:  # noqa: BLE001 - whatever it is, it belongs into the store
        return View(replace(row, faults=(*row.faults, f"raised {type(error).__name__}: {error}")))


def _refused(row: Row, call: Call, report: Report, stages: Stages, arch: str | None) -> View:
    """What hardware can say of a refusal. Of those that most likely trap only some are asked."""
    trapping = any(name.endswith("aligned") for name in row.refuted)
    lacking = arch is not None and report.call.form.unsupported_reason(arch) is not None
    if lacking or (trapping and row.number % TRAPPING):
        return View(row)
    with stages.timed("refused"):
        made = refused(call, report)
    return View(row) if made is None else View(row, made.entry, made.expected, refused=True)


def _compared(row: Row, call: Call) -> tuple[Row, Report | None]:
    comparison = compare(call)
    told = replace(
        row,
        verdict=comparison.verdict,
        refuted=tuple(sorted(comparison.refuted)),
        hazards=tuple(sorted(comparison.hazards)),
        undecided=tuple(sorted(comparison.undecided)),
        faults=comparison.faults,
    )
    return told, comparison.report


def prepared(row: Row, call: Call, report: Report, arch: str | None = None) -> View:
    """A view that is said to be proved, with its code and what has to come out; times go into the row."""
    stages = Stages(dict(row.milliseconds))
    lacking = None if arch is None else report.call.form.unsupported_reason(arch)
    if lacking is not None:
        return View(replace(row, result=f"not executed: {lacking}"))
    try:
        with stages.timed("emit"):
            fragment = Fragment.of(report)
        with stages.timed("frame"):
            made, frame = entry(f"v{row.number}", fragment, call)
        with stages.timed("expect"):
            wanted = expected(frame)
    except EmissionError as error:
        return View(replace(row, milliseconds=stages.milliseconds, result=f"not emitted: {error}"))
    except UnexecutedError as reason:
        return View(replace(row, milliseconds=stages.milliseconds, result=f"not executed: {reason}"))
    undefined = executed_family(call).exclusive and not wanted.told.all()
    return View(replace(row, milliseconds=stages.milliseconds), made, wanted, undefined)
