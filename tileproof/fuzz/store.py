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
from tileproof.fuzz.rows import STRIDE, Chunk, Row

SCHEMA = 1

APPLICATION = 0x74706675
"""``tpfu``: SQLite's application id, by which a store is told from other databases."""

BUSY_S = 30.0
"""Seconds to wait for another process that reads or writes the store."""

KINDS = ("refuted", "hazards", "undecided")

TABLES = """
CREATE TABLE campaign (seed INTEGER NOT NULL, backend TEXT NOT NULL, generator TEXT NOT NULL);
CREATE TABLE run (
    id INTEGER PRIMARY KEY, started TEXT NOT NULL, families TEXT NOT NULL, wanted INTEGER, processes TEXT NOT NULL,
    versions TEXT NOT NULL, seconds REAL NOT NULL DEFAULT 0
);
CREATE TABLE family (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE form (
    id INTEGER PRIMARY KEY, family INTEGER NOT NULL REFERENCES family, opcode TEXT NOT NULL, scope TEXT NOT NULL,
    UNIQUE (family, opcode, scope)
);
CREATE TABLE chunk (
    family INTEGER NOT NULL REFERENCES family, first INTEGER NOT NULL, views INTEGER NOT NULL,
    run INTEGER NOT NULL REFERENCES run, PRIMARY KEY (family, first)
) WITHOUT ROWID;
CREATE TABLE view (
    id INTEGER PRIMARY KEY, form INTEGER NOT NULL REFERENCES form, verdict TEXT NOT NULL, executed TEXT NOT NULL,
    result TEXT NOT NULL, device TEXT NOT NULL, milliseconds TEXT NOT NULL
);
CREATE TABLE finding (
    view INTEGER NOT NULL REFERENCES view, kind TEXT NOT NULL, obligation TEXT NOT NULL,
    PRIMARY KEY (view, kind, obligation)
) WITHOUT ROWID;
CREATE TABLE fault (view INTEGER NOT NULL REFERENCES view, text TEXT NOT NULL, UNIQUE (view, text));
CREATE INDEX view_by_form ON view (form, verdict);
CREATE INDEX view_by_result ON view (executed, result) WHERE executed <> '';
CREATE INDEX finding_by_obligation ON finding (kind, obligation);
CREATE VIEW views AS
    SELECT view.id AS id, family.name AS family, view.id % 1099511627776 AS number, opcode, scope, verdict, executed,
           result, device, milliseconds
    FROM view JOIN form ON form.id = view.form JOIN family ON family.id = form.family;
CREATE VIEW findings AS
    SELECT views.*, finding.kind AS kind, finding.obligation AS obligation
    FROM finding JOIN views ON views.id = finding.view;
CREATE VIEW faults AS SELECT views.*, fault.text AS text FROM fault JOIN views ON views.id = fault.view;
"""


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

    def write(self, run: int, chunk: Chunk, rows: Sequence[Row], seconds: float) -> None:
        """Keep a chunk, all of it or nothing; ``seconds`` is how long the run has taken by now.

        A view that is there already stays as it is, so a chunk may be reported twice. Raises :class:`StoreError`,
        and :class:`InternalError` if rows are missing.
        """
        if [row.number for row in rows] != list(chunk.numbers):
            raise InternalError(f"{chunk} came back as the views {[row.number for row in rows]}")
        with self._transaction():
            execute = self.connection.execute
            family = self._family(chunk.family)
            execute(
                "INSERT OR IGNORE INTO chunk VALUES (?, ?, ?, ?)", (family, chunk.first, chunk.views, run)
            )
            for row in rows:
                self._write(family, row)
            execute("UPDATE run SET seconds = ? WHERE id = ?", (seconds, run))

    def _write(self, family: int, row: Row) -> None:
        view = family * STRIDE + row.number
        times = json.dumps({k: round(v, 3) for k, v in row.milliseconds.items()}, separators=(",", ":"))
        values = (view, self._form(row), row.verdict, row.executed, row.result, row.device, times)
        self.connection.execute("INSERT OR IGNORE INTO view VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        found = [(view, kind, name) for kind in KINDS for name in getattr(row, kind)]
        self.connection.executemany("INSERT OR IGNORE INTO finding VALUES (?, ?, ?)", found)
        faults = [(view, text) for text in row.faults]
        self.connection.executemany("INSERT OR IGNORE INTO fault VALUES (?, ?)", faults)

    def _family(self, name: str) -> int:
        if name not in self._families:
            self.connection.execute("INSERT OR IGNORE INTO family (name) VALUES (?)", (name,))
            found = self.connection.execute("SELECT id FROM family WHERE name = ?", (name,))
            self._families[name] = int(found.fetchone()[0])
        return self._families[name]

    def _form(self, row: Row) -> int:
        key = (row.family, row.opcode, row.scope)
        if key not in self._forms:
            own = (self._family(row.family), row.opcode, row.scope)
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

    def rows(self) -> Iterator[Row]:
        """Every view, by family and number."""
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
            "SELECT * FROM views ORDER BY family, number"
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
