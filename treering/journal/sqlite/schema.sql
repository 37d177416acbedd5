-- All tables of a memory, as a new file gets them. Times are microseconds since the epoch, in UTC.

CREATE TABLE model (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    name      TEXT    NOT NULL UNIQUE,
    dimension INTEGER NOT NULL
);

-- One row of random bytes.
CREATE TABLE secret (
    key BLOB NOT NULL
);
INSERT INTO secret (key) VALUES (randomblob(16));

CREATE TABLE space (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    name     TEXT    NOT NULL UNIQUE,
    model    INTEGER REFERENCES model (id),   -- the embedding model that answers
    next     INTEGER REFERENCES model (id),   -- the model that is being built beside it, if any
    revision INTEGER NOT NULL DEFAULT 0,      -- grows whenever a view of the space changes
    settings TEXT    NOT NULL DEFAULT '{}',   -- the values that fit() found, as JSON
    views    TEXT    NOT NULL DEFAULT '{}',   -- how far each view has read, see views/contract.py
    edition  INTEGER NOT NULL DEFAULT 0,      -- grows when rows are made again: caches drop theirs
    assistant INTEGER NOT NULL DEFAULT 0,     -- messages of an assistant
    entries  INTEGER NOT NULL DEFAULT 0,
    bytes    INTEGER NOT NULL DEFAULT 0,      -- of the texts and metadata of its entries
    corrected INTEGER NOT NULL DEFAULT 0      -- whether a hidden space has its history
);

-- The texts that users wrote. The rows of body, label and vector_data are appended,
-- overwritten in place when they are erased, and deleted only when the file is rewritten: so SQLite
-- moves none of them and leaves no copy behind.
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

CREATE TABLE vector_data (
    id   INTEGER PRIMARY KEY,
    data BLOB    NOT NULL                     -- float32, little-endian
);

CREATE TABLE source (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    space     INTEGER NOT NULL REFERENCES space (id),
    hash      BLOB    NOT NULL,               -- of its name: the name is found by it
    family    BLOB,                           -- of the name up to its first colon, if it has one
    name      INTEGER NOT NULL,               -- a label
    digest    BLOB,                           -- of a whole file, to notice that it changed
    path      INTEGER,                        -- of that file: a label
    path_hash BLOB,                           -- the path is found by it
    document  INTEGER,                        -- of a page, say, its document: a label
    whole     BLOB,                           -- the hash that the document is found by
    UNIQUE (space, hash)
);
CREATE INDEX source_by_family ON source (space, family);
CREATE INDEX source_by_document ON source (space, whole) WHERE whole IS NOT NULL;

-- The journal: entries as they were added.
CREATE TABLE entry (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    space    INTEGER NOT NULL REFERENCES space (id),
    id       TEXT    NOT NULL,
    source   INTEGER NOT NULL REFERENCES source (id),
    position INTEGER NOT NULL,
    digest   BLOB    NOT NULL,                -- of the content and the key
    key      TEXT    NOT NULL DEFAULT '',     -- tells equal entries of a source apart
    kind     TEXT    NOT NULL,
    at       INTEGER,
    added    INTEGER NOT NULL,
    body     INTEGER NOT NULL,                -- an entry with new content gets another body
    expires  INTEGER,
    pinned   INTEGER NOT NULL DEFAULT 0,
    zone     INTEGER NOT NULL DEFAULT 0,      -- minutes that the clock of "at" is ahead of UTC
    UNIQUE (space, id),
    UNIQUE (source, digest)
);
CREATE INDEX entry_by_position ON entry (source, position);
CREATE INDEX entry_by_expiry ON entry (space, expires) WHERE expires IS NOT NULL;
CREATE INDEX entry_by_pin ON entry (space) WHERE pinned;
CREATE UNIQUE INDEX entry_by_space ON entry (space, seq);

-- Pending work of the views. The target is an entry, a fragment or a node, as the view counts.
CREATE TABLE work (
    space    INTEGER NOT NULL REFERENCES space (id),
    view     TEXT    NOT NULL,
    target   INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (space, view, target)
);

