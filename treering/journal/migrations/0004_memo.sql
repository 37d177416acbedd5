-- The memo view (MemoChat): topics with summaries, each an index over spans of the journal.
CREATE TABLE memo (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    space   INTEGER NOT NULL REFERENCES space (id),
    name    TEXT    NOT NULL,                 -- the id that callers see
    current INTEGER,                          -- its latest version
    UNIQUE (space, name)
);
CREATE UNIQUE INDEX memo_by_current ON memo (current);

-- Every state a memo has had. A change made by a person is an entry of the journal, too.
CREATE TABLE memo_version (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
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
CREATE INDEX memo_version_by_memo ON memo_version (memo, id);
CREATE INDEX memo_version_by_change ON memo_version (change);

-- The entries a version stands for (covered), and others its text may have been drawn from.
CREATE TABLE memo_line (
    version INTEGER NOT NULL REFERENCES memo_version (id),
    entry   INTEGER NOT NULL REFERENCES entry (seq),
    covered INTEGER NOT NULL,
    PRIMARY KEY (version, entry)
);
CREATE INDEX memo_line_by_entry ON memo_line (entry);
