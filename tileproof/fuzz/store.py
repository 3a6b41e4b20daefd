"""All that a campaign found out, in one SQLite file that anybody may query.

A chunk is written in one transaction: whatever ends a campaign, the store holds whole chunks, and the campaign goes
on from there. ``docs/campaigns.md`` lists the tables.
"""

from __future__ import annotations

import errno
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from tileproof.errors import FuzzError, InternalError
from tileproof.fuzz.rows import STRIDE, Chunk, Looked, Row, Tally
from tileproof.fuzz.schema import APPLICATION, SCHEMA, TABLES

BUSY_S = 30.0
"""Seconds to wait for another process that reads or writes the store."""

KINDS = ("refuted", "hazards", "undecided")


class StoreError(FuzzError):
    """A store that cannot be made, read or written; what was in it stays."""


@dataclass(frozen=True)
class Identity:
    """What all views of a store have in common. ``generator`` identifies the code that makes up views."""

    seed: int
    backend: str
    generator: str


class Store:
    """An open store. Use :meth:`create` or :meth:`open`."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.connection = connection
        self._forms: dict[tuple[str, str, str], int] = {}
        self._families: dict[str, int] = {}

    @classmethod
    def create(cls, path: Path, identity: Identity) -> Store:
        """The store of a campaign, made if the file is not there or empty.

        Raises :class:`StoreError` if the file holds something else, or another campaign.
        """
        try:
            if not path.exists() or path.stat().st_size == 0:
                store = cls(path, _connect(path, "rwc"))
                with store._transaction():
                    for statement in TABLES.split(";\n"):
                        store.connection.execute(statement)
                    store.connection.execute(f"PRAGMA application_id = {APPLICATION}")
                    store.connection.execute(f"PRAGMA user_version = {SCHEMA}")
                    store.connection.execute(
                        "INSERT INTO campaign VALUES (?, ?, ?)",
                        (identity.seed, identity.backend, identity.generator),
                    )
                return store
        except sqlite3.Error as error:
            raise _told(path, error) from error
        except OSError as error:
            raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from error
        store = cls.open(path)
        try:
            store._same(identity)
        except StoreError:
            store.close()
            raise
        return store

    @classmethod
    def open(cls, path: Path) -> Store:
        """A store that is there. Raises :class:`StoreError` if it is not one that this version reads."""
        if path.is_dir():
            raise StoreError(f"{path}: a folder; name a file in it")
        if not path.is_file():
            raise StoreError(f"{path}: no such store; `tileproof fuzz run --store {path}` makes one")
        connection = _connect(path, "rw")
        try:
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (schema,) = connection.execute("PRAGMA user_version").fetchone()
            if application != APPLICATION:
                raise StoreError(f"{path}: a database, but not the store of a campaign; name another file")
            if schema != SCHEMA:
                raise StoreError(
                    f"{path}: a store of schema {schema}, and this version reads schema {SCHEMA}; read it with the "
                    f"version that wrote it, or start a campaign in another file"
                )
        except sqlite3.DatabaseError as error:
            connection.close()
            raise _told(path, error) from error
        except StoreError:
            connection.close()
            raise
        return cls(path, connection)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.connection.close()

    @property
    def identity(self) -> Identity:
        return Identity(*self.query("SELECT seed, backend, generator FROM campaign")[0])

    def _same(self, wanted: Identity) -> None:
        """Raise :class:`StoreError` unless the store is that of this campaign."""
        found = self.identity
        for what in ("seed", "backend"):
            own, other = getattr(found, what), getattr(wanted, what)
            if own != other:
                raise StoreError(
                    f"{self.path}: holds a campaign of {what} {own}, asked was {what} {other}; "
                    f"leave the option out to resume it, or name another --store"
                )
        if found.generator != wanted.generator:
            raise StoreError(
                f"{self.path}: its views were made up by another version of the generators, which gives the same "
                f"numbers other views; it can be reported on, but not resumed: name another --store"
            )

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query. Raises :class:`StoreError`."""
        try:
            return self.connection.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            raise _told(self.path, error) from error

    def begin_run(
        self,
        started: str,
        families: Sequence[str],
        wanted: int | None,
        processes: str,
        versions: dict[str, str],
    ) -> int:
        """Note that a campaign is started or resumed; the number of the run."""
        with self._transaction():
            self.connection.execute(
                "INSERT INTO run (started, families, wanted, processes, versions) VALUES (?, ?, ?, ?, ?)",
                (started, json.dumps(list(families)), wanted, processes, json.dumps(versions)),
            )
            return int(self.connection.execute("SELECT last_insert_rowid()").fetchone()[0])

    def write(self, run: int, chunk: Chunk, found: Looked, seconds: float) -> None:
        """Keep a chunk, all of it or nothing; ``seconds`` is how long the run has taken by now.

        A chunk may be reported twice, and counts once. Raises :class:`StoreError`, and :class:`InternalError` if
        rows are missing.
        """
        rows = [row for row in found if isinstance(row, Row)]
        tallies = [tally for tally in found if isinstance(tally, Tally)]
        numbers = [row.number for row in rows]
        if not set(numbers) <= set(chunk.numbers) if tallies else numbers != list(chunk.numbers):
            raise InternalError(f"{chunk} came back as the views {numbers}")
        with self._transaction():
            execute = self.connection.execute
            family = self._family(chunk.family)
            overlapping = execute(
                "SELECT 1 FROM chunk WHERE family = ? AND first < ? AND first + views > ?",
                (family, chunk.numbers.stop, chunk.first),
            )
            if overlapping.fetchone() is not None:
                # Another campaign was here in the meantime. What it has not is still missing.
                return
            execute("INSERT INTO chunk VALUES (?, ?, ?, ?)", (family, chunk.first, chunk.views, run))
            self._write_rows(family, rows, tallied=bool(tallies))
            for tally in tallies:
                self._write_tally(tally)
            execute("UPDATE run SET seconds = ? WHERE id = ?", (seconds, run))

    def _write_rows(self, family: int, rows: Sequence[Row], *, tallied: bool) -> None:
        views, findings, faults = [], [], []
        for row in rows:
            view = family * STRIDE + row.number
            form = self._form(row.family, row.opcode, row.scope)
            times = json.dumps({stage: round(ms, 3) for stage, ms in row.milliseconds.items()})
            views.append((view, form, row.verdict, row.executed, row.result, row.device, times, tallied))
            findings += [(view, kind, name) for kind in KINDS for name in getattr(row, kind)]
            faults += [(view, text) for text in row.faults]
        many = self.connection.executemany
        many("INSERT OR IGNORE INTO view VALUES (?, ?, ?, ?, ?, ?, ?, ?)", views)
        many("INSERT OR IGNORE INTO finding VALUES (?, ?, ?)", findings)
        many("INSERT OR IGNORE INTO fault VALUES (?, ?)", faults)

    def _write_tally(self, tally: Tally) -> None:
        form, refuted = self._form(tally.family, tally.opcode, ""), json.dumps(tally.refuted)
        self.connection.execute(
            "INSERT INTO tally VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET views = views + excluded.views",
            (form, tally.verdict, refuted, tally.executed, tally.views),
        )

    def _family(self, name: str) -> int:
        if name not in self._families:
            self.connection.execute("INSERT OR IGNORE INTO family (name) VALUES (?)", (name,))
            found = self.connection.execute("SELECT id FROM family WHERE name = ?", (name,))
            self._families[name] = int(found.fetchone()[0])
        return self._families[name]

    def _form(self, family: str, opcode: str, scope: str) -> int:
        key = (family, opcode, scope)
        if key not in self._forms:
            own = (self._family(family), opcode, scope)
            self.connection.execute(
                "INSERT OR IGNORE INTO form (family, opcode, scope) VALUES (?, ?, ?)", own
            )
            found = self.connection.execute(
                "SELECT id FROM form WHERE family = ? AND opcode = ? AND scope = ?", own
            )
            self._forms[key] = int(found.fetchone()[0])
        return self._forms[key]

    def done(self) -> dict[str, list[range]]:
        """The numbers of the views of each family that were looked at, as ranges in increasing order that do not
        touch.
        """
        found: dict[str, list[range]] = {}
        for name, first, views in self.query(
            "SELECT name, first, views FROM chunk JOIN family ON family.id = chunk.family ORDER BY name, first"
        ):
            ranges = found.setdefault(name, [])
            if ranges and first <= ranges[-1].stop:
                ranges[-1] = range(ranges[-1].start, max(ranges[-1].stop, first + views))
            else:
                ranges.append(range(first, first + views))
        return found

    def tallies(self) -> list[Tally]:
        """Counts of views that have no rows of their own."""
        found = self.query(
            "SELECT family.name, opcode, verdict, refuted, views, executed FROM tally "
            "JOIN form ON form.id = tally.form JOIN family ON family.id = form.family"
        )
        return sorted(Tally(f, o, v, tuple(json.loads(refuted)), n, e) for f, o, v, refuted, n, e in found)

    def rows(self) -> Iterator[Row]:
        """Every view that has a row, by family and number."""
        findings: dict[int, dict[str, list[str]]] = {}
        for view, kind, name in self.query(
            "SELECT view, kind, obligation FROM finding ORDER BY view, kind, obligation"
        ):
            findings.setdefault(view, {}).setdefault(kind, []).append(name)
        faults: dict[int, list[str]] = {}
        for view, text in self.query("SELECT view, text FROM fault ORDER BY rowid"):
            faults.setdefault(view, []).append(text)
        seed = self.identity.seed
        for view, family, number, opcode, scope, verdict, executed, result, device, times in self.query(
            "SELECT id, family, number, opcode, scope, verdict, executed, result, device, milliseconds "
            "FROM views ORDER BY family, number"
        ):
            own = findings.get(view, {})
            refuted, hazards, undecided = (tuple(own.get(kind, ())) for kind in KINDS)
            yield Row(
                family, seed, number, opcode, scope, verdict, refuted, hazards, undecided, executed, result,
                tuple(faults.get(view, ())), json.loads(times), device,
            )  # fmt: skip

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All of it, or nothing."""
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            yield
            self.connection.execute("COMMIT")
        except BaseException as error:
            # What was noted of rows that are not there now has to be looked up again.
            self._forms.clear()
            self._families.clear()
            if self.connection.in_transaction:
                with suppress(sqlite3.Error):
                    self.connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error | OSError):
                raise _told(self.path, error) from error
            raise


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?mode={mode}"
    try:
        return sqlite3.connect(address, uri=True, timeout=BUSY_S, isolation_level=None)
    except sqlite3.Error as error:
        raise _told(path, error) from error


def _told(path: Path, error: sqlite3.Error | OSError) -> StoreError:
    """The error as what happened and what to do."""
    code = getattr(error, "sqlite_errorcode", None)
    primary = code & 0xFF if code is not None else None
    if primary == sqlite3.SQLITE_FULL or (isinstance(error, OSError) and error.errno == errno.ENOSPC):
        return StoreError(
            f"{path}: the disk is full; all that was reported before is kept. Make room, then give the same "
            f"command again to go on"
        )
    if primary == sqlite3.SQLITE_NOTADB:
        return StoreError(f"{path}: not the store of a campaign; name another file")
    if primary == sqlite3.SQLITE_CANTOPEN:
        return StoreError(f"{path}: cannot be opened; does its folder exist, and may you write there?")
    if primary == sqlite3.SQLITE_READONLY:
        return StoreError(f"{path}: may not be written")
    if primary == sqlite3.SQLITE_BUSY:
        return StoreError(
            f"{path}: another process has kept it locked for {BUSY_S:.0f} s; is a campaign running in it?"
        )
    return StoreError(
        f"{path}: {error}; all that was reported before is kept, and the same command goes on from there"
    )