-- The errors of failed work, which may quote a text.
CREATE TABLE work_error (
    space  INTEGER NOT NULL REFERENCES space (id),
    view   TEXT    NOT NULL,
    target INTEGER NOT NULL,
    error  TEXT    NOT NULL,
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

-- The state of the file, such as the bytes that were blanked.
CREATE TABLE storage (
    name  TEXT    PRIMARY KEY,
    value INTEGER NOT NULL
);

-- Entries that a person replaced by others.
CREATE TABLE supersession (
    older INTEGER PRIMARY KEY REFERENCES entry (seq),
    newer INTEGER NOT NULL REFERENCES entry (seq),
    space INTEGER NOT NULL REFERENCES space (id)
);
CREATE INDEX supersession_by_newer ON supersession (newer);

-- The corrections in a hidden space, by the entries that they name.
CREATE TABLE correction (
    space INTEGER NOT NULL REFERENCES space (id),
    about INTEGER NOT NULL,                   -- digest of the id of an entry
    note  INTEGER NOT NULL REFERENCES entry (seq) ON DELETE CASCADE,
    PRIMARY KEY (space, about, note)
) WITHOUT ROWID;
CREATE INDEX correction_by_note ON correction (note);

-- The ids of erased entries, as digests: an import does not bring these entries back, also after the
-- space was removed.
CREATE TABLE tombstone (
    owner  INTEGER NOT NULL,                  -- digest of the name of the space, keyed by the secret
    key    BLOB    NOT NULL,                  -- random
    digest BLOB    NOT NULL,                  -- of the id, keyed: BLAKE2b
    PRIMARY KEY (owner, key, digest)
) WITHOUT ROWID;

-- The fragments: parts of entries, which searches find. Searches read their columns from blocks, a
-- few large rows that are made at full size, written and erased in place, and deleted only when the
-- file is rewritten: see treering/journal/blocks.py and treering/journal/vector_blocks.py.
CREATE TABLE fragment (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    space INTEGER NOT NULL REFERENCES space (id),
    entry INTEGER NOT NULL REFERENCES entry (seq),
    start INTEGER NOT NULL,                   -- characters into the text of the entry
    stop  INTEGER NOT NULL,
    block INTEGER NOT NULL,                   -- the block of its columns and terms
    slot  INTEGER NOT NULL                    -- its place there
);
CREATE INDEX fragment_by_entry ON fragment (entry);
CREATE INDEX fragment_by_space ON fragment (space, id);

CREATE TABLE block (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    space    INTEGER NOT NULL REFERENCES space (id),
    slots    INTEGER NOT NULL,                -- room for so many fragments
    used     INTEGER NOT NULL,                -- slots that were given away, erased ones included
    living   INTEGER NOT NULL,
    last     INTEGER NOT NULL,                -- the fragment that came last
    postings INTEGER NOT NULL,                -- its row of block_postings
    room     INTEGER NOT NULL,                -- for so many postings
    posted   INTEGER NOT NULL,                -- postings that were written, erased ones included
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

-- The vectors by one model of some consecutive slots of a block, in eight bits.
CREATE TABLE vector_block (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    space  INTEGER NOT NULL REFERENCES space (id),
    model  INTEGER NOT NULL REFERENCES model (id),
    block  INTEGER NOT NULL,
    slot   INTEGER NOT NULL,                  -- the first one
    size   INTEGER NOT NULL,
    filled INTEGER NOT NULL,                  -- slots that have a vector
    oldest INTEGER NOT NULL,                  -- of vector_data, erased ones included
    newest INTEGER NOT NULL
);
CREATE UNIQUE INDEX vector_block_by_place ON vector_block (block, model, slot);
CREATE INDEX vector_block_by_age ON vector_block (space, model, newest);

CREATE TABLE vector_block_data (
    id   INTEGER PRIMARY KEY,                 -- a vector block
    data BLOB    NOT NULL
);

-- Fragments that went, so that other processes can drop them from main memory.
CREATE TABLE gone (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    space    INTEGER NOT NULL REFERENCES space (id),
    fragment INTEGER NOT NULL
);
CREATE INDEX gone_by_space ON gone (space, id);

-- The code view: repositories as they were on disk when they were last indexed.
CREATE TABLE code_repository (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    space    INTEGER NOT NULL REFERENCES space (id),
    root     TEXT    NOT NULL,
    unit     TEXT    NOT NULL,                -- how files are cut: blocks or windows
    edges    TEXT    NOT NULL,                -- the weights of the code graph
    model    TEXT,                            -- the embedding model, if it is embedded
    revision INTEGER NOT NULL DEFAULT 0,      -- grows whenever a file changes
    UNIQUE (space, root)
);

CREATE TABLE code_file (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    space      INTEGER NOT NULL,
    repository INTEGER NOT NULL REFERENCES code_repository (id),
    path       TEXT    NOT NULL,              -- relative to the root, with slashes
    digest     BLOB    NOT NULL,              -- SHA-256 of the content
    data       BLOB    NOT NULL,              -- its part of the index, see code/codec.py
    calls      BLOB    NOT NULL,              -- the possible definitions of its calls
    UNIQUE (repository, path)
);

-- When definitions changed or went, so that texts about them can be marked. Recorded rounds are
-- entries; these rows are derived from them, and go with them.
CREATE TABLE code_change (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    space      INTEGER NOT NULL REFERENCES space (id),
    word       INTEGER NOT NULL,              -- digest of the last part of the qualified name
    qualified  TEXT    NOT NULL,
    path       TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    gone       INTEGER NOT NULL,
    entry      INTEGER REFERENCES entry (seq),             -- the recorded round
    repository INTEGER REFERENCES code_repository (id),    -- or whose index noticed it
    UNIQUE (entry)
);
CREATE INDEX code_change_by_word ON code_change (space, word);

-- The tree view (MemTree): a space has one tree of summaries, over fragments of texts and chats.
CREATE TABLE tree (
    space    INTEGER PRIMARY KEY REFERENCES space (id),
    model    INTEGER NOT NULL REFERENCES model (id),  -- whose vectors the leaves have
    mark     INTEGER NOT NULL,                        -- the last vector that was put into the tree
    bound    INTEGER NOT NULL,                        -- one more than the highest number ever given
    revision INTEGER NOT NULL DEFAULT 0               -- grows whenever the shape changes
);

-- A leaf has neither text nor vector: its fragments have.
CREATE TABLE node (
    space      INTEGER NOT NULL REFERENCES space (id),
    number     INTEGER NOT NULL,
    parent     INTEGER NOT NULL,              -- 0 is the root, which has no row
    rank       INTEGER NOT NULL,              -- orders the children of a node
    leaf       INTEGER NOT NULL,
    text       TEXT,                          -- of a summary; NULL until it is made
    made_by    TEXT,                          -- the name of a model, or 'extractive'
    model      INTEGER REFERENCES model (id),
    vector     BLOB,                          -- of the summary, by that model
    taken      INTEGER NOT NULL DEFAULT 0,    -- the highest number a leaf had when it was made
    afresh     INTEGER NOT NULL DEFAULT 0,    -- 1: make it from its children, not from its text
    generation INTEGER NOT NULL DEFAULT 0,    -- grows when something below is erased
    PRIMARY KEY (space, number)
);
CREATE INDEX node_by_parent ON node (space, parent);

-- The leaf of each fragment; exact repetitions share one.
CREATE TABLE leaf (
    fragment INTEGER PRIMARY KEY REFERENCES fragment (id),
    space    INTEGER NOT NULL REFERENCES space (id),
    number   INTEGER NOT NULL,
    digest   BLOB    NOT NULL
);
CREATE INDEX leaf_by_number ON leaf (space, number);
CREATE INDEX leaf_by_digest ON leaf (space, digest);

-- The memo view (MemoChat): topics with summaries, each an index over spans of the journal.
CREATE TABLE memo (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    space   INTEGER NOT NULL REFERENCES space (id),
    name    TEXT    NOT NULL,                 -- the id that callers see
    version INTEGER NOT NULL,                 -- the highest of its space when it was written
    made    INTEGER NOT NULL,
    origin  TEXT    NOT NULL,                 -- written, fallback or edited
    writer  TEXT    NOT NULL,                 -- the language model, or empty
    topic   TEXT    NOT NULL,
    claims  TEXT    NOT NULL,                 -- JSON: [[sentence, supported], ...]
    pinned  INTEGER NOT NULL DEFAULT 0,
    deleted INTEGER NOT NULL DEFAULT 0,
    model   INTEGER REFERENCES model (id),    -- whose vector this is
    vector  BLOB,                             -- of topic and summary, float32, little-endian
    UNIQUE (space, name)
);

-- The entries that a memo covers (1), others that its text may have been drawn from (0), and the
-- entries of a person's changes (-1).
CREATE TABLE memo_line (
    memo    INTEGER NOT NULL REFERENCES memo (id),
    entry   INTEGER NOT NULL REFERENCES entry (seq),
    covered INTEGER NOT NULL,
    space   INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (memo, entry, space)
);
CREATE INDEX memo_line_by_entry ON memo_line (entry);

-- The facts view: statements of people, which later ones may supersede.
CREATE TABLE statement (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    space     INTEGER NOT NULL REFERENCES space (id),
    entry     INTEGER NOT NULL REFERENCES entry (seq),
    start     INTEGER NOT NULL,               -- of its clause, characters into the entry's text
    stop      INTEGER NOT NULL,
    single    INTEGER NOT NULL,               -- 1: it replaces other values of the attribute
    newer     INTEGER,                        -- the statement that holds instead
    topic     INTEGER NOT NULL,               -- digest of subject and attribute, for indexes
    subject   TEXT    NOT NULL,               -- the person or thing it is about
    attribute TEXT    NOT NULL,               -- the property it gives them, such as "home"
    value     TEXT    NOT NULL,
    sense     TEXT    NOT NULL,               -- holds, ended or planned
    speaker   TEXT    NOT NULL,
    reader    TEXT    NOT NULL,               -- 'forms', or the name of a language model
    said      INTEGER NOT NULL
);
CREATE INDEX statement_by_entry ON statement (entry);
CREATE INDEX statement_by_topic ON statement (space, topic);
-- Each new statement asks whether its topic can change; without this index it would read all
-- statements of the topic.
CREATE INDEX statement_replacing ON statement (space, topic)
    WHERE single = 1 OR sense = 'ended' OR newer IS NOT NULL;
CREATE INDEX statement_superseded ON statement (space, newer) WHERE newer IS NOT NULL;

-- Entries whose facts a language model has read.
CREATE TABLE fact_reading (
    space INTEGER NOT NULL REFERENCES space (id),
    entry INTEGER PRIMARY KEY REFERENCES entry (seq)
);
CREATE INDEX fact_reading_by_space ON fact_reading (space);

-- The keys of the server, with a row for each space that a key opens.
CREATE TABLE serve_key (
    id      TEXT    NOT NULL,                 -- the first digits of the digest
    digest  BLOB    NOT NULL,                 -- SHA-256 of the key, which is random
    space   TEXT    NOT NULL,                 -- a name, or a pattern with *
    roles   TEXT    NOT NULL,                 -- names with blanks between them
    label   TEXT,
    created INTEGER NOT NULL,
    expires INTEGER,
    used    INTEGER,
    PRIMARY KEY (id, space)
);

-- Since the first key was made the server asks for one, even when the last key has gone.
CREATE TABLE serve_closed (
    since INTEGER NOT NULL
);

-- Replies to requests that may come again.
CREATE TABLE reply (
    space   INTEGER NOT NULL REFERENCES space (id),
    key     BLOB    NOT NULL,                 -- SHA-256 of the idempotency key
    request BLOB    NOT NULL,                 -- HMAC of the request under the idempotency key
    status  INTEGER NOT NULL,
    body    BLOB,                             -- NULL once a text that it may quote was forgotten
    quotes  INTEGER NOT NULL,                 -- whether the body may hold text of entries
    at      INTEGER NOT NULL,
    PRIMARY KEY (space, key)
);
CREATE INDEX reply_by_time ON reply (space, at);

-- The entries that a model was shown when it gave a reply: the reply may quote them.
CREATE TABLE reply_shown (
    shown INTEGER NOT NULL,                   -- an entry, perhaps gone: no number is used twice
    reply INTEGER NOT NULL REFERENCES entry (seq) ON DELETE CASCADE,
    space INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (shown, reply)
) WITHOUT ROWID;
CREATE INDEX reply_shown_by_reply ON reply_shown (reply);

-- Messages of a chat that have no reply: one that is said again is not stored twice.
CREATE TABLE unanswered (
    entry   INTEGER PRIMARY KEY REFERENCES entry (seq),
    space   INTEGER NOT NULL REFERENCES space (id),
    message INTEGER NOT NULL,                 -- its first entry; a long one has several
    asker   INTEGER                           -- presence of the process that asks; NULL: gave up
);

-- Requests with an idempotency key that are under way, or were when their process ended.
CREATE TABLE claim (
    space   INTEGER NOT NULL REFERENCES space (id) ON DELETE CASCADE,
    key     BLOB    NOT NULL,                 -- SHA-256 of the idempotency key
    request BLOB    NOT NULL,                 -- HMAC of the request under the idempotency key
    attempt INTEGER NOT NULL,                 -- random; a process that takes it over sets another
    claimer INTEGER,                          -- presence of the process at work; NULL: it failed
    at      INTEGER NOT NULL,
    PRIMARY KEY (space, key)
);
CREATE INDEX claim_by_time ON claim (space, at);

-- The entries of the message of such a request: the next attempt does not store them twice.
CREATE TABLE claim_entry (
    entry INTEGER PRIMARY KEY REFERENCES entry (seq),
    space INTEGER NOT NULL,
    key   BLOB    NOT NULL,
    FOREIGN KEY (space, key) REFERENCES claim (space, key) ON DELETE CASCADE
);
CREATE INDEX claim_entry_by_claim ON claim_entry (space, key);

-- Without statistics SQLite takes all indexes for equally good, and an index by space leads to all
-- rows of one where that by number leads to a few. Rows of the table or index, rows of a space, and
-- so on for each further column.
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
    ('statement', 'statement_by_topic', '1000000 10000 10'),
    ('block', 'block_by_space', '1000000 10000 1'),
    ('vector_block', 'vector_block_by_age', '1000000 10000 10000 1');
ANALYZE sqlite_schema;
