-- What searching reads of fragments stands in few large rows, the blocks, instead of one row each.
-- Their rows are made as large as they will be, written and erased in place, and never deleted but
-- when the file is rewritten: see treering/journal/blocks.py and treering/journal/vector_blocks.py.
-- The rows of the old tables are moved in steps, see treering/journal/takeover.py.

DROP INDEX fragment_by_entry;
DROP INDEX fragment_by_space;
ALTER TABLE fragment RENAME TO listed_fragment;
ALTER TABLE vector RENAME TO listed_vector;

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

-- The vectors of one model of a stretch of a block's slots, in eight bits.
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

-- A fragment or a vector that is gone gives its number to no other.
INSERT INTO sqlite_sequence (name, seq)
    SELECT 'fragment', seq FROM sqlite_sequence WHERE name = 'listed_fragment';
INSERT INTO storage (name, value)
    SELECT 'vectors', seq FROM sqlite_sequence WHERE name = 'listed_vector';
