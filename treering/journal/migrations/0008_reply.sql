-- Replies to requests that may come again; in the place of a table that nothing was ever written to.
DROP TABLE serve_reply;
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
CREATE INDEX reply_by_time ON reply (at);
