-- The tree view (MemTree): one tree of summaries a space, over the fragments of its texts and chats.
CREATE TABLE tree (
    space    INTEGER PRIMARY KEY REFERENCES space (id),
    model    INTEGER NOT NULL REFERENCES model (id),  -- whose vectors the leaves have
    mark     INTEGER NOT NULL,                        -- up to which vector it has been built
    bound    INTEGER NOT NULL,                        -- one more than the highest number ever given
    revision INTEGER NOT NULL DEFAULT 0               -- grows whenever the shape changes
);

-- A leaf has neither text nor vector of its own: those of its fragment stand for it.
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

-- Which leaf a fragment stands on; exact repetitions share one.
CREATE TABLE leaf (
    fragment INTEGER PRIMARY KEY REFERENCES fragment (id),
    space    INTEGER NOT NULL REFERENCES space (id),
    number   INTEGER NOT NULL,
    digest   BLOB    NOT NULL
);
CREATE INDEX leaf_by_number ON leaf (space, number);
CREATE INDEX leaf_by_digest ON leaf (space, digest);
