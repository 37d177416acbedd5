-- Once a key was made the server is closed: nobody gets in without one, also when the last has gone.
CREATE TABLE serve_closed (
    since INTEGER NOT NULL
);
INSERT INTO serve_closed (since) SELECT min(created) FROM serve_key HAVING count(*) > 0;

-- Which entries a model was shown when it gave a reply that is kept: it may quote them.
CREATE TABLE reply_shown (
    shown INTEGER NOT NULL,                   -- an entry that may be gone: its number is not used again
    reply INTEGER NOT NULL REFERENCES entry (seq) ON DELETE CASCADE,
    PRIMARY KEY (shown, reply)
) WITHOUT ROWID;
CREATE INDEX reply_shown_by_reply ON reply_shown (reply);
