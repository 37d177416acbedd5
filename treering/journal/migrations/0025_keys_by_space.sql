-- Statements name the space beside each number, so the tables whose rows were found by what they
-- belong to get it. In a file the number stays the key: it tells where the row stands. Where rows
-- are long the space comes first, or it would be read behind all of them.
CREATE TABLE new_code_file (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    space      INTEGER NOT NULL,
    repository INTEGER NOT NULL REFERENCES code_repository (id),
    path       TEXT    NOT NULL,              -- relative to the root, with slashes
    digest     BLOB    NOT NULL,              -- SHA-256 of the content
    data       BLOB    NOT NULL,              -- what the index keeps of it, see code/codec.py
    calls      BLOB    NOT NULL,              -- the possible definitions of its calls
    UNIQUE (repository, path)
);
INSERT INTO new_code_file
SELECT f.id, p.space, f.repository, f.path, f.digest, f.data, f.calls
FROM code_file f JOIN code_repository p ON p.id = f.repository;
DELETE FROM sqlite_sequence WHERE name = 'new_code_file';
UPDATE sqlite_sequence SET name = 'new_code_file' WHERE name = 'code_file';
DROP TABLE code_file;
ALTER TABLE new_code_file RENAME TO code_file;

CREATE TABLE new_memo_version (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    space   INTEGER NOT NULL,
    memo    INTEGER NOT NULL REFERENCES memo (id),
    made    INTEGER NOT NULL,                 -- microseconds since the epoch, UTC
    origin  TEXT    NOT NULL,                 -- written, fallback or edited
    writer  TEXT    NOT NULL,                 -- the language model, or empty
    topic   TEXT    NOT NULL,
    claims  TEXT    NOT NULL,                 -- JSON: [[sentence, supported], ...]
    pinned  INTEGER NOT NULL DEFAULT 0,
    deleted INTEGER NOT NULL DEFAULT 0,
    change  INTEGER REFERENCES entry (seq),   -- the entry that says this, if a person did
    model   INTEGER REFERENCES model (id),    -- whose vector this is
    vector  BLOB                              -- of topic and summary, float32, little-endian
);
INSERT INTO new_memo_version
SELECT v.id, m.space, v.memo, v.made, v.origin, v.writer, v.topic, v.claims, v.pinned, v.deleted,
    v.change, v.model, v.vector
FROM memo_version v JOIN memo m ON m.id = v.memo;
DELETE FROM sqlite_sequence WHERE name = 'new_memo_version';
UPDATE sqlite_sequence SET name = 'new_memo_version' WHERE name = 'memo_version';
DROP TABLE memo_version;
ALTER TABLE new_memo_version RENAME TO memo_version;
CREATE INDEX memo_version_by_memo ON memo_version (memo, space, id);
CREATE INDEX memo_version_by_change ON memo_version (change);

ALTER TABLE memo_line ADD COLUMN space INTEGER NOT NULL DEFAULT 0;
UPDATE memo_line
SET space = coalesce((SELECT p.space FROM memo_version p WHERE p.id = version), 0);
ALTER TABLE reply_shown ADD COLUMN space INTEGER NOT NULL DEFAULT 0;
UPDATE reply_shown SET space = coalesce((SELECT p.space FROM entry p WHERE p.seq = reply), 0);
ALTER TABLE code_relation ADD COLUMN space INTEGER NOT NULL DEFAULT 0;
UPDATE code_relation
SET space = coalesce((SELECT p.space FROM code_repository p WHERE p.id = repository), 0);

-- A view of another package refers to an entry by both, in a file as on a server.
DROP INDEX entry_by_space;
CREATE UNIQUE INDEX entry_by_space ON entry (space, seq);

-- What is out of date is dropped space by space: by these indexes, and not by reading all of a space.
DROP INDEX reply_by_time;
CREATE INDEX reply_by_time ON reply (space, at);
DROP INDEX claim_by_time;
CREATE INDEX claim_by_time ON claim (space, at);

-- SQLite takes all indexes for equally good unless it is told otherwise, and an index by space leads
-- to all rows of one where that by number leads to a few. Rows of the table or index, rows of a
-- space, and so on for each further column.
ANALYZE sqlite_schema;
DELETE FROM sqlite_stat1;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('entry', 'entry_by_space', '1000000 10000 1'),
    ('entry', 'sqlite_autoindex_entry_1', '1000000 10000 1'),
    ('source', 'source_by_family', '1000000 10000 1000'),
    ('source', 'sqlite_autoindex_source_1', '1000000 10000 1'),
    ('supersession', 'supersession_by_newer', '1000 2'),
    ('fragment', 'fragment_by_space', '1000000 10000 1'),
    ('leaf', 'leaf_by_number', '1000000 10000 2'),
    ('leaf', 'leaf_by_digest', '1000000 10000 2'),
    ('memo', 'sqlite_autoindex_memo_1', '1000000 1000 1'),
    ('statement', 'statement_by_slot', '1000000 10000 100 10'),
    ('superseded', 'superseded_by_slot', '1000000 10000 100 10'),
    ('block', 'block_by_space', '1000000 10000 1'),
    ('vector_block', 'vector_block_by_age', '1000000 10000 10000 1');
ANALYZE sqlite_schema;
