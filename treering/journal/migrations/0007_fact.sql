-- The facts view: statements that later ones may supersede, found in what people say.
CREATE TABLE fact_mark (
    space  INTEGER PRIMARY KEY REFERENCES space (id),
    read   INTEGER NOT NULL DEFAULT 0,        -- up to which entry statements were looked for
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

-- An entry whose statement was superseded by that of another one, or that may be out of date with it.
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
