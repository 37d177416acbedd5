-- What users wrote moves into tables whose rows are appended, overwritten in place when they are
-- erased, and never deleted or resized: SQLite then moves no row, and leaves no copy of one behind.
-- The rows of the old tables are moved in steps, see treering/journal/takeover.py.
-- Their ids ascend, as no row is deleted but when the file is rewritten: new rows are always the last.

-- Of an entry. An entry that is given another content gets another body.
CREATE TABLE body (
    id       INTEGER PRIMARY KEY,
    text     TEXT    NOT NULL,
    speaker  TEXT,
    role     TEXT,
    session  TEXT,
    metadata TEXT    NOT NULL
);

-- Single texts: names and paths of sources.
CREATE TABLE label (
    id   INTEGER PRIMARY KEY,
    text TEXT    NOT NULL
);

-- The terms of a fragment: pairs of uint32, term hash and count.
CREATE TABLE term_list (
    id   INTEGER PRIMARY KEY,
    data BLOB    NOT NULL
);

-- The vector of the same id: float32, little-endian.
CREATE TABLE vector_data (
    id   INTEGER PRIMARY KEY,
    data BLOB    NOT NULL
);

-- Why queued work failed, which may quote a text.
CREATE TABLE work_error (
    space  INTEGER NOT NULL REFERENCES space (id),
    view   TEXT    NOT NULL,
    target INTEGER NOT NULL,
    error  TEXT    NOT NULL,
    PRIMARY KEY (space, view, target)
);
UPDATE work SET error = NULL WHERE error IS NOT NULL;
ALTER TABLE work DROP COLUMN error;

-- The state of the file: bytes that were blanked, and whether it has to be rewritten as a whole.
CREATE TABLE storage (
    name  TEXT    PRIMARY KEY,
    value INTEGER NOT NULL
);

DROP INDEX entry_by_position;
DROP INDEX entry_by_space;
DROP INDEX fragment_by_entry;
DROP INDEX fragment_by_space;
DROP INDEX vector_by_fragment;
DROP INDEX vector_by_space;
ALTER TABLE source RENAME TO old_source;
ALTER TABLE entry RENAME TO old_entry;
ALTER TABLE fragment RENAME TO old_fragment;
ALTER TABLE vector RENAME TO old_vector;

CREATE TABLE source (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    space  INTEGER NOT NULL REFERENCES space (id),
    hash   BLOB    NOT NULL,                  -- of its name, which is found by it
    family BLOB,                              -- of the name up to its first colon, if it has one
    name   INTEGER NOT NULL,                  -- a label
    digest BLOB,                              -- of a whole file, to notice that it changed
    path   INTEGER,                           -- of that file: a label
    path_hash BLOB,                           -- which that is found by
    UNIQUE (space, hash)
);
CREATE INDEX source_by_family ON source (space, family);

CREATE TABLE entry (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    space    INTEGER NOT NULL REFERENCES space (id),
    id       TEXT    NOT NULL,
    source   INTEGER NOT NULL REFERENCES source (id),
    position INTEGER NOT NULL,
    digest   BLOB    NOT NULL,                -- identity of the content within its source
    kind     TEXT    NOT NULL,
    at       INTEGER,                         -- microseconds since the epoch, UTC
    added    INTEGER NOT NULL,
    body     INTEGER NOT NULL,                -- what it says
    UNIQUE (space, id),
    UNIQUE (source, digest)
);
CREATE INDEX entry_by_position ON entry (source, position);
CREATE INDEX entry_by_space ON entry (space);

CREATE TABLE fragment (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    space  INTEGER NOT NULL REFERENCES space (id),
    entry  INTEGER NOT NULL REFERENCES entry (seq),
    start  INTEGER NOT NULL,                  -- characters into the entry's text
    stop   INTEGER NOT NULL,
    terms  INTEGER NOT NULL                   -- a term list
);
CREATE INDEX fragment_by_entry ON fragment (entry);
CREATE INDEX fragment_by_space ON fragment (space, id);

CREATE TABLE vector (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    model    INTEGER NOT NULL REFERENCES model (id),
    space    INTEGER NOT NULL REFERENCES space (id),
    fragment INTEGER NOT NULL REFERENCES fragment (id)
);
CREATE UNIQUE INDEX vector_by_fragment ON vector (fragment, model);
CREATE INDEX vector_by_space ON vector (space, model, id);

INSERT INTO sqlite_sequence (name, seq)
    SELECT substr(name, 5), seq FROM sqlite_sequence
    WHERE name IN ('old_source', 'old_entry', 'old_fragment', 'old_vector');
