-- The code view: repositories as they stood on disk when they were last indexed.
CREATE TABLE code_repository (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    space    INTEGER NOT NULL REFERENCES space (id),
    root     TEXT    NOT NULL,
    unit     TEXT    NOT NULL,                -- how files are cut: blocks or windows
    model    TEXT,                            -- the embedding model, if it is embedded
    revision INTEGER NOT NULL DEFAULT 0,      -- grows whenever a file changes
    UNIQUE (space, root)
);

CREATE TABLE code_file (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    repository INTEGER NOT NULL REFERENCES code_repository (id),
    path       TEXT    NOT NULL,              -- relative to the root, with slashes
    digest     BLOB    NOT NULL,              -- SHA-256 of the content
    data       BLOB    NOT NULL,              -- what the index keeps of it, see code/codec.py
    calls      BLOB    NOT NULL,              -- the possible definitions of its calls
    UNIQUE (repository, path)
);
