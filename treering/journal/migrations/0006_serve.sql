-- The server: keys, and replies to requests that may come again.
CREATE TABLE serve_key (
    id      TEXT    PRIMARY KEY,              -- the first digits of the digest
    digest  BLOB    NOT NULL UNIQUE,          -- SHA-256 of the key, which is random
    space   TEXT    NOT NULL,                 -- all that the key opens
    label   TEXT,
    created INTEGER NOT NULL
);

CREATE TABLE serve_reply (
    space   TEXT    NOT NULL,
    key     BLOB    NOT NULL,                 -- SHA-256 of the idempotency key
    request BLOB    NOT NULL,                 -- HMAC of the request under the idempotency key
    status  INTEGER NOT NULL,
    body    BLOB,                             -- NULL once something that it may quote was forgotten
    at      INTEGER NOT NULL,
    PRIMARY KEY (space, key)
);
CREATE INDEX serve_reply_by_time ON serve_reply (at);
