"""The tables of a store. Whoever changes one counts :data:`SCHEMA` up."""

from __future__ import annotations

SCHEMA = 1

APPLICATION = 0x74706675
"""``tpfu``: SQLite's application id, by which a store is told from other databases."""

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
    result TEXT NOT NULL, device TEXT NOT NULL, milliseconds TEXT NOT NULL, tallied INTEGER NOT NULL
);
CREATE TABLE finding (
    view INTEGER NOT NULL REFERENCES view, kind TEXT NOT NULL, obligation TEXT NOT NULL,
    PRIMARY KEY (view, kind, obligation)
) WITHOUT ROWID;
CREATE TABLE fault (view INTEGER NOT NULL REFERENCES view, text TEXT NOT NULL, UNIQUE (view, text));
CREATE TABLE tally (
    form INTEGER NOT NULL REFERENCES form, verdict TEXT NOT NULL, refuted TEXT NOT NULL, executed TEXT NOT NULL,
    views INTEGER NOT NULL, PRIMARY KEY (form, verdict, refuted, executed)
) WITHOUT ROWID;
CREATE INDEX view_by_form ON view (form, verdict, tallied);
CREATE INDEX view_by_result ON view (executed, result) WHERE result <> '';
CREATE INDEX finding_by_obligation ON finding (kind, obligation);
CREATE VIEW views AS
    SELECT view.id AS id, family.name AS family, view.id % 1099511627776 AS number, opcode, scope, verdict, executed,
           result, device, milliseconds, tallied
    FROM view JOIN form ON form.id = view.form JOIN family ON family.id = form.family;
CREATE VIEW findings AS
    SELECT views.*, finding.kind AS kind, finding.obligation AS obligation
    FROM finding JOIN views ON views.id = finding.view;
CREATE VIEW faults AS SELECT views.*, fault.text AS text FROM fault JOIN views ON views.id = fault.view;
"""
