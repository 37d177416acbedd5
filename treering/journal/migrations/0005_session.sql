-- When definitions changed or went, so that what speaks of them can be marked. Recorded rounds are
-- entries; what stands here of them is derived, and goes with them.
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
