"""Stores: what goes in comes out, whole chunks or nothing, and a message for every file that is none."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fuzz.chunks import plain
from tileproof.errors import InternalError
from tileproof.fuzz.backend.brute_force import looked
from tileproof.fuzz.families import generate
from tileproof.fuzz.rows import Chunk, Tally, choices_of
from tileproof.fuzz.schema import SCHEMA
from tileproof.fuzz.store import Identity, Store, StoreError
from tileproof.fuzz.summary import summary

PAGE = Path(__file__).parents[2] / "docs" / "campaigns.md"

IDENTITY = Identity(3, "brute-force", "0123")
CHUNKS = [Chunk("ld", 3, 0, 40), Chunk("st", 3, 0, 40), Chunk("ld", 3, 40, 25), Chunk("ld", 3, 200, 10)]


def filled(path: Path) -> Store:
    store = Store.create(path, IDENTITY)
    run = store.begin_run("2026-01-01T00:00:00+00:00", ["ld", "st"], 115, "2 processes", {"numpy": "2"})
    for n, chunk in enumerate(CHUNKS):
        store.write(run, chunk, plain(chunk), float(n))
    return store


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    with filled(tmp_path / "a.sqlite"):
        pass
    with Store.open(tmp_path / "a.sqlite") as store:
        expected = sorted((r for c in CHUNKS for r in plain(c)), key=lambda r: (r.family, r.number))
        assert list(store.rows()) == expected
        assert store.done() == {"ld": [range(65), range(200, 210)], "st": [range(40)]}
        assert store.identity == IDENTITY


@pytest.mark.parametrize("family", ["ld", "add", "ewise"])
def test_views_of_every_kind_of_family_are_kept_by_their_form(tmp_path: Path, family: str) -> None:
    chunk = Chunk(family, 3, 0, 4)
    with Store.create(tmp_path / "a.sqlite", IDENTITY) as store:
        run = store.begin_run("2026-01-01T00:00:00+00:00", [family], 4, "here", {})
        store.write(run, chunk, looked(chunk), 0.0)
        assert [row.opcode for row in store.rows()] == [
            generate(family, choices_of(3, n)).form for n in range(4)
        ]


def test_a_chunk_may_be_reported_twice(tmp_path: Path) -> None:
    with filled(tmp_path / "a.sqlite") as store:
        before = list(store.rows())
        store.write(1, CHUNKS[0], plain(CHUNKS[0]), 9.0)
        assert list(store.rows()) == before


def test_a_chunk_with_a_view_missing_is_not_kept(tmp_path: Path) -> None:
    with filled(tmp_path / "a.sqlite") as store:
        before = list(store.rows())
        chunk = Chunk("st", 3, 40, 5)
        for rows in (plain(chunk)[:-1], plain(chunk)[::-1], []):
            with pytest.raises(InternalError, match="came back as the views"):
                store.write(1, chunk, rows, 9.0)
        assert list(store.rows()) == before
        assert store.done()["st"] == [range(40)]


def test_the_views_of_the_database_have_names_for_everything(tmp_path: Path) -> None:
    with filled(tmp_path / "a.sqlite") as store:
        rows = list(store.rows())
        assert store.query(
            "SELECT count(*) FROM findings WHERE family = 'ld' AND kind = 'refuted' AND obligation = 'in-bounds'"
        ) == [(sum("in-bounds" in r.refuted for r in rows if r.family == "ld"),)]
        assert store.query("SELECT family, number, text FROM faults ORDER BY family, number") == [
            (r.family, r.number, text) for r in rows for text in r.faults
        ]
        assert store.query("SELECT max(json_extract(milliseconds, '$.check')) FROM views") == [
            (max(r.milliseconds["check"] for r in rows),)
        ]


def test_a_report_asks_indexes_and_no_table(tmp_path: Path) -> None:
    with filled(tmp_path / "a.sqlite") as store:
        for sql in (
            "SELECT form, verdict, count(*) FROM view GROUP BY form, verdict",
            "SELECT count(*) FROM finding WHERE kind = 'refuted' AND obligation = 'aligned'",
        ):
            (plan,) = {row[3] for row in store.query(f"EXPLAIN QUERY PLAN {sql}")}
            assert "COVERING INDEX" in plan


def test_a_hundred_thousand_views_take_few_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with Store.create(path, IDENTITY) as store:
        run = store.begin_run("", ["ld"], None, "", {})
        for first in range(0, 100_000, 10_000):
            chunk = Chunk("ld", 3, first, 10_000)
            store.write(run, chunk, plain(chunk), 1.0)
    assert path.stat().st_size < 40 << 20


def test_a_full_disk_keeps_what_was_reported(tmp_path: Path) -> None:
    with filled(tmp_path / "a.sqlite") as store:
        before, done = list(store.rows()), store.done()
        (pages,) = store.query("PRAGMA page_count")[0]
        store.query(f"PRAGMA max_page_count = {pages}")
        big = Chunk("ldmatrix", 3, 0, 5000)
        with pytest.raises(StoreError, match="the disk is full; all that was reported before is kept"):
            store.write(1, big, plain(big), 9.0)
        assert list(store.rows()) == before
        assert store.done() == done
        # There is room again: the same chunk, names of rows that were rolled back included, is written.
        store.query("PRAGMA max_page_count = 1000000")
        store.write(1, big, plain(big), 9.0)
        assert [r for r in store.rows() if r.family == "ldmatrix"] == plain(big)


class Failing:
    """A connection on which one statement fails."""

    def __init__(self, inner: sqlite3.Connection, word: str, error: Exception) -> None:
        self._inner, self._word, self._error = inner, word, error

    def execute(self, sql: str, parameters: object = ()) -> object:
        if sql.startswith(self._word):
            raise self._error
        return self._inner.execute(sql, parameters)  # type: ignore[arg-type]

    def executemany(self, sql: str, parameters: object) -> object:
        if sql.startswith(self._word):
            raise self._error
        return self._inner.executemany(sql, parameters)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)


@pytest.mark.parametrize("word", ["BEGIN", "INSERT OR IGNORE INTO view", "UPDATE run", "COMMIT"])
@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(28, "No space left on device"), "the disk is full"),
        (sqlite3.OperationalError("disk I/O error"), "disk I/O error; all that was reported before is kept"),
    ],
)
def test_a_write_that_fails_anywhere_leaves_nothing(
    tmp_path: Path, word: str, error: Exception, message: str
) -> None:
    with filled(tmp_path / "a.sqlite") as store:
        before, done, inner = list(store.rows()), store.done(), store.connection
        chunk = Chunk("st", 3, 40, 5)
        store.connection = Failing(inner, word, error)  # type: ignore[assignment]
        with pytest.raises(StoreError, match=message):
            store.write(1, chunk, plain(chunk), 9.0)
        store.connection = inner
        assert (list(store.rows()), store.done()) == (before, done)
        store.write(1, chunk, plain(chunk), 9.0)
        assert store.done()["st"] == [range(45)]


@pytest.mark.parametrize(
    ("identity", "message"),
    [
        (Identity(4, "brute-force", "0123"), "holds a campaign of seed 3, asked was seed 4"),
        (Identity(3, "gpu", "0123"), "holds a campaign of backend brute-force, asked was backend gpu"),
        (Identity(3, "brute-force", "9999"), "made up by another version of the generators"),
    ],
)
def test_a_store_is_of_one_campaign(tmp_path: Path, identity: Identity, message: str) -> None:
    filled(tmp_path / "a.sqlite").close()
    with pytest.raises(StoreError, match=message):
        Store.create(tmp_path / "a.sqlite", identity)
    with Store.create(tmp_path / "a.sqlite", IDENTITY) as store:
        assert len(list(store.rows())) == sum(c.views for c in CHUNKS)


def test_a_file_that_is_no_store(tmp_path: Path) -> None:
    text = tmp_path / "text.sqlite"
    text.write_text("any text that is longer than the header of a database" * 3, encoding="utf-8")
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t (a)")
    connection.close()
    later = tmp_path / "later.sqlite"
    filled(later).close()
    connection = sqlite3.connect(later)
    connection.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    connection.close()
    for path, message in (
        (text, "not the store of a campaign"),
        (other, "not the store of a campaign"),
        (later, f"a store of schema {SCHEMA + 1}, and this version reads schema {SCHEMA}"),
        (tmp_path, "a folder; name a file in it"),
    ):
        content = path.read_bytes() if path.is_file() else b""
        with pytest.raises(StoreError, match=message):
            Store.open(path)
        with pytest.raises(StoreError, match=message):
            Store.create(path, IDENTITY)
        assert path.is_dir() or path.read_bytes() == content
    with pytest.raises(StoreError, match="no such store"):
        Store.open(tmp_path / "none.sqlite")
    with pytest.raises(StoreError, match="cannot be opened; does its folder exist"):
        Store.create(tmp_path / "none" / "a.sqlite", IDENTITY)


def test_a_store_that_may_only_be_read(tmp_path: Path) -> None:
    with filled(tmp_path / "a.sqlite") as store:
        store.query("PRAGMA query_only = ON")
        with pytest.raises(StoreError, match=r"a\.sqlite: may not be written"):
            store.write(1, Chunk("st", 3, 40, 5), plain(Chunk("st", 3, 40, 5)), 9.0)
        assert store.done()["st"] == [range(40)]


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "a.sqlite").touch()
    with Store.create(tmp_path / "a.sqlite", IDENTITY) as store:
        assert store.done() == {}


def test_two_campaigns_may_write_the_same_store(tmp_path: Path) -> None:
    with filled(tmp_path / "a.sqlite") as one, Store.open(tmp_path / "a.sqlite") as two:
        chunk = Chunk("st", 3, 40, 5)
        one.write(1, chunk, plain(chunk), 1.0)
        two.write(1, chunk, plain(chunk), 1.0)
        longer = Chunk("st", 3, 40, 9)
        two.write(1, longer, plain(longer), 1.0)
        # What the other has done counts once; the rest is still to be done.
        assert one.done()["st"] == [range(45)]
        assert len([r for r in one.rows() if r.family == "st"]) == 45


def test_tallies_are_added_up(tmp_path: Path) -> None:
    proved = Tally("ld", "ld.global.b32", "proved", (), 70, "map")
    refuted = Tally("ld", "ld.global.b32", "refuted", ("aligned", "in-bounds"), 30, "map")
    with filled(tmp_path / "a.sqlite") as store:
        before = list(store.rows())
        odd = replace(plain(Chunk("ld", 3, 1003, 1))[0], faults=("unsound: aligned",))
        for first in (1000, 1100):
            store.write(
                1, Chunk("ld", 3, first, 100), [proved, refuted, *([odd] if first == 1000 else [])], 9.0
            )
        assert store.tallies() == [replace(proved, views=140), replace(refuted, views=60)]
        assert store.done()["ld"][-1] == range(1000, 1200)
        # A chunk counts once, and a row must be one of its views.
        store.write(1, Chunk("ld", 3, 1050, 100), [proved], 9.0)
        with pytest.raises(InternalError, match="came back as the views"):
            store.write(1, Chunk("ld", 3, 2000, 100), [proved, odd], 9.0)
        assert store.tallies() == [replace(proved, views=140), replace(refuted, views=60)]
        assert len(list(store.rows())) == len(before) + 1
        found = summary(store)
        own = [r for r in before if r.family == "ld"]
        assert found.families["ld"].views == len(own) + 200
        assert found.families["ld"].refuted["in-bounds"] == 60 + sum("in-bounds" in r.refuted for r in own)
        assert found.executed["map"] == {"looked at": 200}
        (disagreement,) = (d for d in found.disagreements if d.tallied)
        assert (disagreement.number, disagreement.fault) == (1003, "unsound: aligned")
        assert found.disagreeing == 1 + sum(bool(r.faults) for r in before)


QUERIES = re.findall(r"^```sql\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("sql", QUERIES)
def test_the_queries_of_the_page_have_answers(tmp_path: Path, sql: str) -> None:
    with filled(tmp_path / "a.sqlite") as store:
        assert store.query(sql)


def test_the_page_lists_the_columns(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    with filled(tmp_path / "a.sqlite") as store:
        columns = [name for (name,) in store.query("SELECT name FROM pragma_table_info('views')")]
        assert "| `views` | " + ", ".join(f"`{name}`" for name in columns) + " |" in text
