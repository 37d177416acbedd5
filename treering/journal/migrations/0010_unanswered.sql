-- Messages of a chat that have no reply, so that one that is said again is not kept twice.
CREATE TABLE unanswered (
    entry INTEGER PRIMARY KEY REFERENCES entry (seq),
    space INTEGER NOT NULL REFERENCES space (id),
    pid   INTEGER,                            -- of the process that asks a model; NULL: it gave up
    run   TEXT                                -- tells it from another process with that number
);
INSERT INTO unanswered (entry, space)
    SELECT target, space FROM work
    WHERE view = 'mark:unanswered' AND target IN (SELECT seq FROM entry);
DELETE FROM work WHERE view = 'mark:unanswered';
