"""``tileproof fuzz``: campaigns on the command line.

Exit codes: 0 no disagreement, 1 a disagreement, 2 it cannot run, 130 stopped by Ctrl-C; the store goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tileproof.console import complain, ended_well, show_sections

if TYPE_CHECKING:
    from hypothesis.database import ExampleDatabase

    from tileproof.fuzz.backends import ViewBackend
    from tileproof.fuzz.campaign import Plan
    from tileproof.fuzz.rows import Chunk, Looked, Runner
    from tileproof.fuzz.store import Store

DISAGREED = 1
DEFAULT_VIEWS = 10_000

app = typer.Typer(
    help="Hold the contracts against brute force, the simulator or a GPU, on random views.",
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)


@app.callback()
@app.command()
def run(
    context: typer.Context,
    family: Annotated[
        list[str] | None,
        typer.Option(metavar="MNEMONIC", help="An instruction such as ld; may be repeated; by default all."),
    ] = None,
    views: Annotated[
        int | None,
        typer.Option(min=1, help="Views in all, those in the store included; 10000 without --time."),
    ] = None,
    time: Annotated[
        str | None, typer.Option(metavar="T", help="Give out no more work after so long: 90, 90s, 10m, 2h.")
    ] = None,
    backend: Annotated[
        str, typer.Option(metavar="NAME", help="Who looks at the views: brute-force, simulate, gpu, ...")
    ] = "brute-force",
    seed: Annotated[int, typer.Option(min=0, help="Campaigns of different seeds share no view.")] = 1,
    store: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where results are kept, to be resumed; fuzz-BACKEND-SEED.sqlite."),
    ] = None,
    processes: Annotated[
        int | None, typer.Option(min=1, help="Worker processes; by default one for each core, or each GPU.")
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="A Dask scheduler such as tcp://host:8786, or local."),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(metavar="PLACE", help="Example database for failures: a folder, or redis://host:port."),
    ] = None,
    maps: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Hardware maps for replay; the one in tests/hardware by default."),
    ] = None,
    minimize: Annotated[
        int, typer.Option(min=0, help="How many kinds of disagreement to make minimal and write to files.")
    ] = 20,
    json: Annotated[bool, typer.Option("--json", help="Write the report as JSON.")] = False,
) -> None:
    """Run a campaign, or resume it, then report on its store."""
    if context.invoked_subcommand is not None:
        _no_options_before(context)
        return
    with ended_well():
        from tileproof.fuzz import campaign
        from tileproof.fuzz.backends import backend_of
        from tileproof.fuzz.failures import database_at
        from tileproof.fuzz.store import Identity, Store

        families = campaign.families_of(family or ())
        seconds = None if time is None else campaign.seconds_of(time)
        wanted = DEFAULT_VIEWS if views is None and seconds is None else views
        chosen = backend_of(backend, maps)
        path = store or Path(f"fuzz-{backend}-{seed}.sqlite")
        examples = None if database is None else database_at(database)
        with Store.create(path, Identity(seed, backend, campaign.generator())) as opened:
            plan = campaign.Plan(families, seed, wanted, chosen.chunk)
            try:
                _looked(opened, plan, chosen, seconds, dask, processes)
            except KeyboardInterrupt:
                complain(f"all that was reported is in {path}; the same command goes on from there")
                raise
            _keep_failures(opened, chosen, minimize, examples)
            if _report(opened, json):
                raise typer.Exit(DISAGREED)


@app.command()
def report(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="The store of a campaign.")],
    json: Annotated[bool, typer.Option("--json", help="Write the report as JSON.")] = False,
) -> None:
    """Report on a store; nothing is run."""
    with ended_well():
        from tileproof.fuzz.store import Store

        with Store.open(store) as opened:
            if _report(opened, json):
                raise typer.Exit(DISAGREED)


@app.command()
def show(
    family: Annotated[str, typer.Argument(metavar="FAMILY", help="An instruction such as ld.")],
    seed: Annotated[int, typer.Argument(metavar="SEED", min=0)],
    number: Annotated[int, typer.Argument(metavar="NUMBER", min=0, help="The number of the view.")],
) -> None:
    """Show a view as a program, with what the library and brute force say of it."""
    with ended_well():
        from tileproof.errors import FuzzError
        from tileproof.fuzz.agreement import opinions
        from tileproof.fuzz.backend.brute_force import compared
        from tileproof.fuzz.failures import program
        from tileproof.fuzz.families import generate, mnemonics
        from tileproof.fuzz.rows import choices_of

        if family not in mnemonics():
            raise FuzzError(f"no family {family!r}; there are {', '.join(mnemonics())}")
        call = generate(family, choices_of(seed, number))
        comparison = compared(call)
        typer.echo(program(call))
        typer.echo("\n".join(f"# {line}" for line in opinions(comparison).splitlines()))
        if comparison.faults:
            raise typer.Exit(DISAGREED)


@app.command()
def record(
    output: Annotated[Path, typer.Option(metavar="DIR", help="Folder for GPU.maps.json.")] = Path(
        "tests/hardware"
    ),
    backend: Annotated[str, typer.Option(metavar="NAME", help="Whose maps: gpu or simulate.")] = "gpu",
    seed: Annotated[int, typer.Option(min=0, help="Of the tagged runs.")] = 1,
    device: Annotated[int, typer.Option(min=0, help="Number of the GPU.")] = 0,
) -> None:
    """Record hardware maps: where every instruction moves bytes, and what it computes."""
    with ended_well():
        from tileproof.errors import FuzzError
        from tileproof.fuzz.record import record_here

        if backend not in ("gpu", "simulate"):
            raise FuzzError(f"no maps are recorded of {backend!r}; there are gpu and simulate")
        chosen: Literal["gpu", "simulate"] = "gpu" if backend == "gpu" else "simulate"
        typer.echo(f"wrote {record_here(output, chosen, seed=seed, device=device)}")


def _no_options_before(context: typer.Context) -> None:
    """An option before a sub-command would be lost."""
    for name in context.params:
        if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE":
            raise typer.BadParameter(f"write --{name} after {context.invoked_subcommand}, not before it")


def _looked(
    store: Store,
    plan: Plan,
    backend: ViewBackend,
    seconds: float | None,
    dask: str | None,
    processes: int | None,
) -> None:
    """Run what is missing, with a progress bar on a terminal."""
    from tileproof.fuzz import campaign

    left = plan.left(store.done())
    if left == 0:
        return
    number = processes or backend.processes()
    runner: Runner
    if dask is None:
        from tileproof.fuzz.pool import PoolRunner

        runner = PoolRunner(backend.make, number) if backend.runner is None else backend.runner(number)
        who = f"{number} processes"
    else:
        from tileproof.fuzz.distributed import DaskRunner

        runner, who = DaskRunner(backend.make, dask, number), f"Dask at {dask}"
    setting = campaign.Setting(who, campaign.versions() | backend.versions())
    with _progress(left) as tell:
        campaign.run(store, plan, runner, setting, seconds, tell)
    for note in getattr(runner, "notes", ()):
        complain(note)


@contextmanager
def _progress(total: int | None) -> Iterator[Callable[[Chunk, Looked], None]]:
    """A bar on standard error, if that is a terminal, which counts views and those that disagree."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    times = (TimeElapsedColumn(), TimeRemainingColumn())
    faulty = 0
    with Progress(*columns, *times, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("views", total=total)

        from tileproof.fuzz.rows import Row

        def tell(chunk: Chunk, found: Looked) -> None:
            nonlocal faulty
            faulty += sum(isinstance(row, Row) and bool(row.faults) for row in found)
            text = f"views, {faulty} disagree" if faulty else "views"
            bar.update(task, advance=chunk.views, description=text)

        yield tell


def _keep_failures(store: Store, backend: ViewBackend, most: int, database: ExampleDatabase | None) -> None:
    """Write the smallest call of each kind of disagreement to a file, and its choices into an example database."""
    from tileproof.fuzz import failures

    found = failures.failures(store, backend.again, most)
    if not found:
        return
    folder = store.path.with_name(f"{store.path.name}.failures")
    for path in failures.write_failures(found, folder):
        complain(f"a disagreement is written to {path}")
    if database is None and find_spec("hypothesis") is not None:
        database = failures.database_at(str(folder / "examples"))
    if database is not None:
        failures.save(found, database)


def _report(store: Store, json: bool) -> bool:
    """Print the report; whether anything disagrees."""
    from tileproof.fuzz.summary import summary, summary_json, summary_sections

    found = summary(store)
    if json:
        typer.echo(summary_json(found))
    else:
        show_sections(summary_sections(found))
    return found.disagreeing > 0
