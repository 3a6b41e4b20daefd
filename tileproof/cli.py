"""The command line. Exit codes: 0 proved, 1 refuted, 2 unusable input, 3 undecided or unsupported.

Answers go to standard output and complaints to standard error. Nothing that a file holds ends in a traceback.
"""

from __future__ import annotations

import _thread
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tileproof.console import UNUSABLE, complain, ended_well, show, show_sections
from tileproof.errors import InternalError, TileproofError
from tileproof.fuzz import commands as fuzz_commands

if TYPE_CHECKING:
    from tileproof.report.outcome import Outcome

app = typer.Typer(
    name="tileproof",
    help="Prove that tensor views meet the contract of a PTX instruction, then emit exactly that one.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(fuzz_commands.app, name="fuzz")


class Hazards(StrEnum):
    """What to do about calls that are legal and destroy data all the same."""

    WARN = "warn"
    ERROR = "error"
    IGNORE = "ignore"


class Format(StrEnum):
    """What is written for proven calls."""

    PTX = "ptx"
    CUDA = "cuda"


class Solver(StrEnum):
    """Who answers the questions of a certificate again."""

    CVC5 = "cvc5"
    Z3 = "z3"
    BITWUZLA = "bitwuzla"


Files = Annotated[
    list[Path], typer.Argument(metavar="FILE", help="Specs (.toml, .json) or Python programs (.py).")
]


def main() -> None:
    """Run the command line of this process."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A file may be named by bytes that the terminal has no letters for.
            stream.reconfigure(errors="backslashreplace")
    sys.unraisablehook = _postpone_interruption
    app(prog_name="tileproof")


def _postpone_interruption(ignored: sys.UnraisableHookArgs) -> None:
    """An interruption that arrives while an object is deleted would be told and forgotten: it comes again.

    Objects of Z3 whose making was interrupted complain when they are deleted, which is of no use to anybody.
    """
    if ignored.exc_type is KeyboardInterrupt:
        # Not at once: it would meet this function, which is part of the deletion.
        threading.Timer(0.05, _thread.interrupt_main).start()
    elif not str(getattr(ignored.object, "__module__", "")).startswith("z3."):
        sys.__unraisablehook__(ignored)


def _version(wanted: bool) -> None:
    if wanted:
        from tileproof.report.version import tileproof_version

        typer.echo(f"tileproof {tileproof_version()}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options that stand before a command."""


@app.command()
def check(
    files: Files,
    json: Annotated[bool, typer.Option("--json", help="Write the reports as JSON.")] = False,
    sarif: Annotated[bool, typer.Option("--sarif", help="Write what is not proved as SARIF 2.1.0.")] = False,
    hazards: Annotated[
        Hazards | None,
        typer.Option(help="What to do about hazards; by default what each call says, or warn."),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write a certificate of each verdict into this folder."),
    ] = None,
) -> None:
    """Prove every call of specs or Python programs. A Python program is run."""
    if json and sarif:
        raise typer.BadParameter("--json and --sarif exclude each other")
    with ended_well():
        from tileproof.report.outcome import exit_code, json_text, sarif_text

        outcomes = [_outcome(path, hazards) for path in files]
        for outcome in outcomes:
            if outcome.error is not None:
                complain(outcome.error)
        if json:
            typer.echo(json_text(outcomes))
        elif sarif:
            typer.echo(sarif_text(outcomes))
        else:
            _show_outcomes(outcomes)
        if certificate is not None:
            _write_certificates(outcomes, certificate)
        raise typer.Exit(exit_code(outcomes))


@app.command()
def audit(
    certificates: Annotated[
        list[Path], typer.Argument(metavar="CERT", help="Certificates (.json), or folders of them.")
    ],
    solver: Annotated[Solver, typer.Option(help="Who answers again.")] = Solver.CVC5,
    json: Annotated[bool, typer.Option("--json", help="Write the answers as JSON.")] = False,
) -> None:
    """Ask a solver every question of certificates again, from their text alone.

    Exit codes: 0 confirmed, 1 contradicted, 2 no certificate or changed since, 3 not confirmed.
    """
    with ended_well():
        from tileproof.proofs.solvers import version
        from tileproof.report import audited as report

        version(solver.value)
        results = [report.audited(path, solver.value) for path in report.certificates_in(certificates)]
        for result in results:
            if result.error is not None:
                complain(result.error)
        if json:
            typer.echo(report.audits_json(results))
        else:
            show(lambda: report.audits_view(results), lambda: report.audits_text(results))
        raise typer.Exit(report.exit_code(results))


@app.command()
def emit(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A spec (.toml, .json) or a Python program (.py).")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where the PTX goes; - is standard output.")
    ] = Path("-"),
    arch: Annotated[
        str | None, typer.Option(help="Target such as sm_90a; by default the oldest usual one that will do.")
    ] = None,
    kernel: Annotated[str | None, typer.Option(help="Which kernel, if a program builds several.")] = None,
    format: Annotated[
        Format, typer.Option(help="A whole kernel in PTX, or a CUDA C++ function for each of its calls.")
    ] = Format.PTX,
) -> None:
    """Prove every call of a file, then write its kernel as PTX, assembled as a check, or its calls as CUDA C++."""
    with ended_well():
        from tileproof.proofs.report import ContractError
        from tileproof.report.outcome import Outcome, exit_code
        from tileproof.report.whole import write_whole
        from tileproof.spec.build import Checked
        from tileproof.spec.kernel import cuda_text, kernel_text

        try:
            text, account = (cuda_text if format is Format.CUDA else kernel_text)(file, kernel, arch)
        except ContractError as error:
            complain(f"nothing is written, for a call is not proved:\n{error}")
            raise typer.Exit(exit_code([Outcome(str(file), (Checked(error.report),))])) from None
        if str(output) == "-":
            typer.echo(text, nl=False)
        else:
            write_whole(output, text)
        complain(account)


