-- The journal: what was added, as it was added.
CREATE TABLE space (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    name     TEXT    NOT NULL UNIQUE,
    model    INTEGER REFERENCES model (id),   -- the embedding model that answers
    next     INTEGER REFERENCES model (id),   -- the one being built beside it, if any
    revision INTEGER NOT NULL DEFAULT 0,      -- grows whenever a view of the space changes
    settings TEXT    NOT NULL DEFAULT '{}'    -- what fit() found, as JSON
);

CREATE TABLE model (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    name      TEXT    NOT NULL UNIQUE,
    dimension INTEGER NOT NULL
);

CREATE TABLE source (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    space  INTEGER NOT NULL REFERENCES space (id),
    name   TEXT    NOT NULL,
    digest BLOB,                              -- of a whole file, to notice that it changed
    path   TEXT,                              -- of that file
    UNIQUE (space, name)
);

CREATE TABLE entry (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    space    INTEGER NOT NULL REFERENCES space (id),
    id       TEXT    NOT NULL,
    source   INTEGER NOT NULL REFERENCES source (id),
    position INTEGER NOT NULL,
    digest   BLOB    NOT NULL,                -- identity of the content within its source
    kind     TEXT    NOT NULL,
    speaker  TEXT,
    role     TEXT,
    session  TEXT,
    at       INTEGER,                         -- microseconds since the epoch, UTC
    added    INTEGER NOT NULL,
    metadata TEXT    NOT NULL,
    text     TEXT    NOT NULL,
    UNIQUE (space, id),
    UNIQUE (source, digest)
);
CREATE INDEX entry_by_position ON entry (source, position);
CREATE INDEX entry_by_space ON entry (space);

-- Pending work of the views. ``target`` is whatever the view counts in (an entry, a fragment, a node).
CREATE TABLE work (
    space      INTEGER NOT NULL REFERENCES space (id),
    view       TEXT    NOT NULL,
    target     INTEGER NOT NULL,
    attempts   INTEGER NOT NULL DEFAULT 0,
    error      TEXT,
    PRIMARY KEY (space, view, target)
);

CREATE TABLE spent (
    space             INTEGER NOT NULL REFERENCES space (id),
    operation         TEXT    NOT NULL,
    model             TEXT    NOT NULL,
    calls             INTEGER NOT NULL,
    prompt_tokens     INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    PRIMARY KEY (space, operation, model)
);

-- The fragments view: what is searched.
CREATE TABLE fragment (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    space  INTEGER NOT NULL REFERENCES space (id),
    entry  INTEGER NOT NULL REFERENCES entry (seq),
    start  INTEGER NOT NULL,                  -- characters into the entry's text
    stop   INTEGER NOT NULL,
    terms  BLOB    NOT NULL                   -- pairs of uint32: term hash, count
);
CREATE INDEX fragment_by_entry ON fragment (entry);
CREATE INDEX fragment_by_space ON fragment (space, id);

CREATE TABLE vector (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    model    INTEGER NOT NULL REFERENCES model (id),
    space    INTEGER NOT NULL REFERENCES space (id),
    fragment INTEGER NOT NULL REFERENCES fragment (id),
    data     BLOB    NOT NULL                 -- float32, little-endian
);
CREATE UNIQUE INDEX vector_by_fragment ON vector (fragment, model);
CREATE INDEX vector_by_space ON vector (space, model, id);

-- Fragments that went, so that other processes can drop them from their memory.
CREATE TABLE gone (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    space    INTEGER NOT NULL REFERENCES space (id),
    fragment INTEGER NOT NULL
);
CREATE INDEX gone_by_space ON gone (space, id);
