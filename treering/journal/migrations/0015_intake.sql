-- What is too large for one transaction, on its way into a space: kept in slices until all is here.
CREATE TABLE intake (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    space    TEXT    NOT NULL,                -- by name: a space that gets nothing is not made
    presence INTEGER NOT NULL,                -- of the process that works on it
    attempt  INTEGER NOT NULL,                -- random; who takes it over gives it another one
    whole    INTEGER NOT NULL DEFAULT 0,      -- 1: all is here, and will be taken in
    plan     TEXT    NOT NULL                 -- what belongs to it besides entries, as JSON
);
CREATE INDEX intake_by_space ON intake (space);

-- Its rows are overwritten in place once they are taken in, and deleted when none waits any more: so
-- SQLite moves no row that says something. One may outlive its intake.
CREATE TABLE intake_slice (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    intake INTEGER NOT NULL,
    items  BLOB    NOT NULL,                  -- JSON
    taken  INTEGER NOT NULL DEFAULT 0         -- 1: taken in, or not wanted; items are blank
);
CREATE INDEX intake_slice_waiting ON intake_slice (intake, id) WHERE NOT taken;