@app.command()
def explain(
    opcode: Annotated[
        str | None, typer.Argument(help="A full opcode such as ld.global.v4.b32, or a mnemonic such as ld.")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Write the catalogue as Markdown.")] = False,
    instructions: Annotated[
        bool, typer.Option("--instructions", help="Only the instructions, also those without a contract.")
    ] = False,
) -> None:
    """Show the contract of an opcode; without one, every instruction and obligation."""
    if (markdown or instructions) and opcode is not None:
        raise typer.BadParameter(
            "--markdown and --instructions are about the whole catalogue; leave the opcode out"
        )
    with ended_well():
        from tileproof.report import explain as explaining
        from tileproof.report import instruction_page

        if markdown and instructions:
            typer.echo(instruction_page.instructions_markdown(), nl=False)
        elif markdown:
            typer.echo(explaining.catalogue_markdown(), nl=False)
        elif instructions:
            show_sections(instruction_page.instruction_list())
        else:
            show_sections(explaining.catalogue() if opcode is None else explaining.explain(opcode))


@app.command()
def doctor() -> None:
    """Show what is installed and what is not: solvers, assemblers, GPUs."""
    with ended_well():
        from tileproof.report.doctor import doctor as examine

        sections, healthy = examine()
        show_sections(sections)
        if not healthy:
            raise typer.Exit(UNUSABLE)


def _outcome(path: Path, hazards: Hazards | None) -> Outcome:
    from tileproof.report.outcome import Outcome
    from tileproof.spec.files import check_file

    try:
        return Outcome(str(path), tuple(check_file(path, None if hazards is None else hazards.value)))
    except InternalError:
        raise
    except TileproofError as error:
        return Outcome(str(path), (), str(error))


def _write_certificates(outcomes: Sequence[Outcome], folder: Path) -> None:
    """One file for each call, by the name of its file and its number in it."""
    from tileproof.proofs.certificate import certificate_text
    from tileproof.report.whole import write_whole

    folder.mkdir(parents=True, exist_ok=True)
    numbers: Counter[str] = Counter()
    written = 0
    for outcome in outcomes:
        name = Path(outcome.file).name
        for checked in outcome.checked:
            numbers[name] += 1
            if checked.report.findings:
                write_whole(folder / f"{name}-{numbers[name]}.json", certificate_text(checked.report))
                written += 1
    complain(f"{written} certificate{'s' if written != 1 else ''} written to {folder}")


def _show_outcomes(outcomes: Sequence[Outcome]) -> None:
    from tileproof.report.outcome import outcomes_text, outcomes_view

    if any(outcome.checked for outcome in outcomes):
        show(lambda: outcomes_view(outcomes), lambda: outcomes_text(outcomes))
