-- Which message an entry belongs to, and a sign of life of who asks that no other process can give.
CREATE TABLE unanswered_message (
    entry   INTEGER PRIMARY KEY REFERENCES entry (seq),
    space   INTEGER NOT NULL REFERENCES space (id),
    message INTEGER NOT NULL,                 -- its first entry; a long one has several
    asker   INTEGER                           -- presence of the process that asks; NULL: gave up
);
INSERT INTO unanswered_message (entry, space, message)
    SELECT u.entry, u.space, min(u.entry) OVER (PARTITION BY e.source)
    FROM unanswered u JOIN entry e ON e.seq = u.entry;
DROP TABLE unanswered;
ALTER TABLE unanswered_message RENAME TO unanswered;
