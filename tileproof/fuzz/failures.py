"""Disagreements as files that one can run: the smallest call that still shows one of each kind.

They are also kept in a Hypothesis example database, from which :func:`known_failures` gives them to a test.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

from tileproof.errors import FuzzError
from tileproof.fuzz.agreement import written
from tileproof.fuzz.build import checked
from tileproof.fuzz.example import Example
from tileproof.fuzz.families import generate
from tileproof.fuzz.generate.choices import Choices, smallest
from tileproof.fuzz.oracle.description import Call
from tileproof.fuzz.rows import Row, choices_of
from tileproof.fuzz.store import Store
from tileproof.report.reproduce import reproduction
from tileproof.report.whole import write_whole
from tileproof.spec.files import check_file

if TYPE_CHECKING:
    from hypothesis.database import ExampleDatabase

ROUNDS = 600
"""Calls that are tried for each failure that is made smaller."""

Again = Callable[[str, Choices], Row]
Test = TypeVar("Test", bound=Callable[..., Any])


@dataclass(frozen=True)
class Failure:
    """A disagreement of one kind. ``choices`` give the call (:meth:`Choices.replayed`), found as view ``number``."""

    family: str
    seed: int
    number: int
    kind: str
    faults: tuple[str, ...]
    choices: tuple[int, ...]

    @property
    def call(self) -> Call:
        return generate(self.family, Choices.replayed(self.choices))


def kind_of(fault: str) -> str:
    """The fault without its numbers: faults of one kind have one cause more often than not."""
    return "".join(c for c in fault.partition(";")[0].partition(" at {")[0] if not c.isdigit())[:100]


def failures(store: Store, again: Again | None, most: int) -> list[Failure]:
    """One failure for each family and kind in the store, at most so many, made minimal where ``again`` looks again.

    A view that no process survived is taken as it is. Those of tallied chunks follow from their numbers in a way that
    only their backend knows; the store has what is wrong with them.
    """
    found: dict[tuple[str, str], Failure] = {}
    seed = store.identity.seed
    for family, number, verdict, text in store.query(
        "SELECT family, number, verdict, text FROM faults WHERE NOT tallied ORDER BY family, number"
    ):
        key = family, kind_of(text)
        if key not in found and len(found) < most:
            choices = choices_of(seed, number)
            generate(family, choices)
            failure = Failure(family, seed, number, key[1], (text,), tuple(choices.drawn))
            found[key] = failure if again is None or verdict == "died" else minimal(failure, again)
    return list(found.values())


def minimal(failure: Failure, again: Again) -> Failure:
    """The smallest failure found that is of the same kind."""

    def faults(sequence: Sequence[int]) -> tuple[str, ...]:
        return again(failure.family, Choices.replayed(sequence)).faults

    def faulty(sequence: Sequence[int]) -> bool:
        return any(kind_of(fault) == failure.kind for fault in faults(sequence))

    if not faulty(failure.choices):
        return failure
    best = tuple(smallest(failure.choices, faulty, ROUNDS))
    return replace(failure, choices=best, faults=faults(best))


def write_failures(found: Sequence[Failure], folder: Path) -> list[Path]:
    """A spec file for each, or a Python program where a spec file cannot say it. Raises :class:`OutputError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FuzzError(f"{folder}: cannot be made: {error.strerror or error}") from error
    paths = []
    for failure in found:
        path, text = _file(failure, folder)
        write_whole(path, text)
        paths.append(path)
    return paths


def _file(failure: Failure, folder: Path) -> tuple[Path, str]:
    head = [
        *(f"DISAGREEMENT {fault}" for fault in failure.faults),
        f"The smallest one found from view {failure.number} of {failure.family}, seed {failure.seed}:",
        f"tileproof fuzz show {failure.family} {failure.seed} {failure.number}",
        f"choices: {json.dumps(failure.choices)}",
    ]
    comment = "".join(f"# {line}\n" for part in head for line in part.splitlines())
    stem = f"{failure.family}-{failure.seed}-{failure.number}"
    spec = _spec(failure.call)
    if spec is None:
        return folder / f"{stem}.py", comment + program(failure.call)
    return folder / f"{stem}.toml", comment + spec


def _spec(call: Call) -> str | None:
    """The call as a spec file, if that is read back and gets the same verdict."""
    try:
        report = checked(call)
        text = f"# The library says {report.verdict.value}.\n\n{reproduction(report.call)}"
        with TemporaryDirectory() as folder:
            path = Path(folder, "call.toml")
            path.write_text(text, encoding="utf-8")
            (again,) = check_file(path)
    except Exception:  # noqa: BLE001 - whatever the library does with the call, a program can always be written
        return None
    return text if again.report.verdict is report.verdict else None


def program(call: Call) -> str:
    """A program that makes the call and shows what the library and brute force say of it."""
    modules: dict[str, set[str]] = {}
    for kind in _kinds(call):
        modules.setdefault(kind.__module__, set()).add(kind.__name__)
    imports = [
        f"from {module} import {', '.join(sorted(kinds))}" for module, kinds in sorted(modules.items())
    ]
    return "\n".join(
        [
            "from tileproof.fuzz.agreement import compare, describe",
            *imports,
            "",
            f"call = {written(call)}",
            "print(describe(call, compare(call)))",
            "",
        ]
    )


def _kinds(value: Any) -> set[type]:
    if isinstance(value, tuple):
        return set().union(*map(_kinds, value))
    if not is_dataclass(value):
        return set()
    return {type(value)}.union(*(_kinds(getattr(value, f.name)) for f in fields(value)))


def key_of(family: str) -> bytes:
    """Under which key an example database has the failures of a family."""
    return f"tileproof.fuzz.calls:{family}".encode()


def database_at(place: str) -> ExampleDatabase:
    """A folder, or Redis at ``redis://host:port``. Raises :class:`FuzzError`."""
    try:
        from hypothesis.database import DirectoryBasedExampleDatabase
    except ImportError as error:
        raise FuzzError("an example database needs Hypothesis: pip install 'tileproof[fuzz]'") from error
    if "://" not in place:
        return DirectoryBasedExampleDatabase(place)
    if not place.startswith(("redis://", "rediss://")):
        raise FuzzError(f"--database {place}: neither a folder nor redis://host:port")
    try:
        from hypothesis.extra.redis import RedisExampleDatabase
        from redis import Redis
        from redis.exceptions import RedisError
    except ImportError as error:
        raise FuzzError(
            f"--database {place}: needs Redis's client: pip install 'tileproof[redis]'"
        ) from error
    try:
        client = Redis.from_url(place)
        client.ping()
    except (RedisError, ValueError, OSError) as error:
        raise FuzzError(f"--database {place}: no Redis answers: {error}") from error
    return RedisExampleDatabase(client)


def save(found: Sequence[Failure], database: ExampleDatabase) -> None:
    """Keep the choices of each failure."""
    for failure in found:
        database.save(key_of(failure.family), json.dumps(failure.choices).encode())


def saved(family: str, database: ExampleDatabase) -> list[Call]:
    """The calls whose choices are kept. What other versions of the generators kept gives other calls, all valid."""
    return [
        generate(family, Choices.replayed(choices))
        for choices in sorted(json.loads(value) for value in database.fetch(key_of(family)))
    ]


def known_failures(family: str, database: ExampleDatabase | str) -> Callable[[Test], Test]:
    """Decorates a Hypothesis test of one of :func:`~tileproof.fuzz.strategies.calls`: it begins with the calls that
    campaigns have failed on.

    Stands for one ``@hypothesis.example`` for each call that ``database`` (a folder, ``redis://...`` or Hypothesis's
    own object) has. Raises :class:`FuzzError` for a database that cannot be opened.
    """
    from hypothesis import example

    opened = database_at(database) if isinstance(database, str) else database
    examples = saved(family, opened)

    def decorated(test: Test) -> Test:
        for call in examples:
            test = example(Example(call))(test)
        return test

    return decorated
