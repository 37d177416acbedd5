-- The tables of a new file, made from the migrations by `python -m tools.generate_schema`;
-- the migrations say what each is for.

CREATE TABLE space (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    name     TEXT    NOT NULL UNIQUE,
    model    INTEGER REFERENCES model (id),   -- the embedding model that answers
    next     INTEGER REFERENCES model (id),   -- the one being built beside it, if any
    revision INTEGER NOT NULL DEFAULT 0,      -- grows whenever a view of the space changes
    settings TEXT    NOT NULL DEFAULT '{}'    -- what fit() found, as JSON
, edition INTEGER NOT NULL DEFAULT 0);

CREATE TABLE model (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    name      TEXT    NOT NULL UNIQUE,
    dimension INTEGER NOT NULL
);

CREATE TABLE work (
    space      INTEGER NOT NULL REFERENCES space (id),
    view       TEXT    NOT NULL,
    target     INTEGER NOT NULL,
    attempts   INTEGER NOT NULL DEFAULT 0,
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

CREATE TABLE gone (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    space    INTEGER NOT NULL REFERENCES space (id),
    fragment INTEGER NOT NULL
);

CREATE INDEX gone_by_space ON gone (space, id);

CREATE TABLE code_repository (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    space    INTEGER NOT NULL REFERENCES space (id),
    root     TEXT    NOT NULL,
    unit     TEXT    NOT NULL,                -- how files are cut: blocks or windows
    model    TEXT,                            -- the embedding model, if it is embedded
    revision INTEGER NOT NULL DEFAULT 0,      -- grows whenever a file changes
    UNIQUE (space, root)
);

CREATE TABLE tree (
    space    INTEGER PRIMARY KEY REFERENCES space (id),
    model    INTEGER NOT NULL REFERENCES model (id),  -- whose vectors the leaves have
    mark     INTEGER NOT NULL,                        -- up to which vector it has been built
    bound    INTEGER NOT NULL,                        -- one more than the highest number ever given
    revision INTEGER NOT NULL DEFAULT 0               -- grows whenever the shape changes
);

CREATE TABLE node (
    space      INTEGER NOT NULL REFERENCES space (id),
    number     INTEGER NOT NULL,
    parent     INTEGER NOT NULL,             -- 0 is the root, which has no row
    rank       INTEGER NOT NULL,             -- orders the children of a node
    leaf       INTEGER NOT NULL,
    text       TEXT,                         -- of a summary; NULL until it is made
    made_by    TEXT,                         -- a model's name, or 'extractive'
    model      INTEGER REFERENCES model (id),
    vector     BLOB,                         -- of the summary, by that model
    taken      INTEGER NOT NULL DEFAULT 0,   -- the highest number a leaf had when it was made
    afresh     INTEGER NOT NULL DEFAULT 0,   -- to be made from its children, not from its text
    generation INTEGER NOT NULL DEFAULT 0,   -- grows when something below is erased
    PRIMARY KEY (space, number)
);

CREATE INDEX node_by_parent ON node (space, parent);

CREATE TABLE leaf (
    fragment INTEGER PRIMARY KEY REFERENCES fragment (id),
    space    INTEGER NOT NULL REFERENCES space (id),
    number   INTEGER NOT NULL,
    digest   BLOB    NOT NULL
);

CREATE INDEX leaf_by_number ON leaf (space, number);

CREATE INDEX leaf_by_digest ON leaf (space, digest);

CREATE TABLE memo (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    space   INTEGER NOT NULL REFERENCES space (id),
    name    TEXT    NOT NULL,                 -- the id that callers see
    current INTEGER,                          -- its latest version
    UNIQUE (space, name)
);

CREATE UNIQUE INDEX memo_by_current ON memo (current);

CREATE TABLE memo_line (
    version INTEGER NOT NULL REFERENCES memo_version (id),
    entry   INTEGER NOT NULL REFERENCES entry (seq),
    covered INTEGER NOT NULL, space INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (version, entry)
);

CREATE INDEX memo_line_by_entry ON memo_line (entry);

CREATE TABLE code_change (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    space      INTEGER NOT NULL REFERENCES space (id),
    name       TEXT    NOT NULL,              -- the last part of what it is called
    qualified  TEXT    NOT NULL,
    path       TEXT    NOT NULL,
    at         INTEGER NOT NULL,              -- microseconds since the epoch, UTC
    gone       INTEGER NOT NULL,
    entry      INTEGER REFERENCES entry (seq),             -- the recorded round
    repository INTEGER REFERENCES code_repository (id),    -- or whose index noticed it
    UNIQUE (entry)
);

CREATE INDEX code_change_by_name ON code_change (space, name);

CREATE TABLE serve_key (
    id      TEXT    PRIMARY KEY,              -- the first digits of the digest
    digest  BLOB    NOT NULL UNIQUE,          -- SHA-256 of the key, which is random
    space   TEXT    NOT NULL,                 -- all that the key opens
    label   TEXT,
    created INTEGER NOT NULL
);

CREATE TABLE fact_mark (
    space  INTEGER PRIMARY KEY REFERENCES space (id),
    judged INTEGER NOT NULL DEFAULT 0         -- up to which entry a language model was asked
);

CREATE TABLE statement (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    space   INTEGER NOT NULL REFERENCES space (id),
    entry   INTEGER NOT NULL REFERENCES entry (seq),
    start   INTEGER NOT NULL,                 -- of its sentence, characters into the entry's text
    stop    INTEGER NOT NULL,
    subject TEXT    NOT NULL,                 -- of whom it speaks
    slot    TEXT    NOT NULL,                 -- what it says of them, such as "home"
    value   TEXT    NOT NULL,
    sense   TEXT    NOT NULL,                 -- holds, begins or ends
    said    INTEGER NOT NULL                  -- microseconds since the epoch, UTC
);

CREATE INDEX statement_by_entry ON statement (entry);

CREATE INDEX statement_by_slot ON statement (space, subject, slot);

CREATE TABLE superseded (
    space   INTEGER NOT NULL REFERENCES space (id),
    entry   INTEGER NOT NULL REFERENCES entry (seq),
    newer   INTEGER NOT NULL REFERENCES entry (seq),
    start   INTEGER NOT NULL,                 -- of the newer sentence, in the newer entry's text
    stop    INTEGER NOT NULL,
    subject TEXT    NOT NULL,
    slot    TEXT    NOT NULL,
    stale   INTEGER NOT NULL,                 -- 0: superseded; 1: related to one that is
    made_by TEXT    NOT NULL,                 -- 'rule', or the name of the model that judged
    PRIMARY KEY (entry, newer, stale, subject, slot)
);

CREATE INDEX superseded_by_newer ON superseded (newer);

CREATE INDEX superseded_by_slot ON superseded (space, subject, slot);

CREATE TABLE reply (
    space   INTEGER NOT NULL REFERENCES space (id),
    key     BLOB    NOT NULL,                 -- SHA-256 of the idempotency key
    request BLOB    NOT NULL,                 -- HMAC of the request under the idempotency key
    status  INTEGER NOT NULL,
    body    BLOB,                             -- NULL once something that it may quote was forgotten
    quotes  INTEGER NOT NULL,                 -- whether the body may hold text of entries
    at      INTEGER NOT NULL,
    PRIMARY KEY (space, key)
);

CREATE TABLE code_relation (
    repository INTEGER PRIMARY KEY REFERENCES code_repository (id),
    fragments  INTEGER NOT NULL,              -- of the repository; a check
    data       BLOB    NOT NULL               -- rows, columns and values, see code/codec.py
, space INTEGER NOT NULL DEFAULT 0);

CREATE TABLE "unanswered" (
    entry   INTEGER PRIMARY KEY REFERENCES entry (seq),
    space   INTEGER NOT NULL REFERENCES space (id),
    message INTEGER NOT NULL,                 -- its first entry; a long one has several
    asker   INTEGER                           -- presence of the process that asks; NULL: gave up
);

CREATE TABLE claim (
    space   INTEGER NOT NULL REFERENCES space (id) ON DELETE CASCADE,
    key     BLOB    NOT NULL,                 -- SHA-256 of the idempotency key
    request BLOB    NOT NULL,                 -- HMAC of the request under the idempotency key
    attempt INTEGER NOT NULL,                 -- random; who takes a claim over gives it another one
    claimer INTEGER,                          -- presence of the process that does it; NULL: it failed
    at      INTEGER NOT NULL,
    PRIMARY KEY (space, key)
);

CREATE TABLE claim_entry (
    entry INTEGER PRIMARY KEY REFERENCES entry (seq),
    space INTEGER NOT NULL,
    key   BLOB    NOT NULL,
    FOREIGN KEY (space, key) REFERENCES claim (space, key) ON DELETE CASCADE
);

CREATE INDEX claim_entry_by_claim ON claim_entry (space, key);

CREATE TABLE view (
    space   INTEGER NOT NULL REFERENCES space (id),
    name    TEXT    NOT NULL,
    version TEXT    NOT NULL,                 -- of what its rows are derived by; '' if unknown
    read    INTEGER NOT NULL DEFAULT 0,       -- up to which entry it has read the journal
    target  TEXT,                             -- the version that a rebuild under way makes
    rebuilt INTEGER NOT NULL DEFAULT 0,       -- up to which entry it has come
    tables  TEXT    NOT NULL DEFAULT '',      -- of another package's view: what to empty if it is not installed
    PRIMARY KEY (space, name)
);

CREATE TABLE body (
    id       INTEGER PRIMARY KEY,
    text     TEXT    NOT NULL,
    speaker  TEXT,
    role     TEXT,
    session  TEXT,
    metadata TEXT    NOT NULL
);

CREATE TABLE label (
    id   INTEGER PRIMARY KEY,
    text TEXT    NOT NULL
);

CREATE TABLE vector_data (
    id   INTEGER PRIMARY KEY,
    data BLOB    NOT NULL
);

CREATE TABLE work_error (
    space  INTEGER NOT NULL REFERENCES space (id),
    view   TEXT    NOT NULL,
    target INTEGER NOT NULL,
    error  TEXT    NOT NULL,
    PRIMARY KEY (space, view, target)
);

CREATE TABLE storage (
    name  TEXT    PRIMARY KEY,
    value INTEGER NOT NULL
);

CREATE TABLE source (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    space  INTEGER NOT NULL REFERENCES space (id),
    hash   BLOB    NOT NULL,                  -- of its name, which is found by it
    family BLOB,                              -- of the name up to its first colon, if it has one
    name   INTEGER NOT NULL,                  -- a label
    digest BLOB,                              -- of a whole file, to notice that it changed
    path   INTEGER,                           -- of that file: a label
    path_hash BLOB, document INTEGER, whole BLOB,                           -- which that is found by
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
    body     INTEGER NOT NULL, expires INTEGER, pinned INTEGER NOT NULL DEFAULT 0,                -- what it says
    UNIQUE (space, id),
    UNIQUE (source, digest)
);

CREATE INDEX entry_by_position ON entry (source, position);

CREATE TABLE intake (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    space    TEXT    NOT NULL,                -- by name: a space that gets nothing is not made
    presence INTEGER NOT NULL,                -- of the process that works on it
    attempt  INTEGER NOT NULL,                -- random; who takes it over gives it another one
    whole    INTEGER NOT NULL DEFAULT 0,      -- 1: all is here, and will be taken in
    plan     TEXT    NOT NULL                 -- what belongs to it besides entries, as JSON
);

CREATE INDEX intake_by_space ON intake (space);

CREATE TABLE intake_slice (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    intake INTEGER NOT NULL,
    items  BLOB    NOT NULL,                  -- JSON
    taken  INTEGER NOT NULL DEFAULT 0         -- 1: taken in, or not wanted; items are blank
);

CREATE INDEX intake_slice_waiting ON intake_slice (intake, id) WHERE NOT taken;

CREATE INDEX entry_by_expiry ON entry (space, expires) WHERE expires IS NOT NULL;

CREATE INDEX entry_by_pin ON entry (space) WHERE pinned;

CREATE TABLE supersession (
    older INTEGER PRIMARY KEY REFERENCES entry (seq),
    newer INTEGER NOT NULL REFERENCES entry (seq),
    space INTEGER NOT NULL REFERENCES space (id)
);

CREATE INDEX supersession_by_newer ON supersession (newer);

CREATE INDEX source_by_document ON source (space, whole) WHERE whole IS NOT NULL;

CREATE TABLE serve_closed (
    since INTEGER NOT NULL
);

CREATE TABLE reply_shown (
    shown INTEGER NOT NULL,                   -- an entry that may be gone: its number is not used again
    reply INTEGER NOT NULL REFERENCES entry (seq) ON DELETE CASCADE, space INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (shown, reply)
) WITHOUT ROWID;

CREATE INDEX reply_shown_by_reply ON reply_shown (reply);

CREATE TABLE fragment (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    space  INTEGER NOT NULL REFERENCES space (id),
    entry  INTEGER NOT NULL REFERENCES entry (seq),
    start  INTEGER NOT NULL,                  -- characters into the entry's text
    stop   INTEGER NOT NULL,
    block  INTEGER NOT NULL,                  -- where its columns and terms stand
    slot   INTEGER NOT NULL                   -- its place there
);

CREATE INDEX fragment_by_entry ON fragment (entry);

CREATE INDEX fragment_by_space ON fragment (space, id);

CREATE TABLE block (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    space    INTEGER NOT NULL REFERENCES space (id),
    slots    INTEGER NOT NULL,                -- room for so many fragments
    used     INTEGER NOT NULL,                -- slots that were given away, the erased ones among them
    living   INTEGER NOT NULL,
    last     INTEGER NOT NULL,                -- the fragment that came last
    postings INTEGER NOT NULL,                -- its row of block_postings
    room     INTEGER NOT NULL,                -- for so many postings
    posted   INTEGER NOT NULL,                -- written, the erased ones among them
    sorted   INTEGER NOT NULL DEFAULT 0       -- 1: full, and the postings are sorted by term
);

CREATE INDEX block_by_space ON block (space, id);

CREATE INDEX block_unsorted ON block (space) WHERE sorted = 0;

CREATE TABLE block_rows (
    id   INTEGER PRIMARY KEY,                 -- a block
    data BLOB    NOT NULL
);

CREATE TABLE block_postings (
    id   INTEGER PRIMARY KEY,
    data BLOB    NOT NULL
);

CREATE TABLE vector_block (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    space  INTEGER NOT NULL REFERENCES space (id),
    model  INTEGER NOT NULL REFERENCES model (id),
    block  INTEGER NOT NULL,
    slot   INTEGER NOT NULL,                  -- the first one
    size   INTEGER NOT NULL,
    filled INTEGER NOT NULL,                  -- slots that have a vector
    oldest INTEGER NOT NULL,                  -- of vector_data, of all that were ever here
    newest INTEGER NOT NULL
);

CREATE UNIQUE INDEX vector_block_by_place ON vector_block (block, model, slot);

CREATE INDEX vector_block_by_age ON vector_block (space, model, newest);

CREATE TABLE vector_block_data (
    id   INTEGER PRIMARY KEY,                 -- a vector block
    data BLOB    NOT NULL
);

CREATE TABLE "code_file" (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    space      INTEGER NOT NULL,
    repository INTEGER NOT NULL REFERENCES code_repository (id),
    path       TEXT    NOT NULL,              -- relative to the root, with slashes
    digest     BLOB    NOT NULL,              -- SHA-256 of the content
    data       BLOB    NOT NULL,              -- what the index keeps of it, see code/codec.py
    calls      BLOB    NOT NULL,              -- the possible definitions of its calls
    UNIQUE (repository, path)
);

CREATE TABLE "memo_version" (
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

CREATE INDEX memo_version_by_memo ON memo_version (memo, space, id);

CREATE INDEX memo_version_by_change ON memo_version (change);

CREATE UNIQUE INDEX entry_by_space ON entry (space, seq);

CREATE INDEX reply_by_time ON reply (space, at);

CREATE INDEX claim_by_time ON claim (space, at);

CREATE INDEX statement_end ON statement (space, subject, slot) WHERE sense = 'ends';

ANALYZE sqlite_schema;

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
